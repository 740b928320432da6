#include "converter/passes/shared/quantized.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::passes {
namespace {

bool is_byte(DType t) { return t == DType::kI8 || t == DType::kU8; }
bool is_nibble(DType t) { return t == DType::kI4 || t == DType::kU4; }

// Also of 4 bits.
int32_t integer_at(const ir::Constant& c, int64_t i) {
  const DType t = c.tensor.type.dtype;
  const uint8_t* const bytes = c.tensor.bytes.data();
  if (!is_nibble(t)) return static_cast<int32_t>(read_integer(t, bytes, i));
  const int32_t code = bytes[i / 2] >> (i % 2 * 4) & 15;
  return t == DType::kI4 ? (code ^ 8) - 8 : code;
}

template <class Attrs>
bool read(const ir::Node& n, int rank, Scale* out, std::string* why) {
  const auto& a = n.attributes<Attrs>();
  const ir::Value *s = n.in(1), *z = n.in(2);
  if (a.block_size() != 0) {
    *why = "quantized in blocks of " + std::to_string(a.block_size());
    return false;
  }
  const bool real = s->type.dtype == DType::kF32 || s->type.dtype == DType::kF16 || s->type.dtype == DType::kBF16;
  if (s->constant == nullptr || (z != nullptr && z->constant == nullptr)) {
    *why = "its scale or zero point is not constant";
    return false;
  }
  if (!real || s->type.shape.rank > 1 || (z != nullptr && z->constant->tensor.count() != s->constant->tensor.count())) {
    *why =
        "its scale is a " + std::string(dtype_name(s->type.dtype)) + " of rank " + std::to_string(s->type.shape.rank);
    return false;
  }
  out->scales = reals(*s->constant);
  if (out->scales.empty()) {
    *why = "it has no scale";
    return false;
  }
  for (const double v : out->scales) {
    if (v > 0 && std::isfinite(v)) continue;
    *why = "a scale is " + std::string(std::isnan(v) ? "NaN" : std::isinf(v) ? "infinite" : v == 0 ? "0" : "negative");
    return false;
  }
  out->zeros.assign(out->scales.size(), 0);
  if (z != nullptr) {
    if (!dtype_is_integer(z->type.dtype) || dtype_bits(z->type.dtype) < 4) {
      *why = "its codes are " + std::string(dtype_name(z->type.dtype));
      return false;
    }
    for (size_t i = 0; i < out->zeros.size(); ++i) out->zeros[i] = integer_at(*z->constant, static_cast<int64_t>(i));
  }
  out->axis = a.axis() < 0 ? a.axis() + rank : a.axis();
  return true;
}

}  // namespace

bool read_scale(const ir::Node& n, Scale* out, std::string* why) {
  const int rank = n.in(0)->type.shape.rank;
  if (n.op == Op::kQuantizeLinear) {
    if (!read<attrs::QuantizeLinear>(n, rank, out, why)) return false;
    out->dtype = n.out()->type.dtype;
    return true;
  }
  if (!read<attrs::DequantizeLinear>(n, rank, out, why)) return false;
  out->dtype = n.in(0)->type.dtype;
  return true;
}

bool is_half_word(DType t) { return t == DType::kI16 || t == DType::kU16; }
bool is_code(DType t) { return is_byte(t) || is_half_word(t); }

ir::Value* codes_of(const ir::Value* v, Scale* out, std::string* why) {
  const ir::Node* n = maker(v, Op::kDequantizeLinear);
  if (n == nullptr) {
    *why = "is not quantized";
    return nullptr;
  }
  if (!read_scale(*n, out, why)) return nullptr;
  if (!is_code(out->dtype)) {
    *why = "has codes of " + std::string(dtype_name(out->dtype));
    return nullptr;
  }
  if (!out->per_tensor()) {
    *why = "has a scale for each index of axis " + std::to_string(out->axis);
    return nullptr;
  }
  return n->in(0);
}

bool constant_reals(const ir::Value* v, std::vector<double>* out) {
  if (v == nullptr) return false;
  if (v->constant != nullptr) {
    if (!dtype_is_float(v->type.dtype) || dtype_bits(v->type.dtype) < 16) return false;
    *out = reals(*v->constant);
    return true;
  }
  const ir::Node* n = maker(v, Op::kDequantizeLinear);
  Scale s;
  std::string why;
  if (n == nullptr || n->in(0)->constant == nullptr || !read_scale(*n, &s, &why)) return false;
  const ir::Constant& c = *n->in(0)->constant;
  if (!dtype_is_integer(s.dtype) || dtype_bits(s.dtype) < 8) return false;
  const Shape& shape = c.tensor.type.shape;
  int64_t inner = 1;
  if (!s.per_tensor()) {
    if (s.axis < 0 || s.axis >= shape.rank || shape[s.axis] != static_cast<int64_t>(s.scales.size())) return false;
    for (int i = s.axis + 1; i < shape.rank; ++i) inner *= shape[i];
  }
  out->resize(static_cast<size_t>(c.tensor.count()));
  for (size_t i = 0; i < out->size(); ++i) {
    const size_t channel = s.per_tensor() ? 0 : i / static_cast<size_t>(inner) % s.scales.size();
    const double code = static_cast<double>(read_integer(s.dtype, c.tensor.bytes.data(), static_cast<int64_t>(i)));
    (*out)[i] = (code - s.zeros[channel]) * s.scales[channel];
  }
  return true;
}

int32_t least(DType dtype) { return dtype == DType::kI8 ? -128 : dtype == DType::kI16 ? -32768 : 0; }
int32_t greatest(DType dtype) {
  if (is_half_word(dtype)) return dtype == DType::kI16 ? 32767 : 65535;
  return dtype == DType::kI8 ? 127 : 255;
}

ir::ConstantPtr rescaled(const ir::Node& n, const ir::ConstantPtr& x) {
  std::vector<ir::ConstantPtr> in{x}, out;
  for (size_t i = 1; i < 3; ++i) {
    const ir::Value* v = n.in(i);
    in.push_back(v == nullptr ? nullptr : ir::with_shape(v->constant, Shape{}));
  }
  std::string message;
  return ir::evaluate_node(n, in, 1 << 16, &out, &message) ? out[0] : nullptr;
}

int32_t code_of(const ir::Node& quantize, double real) {
  const ir::ConstantPtr code = rescaled(quantize, from_reals(quantize.in(0)->type.dtype, Shape{}, {real}));
  return static_cast<int32_t>(read_integer(quantize.out()->type.dtype, code->tensor.bytes.data(), 0));
}

double span_of(DType dtype, int32_t zero) {
  const double below = zero - least(dtype), above = greatest(dtype) - zero;
  return below > above ? below : above;
}

bool weights_of(const ir::Value* v, int axis, Weights* out, std::string* why) {
  const ir::Node* n = maker(v, Op::kDequantizeLinear);
  if (n == nullptr) {
    *why = "its weights are not quantized";
    return false;
  }
  const ir::ConstantPtr& c = n->in(0)->constant;
  if (c == nullptr) {
    *why = "its weights are not constant";
    return false;
  }
  if (!read_scale(*n, &out->scale, why)) {
    *why = "weights: " + *why;
    return false;
  }
  if (!is_byte(out->scale.dtype) && !is_nibble(out->scale.dtype)) {
    *why = "its weights are " + std::string(dtype_name(out->scale.dtype));
    return false;
  }
  if (!out->scale.per_tensor() && out->scale.axis != axis) {
    *why = "its weights are quantized along axis " + std::to_string(out->scale.axis) + ", not " + std::to_string(axis);
    return false;
  }
  out->codes = c;
  const DType t = out->scale.dtype;
  if (t == DType::kU8 || t == DType::kU4) {
    const bool byte = t == DType::kU8;
    std::vector<uint8_t> bytes(c->tensor.bytes.data(), c->tensor.bytes.data() + c->tensor.bytes.size());
    for (uint8_t& b : bytes) b ^= byte ? 0x80 : 0x88;
    out->scale.dtype = byte ? DType::kI8 : DType::kI4;
    out->codes = ir::make_constant({out->scale.dtype, c->tensor.type.shape}, std::move(bytes));
    for (int32_t& z : out->scale.zeros) z -= byte ? 128 : 8;
  }
  return true;
}

int32_t weight_at(const ir::Constant& codes, int64_t i) { return integer_at(codes, i); }

ir::ConstantPtr weights_constant(DType dtype, const Shape& shape, const std::vector<int32_t>& numbers) {
  if (dtype != DType::kI4) return code_constant(dtype, shape, numbers);
  std::vector<uint8_t> bytes((numbers.size() + 1) / 2, 0);
  for (size_t i = 0; i < numbers.size(); ++i)
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | (numbers[i] & 15) << (i % 2 * 4));
  return ir::make_constant({dtype, shape}, std::move(bytes));
}

bool bias_codes(const std::vector<double>& reals, const std::vector<double>& product, size_t count,
                std::vector<int32_t>* out, std::string* why) {
  if (reals.size() != count && reals.size() != 1) {
    *why = "its bias has " + std::to_string(reals.size()) + " values for " + std::to_string(count) + " channels";
    return false;
  }
  for (size_t c = 0; c < count; ++c) {
    const double code = std::nearbyint(reals[reals.size() == 1 ? 0 : c] / product[product.size() == 1 ? 0 : c]);
    if (!(std::fabs(code) <= std::numeric_limits<int32_t>::max())) {
      *why = "a bias does not fit into int32 at the scale of its product";
      return false;
    }
    out->push_back(static_cast<int32_t>(code));
  }
  return true;
}

bool sums_fit(const std::vector<double>& columns, double x_span, const std::vector<int32_t>& bias, std::string* why) {
  for (size_t c = 0; c < columns.size(); ++c) {
    const double most = columns[c] * x_span + (bias.empty() ? 0 : std::fabs(static_cast<double>(bias[c])));
    if (most <= std::numeric_limits<int32_t>::max()) continue;
    *why = "a sum may leave int32";
    return false;
  }
  return true;
}

bool multiplier_of(double value, float* out, std::string* why) {
  *out = static_cast<float>(value);
  if (std::isnormal(*out)) return true;
  *why = "its multiplier is out of float32's range";
  return false;
}

ir::ConstantPtr code_constant(DType dtype, const Shape& shape, const std::vector<int32_t>& codes) {
  std::vector<uint8_t> bytes;
  bytes.reserve(codes.size() * (is_half_word(dtype) ? 2 : 1));
  for (const int32_t c : codes) {
    bytes.push_back(static_cast<uint8_t>(c));
    if (is_half_word(dtype)) bytes.push_back(static_cast<uint8_t>(c >> 8));
  }
  return ir::make_constant({dtype, shape}, std::move(bytes));
}

}  // namespace vireo::passes
