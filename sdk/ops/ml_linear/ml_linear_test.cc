#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/ml_linear/ml_linear.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::ml_linear_test {
namespace {

using Floats = std::vector<float>;
using Labels = std::vector<int64_t>;
using attrs::TreeTransform;

void expect_near(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5f) << i;  // want: five digits
}

// Expectations with labels: ONNX Runtime 1.31.
TEST(LinearClassifier, OneRowForTwoClasses) {
  const struct {
    TreeTransform transform;
    Floats want;
  } kCases[] = {{TreeTransform::None, {0.7f, 0.3f, 0.3f, 0.7f, 1.4f, -0.4f}},
                {TreeTransform::Softmax, {0.7f, 0.3f, 0.3f, 0.7f, 1.4f, -0.4f}},
                {TreeTransform::Logistic, {0.42556f, 0.57444f, 0.33181f, 0.66819f, 0.59869f, 0.40131f}}};
  for (const auto& c : kCases) {
    attrs::LinearT a;
    a.rows = 1;
    a.coefficients = {1};
    a.intercepts = {0};
    a.labels_integers = {10, 20};
    a.transform = c.transform;
    OpTest t(Op::kLinearClassifier, pack<attrs::Linear>(a));
    t.input<float>({3, 1}, {0.3f, 0.7f, -0.4f}).outputs(2);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y(0).as<int64_t>(), (Labels{20, 20, 10}));
    expect_near(t.y(1).as<float>(), c.want);
  }
}

TEST(LinearClassifier, ThreeClasses) {
  attrs::LinearT a;
  a.rows = 3;
  a.coefficients = {1, 2, -1};
  a.intercepts = {0, 0.1f, 0.3f};
  a.labels_strings = {"a", "b", "c"};
  a.transform = TreeTransform::Softmax;
  OpTest t(Op::kLinearClassifier, pack<attrs::Linear>(a));
  t.input<double>({3, 1}, {0.3, 0.7, -0.4}).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).strings, (std::vector<std::string>{"b", "b", "c"}));
  expect_near(t.y(1).as<float>(),
              {0.30934f, 0.46149f, 0.22917f, 0.28102f, 0.62543f, 0.09354f, 0.21075f, 0.15613f, 0.63312f});
}

TEST(LinearRegressor, TwoTargets) {
  attrs::LinearT a;
  a.rows = 2;
  a.coefficients = {1, 2, 3, 4};
  a.intercepts = {0.5f, -0.5f};
  OpTest t(Op::kLinearRegressor, pack<attrs::Linear>(a));
  t.input<int32_t>({2, 2}, {1, 2, -1, 0});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{5.5f, 10.5f, -0.5f, -3.5f}));
  OpTest narrow(Op::kLinearRegressor, pack<attrs::Linear>(a));
  narrow.input<float>({2, 3}, Floats(6));
  EXPECT_EQ(narrow.run(), Status::kInvalidModel);
}

attrs::SvmT two_classes() {
  attrs::SvmT a;
  a.gamma = 0.5f;
  a.degree = 3;
  a.vectors = 2;
  a.vectors_per_class = {1, 1};
  a.coefficients = {1, -1};
  a.supports = {1, 0.5f};
  a.rho = {0.1f};
  a.labels_integers = {10, 20};
  return a;
}

TEST(SVMClassifier, TwoClasses) {
  attrs::SvmT a = two_classes();
  OpTest raw(Op::kSVMClassifier, pack<attrs::Svm>(a));
  raw.input<float>({3, 1}, {0.3f, 0.7f, -0.4f}).outputs(2);
  ASSERT_EQ(raw.run(), Status::kOk) << raw.message();
  EXPECT_EQ(raw.y(0).as<int64_t>(), (Labels{10, 10, 20}));
  expect_near(raw.y(1).as<float>(), {-0.25f, 0.25f, -0.45f, 0.45f, 0.1f, -0.1f});
  a.kernel = attrs::SvmKernel::Rbf;
  a.prob_a = {-1.5f};
  a.prob_b = {0.2f};
  OpTest likely(Op::kSVMClassifier, pack<attrs::Svm>(a));
  likely.input<float>({3, 1}, {0.3f, 0.7f, -0.4f}).outputs(2);
  ASSERT_EQ(likely.run(), Status::kOk) << likely.message();
  EXPECT_EQ(likely.y(0).as<int64_t>(), (Labels{20, 10, 20}));
  expect_near(likely.y(1).as<float>(), {0.41382f, 0.58618f, 0.47844f, 0.52156f, 0.37866f, 0.62134f});
}

TEST(SVMClassifier, ThreeClasses) {
  attrs::SvmT a;
  a.kernel = attrs::SvmKernel::Poly;
  a.gamma = 0.5f;
  a.coef0 = 0.1f;
  a.degree = 3;
  a.vectors = 3;
  a.vectors_per_class = {1, 1, 1};
  a.coefficients = {1, -1, 0.5f, 0.3f, 0.2f, -0.7f};
  a.supports = {1, 0.5f, -0.3f};
  a.rho = {0.1f, 0.2f, 0.3f};
  a.labels_strings = {"a", "b", "c"};
  OpTest raw(Op::kSVMClassifier, pack<attrs::Svm>(a));
  raw.input<float>({1, 1}, {0.3f}).outputs(2);
  ASSERT_EQ(raw.run(), Status::kOk) << raw.message();
  EXPECT_EQ(raw.y(0).strings[0], "a");
  expect_near(raw.y(1).as<float>(), {0.11027f, 0.20477f, 0.30096f});
  a.kernel = attrs::SvmKernel::Sigmoid;
  a.prob_a = {-1.5f, -1, -2};
  a.prob_b = {0.2f, 0.1f, 0};
  OpTest likely(Op::kSVMClassifier, pack<attrs::Svm>(a));
  likely.input<float>({1, 1}, {0.3f}).outputs(2);
  ASSERT_EQ(likely.run(), Status::kOk) << likely.message();
  expect_near(likely.y(1).as<float>(), {0.3669f, 0.38195f, 0.25115f});
}

TEST(SVMRegressor, KernelsAndOneClass) {
  attrs::SvmT a;
  a.vectors = 1;
  a.coefficients = {1};
  a.supports = {1};
  a.rho = {0.1f};
  OpTest t(Op::kSVMRegressor, pack<attrs::Svm>(a));
  t.input<float>({3, 1}, {0.3f, 0.7f, -0.4f});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  expect_near(t.y().as<float>(), {0.4f, 0.8f, -0.3f});
  a.one_class = true;
  OpTest inside(Op::kSVMRegressor, pack<attrs::Svm>(a));
  inside.input<float>({3, 1}, {0.3f, 0.7f, -0.4f});
  ASSERT_EQ(inside.run(), Status::kOk) << inside.message();
  EXPECT_EQ(inside.y().as<float>(), (Floats{1, 1, -1}));
}

TEST(SVMClassifier, VerifyRefusesUnevenTables) {
  const auto verifies = [](const attrs::SvmT& a) {
    const std::vector<uint8_t> b = pack<attrs::Svm>(a);
    return find_op(Op::kSVMClassifier)->def->verify(Span<const uint8_t>(b.data(), b.size()));
  };
  EXPECT_TRUE(verifies(two_classes()));
  using Edit = void (*)(attrs::SvmT&);
  const Edit kEdits[] = {[](attrs::SvmT& a) { a.rho.clear(); },
                         [](attrs::SvmT& a) { a.coefficients.pop_back(); },
                         [](attrs::SvmT& a) {
                           a.vectors_per_class = {1, 2};
                         },
                         [](attrs::SvmT& a) { a.supports.push_back(0); },
                         [](attrs::SvmT& a) { a.prob_a = {1}; },
                         [](attrs::SvmT& a) { a.labels_integers = {1}; }};
  for (size_t i = 0; i < std::size(kEdits); ++i) {
    attrs::SvmT a = two_classes();
    kEdits[i](a);
    EXPECT_FALSE(verifies(a)) << i;
  }
}

TEST(LinearRegressor, NoFeatures) {  // nor a list of coefficients
  attrs::LinearT a;
  a.rows = 1;
  a.intercepts = {2};
  OpTest t(Op::kLinearRegressor, pack<attrs::Linear>(a));
  t.input<float>({2, 0}, {});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{2, 2}));
}

}  // namespace
}  // namespace vireo::ml_linear_test
