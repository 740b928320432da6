// ONNX has no operator that means what IntGemm means: MatMulInteger, and INTEGER.md's steps behind it.
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/shared/integer_export.h"

namespace vireo {

Status export_int_gemm(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntGemm>();
  const std::vector<ExportedBytes> parts = export_bytes(ctx, 0, a.a_zero());
  const bool wide = parts.size() != 1, packed = ctx.input_type(1).dtype == DType::kI4;
  const bool up = wide && ctx.input_type(1).dtype == DType::kI8;
  const DType b_type = packed ? DType::kI8 : up ? DType::kU8 : ctx.input_type(1).dtype;
  std::string b = packed ? ctx.cast(ctx.input(1), b_type) : ctx.input(1), zeros;
  int32_t b_zero = 0;
  const bool given = !ctx.input(4).empty(), uniform = !given || export_uniform(ctx, 4, &b_zero);
  if (up) b = export_moved_up(ctx, b);
  if (given || up) {
    zeros = uniform ? ctx.add_scalar(b_type, b_zero + (up ? 128 : 0))
            : up    ? export_moved_up(ctx, ctx.input(4))
                    : ctx.input(4);
  }
  std::string acc = export_sums(ctx, parts, [&](const ExportedBytes& part) {
    OnnxNode n = ExportContext::node("MatMulInteger", {part.codes, b, ctx.add_scalar(part.type, part.zero)});
    if (!zeros.empty()) n.inputs.push_back(zeros);
    return ctx.step(std::move(n));
  });
  if (!ctx.input(3).empty())
    acc = ctx.step("Add", {acc, parts.size() == 1 ? ctx.input(3) : ctx.cast(ctx.input(3), DType::kI64)});
  // One number for all is of rank 1; a product of vectors has rank 0 and keeps it.
  const bool scalar = ctx.output_type(0).shape.rank == 0;
  const std::string m = scalar ? ctx.step("Reshape", {ctx.input(2), ctx.add_i64({})}) : ctx.input(2);
  if (scalar && !ctx.input(3).empty()) acc = ctx.step("Reshape", {acc, ctx.add_i64({})});
  return export_codes(ctx, a, ctx.step("Mul", {ctx.cast(acc, DType::kF32), m}));
}

}  // namespace vireo
