// ONNX has no operator that means what IntGemm means: MatMulInteger, and INTEGER.md's steps behind it.
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/shared/integer_export.h"

namespace vireo {

Status export_int_gemm(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntGemm>();
  OnnxNode n = ExportContext::node("MatMulInteger",
                                   {ctx.input(0), ctx.input(1), ctx.add_scalar(ctx.input_type(0).dtype, a.a_zero())});
  int32_t b_zero = 0;
  if (!ctx.input(4).empty()) {
    const bool uniform = export_uniform(ctx, 4, &b_zero);
    n.inputs.push_back(uniform ? ctx.add_scalar(ctx.input_type(1).dtype, b_zero) : ctx.input(4));
  }
  std::string acc = ctx.step(std::move(n));
  if (!ctx.input(3).empty()) acc = ctx.step("Add", {acc, ctx.input(3)});
  // One number for all is of rank 1; a product of vectors has rank 0 and keeps it.
  const bool scalar = ctx.output_type(0).shape.rank == 0;
  const std::string m = scalar ? ctx.step("Reshape", {ctx.input(2), ctx.add_i64({})}) : ctx.input(2);
  if (scalar && !ctx.input(3).empty()) acc = ctx.step("Reshape", {acc, ctx.add_i64({})});
  return export_codes(ctx, a, ctx.step("Mul", {ctx.cast(acc, DType::kF32), m}));
}

}  // namespace vireo
