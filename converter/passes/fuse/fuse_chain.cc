// Elementwise operators in a row become one composite, which a device runs block by block or in registers; so does a
// reduction of what they make over the last axes.
// Before   y = f(g(a, b), h(a, c)), each of one shape                  After  chain[g, h, f](a, b, c)
//          y = ReduceSum(f(a), last axes)                                     chain[f, ReduceSum](a)
// Fires    at least two; float32, or float16 without a reduction; every value between has the result's type and is used
// within the chain alone.
//          Operands may broadcast; numbers go into the body. At most 24 operators and 15 operands. The reduction is a
//          sum, mean, product, minimum, maximum, L1, L2 or sum of squares, with constant axes up to the last one.
// Cost     each value between costs a write and a read of a whole tensor less. Nothing is computed twice: what other
//          nodes take as well stays outside. Two to four operators against their parts (chain_bench, one thread,
//          AVX-512): 1.4 times faster at 16384 elements, 1.9 to 3.0 from 262144 on (tanh and sigmoid: 1.2 and 1.3),
//          even at 1024, 0.7 of the speed at 64. An operand that is repeated has to be written out where its rows are
//          short: 0.4 to 0.9 of the speed at rows of 49 to 384. So: not below 1024 elements, nor with rows below 1024.
//          A reduction spares writing and reading what it reduces. chain_bench, rows of 2 to 65536, one step and three:
//          1.3 to 3 times faster at 1 M elements, 1.1 to 2.3 at 262144, 1.0 to 1.8 at 65536 and 16384, 0.7 to 1.0 at
//          4096, 0.4 to 0.6 at 64; rows of 33 to 63 with one step: 0.9 up to 131072, which is where their sums read
//          what was just written across vectors. So: not below 16384, and 131072 for such rows. All operands of a chain
//          live side by side until its end, while the parts one by one let theirs go: what would make the arena larger
//          stays outside.
// Numerics none of the steps: the body is the meaning, in the same order of operations; of float16, values between
//          them need not be rounded. A sum may be taken in another order: kernels/chain/chain.h has its bound.
//          Idempotent: bodies are not entered.
// Design   The chain IR is the composite's body, ordinary operators: the CPU kernel, a GPU generator and the
//          interpreter read the same thing, and a runtime that knows none of it runs the body. The other design, a
//          table of instructions in an attribute, would be smaller in the file (8 bytes an instruction instead of some
//          60) and would need a verifier, an interpreter and an operator number of its own. What stands behind a
//          reduction and takes its result starts a chain of its own: DESIGN.md says why.
#include "converter/passes/fuse/fuse_chain.h"

#include <algorithm>
#include <map>

#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/match.h"
#include "sdk/base/checked.h"
#include "sdk/composites/function.h"
#include "sdk/ops/reduce/reduce_generated.h"

namespace vireo::passes {
namespace {

constexpr size_t kMaxSteps = 24;
constexpr size_t kMaxOperands = 15;

bool is_number_of(const ir::Value* v) {
  double number = 0;
  return is_scalar(v, &number);
}

bool is_elementwise(const ir::Node& n) {
  if (n.outputs.size() != 1 || n.out() == nullptr) return false;
  const DType type = n.out()->type.dtype;
  if (type != DType::kF32 && type != DType::kF16) return false;
  switch (n.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
    case Op::kMax:
    case Op::kPow:
    case Op::kPRelu:
      return n.inputs.size() == 2 && n.in(0)->type.dtype == type && n.in(1)->type.dtype == type;
    case Op::kClip:
      return (n.in(1) == nullptr || is_number_of(n.in(1))) && (n.in(2) == nullptr || is_number_of(n.in(2)));
    default:
      return (composites::function_uses(n.op) & composites::kChainStep) != 0;
  }
}

bool is_reduction(const ir::Node& n) {
  if (n.outputs.size() != 1 || n.out() == nullptr || n.out()->type.dtype != DType::kF32 || n.in(0) == nullptr)
    return false;
  if (n.op == Op::kReduceNorm) {
    const attrs::Norm norm = n.attributes<attrs::ReduceNorm>().norm();
    return norm == attrs::Norm::L1 || norm == attrs::Norm::L2 || norm == attrs::Norm::SumSquare;
  }
  return n.op == Op::kReduceSum || n.op == Op::kReduceMean || n.op == Op::kReduceMax || n.op == Op::kReduceMin ||
         n.op == Op::kReduceProd;
}

constexpr int64_t kFewest = 1024;          // elements of a result, and of a row of what is repeated
constexpr int64_t kFewestReduced = 16384;  // elements that a reduction takes
constexpr int64_t kMany = 131072;          // the same for rows of 33 to 63

// Extents from `first` on, multiplied: kMany at most, which open ones count as.
int64_t elements(const Shape& s, int first) {
  int64_t n = 1;
  for (int i = first; i < s.rank; ++i) {
    if (is_symbolic(s[i]) || !checked_mul(n, s[i], &n)) n = kMany;
    n = std::min(n, kMany);
  }
  return n;
}

// Why a reduction ends no chain; null: it does.
const char* other_reduction(const ir::Node& n) {
  const int rank = n.in(0)->type.shape.rank;
  const bool noop = n.op == Op::kReduceNorm ? n.attributes<attrs::ReduceNorm>().noop_with_empty_axes()
                                            : n.attributes<attrs::Reduce>().noop_with_empty_axes();
  std::vector<int64_t> axes;
  if (n.in(1) != nullptr && (n.in(1)->constant == nullptr || !known_ints(n.in(1), &axes)))
    return "the axes that it reduces are computed";
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty() && !noop);
  for (const int64_t a : axes) {
    const int axis = normalize_axis(a, rank);
    if (axis < 0) return "it reduces an axis that is not there";
    reduced[static_cast<size_t>(axis)] = true;
  }
  if (rank == 0 || !reduced.back() || !std::is_sorted(reduced.begin(), reduced.end()))
    return "it reduces other axes than the last ones";
  const Shape& whole = n.in(0)->type.shape;
  const auto kept = std::find(reduced.begin(), reduced.end(), true) - reduced.begin();
  const int64_t row = elements(whole, static_cast<int>(kept));
  const int64_t fewest = row > 32 && row < 64 ? kMany : kFewestReduced;
  return elements(whole, 0) < fewest ? "what it reduces is too small" : nullptr;
}

// Along the last axes of `y` the operand lies as y does, or is one number, for long enough.
bool has_long_rows(const Shape& own, const Shape& y) {
  const auto extent = [&](int i) { return i + own.rank < y.rank ? 1 : own[i + own.rank - y.rank]; };
  int same = y.rank, one = y.rank;
  while (same > 0 && extent(same - 1) == y[same - 1]) --same;
  while (one > 0 && extent(one - 1) == 1) --one;
  return same == 0 || one == 0 || elements(y, same < one ? same : one) >= kFewest;
}

const char* too_small(const ir::Node& n) {
  const Shape& y = n.out()->type.shape;
  if (elements(y, 0) < kFewest) return "its result is too small";
  for (const ir::Value* v : n.inputs) {
    if (v != nullptr && !has_long_rows(v->type.shape, y)) return "an operand is repeated in short rows";
  }
  return nullptr;
}

// Numbers and axes are read with the body: they are part of the program.
bool into_body(const ir::Node& n, size_t input) {
  return is_number_of(n.inputs[input]) || (is_reduction(n) && input == 1);
}

struct Refusal {
  const ir::Node* node;
  const char* reason;
};

class Chain {
 public:
  // `type`: of what every elementwise operator in it makes.
  Chain(ir::Node* end, const TensorType& type, const std::map<const ir::Node*, size_t>& places)
      : reduces_(is_reduction(*end)), type_(type), places_(places) {
    nodes_.push_back(end);
  }

  // Takes what makes its operands, as far as it goes. `refusals` get what stays outside though it looks like a part.
  // One more operator may cost a tensor that the next one saves, so memory is asked for at every length, and the
  // longest chain that keeps no more than its parts do is taken.
  void grow(std::vector<Refusal>& refusals) {
    size_t modest = 1;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const ir::Value* v : nodes_[i]->inputs) {
        ir::Node* n = v == nullptr ? nullptr : v->producer;
        if (n == nullptr || holds(n) || !is_elementwise(*n) || v->type != type_) continue;
        const char* refused = v->output_uses != 0 ? "its result is an output" : too_small(*n);
        for (const ir::Use& u : v->uses) {
          if (!holds(u.node)) refused = "its result is used outside the chain as well";
        }
        if (refused == nullptr && nodes_.size() == kMaxSteps) refused = "the chain has as many operators as it may";
        nodes_.push_back(n);
        if (refused == nullptr && operands().size() > kMaxOperands)
          refused = "the chain has as many operands as it may";
        if (refused == nullptr) {
          if (tensors_as_one() <= tensors_apart()) modest = nodes_.size();
          continue;
        }
        nodes_.pop_back();
        // A later member may be the use that was missing; then it is asked again.
        waiting_[n] = refused;
      }
      for (auto it = waiting_.begin(); it != waiting_.end();)
        it = holds(it->first) ? waiting_.erase(it) : std::next(it);
    }
    for (const auto& [n, refused] : waiting_) refusals.push_back({n, refused});
    if (modest == nodes_.size()) return;
    refusals.push_back({nodes_[modest], "the chain would keep more tensors in memory than its parts"});
    nodes_.resize(modest);
  }

  std::vector<ir::Node*> in_order() const {
    std::vector<ir::Node*> out = nodes_;
    std::sort(out.begin(), out.end(),
              [&](const ir::Node* a, const ir::Node* b) { return places_.at(a) < places_.at(b); });
    return out;
  }

 private:
  bool holds(const ir::Node* n) const { return std::find(nodes_.begin(), nodes_.end(), n) != nodes_.end(); }
  std::set<const ir::Value*> operands() const {
    std::set<const ir::Value*> seen;
    for (const ir::Node* n : nodes_) {
      for (size_t i = 0; i < (is_reduction(*n) ? 1 : n->inputs.size()); ++i) {
        const ir::Value* v = n->inputs[i];
        if (v != nullptr && (v->producer == nullptr || !holds(v->producer))) seen.insert(v);
      }
    }
    return seen;
  }

  // Operands of the result's size that lie in the arena.
  std::set<const ir::Value*> tensors() const {
    std::set<const ir::Value*> out;
    for (const ir::Value* v : operands()) {
      if (v->constant == nullptr && v->type == type_) out.insert(v);
    }
    return out;
  }

  // Does nobody need `v` when all of the chain but `left` has run? Others that stand before the chain have run as well.
  bool dies_with(const ir::Value* v, const std::set<const ir::Node*>& left) const {
    const size_t first = places_.at(in_order().front());
    const auto done = [&](const ir::Use& u) {
      if (holds(u.node)) return left.count(u.node) == 0;
      const auto place = places_.find(u.node);  // none: a chain that was made just now, behind this one
      return place != places_.end() && place->second < first;
    };
    return v->producer != nullptr && v->output_uses == 0 && std::all_of(v->uses.begin(), v->uses.end(), done);
  }

  static bool takes_over(const ir::Node& n, const ir::Value* v) {
    const uint32_t inplace = find_op(n.op)->def->inplace;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == v && (inplace >> i & 1u) == 0) return false;
    }
    return true;
  }

  // Tensors of the result's size (of what is reduced, where that is the end) that are alive at once when the chain is
  // one node: composite_inplace() says which operand the result may replace. What a reduction reads is no result: the
  // body has memory of its own for it, because it must be able to run by itself.
  size_t tensors_as_one() const {
    const std::vector<ir::Node*> order = in_order();
    const std::set<const ir::Value*> operands = tensors();
    const std::set<const ir::Node*> left(order.begin() + 1, order.end());
    const bool replaces = std::any_of(operands.begin(), operands.end(), [&](const ir::Value* v) {
      return dies_with(v, left) && takes_over(*order[0], v);
    });
    return operands.size() + (replaces && !reduces_ ? 0 : 1);
  }

  // The same when the parts run one by one. What the chain alone needs is made when a part needs it.
  size_t tensors_apart() const {
    const std::vector<ir::Node*> order = in_order();
    std::set<const ir::Value*> alive;
    for (const ir::Value* v : tensors()) {
      if (!dies_with(v, {})) alive.insert(v);
    }
    std::set<const ir::Node*> left(order.begin(), order.end());
    size_t most = 0;
    for (const ir::Node* n : order) {
      left.erase(n);
      bool replaces = false;
      std::vector<const ir::Value*> dying;
      for (const ir::Value* v : n->inputs) {
        if (v == nullptr || v->constant != nullptr || v->type != type_) continue;
        alive.insert(v);
        if (!dies_with(v, left)) continue;
        dying.push_back(v);
        replaces = replaces || takes_over(*n, v);
      }
      most = std::max(most, alive.size() + (replaces || is_reduction(*n) ? 0 : 1));
      for (const ir::Value* v : dying) alive.erase(v);
      alive.insert(n->out());
    }
    return most;
  }

  const bool reduces_;  // its end does
  const TensorType type_;
  const std::map<const ir::Node*, size_t>& places_;
  std::vector<ir::Node*> nodes_;
  std::map<const ir::Node*, const char*> waiting_;
};

// One round over the graph: how many chains it made.
int make_chains(ir::Graph& g, std::vector<Refusal>& refusals) {
  int made = 0;
  std::map<const ir::Node*, size_t> places;
  std::vector<ir::Node*> ends;
  for (ir::Node& n : g.nodes()) {
    places[&n] = places.size();
    if (is_elementwise(n) || is_reduction(n)) ends.push_back(&n);
  }
  std::set<const ir::Node*> taken;
  // From the last to the first: a chain is found by its end.
  for (size_t i = ends.size(); i-- > 0;) {
    if (taken.count(ends[i]) != 0) continue;
    if (const char* refused = is_reduction(*ends[i]) ? other_reduction(*ends[i]) : too_small(*ends[i])) {
      // One alone is no chain: it is nothing to hear of.
      bool near = false;
      for (const ir::Value* v : ends[i]->inputs)
        near = near || (v != nullptr && v->producer != nullptr && is_elementwise(*v->producer));
      if (near) refusals.push_back({ends[i], refused});
      continue;
    }
    const ir::Value* whole = is_reduction(*ends[i]) ? ends[i]->in(0) : ends[i]->out();
    if (whole == nullptr) continue;
    Chain chain(ends[i], whole->type, places);
    chain.grow(refusals);
    const std::vector<ir::Node*> nodes = chain.in_order();
    if (nodes.size() < 2) continue;
    taken.insert(nodes.begin(), nodes.end());
    make_composite(g, nodes, composites::kChain, into_body);
    ++made;
  }
  return made;
}

// What a chain keeps in memory depends on the chains beside it, so rounds follow until one makes none: each chain
// leaves fewer nodes.
void run_fuse_chain(ir::Graph& g, PassLog& log) {
  std::vector<Refusal> refusals;
  while (const int made = make_chains(g, refusals)) {
    for (int i = 0; i < made; ++i) log.changed();
    refusals.clear();
  }
  for (const Refusal& r : refusals) log.reject(*r.node, r.reason);
}

}  // namespace

const Pass kFuseChain = {"fuse_chain", run_fuse_chain};

}  // namespace vireo::passes
