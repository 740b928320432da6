#include "delegates/gpu/dialect/dialect.h"

#include <stddef.h>

namespace vireo::gpu {
namespace {

constexpr size_t kDialects = 2;

struct TypeRow {
  Type type;
  const char* names[kDialects];
};
constexpr TypeRow kTypes[] = {
    {Type::kBool, {"bool", "bool"}},   {Type::kI32, {"int32_t", "vi32"}},  {Type::kU32, {"uint32_t", "vu32"}},
    {Type::kI64, {"int64_t", "vi64"}}, {Type::kU64, {"uint64_t", "vu64"}}, {Type::kF32, {"float", "float"}},
    {Type::kQuad, {"quad", "quad"}},
};

struct OpRow {
  Op op;
  const char* patterns[kDialects];
};
// Names without a library stand in each text's prelude. HIP's integers wrap without a compiler's option.
constexpr OpRow kOps[] = {
    {Op::kAdd, {"($0 + $1)", "$t($u($0) + $u($1))"}},
    {Op::kSubtract, {"($0 - $1)", "$t($u($0) - $u($1))"}},
    {Op::kMultiply, {"($0 * $1)", "$t($u($0) * $u($1))"}},
    {Op::kDivide, {"($0 / $1)", "($0 / $1)"}},
    {Op::kRemainder, {"($0 % $1)", "($0 % $1)"}},
    {Op::kMultiplyHigh, {"uint32_t((uint64_t($0) * $1) >> 32)", "vu32((vu64($0) * $1) >> 32)"}},
    {Op::kFma, {"fmaf($0, $1, $2)", "__builtin_fmaf($0, $1, $2)"}},
    {Op::kMaximum, {"fmaxf($0, $1)", "__builtin_fmaxf($0, $1)"}},
    {Op::kAnd, {"$t($0 & $1)", "$t($0 & $1)"}},
    {Op::kOr, {"$t($0 | $1)", "$t($0 | $1)"}},
    {Op::kXor, {"$t($0 ^ $1)", "$t($0 ^ $1)"}},
    {Op::kShiftLeft, {"($0 << $1)", "$t($u($0) << $1)"}},
    {Op::kShiftRight, {"($0 >> $1)", "($0 >> $1)"}},
    {Op::kNot, {"inverse($0)", "inverse($0)"}},
    {Op::kEqual, {"($0 == $1)", "($0 == $1)"}},
    {Op::kNotEqual, {"($0 != $1)", "($0 != $1)"}},
    {Op::kLess, {"($0 < $1)", "($0 < $1)"}},
    {Op::kLessEqual, {"($0 <= $1)", "($0 <= $1)"}},
    {Op::kSelect, {"($0 ? $1 : $2)", "($0 ? $1 : $2)"}},
    {Op::kConvert, {"converted<$t>($0)", "converted<$t>($0)"}},
    {Op::kBitcast, {"__builtin_bit_cast($t, $0)", "__builtin_bit_cast($t, $0)"}},
    {Op::kAbsolute, {"fabsf($0)", "__builtin_fabsf($0)"}},
    {Op::kSquareRoot, {"sqrtf($0)", "__builtin_sqrtf($0)"}},
    {Op::kExp2, {"exp2f($0)", "exp2_of($0)"}},
    {Op::kFloor, {"floorf($0)", "__builtin_floorf($0)"}},
    {Op::kCeil, {"ceilf($0)", "__builtin_ceilf($0)"}},
    {Op::kTruncate, {"truncf($0)", "__builtin_truncf($0)"}},
    {Op::kRoundEven, {"rintf($0)", "__builtin_rintf($0)"}},
    {Op::kPart, {"$0.w[$b]", "$0.w[$b]"}},
    {Op::kJoin, {"quad{{$0, $1, $2, $3}}", "quad{{$0, $1, $2, $3}}"}},
    {Op::kPackHalves, {"(half_of($0) | half_of($1) << 16)", "(half_of($0) | half_of($1) << 16)"}},
    {Op::kUnpackHalf, {"float_of_half($0 >> $b * 16 & 0xffff)", "float_of_half($0 >> $b * 16 & 0xffff)"}},
};

}  // namespace

const char* spell(Dialect dialect, Type type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.names[static_cast<size_t>(dialect)];
  }
  return "void";
}

const char* spell(Dialect dialect, Op op) {
  for (const OpRow& row : kOps) {
    if (row.op == op) return row.patterns[static_cast<size_t>(dialect)];
  }
  return nullptr;
}

std::string fill(Dialect dialect, const Statement& s, const std::function<std::string(uint32_t)>& value) {
  std::string out;
  const std::string pattern = spell(dialect, s.op);
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      out += pattern[i];
      continue;
    }
    const char what = pattern[++i];
    if (what == 't') {
      out += spell(dialect, s.type);
    } else if (what == 'u') {
      out += spell(dialect, s.type == Type::kI32 ? Type::kU32 : s.type == Type::kI64 ? Type::kU64 : s.type);
    } else if (what == 'b') {
      out += std::to_string(s.bits);
    } else {
      out += value(what == '0' ? s.a : what == '1' ? s.b : what == '2' ? s.c : static_cast<uint32_t>(s.bits));
    }
  }
  return out;
}

}  // namespace vireo::gpu
