// What the integer operators (240 to 259, INTEGER.md) share: checks of codes and multipliers, and the last step.
#ifndef VIREO_SDK_OPS_SHARED_INTEGER_H_
#define VIREO_SDK_OPS_SHARED_INTEGER_H_

#include "sdk/base/requantize.h"
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/shared/integer_product.h"

namespace vireo {

inline bool is_code(DType t) { return is_byte(t) || is_half_word(t); }
inline int32_t least_code(DType t) { return t == DType::kI8 ? -128 : t == DType::kI16 ? -32768 : 0; }
inline int32_t greatest_code(DType t) {
  return t == DType::kI8 ? 127 : t == DType::kI16 ? 32767 : t == DType::kU16 ? 65535 : 255;
}

inline Status check_code(InferContext& ctx, const char* what, int32_t code, DType t) {
  if (code >= least_code(t) && code <= greatest_code(t)) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "{} is {}, outside of {}", what, code, dtype_name(t));
}

// Input `i` is 8-bit and `zero_point` one of its codes.
inline Status check_bytes(InferContext& ctx, int i, int32_t zero_point) {
  const DType t = ctx.input(i).dtype;
  if (!is_byte(t)) return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted int8 or uint8", i, dtype_name(t));
  return check_code(ctx, "a zero point", zero_point, t);
}

// The same of 8 or 16 bits.
inline Status check_codes(InferContext& ctx, int i, int32_t zero_point) {
  const DType t = ctx.input(i).dtype;
  if (!is_code(t)) {
    return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted an integer of 8 or 16 bits", i, dtype_name(t));
  }
  return check_code(ctx, "a zero point", zero_point, t);
}

// output_dtype, y_zero, low and high agree; sets the type of output 0. `kind`: what the operator writes.
enum class CodeKind : uint8_t { kBytes, kAll };
template <class Attrs>
Status infer_codes(InferContext& ctx, const Attrs& a, CodeKind kind = CodeKind::kAll) {
  const DType t = static_cast<DType>(a.output_dtype());
  if (kind == CodeKind::kBytes && !is_byte(t))
    return ctx.fail(Status::kInvalidModel, "output_dtype is {}, wanted int8 or uint8", dtype_name(t));
  if (!is_code(t)) {
    return ctx.fail(Status::kInvalidModel, "output_dtype is {}, wanted an integer of 8 or 16 bits", dtype_name(t));
  }
  VIREO_TRY(check_code(ctx, "y_zero", a.y_zero(), t));
  VIREO_TRY(check_code(ctx, "low", a.low(), t));
  VIREO_TRY(check_code(ctx, "high", a.high(), t));
  if (a.low() > a.high()) return ctx.fail(Status::kInvalidModel, "low is {}, above high, {}", a.low(), a.high());
  ctx.output(0).dtype = t;
  return Status::kOk;
}

// Input `w` is int8; or int4 where input `x` is 8-bit.
inline Status check_weights(InferContext& ctx, int x, int w) {
  const DType t = ctx.input(w).dtype;
  if (t == DType::kI8 || (t == DType::kI4 && is_byte(ctx.input(x).dtype))) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "weights are {}, wanted int8, or int4 for an input of 8 bits", dtype_name(t));
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
  bool wide;  // codes of 16 bits
  template <class Attrs>
  explicit Codes(const Attrs& a)
      : zero(a.y_zero()), low(a.low()), high(a.high()), wide(is_half_word(static_cast<DType>(a.output_dtype()))) {}
  // Of 8 bits.
  uint8_t of_real(float v) const { return static_cast<uint8_t>(round_and_clamp(v, zero, low, high)); }
  uint8_t of_sum(int32_t acc, float m) const { return static_cast<uint8_t>(requantize(acc, m, zero, low, high)); }
  // Element `i` of y, whichever type it has.
  void put_real(uint8_t* y, int64_t i, float v) const { put(y, i, round_and_clamp(v, zero, low, high)); }
  void put_sum(uint8_t* y, int64_t i, int32_t acc, float m) const { put(y, i, requantize(acc, m, zero, low, high)); }
  // An int64 becomes the nearest float32 at once.
  void put_sum(uint8_t* y, int64_t i, int64_t acc, float m) const { put_real(y, i, static_cast<float>(acc) * m); }

 private:
  void put(uint8_t* y, int64_t i, int32_t code) const {
    if (wide) {
      reinterpret_cast<uint16_t*>(y)[i] = static_cast<uint16_t>(code);
    } else {
      y[i] = static_cast<uint8_t>(code);
    }
  }
};

// As ByteOperand, of 16 bits and without zero points.
struct HalfWordOperand {
  const uint16_t* data;
  uint16_t flip;
  explicit HalfWordOperand(const Tensor& t)
      : data(t.as<const uint16_t>()), flip(t.dtype == DType::kU16 ? uint16_t{0x8000} : uint16_t{0}) {}
  int32_t value(uint16_t code) const { return static_cast<int16_t>(code ^ flip); }
};

// Codes of any type, one by one.
struct CodeReader {
  const uint8_t* data;
  DType type;
  explicit CodeReader(const Tensor& t) : data(t.as<const uint8_t>()), type(t.dtype) {}
  int32_t operator[](int64_t i) const {
    const uint32_t code = is_half_word(type) ? reinterpret_cast<const uint16_t*>(data)[i] : data[i];
    if (type == DType::kI8) return static_cast<int8_t>(code);
    return type == DType::kI16 ? static_cast<int16_t>(code) : static_cast<int32_t>(code);
  }
};

// Weights of int4, two to a byte; moves and reads as a pointer does.
struct NibbleReader {
  const uint8_t* data;
  int64_t at = 0;
  NibbleReader operator+(int64_t i) const { return {data, at + i}; }
  int32_t operator[](int64_t i) const {
    const int32_t byte = data[(at + i) >> 1];
    return (((at + i) & 1 ? byte >> 4 : byte & 15) ^ 8) - 8;
  }
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_INTEGER_H_
