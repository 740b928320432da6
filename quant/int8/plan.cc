#include "quant/int8/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "converter/ir/infer.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo::quant {
namespace {

QuantInput as_rule_sees(const ir::Value* v) {
  QuantInput in;
  if (v == nullptr) return in;
  in.type = v->type;
  in.constant = v->constant != nullptr;
  if (!in.constant) return in;
  const ConstTensor& t = v->constant->tensor;
  const bool real = ir::is_readable_real(t.type.dtype);
  const bool whole = dtype_is_integer(t.type.dtype) && dtype_bits(t.type.dtype) >= 8;
  if ((!real && !whole) || t.count() > kMostQuantNumbers) return in;
  for (int64_t i = 0; i < t.count(); ++i) {
    in.numbers.push_back(real ? read_real(t.type.dtype, t.bytes.data(), i)
                              : static_cast<double>(read_integer(t.type.dtype, t.bytes.data(), i)));
  }
  return in;
}

bool is_f32(const ir::Value* v) { return v != nullptr && v->type.dtype == DType::kF32; }

bool is_softmax_of_rows(const ir::Value* v) {
  if (v == nullptr || v->producer == nullptr || v->producer->op != Op::kSoftmax) return false;
  const int axis = v->producer->attributes<attrs::Softmax>().axis();
  return axis == -1 || axis == v->type.shape.rank - 1;
}

// The node that alone reads `v`; null where several do, or the graph's outputs.
ir::Node* alone_reading(const ir::Value* v) { return v->one_use() && v->uses.size() == 1 ? v->uses[0].node : nullptr; }

class Planner {
 public:
  Planner(ir::Graph& graph, const std::function<bool(const ir::Node&)>& keep) : graph_(graph) {
    for (ir::Node& n : graph.nodes()) rules_[&n] = rule_of(n, keep);
    for (ir::Node& n : graph.nodes()) find_bias(n);
  }

  Plan plan() {
    while (leave_more()) {
    }
    collect();
    return std::move(plan_);
  }

 private:
  QuantRule rule_of(const ir::Node& n, const std::function<bool(const ir::Node&)>& keep) {
    const QuantRules rules = find_quant_rules(n.op);
    if (rules == nullptr) return quant_stays("there is no integer form of it");
    const ir::Value* result = n.out() != nullptr ? n.out() : n.out(1);  // a cell may have only its last state
    if (!n.bodies.empty() || !is_f32(result)) return quant_stays("its values are not float32");
    if (keep(n)) return quant_stays("the recipe keeps it in float");
    QuantView view;
    view.op = n.op;
    view.attributes = n.attrs.data();
    for (const ir::Value* v : n.inputs) {
      view.inputs.push_back(as_rule_sees(v));
      view.inputs.back().shares = is_softmax_of_rows(v);
    }
    view.outputs = 0;
    for (const ir::Value* v : n.outputs) view.outputs += v != nullptr && !v->unused() ? 1 : 0;
    QuantRule r = rules(view);
    const ir::Node* reader = n.op == Op::kWhere ? alone_reading(n.out()) : nullptr;
    if (n.op == Op::kWhere && (reader == nullptr || reader->op != Op::kSoftmax))
      return quant_stays("it does not stand in front of a Softmax alone");
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if ((r.codes >> i & 1) != 0 && !is_f32(n.in(i))) return quant_stays("its values are not float32");
    }
    if (r.kind == QuantKind::kProduct && n.in(static_cast<size_t>(r.weights))->type.dtype != DType::kF32)
      return quant_stays("its weights are not float32");
    return r;
  }

  // MatMul -> Add of a constant for each column is one product. Where there is one column, the constant is a single
  // number, which would be a function by itself.
  void find_bias(ir::Node& n) {
    const QuantKind kind = rules_[&n].kind;
    if (n.op != Op::kAdd || (kind != QuantKind::kJoin && kind != QuantKind::kFunction)) return;
    for (size_t i = 0; i < 2; ++i) {
      ir::Node* product = n.in(i)->producer;
      const ir::Value* other = n.in(1 - i);
      if (product == nullptr || product->op != Op::kMatMul || other->constant == nullptr) continue;
      if (rules_[product].kind != QuantKind::kProduct || alone_reading(product->out()) != &n) continue;
      const Shape& shape = other->type.shape;
      bool columns = n.out()->type == product->out()->type;
      for (int d = 0; d + 1 < shape.rank; ++d) columns = columns && shape[d] == 1;
      if (kind == QuantKind::kFunction) {
        const Shape& y = n.out()->type.shape;
        columns = columns && y.rank > 0 && y[y.rank - 1] == 1;
      }
      if (!columns) continue;
      rules_[&n].kind = QuantKind::kJoin;
      bias_of_[product] = &n;
    }
    for (const auto& [product, sum] : bias_of_) sums_.insert(sum);
  }

  QuantKind kind(const ir::Node* n) const { return n == nullptr ? QuantKind::kStays : rules_.at(n).kind; }
  bool integer(const ir::Node* n) const { return kind(n) != QuantKind::kStays; }
  bool is_layer(const ir::Node* n) const { return kind(n) == QuantKind::kProduct || kind(n) == QuantKind::kCell; }
  bool is_pair(const ir::Node* n) const { return kind(n) == QuantKind::kPair; }
  bool is_sum(const ir::Node* n) const { return sums_.count(n) != 0; }

  void leave(const ir::Node& n, const char* why) { rules_[&n] = quant_stays(why); }

  std::vector<ir::Value*> operands(const ir::Node& n) const {
    std::vector<ir::Value*> out;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if ((rules_.at(&n).codes >> i & 1) != 0 && n.in(i) != nullptr && n.in(i)->constant == nullptr)
        out.push_back(n.in(i));
    }
    return out;
  }

  // Whether what reads `v`, through integer nodes that are no products, comes to a product.
  bool feeds_product(const ir::Value* v) const {
    return std::any_of(v->uses.begin(), v->uses.end(), [&](const ir::Use& u) {
      if (is_layer(u.node)) return u.input == 0;
      if (is_pair(u.node)) return true;
      return integer(u.node) && (rules_.at(u.node).codes >> u.input & 1) != 0 && feeds_.count(u.node) != 0;
    });
  }

  // Whether a node that computes in float reads `v`, itself or moved.
  bool read_in_float(const ir::Value* v) const {
    return std::any_of(v->uses.begin(), v->uses.end(), [&](const ir::Use& u) {
      if (kind(u.node) == QuantKind::kMoves) return read_in_float(u.node->out());
      return !integer(u.node);
    });
  }

  // One round of taking out what cannot be integer beside its neighbours; false: all can.
  bool leave_more() {
    feeds_.clear();
    for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it) {
      if (it->out() != nullptr && integer(&*it) && feeds_product(it->out())) feeds_.insert(&*it);
    }
    bool changed = false;
    for (ir::Node& n : graph_.nodes()) {
      const char* why = reason_to_leave(n);
      if (why == nullptr) continue;
      leave(n, why);
      changed = true;
    }
    return changed;
  }

  const char* reason_to_leave(const ir::Node& n) const {
    const QuantRule& r = rules_.at(&n);
    if (r.kind == QuantKind::kStays || is_layer(&n)) return nullptr;
    if (is_sum(&n)) {
      const bool with_product = std::any_of(bias_of_.begin(), bias_of_.end(),
                                            [&](const auto& pair) { return pair.second == &n && integer(pair.first); });
      return with_product ? nullptr : "its product stays in float";
    }
    const bool feeds = feeds_.count(&n) != 0;
    const bool may_begin = r.kind == QuantKind::kFunction || r.kind == QuantKind::kMoves;
    const std::vector<ir::Value*> values = operands(n);
    if (values.empty()) return "its operands are constant";
    for (const ir::Value* v : values) {
      if (v->producer == nullptr ? !(may_begin && feeds) : !integer(v->producer)) return "its operand is made in float";
    }
    const bool rising_apart = r.kind == QuantKind::kJoin || (r.kind == QuantKind::kFunction && !r.bounded && !r.clamps);
    if (rising_apart && !feeds) return "it stands behind the last product";
    const bool by_itself = r.kind == QuantKind::kJoin || r.kind == QuantKind::kPair;
    if ((by_itself || (r.bounded && !feeds)) && read_in_float(n.out())) return "what reads it computes in float";
    return nullptr;
  }

  // ---- what follows from the rules that are left ----

  // Where the codes of `v` come from: back over what moves them.
  ir::Value* root(ir::Value* v) const {
    while (v->producer != nullptr && kind(v->producer) == QuantKind::kMoves) v = operands(*v->producer)[0];
    return v;
  }

  // A Relu or Clip whose work the codes of what stands before it can do: that has no other reader, and is no table.
  bool clamps_before(const ir::Node& n) const {
    if (!rules_.at(&n).clamps || !integer(&n)) return false;
    const ir::Node* before = n.in(0)->producer;
    if (before == nullptr || !integer(before) || alone_reading(n.in(0)) != &n) return false;
    switch (kind(before)) {
      case QuantKind::kProduct:
      case QuantKind::kPair:
      case QuantKind::kOwn:
        return true;
      case QuantKind::kJoin:
        return before->op != Op::kConcat;
      case QuantKind::kFunction:
        return clamps_before(*before) || scales_pair(*before);
      default:
        return false;
    }
  }

  // A positive factor of a product of two values, which goes into its own.
  bool scales_pair(const ir::Node& n) const {
    if (kind(&n) != QuantKind::kFunction || (n.op != Op::kMul && n.op != Op::kDiv)) return false;
    const size_t at = n.op == Op::kMul && n.in(0)->constant != nullptr ? 0 : 1;
    const QuantInput factor = as_rule_sees(n.in(at));
    const ir::Value* x = n.in(1 - at);
    return factor.scalar() && factor.numbers[0] > 0 && x->producer != nullptr && is_pair(x->producer) &&
           alone_reading(x) == &n && x->type == n.out()->type;
  }

  bool is_table(const ir::Node& n) const {
    return kind(&n) == QuantKind::kFunction && !clamps_before(n) && !scales_pair(n);
  }

  // Whether nothing stands behind `n`'s result, because the next node's work is part of the same integer operator.
  ir::Node* absorbed_by(const ir::Node& n) const {
    ir::Node* next = alone_reading(n.out());
    if (next == nullptr || !integer(next)) return nullptr;
    const auto bias = bias_of_.find(const_cast<ir::Node*>(&n));
    if (bias != bias_of_.end()) return bias->second;
    if (clamps_before(*next) || scales_pair(*next)) return next;
    return is_table(n) && is_table(*next) && next->out()->type.shape == n.out()->type.shape ? next : nullptr;
  }

  // The last c of an LSTM, which is in no bounds.
  bool is_memory(const ir::Value* v) const { return v->producer->op == Op::kLSTM && v == v->producer->out(2); }

  size_t coded(ir::Value* v, int channels) {
    const auto found = index_.find(v);
    if (found != index_.end()) {
      CodedValue& known = plan_.values[found->second];
      if (known.channels == -1 && channels != -1) known.channels = channels;
      return found->second;
    }
    CodedValue c;
    c.value = v;
    c.channels = channels;
    c.made_in_float = v->producer == nullptr || !integer(v->producer);
    if (v->producer != nullptr && integer(v->producer)) {
      const QuantRule& r = rules_.at(v->producer);
      c.bounded = r.bounded && !is_memory(v);
      c.low = r.low;
      c.high = r.high;
      if (r.channels != -1) c.channels = r.channels;
    }
    index_[v] = plan_.values.size();
    plan_.values.push_back(std::move(c));
    return plan_.values.size() - 1;
  }

  // Through absorbed nodes to what has codes.
  ir::Node* end_of(ir::Node* n, std::vector<ir::Node*>* chain) const {
    chain->push_back(n);
    for (ir::Node* next = absorbed_by(*n); next != nullptr; next = absorbed_by(*next)) {
      chain->push_back(next);
      n = next;
    }
    return n;
  }

  void collect() {
    for (ir::Node& n : graph_.nodes()) {
      const QuantRule& r = rules_[&n];
      if (r.kind == QuantKind::kStays) {
        note_left(n, r);
        continue;
      }
      if (r.kind == QuantKind::kMoves || inside_.count(&n) != 0) continue;
      if (r.kind == QuantKind::kCell) {
        add_cell(n, r);
        continue;
      }
      std::vector<ir::Node*> chain;
      const ir::Node* end = end_of(&n, &chain);
      inside_.insert(chain.begin(), chain.end());
      std::vector<size_t> parts;
      for (ir::Value* v : operands(n)) parts.push_back(coded(root(v), r.channels));
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        if (r.kind == QuantKind::kJoin && n.in(i) != nullptr && n.in(i)->constant != nullptr)
          plan_.constants.push_back({&n, i});
      }
      const size_t result = coded(end->out(), r.channels);
      if (n.op == Op::kConcat) plan_.values[result].parts = parts;
      if (is_table(n) && alone_reading(n.in(0)) == &n && root(n.in(0)) == n.in(0))
        plan_.values[parts[0]].behind = chain;
      if (r.kind == QuantKind::kProduct) add_layer(n, r, chain, parts[0], result);
      if (r.kind == QuantKind::kPair) plan_.pairs.push_back({&n, chain.back(), parts[0], parts[1], result});
      if (n.op == Op::kSoftmax) plan_.values[parts[0]].scores = true;
    }
    for (CodedValue& c : plan_.values) {
      if (!c.made_in_float) continue;
      for (const ir::Use& u : c.value->uses) {
        if (integer(u.node) && (rules_[u.node].codes >> u.input & 1) != 0) c.readers.push_back(u);
      }
    }
  }

  void add_layer(ir::Node& n, const QuantRule& r, const std::vector<ir::Node*>& chain, size_t input, size_t result) {
    Layer layer;
    layer.node = &n;
    layer.chain = chain;
    const auto sum = bias_of_.find(&n);
    layer.sum = sum == bias_of_.end() ? nullptr : sum->second;
    layer.input = input;
    layer.result = result;
    layer.weights = r.weights;
    layer.weight_axis = r.weight_axis;
    layer.bias = r.bias >= 0 && n.in(static_cast<size_t>(r.bias)) != nullptr ? r.bias : -1;
    layer.channels = r.channels;
    plan_.layers.push_back(std::move(layer));
  }

  void add_cell(ir::Node& n, const QuantRule& r) {
    Cell cell;
    cell.node = &n;
    cell.input = coded(root(n.in(0)), r.channels);
    if (n.out() != nullptr && !n.out()->unused()) cell.result = coded(n.out(), r.channels);
    plan_.cells.push_back(cell);
  }

  void note_left(const ir::Node& n, const QuantRule& r) {
    const bool worth = n.op == Op::kConv || n.op == Op::kConvTranspose || n.op == Op::kGemm || n.op == Op::kMatMul ||
                       n.op == Op::kLSTM || n.op == Op::kGRU;
    if (worth) plan_.left.emplace_back(&n, r.why);
  }

  ir::Graph& graph_;
  std::map<const ir::Node*, QuantRule> rules_;
  std::map<ir::Node*, ir::Node*> bias_of_;  // product, its Add
  std::set<const ir::Node*> sums_, feeds_, inside_;
  std::map<const ir::Value*, size_t> index_;
  Plan plan_;
};

}  // namespace

std::string layer_name(const ir::Node& node) {
  if (!node.name.empty()) return node.name;
  return node.out() == nullptr ? op_name(node.op) : node.out()->name;
}

Plan make_plan(ir::Graph& graph, const std::function<bool(const ir::Node&)>& keep) {
  return Planner(graph, keep).plan();
}

}  // namespace vireo::quant
