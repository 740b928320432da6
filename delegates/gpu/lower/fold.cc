#include "delegates/gpu/lower/fold.h"

#include <algorithm>

#include "delegates/gpu/templates/evaluate.h"

namespace vireo::gpu {
namespace {

// Axis `batch` of a space of [..., batch, m, n], and m, as one axis of batch * m places.
bool is_foldable(const View& view, size_t batch, int64_t m) {
  if (!view.begin.empty() || view.gather_axis >= 0 || view.strides.size() != batch + 3) return false;
  return m == 1 || view.strides[batch] == m * view.strides[batch + 1];
}
void fold_view(View* view, size_t batch, int64_t m) {
  if (m == 1) view->strides[batch + 1] = view->strides[batch];
  view->strides.erase(view->strides.begin() + static_cast<std::ptrdiff_t>(batch));
}

// Views that are read: a part of an expression that is given has none.
template <class F>
void for_views(Expression* e, const F& f) {
  for (Input& in : e->inputs) {
    if (!in.given) f(&in.view);
  }
  for (Output& out : e->outputs) f(&out.view);
}

bool folds(ProductProblem* p) {
  if (p->batch.empty() || p->w.batch.back() != 0 || sees_places(p->epilogue)) return false;
  const size_t batch = p->batch.size() - 1;
  bool all = p->m == 1 || p->x.batch.back() == p->m * p->x.row;
  for (const Input& in : p->epilogue.inputs) all = all && !in.indexed;
  for_views(&p->epilogue, [&](const View* v) { all = all && is_foldable(*v, batch, p->m); });
  return all;
}

// Where rows and batch cannot be one axis, few rows in a large batch are many in a small one: a model whose values lie
// with the batch inside the sequence.
bool swaps(const ProductProblem& p) {
  constexpr int64_t kMostRows = 16;
  if (p.batch.empty() || p.w.batch.back() != 0 || p.m > kMostRows || p.m >= p.batch.back()) return false;
  if (sees_places(p.epilogue)) return false;
  const auto plain = [](const View& v) { return v.begin.empty() && v.gather_axis < 0; };
  return std::all_of(p.epilogue.inputs.begin(), p.epilogue.inputs.end(),
                     [&](const Input& in) { return in.given || (!in.indexed && plain(in.view)); }) &&
         std::all_of(p.epilogue.outputs.begin(), p.epilogue.outputs.end(),
                     [&](const Output& out) { return plain(out.view); });
}

// Where only x has rows and batch one behind another, they are rows that are two axes in the end. It is worth that
// where there are many, and tiles would end behind each matrix's rows.
bool joins_rows(const ProductProblem& p) {
  constexpr int64_t kTile = 64, kMany = 256;
  if (p.batch.empty() || p.w.batch.back() != 0) return false;
  const auto tiles = [](int64_t rows) { return (rows + kTile - 1) / kTile; };
  const int64_t batch = p.batch.back(), apart = std::min(batch * tiles(p.m), p.m * tiles(batch));
  return p.m * batch >= kMany && apart > tiles(p.m * batch) &&
         (p.x.batch.back() == p.m * p.x.row || p.x.row == batch * p.x.batch.back());
}
void join_rows(ProductProblem* p) {
  const int64_t batch = p->batch.back();
  p->turned = p->x.batch.back() != p->m * p->x.row;
  p->inner = p->turned ? batch : p->m;
  if (p->turned) p->x.row = p->x.batch.back();
  p->m *= batch;
  p->batch.pop_back();
  p->x.batch.pop_back();
  p->w.batch.pop_back();
}

}  // namespace

void fold(Lowering* lowering) {
  if (lowering->target().open) return;
  for (Work& work : lowering->works) {
    auto* const p = std::get_if<ProductProblem>(&work.problem);
    while (p != nullptr && folds(p)) {
      const size_t batch = p->batch.size() - 1;
      for_views(&p->epilogue, [&](View* v) { fold_view(v, batch, p->m); });
      if (p->m == 1) p->x.row = p->x.batch.back();
      p->m *= p->batch.back();
      p->batch.pop_back();
      p->x.batch.pop_back();
      p->w.batch.pop_back();
    }
    if (p != nullptr && joins_rows(*p)) join_rows(p);
    if (p == nullptr || p->inner != 0 || !swaps(*p)) continue;
    const size_t batch = p->batch.size() - 1;
    for_views(&p->epilogue, [&](View* v) { std::swap(v->strides[batch], v->strides[batch + 1]); });
    std::swap(p->m, p->batch.back());
    std::swap(p->x.row, p->x.batch.back());
  }
}

}  // namespace vireo::gpu
