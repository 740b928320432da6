#include <gtest/gtest.h>

#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::pad_test {
namespace {

using I64 = std::vector<int64_t>;
using F32 = std::vector<float>;

std::vector<uint8_t> mode(attrs::PadMode m) {
  attrs::PadT t;
  t.mode = m;
  return pack<attrs::Pad>(t);
}
OpTest pad(attrs::PadMode m, const I64& dims, const F32& x, const I64& pads) {
  OpTest t(Op::kPad, mode(m));
  t.input<float>(dims, x).input<int64_t>({static_cast<int64_t>(pads.size())}, pads);
  return t;
}

TEST(Pad, SpecExamples) {  // ONNX "Pad": the examples of its text; wrap_pad
  const F32 x = {1.0f, 1.2f, 2.3f, 3.4f, 4.5f, 5.7f};
  const struct {
    attrs::PadMode mode;
    F32 expect;
  } cases[] = {
      {attrs::PadMode::constant, {0, 0, 1.0f, 1.2f, 0, 0, 2.3f, 3.4f, 0, 0, 4.5f, 5.7f}},
      {attrs::PadMode::reflect, {1.0f, 1.2f, 1.0f, 1.2f, 2.3f, 3.4f, 2.3f, 3.4f, 4.5f, 5.7f, 4.5f, 5.7f}},
      {attrs::PadMode::edge, {1.0f, 1.0f, 1.0f, 1.2f, 2.3f, 2.3f, 2.3f, 3.4f, 4.5f, 4.5f, 4.5f, 5.7f}},
  };
  for (const auto& c : cases) {
    OpTest t = pad(c.mode, {3, 2}, x, {0, 2, 0, 0});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().type.shape, make_shape({3, 4}));
    EXPECT_EQ(t.y().as<float>(), c.expect);
  }
  OpTest wrap = pad(attrs::PadMode::wrap, {3, 2}, x, {2, 1, 1, 1});
  ASSERT_EQ(wrap.run(), Status::kOk) << wrap.message();
  EXPECT_EQ(wrap.y().as<float>(), (F32{3.4f, 2.3f, 3.4f, 2.3f, 5.7f, 4.5f, 5.7f, 4.5f, 1.2f, 1.0f, 1.2f, 1.0f,
                                       3.4f, 2.3f, 3.4f, 2.3f, 5.7f, 4.5f, 5.7f, 4.5f, 1.2f, 1.0f, 1.2f, 1.0f}));
}

// One axis, every pad, against the definition: position i of the output shows x[source(i - before)].
TEST(Pad, EveryPadOfOneAxis) {
  const F32 x = {10, 11, 12};
  for (const attrs::PadMode m :
       {attrs::PadMode::constant, attrs::PadMode::reflect, attrs::PadMode::edge, attrs::PadMode::wrap}) {
    for (int64_t before = -2; before <= 7; ++before) {
      for (int64_t after = -2; after <= 7; ++after) {
        const int64_t low = before < 0 ? -before : 0, high = 3 + (after < 0 ? after : 0), n = high - low;
        if (n <= 0) continue;
        OpTest t = pad(m, {3}, x, {before, after});
        ASSERT_EQ(t.run(), Status::kOk) << t.message();
        F32 expect;
        for (int64_t i = 0; i < 3 + before + after; ++i) {
          int64_t k = i - (before < 0 ? 0 : before);  // in what is left of x
          if (m == attrs::PadMode::constant && (k < 0 || k >= n)) {
            expect.push_back(0);
            continue;
          }
          while (m == attrs::PadMode::wrap && k < 0) k += n;
          while (m == attrs::PadMode::wrap && k >= n) k -= n;
          if (m == attrs::PadMode::edge) k = k < 0 ? 0 : k >= n ? n - 1 : k;
          while (m == attrs::PadMode::reflect && n > 1 && (k < 0 || k >= n)) k = k < 0 ? -k : 2 * (n - 1) - k;
          if (n == 1) k = 0;
          expect.push_back(x[static_cast<size_t>(low + k)]);
        }
        ASSERT_EQ(t.y().as<float>(), expect) << static_cast<int>(m) << ": " << before << " " << after;
      }
    }
  }
}

TEST(Pad, ValueAndAxes) {
  OpTest t(Op::kPad, mode(attrs::PadMode::constant));
  t.input<int32_t>({1, 2}, {1, 2}).input<int64_t>({2}, {1, 0}).input<int32_t>({}, {9}).input<int64_t>({1}, {-1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{9, 1, 2}));
}

TEST(Pad, Refuses) {
  EXPECT_EQ(pad(attrs::PadMode::constant, {2}, {1, 2}, {-2, -1}).run(), Status::kInvalidModel);
  EXPECT_EQ(pad(attrs::PadMode::edge, {0}, {}, {1, 0}).run(), Status::kInvalidModel);
  EXPECT_EQ(pad(attrs::PadMode::constant, {2}, {1, 2}, {1}).run(), Status::kInvalidModel);
  EXPECT_EQ(pad(attrs::PadMode::constant, {2}, {1, 2}, {INT64_MAX, INT64_MAX}).run(), Status::kInvalidModel);
}

TEST(CenterCropPad, OddDifferencesLeaveTheLargerHalfBehind) {
  const auto run = [](int64_t extent) {
    attrs::CenterCropPadT a;
    a.axes = {-1};
    OpTest t(Op::kCenterCropPad, pack<attrs::CenterCropPad>(a));
    t.input<float>({1, 5}, {1, 2, 3, 4, 5}).input<int64_t>({1}, {extent});
    EXPECT_EQ(t.run(), Status::kOk) << t.message();
    return t.y().as<float>();
  };
  EXPECT_EQ(run(5), (F32{1, 2, 3, 4, 5}));
  EXPECT_EQ(run(2), (F32{2, 3}));
  EXPECT_EQ(run(1), (F32{3}));
  EXPECT_EQ(run(6), (F32{1, 2, 3, 4, 5, 0}));
  EXPECT_EQ(run(8), (F32{0, 1, 2, 3, 4, 5, 0, 0}));
}

}  // namespace
}  // namespace vireo::pad_test
