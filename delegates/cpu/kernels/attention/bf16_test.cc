#include "delegates/cpu/kernels/attention/bf16.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::for_each_level;
using testing::Guarded;
using testing::Scratch;

enum class Mask { kNone, kAdded, kAllowed, kOneRow, kCausal };
enum class How { kEngine, kPlainTiles };

// An operand against an unreadable page, and what the kernel makes of it.
struct Operand {
  Guarded<float> wide;
  Guarded<uint16_t> narrow;
  bool is_wide;

  Operand(size_t count, bool as_floats)
      : wide(as_floats ? count : 0), narrow(as_floats ? 0 : count), is_wide(as_floats) {}
  void fill(uint32_t seed) {
    std::vector<float> values(is_wide ? wide.size() : narrow.size());
    testing::fill_uniform(values, seed, -2, 2);
    for (size_t i = 0; i < values.size(); ++i) set(i, values[i]);
  }
  void set(size_t i, float v) {
    if (is_wide) {
      wide[i] = v;
    } else {
      narrow[i] = f32_to_bf16(v);
    }
  }
  double operator[](int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return bf16_to_f32(is_wide ? f32_to_bf16(wide[at]) : narrow[at]);
  }
  void* data() { return is_wide ? static_cast<void*>(wide.data()) : narrow.data(); }
};

struct Case {
  int64_t batch, q_heads, kv_heads, queries, keys, head, value;
  bool packed = false;
  Mask mask = Mask::kNone;
  unsigned wide = 0;  // bits: q, k, v, y are float32
  float scale = 0.3f, softcap = 0;
};

struct Instance {
  AttentionBf16 s;
  Operand q, k, v, y;
  Guarded<float> added;
  Guarded<uint8_t> allowed;

  static size_t count(int64_t a, int64_t b, int64_t c, int64_t d) { return static_cast<size_t>(a * b * c * d); }
  explicit Instance(const Case& c)
      : q(count(c.batch, c.q_heads, c.queries, c.head), (c.wide & 1) != 0),
        k(count(c.batch, c.kv_heads, c.keys, c.head), (c.wide & 2) != 0),
        v(count(c.batch, c.kv_heads, c.keys, c.value), (c.wide & 4) != 0),
        y(count(c.batch, c.q_heads, c.queries, c.value), (c.wide & 8) != 0),
        added(static_cast<size_t>((c.mask == Mask::kOneRow ? 1 : c.queries) * c.keys)),
        allowed(static_cast<size_t>(c.queries * c.keys)) {
    q.fill(1);
    k.fill(2);
    v.fill(3);
    testing::fill_uniform(added, 4, -2, 2);
    for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = i >= static_cast<size_t>(c.keys) && (i * 7 / 3) % 3 != 0;
    for (size_t i = 3; i < added.size(); i += 5) added[i] = -INFINITY;
    s.batch = c.batch;
    s.q_heads = c.q_heads;
    s.kv_heads = c.kv_heads;
    s.queries = c.queries;
    s.keys = c.keys;
    s.head = c.head;
    s.value_head = c.value;
    const auto steps = [&](int64_t heads, int64_t rows, int64_t size) {
      return c.packed ? AttentionF32::Steps{heads * size, size, rows * heads * size}
                      : AttentionF32::Steps{size, rows * size, heads * rows * size};
    };
    s.q = steps(c.q_heads, c.queries, c.head);
    s.k = steps(c.kv_heads, c.keys, c.head);
    s.v = steps(c.kv_heads, c.keys, c.value);
    s.y = steps(c.q_heads, c.queries, c.value);
    s.scale = c.scale;
    s.softcap = c.softcap;
    if (c.mask == Mask::kAdded || c.mask == Mask::kOneRow) s.added = added.data();
    if (c.mask == Mask::kAllowed) s.allowed = allowed.data();
    s.mask.row = c.mask == Mask::kOneRow ? 0 : c.keys;
    s.causal = c.mask == Mask::kCausal;
    s.offset = c.keys - c.queries;  // negative where there are fewer keys: the first queries see nothing
    s.wide_q = q.is_wide;
    s.wide_k = k.is_wide;
    s.wide_v = v.is_wide;
    s.wide_y = y.is_wide;
  }
  void run(How how, int32_t slots) {
    Scratch scratch(attention_bf16_scratch_bytes(s, slots));
    testing::Threads threads(slots);
    if (how == How::kPlainTiles) {
      attention_bf16_plain_tiles(s, q.data(), k.data(), v.data(), y.data(), scratch.data());
    } else {
      attention_bf16(s, q.data(), k.data(), v.data(), y.data(), threads.parallel(), scratch.data());
    }
  }
};

// What plain loops in double over the rounded operands give.
void expect(const Case& c, const Instance& t, testing::Expected* e) {
  const AttentionBf16& s = t.s;
  std::vector<double> p(static_cast<size_t>(c.keys));
  for (int64_t i = 0; i < c.batch * c.q_heads * c.queries; ++i) {
    const int64_t row = i % c.queries, h = i / c.queries % c.q_heads, b = i / c.queries / c.q_heads;
    const int64_t kv = h / (c.q_heads / c.kv_heads);
    double top = -INFINITY, sum = 0, most = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < c.head; ++d) {
        dot += t.q[b * s.q.batches + h * s.q.heads + row * s.q.row + d] *
               t.k[b * s.k.batches + kv * s.k.heads + j * s.k.row + d];
      }
      double& score = p[static_cast<size_t>(j)];
      score = dot * double{c.scale};
      if (c.softcap > 0) score = double{c.softcap} * std::tanh(score / double{c.softcap});
      most = std::max(most, std::abs(score) + 2);
      if (s.added != nullptr) score += double{t.added[static_cast<size_t>(row * s.mask.row + j)]};
      if (s.allowed != nullptr && t.allowed[static_cast<size_t>(row * c.keys + j)] == 0) score = -INFINITY;
      if (s.causal && j > s.offset + row) score = -INFINITY;
      top = std::max(top, score);
    }
    for (double& score : p) {
      score = score == -INFINITY ? 0 : std::exp(score - top);
      sum += score;
    }
    for (int64_t d = 0; d < c.value; ++d) {
      double y = 0, magnitude = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        const double term = p[static_cast<size_t>(j)] * t.v[b * s.v.batches + kv * s.v.heads + j * s.v.row + d];
        y += term;
        magnitude += std::abs(term);
      }
      e->want.push_back(sum > 0 ? y / sum : 0);
      // Rounding a weight is 2^-8 of it, its own error and that of their sum 2^-13.7 each, y's rounding 2^-8 again.
      // head + 4 roundings of a score, and a cap's 8, move a weight and the sum by as much, relatively; sums over keys
      // add up to one rounding a key and one a block.
      const double u = 0x1p-24, scores = 2 * u * most * static_cast<double>(c.head + 12);
      const double relative = 0x1p-8 + 2 * 0x1p-13 + scores + 3 * u * static_cast<double>(c.keys + 8);
      const double error = magnitude / (sum > 0 ? sum : 1) * relative;
      e->bound.push_back(sum > 0 ? error + 0x1p-8 * (std::abs(e->want.back()) + error) + 1e-30 : 0);
    }
  }
}

// Every element, against those.
void check(const Case& c, How how, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << c.batch << "x" << c.q_heads << "/" << c.kv_heads << " " << c.queries << "x"
                                    << c.keys << " " << c.head << "," << c.value << " packed " << c.packed << " mask "
                                    << static_cast<int>(c.mask) << " wide " << c.wide << " cap " << c.softcap
                                    << " plain tiles " << (how == How::kPlainTiles) << " slots " << slots);
  Instance t(c);
  const AttentionBf16& s = t.s;
  const auto& [want, bound] =
      testing::expected_once(testing::key_of(c.batch, c.q_heads, c.kv_heads, c.queries, c.keys, c.head, c.value,
                                             c.packed, static_cast<int>(c.mask), c.wide, c.scale, c.softcap),
                             [&](testing::Expected* e) { expect(c, t, e); });
  t.run(how, slots);
  size_t at = 0;
  for (int64_t i = 0; i < c.batch * c.q_heads * c.queries; ++i) {
    const int64_t row = i % c.queries, h = i / c.queries % c.q_heads, b = i / c.queries / c.q_heads;
    for (int64_t d = 0; d < c.value; ++d, ++at) {
      const auto place = static_cast<size_t>(b * s.y.batches + h * s.y.heads + row * s.y.row + d);
      const float got = t.y.is_wide ? t.y.wide[place] : bf16_to_f32(t.y.narrow[place]);
      ASSERT_NEAR(got, want[at], bound[at]) << b << " " << h << " " << row << " " << d;
      ASSERT_EQ(got, bf16_to_f32(f32_to_bf16(got)));  // y is rounded, whatever it is stored in
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  unsigned wide = 0;
  for (const bool packed : {false, true}) {
    for (const Mask mask : {Mask::kNone, Mask::kAdded, Mask::kAllowed, Mask::kOneRow, Mask::kCausal}) {
      for (const Case& c : {Case{1, 1, 1, 1, 1, 1, 1}, Case{2, 4, 2, 5, 7, 8, 3}, Case{1, 3, 3, 33, 31, 16, 17},
                            Case{1, 6, 1, 1, 65, 32, 32}, Case{1, 4, 2, 20, 45, 33, 40}, Case{1, 2, 1, 17, 300, 64, 64},
                            Case{1, 1, 1, 70, 513, 40, 24}, Case{1, 2, 2, 32, 256, 32, 32}}) {
        Case one = c;
        one.packed = packed;
        one.mask = mask;
        one.wide = wide++ * 5 % 16;
        all.push_back(one);
      }
    }
  }
  for (const float cap : {1.5f, 30.0f}) all.push_back({1, 2, 1, 9, 37, 16, 16, false, Mask::kCausal, 15, 0.3f, cap});
  all.push_back({1, 2, 1, 9, 37, 16, 16, false, Mask::kNone, 15, -0.3f});
  all.push_back({1, 2, 1, 9, 37, 16, 16, false, Mask::kNone, 15, 0});
  return all;
}

TEST(AttentionBf16, SizesLayoutsTypesAndMasks) {
  for_each_level([](const char*) {
    for (const Case& c : cases()) {
      for (const int32_t slots : testing::thread_counts()) check(c, How::kEngine, slots);
    }
  });
}

TEST(AttentionBf16, OnPlainTiles) {
  for (const Case& c : cases()) check(c, How::kPlainTiles, 1);
}

// Maxima that grow from block to block, so that what was summed before is made smaller each time.
TEST(AttentionBf16, ScoresThatGrow) {
  for_each_level([](const char*) {
    for (const How how : {How::kEngine, How::kPlainTiles}) {
      Instance t({1, 1, 1, 4, 1000, 8, 8, false, Mask::kNone, 15, 1.0f});
      for (size_t i = 0; i < t.q.wide.size(); ++i) t.q.wide[i] = 1;
      for (size_t i = 0; i < t.k.wide.size(); ++i) t.k.wide[i] = static_cast<float>(i / 8 / 256) * 16;
      for (size_t i = 0; i < t.v.wide.size(); ++i) t.v.wide[i] = i / 8 >= 768 ? 3.0f : 1e30f;
      t.run(how, 1);
      for (size_t i = 0; i < t.y.wide.size(); ++i) ASSERT_EQ(t.y.wide[i], 3.0f);  // the last block outweighs all
    }
  });
}

TEST(AttentionBf16, ScoresOfAnySize) {
  for_each_level([](const char*) {
    for (const float scale : {0.3f, 0.35355338f, 0.70710677f, 3.3f}) {
      Instance t({1, 1, 1, 4, 100, 8, 8, false, Mask::kNone, 15, scale});
      for (size_t i = 0; i < t.q.wide.size(); ++i) t.q.wide[i] = 98304;
      for (size_t i = 0; i < t.k.wide.size(); ++i) t.k.wide[i] = i / 8 == 70 ? 123456 : static_cast<float>(i / 8) * 512;
      for (size_t i = 0; i < t.v.wide.size(); ++i) t.v.wide[i] = i / 8 == 70 ? 3.0f : 1.0f;
      t.run(How::kEngine, 1);
      for (size_t i = 0; i < t.y.wide.size(); ++i) ASSERT_EQ(t.y.wide[i], 3.0f) << scale;
    }
  });
}

TEST(AttentionBf16, KeysAndValuesBehindAMaskMayBeAnything) {
  for_each_level([](const char*) {
    for (const How how : {How::kEngine, How::kPlainTiles}) {
      for (const Mask mask : {Mask::kAllowed, Mask::kOneRow, Mask::kCausal}) {
        const Case c = {1, 1, 1, 3, 40, 8, 8, false, mask, 15};
        Instance clean(c), t(c);
        for (Instance* one : {&clean, &t}) {
          one->s.offset = 20;
          for (size_t i = 0; i < one->allowed.size(); ++i) one->allowed[i] = i % 40 <= 20;
          for (size_t i = 0; i < one->added.size(); ++i) one->added[i] = i <= 20 ? 0 : -INFINITY;
        }
        for (size_t j = 23 * 8; j < 40 * 8; ++j) {
          t.v.wide[j] = j % 3 == 0 ? NAN : INFINITY;
          if (mask != Mask::kOneRow) t.k.wide[j] = NAN;  // NaN - inf is NaN: an added mask cannot hide such a score
        }
        clean.run(how, 1);
        t.run(how, 1);
        for (size_t i = 0; i < t.y.wide.size(); ++i) ASSERT_NEAR(t.y.wide[i], clean.y.wide[i], 3 * 0x1p-8) << i;
      }
    }
  });
}

TEST(AttentionBf16, SeenNaNsShow) {
  for_each_level([](const char*) {
    Instance t({1, 1, 1, 3, 300, 8, 8, false, Mask::kNone, 15});
    t.k.wide[8 * 290] = NAN;
    t.run(How::kEngine, 1);
    for (size_t i = 0; i < t.y.wide.size(); ++i) ASSERT_TRUE(std::isnan(t.y.wide[i])) << i;
  });
}

TEST(AttentionBf16, InPlaceOfTheQueries) {
  for_each_level([](const char*) {
    const Case c = {1, 4, 2, 75, 90, 16, 16, true, Mask::kCausal, 15};
    Instance apart(c), one(c);
    apart.run(How::kEngine, 3);
    Scratch scratch(attention_bf16_scratch_bytes(one.s, 3));
    testing::Threads threads(3);
    attention_bf16(one.s, one.q.data(), one.k.data(), one.v.data(), one.q.data(), threads.parallel(), scratch.data());
    for (size_t i = 0; i < one.q.wide.size(); ++i) ASSERT_EQ(one.q.wide[i], apart.y.wide[i]) << i;
  });
}

TEST(AttentionBf16, NothingToDo) {
  check({0, 1, 1, 2, 2, 4, 4}, How::kEngine, 1);
  check({1, 1, 1, 0, 2, 4, 4}, How::kEngine, 1);
  check({1, 2, 1, 3, 0, 4, 4}, How::kEngine, 1);
}

}  // namespace
}  // namespace vireo::cpu
