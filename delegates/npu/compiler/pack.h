// The encoder of packed weights: machine/unpack.h reads what it writes.
#ifndef VIREO_DELEGATES_NPU_COMPILER_PACK_H_
#define VIREO_DELEGATES_NPU_COMPILER_PACK_H_

#include <cstdint>
#include <vector>

namespace vireo::npu {

// Each block takes whichever of its codes is shortest, the first of equals.
std::vector<uint8_t> pack(const std::vector<uint8_t>& bytes);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_COMPILER_PACK_H_
