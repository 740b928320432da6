#include <gtest/gtest.h>

#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::gather_test {
namespace {

template <class Object, class Table>
std::vector<uint8_t> with_axis(int a) {
  Object t;
  t.axis = a;
  return pack<Table>(t);
}
std::vector<uint8_t> gather(int a) { return with_axis<attrs::GatherT, attrs::Gather>(a); }
std::vector<uint8_t> elements(int a) { return with_axis<attrs::GatherElementsT, attrs::GatherElements>(a); }
std::vector<uint8_t> nd(int batch_dims) {
  attrs::GatherNDT t;
  t.batch_dims = batch_dims;
  return pack<attrs::GatherND>(t);
}

TEST(Gather, SpecExamples) {  // ONNX "Gather": both examples of its text
  OpTest rows(Op::kGather, gather(0));
  rows.input<float>({3, 2}, {1.0f, 1.2f, 2.3f, 3.4f, 4.5f, 5.7f}).input<int64_t>({2, 2}, {0, 1, 1, 2});
  ASSERT_EQ(rows.run(), Status::kOk) << rows.message();
  EXPECT_EQ(rows.y().type.shape, make_shape({2, 2, 2}));
  EXPECT_EQ(rows.y().as<float>(), (std::vector<float>{1.0f, 1.2f, 2.3f, 3.4f, 2.3f, 3.4f, 4.5f, 5.7f}));
  OpTest columns(Op::kGather, gather(1));
  columns.input<float>({3, 3}, {1.0f, 1.2f, 1.9f, 2.3f, 3.4f, 3.9f, 4.5f, 5.7f, 5.9f}).input<int32_t>({1, 2}, {0, 2});
  ASSERT_EQ(columns.run(), Status::kOk) << columns.message();
  EXPECT_EQ(columns.y().type.shape, make_shape({3, 1, 2}));
  EXPECT_EQ(columns.y().as<float>(), (std::vector<float>{1.0f, 1.9f, 2.3f, 3.9f, 4.5f, 5.9f}));
}

TEST(Gather, ScalarIndexStringsAndNegative) {
  OpTest t(Op::kGather, gather(-1));
  t.input_strings({2, 2}, {"a", "b", "c", "d"}).input<int64_t>({}, {-1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2}));
  EXPECT_EQ(t.y().strings, (std::vector<std::string>{"b", "d"}));
}

TEST(Gather, RefusesIndicesOutside) {
  for (const int64_t i : {3, -4}) {
    OpTest t(Op::kGather, gather(0));
    EXPECT_EQ(t.input<float>({3}, {1, 2, 3}).input<int64_t>({1}, {i}).run(), Status::kInvalidArgument);
  }
  OpTest empty(Op::kGather, gather(0));
  EXPECT_EQ(empty.input<float>({0}, {}).input<int64_t>({1}, {0}).run(), Status::kInvalidArgument);
  OpTest real(Op::kGather, gather(0));
  EXPECT_EQ(real.input<float>({1}, {1}).input<float>({1}, {0}).run(), Status::kInvalidModel);
}

TEST(GatherElements, OnnxExamples) {  // ONNX "GatherElements": gather_elements_0, gather_elements_1, negative_indices
  OpTest a(Op::kGatherElements, elements(1));
  a.input<float>({2, 2}, {1, 2, 3, 4}).input<int32_t>({2, 2}, {0, 0, 1, 0});
  ASSERT_EQ(a.run(), Status::kOk) << a.message();
  EXPECT_EQ(a.y().as<float>(), (std::vector<float>{1, 1, 4, 3}));
  OpTest b(Op::kGatherElements, elements(0));
  b.input<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).input<int32_t>({2, 3}, {1, 2, 0, 2, 0, 0});
  ASSERT_EQ(b.run(), Status::kOk) << b.message();
  EXPECT_EQ(b.y().as<float>(), (std::vector<float>{4, 8, 3, 7, 2, 3}));
  OpTest c(Op::kGatherElements, elements(0));
  c.input<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).input<int32_t>({2, 3}, {-1, -2, 0, -2, 0, 0});
  ASSERT_EQ(c.run(), Status::kOk) << c.message();
  EXPECT_EQ(c.y().as<float>(), (std::vector<float>{7, 5, 3, 4, 2, 3}));
}

TEST(GatherElements, RefusesIndicesLargerThanData) {
  OpTest t(Op::kGatherElements, elements(0));
  EXPECT_EQ(t.input<float>({3, 1}, {1, 2, 3}).input<int64_t>({1, 2}, {0, 0}).run(), Status::kInvalidModel);
}

TEST(GatherND, SpecExamples) {  // ONNX "GatherND": examples 1, 2, 4 and 5 of its text
  OpTest one(Op::kGatherND, nd(0));
  one.input<int32_t>({2, 2}, {0, 1, 2, 3}).input<int64_t>({2, 2}, {0, 0, 1, 1});
  ASSERT_EQ(one.run(), Status::kOk) << one.message();
  EXPECT_EQ(one.y().as<int32_t>(), (std::vector<int32_t>{0, 3}));
  OpTest two(Op::kGatherND, nd(0));
  two.input<int32_t>({2, 2}, {0, 1, 2, 3}).input<int64_t>({2, 1}, {1, 0});
  ASSERT_EQ(two.run(), Status::kOk) << two.message();
  EXPECT_EQ(two.y().as<int32_t>(), (std::vector<int32_t>{2, 3, 0, 1}));
  OpTest four(Op::kGatherND, nd(0));
  four.input<int32_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}).input<int64_t>({2, 1, 2}, {0, 1, 1, 0});
  ASSERT_EQ(four.run(), Status::kOk) << four.message();
  EXPECT_EQ(four.y().type.shape, make_shape({2, 1, 2}));
  EXPECT_EQ(four.y().as<int32_t>(), (std::vector<int32_t>{2, 3, 4, 5}));
  OpTest five(Op::kGatherND, nd(1));
  five.input<int32_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}).input<int64_t>({2, 1}, {1, 0});
  ASSERT_EQ(five.run(), Status::kOk) << five.message();
  EXPECT_EQ(five.y().as<int32_t>(), (std::vector<int32_t>{2, 3, 4, 5}));
}

TEST(GatherND, Refuses) {
  OpTest outside(Op::kGatherND, nd(0));
  EXPECT_EQ(outside.input<float>({2, 1}, {0, 1}).input<int64_t>({1, 2}, {1, 1}).run(), Status::kInvalidArgument);
  OpTest deep(Op::kGatherND, nd(0));
  EXPECT_EQ(deep.input<float>({2}, {0, 1}).input<int64_t>({1, 2}, {1, 1}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::gather_test
