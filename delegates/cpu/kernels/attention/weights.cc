#include "delegates/cpu/kernels/attention/weights.h"

#include <math.h>
#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/attention/weights.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

enum class Mask { kNone, kAdded, kAllowed };

// Scores from j on as they count: a whole vector, or `lanes` of them.
template <Mask kMask, bool kWhole>
HWY_INLINE VF counted(const float* scores, VF scale, const float* added, const uint8_t* allowed, int64_t j,
                      size_t lanes = 0) {
  const DF d;
  const auto load = [&](const float* from) { return kWhole ? hn::LoadU(d, from) : hn::LoadN(d, from, lanes); };
  VF t = hn::Mul(load(scores + j), scale);
  if constexpr (kMask == Mask::kAdded) t = hn::Add(t, load(added + j));
  if constexpr (kMask == Mask::kAllowed) {
    const hn::Rebind<uint8_t, DF> d8;
    const hn::RebindToSigned<DF> di;
    const auto bytes = kWhole ? hn::LoadU(d8, allowed + j) : hn::LoadN(d8, allowed + j, lanes);
    const auto may = hn::RebindMask(d, hn::Ne(hn::PromoteTo(di, bytes), hn::Zero(di)));
    t = hn::IfThenElse(may, t, hn::Set(d, -HUGE_VALF));
  }
  return t;
}

// Nothing is seen in a row without maximum, unless a NaN hid: the maximum may pass it over. Then its weights are 0.
HWY_INLINE bool nothing_seen(float* row, int64_t seen, float top) {
  if (top != -HUGE_VALF) return false;
  for (int64_t j = 0; j < seen; ++j) {
    if (isnan(row[j])) return false;
  }
  memset(row, 0, static_cast<size_t>(seen) * sizeof(float));
  return true;
}

// Scores that count as they are, times `scale` > 0: the greatest one is so before they are scaled. It is taken from
// them unscaled, too: a product that was rounded would be off by many units where scores are in the millions.
float weights_of_plain_row(float* row, int64_t seen, float scale) {
  const DF d;
  const VF lowest = hn::Set(d, -HUGE_VALF), factor = hn::Set(d, scale);
  const int64_t whole = seen / kLanes * kLanes;
  const size_t rest = static_cast<size_t>(seen - whole);
  const auto tail = hn::FirstN(d, rest);
  VF most[4] = {lowest, lowest, lowest, lowest};
  int64_t j = 0;
  for (; j + 4 * kLanes <= whole; j += 4 * kLanes) {
    VIREO_UNROLL
    for (int i = 0; i < 4; ++i) most[i] = hn::Max(hn::LoadU(d, row + j + i * kLanes), most[i]);
  }
  for (; j < whole; j += kLanes) most[0] = hn::Max(hn::LoadU(d, row + j), most[0]);
  if (rest != 0) most[1] = hn::Max(hn::IfThenElse(tail, hn::LoadN(d, row + whole, rest), lowest), most[1]);
  const float top = hn::ReduceMax(d, hn::Max(hn::Max(most[0], most[1]), hn::Max(most[2], most[3])));
  if (nothing_seen(row, seen, top)) return 0;
  const VF shift = hn::Set(d, top);
  VF sum = hn::Zero(d);
  for (j = 0; j < whole; j += kLanes) {
    const VF w = exp_of_weight(DF(), hn::Mul(hn::Sub(hn::LoadU(d, row + j), shift), factor));
    sum = hn::Add(sum, w);
    hn::StoreU(w, d, row + j);
  }
  if (rest != 0) {
    const VF t = hn::Mul(hn::Sub(hn::LoadN(d, row + whole, rest), shift), factor);
    const VF w = hn::IfThenElseZero(tail, exp_of_weight(DF(), t));
    sum = hn::Add(sum, w);
    hn::StoreN(w, d, row + whole, rest);
  }
  return 1 / hn::ReduceSum(d, sum);
}

template <Mask kMask>
float weights_of_row(float* row, int64_t seen, float scale, const float* added, const uint8_t* allowed) {
  const DF d;
  const VF lowest = hn::Set(d, -HUGE_VALF), factor = hn::Set(d, scale);
  const int64_t whole = seen / kLanes * kLanes;
  const size_t rest = static_cast<size_t>(seen - whole);
  const auto tail = hn::FirstN(d, rest);
  VF most = lowest;
  for (int64_t j = 0; j < whole; j += kLanes) {
    const VF t = counted<kMask, true>(row, factor, added, allowed, j);
    most = at_least(d, most, t);
    hn::StoreU(t, d, row + j);
  }
  if (rest != 0) {
    const VF t = counted<kMask, false>(row, factor, added, allowed, whole, rest);
    most = at_least(d, most, hn::IfThenElse(tail, t, lowest));
    hn::StoreN(t, d, row + whole, rest);
  }
  const float top = hn::ReduceMax(d, most);
  if (nothing_seen(row, seen, top)) return 0;
  const VF shift = hn::Set(d, top);
  VF sum = hn::Zero(d);
  for (int64_t j = 0; j < whole; j += kLanes) {
    const VF w = exp_of_weight(DF(), hn::Sub(hn::LoadU(d, row + j), shift));
    sum = hn::Add(sum, w);
    hn::StoreU(w, d, row + j);
  }
  if (rest != 0) {
    const VF w = hn::IfThenElseZero(tail, exp_of_weight(DF(), hn::Sub(hn::LoadN(d, row + whole, rest), shift)));
    sum = hn::Add(sum, w);
    hn::StoreN(w, d, row + whole, rest);
  }
  return 1 / hn::ReduceSum(d, sum);
}

void weights_of_rows(const WeightsOf& of, float* scores, int64_t rows, int64_t keys, float* inverse) {
  for (int64_t i = 0; i < rows; ++i, scores += keys) {
    const int64_t reach = of.seen + i * of.seen_step, seen = reach < 0 ? 0 : reach < keys ? reach : keys;
    if (of.added != nullptr) {
      inverse[i] = weights_of_row<Mask::kAdded>(scores, seen, of.scale, of.added + i * of.mask_row, nullptr);
    } else if (of.allowed != nullptr) {
      inverse[i] = weights_of_row<Mask::kAllowed>(scores, seen, of.scale, nullptr, of.allowed + i * of.mask_row);
    } else if (of.scale > 0) {
      inverse[i] = weights_of_plain_row(scores, seen, of.scale);
    } else {
      inverse[i] = weights_of_row<Mask::kNone>(scores, seen, of.scale, nullptr, nullptr);
    }
    memset(scores + seen, 0, static_cast<size_t>(keys - seen) * sizeof(float));
  }
}

bool scale_rows(float* y, int64_t row, int64_t rows, int64_t size, const float* inverse) {
  const DF d;
  VF nothing = hn::Zero(d);  // 0 times each: NaN once one is not finite
  for (int64_t i = 0; i < rows; ++i, y += row) {
    const VF factor = hn::Set(d, inverse[i]);
    int64_t c = 0;
    for (; c + kLanes <= size; c += kLanes) {
      const VF scaled = hn::Mul(hn::LoadU(d, y + c), factor);
      nothing = hn::MulAdd(scaled, hn::Zero(d), nothing);
      hn::StoreU(scaled, d, y + c);
    }
    const size_t rest = static_cast<size_t>(size - c);
    if (rest == 0) continue;
    const VF scaled = hn::Mul(hn::LoadN(d, y + c, rest), factor);
    nothing = hn::MulAdd(hn::IfThenElseZero(hn::FirstN(d, rest), scaled), hn::Zero(d), nothing);
    hn::StoreN(scaled, d, y + c, rest);
  }
  return hn::AllFalse(d, hn::IsNaN(nothing));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(weights_of_rows);
HWY_EXPORT(scale_rows);

void attention_weights_f32(const WeightsOf& of, float* scores, int64_t rows, int64_t keys, float* inverse) {
  HWY_DYNAMIC_DISPATCH(weights_of_rows)(of, scores, rows, keys, inverse);
}
bool scale_rows_f32(float* y, int64_t row, int64_t rows, int64_t size, const float* inverse) {
  return HWY_DYNAMIC_DISPATCH(scale_rows)(y, row, rows, size, inverse);
}
}  // namespace vireo::cpu
#endif
