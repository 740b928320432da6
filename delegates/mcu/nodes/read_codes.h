// IntAdd, IntMul, IntTable and IntSoftmax of 8-bit codes: nodes to the kernels' structs.
#ifndef VIREO_DELEGATES_MCU_NODES_READ_CODES_H_
#define VIREO_DELEGATES_MCU_NODES_READ_CODES_H_

#include "delegates/mcu/kernels/codes.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"

namespace vireo::mcu {

// Without rows, columns and steps.
template <class Attrs>
vireo_mcu_binary read_binary(const Attrs& t, DType a, DType b) {
  vireo_mcu_binary f = {};
  f.a_zero = static_cast<uint8_t>(t.a_zero());
  f.b_zero = static_cast<uint8_t>(t.b_zero());
  f.a_flip = flip_of(a);
  f.b_flip = flip_of(b);
  f.codes = codes_of(t);
  return f;
}
inline vireo_mcu_binary read_add(const attrs::IntAdd& t, DType a, DType b) {
  vireo_mcu_binary f = read_binary(t, a, b);
  f.a_multiplier = t.a_multiplier();
  f.b_multiplier = t.b_multiplier();
  return f;
}
inline vireo_mcu_binary read_mul(const attrs::IntMul& t, DType a, DType b) {
  vireo_mcu_binary f = read_binary(t, a, b);
  f.a_multiplier = t.multiplier();
  return f;
}

inline vireo_mcu_softmax read_softmax(const attrs::IntSoftmax& a, const TensorType& x) {
  vireo_mcu_softmax s = {};
  const int axis = a.axis() < 0 ? a.axis() + x.shape.rank : a.axis();
  s.outer = static_cast<int32_t>(product(x.shape, 0, axis));
  s.axis = static_cast<int32_t>(x.shape[axis]);
  s.inner = static_cast<int32_t>(product(x.shape, axis + 1, x.shape.rank));
  s.x_flip = flip_of(x.dtype);
  s.multiplier = a.multiplier();
  s.codes = codes_of(a);
  return s;
}

// No sum of two products is past a float32's range.
inline bool is_moderate(float m) { return m > -1e30f && m < 1e30f; }

inline const char* why_not_softmax(const NodeView& q) {
  const auto& a = q.attrs<attrs::IntSoftmax>();
  if (q.input_count > 2 && q.inputs[2].type.dtype != DType::kNone) return "tuned for lines of which nothing is masked";
  if (read_softmax(a, q.inputs[0].type).axis > 255) return "tuned for at most 255 elements along the axis";
  const auto* const table = q.inputs[1].as<int32_t>();
  constexpr auto kTable = "tuned for a table that is known, of numbers from 0 to 2^23";
  if (table == nullptr || table[0] <= 0 || !is_moderate(a.multiplier())) return kTable;
  for (int i = 0; i < 256; ++i) {
    if (table[i] < 0 || table[i] > 1 << 23) return kTable;
  }
  return "";
}

// "", or why no kernel takes it.
inline const char* why_not_codes(const NodeView& q) {
  const bool two = q.op == Op::kIntAdd || q.op == Op::kIntMul;
  if (!is_byte(q.inputs[0].type.dtype) || (two && !is_byte(q.inputs[1].type.dtype)) ||
      !is_byte(q.outputs[0].type.dtype))
    return "tuned for codes of 8 bits";
  if (!serves_sizes(q)) return "tuned for sizes that are known and small";
  if (q.op == Op::kIntSoftmax) return why_not_softmax(q);
  constexpr auto kFinite = "tuned for finite multipliers, of a product above 0";
  if (q.op == Op::kIntAdd) {
    const auto& a = q.attrs<attrs::IntAdd>();
    if (!is_moderate(a.a_multiplier()) || !is_moderate(a.b_multiplier())) return kFinite;
  }
  if (q.op == Op::kIntMul) {
    const float m = q.attrs<attrs::IntMul>().multiplier();
    if (vireo_mcu_multipliers_serve(&m, 1) == 0) return kFinite;
  }
  return "";
}

}  // namespace vireo::mcu

#endif  // VIREO_DELEGATES_MCU_NODES_READ_CODES_H_
