#include "delegates/cpu/kernels/row_sums/row_sums.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/row_sums/row_sums.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One vector of the model against kRows rows of x.
template <int kRows, bool kSquared>
void sums_of(const RowSums& s, const double* x, const float* w, double* sums) {
  double rest[kRows] = {};
  int64_t k = 0;
#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
  // At least four chains: they hide the latency of addition.
  constexpr int kChains = kRows == 1 ? 4 : 2;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  hn::Vec<decltype(d)> acc[kRows][kChains];
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int c = 0; c < kChains; ++c) acc[r][c] = hn::Zero(d);
  }
  const auto add = [&](int chain, int64_t at) HWY_ATTR {
    const auto v = hn::PromoteTo(d, hn::LoadU(df, w + at));
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto a = hn::LoadU(d, x + r * s.features + at);
      const auto left = kSquared ? hn::Sub(a, v) : a;
      acc[r][chain] = hn::MulAdd(left, kSquared ? left : v, acc[r][chain]);
    }
  };
  for (; k + kChains * kLanes <= s.features; k += kChains * kLanes) {
    VIREO_UNROLL
    for (int c = 0; c < kChains; ++c) add(c, k + c * kLanes);
  }
  for (; k + kLanes <= s.features; k += kLanes) add(0, k);
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int c = 1; c < kChains; ++c) acc[r][0] = hn::Add(acc[r][0], acc[r][c]);
    rest[r] = hn::ReduceSum(d, acc[r][0]);
  }
#endif
  for (; k < s.features; ++k) {
    const double v = static_cast<double>(w[k]);
    for (int r = 0; r < kRows; ++r) {
      const double a = x[r * s.features + k], left = kSquared ? a - v : a;
      rest[r] += left * (kSquared ? left : v);
    }
  }
  for (int r = 0; r < kRows; ++r) sums[r * s.sums_step] = rest[r];
}

template <int kRows>
void sums_of_all(const RowSums& s, const double* x, const float* w, double* sums) {
  for (int64_t j = 0; j < s.count; ++j, w += s.features, ++sums)
    s.squared ? sums_of<kRows, true>(s, x, w, sums) : sums_of<kRows, false>(s, x, w, sums);
}

void all_row_sums(const RowSums& s, const double* x, const float* w, double* sums) {
  int64_t r = 0;
  for (; r + kRowsAtOnce <= s.rows; r += kRowsAtOnce)
    sums_of_all<kRowsAtOnce>(s, x + r * s.features, w, sums + r * s.sums_step);
  for (; r < s.rows; ++r) sums_of_all<1>(s, x + r * s.features, w, sums + r * s.sums_step);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(all_row_sums);

void row_sums_f64(const RowSums& shape, const double* x, const float* w, double* sums) {
  HWY_DYNAMIC_DISPATCH(all_row_sums)(shape, x, w, sums);
}
}  // namespace vireo::cpu
#endif
