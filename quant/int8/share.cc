#include "quant/int8/share.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sdk/ops/gemm/gemm_generated.h"

namespace vireo::quant {
namespace {

// Extents as numbers, where those of the inputs are known.
class Extents {
 public:
  Extents(const ir::Graph& graph, const std::vector<HostTensor>& inputs) : dims_(graph.dims()) {
    for (size_t i = 0; i < graph.inputs().size() && i < inputs.size(); ++i) {
      const Shape& shape = graph.inputs()[i]->type.shape;
      for (int d = 0; d < shape.rank && static_cast<size_t>(d) < inputs[i].dims.size(); ++d) {
        uint32_t atom = 0;
        if (dims_.is_symbol(shape[d], &atom))
          known_[atom] = static_cast<double>(inputs[i].dims[static_cast<size_t>(d)]);
      }
    }
  }

  double of(Dim d) const {
    if (!is_symbolic(d)) return static_cast<double>(d);
    double sum = 0;
    for (const auto& [monomial, factor] : dims_.polynomial(d)) {
      double term = static_cast<double>(factor);
      for (const uint32_t atom : monomial) term *= of_atom(atom);
      sum += term;
    }
    return sum;
  }
  // The extent at `axis`, which counts from the end if it is negative; 1 if the value has no such axis.
  double of(const ir::Value* v, int axis) const {
    const Shape& s = v->type.shape;
    const int i = axis < 0 ? axis + s.rank : axis;
    return i < 0 || i >= s.rank ? 1 : of(s[i]);
  }
  double count(const ir::Value* v) const {
    double product = 1;
    for (int d = 0; v != nullptr && d < v->type.shape.rank; ++d) product *= of(v->type.shape[d]);
    return v == nullptr ? 0 : product;
  }

 private:
  double of_atom(uint32_t id) const {
    const ir::DimTable::Atom& atom = dims_.atoms()[id];
    switch (atom.kind) {
      case ExprKind::kFloorDiv:
        return std::floor(of(atom.a) / std::max(of(atom.b), 1.0));
      case ExprKind::kMin:
        return std::min(of(atom.a), of(atom.b));
      case ExprKind::kMax:
        return std::max(of(atom.a), of(atom.b));
      default:
        break;
    }
    const auto found = known_.find(id);
    if (found != known_.end()) return found->second;
    // Nobody knows it before a run: the least that it may be.
    return atom.symbol.data_dependent ? of(atom.symbol.upper)
                                      : static_cast<double>(std::max<int64_t>(atom.symbol.lo, 1));
  }

  const ir::DimTable& dims_;
  std::map<uint32_t, double> known_;  // by atom
};

double multiply_adds(const ir::Node& n, const Extents& e) {
  switch (n.op) {
    case Op::kConv:
      return e.count(n.out()) * e.count(n.in(1)) / std::max(e.of(n.in(1), 0), 1.0);
    case Op::kConvTranspose:
      return e.count(n.in(0)) * e.count(n.in(1)) / std::max(e.of(n.in(1), 0), 1.0);
    case Op::kGemm:
      return e.count(n.out()) * e.of(n.in(0), n.attributes<attrs::Gemm>().trans_a() ? 0 : -1);
    case Op::kMatMul:
      return e.count(n.out()) * e.of(n.in(0), -1);
    case Op::kAttention:  // scores, and values by them
      return (e.count(n.in(0)) + e.count(n.out())) * e.of(n.in(1), -2);
    case Op::kLSTM:
    case Op::kGRU:
    case Op::kRNN:
      return (e.count(n.in(1)) + e.count(n.in(2))) * e.of(n.in(0), 0) * e.of(n.in(0), 1);
    default:
      return 0;
  }
}

}  // namespace

MultiplyAdds count_multiply_adds(const ir::Graph& graph, const Plan& plan, const std::vector<HostTensor>& inputs) {
  const Extents extents(graph, inputs);
  std::set<const ir::Node*> integer;
  for (const Layer& l : plan.layers) integer.insert(l.node);
  for (const Pair& p : plan.pairs) integer.insert(p.node);
  for (const Cell& c : plan.cells) integer.insert(c.node);
  MultiplyAdds sum;
  for (const ir::Node& n : graph.nodes()) {
    const double of_node = multiply_adds(n, extents);
    sum.all += of_node;
    if (integer.count(&n) != 0) sum.integer += of_node;
  }
  return sum;
}

}  // namespace vireo::quant
