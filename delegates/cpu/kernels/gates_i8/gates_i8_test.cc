#include "delegates/cpu/kernels/gates_i8/gates_i8.h"

#include <random>
#include <string>

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu::gates_i8_test {
namespace {

using testing::Floats;
using testing::for_each_level;
using testing::Guarded;

size_t size(int64_t n) { return static_cast<size_t>(n); }

// The formulas of the header, one operation after another.
float tanh_by_formula(float v) {
  const float t = v < -7 ? -7 : v > 7 ? 7 : v, s = t * t;
  const float p = ((s * 3.930034836e-06f + 2.277005930e-03f) * s + 1.230221167e-01f) * s + 9.999957085e-01f;
  const float q = ((s * 1.423520444e-04f + 2.107228152e-02f) * s + 4.563406408e-01f) * s + 1.0f;
  return t * p / q;
}
float sigmoid_by_formula(float v) { return tanh_by_formula(v * 0.5f) * 0.5f + 0.5f; }

enum class Form : uint8_t { kLstm, kGru, kGruResetFirst };

// Operands of one step, all against unreadable pages.
struct Case {
  Form form;
  int64_t batch, hidden, gates;
  bool with_bias;
  Guarded<int32_t> x_sums, h_sums, candidate_sums;
  Floats x_scales, h_scales, x_bias, h_bias, h, c, z, y;
  Guarded<uint8_t> codes;
  GatesI8 g;

  Case(Form form_, int64_t batch_, int64_t hidden_, bool with_bias_)
      : form(form_),
        batch(batch_),
        hidden(hidden_),
        gates(form == Form::kLstm ? 4 : 3),
        with_bias(with_bias_),
        x_sums(size(batch * gates * hidden)),
        h_sums(size(batch * (form == Form::kGruResetFirst ? 2 : gates) * hidden)),
        candidate_sums(size(batch * hidden)),
        x_scales(size(gates * hidden)),
        h_scales(size(gates * hidden)),
        x_bias(size(gates * hidden)),
        h_bias(size(gates * hidden)),
        h(size(batch * hidden)),
        c(size(batch * hidden)),
        z(size(batch * hidden)),
        y(size(batch * hidden)),
        codes(size(batch * hidden)) {
    const auto seed = static_cast<uint32_t>(batch * 100 + hidden);
    std::mt19937 random(seed);
    for (auto* sums : {&x_sums, &h_sums, &candidate_sums}) {
      for (int32_t& v : *sums) v = static_cast<int32_t>(random() % 400001) - 200000;
    }
    for (Floats* scales : {&x_scales, &h_scales}) testing::fill_uniform(*scales, seed + 1, 0.0005f, 0.002f);
    for (Floats* bias : {&x_bias, &h_bias}) testing::fill_uniform(*bias, seed + 2);
    testing::fill_uniform(h, seed + 3);
    testing::fill_uniform(c, seed + 4, -2, 2);
    g.batch = batch;
    g.hidden = hidden;
    g.x_sums = x_sums.data();
    g.h_sums = h_sums.data();
    g.x_scales = x_scales.data();
    g.h_scales = h_scales.data();
    g.x_scale = 0.02f;
    g.h_scale = 2.0f / 255;
    g.zero = 128;
    if (with_bias) {
      g.x_bias = x_bias.data();
      g.h_bias = h_bias.data();
    }
    g.h = h.data();
    g.c = c.data();
    g.z = z.data();
    g.y = y.data();
    g.codes = codes.data();
  }
  void run() {
    if (form == Form::kLstm) return lstm_gates_i8(g);
    if (form == Form::kGru) return gru_gates_i8(g);
    gru_reset_i8(g);
    reset_codes.assign(codes.begin(), codes.end());
    g.h_sums = candidate_sums.data();
    gru_candidate_i8(g);
  }
  std::vector<uint8_t> reset_codes;

  float of_x(int64_t b, int64_t gate, int64_t u) const {
    const size_t row = size(gate * hidden + u);
    const float v = static_cast<float>(x_sums[size(b * gates * hidden) + row]) * (g.x_scale * x_scales[row]);
    return with_bias ? v + x_bias[row] : v;
  }
  float of_h(int64_t b, int64_t gate, int64_t u) const {
    const size_t row = size(gate * hidden + u);
    const bool apart = form == Form::kGruResetFirst;
    const int32_t sum = apart && gate == 2 ? candidate_sums[size(b * hidden + u)]
                                           : h_sums[size(b * (apart ? 2 : gates) * hidden) + row];
    const float v = static_cast<float>(sum) * (g.h_scale * h_scales[row]);
    return with_bias ? v + h_bias[row] : v;
  }
  uint8_t code_of(float v) const { return static_cast<uint8_t>(round_and_clamp(v * (1 / g.h_scale), g.zero, 0, 255)); }
};

void expect_lstm(const Case& k, const Floats& before, int64_t b, int64_t u) {
  const size_t at = size(b * k.hidden + u);
  const auto sum = [&](int64_t gate) { return k.of_x(b, gate, u) + k.of_h(b, gate, u); };
  const float kept = sigmoid_by_formula(sum(2)) * before[at];
  const float c = kept + sigmoid_by_formula(sum(0)) * tanh_by_formula(sum(3));
  const float y = sigmoid_by_formula(sum(1)) * tanh_by_formula(c);
  ASSERT_EQ(k.c[at], c) << b << " " << u;
  ASSERT_EQ(k.y[at], y) << b << " " << u;
  ASSERT_EQ(k.codes[at], k.code_of(y)) << b << " " << u;
}

void expect_gru(const Case& k, int64_t b, int64_t u) {
  const size_t at = size(b * k.hidden + u);
  const float z = sigmoid_by_formula(k.of_x(b, 0, u) + k.of_h(b, 0, u));
  const float r = sigmoid_by_formula(k.of_x(b, 1, u) + k.of_h(b, 1, u));
  const float inner = k.form == Form::kGru ? r * k.of_h(b, 2, u) : k.of_h(b, 2, u);
  const float candidate = tanh_by_formula(k.of_x(b, 2, u) + inner);
  const float y = (1.0f - z) * candidate + z * k.h[at];
  ASSERT_EQ(k.y[at], y) << b << " " << u;
  ASSERT_EQ(k.codes[at], k.code_of(y)) << b << " " << u;
  if (k.form != Form::kGruResetFirst) return;
  ASSERT_EQ(k.reset_codes[at], k.code_of(r * k.h[at])) << b << " " << u;
}

// The same bits on all instruction sets: those of the formulas.
TEST(GatesI8, BitsOfTheFormulas) {
  for_each_level([](const char* level) {
    for (const Form form : {Form::kLstm, Form::kGru, Form::kGruResetFirst}) {
      for (const int64_t batch : {1, 3}) {
        for (const int64_t hidden : {1, 3, 8, 15, 16, 17, 33, 64, 100}) {
          Case k(form, batch, hidden, hidden % 2 == 1);
          Floats before(k.c.size());
          memcpy(before.data(), k.c.data(), k.c.size() * sizeof(float));
          k.run();
          for (int64_t b = 0; b < batch; ++b) {
            for (int64_t u = 0; u < hidden; ++u) {
              SCOPED_TRACE(std::string(level) + ", H " + std::to_string(hidden));
              form == Form::kLstm ? expect_lstm(k, before, b, u) : expect_gru(k, b, u);
            }
          }
        }
      }
    }
  });
}

// The bounds that the header gives; the kernels have the bits of these formulas.
TEST(GatesI8, FunctionsWithinTheirBounds) {
  for (int i = -90000; i <= 90000; ++i) {
    const float v = static_cast<float>(i) * 1e-4f;
    ASSERT_NEAR(tanh_by_formula(v), std::tanh(static_cast<double>(v)), 1.2e-6) << v;
    ASSERT_NEAR(sigmoid_by_formula(v), 1 / (1 + std::exp(-static_cast<double>(v))), 0.6e-6) << v;
  }
}

}  // namespace
}  // namespace vireo::cpu::gates_i8_test
