#include "converter/ir/dim_table.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "sdk/base/checked.h"

namespace vireo::ir {
namespace {

using Monomial = DimTable::Monomial;
using Polynomial = DimTable::Polynomial;

// A real model stays far below. Products of sums multiply their terms, squares double the degree: a small file could
// ask for more of either than there is memory.
constexpr size_t kMaxTerms = 2048;
constexpr size_t kMaxDegree = 64;

bool add_term(Polynomial* p, const Monomial& m, int64_t c) {
  int64_t& slot = (*p)[m];
  if (!checked_add(slot, c, &slot)) return false;
  if (slot == 0) p->erase(m);
  return true;
}

// p - c m.
bool subtract_term(Polynomial* p, const Monomial& m, int64_t c) {
  int64_t& slot = (*p)[m];
  if (!checked_sub(slot, c, &slot)) return false;
  if (slot == 0) p->erase(m);
  return true;
}

bool constant_of(const Polynomial& p, int64_t* c) {
  if (p.empty()) return *c = 0, true;
  if (p.size() > 1 || !p.begin()->first.empty()) return false;
  return *c = p.begin()->second, true;
}

// b / a for monomials: the atoms that remain, or false when a does not divide b.
bool divide_monomial(const Monomial& b, const Monomial& a, Monomial* rest) {
  rest->clear();
  size_t j = 0;
  for (const uint32_t atom : b) {
    if (j < a.size() && a[j] == atom) {
      ++j;
    } else {
      rest->push_back(atom);
    }
  }
  return j == a.size();
}

Monomial multiply(const Monomial& a, const Monomial& b) {
  Monomial out;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

// Graded order, so that leading terms of a product are products of leading terms.
bool leads(const Monomial& a, const Monomial& b) { return a.size() != b.size() ? a.size() > b.size() : a < b; }
Polynomial::const_iterator leading(const Polynomial& p) {
  auto best = p.begin();
  for (auto it = p.begin(); it != p.end(); ++it) {
    if (leads(it->first, best->first)) best = it;
  }
  return best;
}

}  // namespace

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

uint32_t DimTable::new_symbol(Symbol s, int depth) {
  Atom atom;
  atom.depth = depth;
  const Interval up = s.data_dependent ? interval(s.upper) : Interval{};
  atom.interval = {s.lo, s.data_dependent ? up.hi : (s.hi < 0 ? INT64_MAX : s.hi)};
  symbols_[s.name] = static_cast<uint32_t>(atoms_.size());
  atom.symbol = std::move(s);
  atoms_.push_back(std::move(atom));
  return static_cast<uint32_t>(atoms_.size() - 1);
}

Dim DimTable::symbol(const std::string& name) {
  const auto it = symbols_.find(name);
  uint32_t atom = 0;
  if (it != symbols_.end()) {
    atom = it->second;
  } else {
    Symbol s;
    s.name = name;
    atom = new_symbol(std::move(s));
  }
  return intern({{{atom}, 1}});
}

bool DimTable::set_bounds(const std::string& name, int64_t lo, int64_t hi) {
  const auto it = symbols_.find(name);
  if (it == symbols_.end()) return false;
  Atom& atom = atoms_[it->second];
  atom.symbol.lo = lo;
  atom.symbol.hi = hi;
  atom.interval = {lo, hi < 0 ? INT64_MAX : hi};
  intervals_[handle_id(symbol(name))] = atom.interval;
  return true;
}

// Back from a sum of one atom and a number, or a quotient of such by a number, to the symbol.
bool DimTable::narrow(Dim d, int64_t lo, int64_t hi, size_t atoms) {
  if (!is_symbolic(d)) return false;
  int64_t factor = 0, rest = 0;
  uint32_t id = 0;
  for (const auto& [m, c] : *polynomials_[handle_id(d)]) {
    if (m.size() > 1 || (m.size() == 1 && factor != 0)) return false;
    (m.empty() ? rest : factor) = c;
    if (!m.empty()) id = m[0];
  }
  // factor * atom + rest in [lo, hi], and none of these numbers near the end of what can be counted.
  constexpr int64_t kFar = int64_t{1} << 40;
  if (factor <= 0 || factor > kFar || std::abs(rest) > kFar || std::abs(lo) > kFar) return false;
  const int64_t low = -ir::floor_div(rest - lo, factor);
  const int64_t high = hi == INT64_MAX ? hi : ir::floor_div(hi - rest, factor);
  Atom& atom = atoms_[id];
  if (atom.kind == ExprKind::kFloorDiv && !is_symbolic(atom.b) && atom.b > 0 && atom.b < kFar && low < kFar) {
    if (!narrow(atom.a, low * atom.b, high > kFar ? INT64_MAX : high * atom.b + atom.b - 1, atoms)) return false;
    atoms_[id].interval = bound_of(ExprKind::kFloorDiv, interval(atoms_[id].a), interval(atoms_[id].b));
    intervals_[handle_id(d)] = interval(*polynomials_[handle_id(d)]);
    return true;
  }
  if (atom.kind != ExprKind::kSymbol || id >= atoms) return false;
  const int64_t least = std::max(atom.interval.lo, low), most = std::min(atom.interval.hi, high);
  if (least > most) return false;
  atom.interval = {least, most};
  atom.symbol.lo = least;
  atom.symbol.hi = most == INT64_MAX ? -1 : most;
  // Other expressions keep the wider intervals that they had: those hold as well.
  intervals_[handle_id(intern({{{id}, 1}}))] = atom.interval;
  intervals_[handle_id(d)] = interval(*polynomials_[handle_id(d)]);
  return true;
}

std::string DimTable::free_name(const std::string& stem) {
  if (symbols_.count(stem) == 0) return stem;
  int& i = stems_[stem];  // numbers before it are taken: names never become free
  std::string name;
  do {
    name = stem + "." + std::to_string(++i);
  } while (symbols_.count(name) != 0);
  return name;
}

Dim DimTable::fresh(const std::string& stem) { return symbol(free_name(stem)); }

Dim DimTable::fresh_bounded(const std::string& stem, Dim upper) {
  int depth = 0;
  if (!find_depth({upper}, &depth)) return kTooLarge;
  Symbol s;
  s.name = free_name(stem);
  s.data_dependent = true;
  s.upper = upper;
  return intern({{{new_symbol(std::move(s), depth)}, 1}});
}

Polynomial DimTable::polynomial(Dim d) const {
  if (is_symbolic(d)) return *polynomials_[handle_id(d)];
  return d == 0 ? Polynomial{} : Polynomial{{{}, d}};
}

Dim DimTable::intern(Polynomial p) {
  int64_t c = 0;
  if (constant_of(p, &c)) return is_symbolic(c) ? kTooSmall : c;
  const auto [it, fresh] = ids_.emplace(std::move(p), static_cast<uint32_t>(polynomials_.size()));
  if (fresh) {
    polynomials_.push_back(&it->first);
    intervals_.push_back(interval(it->first));
  }
  return handle_of(it->second);
}

// Numbers are no terms.
bool DimTable::spend_terms(Dim a, Dim b) const {
  if (!is_symbolic(a) && !is_symbolic(b)) return true;
  const auto terms = [&](Dim d) { return is_symbolic(d) ? polynomials_[handle_id(d)]->size() : 1; };
  return budget_.spend(Budget::kTerms, static_cast<int64_t>(terms(a) + terms(b)));
}

std::string DimTable::limit_met() const {
  if (too_deep_) return std::to_string(kMostDepth) + " divisions, minimums, maximums and bounds inside each other";
  return budget_.exceeded(Budget::kTerms) ? budget_.limit(Budget::kTerms) : "";
}

bool DimTable::is_symbol(Dim d, uint32_t* atom) const {
  if (!is_symbolic(d)) return false;
  const Polynomial& p = *polynomials_[handle_id(d)];
  if (p.size() != 1 || p.begin()->first.size() != 1 || p.begin()->second != 1) return false;
  *atom = p.begin()->first[0];
  return atoms_[*atom].kind == ExprKind::kSymbol;
}

Dim DimTable::add(Dim a, Dim b) {
  if (a == kTooLarge || b == kTooLarge || !spend_terms(a, b)) return kTooLarge;
  Polynomial p = polynomial(a);
  for (const auto& [m, c] : polynomial(b)) {
    if (!add_term(&p, m, c)) return c < 0 ? kTooSmall : kTooLarge;
    if (p.size() > kMaxTerms) return kTooLarge;
  }
  return intern(std::move(p));
}

// Not the sum with (-1) b: the negative of a number near 2^63 would be a handle.
Dim DimTable::sub(Dim a, Dim b) {
  if ((a == kTooLarge && b != a) || !spend_terms(a, b)) return kTooLarge;
  Polynomial p = polynomial(a);
  for (const auto& [m, c] : polynomial(b)) {
    if (!subtract_term(&p, m, c)) return c > 0 ? kTooSmall : kTooLarge;
    if (p.size() > kMaxTerms) return kTooLarge;
  }
  return intern(std::move(p));
}

Dim DimTable::mul(Dim a, Dim b) {
  if (a == kTooLarge || b == kTooLarge) {
    const Dim other = a == kTooLarge ? b : a;
    return other == 0 ? 0 : is_symbolic(other) || other > 0 ? kTooLarge : kTooSmall;
  }
  Polynomial p;
  const Polynomial pa = polynomial(a), pb = polynomial(b);
  const bool numbers = !is_symbolic(a) && !is_symbolic(b);
  if (!numbers && !budget_.spend(Budget::kTerms, static_cast<int64_t>(pa.size() * pb.size()))) return kTooLarge;
  for (const auto& [ma, ca] : pa) {
    for (const auto& [mb, cb] : pb) {
      int64_t c = 0;
      if (ma.size() + mb.size() > kMaxDegree || !checked_mul(ca, cb, &c) || !add_term(&p, multiply(ma, mb), c) ||
          p.size() > kMaxTerms)
        return kTooLarge;
    }
  }
  return intern(std::move(p));
}

Dim DimTable::count(const Shape& s, int begin, int end) {
  Dim n = 1;
  for (int i = begin; i < end; ++i) n = mul(n, s[i]);
  return n;
}

// Long division by leading terms: true when nothing remains.
bool DimTable::divide(const Polynomial& a, const Polynomial& b, Polynomial* quotient) const {
  Polynomial rest = a;
  quotient->clear();
  const auto lead = leading(b);
  for (int steps = 0; !rest.empty(); ++steps) {
    const auto top = leading(rest);
    Monomial m;
    if (steps > 64 || !divide_monomial(top->first, lead->first, &m) || top->second == INT64_MIN ||
        top->second % lead->second != 0)
      return false;
    const int64_t c = top->second / lead->second;
    if (!budget_.spend(Budget::kTerms, static_cast<int64_t>(rest.size() + b.size()))) return false;
    if (!add_term(quotient, m, c)) return false;
    for (const auto& [mb, cb] : b) {
      int64_t term = 0;
      if (!checked_mul(c, cb, &term) || term == INT64_MIN || !add_term(&rest, multiply(m, mb), -term)) return false;
    }
  }
  return true;
}

Dim DimTable::floor_div(Dim a, Dim b) {
  if (!is_symbolic(a) && !is_symbolic(b)) return ir::floor_div(a, b);
  if (b == 0) return 0;
  if (b == 1) return a;
  if (b == -1) return mul(a, -1);
  if (a == 0) return 0;
  if (!spend_terms(a, b)) return kTooLarge;
  const Polynomial pa = polynomial(a), pb = polynomial(b);
  Polynomial q;
  // Exact: (x * b) / b = x. Where b is 0 the true result is 0 and not x; such a tensor has no elements either way.
  if (divide(pa, pb, &q)) return intern(std::move(q));
  int64_t n = 0;
  if (constant_of(pb, &n) && n > 0) {
    // floor((n q + r) / n) = q + floor(r / n).
    Polynomial r;
    q.clear();
    for (const auto& [m, c] : pa) {
      const int64_t whole = ir::floor_div(c, n);
      // Coefficients of symbols stay as they are unless they divide, so that (3 N) / 2 is not split into N + N / 2; the
      // constant term is always reduced.
      if (c % n == 0 || m.empty()) {
        if (whole != 0) q[m] = whole;
        if (c != whole * n) r[m] = c - whole * n;
      } else {
        r[m] = c;
      }
    }
    // floor((g x + c) / (g n)) = floor((x + floor(c / g)) / n).
    int64_t g = n;
    for (const auto& [m, c] : r) {
      if (!m.empty()) g = std::gcd(g, c);
    }
    if (g > 1) {
      Polynomial reduced;
      for (const auto& [m, c] : r) {
        const int64_t part = ir::floor_div(c, g);
        if (part != 0) reduced[m] = part;
      }
      r = std::move(reduced);
      n /= g;
    }
    const Dim rest = intern(std::move(r));
    Dim part = 0;
    if (n == 1) {
      part = rest;
    } else if (!is_symbolic(rest)) {
      part = ir::floor_div(rest, n);
    } else {
      const Interval range = interval(rest);
      const bool bounded = range.lo != INT64_MIN && range.hi != INT64_MAX;
      const int64_t low = bounded ? ir::floor_div(range.lo, n) : 0;
      if (bounded && low == ir::floor_div(range.hi, n)) {
        part = low;
      } else {
        // floor(floor(x / a) / n) = floor(x / (a n)).
        const Polynomial& inner = *polynomials_[handle_id(rest)];
        const Atom* atom = inner.size() == 1 && inner.begin()->first.size() == 1 && inner.begin()->second == 1
                               ? &atoms_[inner.begin()->first[0]]
                               : nullptr;
        int64_t both = 0;
        if (atom != nullptr && atom->kind == ExprKind::kFloorDiv && !is_symbolic(atom->b) && atom->b > 0 &&
            checked_mul(atom->b, n, &both)) {
          const Dim x = atom->a;
          part = floor_div(x, both);
        } else {
          part = atom_dim(ExprKind::kFloorDiv, rest, n);
        }
      }
    }
    return add(intern(std::move(q)), part);
  }
  return atom_dim(ExprKind::kFloorDiv, a, b);
}

// d is a minimum or maximum (`kind`) of `x` and something: then max(x, min(x, y)) = min(x, max(x, y)) = x.
bool DimTable::has_operand(Dim d, ExprKind kind, Dim x) const {
  if (!is_symbolic(d)) return false;
  const Polynomial& p = *polynomials_[handle_id(d)];
  if (p.size() != 1 || p.begin()->first.size() != 1 || p.begin()->second != 1) return false;
  const Atom& atom = atoms_[p.begin()->first[0]];
  return atom.kind == kind && (atom.a == x || atom.b == x);
}

// The operands' own intervals come first: "all of them" (INT64_MAX) is above every extent, whatever a difference with
// it would be.
DimTable::Order DimTable::compare(Dim a, Dim b) const {
  const Interval x = interval(a), y = interval(b);
  if (x.hi <= y.lo) return Order::kAtMost;
  if (y.hi <= x.lo) return Order::kAtLeast;
  const Interval d = difference(a, b);
  return d.hi <= 0 ? Order::kAtMost : d.lo >= 0 ? Order::kAtLeast : Order::kOpen;
}

Dim DimTable::min(Dim a, Dim b) {
  const Order order = compare(a, b);
  if (order == Order::kAtMost) return a;
  if (order == Order::kAtLeast) return b;
  if (has_operand(a, ExprKind::kMax, b)) return b;
  if (has_operand(b, ExprKind::kMax, a)) return a;
  return a < b ? atom_dim(ExprKind::kMin, a, b) : atom_dim(ExprKind::kMin, b, a);
}

Dim DimTable::max(Dim a, Dim b) {
  const Order order = compare(a, b);
  if (order == Order::kAtMost) return b;
  if (order == Order::kAtLeast) return a;
  if (has_operand(a, ExprKind::kMin, b)) return b;
  if (has_operand(b, ExprKind::kMin, a)) return a;
  return a < b ? atom_dim(ExprKind::kMax, a, b) : atom_dim(ExprKind::kMax, b, a);
}

bool DimTable::find_depth(std::initializer_list<Dim> operands, int* depth) {
  for (const Dim d : operands) {
    if (!is_symbolic(d)) continue;
    for (const auto& [m, c] : *polynomials_[handle_id(d)]) {
      for (const uint32_t atom : m) *depth = std::max(*depth, atoms_[atom].depth + 1);
    }
  }
  if (*depth <= kMostDepth) return true;
  too_deep_ = true;
  return false;
}

Dim DimTable::atom_dim(ExprKind kind, Dim a, Dim b) {
  const auto key = std::make_pair(std::make_pair(static_cast<int>(kind), a), b);
  const auto it = operations_.find(key);
  if (it != operations_.end()) return intern({{{it->second}, 1}});
  Atom atom;
  atom.kind = kind;
  atom.a = a;
  atom.b = b;
  atom.interval = bound_of(kind, interval(a), interval(b));
  if (!find_depth({a, b}, &atom.depth)) return kTooLarge;
  const uint32_t id = static_cast<uint32_t>(atoms_.size());
  atoms_.push_back(std::move(atom));
  operations_[key] = id;
  return intern({{{id}, 1}});
}

Interval DimTable::interval(const Polynomial& p) const {
  Interval sum{0, 0};
  for (const auto& [m, c] : p) {
    Interval term{c, c};
    for (const uint32_t atom : m) term = bound_of(ExprKind::kMul, term, atoms_[atom].interval);
    sum = bound_of(ExprKind::kAdd, sum, term);
  }
  return sum;
}

Interval DimTable::interval(Dim d) const {
  if (!is_symbolic(d)) return {d, d};
  return intervals_[handle_id(d)];
}

Interval DimTable::difference(Dim a, Dim b) const {
  if (!spend_terms(a, b)) return {INT64_MIN, INT64_MAX};
  Polynomial p = polynomial(a);
  for (const auto& [m, c] : polynomial(b)) {
    if (!subtract_term(&p, m, c)) return {INT64_MIN, INT64_MAX};
  }
  return interval(p);
}

}  // namespace vireo::ir
