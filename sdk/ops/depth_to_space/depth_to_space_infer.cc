// DepthToSpace: [N, C, H, W] -> [N, C / b^2, H b, W b], channels become b by b blocks.
// SpaceToDepth: [N, C, H, W] -> [N, C b^2, H / b, W / b], channel as the mode has it:
//   dcr (row * b + column) * C + c, crd (c * b + row) * b + column.
// Every data type; no aliasing. Source: ONNX opset 13 "DepthToSpace", "SpaceToDepth".
#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status check(InferContext& ctx, int64_t b) {
  VIREO_TRY(check_rank(ctx, 0, 4, 4));
  if (b < 1 || b > 32768) return ctx.fail(Status::kInvalidModel, "blocksize is {}", b);
  return Status::kOk;
}

Status infer_depth(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::DepthToSpace>();
  const TensorType& x = ctx.input(0);
  const int64_t b = a.blocksize();
  VIREO_TRY(check(ctx, b));
  if (a.mode() > attrs::DepthToSpaceMode::crd) return ctx.fail(Status::kInvalidModel, "DepthToSpace: unknown mode");
  const Dim c = x.shape[1];
  if (!is_symbolic(c) && c % (b * b) != 0) {
    return ctx.fail(Status::kInvalidModel, "DepthToSpace: {} channels are no multiple of {} x {}", c, b, b);
  }
  TensorType& y = ctx.output(0);
  y = x;
  y.shape[1] = ctx.floor_div(c, b * b);
  y.shape[2] = ctx.mul(x.shape[2], b);
  y.shape[3] = ctx.mul(x.shape[3], b);
  return Status::kOk;
}

Status infer_space(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const auto& a = ctx.attrs<attrs::SpaceToDepth>();
  const int64_t b = a.blocksize();
  VIREO_TRY(check(ctx, b));
  if (a.mode() > attrs::DepthToSpaceMode::crd) return ctx.fail(Status::kInvalidModel, "SpaceToDepth: unknown mode");
  TensorType& y = ctx.output(0);
  y = x;
  y.shape[1] = ctx.mul(x.shape[1], b * b);
  for (int k = 2; k < 4; ++k) {
    if (!is_symbolic(x.shape[k]) && x.shape[k] % b != 0) {
      return ctx.fail(Status::kInvalidModel, "SpaceToDepth: {} is no multiple of {} in axis {}", x.shape, b, k);
    }
    y.shape[k] = ctx.floor_div(x.shape[k], b);
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kDepthToSpaceOp;
extern const OpDef kSpaceToDepthOp;
const OpDef kDepthToSpaceOp = {
    "DepthToSpace", verify_attrs<attrs::DepthToSpace>, infer_depth, 1, 1, 1, 1, OpDef::kPure, 0};
const OpDef kSpaceToDepthOp = {
    "SpaceToDepth", verify_attrs<attrs::SpaceToDepth>, infer_space, 1, 1, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
