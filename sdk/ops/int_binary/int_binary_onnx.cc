// ONNX has no operators that mean what IntAdd and IntMul mean: INTEGER.md's steps.
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/shared/integer_export.h"

namespace vireo {
namespace {

Status add(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntAdd>();
  const auto term = [&](int i, int32_t zero, float multiplier) {
    const std::string d = ctx.cast(export_difference(ctx, ctx.input(i), zero), DType::kF32);
    return ctx.step("Mul", {d, ctx.add_scalar(DType::kF32, static_cast<double>(multiplier))});
  };
  const std::string left = term(0, a.a_zero(), a.a_multiplier()), right = term(1, a.b_zero(), a.b_multiplier());
  return export_codes(ctx, a, ctx.step("Add", {left, right}));
}

Status mul(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntMul>();
  const auto factor = [&](int i, int32_t zero) {  // two of 16 bits leave int32
    const std::string d = export_difference(ctx, ctx.input(i), zero);
    return dtype_bits(ctx.input_type(0).dtype) + dtype_bits(ctx.input_type(1).dtype) > 24 ? ctx.cast(d, DType::kI64)
                                                                                          : d;
  };
  const std::string left = factor(0, a.a_zero()), right = factor(1, a.b_zero());
  const std::string acc = ctx.cast(ctx.step("Mul", {left, right}), DType::kF32);
  const std::string m = ctx.add_scalar(DType::kF32, static_cast<double>(a.multiplier()));
  return export_codes(ctx, a, ctx.step("Mul", {acc, m}));
}

}  // namespace

Status export_int_binary(ExportContext& ctx) { return ctx.op() == Op::kIntAdd ? add(ctx) : mul(ctx); }

}  // namespace vireo
