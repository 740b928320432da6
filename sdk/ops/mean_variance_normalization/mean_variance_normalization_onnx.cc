// Opsets 9 and 13 differ in types alone.
#include "sdk/ops/mean_variance_normalization/mean_variance_normalization_generated.h"
#include "sdk/ops/shared/window_import.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_mean_variance_normalization(ImportContext& ctx) {
  attrs::MeanVarianceNormalizationT a;
  VIREO_TRY(import_ints(ctx, "axes", &a.axes));
  if (!ctx.has_attr("axes")) a.axes = {0, 2, 3};
  return import_direct(ctx, Op::kMeanVarianceNormalization, pack<attrs::MeanVarianceNormalization>(a));
}

}  // namespace

extern const OnnxImport kMeanVarianceNormalizationOnnx;
const OnnxImport kMeanVarianceNormalizationOnnx = {"", "MeanVarianceNormalization", import_mean_variance_normalization};

Status export_mean_variance_normalization(ExportContext& ctx) {
  const auto* axes = ctx.attrs<attrs::MeanVarianceNormalization>().axes();
  return ctx.done(ctx.same().set(
      "axes", axes == nullptr ? std::vector<int64_t>{} : std::vector<int64_t>(axes->begin(), axes->end())));
}

}  // namespace vireo
