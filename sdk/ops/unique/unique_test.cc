#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/testing.h"
#include "sdk/ops/unique/unique_generated.h"
#include "sdk/ops/view.h"

namespace vireo::unique_test {
namespace {

using I64 = std::vector<int64_t>;
using F32 = std::vector<float>;

std::vector<uint8_t> attrs_of(bool flat, int axis, bool sorted) {
  attrs::UniqueT a;
  a.flat = flat;
  a.axis = axis;
  a.sorted = sorted;
  return pack<attrs::Unique>(a);
}

TEST(Unique, SpecExamples) {  // ONNX "Unique": examples 1 and 2 of its text
  OpTest sorted(Op::kUnique, attrs_of(true, 0, true));
  ASSERT_EQ(sorted.input<float>({6}, {2, 1, 1, 3, 4, 3}).outputs(4).run(), Status::kOk) << sorted.message();
  EXPECT_EQ(sorted.y(0).as<float>(), (F32{1, 2, 3, 4}));
  EXPECT_EQ(sorted.y(1).as<int64_t>(), (I64{1, 0, 3, 4}));
  EXPECT_EQ(sorted.y(2).as<int64_t>(), (I64{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(sorted.y(3).as<int64_t>(), (I64{2, 1, 2, 1}));
  OpTest met(Op::kUnique, attrs_of(true, 0, false));
  ASSERT_EQ(met.input<float>({6}, {2, 1, 1, 3, 4, 3}).outputs(4).run(), Status::kOk) << met.message();
  EXPECT_EQ(met.y(0).as<float>(), (F32{2, 1, 3, 4}));
  EXPECT_EQ(met.y(1).as<int64_t>(), (I64{0, 1, 3, 4}));
  EXPECT_EQ(met.y(2).as<int64_t>(), (I64{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(met.y(3).as<int64_t>(), (I64{1, 2, 2, 1}));
}

TEST(Unique, SlicesAlongAnAxis) {  // ONNX "Unique": examples 3 and 4 of its text
  OpTest rows(Op::kUnique, attrs_of(false, 0, true));
  ASSERT_EQ(rows.input<float>({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4}).outputs(4).run(), Status::kOk) << rows.message();
  EXPECT_EQ(rows.y(0).as<float>(), (F32{1, 0, 0, 2, 3, 4}));
  EXPECT_EQ(rows.y(1).as<int64_t>(), (I64{0, 2}));
  EXPECT_EQ(rows.y(2).as<int64_t>(), (I64{0, 0, 1}));
  OpTest middle(Op::kUnique, attrs_of(false, 1, true));
  middle.input<float>({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1}).outputs(4);
  ASSERT_EQ(middle.run(), Status::kOk) << middle.message();
  EXPECT_EQ(middle.y(0).type.shape, make_shape({2, 3, 2}));
  EXPECT_EQ(middle.y(0).as<float>(), (F32{0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}));
  EXPECT_EQ(middle.y(1).as<int64_t>(), (I64{1, 0, 2}));
  EXPECT_EQ(middle.y(2).as<int64_t>(), (I64{1, 0, 2, 0}));
  EXPECT_EQ(middle.y(3).as<int64_t>(), (I64{2, 1, 1}));
}

TEST(Unique, StringsNanAndNothing) {
  OpTest strings(Op::kUnique, attrs_of(true, 0, true));
  ASSERT_EQ(strings.input_strings({3}, {"b", "a", "b"}).run(), Status::kOk) << strings.message();
  EXPECT_EQ(strings.y().strings, (std::vector<std::string>{"a", "b"}));
  OpTest nan(Op::kUnique, attrs_of(true, 0, true));
  ASSERT_EQ(nan.input<float>({4}, {NAN, 2, NAN, -INFINITY}).run(), Status::kOk) << nan.message();
  EXPECT_EQ(nan.y().type.shape, make_shape({3}));
  EXPECT_TRUE(std::isnan(nan.y().as<float>()[2]));
  OpTest empty(Op::kUnique, attrs_of(true, 0, true));
  ASSERT_EQ(empty.input<float>({0}, {}).outputs(4).run(), Status::kOk) << empty.message();
  EXPECT_EQ(empty.y().type.shape, make_shape({0}));
}

TEST(Unique, SlicesOfNothing) {  // are equal, however many rows of them there are
  OpTest t(Op::kUnique, attrs_of(false, 1, true));
  t.input<float>({int64_t{1} << 60, 2, 0}, {}).outputs(4);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).type.shape, make_shape({int64_t{1} << 60, 1, 0}));
  EXPECT_EQ(t.y(3).as<int64_t>(), (std::vector<int64_t>{2}));
}

}  // namespace
}  // namespace vireo::unique_test
