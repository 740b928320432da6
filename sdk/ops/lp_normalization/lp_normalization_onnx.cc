// Opsets 1 and 22 differ in types, and 22 says what a norm of 0 gives.
#include "sdk/ops/lp_normalization/lp_normalization_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_lp_normalization(ImportContext& ctx) {
  attrs::LpNormalizationT a;
  const int64_t axis = ctx.attr_int("axis", -1), p = ctx.attr_int("p", 2);
  if (axis < -kMaxRank || axis >= kMaxRank) return ctx.fail(Status::kInvalidModel, "axis is " + std::to_string(axis));
  if (p != 1 && p != 2) return ctx.fail(Status::kInvalidModel, "p is " + std::to_string(p) + ", wanted 1 or 2");
  a.axis = static_cast<int32_t>(axis);
  a.p = static_cast<int32_t>(p);
  return import_direct(ctx, Op::kLpNormalization, pack<attrs::LpNormalization>(a));
}

}  // namespace

extern const OnnxImport kLpNormalizationOnnx;
const OnnxImport kLpNormalizationOnnx = {"", "LpNormalization", import_lp_normalization};

Status export_lp_normalization(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::LpNormalization>();
  return ctx.done(ctx.same().number("axis", a.axis()).number("p", a.p()));
}

}  // namespace vireo
