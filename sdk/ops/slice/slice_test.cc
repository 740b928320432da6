#include <gtest/gtest.h>

#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::slice_test {
namespace {

using I64 = std::vector<int64_t>;

OpTest slice(const I64& dims, const I64& starts, const I64& ends, const I64& axes, const I64& steps) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  std::vector<int32_t> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i);
  OpTest t(Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}));
  const I64 list = {static_cast<int64_t>(starts.size())};
  t.input<int32_t>(dims, x).input<int64_t>(list, starts).input<int64_t>(list, ends);
  t.input<int64_t>({static_cast<int64_t>(axes.size())}, axes);
  t.input<int64_t>({static_cast<int64_t>(steps.size())}, steps);
  return t;
}

// The definition, one axis: what numpy's x[start:end:step] visits, after ONNX's clamping.
std::vector<int32_t> visited(int64_t d, int64_t start, int64_t end, int64_t step) {
  const auto inside = [](int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; };
  if (start < 0) start += d;
  if (end < 0) end += d;
  std::vector<int32_t> out;
  if (step > 0) {
    for (int64_t i = inside(start, 0, d); i < inside(end, 0, d); i += step) out.push_back(static_cast<int32_t>(i));
  } else if (d > 0) {
    for (int64_t i = inside(start, 0, d - 1); i > inside(end, -1, d - 1); i += step)
      out.push_back(static_cast<int32_t>(i));
  }
  return out;
}

TEST(Slice, EveryRangeOfOneAxis) {
  for (const int64_t d : {0, 1, 5}) {
    for (int64_t start = -7; start <= 7; ++start) {
      for (int64_t end = -7; end <= 7; ++end) {
        for (const int64_t step : {-7, -2, -1, 1, 2, 3, 9}) {
          OpTest t = slice({d}, {start}, {end}, {0}, {step});
          ASSERT_EQ(t.run(), Status::kOk) << t.message();
          ASSERT_EQ(t.y().as<int32_t>(), visited(d, start, end, step))
              << d << ": " << start << " " << end << " " << step;
        }
      }
    }
  }
}

TEST(Slice, WholeRangesAreSaidWithTheLargestNumbers) {
  OpTest forward = slice({4}, {1}, {INT64_MAX}, {0}, {1});
  ASSERT_EQ(forward.run(), Status::kOk) << forward.message();
  EXPECT_EQ(forward.y().as<int32_t>(), (std::vector<int32_t>{1, 2, 3}));
  for (const int64_t low : {INT64_MIN, INT64_MIN + 1, int64_t{INT32_MIN}}) {
    OpTest reversed = slice({4}, {INT64_MAX}, {low}, {0}, {-1});
    ASSERT_EQ(reversed.run(), Status::kOk) << reversed.message();
    EXPECT_EQ(reversed.y().as<int32_t>(), (std::vector<int32_t>{3, 2, 1, 0}));
  }
}

TEST(Slice, AxesInAnyOrder) {
  OpTest t = slice({3, 4}, {1, 3}, {3, 0}, {0, -1}, {1, -2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{7, 5, 11, 9}));
  OpTest swapped = slice({3, 4}, {3, 1}, {0, 3}, {1, 0}, {-2, 1});
  ASSERT_EQ(swapped.run(), Status::kOk) << swapped.message();
  EXPECT_EQ(swapped.y().as<int32_t>(), (std::vector<int32_t>{7, 5, 11, 9}));
}

TEST(Slice, AxesAndStepsAreOptional) {
  OpTest t(Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}));
  t.input<uint8_t>({2, 3}, {0, 1, 2, 3, 4, 5}).input<int32_t>({1}, {1}).input<int32_t>({1}, {2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{3, 4, 5}));
}

TEST(Slice, Refuses) {
  EXPECT_EQ(slice({4}, {0}, {4}, {0}, {0}).run(), Status::kInvalidModel);                  // step 0
  EXPECT_EQ(slice({4}, {0}, {4}, {1}, {1}).run(), Status::kInvalidModel);                  // no such axis
  EXPECT_EQ(slice({4, 4}, {0, 0}, {4, 4}, {0, -2}, {1, 1}).run(), Status::kInvalidModel);  // twice
  EXPECT_EQ(slice({4, 4}, {0, 0}, {4, 4}, {0, 1}, {1}).run(), Status::kInvalidModel);      // a step is missing
}

}  // namespace
}  // namespace vireo::slice_test
