// ONNX has no operator that means what IntAffine means: INTEGER.md's steps.
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/shared/integer_export.h"

namespace vireo {

Status export_int_affine(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntAffine>();
  const std::string d = ctx.cast(export_difference(ctx, ctx.input(0), a.x_zero()), DType::kF32);
  std::string factor = ctx.input(1);
  if (!ctx.input(2).empty()) {
    const std::string negative = ctx.step("Less", {d, ctx.add_scalar(DType::kF32, 0)});
    factor = ctx.step("Where", {negative, ctx.input(2), factor});
  }
  std::string v = ctx.step("Mul", {d, factor});
  if (!ctx.input(3).empty()) v = ctx.step("Add", {v, ctx.input(3)});
  return export_codes(ctx, a, v);
}

}  // namespace vireo
