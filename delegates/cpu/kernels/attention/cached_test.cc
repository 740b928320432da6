#include "delegates/cpu/kernels/attention/cached.h"

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;
using testing::Guarded;
using testing::Scratch;

enum class Mask { kNone, kAdded, kAllowed, kOneRow, kCausal };

// Keys or values in their type against an unreadable page, with a scale a row.
struct Cache {
  CacheType type;
  int64_t size;
  Guarded<uint8_t> bytes;
  Floats scales;

  Cache(CacheType t, int64_t rows, int64_t row_size)
      : type(t),
        size(row_size),
        bytes(static_cast<size_t>(rows * row_size * width())),
        scales(static_cast<size_t>(rows)) {}
  int64_t width() const { return type == CacheType::kI8 ? 1 : 2; }
  void set(int64_t i, float v) {
    const uint16_t bits = type == CacheType::kBf16 ? f32_to_bf16(v) : f32_to_f16(v);
    const auto code = static_cast<int8_t>(std::lround(v * 60));
    memcpy(bytes.data() + i * width(), width() == 1 ? static_cast<const void*>(&code) : &bits,
           static_cast<size_t>(width()));
  }
  void fill(uint32_t seed) {
    Floats values(bytes.size() / static_cast<size_t>(width()));
    testing::fill_uniform(values, seed, -2, 2);
    testing::fill_uniform(scales, seed + 1, 0.01f, 0.02f);
    for (size_t i = 0; i < values.size(); ++i) set(static_cast<int64_t>(i), values[i]);
  }
  double operator[](int64_t i) const {
    if (type == CacheType::kI8)
      return double{scales[static_cast<size_t>(i / size)]} * static_cast<int8_t>(bytes[static_cast<size_t>(i)]);
    uint16_t bits = 0;
    memcpy(&bits, bytes.data() + 2 * i, sizeof(bits));
    return type == CacheType::kBf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
  }
};

struct Case {
  int64_t batch, q_heads, kv_heads, queries, keys, head, value;
  Mask mask = Mask::kNone;
  float softcap = 0;
};

struct Instance {
  AttentionCached s;
  Floats q, y, added;
  Guarded<uint8_t> allowed;
  Cache k, v;

  Instance(const Case& c, CacheType type)
      : q(static_cast<size_t>(c.batch * c.q_heads * c.queries * c.head)),
        y(static_cast<size_t>(c.batch * c.q_heads * c.queries * c.value)),
        added(static_cast<size_t>((c.mask == Mask::kOneRow ? 1 : c.queries) * c.keys)),
        allowed(static_cast<size_t>(c.queries * c.keys)),
        k(type, c.batch * c.kv_heads * c.keys, c.head),
        v(type, c.batch * c.kv_heads * c.keys, c.value) {
    testing::fill_uniform(q, 1, -2, 2);
    k.fill(2);
    v.fill(5);
    testing::fill_uniform(added, 4, -2, 2);
    for (size_t i = 3; i < added.size(); i += 5) added[i] = -INFINITY;
    for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = i % 7 != 2 && (c.queries == 1 || i >= allowed.size() / 2);
    s.batch = c.batch;
    s.q_heads = c.q_heads;
    s.kv_heads = c.kv_heads;
    s.queries = c.queries;
    s.keys = c.keys;
    s.head = c.head;
    s.value_head = c.value;
    s.type = type;
    // Queries side by side as projections leave them, a cache head by head.
    s.q = {c.q_heads * c.head, c.head, c.queries * c.q_heads * c.head};
    s.y = {c.q_heads * c.value, c.value, c.queries * c.q_heads * c.value};
    s.k = {c.head, c.keys * c.head, c.kv_heads * c.keys * c.head};
    s.v = {c.value, c.keys * c.value, c.kv_heads * c.keys * c.value};
    s.k_scales = s.v_scales = {1, c.keys, c.kv_heads * c.keys};
    if (type == CacheType::kI8) {
      s.k_scale = k.scales.data();
      s.v_scale = v.scales.data();
    }
    s.scale = 0.3f;
    s.softcap = c.softcap;
    if (c.mask == Mask::kAdded || c.mask == Mask::kOneRow) s.added = added.data();
    if (c.mask == Mask::kAllowed) s.allowed = allowed.data();
    s.mask.row = c.mask == Mask::kOneRow ? 0 : c.keys;
    s.causal = c.mask == Mask::kCausal;
    s.offset = c.keys - c.queries;
  }
  void run(int32_t slots) {
    Scratch scratch(attention_cached_scratch_bytes(s, slots));
    testing::Threads threads(slots);
    attention_cached(s, q.data(), k.bytes.data(), v.bytes.data(), y.data(), threads.parallel(), scratch.data());
  }
};

// Every element against plain loops in double.
void check(const Case& c, CacheType type, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << c.batch << "x" << c.q_heads << "/" << c.kv_heads << " " << c.queries << "x"
                                    << c.keys << " " << c.head << "," << c.value << " mask " << static_cast<int>(c.mask)
                                    << " type " << static_cast<int>(type) << " slots " << slots);
  Instance t(c, type);
  t.run(slots);
  const AttentionCached& s = t.s;
  std::vector<double> p(static_cast<size_t>(c.keys));
  for (int64_t i = 0; i < c.batch * c.q_heads * c.queries; ++i) {
    const int64_t row = i % c.queries, h = i / c.queries % c.q_heads, b = i / c.queries / c.q_heads;
    const int64_t kv = h / (c.q_heads / c.kv_heads);
    double top = -INFINITY, sum = 0, most = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      double dot = 0, reach = 0;
      for (int64_t d = 0; d < c.head; ++d) {
        const double term = double{t.q[static_cast<size_t>(b * s.q.batches + h * s.q.heads + row * s.q.row + d)]} *
                            t.k[b * s.k.batches + kv * s.k.heads + j * s.k.row + d];
        dot += term;
        reach += std::abs(term);
      }
      double& score = p[static_cast<size_t>(j)];
      score = dot * double{s.scale};
      most = std::max(most, reach * double{s.scale} + 2);
      if (c.softcap > 0) score = double{c.softcap} * std::tanh(score / double{c.softcap});
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
      double want = 0, magnitude = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        const double term = p[static_cast<size_t>(j)] * t.v[b * s.v.batches + kv * s.v.heads + j * s.v.row + d];
        want += term;
        magnitude += std::abs(term);
      }
      if (sum > 0) {
        want /= sum;
        magnitude /= sum;
      }
      // head + 6 roundings of a score move its weight and the sum by as much, relatively; softmax and sums over keys
      // add 2 keys + 20, a cap 10 of itself.
      const double u = 0x1p-24;
      const double relative = 2 * u * most * static_cast<double>(c.head + 6) +
                              2 * u * (static_cast<double>(2 * c.keys) + 20 + 10 * double{c.softcap});
      ASSERT_NEAR(t.y[static_cast<size_t>(b * s.y.batches + h * s.y.heads + row * s.y.row + d)], want,
                  magnitude * relative + 1e-30)
          << b << " " << h << " " << row << " " << d;
    }
  }
}

constexpr CacheType kTypes[] = {CacheType::kBf16, CacheType::kF16, CacheType::kI8};

TEST(AttentionCached, SizesTypesAndMasks) {
  for_each_level([](const char*) {
    for (const CacheType type : kTypes) {
      for (const Mask mask : {Mask::kNone, Mask::kAdded, Mask::kAllowed, Mask::kOneRow, Mask::kCausal}) {
        for (const Case& c : {Case{1, 1, 1, 1, 1, 1, 1}, Case{2, 6, 2, 1, 37, 64, 64}, Case{1, 7, 1, 1, 18, 33, 70},
                              Case{1, 16, 4, 1, 5, 16, 20}, Case{2, 4, 2, 5, 7, 8, 3}, Case{1, 3, 3, 33, 31, 16, 17},
                              Case{1, 4, 2, 17, 45, 32, 40}, Case{1, 40, 2, 1, 12, 8, 8}}) {
          Case one = c;
          one.mask = mask;
          for (const int32_t slots : {1, 3}) check(one, type, slots);
        }
      }
      check({1, 6, 2, 1, 37, 16, 16, Mask::kCausal, 1.5f}, type, 1);
      check({0, 1, 1, 2, 2, 4, 4}, type, 1);
      check({1, 2, 1, 3, 0, 4, 4}, type, 1);
    }
  });
}

// A plan made for the most keys serves fewer of them, also where one query has a cap and takes float32's kernel.
TEST(AttentionCached, ScratchGrowsWithKeys) {
  for (const float softcap : {0.0f, 1.5f}) {
    for (const int32_t slots : {1, 4}) {
      const auto bytes = [&](int64_t keys) {
        AttentionCached s;
        s.batch = 1;
        s.q_heads = s.kv_heads = 4;
        s.queries = 1;
        s.keys = keys;
        s.head = s.value_head = 64;
        s.softcap = softcap;
        return attention_cached_scratch_bytes(s, slots);
      };
      for (int64_t keys = 1; keys < 4200; keys += keys / 19 + 1) ASSERT_LE(bytes(keys), bytes(4200)) << keys;
      ASSERT_LE(bytes(4096), bytes(4200));
    }
  }
}

// Rows of a cache that nobody wrote yet are behind the mask: what lies there reaches no result.
TEST(AttentionCached, WhatIsBehindAMaskMayBeAnything) {
  for_each_level([](const char*) {
    for (const CacheType type : kTypes) {
      for (const Mask mask : {Mask::kAllowed, Mask::kOneRow, Mask::kCausal}) {
        const Case c = {1, 2, 1, 3, 21, 8, 8, mask};
        Instance clean(c, type), t(c, type);
        for (Instance* one : {&clean, &t}) {
          one->s.offset = 6;
          for (size_t i = 0; i < one->allowed.size(); ++i) one->allowed[i] = i % 21 <= 8;
          for (size_t i = 0; i < one->added.size(); ++i) one->added[i] = i <= 8 ? 0 : -INFINITY;
        }
        for (int64_t j = 9; j < 21; ++j) {
          t.v.scales[static_cast<size_t>(j)] = NAN;
          for (int64_t d = 0; d < 8 && type != CacheType::kI8; ++d) t.v.set(j * 8 + d, d % 3 == 0 ? NAN : INFINITY);
        }
        clean.run(1);
        t.run(1);
        for (size_t i = 0; i < t.y.size(); ++i) ASSERT_NEAR(t.y[i], clean.y[i], 9 * 2 * 0x1p-23) << i;
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu
