#include "delegates/gpu/lower/split.h"

#include <algorithm>
#include <utility>

namespace vireo::gpu {
namespace {

constexpr int64_t kTile = 64;         // of rows and columns
constexpr int64_t kFewRows = 4;       // up to here a template of its own shares the depth
constexpr int64_t kEnough = 192;      // tiles that keep a device busy
constexpr int64_t kMostGroups = 512;  // with the shares
constexpr int64_t kLeastDepth = 64;   // of a share: below, adding up costs more than it saves
constexpr int64_t kTileDepth = 16;    // that a share is a multiple of
// With a matrix unit: tiles where they are few, the least depth that is shared, and the least of a share.
constexpr int64_t kUnitTile = 32, kUnitDeep = 1024, kUnitShare = 256;
constexpr size_t kMostBatchAxes = 4;

// How many share the depth, which they divide. `unit`: a matrix unit multiplies.
int64_t shares_of(int64_t m, int64_t n, int64_t batch, int64_t depth, bool unit) {
  if (m <= kFewRows) return 1;
  if (unit) {
    const int64_t tiles = batch * ((m + kUnitTile - 1) / kUnitTile) * ((n + kUnitTile - 1) / kUnitTile);
    int64_t shares = 1;
    while (depth >= kUnitDeep && tiles * shares * 2 <= kMostGroups && depth % (shares * 2 * kLeastDepth) == 0 &&
           depth / (shares * 2) >= kUnitShare)
      shares *= 2;
    return shares;
  }
  const int64_t tiles = batch * ((m + kTile - 1) / kTile) * ((n + kTile - 1) / kTile);
  int64_t shares = 1;
  while (tiles * shares < kEnough && tiles * shares * 2 <= kMostGroups && depth % (shares * 2 * kTileDepth) == 0 &&
         depth / (shares * 2) >= kLeastDepth)
    shares *= 2;
  return shares;
}

bool is_plain(const Expression& e) {
  return std::all_of(e.inputs.begin(), e.inputs.end(), [](const Input& in) {
    return in.given || (in.view.begin.empty() && in.view.gather_axis < 0 && in.shares < 0);
  });
}

// The sums of each share, one share behind the other.
void write_sums(const Extents& shape, DType sum, Expression* out) {
  *out = {};
  ExpressionBuilder b(out);
  View view;
  view.strides = dense_strides(shape);
  b.output(b.given(sum), view);
}

// `end` over the sum of the shares in place of the sum that it is given.
ChainProblem add_up(const Extents& shape, int64_t shares, DType sum, const Expression& end) {
  ChainProblem p;
  p.shape = shape;
  int64_t elements = 1;
  for (const int64_t d : shape) elements *= d;
  ExpressionBuilder b(&p.expression);
  for (int64_t s = 0; s < shares; ++s) {
    View view;
    view.offset = s * elements;
    view.strides = dense_strides(shape);
    b.input(sum, std::move(view));
    if (s != 0) p.expression.inputs.back().shares = 0;
  }
  p.expression.inputs.insert(p.expression.inputs.end(), end.inputs.begin() + 1, end.inputs.end());
  int total = 0;
  for (int64_t s = 1; s < shares; ++s) total = b.function(Function::kAdd, sum, total, static_cast<int>(s));
  const auto inputs = static_cast<int>(end.inputs.size());
  const auto renumber = [&](int* v) {
    if (*v == 0) {
      *v = total;
    } else if (*v > 0) {
      *v += *v < inputs ? static_cast<int>(shares) - 1 : 2 * (static_cast<int>(shares) - 1);
    }
  };
  for (Step step : end.steps) {
    renumber(&step.a);
    renumber(&step.b);
    renumber(&step.c);
    p.expression.steps.push_back(step);
  }
  for (Output out : end.outputs) {
    renumber(&out.value);
    p.expression.outputs.push_back(std::move(out));
  }
  p.expression.slot = end.slot;
  return p;
}

// A problem in shares, and what adds them up; false: it stays as it is.
bool split(ConvolutionProblem* p, const Target& target, int64_t* sums, ChainProblem* end) {
  const int64_t m = p->images * p->window.places(), depth = p->channels * p->window.taps();
  const bool unit = choose_convolution(*p, target).unit.m != 0;
  const int64_t shares = p->groups == 1 ? shares_of(m, p->outputs, 1, depth, unit) : 1;
  if (shares == 1 || !is_plain(p->epilogue)) return false;
  const Extents shape = {1, p->images, p->window.out[0], p->window.out[1], p->window.out[2], p->outputs};
  *end = add_up(shape, shares, p->sum, p->epilogue);
  *sums = shares * m * p->outputs;
  p->shares = shares;
  Extents all = shape;
  all[0] = shares;
  write_sums(all, p->sum, &p->epilogue);
  return true;
}

bool split(ProductProblem* p, const Target& target, int64_t* sums, ChainProblem* end) {
  int64_t batch = 1;
  for (const int64_t d : p->batch) batch *= d;
  const bool unit = choose_product(*p, target).unit.m != 0;
  const int64_t shares = p->batch.size() < kMostBatchAxes ? shares_of(p->m, p->n, batch, p->k, unit) : 1;
  if (shares == 1 || !is_plain(p->epilogue)) return false;
  Extents shape = p->batch;
  shape.push_back(p->m);
  shape.push_back(p->n);
  *end = add_up(shape, shares, p->sum, p->epilogue);
  *sums = shares * batch * p->m * p->n;
  p->k /= shares;
  p->batch.insert(p->batch.begin(), shares);
  p->x.batch.insert(p->x.batch.begin(), p->k * p->x.column);
  p->w.batch.insert(p->w.batch.begin(), p->k * p->w.row);
  shape.insert(shape.begin(), shares);
  write_sums(shape, p->sum, &p->epilogue);
  return true;
}

}  // namespace

void split_depth(Lowering* l) {
  std::vector<Work> works;
  for (Work& w : l->works) {
    int64_t sums = 0;
    ChainProblem end;
    bool splits = false;
    if (auto* const product = std::get_if<ProductProblem>(&w.problem))
      splits = split(product, l->target(), &sums, &end);
    if (auto* const conv = std::get_if<ConvolutionProblem>(&w.problem)) splits = split(conv, l->target(), &sums, &end);
    if (!splits) {
      works.push_back(std::move(w));
      continue;
    }
    const int memory = l->make_memory(static_cast<uint64_t>(sums) * sizeof(float));
    Work rest;
    rest.problem = std::move(end);
    rest.reads = {memory};
    rest.reads.insert(rest.reads.end(), w.reads.begin(), w.reads.end());
    rest.writes = std::move(w.writes);
    rest.errors = std::exchange(w.errors, -1);
    rest.node = w.node;
    w.reads.clear();
    w.writes = {memory};
    works.push_back(std::move(w));
    works.push_back(std::move(rest));
  }
  l->works = std::move(works);
}

}  // namespace vireo::gpu
