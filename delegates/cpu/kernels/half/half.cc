#include "delegates/cpu/kernels/half/half.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/half/half.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/half/half-inl.h"
#include "sdk/base/half.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void widen_half(const uint16_t* x, float* y, int64_t count) {
  int64_t i = 0;
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) hn::StoreU(load_half(d, x + i), d, y + i);
  for (; i < count; ++i) y[i] = f16_to_f32(x[i]);
}

void narrow_half(const float* x, uint16_t* y, int64_t count) {
  int64_t i = 0;
#if VIREO_CONVERTS_HALF  // elsewhere the formula of half.h, one by one
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const hn::Rebind<uint16_t, decltype(d)> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::BitCast(du, hn::DemoteTo(d16, hn::LoadU(d, x + i))), du, y + i);
#endif
  for (; i < count; ++i) y[i] = f32_to_f16(x[i]);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(widen_half);
HWY_EXPORT(narrow_half);

namespace {
constexpr int64_t kBlock = 32768;  // elements: some 5 us
}  // namespace

void f32_from_f16(const uint16_t* x, float* y, int64_t count, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(widen_half);
  parallel.for_range(count, kBlock,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(x + begin, y + begin, end - begin); });
}

void f16_from_f32(const float* x, uint16_t* y, int64_t count, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(narrow_half);
  parallel.for_range(count, kBlock,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(x + begin, y + begin, end - begin); });
}
}  // namespace vireo::cpu
#endif
