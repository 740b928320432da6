#include "delegates/cpu/kernels/requantize/requantize.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/requantize/requantize.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/requantize/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

void requantize_rows(const RequantizeI32& s, const int32_t* acc, void* y, int64_t begin, int64_t end) {
  const Finish finish(s);
  const DI d;
  const DF df;
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t j = 0; j < s.columns; j += kLanes) {
      const size_t count = static_cast<size_t>(s.columns - j < kLanes ? s.columns - j : kLanes);
      VI v = hn::LoadN(d, acc + r * s.columns + j, count);
      if (s.bias != nullptr)
        v = hn::Add(v, s.bias_per_column ? hn::LoadN(d, s.bias + j, count) : hn::Set(d, s.bias[r]));
      const VF m = s.multiplier_per_column ? hn::LoadN(df, s.multiplier + j, count)
                                           : hn::Set(df, s.multiplier[s.multiplier_per_row ? r : 0]);
      finish.store(finish.rounded(v, m), count, static_cast<uint8_t*>(y) + r * s.columns + j);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(requantize_rows);

void requantize_i32(const RequantizeI32& s, const int32_t* acc, void* y, const Parallel& parallel) {
  if (s.rows <= 0 || s.columns <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(requantize_rows);
  parallel.for_range(s.rows, 16384 / s.columns + 1,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, acc, y, begin, end); });
}
}  // namespace vireo::cpu
#endif
