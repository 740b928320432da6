#include <gtest/gtest.h>

#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo::where_test {
namespace {

std::vector<uint8_t> plain() { return pack<attrs::Where>(attrs::WhereT{}); }

TEST(Where, OnnxExample) {  // ONNX "Where", where_long_example
  OpTest t(Op::kWhere, plain());
  t.input_bool({2, 2}, {1, 0, 1, 1}).input<int64_t>({2, 2}, {1, 2, 3, 4}).input<int64_t>({2, 2}, {9, 8, 7, 6});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int64_t>(), (std::vector<int64_t>{1, 8, 3, 4}));
}

TEST(Where, BroadcastsAllThree) {
  OpTest t(Op::kWhere, plain());
  t.input_bool({2, 1, 1}, {1, 0}).input<uint8_t>({3, 1}, {1, 2, 3}).input<uint8_t>({2}, {7, 8});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 3, 2}));
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{1, 1, 2, 2, 3, 3, 7, 8, 7, 8, 7, 8}));
}

TEST(Where, Strings) {
  OpTest t(Op::kWhere, plain());
  t.input_bool({2}, {0, 1}).input_strings({}, {"yes"}).input_strings({2}, {"a", "b"});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().strings, (std::vector<std::string>{"a", "yes"}));
}

TEST(Where, Refuses) {
  OpTest condition(Op::kWhere, plain());
  EXPECT_EQ(condition.input<uint8_t>({1}, {1}).input<float>({1}, {1}).input<float>({1}, {1}).run(),
            Status::kInvalidModel);
  OpTest types(Op::kWhere, plain());
  EXPECT_EQ(types.input_bool({1}, {1}).input<float>({1}, {1}).input<double>({1}, {1}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::where_test
