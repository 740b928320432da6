// How the shapes of an operator's tensors broadcast, as kernels walk them.
#ifndef VIREO_DELEGATES_CPU_BROADCAST_OF_H_
#define VIREO_DELEGATES_CPU_BROADCAST_OF_H_

#include "delegates/cpu/kernels/eltwise/broadcast.h"
#include "sdk/ops/op.h"

namespace vireo::cpu {

// Strides of a dense operand that broadcasts to `y`: 0 along its axes of extent 1 and those it lacks.
inline void strides_of(const Shape& own, const Shape& y, int64_t* strides) {
  int64_t step = 1;
  for (int i = y.rank - 1, j = own.rank - 1; i >= 0; --i, --j) {
    strides[i] = j < 0 || own[j] == 1 ? 0 : step;
    if (j >= 0) step *= own[j];
  }
}

inline void set_broadcast(const Shape& a, const Shape& b, const Shape& y, Broadcast* out) {
  static_assert(Broadcast::kMaxRank >= kMaxRank, "every shape fits");
  out->rank = y.rank;
  for (int i = 0; i < y.rank; ++i) out->dims[i] = y[i];
  strides_of(a, y, out->a_strides);
  strides_of(b, y, out->b_strides);
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_BROADCAST_OF_H_
