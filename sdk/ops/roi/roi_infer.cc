// Pooling inside regions of interest; f32, f64, f16, bf16.
//   RoiAlign    (x [N, C, H, W], rois [R, 4] x1 y1 x2 y2, batch i64 [R]) -> [R, C, output_height, output_width]: each
//   bin is
//               sampled bilinearly on a grid; points more than one element outside count 0
//   MaxRoiPool  (x [N, C, H, W], rois [R, 5] batch x1 y1 x2 y2) -> [R, C, pooled_height, pooled_width]: the largest
//   element of
//               each bin, 0 for an empty one
//   sampling_ratio is at most 1,024: each bin has its square of points, however small the map is
// kInvalidArgument for a batch index outside x. Source: ONNX opset 16 "RoiAlign" (He et al. 2017, "Mask R-CNN"), opset
// 1 "MaxRoiPool" (Girshick 2015, "Fast R-CNN").
#include "sdk/ops/roi/roi_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

constexpr int32_t kMostPoints = 1024;  // of a bin along an axis

Status pooled(InferContext& ctx, int64_t height, int64_t width, int64_t columns) {
  const TensorType& x = ctx.input(0);
  const TensorType& rois = ctx.input(1);
  VIREO_TRY(check_rank(ctx, 0, 4, 4));
  VIREO_TRY(check_rank(ctx, 1, 2, 2));
  if (x.dtype != rois.dtype ||
      !(x.dtype == DType::kF32 || x.dtype == DType::kF64 || x.dtype == DType::kF16 || x.dtype == DType::kBF16)) {
    return ctx.fail(Status::kInvalidModel, "regions of {} in {}", dtype_name(rois.dtype), dtype_name(x.dtype));
  }
  if (height < 1 || width < 1 || ctx.differ(rois.shape[1], columns)) {
    return ctx.fail(Status::kInvalidModel, "pooling to {} x {} of rois {}, wanted {} columns", height, width,
                    rois.shape, columns);
  }
  TensorType& y = ctx.output(0);
  y = x;
  y.shape[0] = rois.shape[0];
  y.shape[2] = height;
  y.shape[3] = width;
  return Status::kOk;
}

Status infer_align(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::RoiAlign>();
  VIREO_TRY(check_rank(ctx, 2, 1, 1));
  VIREO_TRY(check_integer_list(ctx, 2));
  if (ctx.input(1).shape.rank == 2 && ctx.differ(ctx.input(1).shape[0], ctx.input(2).shape[0])) {
    return ctx.fail(Status::kInvalidModel, "RoiAlign: {} batch indices for rois {}", ctx.input(2).shape[0],
                    ctx.input(1).shape);
  }
  if (a.sampling_ratio() < 0 || a.sampling_ratio() > kMostPoints) {
    return ctx.fail(Status::kInvalidModel, "RoiAlign: sampling_ratio is {}, wanted 0 to {}", a.sampling_ratio(),
                    kMostPoints);
  }
  return pooled(ctx, a.output_height(), a.output_width(), 4);
}

Status infer_max_roi_pool(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::MaxRoiPool>();
  return pooled(ctx, a.pooled_height(), a.pooled_width(), 5);
}

}  // namespace

extern const OpDef kRoiAlignOp;
extern const OpDef kMaxRoiPoolOp;
const OpDef kRoiAlignOp = {"RoiAlign", verify_attrs<attrs::RoiAlign>, infer_align, 3, 3, 1, 1, OpDef::kPure, 0};
const OpDef kMaxRoiPoolOp = {
    "MaxRoiPool", verify_attrs<attrs::MaxRoiPool>, infer_max_roi_pool, 2, 2, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
