// y = min(max(x, low), high): where low is above high, all is high. NaN in x stays.
//   x          any shape; a float or an integer of 8 to 64 bits
//   low, high  one element each, dtype of x; absent: no bound
//   y          shape and dtype of x
//   alias      y may be x;  scratch none
// Source: ONNX opset 13 "Clip".
#include "sdk/ops/clip/clip_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_clip(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kNumberSet));
  for (int i = 1; i <= 2; ++i) {
    if (!ctx.has(i)) continue;
    VIREO_TRY(check_same_type(ctx, 0, i));
    VIREO_TRY(check_one_element(ctx, i));
  }
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kClipOp;
const OpDef kClipOp = {"Clip", verify_attrs<attrs::Clip>, infer_clip, 1, 3, 1, 1, OpDef::kPure, /*inplace=*/1};

}  // namespace vireo
