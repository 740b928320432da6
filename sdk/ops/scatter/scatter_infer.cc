// Writes into a copy of data at computed places. Indices are i32 or i64 in [-d, d); kInvalidArgument for one outside,
// with the output untouched. y may be data. Reductions take the updates in row-major order.
//   ScatterElements (data, indices, updates)     y[i with i_axis replaced by indices[i]] = updates[i]
//   ScatterND (data, indices [.., m], updates)   y[indices[j], ..] = updates[j, ..]
//   TensorScatter (cache, update, write [B] optional)   y[b, .., write[b] + t, ..] = update[b, .., t, ..] along `axis`
// Source: ONNX opset 18 "ScatterElements", "ScatterND", opset 24 "TensorScatter".
#include "sdk/ops/scatter/scatter_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status check_scatter(InferContext& ctx, attrs::ScatterReduction reduction) {
  const DType t = ctx.input(0).dtype, index = ctx.input(1).dtype;
  if (index != DType::kI64 && index != DType::kI32) {
    return ctx.fail(Status::kInvalidModel, "indices are {}, wanted int32 or int64", dtype_name(index));
  }
  if (ctx.input(2).dtype != t) {
    return ctx.fail(Status::kInvalidModel, "updates are {}, data is {}", dtype_name(ctx.input(2).dtype), dtype_name(t));
  }
  if (reduction > attrs::ScatterReduction::max) return ctx.fail(Status::kInvalidModel, "unknown reduction");
  const bool number = (dtype_is_float(t) || dtype_is_integer(t)) && dtype_bits(t) >= 8;
  if (reduction != attrs::ScatterReduction::none && !number && t != DType::kBool) {
    return ctx.fail(Status::kUnsupported, "reduction of {}", dtype_name(t));
  }
  return Status::kOk;
}

Status infer_elements(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::ScatterElements>();
  VIREO_TRY(check_scatter(ctx, a.reduction()));
  const Shape& x = ctx.input(0).shape;
  const Shape& indices = ctx.input(1).shape;
  const Shape& updates = ctx.input(2).shape;
  int axis = 0;
  VIREO_TRY(check_axis(ctx, a.axis(), x.rank, &axis));
  VIREO_TRY(check_rank(ctx, 1, x.rank, x.rank));
  VIREO_TRY(check_rank(ctx, 2, x.rank, x.rank));
  for (int k = 0; k < x.rank; ++k) {
    if (ctx.differ(indices[k], updates[k]) ||
        (k != axis && !is_symbolic(indices[k]) && !is_symbolic(x[k]) && indices[k] > x[k])) {
      return ctx.fail(Status::kInvalidModel, "ScatterElements: data {}, indices {}, updates {}", x, indices, updates);
    }
  }
  return infer_same(ctx);
}

Status infer_nd(InferContext& ctx) {
  VIREO_TRY(check_scatter(ctx, ctx.attrs<attrs::ScatterND>().reduction()));
  const Shape& x = ctx.input(0).shape;
  const Shape& indices = ctx.input(1).shape;
  const Shape& updates = ctx.input(2).shape;
  VIREO_TRY(check_rank(ctx, 1, 1, kMaxRank));
  const Dim depth = indices[indices.rank - 1];
  if (is_symbolic(depth))
    return ctx.fail(Status::kUnsupported, "ScatterND: the last dimension of indices is not known");
  bool fits = depth >= 1 && depth <= x.rank && updates.rank == indices.rank - 1 + x.rank - depth;
  for (int k = 0; fits && k < updates.rank; ++k) {
    fits = !ctx.differ(updates[k],
                       k < indices.rank - 1 ? indices[k] : x[k - (indices.rank - 1) + static_cast<int>(depth)]);
  }
  if (!fits) return ctx.fail(Status::kInvalidModel, "ScatterND: data {}, indices {}, updates {}", x, indices, updates);
  return infer_same(ctx);
}

Status infer_tensor(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const TensorType& update = ctx.input(1);
  int axis = 0;
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::TensorScatter>().axis(), x.shape.rank, &axis));
  if (axis == 0) return ctx.fail(Status::kInvalidModel, "TensorScatter: axis 0 is the batch");
  VIREO_TRY(check_rank(ctx, 1, x.shape.rank, x.shape.rank));
  bool fits = update.dtype == x.dtype;
  for (int k = 0; k < x.shape.rank; ++k) {
    if (k != axis) {
      fits = fits && !ctx.differ(update.shape[k], x.shape[k]);
    } else if (!is_symbolic(update.shape[k]) && !is_symbolic(x.shape[k])) {
      fits = fits && update.shape[k] <= x.shape[k];
    }
  }
  if (!fits) {
    return ctx.fail(Status::kInvalidModel, "TensorScatter: update {} {} into cache {} {}", dtype_name(update.dtype),
                    update.shape, dtype_name(x.dtype), x.shape);
  }
  if (ctx.has(2)) {
    VIREO_TRY(check_integer_list(ctx, 2));
    int64_t n = 0;
    if (known_length(ctx, 2, &n) && ctx.differ(n, x.shape[0])) {
      return ctx.fail(Status::kInvalidModel, "TensorScatter: {} write positions for a batch of {}", n, x.shape[0]);
    }
  }
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kScatterElementsOp;
extern const OpDef kScatterNDOp;
extern const OpDef kTensorScatterOp;
const OpDef kScatterElementsOp = {
    "ScatterElements", verify_attrs<attrs::ScatterElements>, infer_elements, 3, 3, 1, 1, OpDef::kPure, /*inplace=*/1};
const OpDef kScatterNDOp = {"ScatterND", verify_attrs<attrs::ScatterND>, infer_nd, 3, 3, 1, 1, OpDef::kPure, 1};
const OpDef kTensorScatterOp = {
    "TensorScatter", verify_attrs<attrs::TensorScatter>, infer_tensor, 2, 3, 1, 1, OpDef::kPure, 1};

}  // namespace vireo
