#include "converter/onnx/held.h"

#include <cmath>
#include <set>
#include <utility>

#include "sdk/ops/gemm/gemm_generated.h"

namespace vireo::importer {
namespace {

// The nodes of this graph that its outputs need.
std::set<const ir::Node*> needed_nodes(const ir::Graph& graph) {
  std::set<const ir::Node*> needed;
  std::vector<const ir::Node*> open;
  const auto need = [&](const ir::Value* v) {
    if (v != nullptr && v->producer != nullptr && needed.insert(v->producer).second) open.push_back(v->producer);
  };
  for (const ir::Value* v : graph.outputs()) need(v);
  while (!open.empty()) {
    const ir::Node* n = open.back();
    open.pop_back();
    for (const ir::Value* v : n->inputs) need(v);
  }
  return needed;
}

using Pairs = std::vector<std::pair<Dim, Dim>>;

// The factor of an extent that is factor * symbol^power; 0: it is none.
int64_t factor_of(const ir::DimTable& dims, Dim d) {
  if (!is_symbolic(d)) return 0;
  const ir::DimTable::Polynomial p = dims.polynomial(d);
  return p.size() == 1 && !p.begin()->first.empty() ? p.begin()->second : 0;
}

// Extents that fail a run of `n` unless they are equal.
Pairs equal_extents(const ir::Node& n, ir::DimTable& dims) {
  Pairs out;
  if (n.op != Op::kReshape && n.op != Op::kMatMul && n.op != Op::kGemm) return out;
  const Shape &x = n.in(0)->type.shape, &w = n.in(1)->type.shape;
  if (n.op == Op::kReshape) {
    const Shape& y = n.out()->type.shape;
    out.emplace_back(dims.count(x, 0, x.rank), dims.count(y, 0, y.rank));
  } else if (n.op == Op::kGemm) {
    const auto& attributes = n.attributes<attrs::Gemm>();
    out.emplace_back(x[attributes.trans_a() ? 0 : 1], w[attributes.trans_b() ? 1 : 0]);
  } else if (x.rank > 0 && w.rank > 0) {
    out.emplace_back(x[x.rank - 1], w[w.rank == 1 ? 0 : w.rank - 2]);
    // Matrices broadcast where one extent is 1, which no multiple of a symbol by 2 or more can be.
    for (int i = 3; i <= x.rank && i <= w.rank; ++i) {
      const Dim a = x[x.rank - i], b = w[w.rank - i];
      if ((factor_of(dims, a) > 1 && b > 1) || (factor_of(dims, b) > 1 && a > 1)) out.emplace_back(a, b);
    }
  }
  return out;
}

// Solves factor * s^power = wanted for s; 0 where no whole number does.
int64_t root_of(int64_t wanted, int64_t factor, size_t power) {
  if (factor <= 0 || wanted <= 0 || wanted % factor != 0) return 0;
  const int64_t quotient = wanted / factor;
  const auto root = static_cast<int64_t>(std::llround(std::pow(quotient, 1.0 / static_cast<double>(power))));
  int64_t made = 1;
  for (size_t i = 0; i < power && made <= quotient; ++i) made *= root;
  return made == quotient ? root : 0;
}

}  // namespace

std::vector<HeldExtent> held_extents(const ir::Graph& graph, size_t input_atoms) {
  std::vector<HeldExtent> out;
  std::set<std::string> known;
  ir::DimTable& dims = graph.dims();
  std::set<const ir::Node*> needed;
  for (const ir::Node& n : graph.nodes()) {
    for (auto [elements, wanted] : equal_extents(n, dims)) {
      if (is_symbolic(wanted)) std::swap(elements, wanted);
      if (is_symbolic(wanted) || factor_of(dims, elements) == 0) continue;
      // factor * symbol^power = wanted
      const ir::DimTable::Monomial symbols = dims.polynomial(elements).begin()->first;
      const uint32_t id = symbols.front();
      const ir::DimTable::Atom& atom = dims.atoms()[id];
      if (symbols.back() != id || id >= input_atoms || atom.kind != ExprKind::kSymbol || atom.symbol.data_dependent)
        continue;
      const int64_t extent = root_of(wanted, factor_of(dims, elements), symbols.size());
      if (extent == 0 || atom.interval.lo == atom.interval.hi || extent < atom.interval.lo || extent > atom.interval.hi)
        continue;
      if (needed.empty()) needed = needed_nodes(graph);
      if (needed.count(&n) != 0 && known.insert(atom.symbol.name).second)
        out.push_back({atom.symbol.name, extent, n.def().name, n.name});
    }
  }
  return out;
}

}  // namespace vireo::importer
