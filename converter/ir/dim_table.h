// Symbolic dimensions and the arithmetic over them, in one normal form.
//
// A dimension is a number or a handle (sdk/base/shape.h) to an interned expression. An expression is a polynomial with
// integer coefficients over atoms; an atom is a symbol, or a floor-division, minimum or maximum of two expressions that
// could not be simplified further. Equal polynomials get equal handles, so "proven equal" is "the same number".
//
// Two other designs were weighed. Trees with rewrite rules: each rule is easy and their sum is not; (a*b)/b or a+b-a
// depend on the order in which rules fire. An SMT or computer algebra library: a dependency many times the converter's
// size for expressions of a few terms. The polynomial form decides +, - and * completely, and division where it is
// exact; what stays undecided (an atom) is at least recognised when it comes again.
#ifndef VIREO_CONVERTER_IR_DIM_TABLE_H_
#define VIREO_CONVERTER_IR_DIM_TABLE_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "converter/ir/budget.h"
#include "sdk/base/shape.h"
#include "sdk/plan/bounds.h"

namespace vireo::ir {

class DimTable {
 public:
  struct Symbol {
    std::string name;
    int64_t lo = 0;
    int64_t hi = -1;  // -1: open
    bool data_dependent = false;
    Dim upper = 0;  // of a data-dependent symbol: an expression over earlier symbols
  };
  // An atom: a symbol, or an operation that did not simplify.
  struct Atom {
    ExprKind kind = ExprKind::kSymbol;
    Dim a = 0, b = 0;  // operands of kFloorDiv, kMin, kMax
    Symbol symbol;     // kSymbol
    Interval interval;
    int depth = 0;  // atoms inside each other below this one
  };
  using Monomial = std::vector<uint32_t>;          // atom ids, ascending, with repetition; empty: the constant term
  using Polynomial = std::map<Monomial, int64_t>;  // no zero coefficients

  // The symbol of this name, made on first use. One name is one extent.
  Dim symbol(const std::string& name);
  // Bounds a symbol. Returns false when `name` does not exist. Call it before expressions over the symbol are made:
  // their simplification uses its bounds.
  bool set_bounds(const std::string& name, int64_t lo, int64_t hi);
  // From now on `d` lies in [lo, hi], INT64_MAX for no end: the bounds of the symbol that decides it are narrowed. What
  // was made before stays right: it was made for wider ones. False, and nothing is done, where that symbol is not one
  // of the first `atoms` atoms, more than one decide `d`, or no extent would be left.
  bool narrow(Dim d, int64_t lo, int64_t hi, size_t atoms);
  // A new symbol, "stem" or "stem.1", "stem.2"... whichever is free.
  Dim fresh(const std::string& stem);
  Dim fresh_bounded(const std::string& stem, Dim upper);  // data-dependent, in [0, upper]; or kTooLarge

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  Dim floor_div(Dim a, Dim b);  // towards minus infinity; a numeric zero divisor gives 0
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  Dim count(const Shape& s, int begin, int end);
  // What stands for results that are not kept exactly. Coefficients that overflow, more terms or a deeper expression
  // than are worth it, or none left in the budget: larger than every extent. A sum that is lower than numbers go: the
  // lowest that is no handle.
  static constexpr Dim kTooLarge = INT64_MAX;
  static constexpr Dim kTooSmall = kLastHandle + 1;

  Interval interval(Dim d) const;           // sound: the true extent lies inside
  Interval difference(Dim a, Dim b) const;  // of a - b; open on both sides where that overflows
  // "4*N + 1"; numbers as they are. What is longer than kMostText is cut and ends in its handle's number, so that
  // different expressions stay different.
  std::string text(Dim d) const;
  std::string text(const Shape& s) const;
  // Reads what text() prints; a name that is not known yet becomes a symbol. False on bad syntax.
  bool parse(const std::string& text, Dim* out);

  const std::vector<Atom>& atoms() const { return atoms_; }
  Polynomial polynomial(Dim d) const;
  bool is_symbol(Dim d, uint32_t* atom) const;  // exactly one symbol
  // Why an extent is kTooLarge; "" when it is a number that overflows, as far as is known.
  std::string limit_met() const;
  // What all graphs of a conversion spend together: they share their table.
  Budget& budget() const { return budget_; }

 private:
  static constexpr size_t kMostText = 1024;
  // Readers of expressions are recursive.
  static constexpr int kMostDepth = 512;
  enum class Order { kAtMost, kAtLeast, kOpen };
  Order compare(Dim a, Dim b) const;  // a against b
  bool spend_terms(Dim a, Dim b) const;
  std::string free_name(const std::string& stem);
  void append_text(Dim d, std::string* out) const;
  void append_factor(const Atom& atom, std::string* out) const;
  Dim intern(Polynomial p);
  bool has_operand(Dim d, ExprKind kind, Dim x) const;
  Dim atom_dim(ExprKind kind, Dim a, Dim b);
  uint32_t new_symbol(Symbol s, int depth = 0);
  // Of an atom over `operands`, at least `depth`. False: above kMostDepth.
  bool find_depth(std::initializer_list<Dim> operands, int* depth);
  bool divide(const Polynomial& a, const Polynomial& b, Polynomial* quotient) const;
  Interval interval(const Polynomial& p) const;

  std::vector<Atom> atoms_;
  std::map<Polynomial, uint32_t> ids_;
  std::vector<const Polynomial*> polynomials_;  // keys of ids_, by handle id
  std::vector<Interval> intervals_;             // of the same
  std::map<std::string, uint32_t> symbols_;     // name -> atom
  std::map<std::string, int> stems_;            // the last number that made a name of this free
  bool too_deep_ = false;
  mutable Budget budget_;
  std::map<std::pair<std::pair<int, Dim>, Dim>, uint32_t> operations_;
};

// floor(a / b) of numbers, as InferContext::floor_div.
int64_t floor_div(int64_t a, int64_t b);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_DIM_TABLE_H_
