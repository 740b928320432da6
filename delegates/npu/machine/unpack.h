// The weight decoder. Bytes come in blocks of 64 (the last may be shorter), each with a header of 4 bits, all bits from
// the least significant on, no gaps:
//   0..6   Rice code with that parameter k of the zigzag numbers (0, -1, 1, -2... become 0, 1, 2, 3...): n >> k ones, a
//          zero, the k low bits of n. From 24 ones on there is no zero: eight bits of n follow.
//   7      the bytes as they are
//   8      all bytes are 0
//   9..15  not used
#ifndef VIREO_DELEGATES_NPU_MACHINE_UNPACK_H_
#define VIREO_DELEGATES_NPU_MACHINE_UNPACK_H_

#include <stddef.h>
#include <stdint.h>

namespace vireo::npu {

constexpr size_t kPackBlock = 64;
constexpr uint32_t kPackPlain = 7, kPackZeros = 8, kPackEscape = 24;

// false: `from` ends early, holds an unused header, or more bytes than `to` takes.
bool unpack(const uint8_t* from, size_t from_bytes, uint8_t* to, size_t to_bytes);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_UNPACK_H_
