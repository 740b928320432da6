#include <gtest/gtest.h>

#include "sdk/ops/testing.h"
#include "sdk/ops/trilu/trilu_generated.h"
#include "sdk/ops/view.h"

namespace vireo::trilu_test {
namespace {

TEST(Trilu, EveryDiagonal) {
  for (const bool upper : {true, false}) {
    for (const int64_t k : {INT64_MIN, int64_t{-3}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{4}, INT64_MAX}) {
      attrs::TriluT a;
      a.upper = upper;
      OpTest t(Op::kTrilu, pack<attrs::Trilu>(a));
      std::vector<int32_t> x(2 * 3 * 4), expect;
      for (int32_t i = 0; i < 24; ++i) {
        x[static_cast<size_t>(i)] = i + 1;
        const int64_t above = i % 4 - i / 4 % 3;  // column - row
        expect.push_back((upper ? above >= k : above <= k) ? i + 1 : 0);
      }
      t.input<int32_t>({2, 3, 4}, x).input<int64_t>({}, {k});
      ASSERT_EQ(t.in_place().run(), Status::kOk) << t.message();
      EXPECT_EQ(t.y().as<int32_t>(), expect) << upper << " " << k;
    }
  }
}

TEST(Trilu, NoDiagonalMeansTheMainOneAndVectorsAreRefused) {
  OpTest t(Op::kTrilu, pack<attrs::Trilu>(attrs::TriluT{}));
  ASSERT_EQ(t.input<float>({2, 2}, {1, 2, 3, 4}).run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 2, 0, 4}));
  OpTest vector(Op::kTrilu, pack<attrs::Trilu>(attrs::TriluT{}));
  EXPECT_EQ(vector.input<float>({2}, {1, 2}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::trilu_test
