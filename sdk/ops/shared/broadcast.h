// How kernels walk operands that are broadcast to one shape (ONNX "Broadcasting in ONNX").
#ifndef VIREO_SDK_OPS_SHARED_BROADCAST_H_
#define VIREO_SDK_OPS_SHARED_BROADCAST_H_

#include <stdint.h>

#include "sdk/base/shape.h"

namespace vireo {

// The output's elements as rows along its last dimension, neighbouring dimensions merged where every operand allows it.
// The output itself is dense: row r begins at element r * row.
class Broadcast {
 public:
  static constexpr int kMaxOperands = 3;

  // `count` <= kMaxOperands shapes that broadcast to `out`, all in numbers.
  Broadcast(const Shape& out, const Shape* const* operands, int count);

  int64_t rows() const { return rows_; }
  int64_t row() const { return dims_[rank_ - 1]; }  // elements of a row
  // Step between an operand's elements within a row: 0 when one is repeated.
  int64_t step(int operand) const { return stride_[operand][rank_ - 1]; }
  // The first element of row `r` of an operand, `r` < rows().
  int64_t offset(int operand, int64_t r) const;

 private:
  int rank_ = 1;  // at least 1
  int64_t rows_ = 1;
  int64_t dims_[kMaxRank] = {};
  int64_t stride_[kMaxOperands][kMaxRank] = {};
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_BROADCAST_H_
