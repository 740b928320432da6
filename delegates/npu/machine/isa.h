// Commands: 32 words of 32 bits, little endian in a stream. isa.def is the only list of them.
#ifndef VIREO_DELEGATES_NPU_MACHINE_ISA_H_
#define VIREO_DELEGATES_NPU_MACHINE_ISA_H_

#include <stddef.h>
#include <stdint.h>

namespace vireo::npu {

constexpr uint32_t kStreamMagic = 0x55504e56;  // "VNPU"
constexpr uint32_t kIsaVersion = 2;
constexpr uint32_t kCommandWords = 32;
constexpr uint32_t kQueues = 4;

enum Queue : uint32_t { kLoad = 0, kStore = 1, kMatrix = 2, kVector = 3 };
// From kValues on: a region for each value that goes in or comes out, wherever it lies.
enum Region : uint32_t { kConstants = 0, kTensors = 1, kValues = 2 };
constexpr uint32_t kMostRegions = 24;  // of values
enum Type : uint32_t { kI8 = 0, kU8 = 1, kI16 = 2, kF32 = 3 };

constexpr uint32_t bytes_of(uint32_t type) { return type == kF32 ? 4 : type == kI16 ? 2 : 1; }

// Groups of fields.
enum Group : uint32_t {
  kHead = 1 << 0,
  kDma = 1 << 1,
  kPack = 1 << 2,
  kA = 1 << 3,
  kB = 1 << 4,
  kY = 1 << 5,
  kWindow = 1 << 6,
  kTaps = 1 << 7,
  kGroups = 1 << 8,
  kCodes = 1 << 9,
  kParams = 1 << 10,
  kScaleA = 1 << 11,
  kScaleB = 1 << 12,
  kLimits = 1 << 13,
  kChannels = 1 << 14,
  kSums = 1 << 15,
};

enum class Op : uint32_t {
#define VIREO_NPU_OP(number, name, queue, fields) name = number,
#define VIREO_NPU_FIELD(name, group, word, bit, bits, is_signed, meaning)
#include "delegates/npu/machine/isa.def"
#undef VIREO_NPU_OP
#undef VIREO_NPU_FIELD
};

struct Field {
  const char* name;
  const char* meaning;
  uint32_t groups;
  uint8_t word, bit, bits, is_signed;
};

struct OpInfo {
  const char* name;
  Op op;
  Queue queue;
  uint32_t groups;
};

namespace field {
#define VIREO_NPU_OP(number, name, queue, fields)
#define VIREO_NPU_FIELD(name, group, word, bit, bits, is_signed, meaning) \
  constexpr Field name{#name, meaning, group, word, bit, bits, is_signed};
#include "delegates/npu/machine/isa.def"
#undef VIREO_NPU_OP
#undef VIREO_NPU_FIELD
}  // namespace field

struct Command {
  uint32_t w[kCommandWords];

  constexpr uint32_t u(const Field& f) const {
    const uint32_t v = w[f.word] >> f.bit;
    return f.bits == 32 ? v : v & ((1u << f.bits) - 1);
  }
  constexpr int32_t s(const Field& f) const {
    const uint32_t v = u(f);
    if (f.bits == 32 || f.is_signed == 0 || (v >> (f.bits - 1)) == 0) return static_cast<int32_t>(v);
    return static_cast<int32_t>(v) - static_cast<int32_t>(1u << f.bits);
  }
  // Whether `v` fits; nothing is written where it does not.
  constexpr bool set(const Field& f, int64_t v) {
    const int64_t least = f.is_signed ? -(int64_t{1} << (f.bits - 1)) : 0;
    const int64_t most = (int64_t{1} << (f.bits - (f.is_signed ? 1 : 0))) - 1;
    if (v < least || v > most) return false;
    const uint32_t mask = f.bits == 32 ? 0xffffffffu : ((1u << f.bits) - 1) << f.bit;
    w[f.word] = (w[f.word] & ~mask) | ((static_cast<uint32_t>(v) << f.bit) & mask);
    return true;
  }
  constexpr Op op() const { return static_cast<Op>(u(field::op)); }
};
static_assert(sizeof(Command) == 4 * kCommandWords);

// What a command stream begins with, in the place of a command.
struct StreamHeader {
  uint32_t magic, version, command_count, sram_bytes;
  uint32_t constant_bytes, tensor_bytes;
  uint32_t value_count, value_written;  // bit k: region kValues + k may be written to
  uint32_t value_bytes[kMostRegions];   // those of no value: 0
};
static_assert(sizeof(StreamHeader) == sizeof(Command));

// A stream as the machine takes it: who holds the bytes sees to their alignment (4).
struct Stream {
  const StreamHeader* header;
  const Command* commands;
  uint32_t count;
};

const OpInfo* op_info(uint32_t number);  // null: no such command
const Field* fields(size_t* count);

// The command as one line of text, without a line's end, cut to `capacity` - 1 characters and ended by 0. `index` and
// `layer` (may be null) stand in front. Returns the characters written.
size_t print_command(const Command& command, uint32_t index, const char* layer, char* text, size_t capacity);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_ISA_H_
