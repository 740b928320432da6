#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::arg_test {
namespace {

std::vector<uint8_t> attrs_of(int axis, bool keepdims = true, bool last = false) {
  attrs::ArgT a;
  a.axis = axis, a.keepdims = keepdims, a.select_last_index = last;
  return pack<attrs::Arg>(a);
}

template <class T>
std::vector<int64_t> run(Op op, const std::vector<uint8_t>& attrs, const std::vector<int64_t>& dims,
                         const std::vector<T>& x) {
  OpTest t(op, attrs);
  EXPECT_EQ(t.input<T>(dims, x).run(), Status::kOk) << t.message();
  return t.y().template as<int64_t>();
}

TEST(Arg, OnnxExamples) {  // ONNX "ArgMax": argmax_keepdims_example and its select_last_index forms
  const std::vector<float> x = {2, 2, 3, 10};
  EXPECT_EQ(run(Op::kArgMax, attrs_of(1), {2, 2}, x), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(run(Op::kArgMax, attrs_of(-1, true, true), {2, 2}, x), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(run(Op::kArgMin, attrs_of(0, false), {2, 2}, x), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(run(Op::kArgMin, attrs_of(1, false, true), {2, 2}, x), (std::vector<int64_t>{1, 0}));
}

TEST(Arg, Shapes) {
  OpTest kept(Op::kArgMax, attrs_of(1));
  ASSERT_EQ(kept.input<float>({2, 3, 2}, {1, 9, 2, 8, 3, 7, 6, 1, 5, 2, 4, 3}).run(), Status::kOk);
  EXPECT_EQ(kept.y().type, (TensorType{DType::kI64, make_shape({2, 1, 2})}));
  EXPECT_EQ(kept.y().as<int64_t>(), (std::vector<int64_t>{2, 0, 0, 2}));
  OpTest gone(Op::kArgMax, attrs_of(1, false));
  ASSERT_EQ(gone.input<float>({2, 3, 0}, {}).run(), Status::kOk);
  EXPECT_EQ(gone.y().type.shape, make_shape({2, 0}));
}

TEST(Arg, TypesAndNaN) {
  EXPECT_EQ(run<uint64_t>(Op::kArgMax, attrs_of(0), {3}, {1, UINT64_MAX, 2}), (std::vector<int64_t>{1}));
  EXPECT_EQ(run<int8_t>(Op::kArgMin, attrs_of(0), {3}, {1, -128, 2}), (std::vector<int64_t>{1}));
  EXPECT_EQ(run<F16>(Op::kArgMax, attrs_of(0), {2}, {F16(-1.0f), F16(-2.0f)}), (std::vector<int64_t>{0}));
  EXPECT_EQ(run<float>(Op::kArgMax, attrs_of(0), {4}, {1, NAN, 9, NAN}), (std::vector<int64_t>{1}));
  EXPECT_EQ(run<float>(Op::kArgMin, attrs_of(0, true, true), {4}, {1, NAN, 9, NAN}), (std::vector<int64_t>{3}));
}

TEST(Arg, Refuses) {
  OpTest axis(Op::kArgMax, attrs_of(2));
  EXPECT_EQ(axis.input<float>({2, 2}, {1, 2, 3, 4}).run(), Status::kInvalidModel);
  OpTest empty(Op::kArgMin, attrs_of(0));
  EXPECT_EQ(empty.input<float>({0, 2}, {}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::arg_test
