// A product with its batch among its rows computes what it did, on host lanes.
#include "delegates/gpu/lower/fold.h"

#include <gtest/gtest.h>

#include "delegates/gpu/lower/lanes_testing.h"

namespace vireo::gpu::fold_test {
namespace {

constexpr int64_t kIn = 24, kOut = 20;

struct Case {
  Extents batch;
  int64_t m;
  Extents x;         // strides of the batch
  Extents residual;  // strides of what is added, of batch and m
};

// y = x w + residual, y as [batch..., m, n].
Lowering network(const Network& none, const Target& target, const Case& c, bool w_of_batch) {
  Lowering l(none, target);
  int64_t count = c.m;
  for (const int64_t e : c.batch) count *= e;
  const auto memory = [&](int64_t floats, Where where) {
    const int m = l.make_memory(static_cast<uint64_t>(floats) * sizeof(float));
    l.memories.back().where = where;
    return m;
  };
  const int x = memory(count * 2 * kIn, Where::kInput), w = memory(count * kIn * kOut, Where::kInput),
            r = memory(count * kOut, Where::kInput), y = memory(count * kOut, Where::kOutput);
  ProductProblem p;
  p.batch = c.batch;
  p.m = c.m;
  p.n = kOut;
  p.k = kIn;
  p.x = {DType::kF32, 0, c.x, kIn, 1};
  p.w = {DType::kF32, 0, Extents(c.batch.size(), w_of_batch ? kIn * kOut : 0), kOut, 1};
  ExpressionBuilder b(&p.epilogue);
  View residual, out;
  residual.strides = c.residual;
  residual.strides.push_back(1);
  out.strides.assign(c.batch.size() + 2, 1);
  out.strides[c.batch.size()] = kOut;
  for (size_t i = c.batch.size(); i-- > 0;)
    out.strides[i] = out.strides[i + 1] * (i + 1 == c.batch.size() ? c.m : c.batch[i + 1]);
  const int sum = b.given(DType::kF32);
  b.output(b.function(Function::kAdd, DType::kF32, sum, b.input(DType::kF32, residual)), out);
  Work& work = l.push(p);
  work.operands = {x, w};
  work.reads = {r};
  work.writes = {y};
  return l;
}

// Inputs of whole numbers, whose sums are exact in any order.
std::vector<Bytes> whole_numbers(const Lowering& l) {
  std::vector<Bytes> memories;
  for (size_t m = 0; m < 3; ++m) {
    memories.emplace_back(l.memories[m].bytes);
    for (size_t i = 0; i < memories[m].size(); i += sizeof(float)) {
      const float v = static_cast<float>((i * 7 + m) % 23) - 11;
      std::memcpy(&memories[m][i], &v, sizeof(v));
    }
  }
  return memories;
}

// What is left of a case's batch.
size_t folded(const Case& c, const Target& target, bool w_of_batch) {
  const Network none;
  const Lowering before = network(none, target, c, w_of_batch);
  Lowering after = before;
  fold(&after);
  const std::vector<Bytes> memories = whole_numbers(before);
  EXPECT_TRUE(run_works(after, memories)[3] == run_works(before, memories)[3]);
  const auto& p = std::get<ProductProblem>(after.works[0].problem);
  EXPECT_EQ(p.batch.size(), p.x.batch.size());
  EXPECT_EQ(p.batch.size(), p.w.batch.size());
  return p.batch.size();
}

Target exact() {
  Target t = with_unit();
  t.half_products = false;
  return t;
}

TEST(Fold, BatchesOfOneRightOperandBecomeRows) {
  const Target target = exact();
  // A row for each of 9 places; 3 times 4 rows one behind another; the residual is the same for all rows.
  EXPECT_EQ(folded({{9}, 1, {kIn}, {kOut, 0}}, target, false), 0u);
  EXPECT_EQ(folded({{9}, 1, {2 * kIn}, {kOut, 0}}, target, false), 0u);
  EXPECT_EQ(folded({{3}, 4, {4 * kIn}, {4 * kOut, kOut}}, target, false), 0u);
  EXPECT_EQ(folded({{3}, 4, {4 * kIn}, {0, 0}}, target, false), 0u);
  EXPECT_EQ(folded({{2, 3}, 4, {12 * kIn, 4 * kIn}, {12 * kOut, 4 * kOut, kOut}}, target, false), 0u);
}

// x lies with the batch of 3 inside the sequence of 9, y the other way round.
TEST(Fold, FewRowsChangePlacesWithALargeBatch) {
  const Network none;
  const Target target = exact();
  const Case c = {{9}, 3, {kIn}, {kOut, 9 * kOut}};
  Lowering l = network(none, target, c, false);
  std::get<ProductProblem>(l.works[0].problem).x.row = 9 * kIn;
  Lowering after = l;
  fold(&after);
  const auto& p = std::get<ProductProblem>(after.works[0].problem);
  EXPECT_EQ(p.m, 9);
  EXPECT_EQ(p.batch, Extents{3});
  EXPECT_EQ(p.x.row, kIn);
  EXPECT_EQ(p.x.batch, Extents{9 * kIn});
  const std::vector<Bytes> memories = whole_numbers(l);
  EXPECT_TRUE(run_works(after, memories)[3] == run_works(l, memories)[3]);
}

// x lies row behind row, with the batch outside or inside; y and the residual lie otherwise.
TEST(Fold, RowsAreTwoAxesOfAResultThatLiesOtherwise) {
  const Network none;
  const Target target = exact();
  struct Rows {
    int64_t batch, m;
  };
  for (const auto& [batch, m] : {Rows{8, 37}, {37, 8}}) {
    for (const bool inside : {false, true}) {
      SCOPED_TRACE(std::to_string(m) + (inside ? " inside" : " outside"));
      const Case c = {{batch}, m, {inside ? kIn : m * kIn}, {kOut, batch * kOut}};
      Lowering l = network(none, target, c, false);
      auto& p = std::get<ProductProblem>(l.works[0].problem);
      p.x.row = inside ? batch * kIn : kIn;
      if (!inside) p.epilogue.outputs[0].view.strides = {kOut, batch * kOut, 1};
      Lowering after = l;
      fold(&after);
      const auto& q = std::get<ProductProblem>(after.works[0].problem);
      EXPECT_EQ(q.m, batch * m);
      EXPECT_TRUE(q.batch.empty());
      EXPECT_EQ(q.x.row, kIn);
      EXPECT_EQ(q.inner, inside ? batch : m);
      EXPECT_EQ(q.turned, inside);
      const std::vector<Bytes> memories = whole_numbers(l);
      EXPECT_TRUE(run_works(after, memories)[3] == run_works(l, memories)[3]);
    }
  }
}

TEST(Fold, OthersStayAsTheyAre) {
  const Target target = exact();
  EXPECT_EQ(folded({{3}, 4, {4 * kIn}, {4 * kOut, kOut}}, target, true), 1u) << "a right operand of its own";
  EXPECT_EQ(folded({{3}, 4, {5 * kIn}, {4 * kOut, kOut}}, target, false), 1u) << "rows that lie apart";
  EXPECT_EQ(folded({{3}, 4, {4 * kIn}, {0, kOut}}, target, false), 1u) << "a residual that each batch reads anew";
  EXPECT_EQ(folded({{2, 3}, 4, {20 * kIn, 4 * kIn}, {12 * kOut, 4 * kOut, kOut}}, target, false), 1u);
  Target open = target;
  open.open = true;
  EXPECT_EQ(folded({{9}, 1, {kIn}, {kOut, 0}}, open, false), 1u) << "extents that change";
}

}  // namespace
}  // namespace vireo::gpu::fold_test
