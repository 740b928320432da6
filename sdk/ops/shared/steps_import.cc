#include "sdk/ops/shared/steps_import.h"

#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/expand/expand_generated.h"
#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo {

Value Steps::one(Op op, std::vector<uint8_t> attrs, const std::vector<Value>& inputs) {
  for (const Value v : inputs) {
    if (!v) return {};
  }
  return ctx_.emit1(op, std::move(attrs), inputs);
}

Value Steps::binary(Op op, Value a, Value b) { return one(op, pack<attrs::Binary>(attrs::BinaryT{}), {a, b}); }

Value Steps::where(Value condition, Value yes, Value no) {
  return one(Op::kWhere, pack<attrs::Where>(attrs::WhereT{}), {condition, yes, no});
}

Value Steps::cast(Value v, DType to) {
  if (!v || ctx_.type(v).dtype == to) return v;
  attrs::CastT a;
  a.to = static_cast<uint8_t>(to);
  return one(Op::kCast, pack<attrs::Cast>(a), {v});
}

Value Steps::matmul(Value a, Value b) { return one(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {a, b}); }

Value Steps::scalar(DType type, double value) { return add_scalar(ctx_, type, value); }

Value Steps::shape(Value v, int64_t begin, int64_t end) {
  attrs::ShapeT a;
  a.start = begin;
  a.end = end;
  return one(Op::kShape, pack<attrs::Shape>(a), {v});
}

Value Steps::range(Value count) {
  return one(Op::kRange, pack<attrs::Range>(attrs::RangeT{}),
             {scalar(DType::kI64, 0), squeeze(count, {0}), scalar(DType::kI64, 1)});
}

Value Steps::reshape_to(Value v, Value extents) {
  return one(Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}), {v, extents});
}

Value Steps::unsqueeze(Value v, const std::vector<int64_t>& axes) {
  return one(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}), {v, i64(axes)});
}

Value Steps::squeeze(Value v, const std::vector<int64_t>& axes) {
  return one(Op::kSqueeze, pack<attrs::Squeeze>(attrs::SqueezeT{}), {v, i64(axes)});
}

Value Steps::transpose(Value v, const std::vector<int32_t>& perm) {
  attrs::TransposeT a;
  a.perm = perm;
  return one(Op::kTranspose, pack<attrs::Transpose>(a), {v});
}

Value Steps::concat(const std::vector<Value>& parts, int32_t axis) {
  attrs::ConcatT a;
  a.axis = axis;
  return one(Op::kConcat, pack<attrs::Concat>(a), parts);
}

Value Steps::slice(Value v, int64_t axis, Value begin, Value end) {
  return one(Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}), {v, begin, end, i64({axis})});
}

std::vector<Value> Steps::split(Value v, int32_t axis, const std::vector<int64_t>& sizes) {
  std::vector<Value> out;
  attrs::SplitT a;
  a.axis = axis;
  if (v) out = ctx_.emit(Op::kSplit, pack<attrs::Split>(a), {v, i64(sizes)}, static_cast<int>(sizes.size()));
  out.resize(sizes.size());
  return out;
}

Value Steps::gather(Value table, Value rows, int32_t axis) {
  attrs::GatherT a;
  a.axis = axis;
  return one(Op::kGather, pack<attrs::Gather>(a), {table, rows});
}

Value Steps::expand(Value v, Value extents) {
  return one(Op::kExpand, pack<attrs::Expand>(attrs::ExpandT{}), {v, extents});
}

Value Steps::reduce_sum(Value v, int64_t axis, bool keep) {
  attrs::ReduceT a;
  a.keepdims = keep;
  return one(Op::kReduceSum, pack<attrs::Reduce>(a), {v, i64({axis})});
}

}  // namespace vireo
