#include <gtest/gtest.h>

#include "sdk/ops/identity/identity_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::identity_test {
namespace {

std::vector<uint8_t> plain() { return pack<attrs::Identity>(attrs::IdentityT{}); }

TEST(Identity, CopiesEveryWidth) {
  OpTest f(Op::kIdentity, plain());
  ASSERT_EQ(f.input<double>({2, 1}, {1.5, -2}).run(), Status::kOk);
  EXPECT_EQ(f.y().as<double>(), (std::vector<double>{1.5, -2}));
  OpTest s(Op::kIdentity, plain());
  ASSERT_EQ(s.input_strings({2}, {"one", ""}).run(), Status::kOk);
  EXPECT_EQ(s.y().strings, (std::vector<std::string>{"one", ""}));
  TestTensor packed;
  packed.type = {DType::kI4, make_shape({3})};
  packed.bytes = {0x21, 0x0F};
  OpTest p(Op::kIdentity, plain());
  ASSERT_EQ(p.input(packed).run(), Status::kOk);
  EXPECT_EQ(p.y().bytes, packed.bytes);
}

TEST(Identity, InPlaceAndEmpty) {
  OpTest t(Op::kIdentity, plain());
  ASSERT_EQ(t.input<int16_t>({2}, {1, 2}).in_place().run(), Status::kOk);
  EXPECT_EQ(t.y().as<int16_t>(), (std::vector<int16_t>{1, 2}));
  OpTest empty(Op::kIdentity, plain());
  EXPECT_EQ(empty.input<float>({0}, {}).run(), Status::kOk);
}

}  // namespace
}  // namespace vireo::identity_test
