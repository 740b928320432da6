#include "converter/firmware/read_lowered.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"

namespace vireo::firmware {
namespace {

// -1: none.
int32_t operation_of(const NodeView& q) {
  switch (q.op) {
    case Op::kAdd:
      return VIREO_MCU_INT_ADD;
    case Op::kSub:
      return VIREO_MCU_INT_SUB;
    case Op::kMul:
      return VIREO_MCU_INT_MUL;
    case Op::kDiv:
      return VIREO_MCU_INT_DIV;
    case Op::kMod:
      return q.attrs<attrs::Mod>().truncated() ? VIREO_MCU_INT_REST : VIREO_MCU_INT_MODULUS;
    case Op::kMin:
      return VIREO_MCU_INT_MIN;
    case Op::kMax:
      return VIREO_MCU_INT_MAX;
    case Op::kBitwiseAnd:
      return VIREO_MCU_INT_AND;
    case Op::kBitwiseOr:
      return VIREO_MCU_INT_OR;
    case Op::kBitwiseXor:
      return VIREO_MCU_INT_XOR;
    case Op::kBitShift:
      return q.attrs<attrs::BitShift>().right() ? VIREO_MCU_INT_RIGHT : VIREO_MCU_INT_LEFT;
    case Op::kEqual:
      return VIREO_MCU_INT_EQUAL;
    case Op::kLess:
      return VIREO_MCU_INT_LESS;
    case Op::kLessOrEqual:
      return VIREO_MCU_INT_LESS_OR_EQUAL;
    default:
      return -1;
  }
}

std::string read_operation(Lower& n, int32_t what) {
  if (n.type(0) != n.type(1)) return kUnknownNode;
  int32_t type = element_type(n.type(0));
  if (type == VIREO_MCU_LONG) return "kernels for microcontrollers compute integers of 32 bits at most, it has int64";
  if (type == VIREO_MCU_BOOL) type = VIREO_MCU_BYTE;
  if (type < 0 || type == VIREO_MCU_REAL) return kUnknownNode;
  vireo_mcu_integers f = {};
  int32_t a = kNothing, b = kNothing;
  if (!n.rows(&f, &a, &b)) return kTooManyAxes;
  f.what = static_cast<uint8_t>(what);
  f.type = static_cast<uint8_t>(type);
  n.put(k_integers, f, {a, b, n.result()}, {a, b}, n.result(), what < VIREO_MCU_INT_EQUAL ? 3 : 0);
  return "";
}

// Clip: a maximum and a minimum.
std::string read_bounds(Lower& n) {
  const int32_t type = element_type(n.type(0));
  if (type < 0 || type == VIREO_MCU_REAL || type == VIREO_MCU_LONG || type == VIREO_MCU_BOOL) return kUnknownNode;
  int32_t from = n.x();
  for (uint32_t i = 1; i < 3; ++i) {
    if (!n.is_present(i)) continue;
    const bool last = i == 2 || !n.is_present(2);
    const int32_t to = last ? n.result() : n.value(n.y_count() * dtype_bits(n.type(0)) / 8);
    const auto what = static_cast<uint8_t>(i == 1 ? VIREO_MCU_INT_MAX : VIREO_MCU_INT_MIN);
    const vireo_mcu_integers f = {1, small(n.y_count()), 0, 1, 0, 0, what, static_cast<uint8_t>(type), {}};
    n.put(k_integers, f, {from, n.x(i), to}, {from, n.x(i)}, to, 1);
    from = to;
  }
  return from == n.x() ? kUnknownNode : "";
}

std::string read_not(Lower& n) {
  const vireo_mcu_integers f = {1, small(n.y_count()), 0, 1, 0, 0, VIREO_MCU_INT_XOR, VIREO_MCU_BYTE, {}};
  n.put(k_integers, f, {n.x(), n.constant<uint8_t>({1}), n.result()}, {n.x()}, n.result(), 1);
  return "";
}

std::string read_cast(Lower& n) {
  const int32_t from = element_type(n.type(0)), to = element_type(n.q.outputs[0].type.dtype);
  if (from < 0 || to < 0) return kUnknownNode;
  if ((from == VIREO_MCU_REAL || to == VIREO_MCU_REAL) && !n.in_reals()) return kUnknownNode;
  const vireo_mcu_cast c = {small(n.y_count()), static_cast<uint8_t>(from), static_cast<uint8_t>(to), {}};
  n.put(k_cast, c, {n.x(), n.result()}, {n.x()}, n.result());
  return "";
}

std::string read_greatest(Lower& n) {
  const auto& a = n.q.attrs<attrs::Arg>();
  const Shape& x = n.shape(0);
  const int32_t type = element_type(n.type(0));
  if (type < 0 || type == VIREO_MCU_LONG || type == VIREO_MCU_WORD) return kUnknownNode;
  const int axis = normalize_axis(a.axis(), x.rank);
  vireo_mcu_greatest g = {};
  g.outer = small(product(x, 0, axis));
  g.axis = small(x[axis]);
  g.inner = small(product(x, axis + 1, x.rank));
  g.type = static_cast<uint8_t>(type);
  g.least = n.q.op == Op::kArgMin ? 1 : 0;
  g.last = a.select_last_index() ? 1 : 0;
  n.put(k_greatest, g, {n.x(), n.result()}, {n.x()}, n.result());
  return "";
}

}  // namespace

std::string read_integers(Lower& n) {
  const int32_t what = operation_of(n.q);
  const bool others = n.q.op == Op::kNot || n.q.op == Op::kCast || n.q.op == Op::kClip || n.q.op == Op::kArgMax ||
                      n.q.op == Op::kArgMin;
  if (what < 0 && !others) return kUnknownNode;
  if (!mcu::serves_sizes(n.q)) return kSizes;
  if (what >= 0) return read_operation(n, what);
  if (n.q.op == Op::kClip) return read_bounds(n);
  return n.q.op == Op::kNot ? read_not(n) : n.q.op == Op::kCast ? read_cast(n) : read_greatest(n);
}

}  // namespace vireo::firmware
