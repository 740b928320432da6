// Two operands that broadcast to one result, walked row by row of it.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ELTWISE_BROADCAST_H_
#define VIREO_DELEGATES_CPU_KERNELS_ELTWISE_BROADCAST_H_

#include <stdint.h>

namespace vireo::cpu {

// y is dense with `dims`; a and b have `dims` too, with strides in elements, 0 where broadcast.
struct Broadcast {
  static constexpr int kMaxRank = 8;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t a_strides[kMaxRank] = {};
  int64_t b_strides[kMaxRank] = {};

  int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }
};

// Joins axes that both operands walk as one, so that rows get as long as they can: [2,3,4] + [2,3,4] is one row of 24,
// and [1,C,H,W] + [C,1,1] is C rows of H W. The rank is at least 1.
Broadcast collapsed(const Broadcast& shape);

// For elements [begin, end) of y in row-major order: row(a, b, y, count) with the offsets of a row's first elements,
// and how many of it there are. Its elements of a and b are the last strides apart. `s` has a rank of 1 and more.
template <class Row>
void for_each_row(const Broadcast& s, int64_t begin, int64_t end, const Row& row) {
  const int last = s.rank - 1;
  int64_t at[Broadcast::kMaxRank];
  int64_t rest = begin, a = 0, b = 0;
  for (int i = last; i >= 0; --i) {
    at[i] = rest % s.dims[i];
    rest /= s.dims[i];
    if (i == last) continue;
    a += at[i] * s.a_strides[i];
    b += at[i] * s.b_strides[i];
  }
  int64_t column = at[last];
  for (int64_t i = begin; i < end;) {
    const int64_t left = s.dims[last] - column, count = left < end - i ? left : end - i;
    row(a + column * s.a_strides[last], b + column * s.b_strides[last], i, count);
    i += count;
    column = 0;
    for (int axis = last - 1; axis >= 0; --axis) {
      a += s.a_strides[axis];
      b += s.b_strides[axis];
      if (++at[axis] < s.dims[axis]) break;
      at[axis] = 0;
      a -= s.dims[axis] * s.a_strides[axis];
      b -= s.dims[axis] * s.b_strides[axis];
    }
  }
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ELTWISE_BROADCAST_H_
