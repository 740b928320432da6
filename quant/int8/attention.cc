#include "quant/int8/attention.h"

#include <cmath>
#include <cstring>

#include "quant/shared/writer.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/quant_rule.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::quant {
namespace {

const char* why_not(const ir::Node& n) {
  const auto& a = n.attributes<attrs::Attention>();
  for (const ir::Value* v : n.inputs) {
    if (v != nullptr && v->type.dtype != DType::kF32) return "its values are not float32";
  }
  if (n.in(3) != nullptr) return "its scores are added to a mask, which takes the codes of all others";
  if (a.causal() || a.left_window() >= 0 || a.right_window() >= 0) return "a query does not see all keys";
  if (n.in(4) != nullptr || n.in(6) != nullptr) return "its keys are cached, or an input says how many there are";
  if (a.softcap() > 0) return "its scores have a soft cap";
  for (size_t i = 1; i < n.outputs.size(); ++i) {
    if (n.out(i) != nullptr && !n.out(i)->unused()) return "its keys or scores are read";
  }
  const Shape &q = n.in(0)->type.shape, &k = n.in(1)->type.shape, &v = n.in(2)->type.shape;
  const bool packed = q.rank == 3;
  const Dim heads = packed ? Dim{a.q_heads()} : q[1];
  if (is_symbolic(heads) || is_symbolic(q[q.rank - 1]) || is_symbolic(v[v.rank - 1])) return "its heads are not known";
  if (packed ? a.q_heads() != a.kv_heads() : !(q[1] == k[1])) return "queries share keys in groups";
  const Dim keys = k[packed ? 1 : 2];
  if (is_symbolic(keys)) return "how many keys it has is not known, and a sum may leave int32";
  return keys > kMostQuantProducts ? "a sum over all of its keys may leave int32" : nullptr;
}

// [B, H, S, D] of what is that already, or [B, S, H D].
ir::Value* by_heads(Writer& w, ir::Value* x, int64_t heads, bool turned, const std::string& name) {
  if (x->type.shape.rank == 4) return turned ? w.transpose(x, {0, 1, 3, 2}, name + "_turned") : x;
  ir::Value* apart = w.reshape(x, {0, 0, heads, x->type.shape[2] / heads}, name + "_apart");
  return w.transpose(apart, turned ? std::vector<int32_t>{0, 2, 3, 1} : std::vector<int32_t>{0, 2, 1, 3},
                     name + "_heads");
}

bool spell(ir::Graph& graph, ir::Node* n) {
  const auto& a = n->attributes<attrs::Attention>();
  ir::Value *q = n->in(0), *k = n->in(1), *v = n->in(2), *y = n->out();
  const bool packed = q->type.shape.rank == 3;
  const int64_t heads = packed ? a.q_heads() : q->type.shape[1];
  const int64_t head = packed ? q->type.shape[2] / heads : q->type.shape[3];
  const float scale = std::isnan(a.scale()) ? static_cast<float>(1 / std::sqrt(static_cast<double>(head))) : a.scale();
  if (!(scale > 0) || !std::isnormal(scale)) return false;
  const std::string& name = y->name;  // names of values are unique, those of nodes need not be
  Writer w(graph, n);
  ir::Value* rows = by_heads(w, q, heads, false, name + "_q");
  ir::Value* columns = by_heads(w, k, heads, true, name + "_k");
  ir::Value* values = by_heads(w, v, heads, false, name + "_v");
  const std::vector<uint8_t> plain = pack<attrs::MatMul>(attrs::MatMulT{});
  ir::Value* scores = w.add(Op::kMatMul, plain, {rows, columns}, name + "_scores");
  ir::Node* const first = scores == nullptr ? nullptr : scores->producer;
  if (scale != 1) scores = w.binary(Op::kMul, scores, w.number(scale, name + "_scale"), name + "_scaled");
  attrs::SoftmaxT softmax;
  softmax.axis = -1;
  ir::Value* shares = w.add(Op::kSoftmax, pack<attrs::Softmax>(softmax), {scores}, name + "_shares");
  ir::Value* out = w.add(Op::kMatMul, plain, {shares, values}, packed ? name + "_y" : y->name);
  ir::Node* last = out == nullptr ? nullptr : out->producer;
  if (packed && out != nullptr)
    out = w.reshape(w.transpose(out, {0, 2, 1, 3}, name + "_rows"), {0, 0, y->type.shape[2]}, y->name);
  if (!w.good() || !(out->type == y->type)) {
    w.undo();
    return false;
  }
  last->name = n->name;
  if (!n->name.empty()) first->name = n->name + " (scores)";
  graph.replace_uses(y, out);
  graph.remove(n);
  return true;
}

// ---- Products whose result is split

// Columns [first, first + count) of a matrix with them along `axis`, or of a vector.
ir::ConstantPtr columns_of(const ir::Constant& c, int axis, int64_t first, int64_t count) {
  const ConstTensor& t = c.tensor;
  Shape shape = t.type.shape;
  const int64_t inner = axis + 1 < shape.rank ? shape[shape.rank - 1] : 1, all = shape[axis];
  const int64_t outer = t.count() / (all * inner);
  std::vector<float> out;
  const auto* from = reinterpret_cast<const float*>(t.bytes.data());
  for (int64_t o = 0; o < outer; ++o)
    out.insert(out.end(), from + (o * all + first) * inner, from + (o * all + first + count) * inner);
  shape[axis] = count;
  return ir::make_constant_of<float>(t.type.dtype, shape, out);
}

bool is_vector_of(const ir::Value* v, int64_t columns) {
  return v != nullptr && v->constant != nullptr && v->type.dtype == DType::kF32 && v->type.shape.rank >= 1 &&
         v->constant->tensor.count() == columns && v->type.shape[v->type.shape.rank - 1] == columns;
}

struct Divided {
  ir::Node* product = nullptr;
  ir::Node* sum = nullptr;  // the Add of a bias
  int axis = 0;             // of the columns of the weights
};

// Finds the product whose result the Split divides along its last axis. False: there is none, or it cannot be divided.
bool find_product(const ir::Node& split, Divided* d) {
  const ir::Value* x = split.in(0);
  const int rank = x->type.shape.rank;
  const int axis = split.attributes<attrs::Split>().axis();
  if (axis != -1 && axis != rank - 1) return false;
  const Dim columns = x->type.shape[rank - 1];
  if (is_symbolic(columns)) return false;
  for (const ir::Value* v : split.outputs) {
    if (v == nullptr || is_symbolic(v->type.shape[rank - 1])) return false;
  }
  ir::Node* n = x->producer;
  if (n == nullptr || !x->one_use()) return false;
  if (n->op == Op::kAdd) {
    const size_t at = n->in(0)->constant == nullptr ? 0 : 1;
    if (!is_vector_of(n->in(1 - at), columns) || !n->in(at)->one_use() || !(n->in(at)->type == n->out()->type))
      return false;
    d->sum = n;
    n = n->in(at)->producer;
    if (n == nullptr || n->op != Op::kMatMul) return false;
  }
  const ir::Value* w = n->in(1);
  if ((n->op != Op::kMatMul && n->op != Op::kGemm) || w == nullptr || w->constant == nullptr ||
      w->type.dtype != DType::kF32 || w->type.shape.rank != 2)
    return false;
  if (n->op == Op::kGemm && n->in(2) != nullptr && !is_vector_of(n->in(2), columns)) return false;
  d->product = n;
  d->axis = n->op == Op::kGemm && n->attributes<attrs::Gemm>().trans_b() ? 0 : 1;
  return true;
}

std::string part_suffix(size_t which) { return which == 0 ? " (q)" : which == 1 ? " (k)" : " (v)"; }

// The same node on some of its columns.
ir::Value* part_of(ir::Graph& graph, const ir::Node& n, std::vector<ir::Value*> inputs, size_t which,
                   const ir::Value& part, const std::string& suffix, ir::Node* before) {
  ir::Node* copy = graph.add_node(n.op, n.attrs, std::move(inputs), 1, before);
  copy->version = n.version;
  copy->name = n.name.empty() ? "" : n.name + part_suffix(which);
  copy->out()->name = part.name + suffix;
  copy->out()->type = part.type;
  return copy->out();
}

void divide(ir::Graph& graph, ir::Node* split) {
  Divided d;
  if (!find_product(*split, &d)) return;
  ir::Node& product = *d.product;
  const std::vector<ir::Value*> parts = split->outputs;
  int64_t first = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    ir::Value* part = parts[i];
    const int64_t count = part->type.shape[part->type.shape.rank - 1];
    const auto cut = [&](const ir::Value& v, int axis) {
      return graph.add_constant(v.name, columns_of(*v.constant, axis, first, count));
    };
    std::vector<ir::Value*> inputs = product.inputs;
    inputs[1] = cut(*product.in(1), d.axis);
    if (inputs.size() > 2 && inputs[2] != nullptr) inputs[2] = cut(*product.in(2), product.in(2)->type.shape.rank - 1);
    ir::Value* out = part_of(graph, product, std::move(inputs), i, *part, d.sum == nullptr ? "" : "_product", split);
    if (d.sum != nullptr) {
      const size_t at = d.sum->in(0) == product.out() ? 0 : 1;
      const ir::Value& bias = *d.sum->in(1 - at);
      std::vector<ir::Value*> terms(2);
      terms[at] = out;
      terms[1 - at] = cut(bias, bias.type.shape.rank - 1);
      out = part_of(graph, *d.sum, std::move(terms), i, *part, "", split);
    }
    graph.replace_uses(part, out);
    first += count;
  }
  graph.remove(split);
  if (d.sum != nullptr) graph.remove(d.sum);
  graph.remove(d.product);
}

// The Split whose three results are q, k and v of `n` and are read by nothing else; null: there is none.
ir::Node* split_before(const ir::Node& n) {
  ir::Node* split = n.in(0)->producer;
  if (split == nullptr || split->op != Op::kSplit || split->outputs.size() != 3) return nullptr;
  for (size_t i = 0; i < 3; ++i) {
    if (n.in(i)->producer != split || n.in(i)->output_uses != 0) return nullptr;
  }
  return split;
}

}  // namespace

size_t spell_attention(ir::Graph& graph, const std::function<const char*(const ir::Node&)>& keep,
                       std::vector<std::pair<const ir::Node*, std::string>>* left) {
  std::vector<ir::Node*> all;
  for (ir::Node& n : graph.nodes()) {
    if (n.op == Op::kAttention) all.push_back(&n);
  }
  size_t spelled = 0;
  for (ir::Node* n : all) {
    const char* why = keep(*n);
    if (why == nullptr) why = why_not(*n);
    ir::Node* split = split_before(*n);
    if (why == nullptr && !spell(graph, n)) why = "its scale is not a positive number";
    if (why != nullptr) {
      left->emplace_back(n, why);
      continue;
    }
    if (split != nullptr) divide(graph, split);
    ++spelled;
  }
  graph.drop_unused_values();
  return spelled;
}

}  // namespace vireo::quant
