// Pieces that shape functions share.
#ifndef VIREO_SDK_OPS_INFER_H_
#define VIREO_SDK_OPS_INFER_H_

#include "sdk/ops/op.h"

namespace vireo {

// NumPy's broadcasting (ONNX "Broadcasting in ONNX", multidirectional). A symbolic extent against a number above 1 takes
// the number: the run time checks that it is 1 or equal.
Status broadcast(InferContext& ctx, const Shape& a, const Shape& b, Shape* out);

// Output 0 has the type of input 0.
Status infer_same(InferContext& ctx);

// The normalised axis, or kInvalidModel.
Status check_axis(InferContext& ctx, int64_t axis, int rank, int* out);

// Fails with kInvalidModel unless the rank is right.
Status check_rank(InferContext& ctx, int input, int low, int high);

// Fails with kInvalidModel unless the input is a list of numbers: rank 0 or 1, i32 or i64.
Status check_integer_list(InferContext& ctx, int input);

// Fails with kUnsupported when a result would have more than kMaxRank dimensions.
Status check_result_rank(InferContext& ctx, int64_t rank);

// Elements of a 1-D input of known length: false when the length is symbolic.
bool known_length(InferContext& ctx, int input, int64_t* length);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_INFER_H_
