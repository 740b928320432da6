// Attention in one launch, against plain loops in float64.
#include "delegates/gpu/templates/attention.h"

#include <gtest/gtest.h>
#include <math.h>

#include <algorithm>

#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu::attention_test {
namespace {

struct Case {
  int64_t batch, heads, repeats, queries, keys, head, value_head;
  bool causal, masked;
  DType stored;
};

// Numbers that float16 has.
std::vector<float> halves(int64_t count, uint32_t seed) {
  std::vector<float> out = random_floats(static_cast<size_t>(count), seed);
  for (float& v : out) v = floorf(v * 256) / 256;
  return out;
}
Bytes stored_as(DType type, const std::vector<float>& v) {
  if (type == DType::kF32) return bytes_of(v);
  std::vector<uint16_t> out;
  for (const float f : v) out.push_back(half_of(f));
  return bytes_of(out);
}

int step(Expression* e, Function f, DType type, int a, int b = -1, int c = -1, uint64_t bits = 0) {
  Step s;
  s.function = f;
  s.type = type;
  s.a = a;
  s.b = b;
  s.c = c;
  s.bits = bits;
  e->steps.push_back(s);
  return static_cast<int>(e->inputs.size() + e->steps.size()) - 1;
}

// product / 4, plus a bias of [queries, keys] where masked, hidden above the diagonal where causal.
Expression score_of(const Case& c) {
  Expression e;
  Input product;
  product.given = true;
  e.inputs = {product};
  if (c.masked) {
    Input bias;
    bias.view.strides = {0, 0, 0, c.keys, 1};
    e.inputs.push_back(bias);
  }
  const int quarter = step(&e, Function::kConstant, DType::kF32, -1, -1, -1, 0x3e800000);
  int score = step(&e, Function::kMul, DType::kF32, 0, quarter);
  if (c.masked) score = step(&e, Function::kAdd, DType::kF32, score, 1);
  if (c.causal) {
    const int query = step(&e, Function::kPlace, DType::kI32, -1, -1, -1, 3),
              key = step(&e, Function::kPlace, DType::kI32, -1, -1, -1, 4);
    const int far = step(&e, Function::kLess, DType::kBool, query, key);
    const int never = step(&e, Function::kConstant, DType::kF32, -1, -1, -1, 0xff800000);
    score = step(&e, Function::kWhere, DType::kF32, far, never, score);
  }
  View unused;
  unused.strides.assign(5, 0);
  e.outputs = {{score, unused}};
  return e;
}

AttentionProblem problem_of(const Case& c) {
  AttentionProblem p;
  p.batch = {c.batch, c.heads, c.repeats};
  p.queries = c.queries;
  p.keys = c.keys;
  p.head = c.head;
  p.value_head = c.value_head;
  const int64_t all = c.heads * c.repeats;
  // Queries and results have heads side by side, keys and values one after another.
  p.q = {c.stored, 0, {c.queries * all * c.head, c.repeats * c.head, c.head}, all * c.head, 1};
  p.k = {c.stored, 0, {c.heads * c.keys * c.head, c.keys * c.head, 0}, c.head, 1};
  p.v = {c.stored, 0, {c.heads * c.keys * c.value_head, c.keys * c.value_head, 0}, c.value_head, 1};
  p.score = score_of(c);
  Input sum;
  sum.given = true;
  p.epilogue.inputs = {sum};
  View y;
  y.strides = {c.queries * all * c.value_head, c.repeats * c.value_head, c.value_head, all * c.value_head, 1};
  p.epilogue.outputs = {{0, y}};
  return p;
}

// What shares of the keys make together, as float64: the mean of their sums, weighed by their exponentials.
std::vector<float> combined(const AttentionProblem& p, size_t rows, const std::vector<float>& sums,
                            const std::vector<float>& statistics) {
  const auto shares = static_cast<size_t>(p.shares), size = static_cast<size_t>(p.value_head);
  std::vector<float> out;
  for (size_t row = 0; row < rows; ++row) {
    // Statistics are in the order of [batch..., query], sums in that of the epilogue's view.
    const auto queries = static_cast<size_t>(p.queries), heads = rows / queries / static_cast<size_t>(p.batch[0]);
    const size_t head = row % heads, query = row / heads % queries, b = row / heads / queries;
    const size_t at = (b * heads + head) * queries + query;
    double most = -INFINITY, total = 0;
    for (size_t s = 0; s < shares; ++s) most = fmax(most, static_cast<double>(statistics[(s * rows + at) * 2]));
    std::vector<double> weight(shares);
    for (size_t s = 0; s < shares; ++s) {
      const size_t i = (s * rows + at) * 2;
      weight[s] =
          isinf(most) ? 0 : static_cast<double>(statistics[i + 1]) * exp(static_cast<double>(statistics[i]) - most);
      total += weight[s];
    }
    for (size_t e = 0; e < size; ++e) {
      double sum = 0;
      for (size_t s = 0; s < shares; ++s) sum += weight[s] * static_cast<double>(sums[(s * rows + row) * size + e]);
      out.push_back(static_cast<float>(total == 0 ? 0 : sum / total));
    }
  }
  return out;
}

// share_keys: of a workgroup; 0: all.
void add(Trials& trials, const Case& c, const AttentionTiling& tiling, const Target& target, int64_t share_keys = 0) {
  const int64_t all = c.heads * c.repeats;
  const std::vector<float> q = halves(c.batch * c.queries * all * c.head, 1),
                           k = halves(c.batch * c.heads * c.keys * c.head, 2),
                           v = halves(c.batch * c.heads * c.keys * c.value_head, 3);
  std::vector<float> bias = halves(c.queries * c.keys, 4);
  for (int64_t n = 0; n < c.keys; ++n) bias[static_cast<size_t>(n)] = -INFINITY;  // the first query has no key
  const auto count = static_cast<size_t>(c.batch * c.queries * all * c.value_head);
  std::vector<Bytes> bindings = {stored_as(c.stored, q), stored_as(c.stored, k), stored_as(c.stored, v)};
  if (c.masked) bindings.push_back(bytes_of(bias));
  AttentionProblem p = problem_of(c);
  const auto rows = static_cast<size_t>(c.batch * c.queries * all);
  if (share_keys != 0) {
    p.shares = (c.keys + share_keys - 1) / share_keys;
    p.share_keys = share_keys;
    Extents& strides = p.epilogue.outputs[0].view.strides;
    strides.insert(strides.begin(), static_cast<int64_t>(count));
    bindings.emplace_back(static_cast<size_t>(p.shares) * count * 4, uint8_t{1});
    bindings.emplace_back(static_cast<size_t>(p.shares) * rows * 8, uint8_t{1});
  } else {
    bindings.emplace_back(count * 4, uint8_t{1});
  }
  trials.add("attention " + std::to_string(c.queries) + " " + std::to_string(c.keys) + " " + std::to_string(c.head),
             make_attention(p, tiling, target), target, bindings, [=](const std::vector<Bytes>& out) {
               const std::vector<float> y =
                   share_keys == 0 ? as<float>(out.back())
                                   : combined(p, rows, as<float>(out[out.size() - 2]), as<float>(out.back()));
               const auto at = [](const std::vector<float>& from, int64_t i) {
                 return static_cast<double>(from[static_cast<size_t>(i)]);
               };
               for (int64_t row = 0; row < c.batch * all * c.queries; ++row) {
                 const int64_t m = row % c.queries, head = row / c.queries % all, b = row / c.queries / all;
                 const int64_t of_query = (b * c.queries + m) * all + head, kv = b * c.heads + head / c.repeats;
                 std::vector<double> share(static_cast<size_t>(c.keys));
                 double most = -INFINITY, total = 0;
                 for (int64_t n = 0; n < c.keys; ++n) {
                   double s = 0;
                   for (int64_t e = 0; e < c.head; ++e)
                     s += at(q, of_query * c.head + e) * at(k, (kv * c.keys + n) * c.head + e);
                   s = s / 4 + (c.masked ? at(bias, m * c.keys + n) : 0);
                   if (c.causal && n > m) s = -INFINITY;
                   share[static_cast<size_t>(n)] = s;
                   most = fmax(most, s);
                 }
                 for (double& s : share) s = isinf(most) ? 0 : exp(s - most);
                 for (const double s : share) total += s;
                 for (int64_t e = 0; e < c.value_head; ++e) {
                   double sum = 0, size = 0;
                   for (int64_t n = 0; n < c.keys; ++n) {
                     const double value = at(v, (kv * c.keys + n) * c.value_head + e);
                     const double one = total == 0 ? 0 : share[static_cast<size_t>(n)] / total * value;
                     sum += one;
                     size += fabs(one);
                   }
                   // Shares are rounded to float16: 2^-11 of each.
                   ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(of_query * c.value_head + e)]), sum,
                               5e-4 * size + 1e-6)
                       << row << " " << e;
                 }
               }
             });
}

// Units that keep to themselves how they spread a matrix; those of which it is known, without and with copies that end
// later. Each for extents that change as well.
std::vector<Target> targets() {
  Target known = unit_target();
  known.units = {{16, 16, 16, true}};
  Target copies = known;
  copies.stage_bytes = 96u << 10;
  return {unit_target(), known, copies, opened(unit_target()), opened(known), opened(copies)};
}

// The fewest keys that two subgroups beside each other share.
uint32_t step_of(const Target& target) { return std::max(32u, target.subgroup); }

TEST(Attention, ByMatrixUnits) {
  Trials trials;
  const Case cases[] = {
      {1, 1, 1, 16, 32, 16, 16, false, false, DType::kF16},  // one step
      {2, 2, 1, 20, 37, 16, 32, false, false, DType::kF32},  // sizes that tiles do not divide
      {1, 2, 3, 9, 150, 24, 16, false, true, DType::kF32},   // several steps, shared heads, a bias
      {1, 2, 1, 70, 70, 32, 32, true, false, DType::kF16},   // hidden keys
      {1, 3, 1, 33, 128, 32, 32, false, true, DType::kF16}, {1, 1, 2, 5, 21, 10, 6, true, true, DType::kF32},
  };
  for (const Target& target : targets()) {
    for (const Case& c : cases) {
      const AttentionProblem p = problem_of(c);
      add(trials, c, choose_attention(p, target), target);
    }
    AttentionTiling several = choose_attention(problem_of(cases[3]), target);
    several.keys = step_of(target);
    several.down = 2;
    for (const uint32_t across : {1u, 2u}) {
      several.across = across;
      for (const size_t of : {1, 4}) add(trials, cases[of], several, target);
    }
  }
}

TEST(Attention, SharesOfTheKeys) {
  Trials trials;
  const Case cases[] = {
      {2, 2, 1, 20, 100, 16, 32, false, false, DType::kF32},  // one step a share, the last one shorter
      {1, 2, 3, 9, 150, 24, 16, false, true, DType::kF32},    // shared heads; a query without any key
      {1, 2, 1, 70, 160, 32, 32, true, false, DType::kF16},   // shares in which some queries see no key
      {1, 1, 2, 33, 128, 16, 16, true, true, DType::kF16},
  };
  for (const Target& target : targets()) {
    for (const Case& c : cases) {
      AttentionTiling t = choose_attention(problem_of(c), target);
      t.keys = step_of(target);
      t.across = std::min(t.across, 2u);
      ASSERT_EQ(make_attention(problem_of(c), t, target).refusal, "");
      for (const int64_t keys : {t.keys, 64u}) add(trials, c, t, target, keys);
    }
  }
}

TEST(Attention, WhatDoesNotFitIsRefused) {
  const Case c = {1, 1, 1, 16, 32, 16, 16, false, false, DType::kF16};
  AttentionProblem p = problem_of(c);
  EXPECT_NE(make_attention(p, choose_attention(p, rich_target()), rich_target()).refusal, "");  // no unit
  const Target target = unit_target();
  AttentionTiling t = choose_attention(p, target);
  EXPECT_EQ(make_attention(p, t, target).refusal, "");
  t.across = 64;
  EXPECT_NE(make_attention(p, t, target).refusal, "");
  t = choose_attention(p, target);
  p.shares = 2;
  p.share_keys = t.keys;
  EXPECT_NE(make_attention(p, t, target).refusal, "");  // there is no second share
  p.share_keys = t.keys / 2;
  EXPECT_NE(make_attention(p, t, target).refusal, "");  // half a step
  p.shares = 1;
  p.k.dtype = DType::kBF16;
  EXPECT_NE(make_attention(p, choose_attention(p, target), target).refusal, "");
  p.head = p.value_head = 1024;  // shared memory
  EXPECT_EQ(choose_attention(p, target).unit.m, 0u);
}

}  // namespace
}  // namespace vireo::gpu::attention_test
