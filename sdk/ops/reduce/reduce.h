// Which axes a reduction takes away, and how a kernel walks what is kept and what is reduced.
#ifndef VIREO_SDK_OPS_REDUCE_REDUCE_H_
#define VIREO_SDK_OPS_REDUCE_REDUCE_H_

#include <stdint.h>

#include "sdk/base/shape.h"

namespace vireo {

// A row-major tensor as kept x reduced elements; neighbouring dimensions of one kind are merged. The reduced elements
// of one result are rows along the innermost reduced dimension.
class Reduction {
 public:
  // Bit a of `axes`: axis a is reduced.
  Reduction(const Shape& x, uint32_t axes);

  int64_t kept() const { return kept_.count; }        // results, in row-major order
  int64_t reduced() const { return reduced_.count; }  // elements behind each
  int64_t rows() const { return row() == 0 ? 0 : reduced_.count / row(); }
  int64_t row() const { return reduced_.dims[reduced_.rank - 1]; }
  int64_t step() const { return reduced_.stride[reduced_.rank - 1]; }
  // The element of x where result `k` begins, and the distance of reduced row `r` from it.
  int64_t begin(int64_t k) const { return at(kept_, kept_.rank - 1, k); }
  int64_t row_offset(int64_t r) const { return at(reduced_, reduced_.rank - 2, r); }

 private:
  struct Part {
    int rank = 0;
    int64_t count = 1;
    int64_t dims[kMaxRank] = {};
    int64_t stride[kMaxRank] = {};
  };
  static int64_t at(const Part& p, int last, int64_t i) {
    int64_t offset = 0;
    for (int d = last; d >= 0; --d) {
      offset += i % p.dims[d] * p.stride[d];
      i /= p.dims[d];
    }
    return offset;
  }
  Part kept_, reduced_;
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_REDUCE_REDUCE_H_
