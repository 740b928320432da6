#include "converter/passes/layout/likely_extents.h"

#include <algorithm>
#include <cmath>

namespace vireo::passes {
namespace {

// ImageNet's edge, between what classifiers of small pictures and detectors take; a sentence, or a second of features.
constexpr double kEdge = 224, kLength = 128;
constexpr double kGreyEdge = 48;  // characters, and features of sounds
constexpr double kOther = 16;     // what no input has
constexpr double kNearBound = 4;  // times the usual extent

double likely(const Shape& s, int axis) {
  if (axis == 0) return 1;
  if (s.rank < 4) return kLength;
  return s[1] == 1 || s[s.rank - 1] == 1 ? kGreyEdge : kEdge;
}

}  // namespace

LikelyExtents::LikelyExtents(const ir::Graph& g) : dims_(g.dims()) {
  for (const ir::Value* v : g.inputs()) {
    const Shape& s = v->type.shape;
    for (int i = 0; i < s.rank; ++i) {
      uint32_t atom = 0;
      if (is_symbolic(s[i]) && dims_.is_symbol(s[i], &atom)) symbols_.emplace(atom, likely(s, i));
    }
  }
}

double LikelyExtents::operator()(Dim d) const { return is_symbolic(d) ? std::max(value(d), 1.0) : value(d); }

bool LikelyExtents::is_expression(Dim d) const {
  uint32_t atom = 0;
  return is_symbolic(d) && !dims_.is_symbol(d, &atom);
}

double LikelyExtents::of_atom(uint32_t id) const {
  const ir::DimTable::Atom& atom = dims_.atoms()[id];
  switch (atom.kind) {
    case ExprKind::kFloorDiv: {
      const double b = value(atom.b);
      return b == 0 ? 0 : std::floor(value(atom.a) / b);
    }
    case ExprKind::kMin:
      return std::min(value(atom.a), value(atom.b));
    case ExprKind::kMax:
      return std::max(value(atom.a), value(atom.b));
    default: {
      const auto it = symbols_.find(id);
      if (it == symbols_.end() && atom.symbol.data_dependent) return value(atom.symbol.upper);
      const double usual = it != symbols_.end() ? it->second : kOther;
      // Who gives a bound runs near it, if it is no bound for any size.
      const auto most = static_cast<double>(atom.interval.hi);
      return std::max(atom.interval.open() ? usual : std::min(most, usual * kNearBound),
                      static_cast<double>(atom.interval.lo));
    }
  }
}

double LikelyExtents::value(Dim d) const {
  if (!is_symbolic(d)) return static_cast<double>(d);
  const auto it = known_.find(d);
  if (it != known_.end()) return it->second;
  double sum = 0;
  for (const auto& [factors, times] : dims_.polynomial(d)) {
    double term = static_cast<double>(times);
    for (const uint32_t atom : factors) term *= of_atom(atom);
    sum += term;
  }
  return known_[d] = sum;
}

}  // namespace vireo::passes
