// QuantizeLinear and DequantizeLinear between float32 and 8-bit codes, one scale for all.
#ifndef VIREO_DELEGATES_MCU_NODES_READ_QUANTIZE_H_
#define VIREO_DELEGATES_MCU_NODES_READ_QUANTIZE_H_

#include "delegates/mcu/kernels/codes.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo::mcu {

// All codes of a type, with this zero point.
inline vireo_mcu_codes codes_between(DType t, uint8_t zero) {
  if (t == DType::kI8) return {static_cast<int8_t>(zero), -128, 127};
  return {int32_t{zero}, 0, 255};
}

// "", or why no kernel takes it.
inline const char* why_not_quantize(const NodeView& q) {
  const bool makes_codes = q.op == Op::kQuantizeLinear;
  const DType codes = (makes_codes ? q.outputs[0] : q.inputs[0]).type.dtype;
  const DType reals = (makes_codes ? q.inputs[0] : q.outputs[0]).type.dtype;
  if (!is_byte(codes) || reals != DType::kF32 || q.inputs[1].type.dtype != DType::kF32)
    return "tuned for float32 and codes of 8 bits";
  if (!serves_sizes(q)) return "tuned for sizes that are known and small";
  const Shape& scale = q.inputs[1].type.shape;
  const bool blocks = makes_codes ? q.attrs<attrs::QuantizeLinear>().block_size() != 0 ||
                                        q.attrs<attrs::QuantizeLinear>().precision() != 0
                                  : q.attrs<attrs::DequantizeLinear>().block_size() != 0;
  if (product(scale, 0, scale.rank) != 1 || blocks) return "tuned for one scale for all";
  return serves_multipliers(q, 1) ? "" : "tuned for a scale that is known, and a positive normal number";
}

}  // namespace vireo::mcu

#endif  // VIREO_DELEGATES_MCU_NODES_READ_QUANTIZE_H_
