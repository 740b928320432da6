// IntAffine of a PRelu or a BatchNormalization on codes.
#include <cmath>

#include "converter/passes/quantized/integer_region.h"
#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/int_affine/int_affine_generated.h"

namespace vireo::passes {
namespace {

// What is below float32's normal numbers is less than a hair of any code: 0.
bool factors_of(const std::vector<double>& values, const Shape& shape, ir::ConstantPtr* out, std::string* why) {
  std::vector<float> factors;
  for (const double v : values) {
    const auto f = static_cast<float>(v);
    if (!std::isfinite(f)) {
      *why = "its multiplier is out of float32's range";
      return false;
    }
    factors.push_back(std::isnormal(f) ? f : 0);
  }
  *out = ir::make_constant_of<float>(DType::kF32, shape, factors);
  return true;
}

// Real parameters: y = x * (x < 0 ? below : factor) + offset; `below` and `offset` may be empty.
struct Parameters {
  Shape shape;
  std::vector<double> factor, below, offset;
};

bool of_prelu(const ir::Node& n, Parameters* p, std::string* why) {
  if (!constant_reals(n.in(1), &p->below)) {
    *why = "its slopes are not constant";
    return false;
  }
  p->shape = n.in(1)->type.shape;
  p->factor.assign(p->below.size(), 1);
  return true;
}

bool of_batch_normalization(const ir::Node& n, Parameters* p, std::string* why) {
  const auto& a = n.attributes<attrs::BatchNormalization>();
  std::vector<double> scale, bias, mean, variance;
  const bool constant = constant_reals(n.in(1), &scale) && constant_reals(n.in(2), &bias) &&
                        constant_reals(n.in(3), &mean) && constant_reals(n.in(4), &variance);
  const size_t channels = scale.size();
  if (a.training_mode() || n.outputs.size() != 1 || !constant) {
    *why = "its parameters are not constant";
    return false;
  }
  const Shape& x = n.in(0)->type.shape;
  const int axis = a.layout() == 0 ? 1 : x.rank - 1;
  if (x.rank < 2 || bias.size() != channels || mean.size() != channels || variance.size() != channels ||
      x[axis] != static_cast<Dim>(channels)) {
    *why = "it has not one parameter a channel";
    return false;
  }
  p->shape.rank = x.rank - axis;
  for (int i = 0; i < p->shape.rank; ++i) p->shape[i] = i == 0 ? x[axis] : 1;
  for (size_t c = 0; c < channels; ++c) {
    p->factor.push_back(scale[c] / std::sqrt(variance[c] + static_cast<double>(a.epsilon())));
    p->offset.push_back(bias[c] - mean[c] * p->factor[c]);
  }
  return true;
}

}  // namespace

ir::Value* make_int_affine(const Region& r, std::string* why) {
  const ir::Node& n = *r.core;
  Scale x;
  ir::Value* codes = operand(n, 0, &x, why);
  Parameters p;
  if (codes == nullptr) return nullptr;
  if (!(n.op == Op::kPRelu ? of_prelu(n, &p, why) : of_batch_normalization(n, &p, why))) return nullptr;
  for (double& v : p.factor) v *= x.scale() / r.y.scale();
  for (double& v : p.below) v *= x.scale() / r.y.scale();
  for (double& v : p.offset) v /= r.y.scale();
  std::vector<ir::Value*> inputs{codes};
  const auto add = [&](const char* name, const std::vector<double>& values) {
    ir::ConstantPtr c;
    if (!values.empty() && !factors_of(values, p.shape, &c, why)) return false;
    inputs.push_back(c == nullptr ? nullptr : r.graph->add_constant(n.name + name, c));
    return true;
  };
  if (!add("_factor", p.factor) || !add("_below", p.below) || !add("_offset", p.offset)) return nullptr;
  while (inputs.back() == nullptr) inputs.pop_back();
  attrs::IntAffineT a;
  a.x_zero = x.zero();
  set_codes(r, &a);
  return finish(r, add_node(*r.graph, Op::kIntAffine, pack<attrs::IntAffine>(a), inputs, n, r.end), why);
}

ir::Value* add_rescale(const Region& r, ir::Value* x, const Scale& from, std::string* why) {
  if (from == r.y && r.low == least(r.y.dtype) && r.high == greatest(r.y.dtype)) return x;
  float factor = 0;
  if (!multiplier_of(from.scale() / r.y.scale(), &factor, why)) return nullptr;
  attrs::IntAffineT a;
  a.x_zero = from.zero();
  set_codes(r, &a);
  ir::Value* constant = r.graph->add_constant(r.end->name + "_factor",
                                              ir::make_constant_of<float>(DType::kF32, vector_shape(1), {factor}));
  ir::Node* n = add_node(*r.graph, Op::kIntAffine, pack<attrs::IntAffine>(a), {x, constant}, *r.end, r.end);
  if (n != nullptr) return n->out();
  *why = "its shape function refuses the codes";
  return nullptr;
}

ir::Value* make_int_rescale(const Region& r, std::string* why) {
  Scale x;
  ir::Value* codes = codes_of(r.result, &x, why);
  if (codes == nullptr) {
    *why = "its operand " + *why;
    return nullptr;
  }
  ir::Value* y = add_rescale(r, codes, x, why);
  if (y == nullptr || y == codes || y->type == r.end->out()->type) return y;
  *why = "its codes have another shape";
  return nullptr;
}

}  // namespace vireo::passes
