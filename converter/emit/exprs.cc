#include "converter/emit/exprs.h"

#include <algorithm>
#include <utility>

#include "sdk/base/checked.h"

namespace vireo::emit {

int64_t ExprWriter::append(ExprKind kind, int64_t a, int64_t b) {
  const auto key = std::make_pair(std::make_pair(static_cast<int>(kind), a), b);
  const auto it = operations_.find(key);
  if (it != operations_.end()) return it->second;
  auto e = std::make_unique<fb::ExprT>();
  e->kind = static_cast<fb::ExprKind>(kind);
  e->a = a;
  e->b = b;
  intervals_.push_back(bound_of(kind, bounds(a), bounds(b)));
  const Span<const Interval> typical(typical_.data(), typical_.size());
  typical_.push_back(bound_of(kind, bound_of(a, typical), bound_of(b, typical)));
  exprs_.push_back(std::move(e));
  return operations_[key] = handle_of(static_cast<uint32_t>(exprs_.size() - 1));
}

int64_t ExprWriter::write_atom(uint32_t id) {
  const auto it = atoms_.find(id);
  if (it != atoms_.end()) return it->second;
  const ir::DimTable::Atom& atom = dims_.atoms()[id];
  if (atom.kind != ExprKind::kSymbol) {
    const int64_t a = write(atom.a), b = write(atom.b);
    return atoms_[id] = append(atom.kind, a, b);
  }
  auto e = std::make_unique<fb::ExprT>();
  e->kind = fb::ExprKind::Symbol;
  e->name = atom.symbol.name;
  e->lo = atom.symbol.lo;
  e->hi = atom.symbol.hi;
  e->data_dependent = atom.symbol.data_dependent;
  Interval range{e->lo, e->hi < 0 ? INT64_MAX : e->hi};
  if (e->data_dependent) {
    e->a = write(atom.symbol.upper);
    range.hi = bounds(e->a).hi;
  }
  intervals_.push_back(range);
  if (range.open()) range.hi = std::max(range.lo, kTypicalExtent);
  typical_.push_back(range);
  exprs_.push_back(std::move(e));
  return atoms_[id] = handle_of(static_cast<uint32_t>(exprs_.size() - 1));
}

int64_t ExprWriter::write(Dim d) {
  if (!is_symbolic(d)) return d;
  const auto it = written_.find(d);
  if (it != written_.end()) return it->second;
  // Positive terms first, so that a sum does not dip below its value on the way: interval arithmetic does not mind,
  // readers do.
  int64_t sum = 0;
  bool any = false;
  const ir::DimTable::Polynomial p = dims_.polynomial(d);
  for (const bool negative : {false, true}) {
    for (const auto& [m, c] : p) {
      if ((c < 0) != negative) continue;
      const int64_t factor = negative ? -c : c;
      int64_t term = factor;
      bool first = factor == 1 && !m.empty();
      for (const uint32_t atom : m) {
        const int64_t a = write_atom(atom);
        term = first ? a : append(ExprKind::kMul, term, a);
        first = false;
      }
      if (!any && !negative) {
        sum = term;
      } else {
        sum = append(negative ? ExprKind::kSub : ExprKind::kAdd, sum, term);
      }
      any = true;
    }
  }
  return written_[d] = sum;
}

namespace {

int64_t bytes_within(TensorType t, Span<const Interval> intervals) {
  for (int i = 0; i < t.shape.rank; ++i) {
    const Interval range = bound_of(t.shape[i], intervals);
    if (range.open()) return -1;
    t.shape[i] = range.hi < 0 ? 0 : range.hi;
  }
  return tensor_bytes(t);
}

}  // namespace

int64_t ExprWriter::bytes_at_most(const TensorType& written) const {
  return bytes_within(written, {intervals_.data(), intervals_.size()});
}

int64_t ExprWriter::typical_bytes(const TensorType& written) const {
  return bytes_within(written, {typical_.data(), typical_.size()});
}

}  // namespace vireo::emit
