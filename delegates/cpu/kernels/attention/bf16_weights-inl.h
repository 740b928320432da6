// Scores of a block of queries and keys, and from them the weights of the keys. Compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_WEIGHTS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_WEIGHTS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_WEIGHTS_INL_H_
#endif

#include <hwy/highway.h>
#include <math.h>
#include <string.h>

#include "delegates/cpu/kernels/gemm_bf16/rows-inl.h"
#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr float kLog2E = 1.44269504f;

// 2^x for x <= 0 and a little more, to 2^-13.7 of itself; 0 below -126.5.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V power_of_weight(D d, V x) {
  const hn::RebindToSigned<D> di;
  // Adding it rounds x to an integer, whose low bits are then the exponent with its bias: at -127 that of 0.
  const V units = hn::Set(d, 12582912.0f + 127.0f);
  x = at_least(d, x, hn::Set(d, -127.0f));
  const V t = hn::Add(x, units);
  const V r = hn::Sub(x, hn::Sub(t, units));
  const V y = horner(d, r, 9.999280572e-01f, 6.932609677e-01f, 2.426111251e-01f, 5.517166853e-02f);
  return hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, t))));
}

// How scores of one row count. `factor` is the scale, and log2 e: weights are powers of two.
struct RowOf {
  float factor, cap;   // cap 0: none, else factor belongs to what is capped: factor * tanh(score * cap)
  const float* added;  // at the first key of the block; null: none
  const uint8_t* allowed;
  bool plain;  // none of these, factor > 0: the greatest score is so before it is multiplied

  // By which a row and its top are multiplied once they are apart: a product that was rounded before would be off by
  // many units where scores are in the millions.
  float unit() const { return plain ? factor : 1.0f; }
};

// Two vectors from j on; those of keys from `seen` on count as the lowest.
template <class D, class V>
HWY_INLINE void low_behind(D d, int64_t j, int64_t seen, V* a, V* b) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V lowest = hn::Set(d, -HUGE_VALF);
  const int64_t rest = seen - j;
  if (rest >= 2 * lanes) return;
  *a = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(rest < 0 ? 0 : rest < lanes ? rest : lanes)), *a, lowest);
  *b = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(rest < lanes ? 0 : rest - lanes)), *b, lowest);
}

// The greatest of a row's first `seen` scores, of plain ones before `unit`; others are replaced by what they count as.
HWY_INLINE float top_of_row(const RowOf& of, float* row, int64_t seen) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V lowest = hn::Set(d, -HUGE_VALF), factor = hn::Set(d, of.factor);
  V most0 = lowest, most1 = lowest;
  if (of.plain) {
    for (int64_t j = 0; j < seen; j += 2 * lanes) {
      V a = hn::LoadU(d, row + j), b = hn::LoadU(d, row + j + lanes);
      low_behind(d, j, seen, &a, &b);
      most0 = hn::Max(a, most0);
      most1 = hn::Max(b, most1);
    }
    return hn::ReduceMax(d, hn::Max(most0, most1));
  }
  const V log2e = hn::Set(d, kLog2E), cap = hn::Set(d, of.cap);
  for (int64_t j = 0; j < seen; j += lanes) {
    const size_t count = static_cast<size_t>(seen - j < lanes ? seen - j : lanes);
    V t = hn::LoadU(d, row + j);
    if (of.cap != 0) t = tanh_f32(d, hn::Mul(t, cap));
    t = hn::Mul(t, factor);
    if (of.added != nullptr) t = hn::MulAdd(hn::LoadN(d, of.added + j, count), log2e, t);
    if (of.allowed != nullptr) {
      const hn::Rebind<uint8_t, decltype(d)> d8;
      const hn::RebindToSigned<decltype(d)> di;
      const auto bytes = hn::LoadN(d8, of.allowed + j, count);
      t = hn::IfThenElse(hn::RebindMask(d, hn::Ne(hn::PromoteTo(di, bytes), hn::Zero(di))), t, lowest);
    }
    hn::StoreU(t, d, row + j);
    most0 = at_least(d, most0, hn::IfThenElse(hn::FirstN(d, count), t, lowest));
  }
  return hn::ReduceMax(d, most0);
}

// Two vectors of weights as the products read them.
template <class D, class V>
HWY_INLINE void put_weights(D d, V a, V b, float* to) {
  hn::StoreU(a, d, to);
  hn::StoreU(b, d, to + hn::Lanes(d));
}
template <class D, class V>
HWY_INLINE void put_weights([[maybe_unused]] D d, V a, V b, uint16_t* to) {
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
  const hn::Repartition<hwy::bfloat16_t, D> db;
  const hn::Repartition<uint16_t, D> du;
  hn::StoreU(hn::BitCast(du, hn::OrderedDemote2To(db, a, b)), du, to);
#else
  HWY_ALIGN float wide[2 * hn::MaxLanes(d)];
  hn::Store(a, d, wide);
  hn::Store(b, d, wide + hn::Lanes(d));
  put_rounded(wide, static_cast<int64_t>(2 * hn::Lanes(d)), to);
#endif
}

// Weights 2^(score - top) of the first `seen` keys in place of the scores, 0 up to `count`, a multiple of 32; their
// sum.
template <class Left>
HWY_INLINE float weights_of_row(const RowOf& of, float* row, int64_t seen, int64_t count, float top) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  Left* const to = reinterpret_cast<Left*>(row);
  if (top == -HUGE_VALF) {  // nothing is seen, unless a NaN hid: a maximum may pass it over
    float sum = 0;
    for (int64_t j = 0; j < seen; ++j) sum = isnan(row[j]) ? row[j] : sum;
    memset(to, 0, static_cast<size_t>(count) * sizeof(Left));
    return sum;
  }
  const V shift = hn::Set(d, top), factor = hn::Set(d, of.unit());
  V sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  int64_t j = 0;
  for (; j < seen; j += 2 * lanes) {
    V a = hn::Mul(hn::Sub(hn::LoadU(d, row + j), shift), factor),
      b = hn::Mul(hn::Sub(hn::LoadU(d, row + j + lanes), shift), factor);
    low_behind(d, j, seen, &a, &b);
    a = power_of_weight(d, a);
    b = power_of_weight(d, b);
    sum0 = hn::Add(sum0, a);
    sum1 = hn::Add(sum1, b);
    put_weights(d, a, b, to + j);
  }
  if (j < count) memset(to + j, 0, static_cast<size_t>(count - j) * sizeof(Left));
  return hn::ReduceSum(d, hn::Add(sum0, sum1));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
