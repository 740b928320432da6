// What is rounded where it is written computes what it did when it was rounded where it is read, on host lanes.
#include "delegates/gpu/lower/halve.h"

#include <gtest/gtest.h>

#include "delegates/gpu/lower/lanes_testing.h"

namespace vireo::gpu::halve_test {
namespace {

constexpr int64_t kRows = 40, kIn = 64, kHidden = 48, kOut = 32;

ProductProblem product(int64_t m, int64_t n, int64_t k, Function end) {
  ProductProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.x = {DType::kF32, 0, {}, k, 1};
  p.w = {DType::kF32, 0, {}, n, 1};
  ExpressionBuilder b(&p.epilogue);
  View y;
  y.strides = {n, 1};
  b.output(b.function(end, DType::kF32, b.given(DType::kF32)), y);
  return p;
}

// x w0 -> hidden (relu); hidden w1 -> y; where `also`, a chain reads hidden as well.
Lowering network(const Network& none, const Target& target, bool also) {
  Lowering l(none, target);
  const auto memory = [&](int64_t floats, Where where) {
    const int m = l.make_memory(static_cast<uint64_t>(floats) * sizeof(float));
    l.memories.back().where = where;
    return m;
  };
  const int x = memory(kRows * kIn, Where::kInput), w0 = memory(kIn * kHidden, Where::kInput),
            w1 = memory(kHidden * kOut, Where::kInput), hidden = memory(kRows * kHidden, Where::kInner),
            y = memory(kRows * kOut, Where::kOutput), z = memory(kRows * kHidden, Where::kOutput);
  Work& first = l.push(product(kRows, kHidden, kIn, Function::kRelu));
  first.operands = {x, w0};
  first.writes = {hidden};
  Work& second = l.push(product(kRows, kOut, kHidden, Function::kTanh));
  second.operands = {hidden, w1};
  second.writes = {y};
  if (also) {
    ChainProblem p;
    p.shape = {kRows * kHidden};
    ExpressionBuilder b(&p.expression);
    View line;
    line.strides = {1};
    b.output(b.function(Function::kNeg, DType::kF32, b.input(DType::kF32, line)), line);
    Work& third = l.push(p);
    third.reads = {hidden};
    third.writes = {z};
  }
  return l;
}

Target with_copies() {
  Target t = with_unit();
  t.stage_bytes = t.shared_bytes;
  return t;
}

TEST(Halve, WhatProductsReadIsWrittenInHalves) {
  const Target target = with_copies();
  const Network none;
  for (const bool also : {false, true}) {
    SCOPED_TRACE(also);
    std::vector<Bytes> memories;
    for (const int64_t floats : {kRows * kIn, kIn * kHidden, kHidden * kOut})
      memories.push_back(random_numbers(floats, static_cast<uint32_t>(floats)));
    Lowering before = network(none, target, also), after = network(none, target, also);
    halve(&after);
    const auto& reader = std::get<ProductProblem>(after.works[1].problem);
    EXPECT_EQ(reader.x.dtype, DType::kF16);
    EXPECT_EQ(reader.w.dtype, DType::kF32);  // of the part's border
    EXPECT_EQ(after.works[0].writes.size(), also ? 2u : 1u);
    EXPECT_EQ(after.memories.size(), before.memories.size() + (also ? 1 : 0));
    EXPECT_EQ(after.memories[3].bytes, before.memories[3].bytes / (also ? 1 : 2));
    const std::vector<Bytes> expected = run_works(before, memories), got = run_works(after, memories);
    EXPECT_EQ(got[4], expected[4]);
    if (also) {
      EXPECT_EQ(got[5], expected[5]);
    }
  }
}

TEST(Halve, OnlyWhereProductsOfHalvesAreTakenAndReadWhole) {
  const Network none;
  Target exact = with_copies();
  exact.half_products = false;
  for (const Target& none_of_it : {exact, with_unit()}) {
    Lowering l = network(none, none_of_it, false);
    halve(&l);
    EXPECT_EQ(std::get<ProductProblem>(l.works[1].problem).x.dtype, DType::kF32);
  }
  const Target target = with_copies();
  Lowering odd = network(none, target, false);
  std::get<ProductProblem>(odd.works[1].problem).x.row = kHidden + 4;  // eight halves would cross lines
  halve(&odd);
  EXPECT_EQ(std::get<ProductProblem>(odd.works[1].problem).x.dtype, DType::kF32);
}

// A batch of one has no stride, whatever a reshape left there: it crosses no lines.
TEST(Halve, ABatchOfOneIsInNobodysWay) {
  const Network none;
  const Target target = with_copies();
  Lowering l = network(none, target, false);
  ProductProblem p = std::get<ProductProblem>(l.works[1].problem);
  p.batch = {1};
  p.x.batch = {1};
  p.w.batch = {0};
  p.epilogue.outputs[0].view.strides = {0, kOut, 1};
  Work second = l.works[1];
  l.works.pop_back();
  Work& again = l.push(p);
  again.operands = second.operands;
  again.writes = second.writes;
  halve(&l);
  EXPECT_EQ(std::get<ProductProblem>(l.works[1].problem).x.dtype, DType::kF16);
}

}  // namespace
}  // namespace vireo::gpu::halve_test
