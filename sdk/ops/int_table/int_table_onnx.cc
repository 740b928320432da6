// ONNX has no operator that means what IntTable means: a Gather by the byte of x as a number of 0 to 255.
#include "sdk/ops/view_export.h"

namespace vireo {

Status export_int_table(ExportContext& ctx) {
  std::string place = ctx.cast(ctx.input(0), DType::kI32);
  if (ctx.input_type(0).dtype == DType::kI8) {
    OnnxNode n = ExportContext::node("Mod", {place, ctx.add_scalar(DType::kI32, 256)});  // the sign of the divisor
    place = ctx.step(std::move(n));
  }
  return ctx.finish("Gather", {ctx.input(1), place});
}

}  // namespace vireo
