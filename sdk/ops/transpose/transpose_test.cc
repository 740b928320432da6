#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sdk/ops/testing.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/view.h"

namespace vireo::transpose_test {
namespace {

std::vector<uint8_t> perm(const std::vector<int32_t>& p) {
  attrs::TransposeT t;
  t.perm = p;
  return pack<attrs::Transpose>(t);
}

// Every permutation of [2, 3, 4] against the definition, in element sizes of 1, 2, 4 and 8 bytes.
template <class T>
void all_permutations() {
  const int64_t d[3] = {2, 3, 4};
  std::vector<T> x(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i);
  std::vector<int32_t> p = {0, 1, 2};
  do {
    OpTest t(Op::kTranspose, perm(p));
    t.input<T>({2, 3, 4}, x);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    const std::vector<T> y = t.y().template as<T>();
    size_t k = 0;
    int64_t i[3];
    for (i[0] = 0; i[0] < d[p[0]]; ++i[0]) {
      for (i[1] = 0; i[1] < d[p[1]]; ++i[1]) {
        for (i[2] = 0; i[2] < d[p[2]]; ++i[2]) {
          int64_t j[3];
          for (int q = 0; q < 3; ++q) j[p[static_cast<size_t>(q)]] = i[q];
          ASSERT_EQ(y[k++], static_cast<T>((j[0] * 3 + j[1]) * 4 + j[2]));
        }
      }
    }
  } while (std::next_permutation(p.begin(), p.end()));
}
TEST(Transpose, AllPermutations) {
  all_permutations<uint8_t>();
  all_permutations<int16_t>();
  all_permutations<float>();
  all_permutations<double>();
}

TEST(Transpose, AbsentPermReverses) {
  OpTest t(Op::kTranspose, pack<attrs::Transpose>(attrs::TransposeT{}));
  t.input<int32_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({3, 2}));
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Transpose, PackedAndStrings) {
  OpTest packed(Op::kTranspose, perm({1, 0}));
  packed.input(TestTensor{{DType::kI4, make_shape({2, 3})}, {0x10, 0x32, 0x54}, {}});  // 0..5, low half first
  ASSERT_EQ(packed.run(), Status::kOk) << packed.message();
  EXPECT_EQ(packed.y().bytes, (std::vector<uint8_t>{0x30, 0x41, 0x52}));
  OpTest strings(Op::kTranspose, perm({1, 0}));
  strings.input_strings({2, 2}, {"a", "b", "c", "d"});
  ASSERT_EQ(strings.run(), Status::kOk) << strings.message();
  EXPECT_EQ(strings.y().strings, (std::vector<std::string>{"a", "c", "b", "d"}));
}

TEST(Transpose, EmptyAndRefused) {
  OpTest empty(Op::kTranspose, perm({1, 0}));
  ASSERT_EQ(empty.input<float>({0, 3}, {}).run(), Status::kOk) << empty.message();
  EXPECT_EQ(empty.y().type.shape, make_shape({3, 0}));
  for (const std::vector<int32_t>& p : {std::vector<int32_t>{0, 0}, {0, 2}, {0, -1}, {0}}) {
    OpTest t(Op::kTranspose, perm(p));
    EXPECT_EQ(t.input<float>({1, 2}, {1, 2}).run(), Status::kInvalidModel);
  }
}

}  // namespace
}  // namespace vireo::transpose_test
