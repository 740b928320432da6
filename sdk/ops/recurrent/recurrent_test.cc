#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "sdk/ops/recurrent/recurrent.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::recurrent_test {
namespace {

using Floats = std::vector<float>;

std::vector<uint8_t> attributes(attrs::RecurrentT a = {}) { return pack<attrs::Recurrent>(a); }
Floats filled(size_t n, float v) { return Floats(n, v); }

void expect_near(const Floats& got, const Floats& want, float tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

// Values that differ everywhere, on a grid that floats hold exactly.
Floats pattern(size_t n, int seed) {
  Floats out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>((static_cast<int>(i) * 7 + seed * 13) % 17 - 8) / 16.0f;
  return out;
}

// ONNX "LSTM", examples lstm_defaults and lstm_with_initial_bias; "GRU", gru_defaults; "RNN", simple_rnn_defaults.
// Their expectations are the formulas of the specification; the closed forms below restate them for constant weights.
TEST(Lstm, OnnxDefaults) {
  OpTest t(Op::kLSTM, attributes());
  t.input<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6}).input<float>({1, 12, 2}, filled(24, 0.1f));
  t.input<float>({1, 12, 3}, filled(36, 0.1f)).outputs(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).type.shape, make_shape({1, 1, 3, 3}));
  EXPECT_EQ(t.y(1).type.shape, make_shape({1, 3, 3}));
  Floats want;
  for (double sum : {3.0, 7.0, 11.0}) {
    const double gate = 1 / (1 + std::exp(-0.1 * sum)), c = gate * std::tanh(0.1 * sum);
    for (int k = 0; k < 3; ++k) want.push_back(static_cast<float>(gate * std::tanh(c)));
  }
  expect_near(t.y(0).as<float>(), want, 1e-6f);
  expect_near(t.y(1).as<float>(), want, 1e-6f);
}

TEST(Lstm, PeepholesActOnTheStateOfTheirTime) {
  // One unit, no input: i and f see the old cell (2), o the new one.
  OpTest t(Op::kLSTM, attributes());
  t.input<float>({1, 1, 1}, {0}).input<float>({1, 4, 1}, filled(4, 0)).input<float>({1, 4, 1}, filled(4, 0));
  t.input<float>({1, 8}, {0, 0, 0, 1, 0, 0, 0, 0}).absent().input<float>({1, 1, 1}, {0}).input<float>({1, 1, 1}, {2});
  t.input<float>({1, 3}, {0.5f, 0.25f, -0.5f}).outputs(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto s = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double c = s(-1.0) * 2 + s(1.0) * std::tanh(1.0), h = s(0.25 * c) * std::tanh(c);
  EXPECT_NEAR(t.y(1).as<float>()[0], h, 1e-6);
  EXPECT_NEAR(t.y(2).as<float>()[0], c, 1e-6);
}

TEST(Lstm, InputForgetAndClip) {
  attrs::RecurrentT a;
  a.input_forget = true;
  a.clip = 0.5f;
  OpTest t(Op::kLSTM, attributes(a));
  t.input<float>({1, 1, 1}, {1}).input<float>({1, 4, 1}, filled(4, 10)).input<float>({1, 4, 1}, filled(4, 0));
  t.absent().absent().absent().input<float>({1, 1, 1}, {4}).outputs(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const double i = 1 / (1 + std::exp(-0.5)), c = (1 - i) * 4 + i * std::tanh(0.5), h = i * std::tanh(0.5);
  EXPECT_NEAR(t.y(1).as<float>()[0], h, 1e-6);
  EXPECT_NEAR(t.y(2).as<float>()[0], c, 1e-6);
}

struct Case {
  Op op;
  int gates;
};
class EveryCell : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kSteps = 4, kBatch = 2, kInputs = 3, kHidden = 2;
  size_t rows() const { return static_cast<size_t>(GetParam().gates * kHidden); }
  int outputs() const { return GetParam().op == Op::kLSTM ? 3 : 2; }
  OpTest make(const Floats& x, attrs::RecurrentT a, int directions, int seed,
              const std::vector<int32_t>& lens = {}) const {
    const auto d = static_cast<size_t>(directions);
    const int64_t r = static_cast<int64_t>(rows());
    OpTest t(GetParam().op, attributes(a));
    if (a.batch_first) {
      t.input<float>({kBatch, kSteps, kInputs}, x);
    } else {
      t.input<float>({kSteps, kBatch, kInputs}, x);
    }
    Floats w, u, b;
    for (size_t k = 0; k < d; ++k) {
      const Floats wk = pattern(rows() * kInputs, seed + static_cast<int>(k)), uk = pattern(rows() * kHidden, 3 + seed),
                   bk = pattern(2 * rows(), 5 + seed);
      w.insert(w.end(), wk.begin(), wk.end());
      u.insert(u.end(), uk.begin(), uk.end());
      b.insert(b.end(), bk.begin(), bk.end());
    }
    t.input<float>({directions, r, kInputs}, w).input<float>({directions, r, kHidden}, u);
    t.input<float>({directions, 2 * r}, b).outputs(outputs());
    if (!lens.empty()) t.input<int32_t>({kBatch}, lens);
    return t;
  }
};

TEST_P(EveryCell, ReverseIsForwardOnTheReversedSequence) {
  const Floats x = pattern(kSteps * kBatch * kInputs, 1);
  Floats flipped;
  const size_t row = kBatch * kInputs;
  for (size_t t = kSteps; t-- > 0;) flipped.insert(flipped.end(), x.begin() + t * row, x.begin() + (t + 1) * row);
  attrs::RecurrentT reverse;
  reverse.direction = attrs::RecurrentDirection::Reverse;
  OpTest f = make(flipped, {}, 1, 2), r = make(x, reverse, 1, 2);
  ASSERT_EQ(f.run(), Status::kOk) << f.message();
  ASSERT_EQ(r.run(), Status::kOk) << r.message();
  const Floats yf = f.y(0).as<float>(), yr = r.y(0).as<float>();
  const size_t step = kBatch * kHidden;
  for (size_t i = 0; i < yf.size(); ++i) EXPECT_EQ(yr[i], yf[(kSteps - 1 - i / step) * step + i % step]);
  EXPECT_EQ(f.y(1).bytes, r.y(1).bytes);
}

TEST_P(EveryCell, BidirectionalIsBothHalves) {
  const Floats x = pattern(kSteps * kBatch * kInputs, 1);
  attrs::RecurrentT both, reverse;
  both.direction = attrs::RecurrentDirection::Bidirectional;
  reverse.direction = attrs::RecurrentDirection::Reverse;
  OpTest b = make(x, both, 2, 2), f = make(x, {}, 1, 2), r = make(x, reverse, 1, 3);
  ASSERT_EQ(b.run(), Status::kOk) << b.message();
  ASSERT_EQ(f.run(), Status::kOk);
  const Floats yb = b.y(0).as<float>(), yf = f.y(0).as<float>();
  const size_t step = kBatch * kHidden;
  for (size_t i = 0; i < yf.size(); ++i) EXPECT_EQ(yb[i / step * 2 * step + i % step], yf[i]);
}

TEST_P(EveryCell, BatchFirstIsATranspose) {
  const Floats x = pattern(kSteps * kBatch * kInputs, 1);
  Floats xt(x.size());
  for (size_t t = 0; t < kSteps; ++t) {
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t i = 0; i < kInputs; ++i) xt[(b * kSteps + t) * kInputs + i] = x[(t * kBatch + b) * kInputs + i];
    }
  }
  attrs::RecurrentT a, first;
  a.direction = first.direction = attrs::RecurrentDirection::Bidirectional;
  first.batch_first = true;
  OpTest p = make(x, a, 2, 2), q = make(xt, first, 2, 2);
  ASSERT_EQ(p.run(), Status::kOk) << p.message();
  ASSERT_EQ(q.run(), Status::kOk) << q.message();
  EXPECT_EQ(q.y(0).type.shape, make_shape({kBatch, kSteps, 2, kHidden}));
  EXPECT_EQ(q.y(1).type.shape, make_shape({kBatch, 2, kHidden}));
  const Floats y = p.y(0).as<float>(), yt = q.y(0).as<float>();
  for (size_t t = 0; t < kSteps; ++t) {
    for (size_t d = 0; d < 2; ++d) {
      for (size_t b = 0; b < kBatch; ++b) {
        for (size_t k = 0; k < kHidden; ++k) {
          EXPECT_EQ(yt[((b * kSteps + t) * 2 + d) * kHidden + k], y[((t * 2 + d) * kBatch + b) * kHidden + k]);
        }
      }
    }
  }
}

TEST_P(EveryCell, LengthsEndASequenceEarly) {
  const Floats x = pattern(kSteps * kBatch * kInputs, 1);
  attrs::RecurrentT a;
  a.direction = attrs::RecurrentDirection::Bidirectional;
  OpTest full = make(x, a, 2, 2), part = make(x, a, 2, 2, {kSteps, 1});
  ASSERT_EQ(full.run(), Status::kOk);
  ASSERT_EQ(part.run(), Status::kOk) << part.message();
  const Floats yf = full.y(0).as<float>(), yp = part.y(0).as<float>(), hp = part.y(1).as<float>();
  for (size_t t = 0; t < kSteps; ++t) {
    for (size_t d = 0; d < 2; ++d) {
      for (size_t k = 0; k < kHidden; ++k) {
        const size_t i = (t * 2 + d) * kBatch * kHidden + k;
        EXPECT_EQ(yp[i], yf[i]);
        if (t > 0) {
          EXPECT_EQ(yp[i + kHidden], 0);
        }
      }
    }
  }
  for (size_t k = 0; k < kHidden; ++k) EXPECT_EQ(hp[kHidden + k], yp[kHidden + k]);
  OpTest bad = make(x, a, 2, 2, {kSteps, kSteps + 1});
  EXPECT_EQ(bad.run(), Status::kInvalidArgument);
}

TEST_P(EveryCell, RefusesShapesThatDisagree) {
  OpTest t(GetParam().op, attributes());
  t.input<float>({1, 1, 2}, {1, 2}).input<float>({1, 5, 2}, filled(10, 0)).input<float>({1, 5, 2}, filled(10, 0));
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

INSTANTIATE_TEST_SUITE_P(Cells, EveryCell, testing::Values(Case{Op::kLSTM, 4}, Case{Op::kGRU, 3}, Case{Op::kRNN, 1}));

TEST(Gru, BothPlacesOfTheReset) {
  // One unit; z = sigmoid(0), r = sigmoid(1), candidate weights 2, its recurrence bias 0.5, h = 3.
  for (const bool linear : {false, true}) {
    attrs::RecurrentT a;
    a.linear_before_reset = linear;
    OpTest t(Op::kGRU, attributes(a));
    t.input<float>({1, 1, 1}, {0}).input<float>({1, 3, 1}, filled(3, 0)).input<float>({1, 3, 1}, {0, 0, 2});
    t.input<float>({1, 6}, {0, 1, 0, 0, 0, 0.5f}).absent().input<float>({1, 1, 1}, {3});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    const double r = 1 / (1 + std::exp(-1.0)), candidate = std::tanh(linear ? r * (2 * 3 + 0.5) : 2 * (r * 3) + 0.5);
    EXPECT_NEAR(t.y().as<float>()[0], 0.5 * candidate + 0.5 * 3, 1e-6);
  }
}

TEST(Rnn, EveryActivation) {
  using A = attrs::RecurrentActivation;
  const struct {
    A kind;
    float alpha, beta, x, want;
  } kCases[] = {{A::Sigmoid, 0, 0, 0, 0.5f},
                {A::Tanh, 0, 0, 1, 0.76159416f},
                {A::Relu, 0, 0, -1, 0},
                {A::Affine, 2, 3, 4, 11},
                {A::LeakyRelu, 0.5f, 0, -3, -1.5f},
                {A::ThresholdedRelu, 1, 0, 0.5f, 0},
                {A::ScaledTanh, 2, 0.5f, 2, 1.5231883f},
                {A::HardSigmoid, 0.2f, 0.5f, 1, 0.7f},
                {A::Elu, 1, 0, -1, -0.63212056f},
                {A::Softsign, 0, 0, -3, -0.75f},
                {A::Softplus, 0, 0, 0, 0.69314718f}};
  for (const auto& c : kCases) {
    attrs::RecurrentT a;
    a.activations = {static_cast<uint8_t>(c.kind)};
    a.alpha = {c.alpha};
    a.beta = {c.beta};
    OpTest t(Op::kRNN, attributes(a));
    t.input<float>({1, 1, 1}, {c.x}).input<float>({1, 1, 1}, {1}).input<float>({1, 1, 1}, {0});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_NEAR(t.y().as<float>()[0], c.want, 1e-6f) << static_cast<int>(c.kind);
  }
  attrs::RecurrentT unknown;
  unknown.activations = {11};
  unknown.alpha = unknown.beta = {0};
  OpTest t(Op::kRNN, attributes(unknown));
  t.input<float>({1, 1, 1}, {0}).input<float>({1, 1, 1}, {1}).input<float>({1, 1, 1}, {0});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

// One unit whose gates are open, on codes of steps of a half: the recurrence sees 0.5 of a state of 0.4, and the state
// itself goes on.
TEST(Lstm, RecurrenceOfTheStatesCodes) {
  attrs::RecurrentT a;
  a.state_scale = 0.5f;
  a.state_zero = 128;
  OpTest t(Op::kLSTM, attributes(a));
  t.input<float>({1, 1, 1}, {0}).input<float>({1, 4, 1}, filled(4, 0)).input<float>({1, 4, 1}, {0, 0, 0, 1});
  t.absent().absent().input<float>({1, 1, 1}, {0.4f}).input<float>({1, 1, 1}, {0}).outputs(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_NEAR(t.y(2).as<float>()[0], 0.5 * std::tanh(0.5), 1e-6);
}

TEST(Gru, RecurrenceOfTheStatesCodes) {
  const auto logistic = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (const bool linear : {false, true}) {
    attrs::RecurrentT a;
    a.state_scale = 0.5f;
    a.state_zero = 3;  // from -1.5 on
    a.linear_before_reset = linear;
    OpTest t(Op::kGRU, attributes(a));
    t.input<float>({1, 1, 1}, {0}).input<float>({1, 3, 1}, filled(3, 0)).input<float>({1, 3, 1}, {1, 1, 1});
    t.absent().absent().input<float>({1, 1, 1}, {-1.9f}).outputs(2);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    const double gate = logistic(-1.5);  // r h = -0.35 becomes -0.5
    const double candidate = std::tanh(linear ? gate * -1.5 : -0.5);
    EXPECT_NEAR(t.y(1).as<float>()[0], (1 - gate) * candidate + gate * -1.9, 1e-6) << linear;
  }
}

TEST(EveryRecurrentCell, RefusesCodesThatAreNone) {
  for (const auto& [op, scale, zero] : {std::tuple(Op::kRNN, 0.5f, 0),
                                        {Op::kGRU, -0.5f, 0},
                                        {Op::kGRU, 0.5f, 256},
                                        {Op::kLSTM, NAN, 0},
                                        {Op::kLSTM, 0.5f, -1}}) {
    attrs::RecurrentT a;
    a.state_scale = scale;
    a.state_zero = zero;
    const int64_t gates = op == Op::kLSTM ? 4 : op == Op::kGRU ? 3 : 1;
    OpTest t(op, attributes(a));
    t.input<float>({1, 1, 1}, {0}).input<float>({1, gates, 1}, filled(static_cast<size_t>(gates), 0));
    t.input<float>({1, gates, 1}, filled(static_cast<size_t>(gates), 0));
    EXPECT_EQ(t.run(), Status::kInvalidModel) << scale << " " << zero;
  }
}

TEST(Rnn, HalfKeepsItsStateInFloat) {
  OpTest t(Op::kRNN, attributes());
  t.input<F16>({1, 1, 1}, {F16(1.0f)}).input<F16>({1, 1, 1}, {F16(1.0f)}).input<F16>({1, 1, 1}, {F16(0.0f)});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<F16>()[0].bits, F16(std::tanh(1.0f)).bits);
}

}  // namespace
}  // namespace vireo::recurrent_test
