// A run of elements as numbers of one of four types, whatever the tensor's: kernels whose speed does not matter do
// their arithmetic on lanes, and are compiled four times instead of twelve.
#ifndef VIREO_SDK_OPS_SHARED_LANES_H_
#define VIREO_SDK_OPS_SHARED_LANES_H_

#include <stdint.h>

#include "sdk/base/dtype.h"

namespace vireo {

enum class LaneKind : uint8_t { kFloat, kDouble, kSigned, kUnsigned };

struct Lanes {
  static constexpr int kCount = 64;
  union {
    float f[kCount];
    double d[kCount];
    int64_t i[kCount];
    uint64_t u[kCount];
  };
};

// f16, bf16 and f32: kFloat; f64: kDouble; integers by their sign; bool: kUnsigned. Each element fits exactly.
inline LaneKind lane_kind(DType t) {
  if (dtype_is_float(t)) return t == DType::kF64 ? LaneKind::kDouble : LaneKind::kFloat;
  return dtype_is_signed(t) ? LaneKind::kSigned : LaneKind::kUnsigned;
}

// Elements first, first + step, ... of a whole-byte number or bool tensor; n <= Lanes::kCount.
void load_lanes(DType t, const void* data, int64_t first, int64_t step, int n, Lanes* out);
// Floats round to nearest even, integers keep their low bits.
void store_lanes(DType t, const Lanes& lanes, void* data, int64_t first, int64_t step, int n);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_LANES_H_
