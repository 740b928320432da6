// Pieces that shape functions share.
#ifndef VIREO_SDK_OPS_SHARED_INFER_H_
#define VIREO_SDK_OPS_SHARED_INFER_H_

#include "sdk/ops/op.h"

namespace vireo {

// NumPy's broadcasting (ONNX "Broadcasting in ONNX", multidirectional). A symbolic extent against a number above 1
// takes the number: the run time checks that it is 1 or equal.
Status broadcast(InferContext& ctx, const Shape& a, const Shape& b, Shape* out);

// A set of element types: bit i stands for DType i.
using TypeSet = uint32_t;
constexpr TypeSet type_set(DType t) { return 1u << static_cast<unsigned>(t); }
constexpr TypeSet kFloatSet =
    type_set(DType::kF32) | type_set(DType::kF64) | type_set(DType::kF16) | type_set(DType::kBF16);
constexpr TypeSet kSignedSet =
    type_set(DType::kI8) | type_set(DType::kI16) | type_set(DType::kI32) | type_set(DType::kI64);
constexpr TypeSet kUnsignedSet =
    type_set(DType::kU8) | type_set(DType::kU16) | type_set(DType::kU32) | type_set(DType::kU64);
constexpr TypeSet kIntegerSet = kSignedSet | kUnsignedSet;
constexpr TypeSet kNumberSet = kFloatSet | kIntegerSet;
constexpr TypeSet kBoolSet = type_set(DType::kBool);
constexpr TypeSet kStringSet = type_set(DType::kString);

// Fails with kInvalidModel unless the input's element type is in the set.
Status check_type(InferContext& ctx, int input, TypeSet set);
// Fails with kInvalidModel unless two inputs have one element type.
Status check_same_type(InferContext& ctx, int a, int b);

// Output 0 has the type of input 0.
Status infer_same(InferContext& ctx);

// The normalised axis, or kInvalidModel.
Status check_axis(InferContext& ctx, int64_t axis, int rank, int* out);

// Fails with kInvalidModel unless the rank is right.
Status check_rank(InferContext& ctx, int input, int low, int high);

// Fails with kInvalidModel unless the input is a list of numbers: rank 0 or 1, i32 or i64.
Status check_integer_list(InferContext& ctx, int input);

// Fails with kInvalidModel unless the input holds one element, as far as extents are known.
Status check_one_element(InferContext& ctx, int input);

// Fails with kUnsupported when a result would have more than kMaxRank dimensions.
Status check_result_rank(InferContext& ctx, int64_t rank);

// Elements of a 1-D input of known length: false when the length is symbolic.
bool known_length(InferContext& ctx, int input, int64_t* length);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_INFER_H_
