// Before   spatial operators channels first, with Transposes around them
// After    each region of operators that can work in either layout has one of the two; Transposes stand at its borders
//          alone, and those that were there and lead where the region is now are gone
// Fires    where the sum of the nodes' times and of what is moved at borders becomes less, by 2 % at least.
//          Spatial operators: float32 Conv, pools and global pools; what connects them: elementwise operators, Concat,
//          Split, Slice, Resize, Softmax, reductions that keep their extents, Pad, QuantizeLinear and DequantizeLinear
//          with one scale. Integer operators likewise: IntConv, IntAveragePool, MaxPool of codes; IntAdd, IntMul,
//          IntTable, IntResize. A value that is moved is moved once for all who need it.
// Numerics none, but for the order of addition, which the kernel chooses, and tiles of windows (winograd.h).
// Bound    one minimum cut over all nodes: optimal, so that no model gets slower by the rule.        Idempotent.
#include "converter/passes/layout/choose_layout.h"

#include <algorithm>
#include <map>

#include "converter/passes/layout/layout_roles.h"
#include "converter/passes/layout/min_cut.h"
#include "converter/passes/shared/match.h"

namespace vireo::passes {
namespace {

// Of what a node gains channels last, so many quarters count: rates differ from core to core, and what is left alone
// cannot become slower.
constexpr int64_t kTrust = 3;
// Nor does what gains less than this part of the time of all convolutions, and of what is moved, pay for its scratch.
constexpr int64_t kLeastGain = 50;

bool decides(LayoutRole r) { return r == LayoutRole::kSpatial || r == LayoutRole::kAgnostic; }

class Layouts {
 public:
  Layouts(ir::Graph& g, const target::KernelCosts& costs, PassLog& log) : g_(g), costs_(g, costs), log_(log) {}

  void run() {
    if (!read()) return;
    cut();
    if (last_.empty() || !build()) return;
    rewire();
    log_.changed();
  }

 private:
  LayoutRole role(const ir::Node* n) const {
    const auto it = role_.find(n);
    return it == role_.end() ? LayoutRole::kFixed : it->second;
  }
  bool is_last(const ir::Node* n) const { return n != nullptr && last_.count(n) != 0; }

  bool read() {
    bool spatial = false, moves = false;
    for (const ir::Node& n : g_.nodes()) {
      std::string reason;
      const LayoutRole r = layout_role(n, costs_, &reason);
      if (r != LayoutRole::kFixed) role_[&n] = r;
      spatial = spatial || r == LayoutRole::kSpatial;
      moves = moves || r == LayoutRole::kToLast || r == LayoutRole::kToFirst;
      if (!reason.empty() && meets_transpose(n)) log_.reject(n, reason);
    }
    settle();
    return spatial || moves;
  }

  // What lies beside an operator that is channels last lies so too, and has no attribute that says it (Split, Slice,
  // Resize): it is left alone, or a graph that was here before would have its axes moved once more.
  void settle() {
    std::vector<const ir::Node*> next;
    for (const ir::Node& n : g_.nodes()) {
      if (is_channels_last(n)) next.push_back(&n);
    }
    const auto visit = [&](const ir::Node* n) {
      if (n == nullptr || !decides(role(n))) return;
      role_.erase(n);
      next.push_back(n);
    };
    while (!next.empty()) {
      const ir::Node* n = next.back();
      next.pop_back();
      for (const std::vector<ir::Value*>* values : {&n->inputs, &n->outputs}) {
        for (const ir::Value* v : *values) {
          if (v == nullptr || v->constant != nullptr) continue;
          visit(v->producer);
          for (const ir::Use& u : v->uses) visit(u.node);
        }
      }
    }
  }

  static bool meets_transpose(const ir::Node& n) {
    for (const ir::Use& u : n.out()->uses) {
      if (u.node->op == Op::kTranspose) return true;
    }
    return maker(n.in(0), Op::kTranspose) != nullptr;
  }

  // What stands for `v` channels last, made by a node of the region.
  ir::Value* last_out(const ir::Value* v) const { return last_.at(v->producer)->out(v->producer_output); }

  void cut() {
    std::map<const ir::Node*, int> sides;
    MinCut as_it_is, best;
    const int64_t before = connect(as_it_is, true, &sides), after = connect(best, false, &sides);
    if (before - after < (total_ + before) / kLeastGain) {
      if (before > after) log_.reject(first_decider(), "what channels last would gain is too little");
      return;
    }
    for (const auto& [n, node] : sides) {
      if (best.at_sink(node)) last_[n] = nullptr;
    }
  }

  const ir::Node& first_decider() const {
    return *std::find_if(g_.nodes().begin(), g_.nodes().end(), [&](const ir::Node& n) { return decides(role(&n)); });
  }

  // Source: channels first. Sink: channels last. Returns what the cheapest cut costs; with `stay`, the one that leaves
  // all nodes as they are.
  int64_t connect(MinCut& net, bool stay, std::map<const ir::Node*, int>* sides) {
    std::map<const ir::Node*, int>& at = *sides;
    total_ = 0;
    for (const ir::Node& n : g_.nodes()) {
      if (!decides(role(&n))) {
        total_ += settled_time(n, costs_);
        continue;
      }
      const int node = at[&n] = net.add_node();
      const LayoutCost cost = layout_cost(n, costs_);
      total_ += cost.first;
      if (stay) net.add_edge(MinCut::kSource, node, MinCut::kForbidden);
      net.add_edge(MinCut::kSource, node, cost.last - std::min(cost.first, cost.last));
      net.add_edge(node, MinCut::kSink, (cost.first - std::min(cost.first, cost.last)) * kTrust / 4);
    }
    const auto side = [&](const ir::Node* n) {
      if (n == nullptr) return MinCut::kSource;
      if (role(n) == LayoutRole::kToLast || role(n) == LayoutRole::kToFirst) return MinCut::kSink;
      const auto it = at.find(n);
      return it == at.end() ? MinCut::kSource : it->second;
    };
    for (const ir::Value& v : g_.values()) {
      if (v.constant != nullptr || v.unused() || v.type.shape.rank < 3 || v.type.shape.rank > 5) continue;
      // What a node that is no Transpose makes lies as the node does; what ToFirst makes is at hand channels last.
      const int from =
          v.producer != nullptr && role(v.producer) == LayoutRole::kToLast ? MinCut::kSource : side(v.producer);
      const int64_t cost = transpose_cost(v, costs_);
      int to_last = -1, to_first = -1;  // whether it must be moved, each way
      const auto other = [&](int& node) {
        if (node < 0) node = net.add_node();
        return node;
      };
      for (const ir::Use& u : v.uses) {
        const LayoutRole r = role(u.node);
        if (u.node->op == Op::kShape && v.producer != nullptr && decides(role(v.producer))) continue;
        // An operand that does not follow the layout, and what a ToFirst reads, stays as it is.
        const bool follows = r == LayoutRole::kToLast || (decides(r) && follows_layout(*u.node, u.input));
        const int user = follows ? side(u.node) : MinCut::kSource;
        if (user == from) continue;
        if (user != MinCut::kSource) net.add_edge(other(to_last), user, MinCut::kForbidden);
        if (from != MinCut::kSource && user != MinCut::kSink) net.add_edge(user, other(to_first), MinCut::kForbidden);
      }
      if (v.output_uses != 0 && from != MinCut::kSource) {
        net.add_edge(MinCut::kSource, other(to_first), MinCut::kForbidden);
      }
      if (to_last >= 0) net.add_edge(from, to_last, cost);
      if (to_first >= 0) net.add_edge(to_first, from, cost);
    }
    return net.solve();
  }

  // A Transpose, or a view where nothing moves.
  ir::Value* moved(ir::Value* v, const std::vector<int>& perm, const Shape& planes, ir::Node& at) {
    if (is_view_of_channels(planes)) {
      Shape to = v->type.shape;
      for (int i = 0; i < to.rank; ++i) to[i] = v->type.shape[perm[static_cast<size_t>(i)]];
      ir::Node* view = add_reshape(g_, v, to, at, &at);
      if (view != nullptr) return view->out();
    }
    ir::Node* t = add_transpose(g_, v, perm, at, &at);
    return t == nullptr ? nullptr : t->out();
  }

  // `v` channels last, for node `n`.
  ir::Value* last_of(ir::Value* v, ir::Node& n) {
    if (v->constant != nullptr) return constant_channels_last(g_, v, n.out()->type.shape.rank);
    if (is_last(v->producer)) return last_out(v);
    if (v->producer != nullptr && role(v->producer) == LayoutRole::kToFirst) return v->producer->in(0);
    const Shape& s = v->type.shape;
    ir::Value*& there = moved_[v];
    if (there == nullptr) there = moved(v, channels_last(s.rank), s, n);
    return there;
  }

  // All new nodes, while the graph still runs by the old ones: what cannot be built leaves no trace.
  bool build() {
    std::vector<ir::Node*> order;
    for (ir::Node& n : g_.nodes()) {
      if (is_last(&n) || role(&n) == LayoutRole::kToLast) order.push_back(&n);
    }
    for (ir::Node* n : order) {
      if (!is_last(n)) {
        moved_.emplace(n->in(0), n->out());  // stands in front of all that follows
        continue;
      }
      std::vector<ir::Value*> in = n->inputs;
      for (size_t i = 0; i < in.size(); ++i) {
        if (!follows_layout(*n, i)) continue;
        in[i] = last_of(in[i], *n);
        if (in[i] == nullptr) return refused(*n);
      }
      ir::Node* one = with_channels_last(g_, *n, std::move(in), n);
      if (one == nullptr || !has_extents_of(*one, *n)) return refused(*n);
      last_[n] = one;
      for (const ir::Value* v : n->outputs) {
        if (v != nullptr && !build_border(*n, *v)) return refused(*n);
      }
    }
    return true;
  }

  // `v` of `n` channels first again, where somebody needs it so.
  bool build_border(ir::Node& n, const ir::Value& v) {
    ir::Value* last = last_out(&v);
    if (!wanted_first(v)) {
      last->name = v.name;
      return std::all_of(v.uses.begin(), v.uses.end(),
                         [&](const ir::Use& u) { return u.node->op != Op::kShape || build_extents(*u.node, last); });
    }
    ir::Value* first = moved(last, channels_first(v.type.shape.rank), v.type.shape, n);
    if (first == nullptr) return false;
    first_[&v] = first;
    return true;
  }

  // A Shape whose operand is channels last now: no element moves for it.
  bool build_extents(ir::Node& shape, ir::Value* last) {
    ir::Node* gather = extents_of_channels_first(g_, shape, last);
    if (gather == nullptr) return false;
    extents_[&shape] = gather->out();
    return true;
  }

  // What Resize and Slice compute: the extents that were there, in the other order.
  static bool has_extents_of(const ir::Node& last, const ir::Node& first) {
    if (first.op != Op::kResize && first.op != Op::kIntResize && first.op != Op::kSlice) return true;
    for (size_t o = 0; o < first.outputs.size(); ++o) {
      if (first.outputs[o] == nullptr) continue;
      const Shape &from = first.outputs[o]->type.shape, &to = last.outputs[o]->type.shape;
      const std::vector<int> perm = channels_last(from.rank);
      for (int i = 0; i < from.rank; ++i) {
        if (to.rank != from.rank || to[i] != from[perm[static_cast<size_t>(i)]]) return false;
      }
    }
    return true;
  }

  bool refused(const ir::Node& n) {
    log_.reject(n, "its shape function refuses channels last");
    return false;
  }

  // Somebody needs it channels first.
  bool wanted_first(const ir::Value& v) const {
    if (v.output_uses != 0) return true;
    for (const ir::Use& u : v.uses) {
      if (u.node->op == Op::kShape) continue;
      const bool follows = role(u.node) == LayoutRole::kToLast || (is_last(u.node) && follows_layout(*u.node, u.input));
      if (!follows) return true;
    }
    return false;
  }

  void rewire() {
    std::vector<ir::Node*> old;
    for (ir::Node& n : g_.nodes()) {
      if (is_last(&n)) old.push_back(&n);
    }
    for (ir::Node* n : old) {
      for (ir::Value* v : n->outputs) {
        if (v == nullptr) continue;
        take_place(v, last_out(v));
        const auto it = first_.find(v);
        if (it == first_.end()) continue;
        it->second->name = v->name;
        // Old users that change sides as well read it a last time, and go.
        g_.replace_uses(v, it->second);
      }
    }
    for (const auto& [v, there] : moved_) take_place(v, there);
    for (const auto& [shape, extents] : extents_) {
      extents->name = shape->out()->name;
      g_.replace_uses(shape->out(), extents);
    }
    drop_unused();
  }

  // `last` in place of what other Transposes make of `v`.
  void take_place(const ir::Value* v, ir::Value* last) {
    const std::vector<ir::Use> uses = v->uses;
    for (const ir::Use& u : uses) {
      ir::Value* turned = role(u.node) == LayoutRole::kToLast ? u.node->out() : nullptr;
      if (turned == nullptr || last == nullptr || turned == last) continue;
      if (turned->output_uses != 0) last->name = turned->name;
      g_.replace_uses(turned, last);
    }
  }

  // The old nodes, and Transposes that nobody reads any more: users stand behind what they use.
  void drop_unused() {
    for (auto it = g_.nodes().end(); it != g_.nodes().begin();) {
      ir::Node& n = *--it;
      const bool unused = std::all_of(n.outputs.begin(), n.outputs.end(),
                                      [](const ir::Value* v) { return v == nullptr || v->unused(); });
      if (!unused || (n.outputs.size() != 1 && !is_last(&n))) continue;
      ++it;
      g_.remove(&n);
    }
  }

  ir::Graph& g_;
  const LayoutRates costs_;
  PassLog& log_;
  int64_t total_ = 0;  // ns of all nodes that decide, channels first, and of those that are settled
  std::map<const ir::Node*, LayoutRole> role_;
  std::map<const ir::Node*, ir::Node*> last_;      // nodes that go channels last, and what they become
  std::map<const ir::Value*, ir::Value*> first_;   // their results, moved back
  std::map<const ir::Node*, ir::Value*> extents_;  // what Shapes of their results become
  std::map<const ir::Value*, ir::Value*> moved_;   // values channels first, moved for all who need them last
};

void run_choose_layout(ir::Graph& g, const target::KernelCosts& costs, PassLog& log) { Layouts(g, costs, log).run(); }

}  // namespace

const Pass kChooseLayout = {"choose_layout", nullptr, 0, run_choose_layout};

}  // namespace vireo::passes
