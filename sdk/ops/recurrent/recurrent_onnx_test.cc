#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/import_testing.h"

namespace vireo::recurrent_onnx_test {
namespace {

using Floats = std::vector<float>;
using Names = std::vector<std::string>;

// One unit without memory: y is the activation of x.
ImportTest rnn(const Names& activations, const Floats& alpha, const Floats& beta) {
  ImportTest t("RNN", 14);
  t.attr("activations", activations).attr("hidden_size", 1);
  if (!alpha.empty()) t.attr("activation_alpha", alpha);
  if (!beta.empty()) t.attr("activation_beta", beta);
  if (activations.size() == 2) t.attr("direction", "bidirectional");
  const auto d = static_cast<int64_t>(activations.size());
  t.input<float>({1, 1, 1}, {-2}).input<float>({d, 1, 1}, Floats(activations.size(), 1));
  t.input<float>({d, 1, 1}, Floats(activations.size(), 0));
  return t;
}

TEST(RecurrentImport, ParametersGoToThoseWhoTakeThem) {
  // Tanh takes none: the only alpha is LeakyRelu's. Names are not told apart by case.
  ImportTest t = rnn({"TANH", "LeakyRelu"}, {0.25f}, {});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_NEAR(t.y().as<float>()[0], std::tanh(-2.0f), 1e-6f);
  EXPECT_EQ(t.y().as<float>()[1], -0.5f);
}

TEST(RecurrentImport, DefaultsAreThoseOfTheOperators) {
  const struct {
    const char* name;
    float want;
  } kCases[] = {{"LeakyRelu", -0.02f},   {"HardSigmoid", 0.1f},        {"Elu", -0.86466472f},
                {"Affine", -2},          {"ScaledTanh", -0.96402758f}, {"ThresholdedRelu", 0},
                {"Softsign", -2.0f / 3}, {"Softplus", 0.12692801f}};
  for (const auto& c : kCases) {
    ImportTest t = rnn({c.name}, {}, {});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_NEAR(t.y().as<float>()[0], c.want, 1e-6f) << c.name;
  }
}

TEST(RecurrentImport, RefusesWhatItDoesNotKnow) {
  ImportTest name = rnn({"Mish"}, {}, {});
  EXPECT_EQ(name.run(), Status::kInvalidModel);
  EXPECT_NE(name.message().find("Mish"), std::string::npos);
  ImportTest count = rnn({"Tanh", "Tanh"}, {}, {});
  EXPECT_EQ(count.attr("direction", "forward").run(), Status::kInvalidModel);
  ImportTest size = rnn({"Tanh"}, {}, {});
  EXPECT_EQ(size.attr("hidden_size", 2).run(), Status::kInvalidModel);
}

TEST(RecurrentImport,
     LayoutAndAbsentInputsOfLstm) {  // an empty slot before the peepholes, as exporters of Keras models write
  ImportTest t("LSTM", 14);
  t.attr("layout", 1).attr("hidden_size", 2);
  t.input<float>({3, 1, 1}, {1, 2, 3}).input<float>({1, 8, 1}, Floats(8, 0.5f)).input<float>({1, 8, 2}, Floats(16, 0));
  for (int absent = 0; absent < 4; ++absent) t.input(TestTensor{});
  t.input<float>({1, 6}, Floats(6, 0)).outputs(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).type.shape, make_shape({3, 1, 1, 2}));
  EXPECT_EQ(t.y(2).type.shape, make_shape({3, 1, 2}));
}

}  // namespace
}  // namespace vireo::recurrent_onnx_test
