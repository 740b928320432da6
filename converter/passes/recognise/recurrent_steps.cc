#include "converter/passes/recognise/recurrent_steps.h"

#include <algorithm>

namespace vireo::passes {
namespace {

bool same_factor(const Sum& a, const ir::Value* x, const Sum& b, const ir::Value* y) {
  const Term *s = Cell::factor_of(a, x), *t = Cell::factor_of(b, y);
  return s != nullptr && t != nullptr && s->same_weights(*t);
}

// c takes the whole state of `before` and does the same with it.
bool follows(const Cell& before, const Cell& c) {
  if (before.refused != nullptr || before.op != c.op || (c.op == Op::kLSTM && c.c != before.c_out)) return false;
  // The memory of a cell that is no last step is seen by its next one alone.
  if (before.c_out != nullptr) {
    if (before.c_out->output_uses != 0) return false;
    for (const ir::Use& u : before.c_out->uses) {
      if (before.inside.count(u.node) == 0 && c.inside.count(u.node) == 0) return false;
    }
  }
  return same_weights(before, c) && rows_of(before.h_out) == rows_of(c.h_out);
}

}  // namespace

// `b` does with its values what `a` does; `a` may be bare.
bool same_weights(const Cell& a, const Cell& b) {
  if (a.op != b.op || a.units != b.units || a.x.size() != b.x.size() || a.negated != b.negated || b.bare ||
      a.linear_before_reset != b.linear_before_reset || a.recurrence.bias != b.recurrence.bias) {
    return false;
  }
  for (int i = 0; i < a.gate_count(); ++i) {
    if (a.gates[i].bias != b.gates[i].bias) return false;
    for (size_t k = 0; k < a.x.size(); ++k) {
      if (!same_factor(a.gates[i], a.x[k], b.gates[i], b.x[k])) return false;
    }
    if (!a.bare && (a.op == Op::kLSTM || i < 2) && !same_factor(a.gates[i], a.h, b.gates[i], b.h)) return false;
  }
  const std::vector<Term>&s = a.recurrence.terms, &t = b.recurrence.terms;
  return s.empty() ? t.empty() || a.bare : s[0].same_weights(t[0]);
}

// Rows of a value when they are one extent; 0: they are not.
Dim rows_of(const ir::Value* v) {
  const Shape& s = v->type.shape;
  Dim rows = 1;
  for (int i = 0; i + 1 < s.rank; ++i) {
    if (is_symbolic(s[i]) || is_symbolic(rows)) {
      if (rows != 1 && s[i] != 1) return 0;
      rows = rows == 1 ? s[i] : rows;
    } else {
      rows *= s[i];
    }
  }
  return rows;
}

Finder::Finder(ir::Graph& g) {
  for (ir::Node& n : g.nodes()) {
    places_[&n] = places_.size();
    Cell c = match_cell(&n);
    if (c.op != Op::kNone) cells_.push_back(std::move(c));
  }
  for (const Cell& c : cells_) {
    if (c.refused == nullptr) all_.insert(c.inside.begin(), c.inside.end());
  }
  for (Cell& c : cells_) {
    if (c.refused == nullptr) c.refused = shared(c);
  }
  choose_states();
  std::map<const ir::Value*, const Cell*> by_state;
  for (const Cell& c : cells_) by_state[c.h_out] = &c;
  for (const Cell& c : cells_) {
    const auto at = by_state.find(c.h);
    if (c.refused == nullptr && at != by_state.end() && follows(*at->second, c)) next_[at->second] = &c;
  }
}

// An LSTM's h is what the maker of its c made, or what that multiplies by the same weights.
void Finder::choose_states() {
  std::map<const ir::Value*, Cell*> by_memory;
  for (Cell& c : cells_) {
    if (c.refused == nullptr && c.c_out != nullptr) by_memory[c.c_out] = &c;
  }
  for (Cell& c : cells_) {
    const auto at = c.op == Op::kLSTM && c.refused == nullptr ? by_memory.find(c.c) : by_memory.end();
    if (at == by_memory.end()) continue;
    Cell& before = *at->second;
    if (std::find(c.factors.begin(), c.factors.end(), before.h_out) == c.factors.end()) continue;
    c.choose_h(before.h_out);
    if (by_memory.count(before.c) != 0) continue;  // has one before it, and is told by that
    ir::Value* h = nullptr;
    for (ir::Value* v : before.factors) {
      if (v->type == before.h_out->type && same_factor(before.gates[0], v, c.gates[0], c.h)) h = v;
    }
    before.choose_h(h);
  }
}

Finder::Steps Finder::from(const Cell& first) const {
  Steps out{&first};
  for (;;) {
    const auto at = next_.find(out.back());
    if (at == next_.end() || !independent(*at->second, out)) return out;
    out.push_back(at->second);
  }
}

bool Finder::is_later_step(const Cell& cell) const {
  return std::any_of(next_.begin(), next_.end(), [&](const auto& p) { return p.second == &cell; });
}

bool Finder::makers_behind(const ir::Value* v, size_t place, const Steps& steps,
                           std::map<size_t, ir::Node*>* out) const {
  std::vector<const ir::Value*> open{v};
  while (!open.empty()) {
    ir::Node* n = open.back() == nullptr ? nullptr : open.back()->producer;
    open.pop_back();
    if (n == nullptr || places_.at(n) < place || !out->emplace(places_.at(n), n).second) continue;
    for (const Cell* c : steps) {
      if (c->inside.count(n) != 0) return false;
    }
    open.insert(open.end(), n->inputs.begin(), n->inputs.end());
  }
  return true;
}

ir::Node* Finder::at(const Steps& steps) {
  const Cell& c = *steps.front();
  return c.op == Op::kLSTM ? c.c_out->producer : c.end;
}

const char* Finder::shared(const Cell& c) const {
  for (const ir::Node* n : c.inside) {
    for (const ir::Value* v : n->outputs) {
      if (v == nullptr || v == c.h_out || v == c.c_out) continue;
      bool within = v->output_uses == 0;
      for (const ir::Use& u : v->uses) within = within && c.inside.count(u.node) != 0;
      if (!within) return "an inner value is used elsewhere";
    }
  }
  const auto weights = [&](const Sum& s) {
    return std::all_of(s.terms.begin(), s.terms.end(), [&](const Term& t) {
      return t.w->output_uses == 0 &&
             std::all_of(t.w->uses.begin(), t.w->uses.end(), [&](const ir::Use& u) { return all_.count(u.node) != 0; });
    });
  };
  for (const Sum& s : c.gates) {
    if (!weights(s)) return "its weights are used elsewhere";
  }
  return weights(c.recurrence) ? nullptr : "its weights are used elsewhere";
}

// No x needs the state of a step.
bool Finder::independent(const Cell& c, const Steps& steps) const {
  const size_t place = places_.at(at(steps));
  for (const ir::Value* x : c.x) {
    std::map<size_t, ir::Node*> makers;
    if (!makers_behind(x, place, steps, &makers)) return false;
  }
  return true;
}

}  // namespace vireo::passes
