// Cells of recurrent networks that exporters spell out become the operator that they are.
// Before   i, f, o = Sigmoid(x W + h R + b), g = Tanh(x W + h R + b); c' = f c + i g; h' = o Tanh(c')
//                                                                             After  LSTM over one step
//          z, r = Sigmoid(x W + h R + b), n = Tanh(x W + b + r (h R + b)) or Tanh(x W + (r h) R + b);
//          h' = z h + (1 - z) n, or n + z (h - n), or with z and 1 - z changed about      After  GRU over one step
//          the same cell T times, each with the state that the one before made            After  one over T steps
//          Sums in any order, of MatMul and Gemm, for all gates together or for each alone, x and h apart or joined;
//          gates in any order, cut by Split or Slice before or behind their function.
// Fires    float32; weights and biases constant, finite and used by cells alone; nothing between is used elsewhere, but
//          each step's h may be. Steps are joined when no x needs the state. A cell without h's products (a state of
//          0, and they were folded) is taken as the first of several.
// Cost     each step makes the products that its parts make, and the rest in passes over rows that are in the cache.
//          dtln_stage2 (two cells of 128 units, one step) takes as long as before, in an arena of 56.8 KB and not 73.4;
//          32 steps of 128 units joined (vireo bench, one thread, AVX-512): 481 nodes become 5, 1.4 times faster, for
//          x's products are one. A composite with a kernel of its own was weighed: it would be this kernel again.
// Numerics the sums are added in another order; with z and 1 - z changed about, z is Sigmoid(-s), whose weights are
//          negated: a few units in the last place of float32.
// Bound    at least nine nodes that compute become one, a reshape for each operand and result and a Split and a
//          Concat for the steps.        Idempotent.
// Source   Hochreiter and Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735; Cho et al. 2014, arXiv:1406.1078.
#include "converter/passes/recognise/recognise_recurrent.h"

#include <algorithm>
#include <cmath>

#include "converter/passes/recognise/recurrent_steps.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/recurrent/recurrent_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::passes {
namespace {

using Steps = Finder::Steps;

// Rows of one gate, a row a unit, columns those of the values in `parts`.
void append_rows(const std::vector<const Term*>& parts, int64_t units, float sign, std::vector<float>* out) {
  for (int64_t u = 0; u < units; ++u) {
    for (const Term* t : parts) {
      const ConstTensor& w = t->w->constant->tensor;
      const int64_t width = w.type.shape[1];
      for (int64_t k = t->row; k < t->row + t->rows; ++k) {
        const int64_t at = t->turned ? (t->column + u) * width + k : k * width + t->column + u;
        out->push_back(sign * read_element<float>(w.bytes.data(), at));
      }
    }
  }
}

bool finite(const std::vector<float>& v) {
  return std::all_of(v.begin(), v.end(), [](float x) { return std::isfinite(x); });
}

// The operator's parameters, from the cell that has them all.
struct Parameters {
  ir::ConstantPtr w, r, b;
};

Parameters parameters_of(const Cell& cell) {
  const int gates = cell.gate_count();
  std::vector<float> w, r, b(static_cast<size_t>(2 * gates * cell.units));
  bool biased = false;
  const auto put_bias = [&](const Sum& s, int64_t at, float sign) {
    biased = biased || !s.bias.empty();
    for (size_t k = 0; k < s.bias.size(); ++k) b[static_cast<size_t>(at * cell.units) + k] = sign * s.bias[k];
  };
  for (int i = 0; i < gates; ++i) {
    const Sum& s = cell.gates[i];
    const float sign = cell.negated && i == 0 ? -1.0f : 1.0f;
    std::vector<const Term*> parts;
    for (const ir::Value* x : cell.x) parts.push_back(Cell::factor_of(s, x));
    append_rows(parts, cell.units, sign, &w);
    const bool candidate = cell.op == Op::kGRU && i == 2;
    append_rows({candidate ? &cell.recurrence.terms[0] : Cell::factor_of(s, cell.h)}, cell.units, sign, &r);
    put_bias(s, i, sign);
    if (candidate) put_bias(cell.recurrence, gates + i, sign);
  }
  if (!finite(w) || !finite(r) || !finite(b)) return {};
  const int64_t rows = gates * cell.units;
  Parameters p;
  p.w = ir::make_constant_of<float>(DType::kF32, {3, {1, rows, static_cast<int64_t>(w.size()) / rows}}, w);
  p.r = ir::make_constant_of<float>(DType::kF32, {3, {1, rows, cell.units}}, r);
  if (biased) p.b = ir::make_constant_of<float>(DType::kF32, {2, {1, 2 * rows}}, b);
  return p;
}

// v as [1, rows, its last extent], before `at`.
ir::Value* as_step(ir::Graph& g, ir::Value* v, const ir::Node& like, ir::Node* at) {
  const Shape& s = v->type.shape;
  const Shape wanted = {3, {1, rows_of(v), s[s.rank - 1]}};
  if (s == wanted) return v;
  const ir::Node* n = add_reshape(g, v, wanted, like, at);
  return n == nullptr ? nullptr : n->out();
}

// v is element `index` along `axis` of a value of rank 3, nothing else of it: that value.
struct Element {
  ir::Value* of = nullptr;
  int axis = 0;
  int64_t index = 0;
};

Element element_of(ir::Value* v) {
  const auto make = [&](ir::Value* x, int axis, int64_t index) {
    const int a = axis < 0 ? axis + 3 : axis;
    return x->type.shape.rank == 3 && a < 2 ? Element{x, a, index} : Element{};
  };
  std::vector<int64_t> at;
  if (const ir::Node* n = maker(v, Op::kGather)) {
    if (n->in(1)->type.shape.rank != 0 || !known_ints(n->in(1), &at) || at.size() != 1) return {};
    return make(n->in(0), n->attributes<attrs::Gather>().axis(), at[0]);
  }
  const ir::Node* view = v->producer;
  if (view == nullptr || (view->op != Op::kSqueeze && view->op != Op::kReshape)) return {};
  v = view->in(0);
  if (const ir::Node* n = maker(v, Op::kSplit)) {
    const Element e = make(n->in(0), n->attributes<attrs::Split>().axis(), v->producer_output);
    for (const ir::Value* part : n->outputs) {
      if (e.of == nullptr || part == nullptr || part->type.shape[e.axis] != 1) return {};
    }
    return e;
  }
  const ir::Node* n = maker(v, Op::kSlice);
  if (n == nullptr || n->in(0)->type.shape.rank != 3 || !known_ints(n->in(1), &at)) return {};
  const Shape &x = n->in(0)->type.shape, &y = v->type.shape;
  std::vector<int64_t> axes{0, 1, 2};
  if (n->in(3) != nullptr && !known_ints(n->in(3), &axes)) return {};
  int cut = -1;
  for (int i = 0; i < 3; ++i) {
    if (x[i] == y[i]) continue;
    if (cut >= 0 || y[i] != 1) return {};
    cut = i;
  }
  for (size_t i = 0; i < at.size() && i < axes.size(); ++i) {
    if ((axes[i] < 0 ? axes[i] + 3 : axes[i]) != cut) continue;
    return is_symbolic(x[cut]) ? Element{} : make(n->in(0), cut, at[i] < 0 ? at[i] + x[cut] : at[i]);
  }
  return {};
}

// The steps' inputs as one [T, rows, inputs], before `at`; null: they do not fit together.
ir::Value* sequence(ir::Graph& g, const Steps& steps, Dim rows, ir::Node* at) {
  const ir::Node& like = *steps.front()->end;
  const Element first = steps.front()->x.size() == 1 ? element_of(steps.front()->x[0]) : Element{};
  bool whole = first.of != nullptr && first.of->type.shape[first.axis] == static_cast<Dim>(steps.size()) &&
               first.of->type.shape[1 - first.axis] == rows;
  for (size_t t = 0; whole && t < steps.size(); ++t) {
    const Element e = element_of(steps[t]->x[0]);
    whole = e.of == first.of && e.axis == first.axis && e.index == static_cast<int64_t>(t);
  }
  if (whole && first.axis == 0) return first.of;
  if (whole) {
    const ir::Node* n = add_transpose(g, first.of, {1, 0, 2}, like, at);
    return n == nullptr ? nullptr : n->out();
  }
  std::vector<ir::Value*> parts;
  for (const Cell* cell : steps) {
    std::vector<ir::Value*> side_by_side;
    for (ir::Value* x : cell->x) {
      side_by_side.push_back(rows_of(x) == rows ? as_step(g, x, like, at) : nullptr);
      if (side_by_side.back() == nullptr) return nullptr;
    }
    attrs::ConcatT a;
    a.axis = 2;
    if (side_by_side.size() > 1) {
      const ir::Node* n = add_node(g, Op::kConcat, pack<attrs::Concat>(a), side_by_side, like, at);
      if (n == nullptr) return nullptr;
      side_by_side = {n->out()};
    }
    parts.push_back(side_by_side[0]);
  }
  if (parts.size() == 1) return parts[0];
  attrs::ConcatT a;
  a.axis = 0;
  const ir::Node* n = add_node(g, Op::kConcat, pack<attrs::Concat>(a), parts, like, at);
  return n == nullptr ? nullptr : n->out();
}

bool used_outside(const ir::Value* v, const Steps& steps) {
  if (v->output_uses != 0) return true;
  return std::any_of(v->uses.begin(), v->uses.end(), [&](const ir::Use& u) {
    return std::none_of(steps.begin(), steps.end(), [&](const Cell* c) { return c->inside.count(u.node) != 0; });
  });
}

// Parameters that were packed, and the cell whose they are: cells that share weights go on sharing them.
using Packed = std::vector<std::pair<Cell, Parameters>>;

const char* rewrite_recognise_recurrent(ir::Graph& g, const Finder& finder, const Steps& steps, Packed* packed) {
  const Cell& first = *steps.front();
  const Cell& last = *steps.back();
  const Cell& full = steps.size() > 1 ? *steps[1] : first;  // the first one may be bare
  if (full.bare) return "its state is multiplied by nothing";
  const Dim rows = rows_of(first.h_out);
  if (rows == 0) return "the state has more than one open extent";
  Parameters p;
  for (const auto& [cell, parameters] : *packed) {
    if (same_weights(cell, full)) p = parameters;
  }
  if (p.w == nullptr) {
    p = parameters_of(full);
    if (p.w == nullptr) return "a parameter is not finite";
    packed->emplace_back(full, p);
  }
  ir::Node* at = Finder::at(steps);
  std::map<size_t, ir::Node*> later;
  for (const Cell* c : steps) {
    for (const ir::Value* x : c->x) {
      if (!finder.makers_behind(x, finder.place(at), steps, &later)) return "its input needs its own state";
    }
  }
  for (const auto& [place, n] : later) g.move_before(n, at);
  const bool lstm = first.op == Op::kLSTM;
  ir::Value* x = sequence(g, steps, rows, at);
  ir::Value* h = first.h == nullptr ? nullptr : as_step(g, first.h, *first.end, at);
  ir::Value* c = lstm ? as_step(g, first.c, *first.end, at) : nullptr;
  if (x == nullptr || (first.h != nullptr && h == nullptr) || (lstm && c == nullptr))
    return "the operands do not become one sequence";
  std::vector<ir::Value*> inputs{
      x, g.add_constant("", p.w), g.add_constant("", p.r), p.b == nullptr ? nullptr : g.add_constant("", p.b), nullptr,
      h};
  if (lstm) inputs.push_back(c);
  attrs::RecurrentT a;
  a.linear_before_reset = first.linear_before_reset;
  ir::Node* one = g.add_node(first.op, pack<attrs::Recurrent>(a), std::move(inputs), lstm ? 3 : 2, at);
  one->name = last.end->name;
  std::string message;
  if (!ok(ir::infer_node(g, one, nullptr, &message))) return "the shapes do not fit";
  const auto put = [&](ir::Value* made, ir::Value* old) {
    const ir::Node* n = made->type.shape == old->type.shape ? nullptr : add_reshape(g, made, old->type.shape, *one, at);
    ir::Value* v = n == nullptr ? made : n->out();
    if (!(v->type == old->type)) return false;
    v->name = old->name;
    g.replace_uses(old, v);
    return true;
  };
  ir::Node* split = nullptr;
  bool early = false;
  for (size_t t = 0; t + 1 < steps.size(); ++t) early = early || used_outside(steps[t]->h_out, steps);
  if (early) {
    attrs::SplitT cut;
    const auto count = static_cast<int64_t>(steps.size());
    ir::Value* sizes = g.add_constant(
        "", ir::make_constant_of<int64_t>(DType::kI64, {1, {count}}, std::vector<int64_t>(steps.size(), 1)));
    split = g.add_node(Op::kSplit, pack<attrs::Split>(cut), {one->out(0), sizes}, steps.size(), at);
    split->name = one->name;
    if (!ok(ir::infer_node(g, split, nullptr, &message))) return "the shapes do not fit";
  }
  const bool state = lstm && used_outside(last.c_out, steps);
  for (size_t t = 0; t + 1 < steps.size(); ++t) {
    if (used_outside(steps[t]->h_out, steps) && !put(split->out(t), steps[t]->h_out)) return "the shapes do not fit";
  }
  if (state && !put(one->out(2), last.c_out)) return "the shapes do not fit";
  if (!put(one->out(1), last.h_out)) return "the shapes do not fit";
  if (!early) g.drop_output(one, 0);
  if (lstm && !state) g.drop_output(one, 2);
  for (size_t t = steps.size(); t-- > 0;) {
    for (const ir::Value* v : {steps[t]->h_out, steps[t]->c_out}) {
      if (v != nullptr && v->producer != nullptr) remove_unused(g, v->producer);
    }
  }
  return nullptr;
}

void run_recognise_recurrent(ir::Graph& g, PassLog& log) {
  Packed packed;
  for (bool again = true; again;) {
    again = false;
    PassLog now;
    const Finder finder(g);
    for (const Cell& c : finder.cells()) {
      if (c.refused != nullptr) {
        now.reject(*c.end, c.refused);
        continue;
      }
      if (finder.is_later_step(c)) continue;  // a sequence that ends early is taken up in the next walk
      const char* refused = rewrite_recognise_recurrent(g, finder, finder.from(c), &packed);
      if (refused == nullptr) {
        log.changed();
        again = true;
        break;  // values that other cells know are other ones now
      }
      now.reject(*c.end, refused);
    }
    if (!again) log.declined.insert(log.declined.end(), now.declined.begin(), now.declined.end());
  }
}

}  // namespace

const Pass kRecogniseRecurrent = {"recognise_recurrent", run_recognise_recurrent};

}  // namespace vireo::passes
