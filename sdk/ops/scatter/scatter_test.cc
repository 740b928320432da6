#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/scatter/scatter_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::scatter_test {
namespace {

using F32 = std::vector<float>;
using R = attrs::ScatterReduction;

std::vector<uint8_t> elements(int axis, R r = R::none) {
  attrs::ScatterElementsT a;
  a.axis = axis;
  a.reduction = r;
  return pack<attrs::ScatterElements>(a);
}
std::vector<uint8_t> nd(R r = R::none) {
  attrs::ScatterNDT a;
  a.reduction = r;
  return pack<attrs::ScatterND>(a);
}

TEST(ScatterElements, SpecExamples) {  // ONNX "ScatterElements": both examples of its text; negative indices
  OpTest rows(Op::kScatterElements, elements(0));
  rows.input<float>({3, 3}, F32(9)).input<int64_t>({2, 3}, {1, 0, 2, 0, 2, 1});
  rows.input<float>({2, 3}, {1.0f, 1.1f, 1.2f, 2.0f, 2.1f, 2.2f});
  ASSERT_EQ(rows.run(), Status::kOk) << rows.message();
  EXPECT_EQ(rows.y().as<float>(), (F32{2.0f, 1.1f, 0, 1.0f, 0, 2.2f, 0, 2.1f, 1.2f}));
  for (const int64_t last : {3, -2}) {
    OpTest columns(Op::kScatterElements, elements(1));
    columns.input<float>({1, 5}, {1, 2, 3, 4, 5}).input<int64_t>({1, 2}, {1, last}).input<float>({1, 2}, {1.1f, 2.1f});
    ASSERT_EQ(columns.in_place().run(), Status::kOk) << columns.message();
    EXPECT_EQ(columns.y().as<float>(), (F32{1.0f, 1.1f, 3.0f, 2.1f, 5.0f}));
  }
}

TEST(ScatterElements, Reductions) {
  const struct {
    R r;
    std::vector<int32_t> expect;
  } cases[] = {{R::none, {1, 5, 3}},
               {R::add, {1, 2 - 7 + 5, 3}},
               {R::mul, {1, 2 * -7 * 5, 3}},
               {R::min, {1, -7, 3}},
               {R::max, {1, 5, 3}}};
  for (const auto& c : cases) {
    OpTest t(Op::kScatterElements, elements(0, c.r));
    t.input<int32_t>({3}, {1, 2, 3}).input<int32_t>({2}, {1, 1}).input<int32_t>({2}, {-7, 5});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().as<int32_t>(), c.expect);
  }
  OpTest wraps(Op::kScatterElements, elements(0, R::add));
  wraps.input<int8_t>({1}, {127}).input<int64_t>({1}, {0}).input<int8_t>({1}, {1});
  ASSERT_EQ(wraps.run(), Status::kOk) << wraps.message();
  EXPECT_EQ(wraps.y().as<int8_t>()[0], -128);
  OpTest nan(Op::kScatterElements, elements(0, R::max));
  nan.input<float>({1}, {1}).input<int64_t>({2}, {0, 0}).input<float>({2}, {NAN, 2});
  ASSERT_EQ(nan.run(), Status::kOk) << nan.message();
  EXPECT_TRUE(std::isnan(nan.y().as<float>()[0]));
}

TEST(ScatterElements, RefusesAndLeavesTheOutputAlone) {
  for (const int64_t i : {3, -4}) {
    OpTest t(Op::kScatterElements, elements(0));
    t.input<float>({3}, {1, 2, 3}).input<int64_t>({2}, {0, i}).input<float>({2}, {8, 9});
    EXPECT_EQ(t.run(), Status::kInvalidArgument);
  }
  OpTest shapes(Op::kScatterElements, elements(0));
  shapes.input<float>({3}, {1, 2, 3}).input<int64_t>({2}, {0, 1}).input<float>({1}, {8});
  EXPECT_EQ(shapes.run(), Status::kInvalidModel);
  OpTest strings(Op::kScatterElements, elements(0, R::add));
  strings.input_strings({1}, {"a"}).input<int64_t>({1}, {0}).input_strings({1}, {"b"});
  EXPECT_EQ(strings.run(), Status::kUnsupported);
}

TEST(ScatterND, SpecExamples) {  // ONNX "ScatterND": example 1 of its text, and rows with a reduction
  OpTest one(Op::kScatterND, nd());
  one.input<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8})
      .input<int64_t>({4, 1}, {4, 3, 1, 7})
      .input<float>({4}, {9, 10, 11, 12});
  ASSERT_EQ(one.run(), Status::kOk) << one.message();
  EXPECT_EQ(one.y().as<float>(), (F32{1, 11, 3, 10, 9, 6, 7, 12}));
  OpTest rows(Op::kScatterND, nd(R::add));
  rows.input<float>({3, 2}, {1, 2, 3, 4, 5, 6}).input<int64_t>({2, 1}, {0, -3}).input<float>({2, 2}, {10, 20, 30, 40});
  ASSERT_EQ(rows.in_place().run(), Status::kOk) << rows.message();
  EXPECT_EQ(rows.y().as<float>(), (F32{41, 62, 3, 4, 5, 6}));
}

TEST(ScatterND, StringsAndRefusals) {
  OpTest strings(Op::kScatterND, nd());
  strings.input_strings({2, 2}, {"a", "b", "c", "d"}).input<int64_t>({1, 2}, {1, 0}).input_strings({1}, {"x"});
  ASSERT_EQ(strings.run(), Status::kOk) << strings.message();
  EXPECT_EQ(strings.y().strings, (std::vector<std::string>{"a", "b", "x", "d"}));
  OpTest outside(Op::kScatterND, nd());
  outside.input<float>({2}, {1, 2}).input<int64_t>({1, 1}, {2}).input<float>({1}, {0});
  EXPECT_EQ(outside.run(), Status::kInvalidArgument);
  OpTest shape(Op::kScatterND, nd());
  shape.input<float>({2}, {1, 2}).input<int64_t>({1, 1}, {1}).input<float>({1, 1}, {0});
  EXPECT_EQ(shape.run(), Status::kInvalidModel);
}

TEST(TensorScatter, LinearAndCircular) {
  const auto run = [](bool circular, int64_t at, Status expect) {
    attrs::TensorScatterT a;
    a.circular = circular;
    OpTest t(Op::kTensorScatter, pack<attrs::TensorScatter>(a));
    t.input<float>({1, 4, 1}, {1, 2, 3, 4}).input<float>({1, 2, 1}, {8, 9}).input<int64_t>({1}, {at});
    EXPECT_EQ(t.run(), expect) << t.message();
    return expect == Status::kOk ? t.y().as<float>() : F32{};
  };
  EXPECT_EQ(run(false, 2, Status::kOk), (F32{1, 2, 8, 9}));
  EXPECT_EQ(run(true, 3, Status::kOk), (F32{9, 2, 3, 8}));
  run(false, 3, Status::kInvalidArgument);
  run(true, -1, Status::kInvalidArgument);
}

}  // namespace
}  // namespace vireo::scatter_test
