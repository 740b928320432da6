// y = (x - mean) / (sqrt(var) + 1e-9), mean and (population) variance over `axes`
//   x   f32, f64, f16, bf16;  y: type of x;  alias y may be x;  scratch none
// Source: ONNX opset 13 "MeanVarianceNormalization", its function body.
#include "sdk/ops/mean_variance_normalization/mean_variance_normalization_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_mean_variance_normalization(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  if (!dtype_is_float(x.dtype) || dtype_bits(x.dtype) < 16) {
    return ctx.fail(Status::kInvalidModel, "MeanVarianceNormalization of {}", dtype_name(x.dtype));
  }
  const auto* axes = ctx.attrs<attrs::MeanVarianceNormalization>().axes();
  for (unsigned i = 0; axes != nullptr && i < axes->size(); ++i) {
    int axis = 0;
    VIREO_TRY(check_axis(ctx, axes->Get(i), x.shape.rank, &axis));
  }
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kMeanVarianceNormalizationOp;
const OpDef kMeanVarianceNormalizationOp = {"MeanVarianceNormalization",
                                            verify_attrs<attrs::MeanVarianceNormalization>,
                                            infer_mean_variance_normalization,
                                            1,
                                            1,
                                            1,
                                            1,
                                            OpDef::kPure,
                                            /*inplace=*/1};

}  // namespace vireo
