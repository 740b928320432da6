// Products whose constant weights are codes of 4 or 8 bits, x staying float32: XNNPACK's f32-qc4w and f32-qc8w.
//   y = (sum_k x[k] * (code[k, n] - middle) + bias[n] / scale[n]) * scale[n]
// They round the bias twice more than the node does, and overflow where x times 128 times k does.
#include <math.h>

#include "delegates/xnnpack/rules.h"
#include "sdk/ops/quantize/quantize.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::xnnpack {
namespace {

// A matrix of codes with a scale for each column of the product, or one for all.
struct Columns {
  const Value *codes = nullptr, *scale = nullptr;
  int64_t k = 0, n = 0;
  bool transposed = false;  // [n, k]
  int bits = 0;
  unsigned flip = 0;  // bit by bit: what makes int8 of 8 bits, and uint4 around 8 of 4
};

// Signed codes have their zero in the middle; others where `zero` says so, if it does.
bool zeros_in_the_middle(const Value& codes, const Value* zero) {
  const DType type = codes.type.dtype;
  const bool is_signed = dtype_is_signed(type);
  if (zero == nullptr) return is_signed;
  if (zero->type.dtype != type) return false;
  const unsigned middle = is_signed ? 0 : 1u << (dtype_bits(type) - 1);
  for (int64_t i = 0; i < element_count(zero->type.shape); ++i) {
    if (read_code(type, zero->constant, i) != middle) return false;
  }
  return true;
}

const char* read_columns(const Node& dequantize, bool transposed, Columns* out) {
  const auto& a = dequantize.read<attrs::DequantizeLinear>();
  out->codes = dequantize.in(0);
  out->scale = dequantize.in(1);
  out->transposed = transposed;
  const TensorType& type = out->codes->type;
  if (type.shape.rank != 2) return "its weights are no matrix";
  out->n = type.shape[transposed ? 0 : 1];
  out->k = type.shape[transposed ? 1 : 0];
  out->bits = dtype_bits(type.dtype);
  if (!dtype_is_integer(type.dtype) || (out->bits != 4 && out->bits != 8))
    return "XNNPACK's codes of weights have 4 or 8 bits";
  if (out->scale->type.dtype != DType::kF32 || dequantize.outputs[0]->type.dtype != DType::kF32)
    return "XNNPACK multiplies such weights in float32";
  const int axis = a.axis() < 0 ? a.axis() + 2 : a.axis(), k_axis = transposed ? 1 : 0;
  const int64_t scales = element_count(out->scale->type.shape);
  if (a.block_size() > 0) {
    // XNNPACK's kernels for blocks (qd8-f32-qb4w) round each row of x to 8 bits and each scale to bfloat16.
    if (axis != k_axis || a.block_size() < out->k) return "XNNPACK rounds x to 8 bits where weights have blocks";
  } else if (scales != 1 && axis == k_axis) {
    return "its scales are not one a column";
  }
  if (!zeros_in_the_middle(*out->codes, dequantize.in(2)))
    return "its zero points are not in the middle of the codes: XNNPACK's are";
  for (int64_t i = 0; i < scales; ++i) {
    const auto s = read_element<float>(out->scale->constant, i);
    if (!(s > 0 && isnormal(s))) return "XNNPACK's scales are above 0";
  }
  out->flip = dtype_is_signed(type.dtype) == (out->bits == 8) ? 0 : 1u << (out->bits - 1);
  return nullptr;
}

float scale_of(const Columns& c, int64_t n) {
  return read_element<float>(c.scale->constant, element_count(c.scale->type.shape) == 1 ? 0 : n);
}

// As [n, k], rows of whole bytes, which is how 4 bits are packed.
void write_nibbles(const Columns& c, uint8_t* to) {
  const int64_t row = (c.k + 1) / 2;
  for (int64_t n = 0; n < c.n; ++n) {
    for (int64_t k = 0; k < c.k; ++k) {
      const unsigned code =
          read_code(c.codes->type.dtype, c.codes->constant, c.transposed ? n * c.k + k : k * c.n + n) ^ c.flip;
      to[n * row + k / 2] = static_cast<uint8_t>(to[n * row + k / 2] | code << (k % 2 * 4));
    }
  }
}

uint32_t filter(Writer& w, const Columns& c) {
  Fixed as;
  as.type = c.bits == 4 ? xnn_datatype_qcint4 : xnn_datatype_qcint8;
  as.scales = w.per_channel(*c.scale, c.n);
  as.partner = c.scale->constant;
  as.partner_bytes = c.scale->bytes();
  if (c.bits == 4) {
    as.zero = 8;
    return w.reordered(*c.codes, kTransposed, {c.n, c.k}, as,
                       [&](void* to) { write_nibbles(c, static_cast<uint8_t*>(to)); });
  }
  const Dims dims = c.transposed ? Dims{c.n, c.k} : Dims{c.k, c.n};
  as.channel_axis = c.transposed ? 0 : 1;
  if (c.flip == 0) return w.fixed(*c.codes, dims, as);
  return w.reordered(*c.codes, kFlipped, dims, as, [&](void* to) {
    const auto* const from = static_cast<const uint8_t*>(c.codes->constant);
    for (int64_t i = 0; i < c.n * c.k; ++i) static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(from[i] ^ c.flip);
  });
}

}  // namespace

const char* define_coded_product(Writer& w, const Step& s, bool transposed, const Value* bias, int64_t rows) {
  Columns c;
  if (const char* reason = read_columns(*s.codes, transposed, &c)) return reason;
  if (!(c.bits == 4 ? kernels().weights4 : kernels().weights8)) return "XNNPACK has no such weights on this CPU";
  if (c.k == 0 || c.n == 0) return "it has no elements";
  if (bias != nullptr) {
    if (bias->constant == nullptr) return "its bias is not constant";
    for (int64_t n = 0; n < c.n; ++n) {
      if (!isfinite(read_element<float>(bias->constant, n) / scale_of(c, n)))
        return "its bias divided by the scale is no float32";
    }
  }
  const uint32_t x = w.in(*s.node->in(0), {rows, c.k});
  const uint32_t f = filter(w, c);
  uint32_t b = XNN_INVALID_VALUE_ID;
  if (bias != nullptr) {
    b = w.reordered(*bias, kDivided, {c.n}, {}, [&](void* to) {
      for (int64_t n = 0; n < c.n; ++n)
        static_cast<float*>(to)[n] = read_element<float>(bias->constant, n) / scale_of(c, n);
    });
  }
  const uint32_t y = w.out(*s.out, {rows, c.n});
  if (w.asks()) return nullptr;
  const bool as_it_lies = c.bits == 8 && !transposed;
  return w.done(
      xnn_define_fully_connected(w.graph(), s.low, s.high, x, f, b, y, as_it_lies ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0));
}

}  // namespace vireo::xnnpack
