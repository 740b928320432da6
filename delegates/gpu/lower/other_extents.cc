#include "delegates/gpu/lower/other_extents.h"

#include <algorithm>
#include <set>

#include "delegates/gpu/lower/known_problems.h"

namespace vireo::gpu {
namespace {

constexpr int64_t kMostShares = 8, kStep = 64;  // of attention's keys: split.cc, attention.cc
constexpr int64_t kMostRows = 1 << 16;          // behind which no choice changes

bool is_weight(const Lowering& l, int memory) {
  return l.memories[static_cast<size_t>(memory)].where == Where::kWeights;
}

// A row of constants along the last axis is as long in each run.
bool has_fixed_rows(const Lowering& l, const Work& w, RowsProblem p) {
  Problem copy = std::move(p);
  size_t read = 0;
  for (const Expression* e : expressions_of(copy)) {
    for (const Input& in : e->inputs) {
      if (in.given || in.shares >= 0) continue;
      const int memory = w.reads[read++];
      if (is_weight(l, memory) && !in.view.strides.empty() && in.view.strides.back() != 0) return true;
    }
  }
  return false;
}

// Extents that take the place of `extent`: two in each octave, and what tiles of few rows have.
std::vector<int64_t> below(int64_t extent) {
  std::vector<int64_t> out;
  for (int64_t n = 4; n < std::min(extent, kMostRows); n *= 2) {
    out.push_back(n);
    if (n > 4 && n + n / 2 < extent) out.push_back(n + n / 2);
  }
  return out;
}

// The problem itself, and with fewer places on its first axis of matrices.
template <class P>
std::vector<P> by_batch(const P& p) {
  std::vector<P> out = {p};
  for (int64_t n = 2; !p.batch.empty() && n < std::min(p.batch[0], kMostRows); n *= 2) {
    out.push_back(p);
    out.back().batch[0] = n;
  }
  return out;
}

std::vector<Problem> others_of(const Lowering&, const Work&, const ProductProblem& all) {
  std::vector<Problem> out;
  for (const ProductProblem& p : by_batch(all)) {
    if (p.batch != all.batch) out.emplace_back(p);
    for (const int64_t m : below(p.m)) {
      ProductProblem fewer = p;
      fewer.m = m;
      out.emplace_back(fewer);
      if (!p.made_w) continue;
      for (int64_t ProductProblem::*extent : {&ProductProblem::n, &ProductProblem::k}) {
        ProductProblem both = fewer;
        if (both.*extent <= m) continue;
        both.*extent = m;
        out.emplace_back(std::move(both));
      }
    }
  }
  return out;
}

std::vector<Problem> others_of(const Lowering&, const Work&, const AttentionProblem& all) {
  std::vector<Problem> out;
  for (const AttentionProblem& p : by_batch(all)) {
    if (p.batch != all.batch) out.emplace_back(p);
    for (const int64_t n : below(std::max(p.queries, p.keys))) {
      AttentionProblem fewer = p;
      fewer.queries = std::min(p.queries, n);
      fewer.keys = std::min(p.keys, n);
      out.emplace_back(fewer);
    }
    for (int64_t steps = 2; steps <= kMostShares && steps * kStep < p.keys; ++steps) {  // each count of shares
      AttentionProblem fewer = p;
      fewer.keys = steps * kStep;
      out.emplace_back(fewer);
      fewer.queries = std::min(p.queries, fewer.keys);
      out.emplace_back(std::move(fewer));
    }
  }
  return out;
}

std::vector<Problem> others_of(const Lowering& l, const Work& w, const RowsProblem& p) {
  std::vector<Problem> out;
  if (p.row_axes != 1 || has_fixed_rows(l, w, p)) return out;
  std::vector<int64_t> lengths = below(p.shape.back());
  lengths.push_back(2);
  for (const int64_t n : lengths) {
    RowsProblem shorter = p;
    shorter.shape.back() = n;
    out.emplace_back(std::move(shorter));
  }
  return out;
}

template <class P>
std::vector<Problem> others_of(const Lowering&, const Work&, const P&) {
  return {};
}

}  // namespace

void mark_made(Lowering* l) {
  for (Work& w : l->works) {
    if (auto* const p = std::get_if<ProductProblem>(&w.problem)) p->made_w = !is_weight(*l, w.operands[1]);
  }
}

std::vector<Work> with_other_extents(const Lowering& l) {
  std::vector<Work> out;
  KnownProblems made(l.target());
  std::set<std::vector<uint32_t>> known;
  for (const Work& w : l.works) {
    const MadeProblem& of = made(w.problem);
    if (!of.refusal.empty() || !known.insert(of.kernel->words).second) continue;
    for (Problem& p : std::visit([&](const auto& problem) { return others_of(l, w, problem); }, w.problem)) {
      out.push_back(w);
      out.back().problem = std::move(p);
    }
  }
  return out;
}

bool make_first_axis_one(Network* network) {
  int64_t first = 0;
  for (Datum& d : network->values) {
    if (!d.open || d.rank() < 2 || d.constant != nullptr) continue;
    if (first == 0) first = d.dims[0];
    if (d.dims[0] == first) d.dims[0] = 1;
  }
  return first > 1;
}

}  // namespace vireo::gpu
