#include "converter/firmware/read_wide.h"

#include <cstddef>
#include <cstring>

#include "converter/firmware/kernel_numbers.h"
#include "converter/firmware/read_rows.h"
#include "delegates/mcu/kernels/wide.h"
#include "delegates/mcu/nodes/read_codes.h"
#include "delegates/mcu/nodes/read_pool.h"
#include "delegates/mcu/nodes/read_product.h"
#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo::firmware {
namespace {

constexpr auto kWideLast = "kernels for microcontrollers take 16-bit codes with channels first";
constexpr auto kMultipliers = "its multipliers are not known, or no positive normal numbers";

bool is_given(const NodeView& q, uint32_t i) { return i < q.input_count && q.inputs[i].type.dtype != DType::kNone; }

bool is_code(DType t) { return is_byte(t) || is_half_word(t); }
uint8_t type_of(DType t) {
  return t == DType::kI8    ? VIREO_MCU_I8
         : t == DType::kU8  ? VIREO_MCU_U8
         : t == DType::kI16 ? VIREO_MCU_I16
                            : VIREO_MCU_U16;
}

std::string read_conv(const NodeView& q, const Core& core, Call* call) {
  const auto& a = q.attrs<attrs::IntConv>();
  const Shape& w = q.inputs[1].type.shape;
  if (a.layout() != 0) return kWideLast;
  if (q.inputs[1].type.dtype != DType::kI8) return "kernels for 16-bit codes take weights of 8 bits";
  vireo_mcu_conv geometry;
  if (!mcu::serves_sizes(q) || !mcu::read_conv(q, &geometry)) return kSizes;
  if (!mcu::serves_multipliers(q, 2)) return kMultipliers;
  vireo_mcu_conv_wide c = {};
  std::memcpy(&c, &geometry, offsetof(vireo_mcu_conv_wide, x_zero));
  c.x_zero = a.x_zero();
  c.codes = mcu::codes_of(a);
  c.x_type = type_of(q.inputs[0].type.dtype);
  c.y_type = type_of(q.outputs[0].type.dtype);
  c.one_multiplier = geometry.one_multiplier;
  c.one_w_zero = geometry.one_w_zero;
  call->kernel = k_conv_wide;
  call->parameters = bytes_of(c);
  call->scratch_bytes = vireo_mcu_conv_wide_scratch_on(&c, core.tile);
  call->inplace = vireo_mcu_conv_wide_in_place(&c) != 0 ? 1 : 0;
  call->products =
      static_cast<uint64_t>(product(q.outputs[0].type.shape, 0, q.outputs[0].type.shape.rank) * product(w, 1, w.rank));
  return "";
}

std::string read_gemm(const NodeView& q, const Core& core, Call* call) {
  const auto& a = q.attrs<attrs::IntGemm>();
  if (q.inputs[1].type.dtype != DType::kI8) return "kernels for 16-bit codes take weights of 8 bits";
  vireo_mcu_gemm narrow;
  if (!mcu::serves_sizes(q) || !mcu::read_gemm(q, &narrow)) return kSizes;
  if (!mcu::serves_multipliers(q, 2)) return kMultipliers;
  vireo_mcu_gemm_wide g = {};
  g.m = narrow.m, g.n = narrow.n, g.k = narrow.k;
  g.a_zero = a.a_zero();
  g.codes = mcu::codes_of(a);
  g.a_type = type_of(q.inputs[0].type.dtype);
  g.y_type = type_of(q.outputs[0].type.dtype);
  g.one_multiplier = narrow.one_multiplier;
  g.one_b_zero = narrow.one_b_zero;
  call->kernel = k_gemm_wide;
  call->parameters = bytes_of(g);
  call->scratch_bytes = vireo_mcu_gemm_wide_scratch_on(&g, core.tile);
  call->products = static_cast<uint64_t>(g.m) * static_cast<uint64_t>(g.n) * static_cast<uint64_t>(g.k);
  return "";
}

std::string read_average(const NodeView& q, Call* call) {
  const auto& a = q.attrs<attrs::IntAveragePool>();
  if (a.layout() != 0) return kWideLast;
  vireo_mcu_pool window;
  if (!mcu::serves_sizes(q) || !mcu::read_pool(q, a, &window)) return kSizes;
  if (!mcu::serves_multipliers(q, 1)) return kMultipliers;
  vireo_mcu_pool_wide p = {};
  p.planes = window.batch * window.channels;
  std::memcpy(p.in, window.in, offsetof(vireo_mcu_pool_wide, x_zero) - offsetof(vireo_mcu_pool_wide, in));
  p.x_zero = a.x_zero();
  p.codes = mcu::codes_of(a);
  p.x_type = type_of(q.inputs[0].type.dtype);
  p.y_type = type_of(q.outputs[0].type.dtype);
  p.count_padding = a.count_include_pad() ? 1 : 0;
  p.one_multiplier = product(q.inputs[1].type.shape, 0, q.inputs[1].type.shape.rank) == 1 ? 1 : 0;
  call->kernel = k_average_wide;
  call->parameters = bytes_of(p);
  call->operands = {input(q, 0), input(q, 1), q.node.outputs[0]};
  return "";
}

template <class Attrs>
std::string read_binary(const NodeView& q, const Attrs& a, float a_multiplier, float b_multiplier, bool times,
                        Call* call) {
  vireo_mcu_binary_wide f = {};
  if (!mcu::serves_sizes(q)) return kSizes;
  if (!read_rows(q, &f)) return "its operands are broadcast along several axes with others between them";
  if (times ? vireo_mcu_multipliers_serve(&a_multiplier, 1) == 0
            : !mcu::is_moderate(a_multiplier) || !mcu::is_moderate(b_multiplier))
    return kMultipliers;
  f.a_zero = a.a_zero();
  f.b_zero = a.b_zero();
  f.a_multiplier = a_multiplier;
  f.b_multiplier = b_multiplier;
  f.codes = mcu::codes_of(a);
  f.a_type = type_of(q.inputs[0].type.dtype);
  f.b_type = type_of(q.inputs[1].type.dtype);
  f.y_type = type_of(q.outputs[0].type.dtype);
  f.times = times ? 1 : 0;
  call->kernel = k_binary_wide;
  call->parameters = bytes_of(f);
  call->operands = {input(q, 0), input(q, 1), q.node.outputs[0]};
  return "";
}

int32_t zero_of(const GraphValue& v) {
  switch (v.type.dtype) {
    case DType::kI16:
      return *v.as<int16_t>();
    default:
      return *v.as<uint16_t>();
  }
}

std::string read_quantize(const NodeView& q, Call* call) {
  const bool makes_codes = q.op == Op::kQuantizeLinear;
  const DType codes = (makes_codes ? q.outputs[0] : q.inputs[0]).type.dtype;
  const DType reals = (makes_codes ? q.inputs[0] : q.outputs[0]).type.dtype;
  if (reals != DType::kF32 || q.inputs[1].type.dtype != DType::kF32)
    return "kernels for microcontrollers turn float32 into codes, and codes into float32";
  const Shape& scale = q.inputs[1].type.shape;
  const bool blocks = makes_codes ? q.attrs<attrs::QuantizeLinear>().block_size() != 0 ||
                                        q.attrs<attrs::QuantizeLinear>().precision() != 0
                                  : q.attrs<attrs::DequantizeLinear>().block_size() != 0;
  if (product(scale, 0, scale.rank) != 1 || blocks) return "it has more than one scale";
  if (!mcu::serves_sizes(q)) return kSizes;
  if (!mcu::serves_multipliers(q, 1) || (is_given(q, 2) && q.inputs[2].constant == nullptr)) return kMultipliers;
  vireo_mcu_quantize_wide w = {};
  const Shape& y = q.outputs[0].type.shape;
  w.count = small(product(y, 0, y.rank));
  w.scale = *q.inputs[1].as<float>();
  const bool is_signed = codes == DType::kI16;
  w.codes = {is_given(q, 2) ? zero_of(q.inputs[2]) : 0, is_signed ? -32768 : 0, is_signed ? 32767 : 65535};
  w.type = type_of(codes);
  call->kernel = makes_codes ? k_quantize_wide : k_dequantize_wide;
  call->parameters = bytes_of(w);
  call->operands = {input(q, 0), q.node.outputs[0]};
  return "";
}

}  // namespace

std::string read_wide(const NodeView& q, const Core& core, Call* call) {
  if (q.input_count == 0 || q.output_count == 0) return kUnknownNode;
  const bool two = q.op == Op::kIntAdd || q.op == Op::kIntMul;
  const DType a = q.inputs[0].type.dtype, b = two ? q.inputs[1].type.dtype : a, y = q.outputs[0].type.dtype;
  if (!is_half_word(a) && !is_half_word(b) && !is_half_word(y)) return kUnknownNode;
  switch (q.op) {
    case Op::kIntConv:
    case Op::kIntGemm: {
      for (const uint32_t i : {3u, 4u}) {
        if (is_given(q, i) && q.inputs[i].constant == nullptr) return "its bias and zero points are not constant";
      }
      if (!is_code(a) || !is_code(y)) return kUnknownNode;
      call->operands = {input(q, 0), input(q, 1), input(q, 2), input(q, 3), input(q, 4), q.node.outputs[0], kScratch};
      return q.op == Op::kIntConv ? read_conv(q, core, call) : read_gemm(q, core, call);
    }
    case Op::kIntAveragePool:
      return read_average(q, call);
    case Op::kIntAdd: {
      const auto& t = q.attrs<attrs::IntAdd>();
      return read_binary(q, t, t.a_multiplier(), t.b_multiplier(), false, call);
    }
    case Op::kIntMul: {
      const auto& t = q.attrs<attrs::IntMul>();
      return read_binary(q, t, t.multiplier(), 0, true, call);
    }
    case Op::kQuantizeLinear:
    case Op::kDequantizeLinear:
      return read_quantize(q, call);
    default:
      return kUnknownNode;
  }
}

}  // namespace vireo::firmware
