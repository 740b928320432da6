#include "converter/passes/match.h"

#include "sdk/base/half.h"
#include "sdk/ops/value_reader.h"

namespace vireo::passes {

bool is_scalar(const ir::Value* v, double* out) {
  if (v == nullptr || v->constant == nullptr || !dtype_is_float(v->type.dtype) || dtype_bits(v->type.dtype) < 16 ||
      v->constant->tensor.count() != 1) {
    return false;
  }
  *out = read_real(v->type.dtype, v->constant->tensor.bytes.data(), 0);
  return true;
}

ir::Node* add_node(ir::Graph& g, Op op, std::vector<uint8_t> attrs, std::vector<ir::Value*> inputs,
                   const ir::Node& like, ir::Node* before) {
  ir::Node* n = g.add_node(op, std::move(attrs), std::move(inputs), 1, before);
  n->name = like.name;
  std::string message;
  if (ok(ir::infer_node(g, n, nullptr, &message))) return n;
  g.remove(n);
  return nullptr;
}

std::vector<double> reals(const ir::Constant& c) {
  std::vector<double> out(static_cast<size_t>(c.tensor.count()));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = read_real(c.tensor.type.dtype, c.tensor.bytes.data(), static_cast<int64_t>(i));
  }
  return out;
}

ir::ConstantPtr from_reals(DType dtype, const Shape& shape, const std::vector<double>& values) {
  const auto make = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> out;
    out.reserve(values.size());
    for (const double v : values) out.push_back(static_cast<T>(v));
    return ir::make_constant_of<T>(dtype, shape, out);
  };
  if (dtype == DType::kF64) return make(double{});
  if (dtype == DType::kF32) return make(float{});
  std::vector<uint16_t> out;
  for (const double v : values) {
    out.push_back(dtype == DType::kF16 ? f32_to_f16(static_cast<float>(v)) : f32_to_bf16(static_cast<float>(v)));
  }
  return ir::make_constant_of<uint16_t>(dtype, shape, out);
}

}  // namespace vireo::passes
