// Expressions as text: "2*N + max(P, 1) - 3", "floor(N / 2)". The printer orders terms by degree, then by first use, so
// equal expressions print alike.
#include <algorithm>
#include <cctype>

#include "converter/ir/dim_table.h"

namespace vireo::ir {
namespace {

class Parser {
 public:
  Parser(DimTable* table, const std::string& text) : table_(table), text_(text) {}

  bool parse(Dim* out) {
    if (!sum(out)) return false;
    space();
    return at_ == text_.size();
  }

 private:
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    space();
    if (at_ < text_.size() && text_[at_] == c) return ++at_, true;
    return false;
  }
  bool sum(Dim* out) {
    if (++depth_ > 64) return false;
    const bool negative = take('-');
    if (!product(out)) return false;
    if (negative) *out = table_->mul(*out, -1);
    for (;;) {
      Dim b = 0;
      if (take('+')) {
        if (!product(&b)) return false;
        *out = table_->add(*out, b);
      } else if (take('-')) {
        if (!product(&b)) return false;
        *out = table_->sub(*out, b);
      } else {
        --depth_;
        return true;
      }
    }
  }
  bool product(Dim* out) {
    if (!atom(out)) return false;
    while (take('*')) {
      Dim b = 0;
      if (!atom(&b)) return false;
      *out = table_->mul(*out, b);
    }
    return true;
  }
  bool pair(char between, Dim* a, Dim* b) { return take('(') && sum(a) && take(between) && sum(b) && take(')'); }
  bool atom(Dim* out) {
    space();
    if (take('(')) return sum(out) && take(')');
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      int64_t n = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
        if (n > INT64_MAX / 10 - 10) return false;
        n = n * 10 + (text_[at_++] - '0');
      }
      *out = n;
      return true;
    }
    std::string name;
    if (take('`')) {
      while (at_ < text_.size() && text_[at_] != '`') name += text_[at_++];
      if (!take('`')) return false;
    } else {
      while (at_ < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '.')) {
        name += text_[at_++];
      }
    }
    if (name.empty()) return false;
    Dim a = 0, b = 0;
    if (name == "floor" && at_ < text_.size() && text_[at_] == '(') {
      if (!pair('/', &a, &b)) return false;
      return *out = table_->floor_div(a, b), true;
    }
    if ((name == "min" || name == "max") && at_ < text_.size() && text_[at_] == '(') {
      if (!pair(',', &a, &b)) return false;
      return *out = name == "min" ? table_->min(a, b) : table_->max(a, b), true;
    }
    *out = table_->symbol(name);
    return true;
  }

  DimTable* table_;
  const std::string& text_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::string symbol_text(const std::string& name) {
  bool plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  for (const char c : name) plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.');
  return plain ? name : "`" + name + "`";
}

}  // namespace

void DimTable::append_factor(const Atom& atom, std::string* out) const {
  if (atom.kind == ExprKind::kSymbol) {
    *out += symbol_text(atom.symbol.name);
    return;
  }
  const bool division = atom.kind == ExprKind::kFloorDiv;
  *out += division ? "floor((" : atom.kind == ExprKind::kMin ? "min(" : "max(";
  append_text(atom.a, out);
  *out += division ? ") / (" : ", ";
  append_text(atom.b, out);
  *out += division ? "))" : ")";
}

// Ends early where the text is longer than anyone is shown: shared parts are written each time, which can double it
// with each level.
void DimTable::append_text(Dim d, std::string* out) const {
  if (!is_symbolic(d)) {
    *out += std::to_string(d);
    return;
  }
  const Polynomial& p = *polynomials_[handle_id(d)];
  std::vector<std::pair<Monomial, int64_t>> terms(p.begin(), p.end());
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  bool first = true;
  for (const auto& [m, c] : terms) {
    if (out->size() > kMostText) return;
    const bool negative = c < 0;
    *out += first ? (negative ? "-" : "") : (negative ? " - " : " + ");
    first = false;
    const std::string magnitude = std::to_string(negative ? -c : c);
    if (m.empty() || magnitude != "1") *out += magnitude;
    for (size_t i = 0; i < m.size() && out->size() <= kMostText; ++i) {
      if (i != 0 || magnitude != "1") *out += "*";
      append_factor(atoms_[m[i]], out);
    }
  }
}

std::string DimTable::text(Dim d) const {
  std::string out;
  append_text(d, &out);
  if (out.size() > kMostText) out = out.substr(0, kMostText) + "... #" + std::to_string(handle_id(d));
  return out;
}

std::string DimTable::text(const Shape& s) const {
  std::string out = "[";
  for (int i = 0; i < s.rank; ++i) out += (i == 0 ? "" : ",") + text(s[i]);
  return out + "]";
}

bool DimTable::parse(const std::string& text, Dim* out) { return Parser(this, text).parse(out); }

}  // namespace vireo::ir
