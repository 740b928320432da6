#include "delegates/cpu/kernels/rotary/rotary.h"

#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/rotary/rotary.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;

// One vector of pairs, or `n` of them where it is the last.
template <class Load, class Store>
HWY_INLINE void pairs(const float* x, const float* c, const float* s, float* y, int64_t half, const Load& load,
                      const Store& store) {
  const auto x1 = load(x), x2 = load(x + half), cosine = load(c), sine = load(s);
  store(hn::NegMulAdd(sine, x2, hn::Mul(cosine, x1)), y);
  store(hn::MulAdd(sine, x1, hn::Mul(cosine, x2)), y + half);
}

// One head of one token; pairs are neighbours.
void turn_neighbours(const float* x, const float* c, const float* s, float* y, int64_t half) {
  using V = hn::Vec<DF>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(DF()));
  int64_t i = 0;
  for (; i + lanes <= half; i += lanes) {
    V x1, x2;
    hn::LoadInterleaved2(DF(), x + 2 * i, x1, x2);
    const V cosine = hn::LoadU(DF(), c + i), sine = hn::LoadU(DF(), s + i);
    hn::StoreInterleaved2(hn::NegMulAdd(sine, x2, hn::Mul(cosine, x1)), hn::MulAdd(sine, x1, hn::Mul(cosine, x2)), DF(),
                          y + 2 * i);
  }
  for (; i < half; ++i) {
    const float x1 = x[2 * i], x2 = x[2 * i + 1];
    y[2 * i] = c[i] * x1 - s[i] * x2;
    y[2 * i + 1] = s[i] * x1 + c[i] * x2;
  }
}

// One head of one token; pairs are half a head apart.
void turn_halves(const float* x, const float* c, const float* s, float* y, int64_t half) {
  using V = hn::Vec<DF>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(DF()));
  int64_t i = 0;
  for (; i + lanes <= half; i += lanes) {
    pairs(
        x + i, c + i, s + i, y + i, half, [](const float* p) HWY_ATTR { return hn::LoadU(DF(), p); },
        [](V v, float* p) HWY_ATTR { hn::StoreU(v, DF(), p); });
  }
  if (i < half) {
    const size_t n = static_cast<size_t>(half - i);
    pairs(
        x + i, c + i, s + i, y + i, half, [n](const float* p) HWY_ATTR { return hn::LoadN(DF(), p, n); },
        [n](V v, float* p) HWY_ATTR { hn::StoreN(v, DF(), p, n); });
  }
}

// Rows [begin, end) of x: its heads of its tokens, in the order of memory.
void rotary_rows(const RotaryF32& r, const float* x, const float* cosines, const float* sines, float* y, int64_t begin,
                 int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t token = r.packed ? i / r.heads : i / (r.tokens * r.heads) * r.tokens + i % r.tokens;
    const int64_t at = (r.positions == nullptr ? token : r.positions[token]) * r.half;
    const float* const from = x + i * r.head;
    float* const to = y + i * r.head;
    if (r.neighbours) {
      turn_neighbours(from, cosines + at, sines + at, to, r.half);
    } else {
      turn_halves(from, cosines + at, sines + at, to, r.half);
    }
    const int64_t turned = 2 * r.half;
    if (from != to && r.head > turned)
      memcpy(to + turned, from + turned, static_cast<size_t>(r.head - turned) * sizeof(float));
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(rotary_rows);

void rotary_f32(const RotaryF32& r, const float* x, const float* cosines, const float* sines, float* y,
                const Parallel& parallel) {
  if (r.head <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(rotary_rows);
  // As much memory a range as a copy of 32768 elements, which takes about as long as waking a thread.
  parallel.for_range(r.batch * r.heads * r.tokens, 1 + 32768 / r.head,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(r, x, cosines, sines, y, begin, end); });
}
}  // namespace vireo::cpu
#endif
