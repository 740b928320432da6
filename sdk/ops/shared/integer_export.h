// The formulas of INTEGER.md as ONNX operators, step by step the same numbers. Host only.
#ifndef VIREO_SDK_OPS_SHARED_INTEGER_EXPORT_H_
#define VIREO_SDK_OPS_SHARED_INTEGER_EXPORT_H_

#include "sdk/ops/view_export.h"

namespace vireo {

// code - zero, int32.
inline std::string export_difference(ExportContext& ctx, const std::string& codes, int32_t zero) {
  const std::string wide = ctx.cast(codes, DType::kI32);
  return zero == 0 ? wide : ctx.step("Sub", {wide, ctx.add_scalar(DType::kI32, zero)});
}

// Codes as bytes: code - zero = sum of part.weight * (part.codes - part.zero). ONNX's integer products take bytes, so
// 16 bits go in two, whose sums are put together in int64.
struct ExportedBytes {
  std::string codes;
  DType type;
  int32_t zero;
  int64_t weight;
};
inline std::vector<ExportedBytes> export_bytes(ExportContext& ctx, int i, int32_t zero) {
  const DType t = ctx.input_type(i).dtype;
  if (dtype_bits(t) == 8) return {{ctx.input(i), t, zero, 1}};
  const int32_t shift = t == DType::kI16 ? 32768 : 0;
  const std::string code = export_difference(ctx, ctx.input(i), -shift), unit = ctx.add_scalar(DType::kI32, 256);
  const std::string high = ctx.step("Div", {code, unit});
  const std::string low = ctx.step("Sub", {code, ctx.step("Mul", {high, unit})});
  return {{ctx.cast(high, DType::kU8), DType::kU8, (zero + shift) >> 8, 256},
          {ctx.cast(low, DType::kU8), DType::kU8, (zero + shift) & 255, 1}};
}
// int8 codes as uint8, 128 above. Weights of two parts go so: ONNX Runtime 1.32 moves int8 weights that two products
// share twice, and fails, and adds two products of uint8 and int8 in 16 bits on some cores.
inline std::string export_moved_up(ExportContext& ctx, const std::string& codes) {
  return ctx.cast(export_difference(ctx, codes, -128), DType::kU8);
}
// The sum of `sums(part)`, int32, over all parts: int32 of one part, int64 of two.
template <class Sums>
std::string export_sums(ExportContext& ctx, const std::vector<ExportedBytes>& parts, const Sums& sums) {
  std::string all;
  for (const ExportedBytes& part : parts) {
    std::string sum = sums(part);
    if (parts.size() != 1) sum = ctx.cast(sum, DType::kI64);
    if (part.weight != 1) sum = ctx.step("Mul", {sum, ctx.add_scalar(DType::kI64, static_cast<double>(part.weight))});
    all = all.empty() ? sum : ctx.step("Add", {all, sum});
  }
  return all;
}

// round_and_clamp(v, y_zero) as codes of y, which are the node's output 0. Round is to even, and what it leaves, +
// zero, is exact wherever the clamp does not decide.
template <class Attrs>
Status export_codes(ExportContext& ctx, const Attrs& a, const std::string& v) {
  std::string y = ctx.step("Round", {v});
  if (a.y_zero() != 0) y = ctx.step("Add", {y, ctx.add_scalar(DType::kF32, a.y_zero())});
  y = ctx.step("Clip", {y, ctx.add_scalar(DType::kF32, a.low()), ctx.add_scalar(DType::kF32, a.high())});
  return ctx.finish(ctx.cast_node(y, static_cast<DType>(a.output_dtype())));
}

// Input i, one number or one a channel, as something that broadcasts over `behind` further dimensions.
inline std::string export_per_channel(ExportContext& ctx, int i, int behind) {
  if (behind == 0) return ctx.input(i);
  std::vector<int64_t> shape(static_cast<size_t>(behind) + 1, 1);
  shape[0] = -1;
  return ctx.step("Reshape", {ctx.input(i), ctx.add_i64(shape)});
}

// Input i is constant, and all its elements are this one.
inline bool export_uniform(const ExportContext& ctx, int i, int32_t* value) {
  const ConstTensor* c = ctx.constant(i);
  if (c == nullptr || c->count() < 1) return false;
  for (int64_t k = 1; k < c->count(); ++k) {
    if (c->bytes[static_cast<size_t>(k)] != c->bytes[0]) return false;
  }
  *value = c->type.dtype == DType::kI8 ? static_cast<int8_t>(c->bytes[0]) : c->bytes[0];
  return true;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_INTEGER_EXPORT_H_
