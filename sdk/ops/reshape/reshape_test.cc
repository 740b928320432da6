#include <gtest/gtest.h>

#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::reshape_test {
namespace {

using I64 = std::vector<int64_t>;

std::vector<uint8_t> reshape(bool allowzero = false) {
  attrs::ReshapeT t;
  t.allowzero = allowzero;
  return pack<attrs::Reshape>(t);
}
std::vector<float> iota(int64_t n) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  return v;
}
OpTest reshape_case(const I64& from, const I64& shape, bool allowzero = false) {
  int64_t n = 1;
  for (const int64_t d : from) n *= d;
  OpTest t(Op::kReshape, reshape(allowzero));
  t.input<float>(from, iota(n)).input<int64_t>({static_cast<int64_t>(shape.size())}, shape);
  return t;
}

// ONNX "Reshape", the examples of reshape: [2, 3, 4] to each of these.
TEST(Reshape, OnnxExamples) {
  const struct {
    I64 shape, expect;
  } cases[] = {{{4, 2, 3}, {4, 2, 3}},       {{2, 12}, {2, 12}},
               {{2, 3, 2, 2}, {2, 3, 2, 2}}, {{24}, {24}},
               {{2, -1, 2}, {2, 6, 2}},      {{-1, 2, 3, 4}, {1, 2, 3, 4}},
               {{2, 0, 4, 1}, {2, 3, 4, 1}}, {{2, 0, 1, -1}, {2, 3, 1, 4}}};
  for (const auto& c : cases) {
    OpTest t = reshape_case({2, 3, 4}, c.shape);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().type.shape, make_shape(c.expect));
    EXPECT_EQ(t.y().as<float>(), iota(24));
  }
}

TEST(Reshape, ZeroCopiesOrIsZero) {
  OpTest copies = reshape_case({0, 3}, {0, -1});
  ASSERT_EQ(copies.run(), Status::kOk) << copies.message();
  EXPECT_EQ(copies.y().type.shape, make_shape({0, 3}));
  OpTest zero = reshape_case({0, 3, 4}, {3, 4, 0}, /*allowzero=*/true);  // ONNX example reshape_allowzero_reordered
  ASSERT_EQ(zero.run(), Status::kOk) << zero.message();
  EXPECT_EQ(zero.y().type.shape, make_shape({3, 4, 0}));
}

TEST(Reshape, ScalarInPlace) {
  OpTest t = reshape_case({1, 1}, {});
  ASSERT_EQ(t.in_place().run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape.rank, 0);
}

TEST(Reshape, Refuses) {
  EXPECT_EQ(reshape_case({2, 3}, {4, 2}).run(), Status::kInvalidModel);     // 8 elements
  EXPECT_EQ(reshape_case({2, 3}, {-1, -1}).run(), Status::kInvalidModel);   // two open
  EXPECT_EQ(reshape_case({2, 3}, {4, -1}).run(), Status::kInvalidModel);    // 6 / 4
  EXPECT_EQ(reshape_case({2, 3}, {2, 3, 0}).run(), Status::kInvalidModel);  // nothing to copy
  EXPECT_EQ(reshape_case({2, 3}, {-2, 3}).run(), Status::kInvalidModel);
  EXPECT_EQ(reshape_case({1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}).run(), Status::kUnsupported);  // 9 dimensions
}

TEST(Reshape, StringsKeepTheirBytes) {
  OpTest t(Op::kReshape, reshape());
  t.input_strings({2, 1}, {"a", "bc"}).input<int64_t>({1}, {2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().strings, (std::vector<std::string>{"a", "bc"}));
}

Shape after(Op op, std::vector<uint8_t> attrs, const I64& from, const I64* axes, Status expect = Status::kOk) {
  int64_t n = 1;
  for (const int64_t d : from) n *= d;
  OpTest t(op, std::move(attrs));
  t.input<float>(from, iota(n));
  if (axes != nullptr) t.input<int64_t>({static_cast<int64_t>(axes->size())}, *axes);
  EXPECT_EQ(t.run(), expect) << t.message();
  return t.y().type.shape;
}
Shape squeeze(const I64& from, const I64& axes, Status expect = Status::kOk) {
  return after(Op::kSqueeze, pack<attrs::Squeeze>(attrs::SqueezeT{}), from, &axes, expect);
}
Shape unsqueeze(const I64& from, const I64& axes, Status expect = Status::kOk) {
  return after(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}), from, &axes, expect);
}
Shape flatten(const I64& from, int axis, Status expect = Status::kOk) {
  attrs::FlattenT a;
  a.axis = axis;
  return after(Op::kFlatten, pack<attrs::Flatten>(a), from, nullptr, expect);
}

TEST(Squeeze, Axes) {
  EXPECT_EQ(squeeze({1, 3, 4, 5}, {0}), make_shape({3, 4, 5}));
  EXPECT_EQ(squeeze({1, 3, 1, 5}, {-2}), make_shape({1, 3, 5}));  // ONNX example squeeze_negative_axes
  EXPECT_EQ(after(Op::kSqueeze, pack<attrs::Squeeze>(attrs::SqueezeT{}), {1, 3, 1}, nullptr), make_shape({3}));
  squeeze({2, 3}, {0}, Status::kInvalidModel);
  squeeze({1, 3}, {0, -2}, Status::kInvalidModel);
  squeeze({1, 3}, {2}, Status::kInvalidModel);
}

TEST(Unsqueeze, Axes) {  // ONNX examples unsqueeze_three_axes, unsqueeze_unsorted_axes, unsqueeze_negative_axes
  EXPECT_EQ(unsqueeze({3, 4, 5}, {2, 4, 5}), make_shape({3, 4, 1, 5, 1, 1}));
  EXPECT_EQ(unsqueeze({3, 4, 5}, {5, 4, 2}), make_shape({3, 4, 1, 5, 1, 1}));
  EXPECT_EQ(unsqueeze({1, 3, 1, 5}, {-2}), make_shape({1, 3, 1, 1, 5}));
  unsqueeze({3}, {1, 1}, Status::kInvalidModel);
  unsqueeze({3}, {3}, Status::kInvalidModel);
}

TEST(Flatten, EveryAxis) {  // ONNX "Flatten", examples flatten, flatten_negative_axis
  EXPECT_EQ(flatten({2, 3, 4, 5}, 0), make_shape({1, 120}));
  EXPECT_EQ(flatten({2, 3, 4, 5}, 2), make_shape({6, 20}));
  EXPECT_EQ(flatten({2, 3, 4, 5}, 4), make_shape({120, 1}));
  EXPECT_EQ(flatten({2, 3, 4, 5}, -1), make_shape({24, 5}));
  EXPECT_EQ(flatten({}, 0), make_shape({1, 1}));
  flatten({2, 3}, 3, Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::reshape_test
