#include "delegates/gpu/lower/gemv.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr size_t kMostSteps = 64;  // of an epilogue that has a product's own once for each sum

bool is_among(const std::vector<int>& memories, int memory) {
  return std::find(memories.begin(), memories.end(), memory) != memories.end();
}

bool is_simple(const Input& in) {
  return in.given || (in.view.begin.empty() && in.view.gather_axis < 0 && in.shares < 0 && !in.indexed);
}
bool is_simple(const Expression& e) {
  return !e.reports() && std::all_of(e.inputs.begin(), e.inputs.end(), [](const Input& in) { return is_simple(in); });
}

// The product's epilogue over an axis of rows and one of columns, and w's columns.
struct Source {
  Expression end;
  int64_t w_offset = 0, w_column = 0, columns = 0;
  std::vector<int> operands;  // x, w, scales
};

// What of a product with one row a gemv needs; columns are not set.
std::optional<GemvProblem> begin_gemv(const Lowering& l, const Work& w, Source* out) {
  const auto* const p = std::get_if<ProductProblem>(&w.problem);
  if (p == nullptr || p->m != 1 || !p->batch.empty() || p->inner != 0 || p->sum != DType::kF32) return {};
  if (p->x.column != 1 || !is_simple(p->epilogue) || sees_places(p->epilogue) || w.updates || w.errors >= 0) return {};
  const bool coded = w.coded.codes >= 0;
  const int weights = coded ? w.coded.codes : w.operands[1];
  if (l.memories[static_cast<size_t>(weights)].where != Where::kWeights || (!coded && p->w.row != 1)) return {};
  out->end = p->epilogue;
  out->w_offset = coded ? 0 : p->w.offset;
  out->w_column = coded ? p->k : p->w.column;
  out->columns = p->n;
  out->operands = {w.operands[0], weights};
  if (coded) out->operands.push_back(w.coded.scales);
  GemvProblem g;
  g.k = p->k;
  g.x_dtype = p->x.dtype;
  g.x_offset = p->x.offset;
  g.w_dtype = coded ? w.coded.dtype : p->w.dtype;
  if (coded) g.scales = {w.coded.scale_dtype, w.coded.block, w.coded.zero};
  return g;
}

class Gemvs {
 public:
  explicit Gemvs(Lowering* l) : l_(*l), works_(l->works) {}

  void run() {
    for (size_t k = 0; k < works_.size(); ++k) {
      if (!divide(k)) replace(k);
    }
    drop();
    for (size_t k = 0; k < works_.size(); ++k) take_row(k);
    drop();
    for (size_t k = works_.size(); k-- > 0;) {
      if (!is_used(k)) works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }

 private:
  void drop() {
    std::vector<Work> kept;
    for (size_t k = 0; k < works_.size(); ++k) {
      if (!is_among(gone_, static_cast<int>(k))) kept.push_back(std::move(works_[k]));
    }
    works_ = std::move(kept);
    gone_.clear();
  }
  bool is_gone(size_t k) const { return is_among(gone_, static_cast<int>(k)); }
  bool can(const Problem& p) const { return dispatch_of(p, l_.target()).refusal.empty(); }
  bool is_inner(int memory) const { return l_.memories[static_cast<size_t>(memory)].where == Where::kInner; }

  // Whether what work `from` reads is still the same where work `to` runs.
  bool lasts(size_t from, size_t to) const {
    for (size_t k = from; k < to; ++k) {
      for (const int m : works_[k].writes) {
        if (is_among(works_[from].reads, m) || is_among(works_[from].operands, m)) return false;
      }
    }
    return true;
  }

  // Whether anybody sees what a work writes: numbers that codes stand for may have lost their readers.
  bool is_used(size_t k) const {
    const Work& w = works_[k];
    return w.errors >= 0 || std::any_of(w.writes.begin(), w.writes.end(), [&](int m) {
             return !is_inner(m) || std::any_of(works_.begin(), works_.end(), [&](const Work& reader) {
               return is_among(reader.reads, m) || is_among(reader.operands, m) ||
                      (reader.updates && is_among(reader.writes, m));
             });
           });
  }

  // The product alone.
  void replace(size_t k) {
    Source source;
    std::optional<GemvProblem> g = begin_gemv(l_, works_[k], &source);
    if (!g) return;
    g->shape = {source.columns};
    g->columns = {{source.w_offset, {source.w_column}}};
    g->epilogue = source.end;
    const auto drop_row = [](View* v) { v->strides.erase(v->strides.begin()); };
    for (Input& in : g->epilogue.inputs) {
      if (!in.given) drop_row(&in.view);
    }
    for (Output& o : g->epilogue.outputs) drop_row(&o.view);
    if (!can(*g)) return;
    works_[k].problem = std::move(*g);
    works_[k].operands = source.operands;
    works_[k].coded = {};
  }

  // A product for each chain that reads its columns.
  bool divide(size_t k) {
    Source source;
    const std::optional<GemvProblem> g = begin_gemv(l_, works_[k], &source);
    if (!g || works_[k].writes.size() != 1 || source.end.outputs.size() != 1 || !is_inner(works_[k].writes[0]))
      return false;
    const int made = works_[k].writes[0];
    std::vector<std::pair<size_t, Work>> parts;
    int64_t columns = 0;
    for (size_t j = 0; j < works_.size(); ++j) {
      if (is_gone(j) || j == k) continue;
      const Work& w = works_[j];
      if (is_among(w.operands, made) || is_among(w.writes, made)) return false;
      if (!is_among(w.reads, made)) continue;
      std::optional<Work> part = j > k && lasts(k, j) ? part_of(*g, source, works_[k], w, made) : std::nullopt;
      if (!part) return false;
      const auto& p = std::get<GemvProblem>(part->problem);
      columns += count_of(p.shape) * static_cast<int64_t>(p.columns.size());
      parts.emplace_back(j, std::move(*part));
    }
    if (parts.empty() || columns > source.columns) return false;  // none is computed twice
    for (auto& [j, part] : parts) works_[j] = std::move(part);
    gone_.push_back(static_cast<int>(k));
    return true;
  }

  // What chain `reader` makes of the columns in memory `made`, in place of the product and the chain.
  std::optional<Work> part_of(GemvProblem g, const Source& source, const Work& product, const Work& reader,
                              int made) const {
    const auto* const chain = std::get_if<ChainProblem>(&reader.problem);
    if (chain == nullptr || reader.updates || reader.errors >= 0 || !is_simple(chain->expression)) return {};
    const Expression& from = chain->expression;
    const Output& y = source.end.outputs[0];
    if (from.inputs.size() != reader.reads.size() || y.view.strides.back() != 1) return {};
    g.shape = chain->shape;
    std::vector<View> views;
    std::vector<int> view_of_input(from.inputs.size(), -1);
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      if (reader.reads[i] != made) continue;
      const View& view = from.inputs[i].view;
      if (from.inputs[i].dtype != source.end.type_of(y.value) || !is_inside(view, chain->shape, y.view.offset, source))
        return {};
      const auto same = std::find_if(views.begin(), views.end(), [&](const View& v) {
        return v.offset == view.offset && v.strides == view.strides;
      });
      view_of_input[i] = static_cast<int>(same - views.begin());
      if (same == views.end()) views.push_back(view);
    }
    for (const View& view : views) {
      GemvProblem::Columns c;
      c.offset = source.w_offset + (view.offset - y.view.offset) * source.w_column;
      for (const int64_t s : view.strides) c.steps.push_back(s * source.w_column);
      g.columns.push_back(std::move(c));
    }
    Work out;
    out.operands = source.operands;
    out.writes = reader.writes;
    out.node = product.node;
    // Inputs: the sums, the product's own for each of them, the chain's.
    Expression& e = g.epilogue;
    const int sums = static_cast<int>(views.size()), own = static_cast<int>(source.end.inputs.size()) - 1;
    for (int s = 0; s < sums; ++s) e.inputs.push_back(source.end.inputs[0]);
    for (const View& view : views) {
      for (size_t i = 1; i < source.end.inputs.size(); ++i) {
        Input in = source.end.inputs[i];
        const int64_t step = in.view.strides.back();
        in.view.offset += (view.offset - y.view.offset) * step;
        in.view.strides.clear();
        for (const int64_t s : view.strides) in.view.strides.push_back(s * step);
        e.inputs.push_back(std::move(in));
        out.reads.push_back(product.reads[i - 1]);
      }
    }
    std::vector<int> number(from.inputs.size());
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      if (view_of_input[i] >= 0) continue;
      number[i] = static_cast<int>(e.inputs.size());
      e.inputs.push_back(from.inputs[i]);
      out.reads.push_back(reader.reads[i]);
    }
    const int inputs = static_cast<int>(e.inputs.size()), steps = static_cast<int>(source.end.steps.size());
    const auto of_product = [&](int v, int sum) {
      if (v <= 0) return v < 0 ? v : sum;
      return v <= own ? sums + sum * own + v - 1 : inputs + sum * steps + v - own - 1;
    };
    for (int s = 0; s < sums; ++s) {
      for (Step step : source.end.steps) {
        step.a = of_product(step.a, s);
        step.b = of_product(step.b, s);
        step.c = of_product(step.c, s);
        e.steps.push_back(step);
      }
    }
    for (size_t i = 0; i < number.size(); ++i) {
      if (view_of_input[i] >= 0) number[i] = of_product(y.value, view_of_input[i]);
    }
    const auto of_chain = [&](int v) {
      if (v < 0) return v;
      const auto at = static_cast<size_t>(v);
      return at < number.size() ? number[at] : inputs + sums * steps + static_cast<int>(at - number.size());
    };
    for (Step step : from.steps) {
      step.a = of_chain(step.a);
      step.b = of_chain(step.b);
      step.c = of_chain(step.c);
      e.steps.push_back(step);
    }
    for (Output o : from.outputs) {
      o.value = of_chain(o.value);
      e.outputs.push_back(std::move(o));
    }
    if (e.steps.size() > kMostSteps || bindings(out) > l_.target().bindings) return {};
    out.problem = std::move(g);
    if (!can(out.problem)) return {};
    return out;
  }
  static size_t bindings(const Work& w) { return w.operands.size() + w.reads.size() + w.writes.size(); }

  // Whether each place of a view is a column.
  static bool is_inside(const View& view, const Extents& shape, int64_t offset, const Source& source) {
    int64_t last = view.offset - offset;
    if (last < 0) return false;
    for (size_t a = 0; a < shape.size(); ++a) {
      if (shape[a] > 1 && view.strides[a] < 0) return false;
      last += (shape[a] - 1) * view.strides[a];
    }
    return last < source.columns;
  }

  // What makes x is made by every product that reads it.
  void take_row(size_t k) {
    const auto* const rows = std::get_if<RowsProblem>(&works_[k].problem);
    if (rows == nullptr || works_[k].writes.size() != 1 || works_[k].updates || works_[k].errors >= 0) return;
    const int x = works_[k].writes[0];
    if (!is_inner(x) || !is_one_row(*rows)) return;
    std::vector<std::pair<size_t, Work>> readers;
    for (size_t j = 0; j < works_.size(); ++j) {
      const Work& w = works_[j];
      if (j == k) continue;
      if (is_among(w.reads, x) || is_among(w.writes, x)) return;
      if (!is_among(w.operands, x)) continue;
      const auto* const g = std::get_if<GemvProblem>(&w.problem);
      if (g == nullptr || j < k || !lasts(k, j) || g->x_offset != rows->epilogue.outputs[0].view.offset ||
          g->x_dtype != rows->epilogue.type_of(rows->epilogue.outputs[0].value))
        return;
      Work with = w;
      auto& p = std::get<GemvProblem>(with.problem);
      p.rows = {*rows};
      p.rows[0].epilogue.outputs[0].view = {};
      p.x_offset = 0;
      with.operands.erase(with.operands.begin());
      with.reads = works_[k].reads;
      with.reads.insert(with.reads.end(), w.reads.begin(), w.reads.end());
      if (bindings(with) > l_.target().bindings || !can(with.problem)) return;
      readers.emplace_back(j, std::move(with));
    }
    if (readers.empty()) return;
    for (auto& [j, w] : readers) works_[j] = std::move(w);
    gone_.push_back(static_cast<int>(k));
  }

  // One row, whose elements lie side by side.
  static bool is_one_row(const RowsProblem& p) {
    if (p.per_row || p.epilogue.outputs.size() != 1 || !is_simple(p.prologue) || !is_simple(p.epilogue)) return false;
    const Extents& steps = p.epilogue.outputs[0].view.strides;
    int64_t step = 1;
    for (size_t a = p.shape.size(); a-- > 0;) {
      if (p.shape[a] != 1 && steps[a] != step) return false;
      step *= p.shape[a];
    }
    return true;
  }

  Lowering& l_;
  std::vector<Work>& works_;
  std::vector<int> gone_;
};

}  // namespace

void make_gemvs(Lowering* lowering) {
  const Target& target = lowering->target();
  if (target.shuffles && !target.open) Gemvs(lowering).run();
}

}  // namespace vireo::gpu
