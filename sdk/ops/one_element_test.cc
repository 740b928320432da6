// Inputs that hold one number: a tensor without elements is refused before anything reads it.
#include <gtest/gtest.h>

#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/nms/nms_generated.h"
#include "sdk/ops/one_hot/one_hot_generated.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/top_k/top_k_generated.h"
#include "sdk/ops/trilu/trilu_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/window/window_generated.h"

namespace vireo::one_element_test {
namespace {

using I64 = std::vector<int64_t>;
using F32 = std::vector<float>;

// `count`: elements of the input in question.
I64 numbers(size_t count) { return I64(count, 1); }
F32 reals(size_t count) { return F32(count, 1); }
I64 extent(size_t count) { return {static_cast<int64_t>(count)}; }

Status run(const char* op, size_t count) {
  const I64 n = extent(count);
  const std::string name = op;
  if (name == "Pad") {
    return OpTest(Op::kPad, pack<attrs::Pad>(attrs::PadT()))
        .input<float>({2}, {1, 2})
        .input<int64_t>({2}, {1, 1})
        .input<float>(n, reals(count))
        .run();
  }
  if (name == "TopK")
    return OpTest(Op::kTopK, pack<attrs::TopK>(attrs::TopKT()))
        .input<float>({2}, {1, 2})
        .input<int64_t>(n, numbers(count))
        .run();
  if (name == "Trilu")
    return OpTest(Op::kTrilu, pack<attrs::Trilu>(attrs::TriluT()))
        .input<float>({1, 1}, {1})
        .input<int64_t>(n, numbers(count))
        .run();
  if (name == "CumSum") {
    attrs::CumulativeT a;
    return OpTest(Op::kCumSum, pack<attrs::Cumulative>(a))
        .input<float>({1, 1}, {1})
        .input<int64_t>(n, numbers(count))
        .run();
  }
  if (name == "OneHot") {
    return OpTest(Op::kOneHot, pack<attrs::OneHot>(attrs::OneHotT()))
        .input<int64_t>({1}, {0})
        .input<int64_t>(n, numbers(count))
        .input<float>({2}, {0, 1})
        .run();
  }
  if (name == "Range") {
    return OpTest(Op::kRange, pack<attrs::Range>(attrs::RangeT()))
        .input<int64_t>({}, {0})
        .input<int64_t>({}, {3})
        .input<int64_t>(n, numbers(count))
        .run();
  }
  if (name == "DFT") {
    return OpTest(Op::kDFT, pack<attrs::Fourier>(attrs::FourierT()))
        .input<float>({1, 4, 1}, {1, 2, 3, 4})
        .absent()
        .input<int64_t>(n, numbers(count))
        .run();
  }
  if (name == "HannWindow")
    return OpTest(Op::kHannWindow, pack<attrs::Window>(attrs::WindowT())).input<int64_t>(n, numbers(count)).run();
  return OpTest(Op::kNonMaxSuppression, pack<attrs::NonMaxSuppression>(attrs::NonMaxSuppressionT()))
      .input<float>({1, 1, 4}, {0, 0, 1, 1})
      .input<float>({1, 1, 1}, {1})
      .input<int64_t>({}, {1})
      .input<float>(n, reals(count))
      .run();
}

TEST(OneElement, AnEmptyTensorIsRefused) {
  for (const char* op :
       {"Pad", "TopK", "Trilu", "CumSum", "OneHot", "Range", "DFT", "HannWindow", "NonMaxSuppression"}) {
    EXPECT_EQ(run(op, 1), Status::kOk) << op;
    EXPECT_EQ(run(op, 0), Status::kInvalidModel) << op;
    EXPECT_EQ(run(op, 2), Status::kInvalidModel) << op;
  }
}

}  // namespace
}  // namespace vireo::one_element_test
