// What the integer operators (240 to 259, INTEGER.md) share: checks of codes and multipliers, and the last step.
#ifndef VIREO_SDK_OPS_SHARED_INTEGER_H_
#define VIREO_SDK_OPS_SHARED_INTEGER_H_

#include "sdk/base/requantize.h"
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/shared/integer_product.h"

namespace vireo {

inline int32_t least_code(DType t) { return t == DType::kI8 ? -128 : 0; }
inline int32_t greatest_code(DType t) { return t == DType::kI8 ? 127 : 255; }

inline Status check_code(InferContext& ctx, const char* what, int32_t code, DType t) {
  if (code >= least_code(t) && code <= greatest_code(t)) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "{} is {}, outside of {}", what, code, dtype_name(t));
}

// Input `i` is 8-bit and `zero_point` one of its codes.
inline Status check_codes(InferContext& ctx, int i, int32_t zero_point) {
  const DType t = ctx.input(i).dtype;
  if (!is_byte(t)) return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted int8 or uint8", i, dtype_name(t));
  return check_code(ctx, "a zero point", zero_point, t);
}

// output_dtype, y_zero, low and high agree; sets the type of output 0.
template <class Attrs>
Status infer_codes(InferContext& ctx, const Attrs& a) {
  const DType t = static_cast<DType>(a.output_dtype());
  if (!is_byte(t)) return ctx.fail(Status::kInvalidModel, "output_dtype is {}, wanted int8 or uint8", dtype_name(t));
  VIREO_TRY(check_code(ctx, "y_zero", a.y_zero(), t));
  VIREO_TRY(check_code(ctx, "low", a.low(), t));
  VIREO_TRY(check_code(ctx, "high", a.high(), t));
  if (a.low() > a.high()) return ctx.fail(Status::kInvalidModel, "low is {}, above high, {}", a.low(), a.high());
  ctx.output(0).dtype = t;
  return Status::kOk;
}

// Input `i`, where it is given: of type `t`, one for all or one for each of `channels`.
inline Status check_per_channel(InferContext& ctx, int i, DType t, Dim channels) {
  if (!ctx.has(i)) return Status::kOk;
  const TensorType& p = ctx.input(i);
  if (p.dtype != t)
    return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted {}", i, dtype_name(p.dtype), dtype_name(t));
  if (p.shape.rank == 0 || (p.shape.rank == 1 && (p.shape[0] == 1 || !ctx.differ(p.shape[0], channels))))
    return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted one number or {}", i, p.shape, channels);
}

// y = clamp(rne(v) + y_zero), stored; and the same of float(acc) * m.
struct Codes {
  int32_t zero, low, high;
  template <class Attrs>
  explicit Codes(const Attrs& a) : zero(a.y_zero()), low(a.low()), high(a.high()) {}
  uint8_t of_real(float v) const { return static_cast<uint8_t>(round_and_clamp(v, zero, low, high)); }
  uint8_t of_sum(int32_t acc, float m) const { return static_cast<uint8_t>(requantize(acc, m, zero, low, high)); }
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_INTEGER_H_
