#include "delegates/cpu/kernels/attention/attention.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

enum class Mask { kNone, kAdded, kAllowed, kOneRow, kCausal };
constexpr float kCap = 1.5f;  // bends scores: they reach some ten times as far

void check(int64_t batch, int64_t q_heads, int64_t kv_heads, int64_t queries, int64_t keys, int64_t head, int64_t value,
           bool packed, Mask mask, int32_t slots, float softcap = 0) {
  SCOPED_TRACE(::testing::Message() << batch << "x" << q_heads << "/" << kv_heads << " " << queries << "x" << keys
                                    << " " << head << "," << value << " packed " << packed << " mask "
                                    << static_cast<int>(mask) << " slots " << slots << " cap " << softcap);
  const auto count = [](int64_t n) { return static_cast<size_t>(n); };
  Floats q(count(batch * q_heads * queries * head)), k(count(batch * kv_heads * keys * head)),
      v(count(batch * kv_heads * keys * value)), y(count(batch * q_heads * queries * value)),
      added(count(queries * keys));
  testing::fill_uniform(q, 1, -2, 2);
  testing::fill_uniform(k, 2, -2, 2);
  testing::fill_uniform(v, 3, -2, 2);
  testing::fill_uniform(added, 4, -2, 2);
  std::vector<uint8_t> allowed(count(queries * keys), 1);
  for (size_t i = 0; i < allowed.size(); ++i) {
    allowed[i] = (i * 7 / 3) % 3 != 0;
    if (i < count(keys)) allowed[i] = 0;  // the first query sees nothing
    if (i % 5 == 3) added[i] = -INFINITY;
  }
  AttentionF32 s;
  s.batch = batch;
  s.q_heads = q_heads;
  s.kv_heads = kv_heads;
  s.queries = queries;
  s.keys = keys;
  s.head = head;
  s.value_head = value;
  const auto steps = [&](int64_t heads, int64_t rows, int64_t size) {
    return packed ? AttentionF32::Steps{heads * size, size, rows * heads * size}
                  : AttentionF32::Steps{size, rows * size, heads * rows * size};
  };
  s.q = steps(q_heads, queries, head);
  s.k = steps(kv_heads, keys, head);
  s.v = steps(kv_heads, keys, value);
  s.y = steps(q_heads, queries, value);
  s.scale = 0.3f;
  s.softcap = softcap;
  if (mask == Mask::kAdded || mask == Mask::kOneRow) s.added = added.data();
  if (mask == Mask::kAllowed) s.allowed = allowed.data();
  s.mask.row = mask == Mask::kOneRow ? 0 : keys;
  s.causal = mask == Mask::kCausal;
  s.offset = keys - queries;  // negative where there are fewer keys: the first queries see nothing
  std::vector<uint8_t> scratch(attention_f32_scratch_bytes(s, slots) + 64);
  void* const room = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
  testing::Threads threads(slots);
  attention_f32(s, q.data(), k.data(), v.data(), y.data(), threads.parallel(), room);

  std::vector<double> p(count(keys));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < q_heads; ++h) {
      const int64_t kv = h / (q_heads / kv_heads);
      for (int64_t i = 0; i < queries; ++i) {
        double top = -INFINITY, sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double dot = 0;
          for (int64_t d = 0; d < head; ++d) {
            dot += double{q[count(b * s.q.batches + h * s.q.heads + i * s.q.row + d)]} *
                   k[count(b * s.k.batches + kv * s.k.heads + j * s.k.row + d)];
          }
          double& score = p[count(j)];
          score = dot * double{s.scale};
          if (softcap > 0) score = double{softcap} * std::tanh(score / double{softcap});
          if (s.added != nullptr) score += added[count(i * s.mask.row + j)];
          if (s.allowed != nullptr && allowed[count(i * keys + j)] == 0) score = -INFINITY;
          if (s.causal && j > s.offset + i) score = -INFINITY;
          top = std::max(top, score);
        }
        for (double& score : p) {
          score = score == -INFINITY ? 0 : std::exp(score - top);
          sum += score;
        }
        for (int64_t d = 0; d < value; ++d) {
          double want = 0;
          for (int64_t j = 0; j < keys; ++j)
            want += p[count(j)] * v[count(b * s.v.batches + kv * s.v.heads + j * s.v.row + d)];
          if (sum > 0) want /= sum;
          // |score| <= 1.2 head + 2: head + 3 roundings of it move an exponential by as much, relatively; softmax and
          // the sum over keys add (2 keys + 20) roundings, a cap 5 of itself (tanh moves no more than its argument
          // does, its own error is 3 ulp). Values are at most 2.
          const double u = 0x1p-24, reach = 1.2 * static_cast<double>(head) + 2;
          const double bound =
              2 * u *
              (2 * reach * static_cast<double>(head + 3) + 2 * static_cast<double>(keys) + 20 + 10 * double{softcap});
          ASSERT_NEAR(y[count(b * s.y.batches + h * s.y.heads + i * s.y.row + d)], want, bound)
              << b << " " << h << " " << i;
        }
      }
    }
  }
}

TEST(Attention, SizesLayoutsAndMasks) {
  for_each_level([](const char*) {
    for (const bool packed : {false, true}) {
      for (const Mask mask : {Mask::kNone, Mask::kAdded, Mask::kAllowed, Mask::kOneRow, Mask::kCausal}) {
        check(1, 1, 1, 1, 1, 1, 1, packed, mask, 1);
        check(2, 4, 2, 5, 7, 8, 3, packed, mask, 1);
        check(1, 3, 3, 33, 31, 16, 17, packed, mask, 3);
        check(1, 6, 1, 1, 65, 32, 32, packed, mask, 2);
        check(2, 24, 2, 1, 40, 16, 9, packed, mask, 3, kCap);
        check(1, 4, 2, 20, 45, 16, 40, packed, mask, 2);
        check(2, 4, 2, 5, 7, 8, 3, packed, mask, 1, kCap);
        check(1, 3, 3, 33, 31, 16, 17, packed, mask, 3, kCap);
      }
    }
  });
}

// Scores whose scaled maximum is rounded by hundreds: the greatest key alone counts, whatever the scale.
TEST(Attention, ScoresOfAnySize) {
  for_each_level([](const char*) {
    constexpr int64_t kQueries = 5, kKeys = 37, kHead = 8;
    Floats q(kQueries * kHead), k(kKeys * kHead), v(kKeys * kHead), y(kQueries * kHead);
    testing::fill_uniform(q, 4, 1e5f, 1e5f);
    testing::fill_uniform(k, 5, -1e5f, 1e5f);
    for (size_t i = 0; i < kHead; ++i) k[13 * kHead + i] = 1.1e5f;
    testing::fill_uniform(v, 6, -2, 2);
    AttentionF32 s;
    s.batch = s.q_heads = s.kv_heads = 1;
    s.queries = kQueries;
    s.keys = kKeys;
    s.head = s.value_head = kHead;
    s.q = s.k = s.v = s.y = {kHead, kHead, kHead};
    for (const float scale : {0.3f, 0.35355338f, 0.70710677f, 1.0f, 3.3f}) {
      s.scale = scale;
      Floats scratch(attention_f32_scratch_bytes(s, 1) / sizeof(float) + 16);
      attention_f32(s, q.data(), k.data(), v.data(), y.data(), testing::Threads(1).parallel(), scratch.data());
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], v[13 * kHead + i % kHead]) << scale << " " << i;
    }
  });
}

// More rows than a block has, the last block smaller.
TEST(Attention, SeveralBlocks) {
  for (const Mask mask : {Mask::kNone, Mask::kAllowed, Mask::kCausal}) {
    check(1, 2, 1, 75, 4000, 8, 8, true, mask, 1);
    check(1, 2, 2, 75, 4000, 8, 8, false, mask, 3);
  }
}

// Rows of a cache that nobody wrote yet are behind the mask: what lies there reaches no result.
TEST(Attention, KeysAndValuesBehindAMaskMayBeAnything) {
  for_each_level([](const char*) {
    constexpr int64_t kQueries = 3, kKeys = 21, kSeen = 9, kHead = 8;
    for (const bool added : {false, true}) {
      Floats q(kQueries * kHead), k(kKeys * kHead), v(kKeys * kHead), want(kQueries * kHead), y(kQueries * kHead);
      testing::fill_uniform(q, 1, -2, 2);
      testing::fill_uniform(k, 2, -2, 2);
      testing::fill_uniform(v, 3, -2, 2);
      std::vector<uint8_t> allowed(kQueries * kKeys, 0);
      std::vector<float> low(kQueries * kKeys, -INFINITY);
      for (size_t i = 0; i < allowed.size(); ++i) {
        if (i % kKeys >= kSeen) continue;
        allowed[i] = 1;
        low[i] = 0;
      }
      AttentionF32 s;
      s.batch = s.q_heads = 1;
      s.queries = kQueries;
      s.keys = kKeys;
      s.head = s.value_head = kHead;
      s.q = s.k = s.v = s.y = {kHead, 0, 0};
      s.mask.row = kKeys;
      s.added = added ? low.data() : nullptr;
      s.allowed = added ? nullptr : allowed.data();
      std::vector<uint8_t> scratch(attention_f32_scratch_bytes(s, 1) + 64);
      void* const room = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
      attention_f32(s, q.data(), k.data(), v.data(), want.data(), Parallel{}, room);
      for (int64_t i = kSeen * kHead; i < kKeys * kHead; ++i) {
        v.data()[i] = i % 3 == 0 ? NAN : INFINITY;
        // NaN + -inf is NaN: an added mask cannot hide such a score, a choice can.
        if (!added) k.data()[i] = NAN;
      }
      attention_f32(s, q.data(), k.data(), v.data(), y.data(), Parallel{}, room);
      // The sums of nine seen values in another order.
      for (int64_t i = 0; i < kQueries * kHead; ++i) ASSERT_NEAR(y.data()[i], want.data()[i], 9 * 2 * 0x1p-23) << i;
    }
  });
}

AttentionF32 shape(int64_t q_heads, int64_t kv_heads, int64_t queries, int64_t keys, int64_t head, int64_t value) {
  AttentionF32 s;
  s.batch = 1;
  s.q_heads = q_heads;
  s.kv_heads = kv_heads;
  s.queries = queries;
  s.keys = keys;
  s.head = head;
  s.value_head = value;
  s.q = {head, queries * head, q_heads * queries * head};
  s.k = {head, keys * head, kv_heads * keys * head};
  s.v = {value, keys * value, kv_heads * keys * value};
  s.y = {value, queries * value, q_heads * queries * value};
  s.scale = 0.3f;
  return s;
}

// A plan made for the most queries and keys serves fewer of them.
TEST(Attention, ScratchGrowsWithQueriesAndKeys) {
  for (const int64_t group : {1, 2, 8, 9}) {
    for (const int64_t head : {16, 64, 128}) {
      for (const int64_t queries : {1, 7, 8, 100}) {
        for (const int32_t slots : {1, 4}) {
          const size_t bytes = attention_f32_scratch_bytes(shape(2 * group, 2, queries, 8192, head, head), slots);
          for (int64_t keys = 1; keys <= 8192; keys += keys / 9 + 1) {
            for (const int64_t less : {int64_t{1}, queries / 2 + 1, queries}) {
              ASSERT_LE(attention_f32_scratch_bytes(shape(2 * group, 2, less, keys, head, head), slots), bytes)
                  << less << " x " << keys << " head " << head << " group " << group << " slots " << slots;
            }
          }
        }
      }
    }
  }
}

// One query over fewer keys than a plan was made for, whose products would pack what more keys would not.
TEST(Attention, FewerKeysThanPlanned) {
  for_each_level([](const char*) {
    for (const int32_t slots : {1, 4}) {
      testing::Scratch scratch(attention_f32_scratch_bytes(shape(4, 4, 1, 8192, 64, 64), slots));
      for (const int64_t keys : {1200, 2143, 4096}) {
        const AttentionF32 s = shape(4, 4, 1, keys, 64, 64);
        Floats q(4 * 64), k(static_cast<size_t>(4 * keys * 64)), y(4 * 64);
        testing::fill_uniform(q, 1, -2, 2);
        testing::fill_uniform(k, 2, -2, 2);
        testing::Threads threads(slots);
        attention_f32(s, q.data(), k.data(), k.data(), y.data(), threads.parallel(), scratch.data());
        for (const float v : y) ASSERT_LE(std::abs(v), 2);
      }
    }
  });
}

// Where blocks of queries end depends on threads, what they sum does not.
TEST(Attention, ThreadsChangeNoBit) {
  for_each_level([](const char*) {
    for (const int64_t queries : {9, 17, 18, 20, 33, 43, 60}) {
      for (const int64_t keys : {9, 40, 65}) {
        for (const int64_t value : {5, 12, 32}) {
          for (const int64_t group : {1, 2}) {
            for (const bool causal : {false, true}) {
              AttentionF32 s = shape(group, 1, queries, keys, 33, value);
              s.causal = causal;
              Floats q(static_cast<size_t>(group * queries * 33)), k(static_cast<size_t>(keys * 33)),
                  v(static_cast<size_t>(keys * value)), want(static_cast<size_t>(group * queries * value)),
                  y(want.size());
              testing::fill_uniform(q, 1, -2, 2);
              testing::fill_uniform(k, 2, -2, 2);
              testing::fill_uniform(v, 3, -2, 2);
              for (const int32_t slots : {1, 2, 3, 4}) {
                testing::Scratch scratch(attention_f32_scratch_bytes(s, slots));
                testing::Threads threads(slots);
                attention_f32(s, q.data(), k.data(), v.data(), (slots == 1 ? want : y).data(), threads.parallel(),
                              scratch.data());
                if (slots > 1) {
                  ASSERT_EQ(memcmp(want.data(), y.data(), y.size() * sizeof(float)), 0)
                      << queries << " x " << keys << " value " << value << " group " << group << " causal " << causal
                      << " slots " << slots;
                }
              }
            }
          }
        }
      }
    }
  });
}

TEST(Attention, NothingToDo) {
  check(0, 1, 1, 2, 2, 4, 4, false, Mask::kNone, 1);
  check(1, 1, 1, 0, 2, 4, 4, false, Mask::kNone, 1);
  check(1, 2, 1, 3, 0, 4, 4, false, Mask::kNone, 1);
}

}  // namespace
}  // namespace vireo::cpu
