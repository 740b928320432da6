#include "sdk/base/checked.h"
#include "sdk/ops/gather/gather.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/shared/parts.h"

namespace vireo {
namespace {

Status check_index_type(InferContext& ctx) {
  const DType t = ctx.input(1).dtype;
  if (t == DType::kI64 || t == DType::kI32) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "indices are {}, wanted int32 or int64", dtype_name(t));
}

Status infer_gather(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const Shape& indices = ctx.input(1).shape;
  VIREO_TRY(check_index_type(ctx));
  int axis = 0;
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::Gather>().axis(), x.shape.rank, &axis));
  VIREO_TRY(check_result_rank(ctx, x.shape.rank - 1 + indices.rank));
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  Shape& s = y.shape;
  for (int k = 0; k < axis; ++k) s[s.rank++] = x.shape[k];
  for (int k = 0; k < indices.rank; ++k) s[s.rank++] = indices[k];
  for (int k = axis + 1; k < x.shape.rank; ++k) s[s.rank++] = x.shape[k];
  return Status::kOk;
}

Status infer_elements(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const Shape& indices = ctx.input(1).shape;
  VIREO_TRY(check_index_type(ctx));
  int axis = 0;
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::GatherElements>().axis(), x.shape.rank, &axis));
  VIREO_TRY(check_rank(ctx, 1, x.shape.rank, x.shape.rank));
  for (int k = 0; k < x.shape.rank; ++k) {
    if (k != axis && !is_symbolic(indices[k]) && !is_symbolic(x.shape[k]) && indices[k] > x.shape[k]) {
      return ctx.fail(Status::kInvalidModel, "GatherElements: indices {} do not fit in data {}", indices, x.shape);
    }
  }
  ctx.output(0) = {x.dtype, indices};
  return Status::kOk;
}

Status infer_nd(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const Shape& indices = ctx.input(1).shape;
  VIREO_TRY(check_index_type(ctx));
  const int batch = ctx.attrs<attrs::GatherND>().batch_dims();
  if (indices.rank < 1 || x.shape.rank < 1 || batch < 0 || batch >= indices.rank || batch >= x.shape.rank) {
    return ctx.fail(Status::kInvalidModel, "GatherND: batch_dims {} of data {}, indices {}", batch, x.shape, indices);
  }
  const Dim depth = indices[indices.rank - 1];
  if (is_symbolic(depth)) return ctx.fail(Status::kUnsupported, "GatherND: the last dimension of indices is not known");
  if (depth < 1 || depth > x.shape.rank - batch) {
    return ctx.fail(Status::kInvalidModel, "GatherND: indices of {} numbers into data {} behind {} batch dimensions",
                    depth, x.shape, batch);
  }
  VIREO_TRY(check_result_rank(ctx, indices.rank - 1 + x.shape.rank - batch - depth));
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  Shape& s = y.shape;
  for (int k = 0; k < indices.rank - 1; ++k) {
    if (k < batch && ctx.differ(indices[k], x.shape[k])) {
      return ctx.fail(Status::kInvalidModel, "GatherND: batch dimension {} of data {} and indices {}", k, x.shape,
                      indices);
    }
    s[s.rank++] = indices[k];
  }
  for (int k = batch + static_cast<int>(depth); k < x.shape.rank; ++k) s[s.rank++] = x.shape[k];
  return Status::kOk;
}

// One constant index along the outermost axis is a run of the data.
void gather_parts(const PartQuery& q, Span<int64_t> at) {
  const Shape x = q.input(0).shape;
  const int axis = normalize_axis(q.attrs<attrs::Gather>().axis(), x.rank);
  int64_t index = 0, elements = 0;
  if (axis < 0 || !ones_before(x, axis) || !q.integers(1, 1, &index)) return;
  if (index < 0 && is_symbolic(x[axis])) return;
  if (index < 0) index += x[axis];
  const int64_t inner = known_count(x, axis + 1, x.rank);
  if (inner >= 0 && checked_mul(index, inner, &elements)) at[0] = elements;
}

}  // namespace

extern const OpDef kGatherOp;
extern const OpDef kGatherElementsOp;
extern const OpDef kGatherNDOp;
const OpDef kGatherOp = {"Gather",    verify_attrs<attrs::Gather>, infer_gather, 2, 2, 1, 1, OpDef::kPure, 0,
                         gather_parts};
const OpDef kGatherElementsOp = {
    "GatherElements", verify_attrs<attrs::GatherElements>, infer_elements, 2, 2, 1, 1, OpDef::kPure, 0};
const OpDef kGatherNDOp = {"GatherND", verify_attrs<attrs::GatherND>, infer_nd, 2, 2, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
