#include "sdk/ops/op.h"

#include <gtest/gtest.h>

namespace vireo::op_test {
namespace {

constexpr Dim kLowest = kLastHandle + 1;

class Numbers final : public InferContext {
 public:
  bool known(int) override { return false; }
  Dim value(int, int64_t) override { return 0; }
  double real(int, int64_t) override { return 0; }
  Dim bounded(Dim upper) override { return upper; }
  Dim unknown() override { return 0; }

 private:
  Dim symbolic(Arith, Dim, Dim) override {
    ADD_FAILURE() << "a number passed as a handle";
    return 0;
  }
};

TEST(InferContext, SumsOfNumbersStayNumbers) {
  Numbers n;
  EXPECT_EQ(n.add(-3, 5), 2);
  EXPECT_EQ(n.sub(-3, 5), -8);
  EXPECT_EQ(n.sub(INT64_MAX, INT64_MAX), 0);
  EXPECT_EQ(n.add(INT64_MAX, kLowest), INT64_MAX + kLowest);
  EXPECT_EQ(n.add(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(n.add(INT64_MAX, INT64_MAX), INT64_MAX);
  EXPECT_EQ(n.sub(INT64_MAX, -1), INT64_MAX);
  EXPECT_EQ(n.add(kLowest, kLowest), kLowest);
  EXPECT_EQ(n.sub(kLowest, INT64_MAX), kLowest);
  EXPECT_EQ(n.add(kLowest, -1), kLowest);
  EXPECT_EQ(n.sub(0, INT64_MAX), kLowest);
  EXPECT_EQ(n.mul(-(Dim{1} << 62), 2), kLowest);
  EXPECT_EQ(n.mul(INT64_MAX, 2), INT64_MAX);
  EXPECT_GT(n.ceil_div(INT64_MAX, 2), Dim{1} << 60);
}

}  // namespace
}  // namespace vireo::op_test
