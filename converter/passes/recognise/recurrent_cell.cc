#include "converter/passes/recognise/recurrent_cell.h"

#include <algorithm>

#include "converter/passes/shared/match.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::passes {
namespace {

// Calls f(a, b) with the operands of a two-input node in both orders, until it says true.
template <class F>
bool either_way(const ir::Node* n, const F& f) {
  return n != nullptr && n->inputs.size() == 2 && n->in(0) != nullptr && n->in(1) != nullptr &&
         (f(n->in(0), n->in(1)) || f(n->in(1), n->in(0)));
}

// Operand `v` of `n` is not repeated: an element of it for each of n's result.
bool is_whole(const ir::Node* n, const ir::Value* v) { return v != nullptr && v->type == n->out()->type; }

// y = 1 - x: x.
ir::Value* complement(const ir::Value* y, Inside* inside) {
  ir::Node* n = maker(y, Op::kSub);
  if (n == nullptr || n->in(0) == nullptr || n->in(1) == nullptr || n->in(0)->constant == nullptr) return nullptr;
  if (n->in(0)->type.dtype != DType::kF32 || !(n->in(1)->type == y->type)) return nullptr;
  const ConstTensor& one = n->in(0)->constant->tensor;
  if (one.count() == 0 || one.count() > 65536) return nullptr;
  for (int64_t i = 0; i < one.count(); ++i) {
    if (read_element<float>(one.bytes.data(), i) != 1) return nullptr;
  }
  inside->insert(n);
  return n->in(1);
}

bool is_zero(const ir::Value& v) {
  if (v.constant == nullptr || v.type.dtype != DType::kF32) return false;
  const ConstTensor& t = v.constant->tensor;
  for (int64_t i = 0; i < t.count(); ++i) {
    if (read_element<float>(t.bytes.data(), i) != 0) return false;
  }
  return true;
}

// Each gate multiplies each factor by one matrix.
void read_factors(Cell* cell) {
  for (const Term& t : cell->gates[0].terms) cell->factors.push_back(t.x);
  const bool gru = cell->op == Op::kGRU;
  const bool state = std::find(cell->factors.begin(), cell->factors.end(), cell->h) != cell->factors.end();
  for (int i = 0; i < cell->gate_count(); ++i) {
    const Sum& s = cell->gates[i];
    const bool candidate = gru && i == 2;  // has h behind the reset gate
    bool same = s.terms.size() == cell->factors.size() - (candidate && state ? 1 : 0);
    for (const ir::Value* v : cell->factors) {
      same = same && ((candidate && v == cell->h) || Cell::factor_of(s, v) != nullptr);
    }
    if (!same) cell->refused = "the gates are not made of the same values";
  }
  ir::Value* h = gru && state ? cell->h : nullptr;
  if (gru && !state && !is_zero(*cell->h)) cell->refused = "a gate does not multiply the state";
  if (gru && state && cell->recurrence.terms.empty()) cell->refused = "the candidate does not multiply the state";
  for (ir::Value* v : cell->factors) {  // the last one, as it is mostly written
    if (!gru && cell->factors.size() > 1 && v->type == cell->h_out->type) h = v;
  }
  ir::Value* const known = cell->h;
  cell->choose_h(h);
  if (gru) cell->h = known;
  if (cell->x.empty()) cell->refused = "a gate multiplies nothing but the state";
}

void finish(Cell* cell) {
  for (int i = 0; i < cell->gate_count(); ++i) {
    if (cell->gates[i].refused != nullptr) cell->refused = cell->gates[i].refused;
  }
  if (cell->recurrence.refused != nullptr) cell->refused = cell->recurrence.refused;
  if (cell->refused == nullptr) read_factors(cell);
}

// h' = o tanh(c'), c' = f c + i g
bool match_lstm(ir::Node* n, Cell* cell) {
  Columns in[4];  // of the four functions, i o f c
  Inside inside{n};
  const int64_t units = cell->units;
  const auto gates_of = [&](ir::Value* fresh, ir::Value* kept) {
    ir::Node *p = maker(fresh, Op::kMul), *q = maker(kept, Op::kMul);
    Inside tried = inside;
    tried.insert({p, q});
    const bool good = either_way(p,
                                 [&](ir::Value* i, ir::Value* g) {
                                   in[0] = under({i, 0}, Op::kSigmoid, units, &tried);
                                   in[3] = under({g, 0}, Op::kTanh, units, &tried);
                                   return in[0].v != nullptr && in[3].v != nullptr && is_whole(p, i) && is_whole(p, g);
                                 }) &&
                      either_way(q, [&](ir::Value* f, ir::Value* c) {
                        in[2] = under({f, 0}, Op::kSigmoid, units, &tried);
                        cell->c = c;
                        return in[2].v != nullptr && is_whole(q, f);
                      });
    if (good) inside = tried;
    return good;
  };
  const bool found = either_way(n, [&](ir::Value* o, ir::Value* t) {
    ir::Node* squash = maker(t, Op::kTanh);
    ir::Node* sum = squash == nullptr ? nullptr : maker(squash->in(0), Op::kAdd);
    Inside tried;
    in[1] = under({o, 0}, Op::kSigmoid, units, &tried);
    if (in[1].v == nullptr || !is_whole(n, o) || !either_way(sum, gates_of)) return false;
    inside.insert(tried.begin(), tried.end());
    inside.insert({squash, sum});
    cell->c_out = sum->out();
    return true;
  });
  if (!found) return false;
  cell->op = Op::kLSTM;
  cell->inside = std::move(inside);
  if (!(cell->c_out->type == cell->h_out->type) || !(cell->c->type == cell->h_out->type)) {
    cell->refused = "the state has another shape than the result";
    return true;
  }
  for (int i = 0; i < 4 && cell->refused == nullptr; ++i) {
    if (!read_sum(in[i], units, &cell->gates[i], &cell->inside)) break;
    if (!cell->gates[i].products.empty()) cell->refused = "a gate multiplies what is not constant";
  }
  finish(cell);
  return true;
}

// The parts of a new state: h' = z h + (1 - z) n, in its spellings. `n` is located under its Tanh.
struct Mix {
  ir::Value *z = nullptr, *h = nullptr;
  Columns candidate;
  bool negated = false;
};

bool match_mix(const ir::Node* end, int64_t units, Mix* m, Inside* inside) {
  return either_way(end, [&](ir::Value* a, ir::Value* b) {
    Inside tried;
    // n + z (h - n), or h + z (n - h)
    ir::Node* mul = maker(b, Op::kMul);
    if (either_way(mul, [&](ir::Value* z, ir::Value* difference) {
          ir::Node* sub = maker(difference, Op::kSub);
          if (sub == nullptr || sub->in(1) != a || !is_whole(mul, z) || !is_whole(end, a)) return false;
          tried = {mul, sub};
          m->z = z;
          m->candidate = under({a, 0}, Op::kTanh, units, &tried);
          m->h = sub->in(0);
          m->negated = m->candidate.v == nullptr;
          if (m->negated) {
            m->h = a;
            if (!is_whole(sub, sub->in(0))) return false;
            m->candidate = under({sub->in(0), 0}, Op::kTanh, units, &tried);
          }
          return m->candidate.v != nullptr;
        })) {
      inside->insert(tried.begin(), tried.end());
      return true;
    }
    // z h + (1 - z) n, or (1 - z) h + z n
    ir::Node* other = maker(a, Op::kMul);
    return either_way(mul, [&](ir::Value* q, ir::Value* n) {
      return either_way(other, [&](ir::Value* p, ir::Value* h) {
        tried = {mul, other};
        m->negated = complement(p, &tried) == q;
        if (!m->negated && complement(q, &tried) != p) return false;
        if (!is_whole(mul, n) || !is_whole(mul, q) || !is_whole(other, p)) return false;
        m->z = m->negated ? q : p;
        m->h = h;
        m->candidate = under({n, 0}, Op::kTanh, units, &tried);
        if (m->candidate.v != nullptr) inside->insert(tried.begin(), tried.end());
        return m->candidate.v != nullptr;
      });
    });
  });
}

// What stands in the candidate's sum beside x: r times (h's product), or the product of (r times h).
void read_candidate(const Columns& from, const ir::Value* h, Cell* cell, Columns* reset) {
  const int64_t units = cell->units;
  Sum& s = cell->gates[2];
  if (!read_sum(from, units, &s, &cell->inside)) return;
  if (s.products.size() > 1) cell->refused = "the candidate multiplies more than the state";
  if (s.products.size() == 1 && cell->refused == nullptr) {
    const Columns y = s.products[0];
    cell->linear_before_reset = true;
    const bool good = either_way(y.v->producer, [&](ir::Value* r, ir::Value* product) {
      Inside tried;
      *reset = under({r, y.first}, Op::kSigmoid, units, &tried);
      if (reset->v == nullptr || !is_whole(y.v->producer, r)) return false;
      if (product->constant == nullptr && !is_whole(y.v->producer, product)) return false;
      cell->recurrence = {};
      if (!read_sum({product, y.first}, units, &cell->recurrence, &tried)) return false;
      cell->inside.insert(tried.begin(), tried.end());
      return true;
    });
    const Sum& own = cell->recurrence;
    if (!good || own.terms.size() > 1 || (own.terms.size() == 1 && own.terms[0].x != h) || !own.products.empty())
      cell->refused = "the candidate multiplies what is no reset gate";
    return;
  }
  for (size_t i = 0; i < s.terms.size() && cell->refused == nullptr; ++i) {
    ir::Node* mul = maker(s.terms[i].x, Op::kMul);
    const bool good = either_way(mul, [&](ir::Value* r, ir::Value* state) {
      if (state != h || !is_whole(mul, state) || !is_whole(mul, r)) return false;
      Inside tried{mul};
      *reset = under({r, 0}, Op::kSigmoid, units, &tried);
      if (reset->v != nullptr) cell->inside.insert(tried.begin(), tried.end());
      return reset->v != nullptr;
    });
    if (!good) continue;
    for (const ir::Use& u : mul->out()->uses) {  // joined with x, it is of the cell as well
      if (u.node->op == Op::kConcat) cell->inside.insert(u.node);
    }
    cell->recurrence.terms.push_back(s.terms[i]);
    s.terms.erase(s.terms.begin() + static_cast<int64_t>(i));
    return;
  }
  cell->refused = "the candidate has no reset gate";
}

bool match_gru(ir::Node* n, Cell* cell) {
  Mix m;
  Inside inside{n};
  if (!match_mix(n, cell->units, &m, &inside)) return false;
  const Columns z = under({m.z, 0}, Op::kSigmoid, cell->units, &inside);
  if (z.v == nullptr) return false;
  cell->op = Op::kGRU;
  cell->h = m.h;
  cell->negated = m.negated;
  cell->inside = std::move(inside);
  if (!(m.h->type == cell->h_out->type) || !(m.z->type == cell->h_out->type)) {
    cell->refused = "the state has another shape than the result";
    return true;
  }
  Columns reset;
  read_candidate(m.candidate, m.h, cell, &reset);
  if (cell->refused == nullptr && cell->gates[2].refused == nullptr) {
    if (read_sum(z, cell->units, &cell->gates[0], &cell->inside) &&
        read_sum(reset, cell->units, &cell->gates[1], &cell->inside) &&
        !(cell->gates[0].products.empty() && cell->gates[1].products.empty())) {
      cell->refused = "a gate multiplies what is not constant";
    }
  }
  finish(cell);
  return true;
}

}  // namespace

const Term* Cell::factor_of(const Sum& sum, const ir::Value* x) {
  const Term* found = nullptr;
  for (const Term& t : sum.terms) {
    if (t.x != x) continue;
    if (found != nullptr) return nullptr;
    found = &t;
  }
  return found;
}

void Cell::choose_h(ir::Value* v) {
  h = v;
  bare = v == nullptr;
  x.clear();
  for (ir::Value* f : factors) {
    if (f != v) x.push_back(f);
  }
}

Cell match_cell(ir::Node* n) {
  Cell cell;
  if ((n->op != Op::kMul && n->op != Op::kAdd) || n->out() == nullptr) return cell;
  const Shape& y = n->out()->type.shape;
  if (y.rank == 0 || is_symbolic(y[y.rank - 1]) || y[y.rank - 1] < 1) return cell;
  cell.end = n;
  cell.h_out = n->out();
  cell.units = y[y.rank - 1];
  if (!(n->op == Op::kMul ? match_lstm(n, &cell) : match_gru(n, &cell))) return {};
  if (n->out()->type.dtype != DType::kF32) cell.refused = "tuned for float32 alone";
  return cell;
}

}  // namespace vireo::passes
