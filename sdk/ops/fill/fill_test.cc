#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::fill_test {
namespace {

TEST(ConstantOfShape, ValueOrZero) {  // ONNX "ConstantOfShape": float_ones, int_zeros
  attrs::ConstantOfShapeT a;
  a.value = {0, 0, 0x80, 0x3F};
  OpTest ones(Op::kConstantOfShape, pack<attrs::ConstantOfShape>(a));
  ASSERT_EQ(ones.input<int64_t>({3}, {4, 3, 2}).run(), Status::kOk) << ones.message();
  EXPECT_EQ(ones.y().as<float>(), std::vector<float>(24, 1.0f));
  attrs::ConstantOfShapeT b;
  b.dtype = static_cast<uint8_t>(DType::kI32);
  OpTest zeros(Op::kConstantOfShape, pack<attrs::ConstantOfShape>(b));
  ASSERT_EQ(zeros.input<int64_t>({0}, {}).run(), Status::kOk) << zeros.message();
  EXPECT_EQ(zeros.y().type.shape.rank, 0);
  EXPECT_EQ(zeros.y().as<int32_t>(), std::vector<int32_t>{0});
}

TEST(ConstantOfShape, PackedAndRefused) {
  attrs::ConstantOfShapeT a;
  a.dtype = static_cast<uint8_t>(DType::kU4);
  a.value = {0x07};
  OpTest packed(Op::kConstantOfShape, pack<attrs::ConstantOfShape>(a));
  ASSERT_EQ(packed.input<int64_t>({1}, {4}).run(), Status::kOk) << packed.message();
  EXPECT_EQ(packed.y().bytes, (std::vector<uint8_t>{0x77, 0x77}));
  OpTest negative(Op::kConstantOfShape, pack<attrs::ConstantOfShape>(a));
  EXPECT_EQ(negative.input<int64_t>({1}, {-1}).run(), Status::kInvalidModel);
  a.value = {1, 2};
  OpTest bytes(Op::kConstantOfShape, pack<attrs::ConstantOfShape>(a));
  EXPECT_EQ(bytes.input<int64_t>({1}, {1}).run(), Status::kInvalidModel);
}

template <class T>
std::vector<T> range(T start, T limit, T delta, Status expect = Status::kOk) {
  OpTest t(Op::kRange, pack<attrs::Range>(attrs::RangeT{}));
  t.input<T>({}, {start}).template input<T>({}, {limit}).template input<T>({}, {delta});
  EXPECT_EQ(t.run(), expect) << t.message();
  return t.y().template as<T>();
}

TEST(Range, OnnxExamples) {  // ONNX "Range": float_type_positive_delta, int32_type_negative_delta, and its text
  EXPECT_EQ(range<float>(1, 5, 2), (std::vector<float>{1, 3}));
  EXPECT_EQ(range<int32_t>(10, 6, -3), (std::vector<int32_t>{10, 7}));
  EXPECT_EQ(range<int64_t>(3, 9, 3), (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(range<int16_t>(3, 3, 1), (std::vector<int16_t>{}));
  EXPECT_EQ(range<double>(0, 1, 0.25), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(range<int32_t>(0, -5, 1), (std::vector<int32_t>{}));
}

TEST(Range, Refuses) {
  range<int32_t>(0, 1, 0, Status::kInvalidModel);
  range<float>(0, 1, 0, Status::kInvalidModel);
  range<float>(0, INFINITY, 1, Status::kInvalidModel);
  range<int64_t>(-INT64_MAX / 2 - 2, INT64_MAX, 1, Status::kInvalidModel);
  OpTest t(Op::kRange, pack<attrs::Range>(attrs::RangeT{}));  // it reaches the limit in more than 10^15 elements
  t.input<float>({}, {0}).input<float>({}, {1e30f}).input<float>({}, {1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
  EXPECT_NE(std::string(t.message()).find("in 10^15 elements"), std::string::npos) << t.message();
}

TEST(EyeLike, DiagonalsAndTypes) {  // ONNX "EyeLike": populate_off_main_diagonal, with_dtype
  const auto eye = [](int64_t k, DType t) {
    attrs::EyeLikeT a;
    a.k = k;
    a.dtype = static_cast<uint8_t>(t);
    OpTest o(Op::kEyeLike, pack<attrs::EyeLike>(a));
    o.input<int32_t>({2, 3}, {5, 5, 5, 5, 5, 5});
    EXPECT_EQ(o.run(), Status::kOk) << o.message();
    return o.y();
  };
  EXPECT_EQ(eye(0, DType::kNone).as<int32_t>(), (std::vector<int32_t>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(eye(1, DType::kF32).as<float>(), (std::vector<float>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(eye(-1, DType::kF64).as<double>(), (std::vector<double>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(eye(INT64_MIN, DType::kBool).bytes, std::vector<uint8_t>(6));
  EXPECT_EQ(static_cast<float>(eye(0, DType::kF16).as<F16>()[0]), 1.0f);
  EXPECT_EQ(static_cast<float>(eye(0, DType::kBF16).as<BF16>()[4]), 1.0f);
}

}  // namespace
}  // namespace vireo::fill_test
