#include "delegates/gpu/templates/elements.h"

#include "sdk/base/narrow_float.h"

namespace vireo::gpu {
namespace {

Value float_from(Value bits) { return bits.builder->bitcast(bits, Type::kF32); }

Value f16_to_f32(Value h) {
  Builder& b = *h.builder;
  if (b.converts_halves) return b.unpack_half(h, 0);
  const Value sign = (h & 0x8000) << 16, magnitude = h & 0x7FFF;
  const Value normal = (magnitude << 13) + (112 << 23);
  // Subnormal: fraction * 2^-24 is exact in float32.
  const Value small = b.bitcast(b.convert(magnitude, Type::kF32) * b.f32(5.9604644775390625e-8f), Type::kU32);
  const Value finite = b.select(magnitude < 0x0400, small, normal);
  return float_from(sign | b.select(magnitude >= 0x7C00, normal + (112 << 23), finite));
}

// As sdk/base/half.h does it, but for a subnormal's rounding: in integers, whatever a device's sums do.
Value f32_to_f16(Value v) {
  Builder& b = *v.builder;
  if (b.converts_halves) return b.pack_halves(v, b.f32(0));
  const Value u = b.bitcast(v, Type::kU32);
  const Value sign = (u >> 16) & 0x8000, a = u & 0x7FFFFFFF;
  const Value normal = (a + 0xFFF + ((a >> 13) & 1) - 0x38000000) >> 13;
  // fraction 2^(e - 150) in units of 2^-24 is fraction >> (126 - e); e from 102 on leaves something.
  const Value e = a >> 23;
  const Value shift = b.select(e < 102, b.u32(25), b.u32(126) - b.select(e > 125, b.u32(125), e));
  const Value fraction = (a & 0x007FFFFF) | 0x00800000;
  const Value kept = fraction >> shift, half = b.u32(1) << (shift - 1), rest = fraction & ((b.u32(1) << shift) - 1);
  const Value up = (rest > half) | ((rest == half) & ((kept & 1) != 0));
  const Value small = kept + b.convert(up, Type::kU32);
  Value out = b.select(a < 0x38800000, small, normal);
  out = b.select(a >= 0x477FF000, b.u32(0x7C00), out);  // 65520 and more: infinity
  return sign | b.select(a > 0x7F800000, b.u32(0x7E00), out);
}

Value f32_to_bf16(Value v) {
  Builder& b = *v.builder;
  const Value u = b.bitcast(v, Type::kU32);
  const Value nan = (u & 0x7FFFFFFF) > 0x7F800000;
  return b.select(nan, (u >> 16) | 0x40, (u + 0x7FFF + ((u >> 16) & 1)) >> 16);
}

Value sign_extended(Value bits, int width) {
  Builder& b = *bits.builder;
  return (b.bitcast(bits, Type::kI32) << (32 - width)) >> (32 - width);
}

Element element_of(int bits) { return bits == 8 ? Element::kByte : bits == 16 ? Element::kHalfWord : Element::kWord; }

}  // namespace

bool is_narrow_float(DType dtype) { return narrow_float(dtype) != nullptr; }

Value narrow_to_f32(DType dtype, Value code) {
  Builder& b = *code.builder;
  const NarrowFloat& f = *narrow_float(dtype);
  const int m = f.mantissa_bits, width = f.exponent_bits + m;
  const Value magnitude = code & ((int64_t{1} << width) - 1), sign = ((code >> width) & 1) << 31;
  const Value exponent = magnitude >> m;
  const Value normal = (magnitude << (23 - m)) + (int64_t{127 - f.bias} << 23);
  const float unit = static_cast<float>(exp2_exact(1 - f.bias - m));
  const Value small = b.bitcast(b.convert(magnitude, Type::kF32) * b.f32(unit), Type::kU32);
  Value bits = b.select(exponent == 0, small, normal);
  const Value nan = b.u32(0x7FC00000);
  if (f.negative_zero && f.nan_code != 0) bits = b.select(magnitude > f.max_code, nan, bits);
  if (f.infinity_code != 0) bits = b.select(magnitude == f.infinity_code, b.u32(0x7F800000), bits);
  bits = sign | bits;
  return float_from(f.negative_zero ? bits : b.select(code == f.nan_code, nan, bits));
}

// As f64_to_narrow of sdk/base/narrow_float.h, in integers.
Value f32_to_narrow(DType dtype, Value number, bool saturate) {
  Builder& b = *number.builder;
  const NarrowFloat& f = *narrow_float(dtype);
  const int m = f.mantissa_bits, width = f.exponent_bits + m, cut = 23 - m;
  const Value u = b.bitcast(number, Type::kU32), a = u & 0x7FFFFFFF;
  const Value sign = (u >> 31) << width;
  const int64_t least = 128 - f.bias;  // exponent of the smallest normal number, as float32 has it
  const Value normal = ((a + ((int64_t{1} << (cut - 1)) - 1) + ((a >> cut) & 1)) >> cut) - (int64_t{127 - f.bias} << m);
  const Value e = a >> 23;
  const Value below = b.u32(static_cast<uint32_t>(least)) - e;
  const Value shift = b.select(below > 25 - cut, b.u32(25), below + cut);
  const Value fraction = (a & 0x007FFFFF) | 0x00800000;
  const Value kept = fraction >> shift, half = b.u32(1) << (shift - 1), rest = fraction & ((b.u32(1) << shift) - 1);
  const Value up = (rest > half) | ((rest == half) & ((kept & 1) != 0));
  Value code = b.select(e < least, kept + b.convert(up, Type::kU32), normal);
  const Value nan_code = f.negative_zero ? sign | f.nan_code : b.u32(f.nan_code);
  const Value beyond = code > f.max_code;
  if (saturate || f.nan_code == 0) {
    code = b.select(beyond, b.u32(f.max_code), code);
  } else if (f.infinity_code != 0) {
    code = b.select(beyond, b.u32(f.infinity_code), code);
  }
  Value out = sign | code;
  if (!f.negative_zero) out = b.select(code == 0, code, out);
  if (!saturate && f.nan_code != 0 && f.infinity_code == 0) out = b.select(beyond, nan_code, out);
  const Value of_nan = f.nan_code == 0 ? b.u32(uint32_t{1} << width) : nan_code;
  return b.select(a > 0x7F800000, of_nan, out);
}

Type lane_type(DType dtype, const Target& target) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return Type::kF32;
    case DType::kI2:
    case DType::kI4:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
      return Type::kI32;
    case DType::kU2:
    case DType::kU4:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
      return Type::kU32;
    case DType::kBool:
      return Type::kBool;
    case DType::kI64:
      return target.int64 ? Type::kI64 : Type::kNone;
    case DType::kU64:
      return target.int64 ? Type::kU64 : Type::kNone;
    default:
      return is_narrow_float(dtype) ? Type::kU32 : Type::kNone;
  }
}

Value decode(DType dtype, Value bits) {
  Builder& b = *bits.builder;
  switch (dtype) {
    case DType::kF32:
      return float_from(bits);
    case DType::kF16:
      return f16_to_f32(bits);
    case DType::kBF16:
      return float_from(bits << 16);
    case DType::kI2:
    case DType::kI4:
    case DType::kI8:
    case DType::kI16:
      return sign_extended(bits, dtype_bits(dtype));
    case DType::kI32:
      return b.bitcast(bits, Type::kI32);
    case DType::kBool:
      return bits != 0;
    default:
      return bits;
  }
}

Value encode(DType dtype, Value number) {
  Builder& b = *number.builder;
  switch (dtype) {
    case DType::kF16:
      return f32_to_f16(number);
    case DType::kBF16:
      return f32_to_bf16(number);
    case DType::kBool:
      return b.convert(number, Type::kU32);
    default: {
      const Value bits = b.bitcast(number, Type::kU32);
      return dtype_bits(dtype) < 32 ? bits & ((int64_t{1} << dtype_bits(dtype)) - 1) : bits;
    }
  }
}

Value rounded(DType dtype, Value number) {
  if (dtype == DType::kBool || dtype_bits(dtype) >= 32) return number;
  return decode(dtype, encode(dtype, number));
}

bool can_store(DType dtype, const Target& target) {
  const int bits = dtype_bits(dtype);
  return bits >= 32 || (bits == 16 && target.storage16) || (bits == 8 && target.storage8);
}

Value Elements::load(const Tensor& t, Value index) {
  const int bits = dtype_bits(t.dtype);
  const uint32_t words = b_.buffer(t.binding, Element::kWord, false);
  if (bits == 32) return b_.load(lane_type(t.dtype, target_), words, index);
  if (bits == 64) {
    const Type type = lane_type(t.dtype, target_);
    const Value low = b_.load(Type::kU32, words, index * 2), high = b_.load(Type::kU32, words, index * 2 + 1);
    return b_.bitcast(b_.convert(low, Type::kU64) | (b_.convert(high, Type::kU64) << 32), type);
  }
  if (bits == 16 && target_.storage16) {
    return decode(t.dtype, b_.load(Type::kU32, b_.buffer(t.binding, Element::kHalfWord, false), index));
  }
  if (bits == 8 && target_.storage8) {
    return decode(t.dtype, b_.load(Type::kU32, b_.buffer(t.binding, Element::kByte, false), index));
  }
  const int64_t each = 32 / bits;
  const Value word = b_.load(Type::kU32, words, index / each);
  return decode(t.dtype, (word >> ((index % each) * bits)) & ((int64_t{1} << bits) - 1));
}

std::vector<Value> Elements::of_quad(DType dtype, Value quad) const {
  std::vector<Value> out;
  for (uint32_t word = 0; word < 4; ++word) {
    const Value bits = b_.part(quad, word);
    if (dtype_bits(dtype) == 32) {
      out.push_back(decode(dtype, bits));
    } else if (dtype == DType::kF16 && b_.converts_halves) {
      out.push_back(b_.unpack_half(bits, 0));
      out.push_back(b_.unpack_half(bits, 1));
    } else {
      out.push_back(decode(dtype, bits & 0xFFFF));
      out.push_back(decode(dtype, bits >> 16));
    }
  }
  return out;
}

void Elements::store(const Tensor& t, Value index, Value number) {
  const int bits = dtype_bits(t.dtype);
  const uint32_t memory = b_.buffer(t.binding, element_of(bits), true);
  if (bits < 64) return b_.store(memory, index, encode(t.dtype, number));
  const Value wide = b_.bitcast(number, Type::kU64);
  b_.store(memory, index * 2, b_.convert(wide, Type::kU32));
  b_.store(memory, index * 2 + 1, b_.convert(wide >> 32, Type::kU32));
}

void Elements::store_word(const Tensor& t, Value index, const Value* numbers) {
  const int bits = dtype_bits(t.dtype), each = 32 / bits;
  if (t.dtype == DType::kF16 && b_.converts_halves) {
    b_.store(b_.buffer(t.binding, Element::kWord, true), index / each, b_.pack_halves(numbers[0], numbers[1]));
    return;
  }
  Value word = encode(t.dtype, numbers[0]);
  for (int i = 1; i < each; ++i) word = word | (encode(t.dtype, numbers[i]) << (bits * i));
  b_.store(b_.buffer(t.binding, Element::kWord, true), index / each, word);
}

}  // namespace vireo::gpu
