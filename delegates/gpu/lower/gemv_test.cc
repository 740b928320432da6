// What a decoder's products of one row become, and that they compute what they did, on host lanes.
#include "delegates/gpu/lower/gemv.h"

#include <gtest/gtest.h>

#include "delegates/gpu/lower/lanes_testing.h"
#include "delegates/gpu/lower/redirect.h"

namespace vireo::gpu::gemv_test {
namespace {

constexpr int64_t kDepth = 64, kHead = 16, kGate = 24, kColumns = 3 * kHead + 2 * kGate, kPast = 5;

Target exchanging() {
  Target t = with_unit();
  t.units.clear();
  t.shuffles = true;
  return t;
}

View view(int64_t offset, Extents strides) {
  View v;
  v.offset = offset;
  v.strides = std::move(strides);
  return v;
}

// One row: y = norm(x) w + bias, of which columns are a head that is rotated in halves and copied behind a cache, a
// head that is copied behind another, one that is scaled, and a gate with what it multiplies.
class Layer {
 public:
  explicit Layer(const Target& target) : l(none_, target) {
    const int x = memory(kDepth, Where::kInput), gamma = memory(kDepth, Where::kWeights),
              w = memory(kDepth * kColumns, Where::kWeights), bias = memory(kColumns, Where::kWeights);
    const int made = memory(kDepth, Where::kInner), y = memory(kColumns, Where::kInner),
              turned = memory(kHead, Where::kInner);
    keys = memory((kPast + 1) * kHead, Where::kOutput);
    values = memory((kPast + 1) * kHead, Where::kOutput);
    scaled = memory(kHead, Where::kOutput);
    gated = memory(kGate, Where::kOutput);
    norm(x, gamma, made);
    ProductProblem p;
    p.n = kColumns;
    p.k = kDepth;
    p.x = {DType::kF32, 0, {}, kDepth, 1};
    p.w = {DType::kF32, 0, {}, 1, kDepth};
    p.made_w = false;
    ExpressionBuilder b(&p.epilogue);
    const int sum = b.given(DType::kF32);
    b.output(b.function(Function::kAdd, DType::kF32, sum, b.input(DType::kF32, view(0, {0, 1}))),
             view(0, {kColumns, 1}));
    push(std::move(p), {made, w}, {bias}, {y});
    rotate(y, turned);
    copy(turned, 0, keys);
    copy(y, kHead, values);
    chain({kHead}, y, {2 * kHead}, scaled, {0}, [](ExpressionBuilder& e, const std::vector<int>& v) {
      return std::vector<int>{e.function(Function::kMul, DType::kF32, v[0], e.constant_f32(0.5f))};
    });
    chain({kGate}, y, {3 * kHead, 3 * kHead + kGate}, gated, {0}, [](ExpressionBuilder& e, const std::vector<int>& v) {
      const int gate = e.function(Function::kSigmoid, DType::kF32, v[0]);
      return std::vector<int>{e.function(Function::kMul, DType::kF32, gate, v[1])};
    });
  }

  Lowering l;
  int keys = 0, values = 0, scaled = 0, gated = 0;

 private:
  using Make = std::function<std::vector<int>(ExpressionBuilder&, const std::vector<int>&)>;

  int memory(int64_t floats, Where where) {
    const int m = l.make_memory(static_cast<uint64_t>(floats) * sizeof(float));
    l.memories.back().where = where;
    return m;
  }
  void push(Problem p, std::vector<int> operands, std::vector<int> reads, std::vector<int> writes) {
    Work& w = l.push(std::move(p));
    w.operands = std::move(operands);
    w.reads = std::move(reads);
    w.writes = std::move(writes);
  }
  void norm(int x, int gamma, int made) {
    RowsProblem p;
    p.shape = {1, kDepth};
    ExpressionBuilder v(&p.prologue);
    v.output(v.input(DType::kF32, view(0, {0, 1})), {});
    Statistic squares;
    ExpressionBuilder s(&squares.map);
    const int one = s.given(DType::kF32);
    s.output(s.function(Function::kMul, DType::kF32, one, one), {});
    p.statistics = {squares};
    ExpressionBuilder b(&p.epilogue);
    const int element = b.given(DType::kF32), sum = b.given(DType::kF32), scale = b.input(DType::kF32, view(0, {0, 1}));
    const int root = b.function(Function::kSqrt, DType::kF32, sum);
    const int share = b.function(Function::kDiv, DType::kF32, element, root);
    b.output(b.function(Function::kMul, DType::kF32, share, scale), view(0, {kDepth, 1}));
    push(std::move(p), {}, {x, gamma}, {made});
  }
  void chain(const Extents& shape, int from, const std::vector<int64_t>& reads, int to,
             const std::vector<int64_t>& writes, const Make& make) {
    ChainProblem p;
    p.shape = shape;
    ExpressionBuilder b(&p.expression);
    std::vector<int> given;
    for (const int64_t offset : reads) given.push_back(b.input(DType::kF32, view(offset, {1})));
    const std::vector<int> results = make(b, given);
    for (size_t i = 0; i < results.size(); ++i) b.output(results[i], view(writes[i], {1}));
    push(std::move(p), {}, std::vector<int>(reads.size(), from), std::vector<int>(writes.size(), to));
  }
  void rotate(int y, int turned) {
    constexpr int64_t kHalf = kHead / 2;
    chain({kHalf}, y, {0, kHalf}, turned, {0, kHalf}, [](ExpressionBuilder& e, const std::vector<int>& v) {
      const int cosine = e.constant_f32(0.8f), sine = e.constant_f32(0.6f);
      const auto f = [&e](Function of, int a, int b) { return e.function(of, DType::kF32, a, b); };
      return std::vector<int>{
          f(Function::kSub, f(Function::kMul, v[0], cosine), f(Function::kMul, v[1], sine)),
          f(Function::kAdd, f(Function::kMul, v[1], cosine), f(Function::kMul, v[0], sine)),
      };
    });
  }
  // A row of a head behind the cache's last one.
  void copy(int from, int64_t offset, int to) {
    ChainProblem p;
    p.shape = {1, 1, kHead};
    ExpressionBuilder b(&p.expression);
    b.output(b.input(DType::kF32, view(offset, {kHead, kHead, 1})), view(kPast * kHead, {0, kHead, 1}));
    push(std::move(p), {}, {from}, {to});
  }

  const Network none_;
};

std::vector<Bytes> inputs_of(const Layer& layer) {
  std::vector<Bytes> memories;
  for (uint32_t m = 0; m < 4; ++m)
    memories.push_back(random_numbers(static_cast<int64_t>(layer.l.memories[m].bytes / sizeof(float)), m + 1));
  return memories;
}

std::vector<float> floats(const Bytes& b) {
  std::vector<float> out(b.size() / sizeof(float));
  std::memcpy(out.data(), b.data(), b.size());
  return out;
}

TEST(Gemv, ALayersProductsTakeWhatIsAroundThem) {
  const Target target = exchanging();
  Layer plain(target), layer(target);
  ASSERT_EQ(layer.l.works.size(), 7u);
  redirect(&layer.l);
  EXPECT_EQ(layer.l.works.size(), 6u);  // the rotated head lies behind the cache at once
  make_gemvs(&layer.l);
  ASSERT_EQ(layer.l.works.size(), 4u);
  size_t columns = 0;
  for (const Work& w : layer.l.works) {
    const auto* const g = std::get_if<GemvProblem>(&w.problem);
    ASSERT_NE(g, nullptr);
    EXPECT_EQ(g->rows.size(), 1u);
    columns += g->columns.size();
  }
  EXPECT_EQ(columns, 6u);
  const std::vector<Bytes> before = run_works(plain.l, inputs_of(plain)), after = run_works(layer.l, inputs_of(layer));
  for (const int m : {layer.keys, layer.values, layer.scaled, layer.gated}) {
    const std::vector<float> a = floats(before[static_cast<size_t>(m)]), b = floats(after[static_cast<size_t>(m)]);
    const size_t first = m == layer.keys || m == layer.values ? kPast * kHead : 0;
    for (size_t i = first; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6f * (1 + std::abs(a[i]))) << m << " " << i;
    for (size_t i = 0; i < first; ++i) EXPECT_EQ(std::memcmp(&a[i], &b[i], 4), 0) << "the cache's rows are touched";
  }
}

TEST(Gemv, WhatOthersReadStays) {
  const Target target = exchanging();
  {
    Layer layer(target);  // the norm's result is an output of the part
    layer.l.memories[4].where = Where::kOutput;
    make_gemvs(&layer.l);
    EXPECT_NE(std::get_if<RowsProblem>(&layer.l.works[0].problem), nullptr);
  }
  {
    Layer layer(target);  // so are the columns: the product stays one, and takes the norm in
    layer.l.memories[5].where = Where::kOutput;
    make_gemvs(&layer.l);
    EXPECT_EQ(layer.l.works.size(), 6u);
    EXPECT_NE(std::get_if<GemvProblem>(&layer.l.works[0].problem), nullptr);
  }
  {
    Layer layer(target);  // the rotated head too: its copy is made
    layer.l.memories[6].where = Where::kOutput;
    redirect(&layer.l);
    EXPECT_EQ(layer.l.works.size(), 7u);
  }
  {
    Layer layer(target);  // weights that a run brings are not there before it waits
    layer.l.memories[2].where = Where::kInput;
    make_gemvs(&layer.l);
    EXPECT_EQ(layer.l.works.size(), 7u);
  }
  Target silent = target;
  silent.shuffles = false;
  Layer layer(silent);
  make_gemvs(&layer.l);
  EXPECT_EQ(layer.l.works.size(), 7u);
}

}  // namespace
}  // namespace vireo::gpu::gemv_test
