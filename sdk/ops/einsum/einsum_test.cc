#include <gtest/gtest.h>

#include "sdk/ops/einsum/einsum_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::einsum_test {
namespace {

OpTest einsum(const char* equation) {
  attrs::EinsumT a;
  a.equation = equation;
  return OpTest(Op::kEinsum, pack<attrs::Einsum>(a));
}

TEST(Einsum, TransposeSumInnerProduct) {
  OpTest t = einsum("ij->ji");
  t.input<float>({2, 3}, {1, 2, 3, 4, 5, 6}).slots(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({3, 2}));
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  OpTest s = einsum("ij->i");
  s.input<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(s.run(), Status::kOk) << s.message();
  EXPECT_EQ(s.y().as<float>(), (std::vector<float>{6, 15}));
  OpTest p = einsum("i,i");  // implicit: i occurs twice, so nothing is left
  p.input<int8_t>({2}, {100, 3}).input<int8_t>({2}, {2, -1});
  ASSERT_EQ(p.run(), Status::kOk) << p.message();
  EXPECT_EQ(p.y().as<int8_t>(), (std::vector<int8_t>{-59}));  // 197 wraps around
}

TEST(Einsum, ImplicitOutputIsInAsciiOrder) {  // "ba" -> "ab", "bA" -> "Ab"
  OpTest t = einsum("ba");
  t.input<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  OpTest u = einsum("bA");
  u.input<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Einsum, BatchDiagonalAndMatmul) {  // ONNX "Einsum", examples batch_diagonal and batch_matmul
  OpTest t = einsum("...ii ->...i");
  t.input<double>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<double>(), (std::vector<double>{1, 4, 5, 8}));
  OpTest u = einsum("bij, bjk -> bik");
  u.input<float>({2, 1, 2}, {1, 2, 3, 4}).input<float>({2, 2, 1}, {1, 10, 1, 10});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().type.shape, make_shape({2, 1, 1}));
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{21, 43}));
}

TEST(Einsum, EllipsisBroadcasts) {  // [2,1] against [3]
  OpTest t = einsum("...,...");
  t.input<float>({2, 1}, {1, 10}).input<float>({3}, {1, 2, 3});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 3}));
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 2, 3, 10, 20, 30}));
}

TEST(Einsum, ThreeInputsAndAnEmptySum) {
  OpTest t = einsum("i,ij,j->");
  t.input<float>({2}, {1, 2}).input<float>({2, 2}, {1, 2, 3, 4}).input<float>({2}, {1, 10});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1 + 20 + 6 + 80}));
  OpTest e = einsum("ij->i");
  e.input<float>({2, 0}, {});
  ASSERT_EQ(e.run(), Status::kOk) << e.message();
  EXPECT_EQ(e.y().as<float>(), (std::vector<float>{0, 0}));
}

TEST(Einsum, Refusals) {
  const char* const equations[] = {"ij",    "i,i",    "i..j->i", "ii->k",  "...i->...ii", "ij->i-",
                                   "i1->i", "ijk->i", "ij-i",    "i....j", "ij,ij,ij"};
  for (const char* equation : equations) {
    OpTest t = einsum(equation);
    t.input<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    if (std::string(equation) == "ij") t.input<float>({1}, {1});
    EXPECT_EQ(t.run(), Status::kInvalidModel) << equation;
  }
}

}  // namespace
}  // namespace vireo::einsum_test
