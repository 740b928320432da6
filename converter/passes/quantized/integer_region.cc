#include "converter/passes/quantized/integer_region.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/int_table/int_table_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quant_rule.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo::passes {

ir::Value* finish(const Region& r, ir::Node* n, std::string* why) {
  if (n == nullptr) {
    *why = "its shape function refuses the codes";
    return nullptr;
  }
  if (n->out()->type == r.end->out()->type) return n->out();
  *why = "its codes have another shape";
  r.graph->remove(n);
  return nullptr;
}

ir::Value* operand(const ir::Node& n, size_t i, Scale* s, std::string* why) {
  std::string reason;
  ir::Value* v = codes_of(n.in(i), s, &reason);
  if (v == nullptr) *why = "input " + std::to_string(i) + " " + reason;
  return v;
}

ir::Value* scaled_value(const ir::Node& n, double* factor) {
  if (n.op != Op::kMul && n.op != Op::kDiv) return nullptr;
  for (size_t i = n.op == Op::kDiv ? 1 : 0; i < 2; ++i) {
    std::vector<double> number;
    if (!constant_reals(n.in(i), &number) || number.size() != 1 || !(number[0] > 0)) continue;
    ir::Value* x = n.in(1 - i);
    if (!(x->type == n.out()->type)) return nullptr;
    *factor = n.op == Op::kDiv ? 1 / number[0] : number[0];
    return x;
  }
  return nullptr;
}

bool all_bytes(const Scale& x, const Scale& y, std::string* why) {
  if (!is_half_word(x.dtype) && !is_half_word(y.dtype)) return true;
  *why = "its codes have 16 bits, and there is a form of it for 8";
  return false;
}

namespace {

// What a product with constant weights needs: one entry for each output channel, or one for all.
struct Product {
  ir::ConstantPtr multiplier, bias, w_zero;
};
// `column` (sums of |w - w_zero|) has one entry a channel; `reals` is empty without a bias; factor: alpha.
bool plan_product(const Scale& x, const Scale& w, const Scale& y, const std::vector<double>& columns,
                  const std::vector<double>& reals, double factor, Product* out, std::string* why) {
  std::vector<double> product;
  std::vector<float> multipliers;
  for (const double s : w.scales) {
    product.push_back(x.scale() * s * factor);
    float m = 0;
    if (!multiplier_of(product.back() / y.scale(), &m, why)) return false;
    multipliers.push_back(m);
  }
  std::vector<int32_t> bias;
  if (!reals.empty() && !bias_codes(reals, product, columns.size(), &bias, why)) return false;
  // Sums of 16-bit codes are int64.
  if (!is_half_word(x.dtype) && !sums_fit(columns, span_of(x.dtype, x.zero()), bias, why)) return false;
  out->multiplier =
      ir::make_constant_of<float>(DType::kF32, vector_shape(static_cast<int64_t>(multipliers.size())), multipliers);
  if (!bias.empty())
    out->bias = ir::make_constant_of<int32_t>(DType::kI32, vector_shape(static_cast<int64_t>(bias.size())), bias);
  bool shifted = false;
  for (const int32_t z : w.zeros) shifted = shifted || z != 0;
  const DType zeros = w.dtype == DType::kI4 ? DType::kI8 : w.dtype;
  if (shifted) out->w_zero = code_constant(zeros, vector_shape(static_cast<int64_t>(w.zeros.size())), w.zeros);
  return true;
}

std::vector<ir::Value*> product_inputs(ir::Graph& g, const std::string& name, ir::Value* x, ir::Value* w,
                                       const Product& p) {
  const auto constant = [&](const char* what, const ir::ConstantPtr& c) -> ir::Value* {
    return c == nullptr ? nullptr : g.add_constant(name + what, c);
  };
  std::vector<ir::Value*> in{x, w, constant("_multiplier", p.multiplier), constant("_bias", p.bias),
                             constant("_zero", p.w_zero)};
  while (in.back() == nullptr) in.pop_back();
  return in;
}

double magnitude(const ir::Constant& codes, int64_t i, int32_t zero) { return std::abs(weight_at(codes, i) - zero); }

// The type that weights have beside codes of `x`: int4 multiplies bytes only.
DType type_beside(const Scale& x, const Weights& w) { return is_half_word(x.dtype) ? DType::kI8 : w.scale.dtype; }

// One value for each index of `axis` of y: all other extents of `v` are 1.
bool along_axis(const ir::Value& v, const Shape& y, int axis) {
  const int lead = y.rank - v.type.shape.rank;
  if (lead < 0) return false;
  for (int i = 0; i < v.type.shape.rank; ++i) {
    if (v.type.shape[i] != 1 && i + lead != axis) return false;
  }
  return true;
}

}  // namespace

ir::Value* make_int_conv(const Region& r, std::string* why) {
  const ir::Node& n = *r.core;
  Scale x;
  Weights w;
  ir::Value* codes = operand(n, 0, &x, why);
  if (codes == nullptr || !weights_of(n.in(1), 0, &w, why)) return nullptr;
  std::vector<double> bias;
  if (n.in(2) != nullptr && !constant_reals(n.in(2), &bias)) {
    *why = "its bias is not constant";
    return nullptr;
  }
  const int64_t channels = w.codes->tensor.type.shape[0], total = w.codes->tensor.count();
  if (total < 1) {
    *why = "its weights are empty";
    return nullptr;
  }
  std::vector<double> columns(static_cast<size_t>(channels), 0);
  for (int64_t i = 0; i < total; ++i) {
    const auto c = static_cast<size_t>(i / (total / channels));
    columns[c] += magnitude(*w.codes, i, w.scale.zero(c));
  }
  Product p;
  if (!plan_product(x, w.scale, r.y, columns, bias, 1, &p, why)) return nullptr;
  const auto from = std::unique_ptr<attrs::ConvT>(n.attributes<attrs::Conv>().UnPack());
  attrs::IntConvT a;
  copy_window(*from, &a);
  a.group = from->group;
  a.x_zero = x.zero();
  set_codes(r, &a);
  const DType type = type_beside(x, w);
  ir::ConstantPtr kept = w.codes;
  if (type != w.scale.dtype) {
    std::vector<int32_t> numbers;
    for (int64_t i = 0; i < total; ++i) numbers.push_back(weight_at(*w.codes, i));
    kept = weights_constant(type, w.codes->tensor.type.shape, numbers);
  }
  ir::Value* weights = r.graph->add_constant(n.in(1)->name, kept);
  return finish(r,
                add_node(*r.graph, Op::kIntConv, pack<attrs::IntConv>(a),
                         product_inputs(*r.graph, n.name, codes, weights, p), n, r.end),
                why);
}

// Codes that IntSoftmax makes along the last axis: as many codes of the largest magnitude sum to no less than all codes
// of a row do. What rounds up to a code is a half or more of it, so rounding at most doubles 1 / y's scale. 0: others.
static double most_of_shares(const ir::Value& codes, const Scale& x) {
  const ir::Node* n = codes.producer;
  if (n == nullptr || n->op != Op::kIntSoftmax) return 0;
  const auto& a = n->attributes<attrs::IntSoftmax>();
  if ((a.axis() != -1 && a.axis() != codes.type.shape.rank - 1) || a.y_zero() != x.zero() || a.low() > a.y_zero() ||
      !(a.multiplier() > 0) || !(a.multiplier() < 1e6f))
    return 0;
  return std::ceil(2 * static_cast<double>(a.multiplier()) / span_of(x.dtype, x.zero()));
}

ir::Value* make_int_gemm(const Region& r, ir::Node* product, ir::Node* sum, double factor, std::string* why) {
  const ir::Node& n = *product;
  const bool gemm = n.op == Op::kGemm;
  double alpha = 1, beta = 1;
  bool trans_b = false;
  if (gemm) {
    const auto& a = n.attributes<attrs::Gemm>();
    alpha = static_cast<double>(a.alpha());
    beta = static_cast<double>(a.beta());
    trans_b = a.trans_b();
    if (a.trans_a()) *why = "its first operand is transposed";
    if (!(alpha > 0) || !std::isfinite(alpha) || !std::isfinite(beta)) *why = "its alpha is not a positive number";
    if (!why->empty()) return nullptr;
  }
  Scale x;
  ir::Value* codes = operand(n, 0, &x, why);
  if (codes == nullptr) return nullptr;
  const ir::Value* c = sum != nullptr ? other_input(*sum, n.out()) : gemm ? n.in(2) : nullptr;
  std::vector<double> bias;
  if (c != nullptr &&
      (!constant_reals(c, &bias) || !along_axis(*c, n.out()->type.shape, n.out()->type.shape.rank - 1))) {
    *why = "its bias is not one constant for each column";
    return nullptr;
  }
  for (double& b : bias) b *= beta * factor;
  alpha *= factor;
  attrs::IntGemmT a;
  a.a_zero = x.zero();
  set_codes(r, &a);
  Product p;
  ir::Value* right = nullptr;
  const ir::Node* dq = maker(n.in(1), Op::kDequantizeLinear);
  const Shape& shape = n.in(1)->type.shape;
  if (dq != nullptr && dq->in(0)->constant != nullptr && shape.rank == 2) {
    Weights w;
    if (!weights_of(n.in(1), trans_b ? 0 : 1, &w, why)) return nullptr;
    const int64_t k = shape[trans_b ? 1 : 0], columns = shape[trans_b ? 0 : 1];
    std::vector<double> sums(static_cast<size_t>(columns), 0);
    std::vector<int32_t> turned(static_cast<size_t>(k * columns));
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t at = trans_b ? j * k + i : i * columns + j;
        sums[static_cast<size_t>(j)] += magnitude(*w.codes, at, w.scale.zero(static_cast<size_t>(j)));
        turned[static_cast<size_t>(i * columns + j)] = weight_at(*w.codes, at);
      }
    }
    if (!plan_product(x, w.scale, r.y, sums, bias, alpha, &p, why)) return nullptr;
    const DType type = type_beside(x, w);
    ir::ConstantPtr kept = w.codes;
    if (trans_b || type != w.scale.dtype) {
      Shape s = shape;
      s.dims[0] = k;
      s.dims[1] = columns;
      kept = weights_constant(type, s, turned);
    }
    right = r.graph->add_constant(n.in(1)->name, kept);
  } else {
    Scale w;
    right = operand(n, 1, &w, why);
    if (right == nullptr) return nullptr;
    if (is_half_word(w.dtype)) {
      *why = "its second operand has codes of 16 bits";
      return nullptr;
    }
    if (trans_b) {
      *why = "its second operand is transposed and not constant";
      return nullptr;
    }
    const Dim k = n.in(0)->type.shape[n.in(0)->type.shape.rank - 1],
              columns = shape.rank >= 2 ? shape[shape.rank - 1] : 1;
    const double shares = most_of_shares(*codes, x);
    if ((is_symbolic(k) && shares == 0) || (!bias.empty() && is_symbolic(columns))) {
      *why = "its inner dimension is not known, and a sum may leave int32";
      return nullptr;
    }
    const std::vector<double> sums(bias.empty() ? 1 : static_cast<size_t>(columns),
                                   (shares != 0 ? shares : static_cast<double>(k)) * span_of(w.dtype, w.zero()));
    if (!plan_product(x, w, r.y, sums, bias, alpha, &p, why)) return nullptr;
  }
  return finish(r,
                add_node(*r.graph, Op::kIntGemm, pack<attrs::IntGemm>(a),
                         product_inputs(*r.graph, n.name, codes, right, p), n, r.end),
                why);
}

ir::Value* make_int_add(const Region& r, std::string* why) {
  Scale a, b;
  ir::Value *va = operand(*r.core, 0, &a, why), *vb = va == nullptr ? nullptr : operand(*r.core, 1, &b, why);
  attrs::IntAddT t;
  if (vb == nullptr || !multiplier_of(a.scale() / r.y.scale(), &t.a_multiplier, why) ||
      !multiplier_of(b.scale() / r.y.scale(), &t.b_multiplier, why)) {
    return nullptr;
  }
  if (r.core->op == Op::kSub) t.b_multiplier = -t.b_multiplier;
  t.a_zero = a.zero();
  t.b_zero = b.zero();
  set_codes(r, &t);
  return finish(r, add_node(*r.graph, Op::kIntAdd, pack<attrs::IntAdd>(t), {va, vb}, *r.core, r.end), why);
}

ir::Value* make_int_mul(const Region& r, std::string* why) {
  Scale a, b;
  ir::Value *va = operand(*r.core, 0, &a, why), *vb = va == nullptr ? nullptr : operand(*r.core, 1, &b, why);
  attrs::IntMulT t;
  if (vb == nullptr || !multiplier_of(a.scale() * b.scale() / r.y.scale(), &t.multiplier, why)) return nullptr;
  t.a_zero = a.zero();
  t.b_zero = b.zero();
  set_codes(r, &t);
  return finish(r, add_node(*r.graph, Op::kIntMul, pack<attrs::IntMul>(t), {va, vb}, *r.core, r.end), why);
}

namespace {

// Where channels are, as `layout` has it, if a mean is one over all that lies between them and the batch; -1: it is
// another mean.
int layout_of_mean(const ir::Node& n) {
  const int rank = n.in(0)->type.shape.rank;
  std::vector<int64_t> axes;
  if (rank < 3 || n.in(1) == nullptr || !known_ints(n.in(1), &axes) || axes.size() != static_cast<size_t>(rank - 2))
    return -1;
  for (int64_t& a : axes) a += a < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != axes[0] + static_cast<int64_t>(i)) return -1;
  }
  return axes[0] == 2 ? 0 : axes[0] == 1 ? 1 : -1;
}

}  // namespace

ir::Value* make_int_average(const Region& r, std::string* why) {
  constexpr int64_t kMaxTable = 4096;  // entries of the multipliers' table
  const ir::Node& n = *r.core;
  Scale x;
  ir::Value* codes = operand(n, 0, &x, why);
  if (codes == nullptr) return nullptr;
  attrs::IntAveragePoolT a;
  bool same = true;  // every window counts all its taps
  if (n.op == Op::kAveragePool) {
    const auto from = std::unique_ptr<attrs::PoolT>(n.attributes<attrs::Pool>().UnPack());
    a.kernel_shape = from->kernel_shape;
    copy_window(*from, &a);
    a.ceil_mode = from->ceil_mode;
    a.count_include_pad = from->count_include_pad;
    bool padded = a.auto_pad != 0 && a.auto_pad != 3;  // SAME: how much follows from extents
    for (const int32_t p : a.pads) padded = padded || (a.auto_pad == 0 && p != 0);
    same = !a.ceil_mode && (!padded || a.count_include_pad);
    for (size_t i = 0; a.auto_pad == 0 && !a.count_include_pad && i < a.pads.size(); ++i) {
      const size_t d = i % a.kernel_shape.size();
      if (a.pads[i] <= (a.kernel_shape[d] - 1) * (a.dilations.empty() ? 1 : a.dilations[d])) continue;
      *why = "a window may hold padding alone, of which there is no mean";
      return nullptr;
    }
  } else {
    const int layout = n.op == Op::kReduceMean ? layout_of_mean(n) : n.attributes<attrs::GlobalPool>().layout();
    if (layout < 0) {
      *why = "it is no mean over all axes between batch and channels";
      return nullptr;
    }
    a.layout = static_cast<uint8_t>(layout);
    const Shape& s = n.in(0)->type.shape;
    for (int i = 2; i < s.rank; ++i) {
      const Dim extent = s[a.layout == 0 ? i : i - 1];
      if (is_symbolic(extent) || extent < 1 || extent > INT32_MAX) {
        *why = "how many elements it averages is not known";
        return nullptr;
      }
      a.kernel_shape.push_back(static_cast<int32_t>(extent));
    }
  }
  double taps = 1;
  for (const int32_t k : a.kernel_shape) taps *= k;
  if (!same && taps >= kMaxTable) {
    *why = "its windows differ in how many of their " + std::to_string(static_cast<int64_t>(taps)) + " taps count";
    return nullptr;
  }
  std::vector<float> multipliers(same ? 1 : static_cast<size_t>(taps) + 1);
  for (size_t i = 0; i < multipliers.size(); ++i) {
    const double count = same ? taps : i == 0 ? 1 : static_cast<double>(i);
    if (!multiplier_of(x.scale() / r.y.scale() / count, &multipliers[i], why)) return nullptr;
  }
  a.x_zero = x.zero();
  set_codes(r, &a);
  ir::Value* table = r.graph->add_constant(
      n.name + "_multiplier",
      ir::make_constant_of<float>(DType::kF32, vector_shape(static_cast<int64_t>(multipliers.size())), multipliers));
  ir::Node* pool = add_node(*r.graph, Op::kIntAveragePool, pack<attrs::IntAveragePool>(a), {codes, table}, n, r.end);
  if (pool != nullptr && n.op == Op::kReduceMean && !n.attributes<attrs::Reduce>().keepdims())
    pool = add_reshape(*r.graph, pool->out(), n.out()->type.shape, n, r.end);
  return finish(r, pool, why);
}

// Where(kept, x, low) of which a Softmax's exponentials of all that is low are 0 beside any code of x.
static bool masks(const ir::Node& choice) {
  std::vector<double> low;
  return choice.in(1)->type == choice.out()->type && constant_reals(choice.in(2), &low) && low.size() == 1 &&
         low[0] <= kLowScore && std::isfinite(low[0]);
}

ir::Value* make_int_softmax(const Region& r, std::string* why) {
  Scale x;
  // A factor on the scores of attention.
  double factor = 1;
  ir::Value* kept = nullptr;
  const ir::Value* in = r.core->in(0);
  if (const ir::Node* choice = maker(in, Op::kWhere); choice != nullptr && only_user(in) == r.core && masks(*choice)) {
    kept = choice->in(0);
    in = choice->in(1);
  }
  const ir::Node* before = in->producer;
  const ir::Value* scaled =
      before == nullptr || only_user(before->out()) == nullptr ? nullptr : scaled_value(*before, &factor);
  const bool through = scaled != nullptr && maker(scaled, Op::kDequantizeLinear) != nullptr;
  if (!through) factor = 1;
  std::string reason;
  ir::Value* codes = codes_of(through ? scaled : in, &x, &reason);
  if (codes == nullptr) *why = "input 0 " + reason;
  attrs::IntSoftmaxT a;
  if (codes == nullptr || !all_bytes(x, r.y, why) || !multiplier_of(1 / r.y.scale(), &a.multiplier, why))
    return nullptr;
  if (r.core->in(0)->type.shape.rank == 0) {
    *why = "it is a Softmax of a single number";
    return nullptr;
  }
  a.axis = r.core->attributes<attrs::Softmax>().axis();
  set_codes(r, &a);
  std::vector<int32_t> table;
  for (int d = 0; d < 256; ++d)
    table.push_back(static_cast<int32_t>(std::nearbyint(std::ldexp(std::exp(-d * x.scale() * factor), 23))));
  ir::Value* t = r.graph->add_constant(r.core->name + "_exp",
                                       ir::make_constant_of<int32_t>(DType::kI32, vector_shape(256), table));
  std::vector<ir::Value*> inputs = {codes, t};
  if (kept != nullptr) inputs.push_back(kept);
  return finish(r, add_node(*r.graph, Op::kIntSoftmax, pack<attrs::IntSoftmax>(a), inputs, *r.core, r.end), why);
}

namespace {

bool all_are_bytes(const std::vector<Scale>& scales, const Scale& y) {
  return !is_half_word(y.dtype) &&
         std::none_of(scales.begin(), scales.end(), [](const Scale& s) { return is_half_word(s.dtype); });
}

}  // namespace

ir::Value* make_int_concat(const Region& r, std::string* why) {
  std::vector<ir::Value*> parts;
  std::vector<Scale> scales(r.core->inputs.size());
  for (size_t i = 0; i < scales.size(); ++i) {
    parts.push_back(operand(*r.core, i, &scales[i], why));
    if (parts.back() == nullptr) return nullptr;
  }
  if (r.low != least(r.y.dtype) || r.high != greatest(r.y.dtype)) {
    *why = "an activation stands behind it";
    return nullptr;
  }
  if (!all_are_bytes(scales, r.y)) {
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = add_rescale(r, parts[i], scales[i], why);
    if (std::find(parts.begin(), parts.end(), nullptr) != parts.end()) return nullptr;
    return finish(r, add_node(*r.graph, Op::kConcat, r.core->attrs, parts, *r.core, r.end), why);
  }
  std::vector<ir::ConstantPtr> tables;
  for (const ir::Value* v : r.core->inputs) {
    const ir::ConstantPtr values = all_values(*v->producer);
    tables.push_back(values == nullptr ? nullptr : make_table(values, *r.end));
    if (tables.back() != nullptr) continue;
    *why = "it has no table";
    return nullptr;
  }
  for (size_t i = 0; i < tables.size(); ++i) parts[i] = apply_table(*r.graph, parts[i], tables[i], *r.core, r.end);
  return finish(r, add_node(*r.graph, Op::kConcat, r.core->attrs, parts, *r.core, r.end), why);
}

ir::ConstantPtr all_values(const ir::Node& dequantize) {
  std::vector<int32_t> codes(256);
  std::iota(codes.begin(), codes.end(), 0);
  return rescaled(dequantize, code_constant(dequantize.in(0)->type.dtype, vector_shape(256), codes));
}

ir::ConstantPtr make_table(const ir::ConstantPtr& values, const ir::Node& quantize) {
  for (const double v : reals(*values)) {
    if (std::isnan(v)) return nullptr;
  }
  return rescaled(quantize, values);
}

ir::Value* apply_table(ir::Graph& g, ir::Value* x, const ir::ConstantPtr& table, const ir::Node& like,
                       ir::Node* before) {
  bool same = x->type.dtype == table->tensor.type.dtype;
  for (size_t i = 0; same && i < 256; ++i) same = table->tensor.bytes[i] == i;
  if (same) return x;
  ir::Node* n = add_node(g, Op::kIntTable, pack<attrs::IntTable>(attrs::IntTableT{}),
                         {x, g.add_constant(like.name + "_table", table)}, like, before);
  return n->out();
}

}  // namespace vireo::passes
