#include "delegates/gpu/templates/functions.h"

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/exact.h"
#include "delegates/gpu/templates/math.h"

namespace vireo::gpu {
namespace {

enum Kinds : uint8_t {
  kFloats = 1,
  kIntegers = 2,
  kBools = 4,
  kCodes = 8,  // of narrow floats
  kNumbers = kFloats | kIntegers,
  kAny = kNumbers | kBools | kCodes
};

struct Row {
  Function function;
  const char* name;
  int operands;
  uint8_t kinds;  // of operand a (of b for kWhere)
};
constexpr Row kFunctions[] = {
    {Function::kConstant, "constant", 0, kAny},
    {Function::kPlace, "place", 0, kAny},
    {Function::kNumber, "number", 0, kAny},
    {Function::kIndex, "index", 1, kIntegers},
    {Function::kElement, "element", 2, kAny},
    {Function::kDivisor, "divisor", 1, kIntegers},
    {Function::kCast, "cast", 1, kAny},
    {Function::kBitcast, "bitcast", 1, kNumbers | kCodes},
    {Function::kAbs, "abs", 1, kNumbers},
    {Function::kNeg, "neg", 1, kNumbers},
    {Function::kSqrt, "sqrt", 1, kFloats},
    {Function::kExp, "exp", 1, kFloats},
    {Function::kLog, "log", 1, kFloats},
    {Function::kSin, "sin", 1, kFloats},
    {Function::kCos, "cos", 1, kFloats},
    {Function::kTan, "tan", 1, kFloats},
    {Function::kAsin, "asin", 1, kFloats},
    {Function::kAcos, "acos", 1, kFloats},
    {Function::kAtan, "atan", 1, kFloats},
    {Function::kSinh, "sinh", 1, kFloats},
    {Function::kCosh, "cosh", 1, kFloats},
    {Function::kAsinh, "asinh", 1, kFloats},
    {Function::kAcosh, "acosh", 1, kFloats},
    {Function::kAtanh, "atanh", 1, kFloats},
    {Function::kTanh, "tanh", 1, kFloats},
    {Function::kSigmoid, "sigmoid", 1, kFloats},
    {Function::kRelu, "relu", 1, kNumbers},
    {Function::kLeakyRelu, "leakyrelu", 1, kFloats},
    {Function::kElu, "elu", 1, kFloats},
    {Function::kHardSigmoid, "hardsigmoid", 1, kFloats},
    {Function::kHardSwish, "hardswish", 1, kFloats},
    {Function::kSoftplus, "softplus", 1, kFloats},
    {Function::kGeluErf, "gelu", 1, kFloats},
    {Function::kGeluTanh, "gelutanh", 1, kFloats},
    {Function::kErf, "erf", 1, kFloats},
    {Function::kFloor, "floor", 1, kFloats},
    {Function::kCeil, "ceil", 1, kFloats},
    {Function::kRound, "round", 1, kFloats},
    {Function::kSign, "sign", 1, kNumbers},
    {Function::kNot, "not", 1, kBools},
    {Function::kIsNaN, "isnan", 1, kFloats},
    {Function::kIsInf, "isinf", 1, kFloats},
    {Function::kMish, "mish", 1, kFloats},
    {Function::kSwish, "swish", 1, kFloats},
    {Function::kShrink, "shrink", 1, kFloats},
    {Function::kReciprocal, "reciprocal", 1, kFloats},
    {Function::kAdd, "add", 2, kNumbers},
    {Function::kSub, "sub", 2, kNumbers},
    {Function::kMul, "mul", 2, kNumbers},
    {Function::kDiv, "div", 2, kNumbers},
    {Function::kPow, "pow", 2, kNumbers},
    {Function::kModFloored, "mod", 2, kNumbers},
    {Function::kModTruncated, "fmod", 2, kNumbers},
    {Function::kMin, "min", 2, kNumbers},
    {Function::kMax, "max", 2, kNumbers},
    {Function::kEqual, "equal", 2, kNumbers | kBools},
    {Function::kLess, "less", 2, kNumbers},
    {Function::kLessOrEqual, "lessorequal", 2, kNumbers},
    {Function::kShiftLeft, "shl", 2, kIntegers},
    {Function::kShiftRight, "shr", 2, kIntegers},
    {Function::kAnd, "and", 2, kIntegers | kBools},
    {Function::kOr, "or", 2, kIntegers | kBools},
    {Function::kXor, "xor", 2, kIntegers | kBools},
    {Function::kPRelu, "prelu", 2, kNumbers},
    {Function::kWhere, "where", 3, kAny},
    {Function::kClip, "clip", 3, kNumbers},
    {Function::kQuantize, "quantize", 3, kFloats},
    {Function::kDequantize, "dequantize", 3, kIntegers},
};
const Row* row_of(Function f) {
  for (const Row& row : kFunctions) {
    if (row.function == f) return &row;
  }
  return nullptr;
}

uint8_t kind_of(DType t) {
  if (is_narrow_float(t)) return kCodes;
  return t == DType::kBool ? kBools : dtype_is_float(t) ? kFloats : kIntegers;
}

bool makes_bool(Function f) {
  switch (f) {
    case Function::kNot:
    case Function::kIsNaN:
    case Function::kIsInf:
    case Function::kEqual:
    case Function::kLess:
    case Function::kLessOrEqual:
      return true;
    default:
      return false;
  }
}
bool has_free_result(Function f) {
  return f == Function::kCast || f == Function::kBitcast || f == Function::kConstant || f == Function::kPlace;
}
bool is_of_codes(Function f) { return f == Function::kQuantize || f == Function::kDequantize; }
// Operands need not be of one type.
bool has_free_operands(Function f) {
  return f == Function::kShiftLeft || f == Function::kShiftRight || f == Function::kWhere || f == Function::kPow ||
         is_of_codes(f);
}

bool has_optional_operand(Function f, int i) {
  if (f == Function::kClip) return i > 0;
  return (f == Function::kQuantize || f == Function::kDequantize) && i == 2;
}
struct Scope {
  Builder& b;
  const Step& step;
  DType type;  // of operand a, as stored
  Value f(float v) const { return b.f32(v); }
  Value p(int i) const { return b.f32(step.p[i]); }
  Value select(Value c, Value x, Value y) const { return b.select(c, x, y); }
  Value zero(Value like) const { return b.number(like.type, 0); }
  Value one(Value like) const { return b.number(like.type, 1); }
};

Value clamp01(const Scope& s, Value x) { return s.select(x < s.f(0), s.f(0), s.select(x > s.f(1), s.f(1), x)); }

Value gelu_tanh(const Scope& s, Value x) {
  const Value inner = s.f(0.79788456080286535588f) * (x + s.f(0.044715f) * x * x * x);
  return s.f(0.5f) * x * (s.f(1) + tanh_of(inner));
}

Value sign(const Scope& s, Value x) {
  if (!is_signed(x.type)) return s.b.convert(x != 0, x.type);
  const Value other = is_float(x.type) ? s.select(x == s.zero(x), s.zero(x), x) : s.zero(x);  // NaN stays
  return s.select(s.zero(x) < x, s.one(x), s.select(x < s.zero(x), s.b.number(x.type, -1), other));
}

Value without_sign(const Scope& s, Value x) {
  if (is_float(x.type)) return absolute(x);
  return is_signed(x.type) ? s.select(x < 0, s.zero(x) - x, x) : x;
}

Value shrink(const Scope& s, Value x) {
  return s.select(x < -s.p(0), x + s.p(1), s.select(x > s.p(0), x - s.p(1), s.f(0)));
}

Value is_inf(const Scope& s, Value x) {
  const Value bits = s.b.bitcast(x, Type::kU32);
  const Value negative = s.b.boolean(s.step.p[0] != 0) & (bits == 0xFF800000);
  return negative | (s.b.boolean(s.step.p[1] != 0) & (bits == 0x7F800000));
}

// Integers: C's quotient and remainder; the lowest number over -1 wraps.
Value quotient(const Scope& s, Value x, Value y) {
  if (is_float(x.type) && s.step.p[0] != 0) return exact_quotient(x, y);
  if (!is_signed(x.type) || is_float(x.type)) return x / y;
  const Value minus = y == -1;
  return s.select(minus, s.zero(x) - x, x / s.select(minus, s.one(y), y));
}
Value remainder(const Scope& s, Value x, Value y) {
  if (is_float(x.type)) return remainder_of(x, y);
  if (!is_signed(x.type)) return x % y;
  const Value minus = y == -1;
  return s.select(minus, s.zero(x), x % s.select(minus, s.one(y), y));
}
Value floored(const Scope& s, Value x, Value y) {
  const Value r = remainder(s, x, y);
  if (!is_signed(x.type)) return r;
  const Value none = r == s.zero(r), turned = (r < s.zero(r)) ^ (y < s.zero(y));
  return s.select((!none) & turned, r + y, is_float(x.type) ? s.select(none, copy_sign(r, y), r) : r);
}

// x^n modulo 2^width. x^-n is 1 / x^n towards zero: 0 but for x = 1 and -1.
Value integer_power(const Scope& s, Value x, Value n) {
  const Variable y = s.b.variable(s.one(x)), square = s.b.variable(x), left = s.b.variable(n);
  s.b.loop(s.b.u32(0), s.b.u32(is_wide(n.type) ? 63 : 31), 1, [&](Value) {
    const Value now = left.get(), by = square.get();
    y.set(s.select((now & 1) != 0, y.get() * by, y.get()));
    square.set(by * by);
    left.set(now >> 1);
  });
  const Value result = y.get();
  if (!is_signed(n.type)) return s.select((left.get() & 1) != 0, result * square.get(), result);
  const Value minus = is_signed(x.type) ? x == -1 : s.b.boolean(false);
  const Value inverse = s.select((x == 1) | (minus & ((n & 1) == 0)), s.one(x), s.select(minus, x, s.zero(x)));
  return s.select(n < 0, inverse, result);
}

Value extreme(const Scope& s, Value x, Value y, bool greatest) {
  const Value wins = greatest ? y < x : x < y;
  return s.select(is_float(x.type) ? wins | is_nan(x) : wins, x, y);
}

// A shift by a negative count or by the width and more leaves what sign extension leaves.
Value shift(const Scope& s, Value x, Value count, bool right) {
  const Value n = s.b.convert(count, x.type);
  const Value outside = (is_signed(count.type) ? count < 0 : s.b.boolean(false)) | (count >= dtype_bits(s.type));
  const Value by = s.select(outside, s.zero(n), n);
  if (!right) return s.select(outside, s.zero(x), x << by);
  const Value gone = is_signed(x.type) ? s.select(x < 0, s.b.number(x.type, -1), s.zero(x)) : s.zero(x);
  return s.select(outside, gone, x >> by);
}

// Towards zero, held within int64, of which the low 32 bits are kept; NaN: 0. In integers, as a device's conversion is
// of no defined result outside the type.
Value low_word(const Scope& s, Value x) {
  Builder& b = s.b;
  const Value bits = b.bitcast(x, Type::kU32), exponent = (bits >> 23) & 0xFF;
  const Value m = (bits & 0x007FFFFF) | 0x00800000;
  const Value left = exponent - 150, right = b.u32(150) - exponent;
  const Value up = s.select(left < 32, m << (left & 31), b.u32(0));
  const Value down = s.select(right < 32, m >> (right & 31), b.u32(0));
  const Value magnitude = s.select(exponent >= 150, up, down);
  const Value negative = (bits >> 31) != 0;
  const Value inside = s.select(negative, b.u32(0) - magnitude, magnitude);
  const Value held = s.select(negative | is_nan(x), b.u32(0), b.u32(0xFFFFFFFF));
  return s.select(exponent >= 190, held, inside);  // 2^63 and more
}
Value wide_integer(const Scope& s, Value x, Type to) {
  Builder& b = s.b;
  const Value bits = b.bitcast(x, Type::kU32), exponent = (bits >> 23) & 0xFF;
  const Value m = b.convert((bits & 0x007FFFFF) | 0x00800000, Type::kU64);
  const Value left = b.convert((exponent - 150) & 63, Type::kU64), right = b.u32(150) - exponent;
  const Value down = s.select(right < 32, m >> b.convert(right & 31, Type::kU64), b.number(Type::kU64, 0));
  const Value magnitude = s.select(exponent >= 150, m << left, down);
  const Value negative = (bits >> 31) != 0;
  const Value inside = s.select(negative, b.number(Type::kU64, 0) - magnitude, magnitude);
  const Value lowest = b.constant(Type::kU64, uint64_t{1} << 63);
  const bool is_unsigned = to == Type::kU64;  // reaches one exponent further
  const Value most = is_unsigned ? b.constant(Type::kU64, ~uint64_t{0}) : b.constant(Type::kU64, ~(uint64_t{1} << 63));
  const Value held = s.select(is_nan(x), b.number(Type::kU64, 0), s.select(negative, lowest, most));
  const Value beyond = (exponent >= 191) | ((exponent == 190) & (is_unsigned ? negative : b.boolean(true)));
  return b.bitcast(s.select(beyond, held, inside), to);
}

// p[0] != 0: what is out of a narrow float's range becomes infinity or NaN, where it has one.
Value cast_narrow(const Scope& s, Value x) {
  if (is_narrow_float(s.type)) x = narrow_to_f32(s.type, x);
  if (x.type == Type::kBool) x = s.b.convert(x, Type::kU32);
  return f32_to_narrow(s.step.type, s.b.convert(x, Type::kF32), s.step.p[0] == 0);
}

Value cast(const Scope& s, Value x, Type to) {
  if (is_narrow_float(s.type)) x = narrow_to_f32(s.type, x);
  if (x.type == to) return x;
  if (is_float(x.type) && to == Type::kBool) return (s.b.bitcast(x, Type::kU32) & 0x7FFFFFFF) != 0;
  if (is_float(x.type)) return is_wide(to) ? wide_integer(s, x, to) : s.b.bitcast(low_word(s, x), to);
  return s.b.convert(x, to);
}

Value unary(const Scope& s, Value x) {
  switch (s.step.function) {
    case Function::kAbs:
      return without_sign(s, x);
    case Function::kNeg:
      return -x;
    case Function::kSqrt:
      return square_root(x);
    case Function::kExp:
      return exp_of(x);
    case Function::kLog:
      return log_of(x);
    case Function::kSin:
      return sin_of(x);
    case Function::kCos:
      return cos_of(x);
    case Function::kTan:
      return tan_of(x);
    case Function::kAsin:
      return asin_of(x);
    case Function::kAcos:
      return acos_of(x);
    case Function::kAtan:
      return atan_of(x);
    case Function::kSinh:
      return sinh_of(x);
    case Function::kCosh:
      return cosh_of(x);
    case Function::kAsinh:
      return asinh_of(x);
    case Function::kAcosh:
      return acosh_of(x);
    case Function::kAtanh:
      return atanh_of(x);
    case Function::kTanh:
      return tanh_of(x);
    case Function::kSigmoid:
      return sigmoid_of(x);
    case Function::kRelu:
      return is_signed(x.type) ? s.select(x < s.zero(x), s.zero(x), x) : x;
    case Function::kLeakyRelu:
      return s.select(x < s.f(0), s.p(0) * x, x);
    case Function::kElu:
      return s.p(1) * s.select(x > s.f(0), x, s.p(0) * expm1_of(x / s.p(2)));
    case Function::kHardSigmoid:
      return clamp01(s, s.p(0) * x + s.p(1));
    case Function::kHardSwish:
      return x * clamp01(s, x / s.f(6) + s.f(0.5f));
    case Function::kSoftplus:
      return softplus_of(x);
    case Function::kGeluErf:
      return gelu_of(x);
    case Function::kGeluTanh:
      return gelu_tanh(s, x);
    case Function::kErf:
      return erf_of(x);
    case Function::kFloor:
      return s.b.unary(Op::kFloor, x);
    case Function::kCeil:
      return s.b.unary(Op::kCeil, x);
    case Function::kRound:
      return s.b.unary(Op::kRoundEven, x);
    case Function::kSign:
      return sign(s, x);
    case Function::kNot:
      return !x;
    case Function::kIsNaN:
      return is_nan(x);
    case Function::kIsInf:
      return is_inf(s, x);
    case Function::kMish:
      return x * tanh_of(softplus_of(x));
    case Function::kSwish:
      return x * sigmoid_of(s.p(0) * x);
    case Function::kShrink:
      return shrink(s, x);
    default:  // kReciprocal
      return s.f(1) / x;
  }
}

Value binary(const Scope& s, Value x, Value y) {
  switch (s.step.function) {
    case Function::kAdd:
      return x + y;
    case Function::kSub:
      return x - y;
    case Function::kMul:
      return x * y;
    case Function::kDiv:
      return quotient(s, x, y);
    case Function::kPow:
      return is_float(x.type) ? power_of(x, y) : integer_power(s, x, y);
    case Function::kModFloored:
      return floored(s, x, y);
    case Function::kModTruncated:
      return remainder(s, x, y);
    case Function::kMin:
      return extreme(s, x, y, false);
    case Function::kMax:
      return extreme(s, x, y, true);
    case Function::kEqual:
      return x == y;
    case Function::kLess:
      return x < y;
    case Function::kLessOrEqual:
      return x <= y;
    case Function::kShiftLeft:
      return shift(s, x, y, false);
    case Function::kShiftRight:
      return shift(s, x, y, true);
    case Function::kAnd:
      return x & y;
    case Function::kOr:
      return x | y;
    case Function::kXor:
      return x ^ y;
    default:  // kPRelu
      return is_signed(x.type) ? s.select(x < s.zero(x), x * y, x) : x;
  }
}

Value clip(const Scope& s, Value x, Value lo, Value hi) {
  if (lo.valid()) x = s.select(x < lo, lo, x);
  return hi.valid() ? s.select(hi < x, hi, x) : x;
}

struct Range {
  int32_t low, high;
};
Range range_of(DType t) {
  const int bits = dtype_bits(t);
  return dtype_is_signed(t) ? Range{-(1 << (bits - 1)), (1 << (bits - 1)) - 1} : Range{0, (1 << bits) - 1};
}

// As round_and_clamp of sdk/base/requantize.h: bounds before rounding, NaN gives the lowest.
Value quantize(const Scope& s, DType to, DType scale_type, Value x, Value scale, Value zero) {
  Builder& b = s.b;
  const Range range = range_of(to);
  const Value z = zero.valid() ? b.convert(zero, Type::kI32) : b.i32(0);
  const Value q = rounded(scale_type, exact_quotient(rounded(scale_type, x), scale));
  const Value least = b.convert(b.i32(range.low) - z, Type::kF32), most = b.convert(b.i32(range.high) - z, Type::kF32);
  const Value inside = (least < q) & (q < most);
  const Value code = b.convert(b.unary(Op::kRoundEven, s.select(inside, q, s.f(0))), Type::kI32) + z;
  const Value held = s.select(inside, code, s.select(most <= q, b.i32(range.high), b.i32(range.low)));
  return b.convert(held, dtype_is_signed(to) ? Type::kI32 : Type::kU32);
}

Value dequantize(const Scope& s, Value x, Value scale, Value zero) {
  Value code = s.b.convert(x, Type::kI32);
  if (zero.valid()) code = code - s.b.convert(zero, Type::kI32);
  return s.b.convert(code, Type::kF32) * scale;
}

// "" or why codes and scales are not of types that go together.
std::string refuse_codes(const Step& step, const DType operands[3]) {
  const bool narrows = step.function == Function::kQuantize;
  const DType code = narrows ? step.type : operands[0];
  if (dtype_is_float(code) || code == DType::kBool ||
      dtype_bits(code) > (narrows || operands[2] != DType::kNone ? 16 : 32) || code == DType::kU32) {
    return std::string("the GPU has no code for codes of ") + dtype_name(code);
  }
  if (!dtype_is_float(operands[1]) || (operands[2] != DType::kNone && operands[2] != code))
    return "a scale or a zero point of another type";
  return narrows || step.type == operands[1] ? "" : "a result of another type than the scale's";
}

// An element's bits in a constant, as the lane's number.
Value constant(Builder& b, const Step& step, const Target& target) {
  if (dtype_bits(step.type) == 64) return b.constant(lane_type(step.type, target), step.bits);
  return decode(step.type, b.u32(static_cast<uint32_t>(step.bits)));
}

}  // namespace

int operand_count(Function f) {
  const Row* row = row_of(f);
  return row == nullptr ? 0 : row->operands;
}
const char* name_of(Function f) {
  const Row* row = row_of(f);
  return row == nullptr ? "" : row->name;
}

std::string refuse(const Step& step, const DType operands[3], const Target& target) {
  const Row* row = row_of(step.function);
  if (row == nullptr) return "the GPU has no code for this function";
  const std::string name = row->name;
  if (lane_type(step.type, target) == Type::kNone)
    return name + " makes " + dtype_name(step.type) + ", which this GPU does not compute with";
  for (int i = 0; i < row->operands; ++i) {
    if (operands[i] == DType::kNone) {
      if (has_optional_operand(step.function, i)) continue;
      return name + " lacks operand " + std::to_string(i);
    }
    if (lane_type(operands[i], target) == Type::kNone)
      return name + " of " + dtype_name(operands[i]) + ", which this GPU does not compute with";
    const bool free = i == 0 || has_free_operands(step.function);
    if (!free && operands[i] != operands[0])
      return name + " of " + dtype_name(operands[0]) + " and " + dtype_name(operands[i]);
  }
  const DType type = operands[step.function == Function::kWhere ? 1 : 0];
  if (row->operands > 0 && (row->kinds & kind_of(type)) == 0)
    return "the GPU has no code for " + name + " of " + dtype_name(type);
  if (is_of_codes(step.function)) return refuse_codes(step, operands);
  if (step.function == Function::kCast && is_narrow_float(step.type) && !dtype_is_float(type) && dtype_bits(type) > 16)
    return "the GPU has no code for a cast of " + std::string(dtype_name(type)) + " to " + dtype_name(step.type);
  if (step.function == Function::kPow && kind_of(operands[1]) != kind_of(type)) {
    return "the GPU has no code for pow of " + std::string(dtype_name(type)) + " and " + dtype_name(operands[1]);
  }
  const DType wanted = makes_bool(step.function) ? DType::kBool : type;
  if (!has_free_result(step.function) && step.type != wanted)
    return name + " of " + dtype_name(type) + " cannot make " + dtype_name(step.type);
  if (step.function == Function::kBitcast && dtype_bits(type) != dtype_bits(step.type)) return "bitcast between widths";
  if (step.function == Function::kWhere && (operands[0] != DType::kBool || operands[2] != operands[1]))
    return "where chooses by " + std::string(dtype_name(operands[0]));
  return "";
}

Value apply(const Step& step, const DType operands[3], const Value values[3], Builder& b, const Target& target) {
  const Scope s = {b, step, operands[0]};
  switch (step.function) {
    case Function::kConstant:
      return constant(b, step, target);
    case Function::kCast:
      if (is_narrow_float(step.type)) return step.type == operands[0] ? values[0] : cast_narrow(s, values[0]);
      return rounded(step.type, cast(s, values[0], lane_type(step.type, target)));
    case Function::kBitcast:
      if (dtype_bits(step.type) == 64) return b.bitcast(values[0], lane_type(step.type, target));
      return decode(step.type, encode(operands[0], values[0]));
    case Function::kWhere:
      return b.select(values[0], values[1], values[2]);
    case Function::kQuantize:
      return quantize(s, step.type, operands[1], values[0], values[1], values[2]);
    case Function::kDequantize:
      return rounded(step.type, dequantize(s, values[0], values[1], values[2]));
    case Function::kClip:
      return clip(s, values[0], values[1], values[2]);
    default:
      return rounded(step.type,
                     operand_count(step.function) == 1 ? unary(s, values[0]) : binary(s, values[0], values[1]));
  }
}

}  // namespace vireo::gpu
