// Expand (data, shape i64 [n]): data broadcast against `shape`, both ways (an extent of 1 in `shape` keeps data's).
// Tile (data, repeats i64 [rank]): y[i] = data[i mod extent].
// Every data type; no aliasing. Source: ONNX opset 13 "Expand", "Tile".
#include "sdk/ops/expand/expand_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_expand(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  VIREO_TRY(check_integer_list(ctx, 1));
  int64_t n = 0;
  if (!known_length(ctx, 1, &n)) return ctx.fail(Status::kUnsupported, "Expand: the number of dimensions is not known");
  VIREO_TRY(check_result_rank(ctx, n));
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  Shape wanted;
  wanted.rank = static_cast<int32_t>(n);
  if (!ctx.known(1)) {
    y.shape.rank = wanted.rank > x.shape.rank ? wanted.rank : x.shape.rank;
    for (int i = 0; i < y.shape.rank; ++i) {
      const int ix = i - (y.shape.rank - x.shape.rank);
      // Where data has more than 1 the result has the same.
      const bool fixed = ix >= 0 && ((!is_symbolic(x.shape[ix]) && x.shape[ix] != 1) || i < y.shape.rank - wanted.rank);
      y.shape[i] = fixed ? x.shape[ix] : ctx.unknown();
    }
    return Status::kOk;
  }
  for (int i = 0; i < wanted.rank; ++i) {
    wanted[i] = ctx.value(1, i);
    if (!is_symbolic(wanted[i]) && wanted[i] < 0) {
      return ctx.fail(Status::kInvalidModel, "Expand: dimension {} of the shape is {}", i, wanted[i]);
    }
  }
  return broadcast(ctx, x.shape, wanted, &y.shape);
}

Status infer_tile(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  VIREO_TRY(check_integer_list(ctx, 1));
  int64_t n = 0;
  if (known_length(ctx, 1, &n) && n != x.shape.rank) {
    return ctx.fail(Status::kInvalidModel, "Tile: {} repeats for {}", n, x.shape);
  }
  TensorType& y = ctx.output(0);
  y = x;
  for (int i = 0; i < x.shape.rank; ++i) {
    if (!ctx.known(1)) {
      y.shape[i] = ctx.unknown();
      continue;
    }
    const Dim r = ctx.value(1, i);
    if (!is_symbolic(r) && r < 0) return ctx.fail(Status::kInvalidModel, "Tile: repeat {} is {}", i, r);
    y.shape[i] = ctx.mul(x.shape[i], r);
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kExpandOp;
extern const OpDef kTileOp;
const OpDef kExpandOp = {"Expand", verify_attrs<attrs::Expand>, infer_expand, 2, 2, 1, 1, OpDef::kPure, 0};
const OpDef kTileOp = {"Tile", verify_attrs<attrs::Tile>, infer_tile, 2, 2, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
