#include "converter/passes/shared/spell_out.h"

#include <memory>

#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::passes {
namespace {

// Constant parameters of one operand, written anew as a number each, or as one for each channel.
struct Parameters {
  ir::ConstantPtr scale, zero;
  std::vector<double> scales;
};
bool parameters(const ir::Value* scale, const ir::Value* zero, bool channels, Parameters* out, std::string* why) {
  if (scale == nullptr || scale->constant == nullptr || (zero != nullptr && zero->constant == nullptr) ||
      !dtype_is_float(scale->type.dtype)) {
    *why = "a scale or zero point is not constant";
    return false;
  }
  out->scales = reals(*scale->constant);
  std::vector<int32_t> zeros{0};
  if (zero != nullptr) {
    zeros.clear();
    for (int64_t i = 0; i < zero->constant->tensor.count(); ++i) {
      zeros.push_back(static_cast<int32_t>(read_integer(zero->type.dtype, zero->constant->tensor.bytes.data(), i)));
    }
  }
  const size_t count = out->scales.size() > zeros.size() ? out->scales.size() : zeros.size();
  const auto spread = [&](auto* v) {
    if (v->size() == 1) v->resize(count, v->front());
    return v->size() == count;
  };
  if (count == 0 || (count > 1 && !channels) || !spread(&out->scales) || !spread(&zeros)) {
    *why = "it has " + std::to_string(count) + " scales or zero points";
    return false;
  }
  const Shape shape = count == 1 ? Shape{} : vector_shape(static_cast<int64_t>(count));
  out->scale = from_reals(DType::kF32, shape, out->scales);
  if (zero != nullptr) out->zero = code_constant(zero->type.dtype, shape, zeros);
  return true;
}

template <class Attrs, class AttrsT>
ir::Node* add_scaled(ir::Graph& g, Op op, ir::Value* x, const Parameters& p, int axis, const ir::Node& like,
                     ir::Node* before) {
  AttrsT a;
  a.axis = axis;
  std::vector<ir::Value*> in{x, g.add_constant(like.name + "_scale", p.scale)};
  if (p.zero != nullptr) in.push_back(g.add_constant(like.name + "_zero", p.zero));
  return add_node(g, op, pack<Attrs>(a), std::move(in), like, before);
}

}  // namespace

ir::Node* spell_out(ir::Graph& g, ir::Node& n, std::string* why) {
  const bool conv = n.op == Op::kQLinearConv;
  Parameters x, w, y;
  if (!parameters(n.in(1), n.in(2), false, &x, why) || !parameters(n.in(4), n.in(5), true, &w, why) ||
      !parameters(n.in(6), n.in(7), false, &y, why)) {
    return nullptr;
  }
  if (w.scales.size() > 1 && n.in(3)->type.shape.rank != 2 && !conv) {
    *why = "it has scales for the columns of several matrices";
    return nullptr;
  }
  if (n.in(8) != nullptr && n.in(8)->constant == nullptr) {
    *why = "its bias is not constant";
    return nullptr;
  }
  std::vector<ir::Node*> made;
  const auto keep = [&](ir::Node* one) -> ir::Value* {
    if (one == nullptr) return nullptr;
    made.push_back(one);
    return one->out();
  };
  const auto dequantize = [&](ir::Value* v, const Parameters& p, int axis) {
    return keep(
        add_scaled<attrs::DequantizeLinear, attrs::DequantizeLinearT>(g, Op::kDequantizeLinear, v, p, axis, n, &n));
  };
  std::vector<ir::Value*> in{dequantize(n.in(0), x, 0), dequantize(n.in(3), w, conv ? 0 : 1)};
  if (n.in(8) != nullptr) {
    Parameters b;
    for (const double s : w.scales) b.scales.push_back(s * x.scales[0]);
    b.scale = from_reals(
        DType::kF32, b.scales.size() == 1 ? Shape{} : vector_shape(static_cast<int64_t>(b.scales.size())), b.scales);
    in.push_back(dequantize(n.in(8), b, 0));
  }
  bool good = true;
  for (const ir::Value* v : in) good = good && v != nullptr;
  ir::Node* product = nullptr;
  if (good && conv) {
    const auto from = std::unique_ptr<attrs::ConvIntegerT>(n.attributes<attrs::ConvInteger>().UnPack());
    attrs::ConvT a;
    copy_window(*from, &a);
    a.group = from->group;
    product = add_node(g, Op::kConv, pack<attrs::Conv>(a), in, n, &n);
  } else if (good) {
    product = add_node(g, Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), in, n, &n);
  }
  ir::Value* v = keep(product);
  ir::Node* end =
      v == nullptr ? nullptr
                   : add_scaled<attrs::QuantizeLinear, attrs::QuantizeLinearT>(g, Op::kQuantizeLinear, v, y, 0, n, &n);
  if (end != nullptr) return end;
  *why = "its parameters do not fit its operands";
  for (size_t i = made.size(); i-- > 0;) g.remove(made[i]);
  return nullptr;
}

}  // namespace vireo::passes
