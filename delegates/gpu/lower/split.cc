#include "delegates/gpu/lower/split.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/space.h"

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
// Attention: workgroups with the shares, those that need no shares, and the most shares, whose sums are read again.
constexpr int64_t kMostAttending = 640, kEnoughAttending = 320, kMostShares = 8;
// Where a workgroup's subgroups share the keys already (Unit::known), few are enough.
constexpr int64_t kEnoughInRegisters = 36;

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

// Input `first` of a chain and those behind it: one a share, from one buffer.
void add_shares(ExpressionBuilder* b, Expression* to, int64_t shares, DType type, const View& view, int64_t step) {
  const auto first = static_cast<int>(to->inputs.size());
  for (int64_t s = 0; s < shares; ++s) {
    View of_share = view;
    of_share.offset += s * step;
    b->input(type, std::move(of_share));
    if (s != 0) to->inputs.back().shares = first;
  }
}

// Appends `end`, whose given input is value `total` of `to`. `own`: how many inputs and steps `to` had before it; the
// inputs of `end` are there.
void append(const Expression& end, int total, int own_inputs, Expression* to) {
  const auto inputs = static_cast<int>(end.inputs.size()), own_steps = static_cast<int>(to->steps.size());
  const auto renumber = [&](int* v) {
    if (*v == 0) {
      *v = total;
    } else if (*v > 0) {
      *v += own_inputs - 1 + (*v < inputs ? 0 : own_steps);
    }
  };
  for (Step step : end.steps) {
    renumber(&step.a);
    renumber(&step.b);
    renumber(&step.c);
    to->steps.push_back(step);
  }
  for (Output out : end.outputs) {
    renumber(&out.value);
    to->outputs.push_back(std::move(out));
  }
  to->slot = end.slot;
}

// `end` over the sum of the shares in place of the sum that it is given.
ChainProblem add_up(const Extents& shape, int64_t shares, DType sum, const Expression& end) {
  ChainProblem p;
  p.shape = shape;
  Expression& e = p.expression;
  ExpressionBuilder b(&e);
  View view;
  view.strides = dense_strides(shape);
  add_shares(&b, &e, shares, sum, view, count_of(shape));
  e.inputs.insert(e.inputs.end(), end.inputs.begin() + 1, end.inputs.end());
  int total = 0;
  for (int64_t s = 1; s < shares; ++s) total = b.function(Function::kAdd, sum, total, static_cast<int>(s));
  append(end, total, static_cast<int>(shares), &e);
  return p;
}

// `end` over what shares of the keys make together. Share s has greatest score m[s], a sum of exponentials l[s] and
// sums o[s] of its own: y = sum w[s] o[s] / sum w[s], w[s] = l[s] exp(m[s] - max m). A query without any key gets 0.
ChainProblem combine(const Extents& shape, int64_t shares, const Expression& end) {
  ChainProblem p;
  p.shape = shape;
  Expression& e = p.expression;
  ExpressionBuilder b(&e);
  View sums, statistics;
  sums.strides = dense_strides(shape);
  Extents rows = shape;
  rows.back() = 2;
  statistics.strides = dense_strides(rows);
  statistics.strides.back() = 0;
  const auto count = static_cast<int>(shares);
  add_shares(&b, &e, shares, kReal, sums, count_of(shape));
  for (int64_t s = 0; s < shares; ++s) {
    for (const int64_t which : {0, 1}) {
      statistics.offset = s * count_of(rows) + which;
      b.input(kReal, statistics);
      if (s + which != 0) e.inputs.back().shares = count;
    }
  }
  e.inputs.insert(e.inputs.end(), end.inputs.begin() + 1, end.inputs.end());
  const auto f = [&b](Function of, int x, int y) { return b.function(of, kReal, x, y); };
  int greatest = b.constant_f32(std::numeric_limits<float>::lowest());
  for (int s = 0; s < count; ++s) greatest = f(Function::kMax, greatest, count + 2 * s);
  int total = -1, sum = -1;
  for (int s = 0; s < count; ++s) {
    const int behind = f(Function::kSub, count + 2 * s, greatest);
    const int weight = f(Function::kMul, b.function(Function::kExp, kReal, behind), count + 2 * s + 1);
    const int part = f(Function::kMul, weight, s);
    total = s == 0 ? weight : f(Function::kAdd, total, weight);
    sum = s == 0 ? part : f(Function::kAdd, sum, part);
  }
  // A share with the greatest score has a sum of 1 or more.
  const int divisor = f(Function::kMax, total, b.constant_f32(std::numeric_limits<float>::min()));
  append(end, f(Function::kDiv, sum, divisor), 3 * count, &e);
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
  if (p->inner != 0) return false;             // it has many rows
  if (target.open && p->made_w) return false;  // its depth may be another in each run
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

// Attention with its keys in shares, and what combines them. *sums: floats of their sums; statistics are behind them.
bool split(AttentionProblem* p, const Target& target, int64_t* sums, int64_t* statistics, ChainProblem* end) {
  const AttentionTiling t = choose_attention(*p, target);
  if (t.unit.m == 0 || !is_plain(p->epilogue)) return false;
  const int64_t rows = int64_t{t.down} * t.unit.m, batch = count_of(p->batch), all = batch * p->queries;
  const int64_t groups = batch * ((p->queries + rows - 1) / rows), steps = (p->keys + t.keys - 1) / t.keys;
  const int64_t room = static_cast<int64_t>(kMostShareBytes / sizeof(float)) / (all * (p->value_head + 2));
  const int64_t enough = t.unit.known ? kEnoughInRegisters : kEnoughAttending;
  int64_t shares = groups >= enough ? 1 : std::min({kMostAttending / groups, kMostShares, steps, room});
  if (shares < 2) return false;
  const int64_t each = (steps + shares - 1) / shares;
  shares = (steps + each - 1) / each;
  if (shares < 2) return false;
  Extents shape = p->batch;
  shape.push_back(p->queries);
  shape.push_back(p->value_head);
  *end = combine(shape, shares, p->epilogue);
  *sums = shares * all * p->value_head;
  *statistics = shares * all * 2;
  p->shares = shares;
  p->share_keys = each * t.keys;
  shape.insert(shape.begin(), shares);
  write_sums(shape, kReal, &p->epilogue);
  return true;
}

}  // namespace

void split_depth(Lowering* l) {
  std::vector<Work> works;
  for (Work& w : l->works) {
    int64_t sums = 0, statistics = 0;
    ChainProblem end;
    bool splits = false;
    std::ptrdiff_t first = 0;  // of the epilogue's inputs
    if (auto* const product = std::get_if<ProductProblem>(&w.problem))
      splits = split(product, l->target(), &sums, &end);
    if (auto* const conv = std::get_if<ConvolutionProblem>(&w.problem)) splits = split(conv, l->target(), &sums, &end);
    if (auto* const attention = std::get_if<AttentionProblem>(&w.problem)) {
      first = static_cast<std::ptrdiff_t>(bound_inputs(attention->score));
      splits = split(attention, l->target(), &sums, &statistics, &end);
    }
    if (!splits) {
      works.push_back(std::move(w));
      continue;
    }
    Work rest;
    rest.problem = std::move(end);
    rest.reads = {l->make_memory(static_cast<uint64_t>(sums) * sizeof(float))};
    if (statistics != 0) rest.reads.push_back(l->make_memory(static_cast<uint64_t>(statistics) * sizeof(float)));
    rest.writes = std::move(w.writes);
    w.writes = rest.reads;
    rest.reads.insert(rest.reads.end(), w.reads.begin() + first, w.reads.end());
    rest.errors = std::exchange(w.errors, -1);
    rest.node = w.node;
    w.reads.resize(static_cast<size_t>(first));
    works.push_back(std::move(w));
    works.push_back(std::move(rest));
  }
  l->works = std::move(works);
}

}  // namespace vireo::gpu
