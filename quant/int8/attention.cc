#include "quant/int8/attention.h"

#include <cmath>
#include <cstring>

#include "quant/shared/writer.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/quant_rule.h"
#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/trilu/trilu_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo::quant {
namespace {

constexpr double kHidden = -1e4;  // what a mask adds to a score that shall not count, or less

bool is_number(const ir::Value* v) {
  return v->constant != nullptr && v->constant->tensor.count() == 1 && v->type.dtype == DType::kF32;
}
double number_of(const ir::Value* v) { return read_real(v->type.dtype, v->constant->tensor.bytes.data(), 0); }

// Whether all elements fulfil `f`; only of what is constant.
template <class F>
bool all_of(const ir::Value* v, const F& f) {
  const ConstTensor& t = v->constant->tensor;
  for (int64_t i = 0; i < t.count(); ++i) {
    if (!f(read_real(t.type.dtype, t.bytes.data(), i))) return false;
  }
  return true;
}

// Nodes that are looked at of those that make a mask: some are reached by many ways, and all ways are walked.
constexpr int kMostLookedAt = 256;
bool only_moves(Op op) {
  return op == Op::kReshape || op == Op::kTranspose || op == Op::kUnsqueeze || op == Op::kSqueeze ||
         op == Op::kExpand || op == Op::kSlice || op == Op::kIdentity || op == Op::kGather;
}

// Whether all elements are 0 or 1. `left`: nodes that may still be looked at.
bool is_flag(const ir::Value* v, int* left) {
  if (v->constant != nullptr) {
    return v->type.dtype == DType::kF32 && all_of(v, [](double x) { return x == 0 || x == 1; });
  }
  const ir::Node* n = v->producer;
  if (n == nullptr || --*left < 0) return false;
  if (n->op == Op::kCast) return n->in(0)->type.dtype == DType::kBool;
  if (n->op == Op::kSub) return is_number(n->in(0)) && number_of(n->in(0)) == 1 && is_flag(n->in(1), left);
  return only_moves(n->op) && is_flag(n->in(0), left);
}

// Whether all elements of a mask are 0, or so low that a score of them does not count.
bool hides(const ir::Value* v, int* left) {
  const auto switched = [](double x) { return x == 0 || x <= kHidden; };
  if (v->type.dtype != DType::kF32) return false;
  if (v->constant != nullptr) return all_of(v, switched);
  const ir::Node* n = v->producer;
  if (n == nullptr || --*left < 0) return false;
  switch (n->op) {
    case Op::kConstantOfShape: {
      const auto* const value = n->attributes<attrs::ConstantOfShape>().value();
      return value == nullptr || value->size() != sizeof(float) || switched(read_real(DType::kF32, value->data(), 0));
    }
    case Op::kTrilu:
      return hides(n->in(0), left);
    case Op::kWhere:
      return hides(n->in(1), left) && hides(n->in(2), left);
    case Op::kAdd:
      return hides(n->in(0), left) && hides(n->in(1), left);
    case Op::kMul:
      for (size_t i = 0; i < 2; ++i) {
        if (is_number(n->in(i)) && number_of(n->in(i)) <= kHidden && is_flag(n->in(1 - i), left)) return true;
      }
      return false;
    default:
      return only_moves(n->op) && hides(n->in(0), left);
  }
}

const char* why_not(const ir::Node& n) {
  const auto& a = n.attributes<attrs::Attention>();
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ir::Value* v = n.in(i);
    if (v != nullptr && v->type.dtype != DType::kF32 && !(i == 3 && v->type.dtype == DType::kBool))
      return "its values are not float32";
  }
  int left = kMostLookedAt;
  if (n.in(3) != nullptr && n.in(3)->type.dtype != DType::kBool && !hides(n.in(3), &left))
    return "its mask adds numbers to scores that are attended";
  if (a.left_window() >= 0 || a.right_window() >= 0) return "a query sees a window of keys";
  if (n.in(4) != nullptr || n.in(6) != nullptr) return "its keys are cached, or an input says how many there are";
  if (a.softcap() > 0) return "its scores have a soft cap";
  for (size_t i = 1; i < n.outputs.size(); ++i) {
    if (n.out(i) != nullptr && !n.out(i)->unused()) return "its keys or scores are read";
  }
  const Shape &q = n.in(0)->type.shape, &k = n.in(1)->type.shape, &v = n.in(2)->type.shape;
  const bool packed = q.rank == 3;
  const Dim heads = packed ? Dim{a.q_heads()} : q[1];
  if (is_symbolic(heads) || is_symbolic(q[q.rank - 1]) || is_symbolic(v[v.rank - 1])) return "its heads are not known";
  const Dim shared = packed ? Dim{a.kv_heads()} : k[1];
  if (is_symbolic(shared) || shared < 1 || heads % shared != 0) return "its heads are not known";
  const Dim keys = k[packed ? 1 : 2];
  const ir::Value* mask = n.in(3);
  const Shape listed = mask == nullptr ? Shape{} : mask->type.shape;
  if (mask != nullptr && (listed.rank == 0 || listed.rank > 4 || !(listed[listed.rank - 1] == keys)))
    return "its mask does not list every key";
  if (heads != shared && listed.rank > 2 && !(listed[listed.rank - 3] == 1))
    return "queries share keys in groups, and a mask tells heads apart";
  return nullptr;
}

// ---- Which keys a query sees

ir::Value* not_of(Writer& w, ir::Value* x, const std::string& name) {
  return w.add(Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {x}, name);
}

// What a mask keeps, as bool.
ir::Value* kept_by(ir::Graph& graph, Writer& w, ir::Value* mask, const std::string& name) {
  if (mask->type.dtype == DType::kBool) return mask;
  if (mask->constant != nullptr) {
    const ConstTensor& t = mask->constant->tensor;
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < t.count(); ++i)
      bytes.push_back(read_real(t.type.dtype, t.bytes.data(), i) > kHidden / 2 ? 1 : 0);
    return graph.add_constant(name, ir::make_constant({DType::kBool, t.type.shape}, std::move(bytes)));
  }
  const ir::Node* choice = mask->producer->op == Op::kWhere ? mask->producer : nullptr;
  if (choice != nullptr && choice->in(0)->type.shape == mask->type.shape && is_number(choice->in(1)) &&
      is_number(choice->in(2))) {
    const bool first = number_of(choice->in(1)) == 0;
    if (first != (number_of(choice->in(2)) == 0)) return first ? choice->in(0) : not_of(w, choice->in(0), name);
  }
  return w.binary(Op::kLess, w.number(static_cast<float>(kHidden / 2), name + "_bound"), mask, name);
}

// [queries, keys]: keys up to the query.
ir::Value* kept_so_far(ir::Graph& graph, Writer& w, ir::Value* rows, ir::Value* columns, const std::string& name) {
  const Dim queries = rows->type.shape[2], keys = columns->type.shape[3];
  if (!is_symbolic(queries) && !is_symbolic(keys)) {
    Shape shape = {2, {queries, keys}};
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < queries; ++i) {
      for (int64_t j = 0; j < keys; ++j) bytes.push_back(j <= i ? 1 : 0);
    }
    return graph.add_constant(name, ir::make_constant({DType::kBool, shape}, std::move(bytes)));
  }
  const auto extent = [&](ir::Value* v, int64_t axis, const std::string& of) {
    attrs::ShapeT a;
    a.start = axis;
    a.end = axis + 1;
    return w.add(Op::kShape, pack<attrs::Shape>(a), {v}, name + of);
  };
  ir::Value* const both[] = {extent(rows, 2, "_queries"), extent(columns, 3, "_keys")};
  attrs::ConcatT join;
  join.axis = 0;
  ir::Value* const shape = w.add(Op::kConcat, pack<attrs::Concat>(join), {both[0], both[1]}, name + "_shape");
  attrs::ConstantOfShapeT fill;
  fill.dtype = static_cast<uint8_t>(DType::kBool);
  fill.value = {1};
  ir::Value* const all = w.add(Op::kConstantOfShape, pack<attrs::ConstantOfShape>(fill), {shape}, name + "_all");
  attrs::TriluT lower;
  lower.upper = false;
  return w.add(Op::kTrilu, pack<attrs::Trilu>(lower), {all}, name);
}

// [B, H, S, D] of what is that already, or [B, S, H D].
ir::Value* by_heads(Writer& w, ir::Value* x, int64_t heads, bool turned, const std::string& name) {
  if (x->type.shape.rank == 4) return turned ? w.transpose(x, {0, 1, 3, 2}, name + "_turned") : x;
  ir::Value* apart = w.reshape(x, {0, 0, heads, x->type.shape[2] / heads}, name + "_apart");
  return w.transpose(apart, turned ? std::vector<int32_t>{0, 2, 3, 1} : std::vector<int32_t>{0, 2, 1, 3},
                     name + "_heads");
}

// Null, or why not.
const char* spell(ir::Graph& graph, ir::Node* n) {
  const auto& a = n->attributes<attrs::Attention>();
  ir::Value *q = n->in(0), *k = n->in(1), *v = n->in(2), *y = n->out();
  const bool packed = q->type.shape.rank == 3;
  const int64_t heads = packed ? a.q_heads() : q->type.shape[1];
  const int64_t head = packed ? q->type.shape[2] / heads : q->type.shape[3];
  const float scale = std::isnan(a.scale()) ? static_cast<float>(1 / std::sqrt(static_cast<double>(head))) : a.scale();
  if (!(scale > 0) || !std::isnormal(scale)) return "its scale is not a positive number";
  const std::string& name = y->name;  // names of values are unique, those of nodes need not be
  Writer w(graph, n);
  ir::Value* rows = by_heads(w, q, heads, false, name + "_q");
  ir::Value* const by_query = rows;
  // Heads that share keys stand one after another: they are as many more queries of one head.
  const int64_t shared = packed ? a.kv_heads() : k->type.shape[1], group = heads / shared;
  if (group != 1) rows = w.reshape(rows, {0, shared, -1, head}, name + "_grouped");
  ir::Value* columns = by_heads(w, k, shared, true, name + "_k");
  ir::Value* values = by_heads(w, v, shared, false, name + "_v");
  const std::vector<uint8_t> plain = pack<attrs::MatMul>(attrs::MatMulT{});
  ir::Value* scores = w.add(Op::kMatMul, plain, {rows, columns}, name + "_scores");
  ir::Node* const first = scores == nullptr ? nullptr : scores->producer;
  if (scale != 1) scores = w.binary(Op::kMul, scores, w.number(scale, name + "_scale"), name + "_scaled");
  ir::Value* kept = n->in(3) == nullptr ? nullptr : kept_by(graph, w, n->in(3), name + "_mask");
  if (a.causal() && w.good()) {
    ir::Value* const before = kept_so_far(graph, w, by_query, columns, name + "_causal");
    kept = kept == nullptr ? before : w.binary(Op::kBitwiseAnd, kept, before, name + "_kept");
  }
  if (kept != nullptr && group != 1 && kept->type.shape.rank > 1 &&
      !(kept->type.shape[kept->type.shape.rank - 2] == 1)) {
    attrs::ConcatT join;
    join.axis = -2;
    kept = w.add(Op::kConcat, pack<attrs::Concat>(join), std::vector<ir::Value*>(static_cast<size_t>(group), kept),
                 name + "_of_group");
  }
  if (kept != nullptr)
    scores = w.add(Op::kWhere, pack<attrs::Where>(attrs::WhereT{}),
                   {kept, scores, w.number(2 * static_cast<float>(kLowScore), name + "_low")}, name + "_seen");
  attrs::SoftmaxT softmax;
  softmax.axis = -1;
  ir::Value* shares = w.add(Op::kSoftmax, pack<attrs::Softmax>(softmax), {scores}, name + "_shares");
  ir::Value* out = w.add(Op::kMatMul, plain, {shares, values},
                         group != 1 ? name + "_of_groups"
                         : packed   ? name + "_y"
                                    : y->name);
  ir::Node* last = out == nullptr ? nullptr : out->producer;
  if (group != 1 && out != nullptr)
    out = w.reshape(out, {0, heads, -1, out->type.shape[3]}, packed ? name + "_y" : y->name);
  if (packed && out != nullptr)
    out = w.reshape(w.transpose(out, {0, 2, 1, 3}, name + "_rows"), {0, 0, y->type.shape[2]}, y->name);
  if (!w.good() || !(out->type == y->type)) {
    w.undo();
    return "its operands do not make two products";
  }
  last->name = n->name;
  if (!n->name.empty()) first->name = n->name + " (scores)";
  graph.replace_uses(y, out);
  graph.remove(n);
  return nullptr;
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

// Finds the product whose result the Split divides along its last axis. False: nothing is found, or the product cannot
// be divided.
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

// The Split that makes q, k and v of `n`, if only `n` reads its three results; else null.
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
    if (why == nullptr) why = spell(graph, n);
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
