#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/loss/loss_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::loss_test {
namespace {

using Floats = std::vector<float>;

std::vector<uint8_t> bytes(attrs::LossReduction reduction, bool ignore = false, int64_t index = 0) {
  attrs::LossT a;
  a.reduction = reduction;
  a.ignore = ignore;
  a.ignore_index = index;
  return pack<attrs::Loss>(a);
}

// ONNX "NegativeLogLikelihoodLoss", the examples of its text.
const Floats kInput = {1, 2, 2, 2, 3, 2, 0, 1, 2, 2, 1, 2};  // [2, 3, 2]
const std::vector<int64_t> kTarget = {2, 1, 0, 2};           // [2, 2]

TEST(NegativeLogLikelihoodLoss, SpecExamples) {
  using R = attrs::LossReduction;
  OpTest none(Op::kNegativeLogLikelihoodLoss, bytes(R::None));
  none.input<float>({2, 3, 2}, kInput).input<int64_t>({2, 2}, kTarget);
  ASSERT_EQ(none.run(), Status::kOk) << none.message();
  EXPECT_EQ(none.y().type.shape, make_shape({2, 2}));
  EXPECT_EQ(none.y().as<float>(), (Floats{-3, -2, 0, -2}));
  OpTest sum(Op::kNegativeLogLikelihoodLoss, bytes(R::Sum));
  sum.input<float>({2, 3, 2}, kInput).input<int64_t>({2, 2}, kTarget).input<float>({3}, {0.2f, 0.3f, 0.1f});
  ASSERT_EQ(sum.run(), Status::kOk) << sum.message();
  EXPECT_NEAR(sum.y().as<float>()[0], -1.1f, 1e-6f);
  OpTest mean(Op::kNegativeLogLikelihoodLoss, bytes(R::Mean));
  mean.input<float>({2, 3, 2}, kInput).input<int64_t>({2, 2}, kTarget).input<float>({3}, {0.2f, 0.3f, 0.1f});
  ASSERT_EQ(mean.run(), Status::kOk) << mean.message();
  EXPECT_EQ(mean.y().type.shape.rank, 0);
  EXPECT_NEAR(mean.y().as<float>()[0], -1.57f, 2e-3f);
}

TEST(NegativeLogLikelihoodLoss, IgnoredTargetsDoNotCount) {
  OpTest t(Op::kNegativeLogLikelihoodLoss, bytes(attrs::LossReduction::Mean, true, -1));
  t.input<float>({3, 2}, {-1, -2, -3, -4, -5, -6}).input<int32_t>({3}, {1, -1, 0});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>()[0], 3.5f);
  OpTest outside(Op::kNegativeLogLikelihoodLoss, bytes(attrs::LossReduction::Mean));
  outside.input<float>({3, 2}, {-1, -2, -3, -4, -5, -6}).input<int32_t>({3}, {1, -1, 0});
  EXPECT_EQ(outside.run(), Status::kInvalidArgument);
}

TEST(SoftmaxCrossEntropyLoss, IsLogSoftmaxThenLikelihood) {
  OpTest t(Op::kSoftmaxCrossEntropyLoss, bytes(attrs::LossReduction::None));
  t.input<float>({2, 3, 2}, kInput).input<int64_t>({2, 2}, kTarget).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const Floats p = t.y(1).as<float>();
  for (size_t at : {0u, 1u, 6u, 7u}) {
    EXPECT_NEAR(std::exp(p[at]) + std::exp(p[at + 2]) + std::exp(p[at + 4]), 1, 1e-6f);
    EXPECT_NEAR(p[at] - p[at + 2], kInput[at] - kInput[at + 2], 1e-6f);
  }
  EXPECT_EQ(t.y(0).as<float>(), (Floats{-p[4], -p[3], -p[6], -p[11]}));
}

TEST(SoftmaxCrossEntropyLoss, RefusesTargetsOfAnotherShape) {
  OpTest t(Op::kSoftmaxCrossEntropyLoss, bytes(attrs::LossReduction::Sum));
  t.input<float>({2, 3, 2}, kInput).input<int64_t>({2, 1}, {0, 0});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::loss_test
