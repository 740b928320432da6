#include "sdk/ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::attention_test {
namespace {

using Floats = std::vector<float>;

std::vector<uint8_t> bytes(const attrs::AttentionT& a = {}) { return pack<attrs::Attention>(a); }
Floats pattern(size_t n, int seed) {
  Floats out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>((static_cast<int>(i) * 7 + seed * 13) % 17 - 8) / 8;
  return out;
}

constexpr int64_t kB = 2, kHq = 4, kHkv = 2, kQueries = 3, kKeys = 5, kD = 4, kDv = 3;
struct Data {
  Floats q = pattern(kB * kHq * kQueries * kD, 1), k = pattern(kB * kHkv * kKeys * kD, 2),
         v = pattern(kB * kHkv * kKeys * kDv, 3);
  OpTest test(const attrs::AttentionT& a = {}) const {
    OpTest t(Op::kAttention, bytes(a));
    t.input<float>({kB, kHq, kQueries, kD}, q).input<float>({kB, kHkv, kKeys, kD}, k);
    t.input<float>({kB, kHkv, kKeys, kDv}, v);
    return t;
  }
};

// The definition, in double, with `bias(b, h, i, j)` added.
template <class F>
Floats expected(const Data& d, const F& bias, double scale = 0.5, double cap = 0) {
  Floats y;
  for (int64_t b = 0; b < kB; ++b) {
    for (int64_t h = 0; h < kHq; ++h) {
      const int64_t g = b * kHkv + h / 2;
      for (int64_t i = 0; i < kQueries; ++i) {
        std::vector<double> p(kKeys);
        double sum = 0;
        for (int64_t j = 0; j < kKeys; ++j) {
          double s = 0;
          for (int64_t c = 0; c < kD; ++c) {
            s += static_cast<double>(d.q[static_cast<size_t>(((b * kHq + h) * kQueries + i) * kD + c)]) *
                 static_cast<double>(d.k[static_cast<size_t>((g * kKeys + j) * kD + c)]);
          }
          s *= scale;
          if (cap > 0) s = cap * std::tanh(s / cap);
          p[static_cast<size_t>(j)] = std::exp(s + bias(b, h, i, j));
          sum += p[static_cast<size_t>(j)];
        }
        for (int64_t c = 0; c < kDv; ++c) {
          double out = 0;
          for (int64_t j = 0; j < kKeys; ++j) {
            out += p[static_cast<size_t>(j)] * static_cast<double>(d.v[static_cast<size_t>((g * kKeys + j) * kDv + c)]);
          }
          y.push_back(sum == 0 ? 0.0f : static_cast<float>(out / sum));
        }
      }
    }
  }
  return y;
}
void expect_near(const Floats& got, const Floats& want) {  // a handful of float32 roundings of values below 4
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 4e-6f) << i;
}
double unbiased(int64_t, int64_t, int64_t, int64_t) { return 0; }

TEST(Attention, GroupedHeads) {
  const Data d;
  OpTest t = d.test();
  t.slots(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({kB, kHq, kQueries, kDv}));
  expect_near(t.y().as<float>(), expected(d, unbiased));
}

TEST(Attention, RankThreeIsATranspose) {
  const Data d;
  const auto packed = [](const Floats& x, int64_t heads, int64_t rows, int64_t size) {
    Floats out(x.size());
    for (int64_t b = 0; b < kB; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t s = 0; s < rows; ++s) {
          for (int64_t c = 0; c < size; ++c) {
            out[static_cast<size_t>(((b * rows + s) * heads + h) * size + c)] =
                x[static_cast<size_t>(((b * heads + h) * rows + s) * size + c)];
          }
        }
      }
    }
    return out;
  };
  attrs::AttentionT a;
  a.q_heads = kHq;
  a.kv_heads = kHkv;
  OpTest t(Op::kAttention, bytes(a));
  t.input<float>({kB, kQueries, kHq * kD}, packed(d.q, kHq, kQueries, kD));
  t.input<float>({kB, kKeys, kHkv * kD}, packed(d.k, kHkv, kKeys, kD));
  t.input<float>({kB, kKeys, kHkv * kDv}, packed(d.v, kHkv, kKeys, kDv)).outputs(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({kB, kQueries, kHq * kDv}));
  expect_near(t.y().as<float>(), packed(expected(d, unbiased), kHq, kQueries, kDv));
  EXPECT_EQ(t.y(1).as<float>(), d.k);
  EXPECT_EQ(t.y(2).as<float>(), d.v);
}

TEST(Attention, ScaleAndSoftcap) {
  const Data d;
  attrs::AttentionT a;
  a.scale = 0.75f;
  a.softcap = 1.5f;
  OpTest t = d.test(a);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  expect_near(t.y().as<float>(), expected(d, unbiased, 0.75, 1.5));
}

TEST(Attention, MasksBroadcastAndEndEarly) {
  const Data d;
  OpTest added = d.test();
  added.input<float>({kQueries, kKeys}, pattern(kQueries * kKeys, 4));
  ASSERT_EQ(added.run(), Status::kOk) << added.message();
  const Floats m = pattern(kQueries * kKeys, 4);
  expect_near(added.y().as<float>(), expected(d, [&](int64_t, int64_t, int64_t i, int64_t j) {
                return static_cast<double>(m[static_cast<size_t>(i * kKeys + j)]);
              }));
  OpTest allowed = d.test();  // per batch; the last key is beyond the mask
  allowed.input_bool({kB, 1, 1, kKeys - 1}, {1, 0, 1, 1, 0, 1, 1, 0});
  ASSERT_EQ(allowed.run(), Status::kOk) << allowed.message();
  expect_near(allowed.y().as<float>(), expected(d, [](int64_t b, int64_t, int64_t, int64_t j) {
                const bool see = b == 0 ? j != 1 && j < 4 : j == 1 || j == 2;
                return see ? 0.0 : -INFINITY;
              }));
}

TEST(Attention,
     CausalWithLengths) {  // batch 0: 4 valid keys, queries at 1, 2, 3; batch 1: 2 keys, the first query sees none
  const Data d;
  attrs::AttentionT a;
  a.causal = true;
  a.left_window = 1;
  OpTest t = d.test(a);
  t.absent().absent().absent().input<int64_t>({kB}, {4, 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const Floats y = t.y().as<float>();
  expect_near(y, expected(d, [](int64_t b, int64_t, int64_t i, int64_t j) {
                const int64_t length = b == 0 ? 4 : 2, p = length - kQueries + i;
                return j < length && j <= p && j >= p - 1 ? 0.0 : -INFINITY;
              }));
  for (size_t c = 0; c < kDv; ++c) EXPECT_EQ(y[kHq * kQueries * kDv + c], 0);
}

TEST(Attention, PastContinuesWhatWasBefore) {
  const Data d;
  attrs::AttentionT a;
  a.causal = true;
  OpTest t(Op::kAttention, bytes(a));
  const auto cut = [](const Floats& x, int64_t size, int64_t from, int64_t to) {
    Floats out;
    for (int64_t g = 0; g < kB * kHkv; ++g) {
      out.insert(out.end(), x.begin() + (g * kKeys + from) * size, x.begin() + (g * kKeys + to) * size);
    }
    return out;
  };
  t.input<float>({kB, kHq, kQueries, kD}, d.q).input<float>({kB, kHkv, 3, kD}, cut(d.k, kD, 2, 5));
  t.input<float>({kB, kHkv, 3, kDv}, cut(d.v, kDv, 2, 5)).absent();
  t.input<float>({kB, kHkv, 2, kD}, cut(d.k, kD, 0, 2))
      .input<float>({kB, kHkv, 2, kDv}, cut(d.v, kDv, 0, 2))
      .outputs(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  expect_near(t.y().as<float>(),
              expected(d, [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + 2 ? 0.0 : -INFINITY; }));
  EXPECT_EQ(t.y(1).as<float>(), d.k);
  EXPECT_EQ(t.y(2).as<float>(), d.v);
}

TEST(Attention, TellsItsScores) {
  const Data d;
  Floats by_mode[4];
  for (int mode = 0; mode < 4; ++mode) {
    attrs::AttentionT a;
    a.softcap = 1;
    a.scores = static_cast<attrs::AttentionScores>(mode);
    OpTest t = d.test(a);
    t.input_bool({kKeys}, {1, 1, 0, 1, 1}).outputs(4);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y(3).type.shape, make_shape({kB, kHq, kQueries, kKeys}));
    by_mode[mode] = t.y(3).as<float>();
  }
  for (size_t i = 0; i < by_mode[0].size(); ++i) {
    EXPECT_NEAR(by_mode[1][i], std::tanh(by_mode[0][i]), 1e-6f);
    EXPECT_EQ(by_mode[2][i], i % kKeys == 2 ? -INFINITY : by_mode[1][i]);
  }
  for (size_t row = 0; row < by_mode[3].size(); row += kKeys) {
    float sum = 0;
    for (size_t j = 0; j < kKeys; ++j) sum += by_mode[3][row + j];
    EXPECT_NEAR(sum, 1, 1e-6f);
    EXPECT_EQ(by_mode[3][row + 2], 0);
  }
}

TEST(Attention, Refusals) {
  const Data d;
  OpTest lonely = d.test();
  lonely.absent().input<float>({kB, kHkv, 1, kD}, Floats(kB * kHkv * kD));
  EXPECT_EQ(lonely.run(), Status::kInvalidModel);
  OpTest mask = d.test();
  mask.input<float>({2, kKeys}, Floats(2 * kKeys));
  EXPECT_EQ(mask.run(), Status::kInvalidModel);
  OpTest heads(Op::kAttention, bytes());
  heads.input<float>({1, 3, 1, 2}, Floats(6))
      .input<float>({1, 2, 1, 2}, Floats(4))
      .input<float>({1, 2, 1, 2}, Floats(4));
  EXPECT_EQ(heads.run(), Status::kInvalidModel);
  OpTest packed(Op::kAttention, bytes());
  packed.input<float>({1, 1, 4}, Floats(4)).input<float>({1, 1, 4}, Floats(4)).input<float>({1, 1, 4}, Floats(4));
  EXPECT_EQ(packed.run(), Status::kInvalidModel);
}

TEST(Attention, LengthsFarBehindTheKeys) {  // every key lies in the window's left side, none in a window of five
  const Data d;
  for (const bool right : {true, false}) {
    attrs::AttentionT a;
    (right ? a.right_window : a.left_window) = 5;
    OpTest t = d.test(a);
    t.absent().absent().absent().input<int64_t>({kB}, {INT64_MAX, INT64_MAX});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    const Floats want = expected(d, [&](int64_t, int64_t, int64_t, int64_t) { return right ? 0.0 : -INFINITY; });
    const Floats y = t.y().as<float>();
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], 1e-5f) << i;
  }
}

}  // namespace
}  // namespace vireo::attention_test
