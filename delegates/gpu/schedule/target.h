// What kernels are made for: a device's limits and abilities as numbers, and as a text that names compiled parts.
#ifndef VIREO_DELEGATES_GPU_SCHEDULE_TARGET_H_
#define VIREO_DELEGATES_GPU_SCHEDULE_TARGET_H_

#include <stdint.h>

#include <string>
#include <vector>

namespace vireo::gpu {

// Begins every kernel that is HIP.
constexpr char kHipBegin[] = "// Vireo, HIP C++\n";

// What multiplies matrices by the lanes of a subgroup: m x k by k x n float16 into m x n float32, or bytes into int32.
struct MatrixUnit {
  uint32_t m = 0, n = 0, k = 0;
  bool known = false;  // Unit::known
};

// The least that Vulkan 1.1 promises, but for what a driver says of itself. Two devices with equal targets get the same
// bytes.
struct Target {
  uint32_t ptx = 0;       // kernels are PTX, for cards of this compute capability (75, 80, 90 ...) and later; 0: SPIR-V
  uint32_t hip = 0;       // kernels are HIP C++, for AMD's cards of this generation (9 to 12); 0: not
  uint32_t subgroup = 1;  // lanes that run together; a tuning number: no kernel is wrong with another one
  uint32_t workgroup = 128;  // the most invocations of a workgroup
  uint32_t workgroup_x = 128, workgroup_y = 128, workgroup_z = 64;
  uint32_t groups_x = 65535, groups_y = 65535, groups_z = 65535;  // the most workgroups of a launch
  uint32_t shared_bytes = 16384;                                  // of a workgroup
  // ... for quads that are copied there meanwhile; with half of it, two workgroups run at once. 0: no such copies.
  uint32_t stage_bytes = 0;
  uint32_t bindings = 4;             // storage buffers of a kernel
  uint32_t push_words = 32;          // words of push constants
  uint64_t buffer_bytes = 1u << 27;  // the most that one binding may span
  bool storage16 = false;            // buffers of 16-bit elements; else they are words of two
  bool storage8 = false;             // buffers of 8-bit elements; else they are words of four
  bool float16 = false;              // arithmetic
  bool int8 = false;
  bool int16 = false;
  bool int64 = false;
  bool float64 = false;
  bool keeps_nan32 = false;  // float32: signs of zeros, infinities and NaNs as IEEE has them, where asked for
  bool keeps_denormals32 = false;
  bool rounds_even32 = false;
  std::vector<MatrixUnit> units;  // the first that fits is used; then every subgroup has `subgroup` lanes
  MatrixUnit code_unit;           // of bytes of either sign, along the depth; m 0: none
  // Behind them one that reads tiles from shared memory, by four subgroups: 64 x 16 by 16 x n halves, n up to 256;
  // where there is a code_unit, 64 x 32 by 32 x n bytes too.
  bool tile_unit = false;
  bool shuffles = false;       // lanes of a subgroup, which are neighbours, exchange values (Op::kShuffle)
  bool half_products = false;  // the caller takes products whose float32 operands are rounded to float16
  bool dot8 = false;           // dot products of four signed or unsigned bytes into 32 bits
  // Not the device's, and not in its text: extents change from run to run. Few programs serve all of them, because
  // nothing in them follows from what divides an extent that may change.
  bool open = false;
};

// All of it as one line of words: "spirv1.3 sg8 wg1024 ... f16 i8". Equal exactly where the targets are equal.
std::string text_of(const Target& target);

inline bool operator==(const Target& a, const Target& b) { return text_of(a) == text_of(b); }

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_SCHEDULE_TARGET_H_
