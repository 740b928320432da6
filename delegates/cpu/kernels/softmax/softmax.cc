#include "delegates/cpu/kernels/softmax/softmax.h"

#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/softmax/softmax.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

#if HWY_TARGET != HWY_SCALAR
// As many rows as a vector has lanes, each shorter than a vector: lanes run across rows. columns[k] are the elements k
// of all of them.
HWY_INLINE void softmax_block(const float* x, float* y, int64_t axis, bool log) {
  const DF d;
  HWY_ALIGN float columns[kLanes * kLanes];
  float* const second = columns + kLanes;
  float* const third = second + kLanes;
  float* const fourth = third + kLanes;
  VF a, b, c, e;
  const hn::RebindToSigned<DF> di;
  const auto rows = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(axis)));
  if (axis == 2) {
    hn::LoadInterleaved2(d, x, a, b);
    hn::Store(a, d, columns);
    hn::Store(b, d, second);
  } else if (axis == 3) {
    hn::LoadInterleaved3(d, x, a, b, c);
    hn::Store(a, d, columns);
    hn::Store(b, d, second);
    hn::Store(c, d, third);
  } else if (axis == 4) {
    hn::LoadInterleaved4(d, x, a, b, c, e);
    hn::Store(a, d, columns);
    hn::Store(b, d, second);
    hn::Store(c, d, third);
    hn::Store(e, d, fourth);
  } else {
    for (int64_t k = 0; k < axis; ++k) hn::Store(hn::GatherIndex(d, x + k, rows), d, columns + k * kLanes);
  }
  VF most = hn::Set(d, -HUGE_VALF);
  for (int64_t k = 0; k < axis; ++k) most = at_least(d, most, hn::Load(d, columns + k * kLanes));
  VF sum = hn::Zero(d);
  for (int64_t k = 0; k < axis; ++k) {
    const VF shifted = hn::Sub(hn::Load(d, columns + k * kLanes), most);
    const VF power = exp_of_weight(d, shifted);
    sum = hn::Add(sum, power);
    hn::Store(log ? shifted : power, d, columns + k * kLanes);
  }
  const VF by = log ? log_f32(d, sum) : hn::Div(hn::Set(d, 1.0f), sum);
  const auto result = [&](const float* column) HWY_ATTR {
    const VF v = hn::Load(d, column);
    return log ? hn::Sub(v, by) : hn::Mul(v, by);
  };
  if (axis == 2) {
    hn::StoreInterleaved2(result(columns), result(second), d, y);
  } else if (axis == 3) {
    hn::StoreInterleaved3(result(columns), result(second), result(third), d, y);
  } else if (axis == 4) {
    hn::StoreInterleaved4(result(columns), result(second), result(third), result(fourth), d, y);
  } else {
    for (int64_t k = 0; k < axis; ++k) hn::ScatterIndex(result(columns + k * kLanes), d, y + k, rows);
  }
}

void softmax_short_rows(const float* x, float* y, int64_t rows, int64_t axis, bool log) {
  int64_t r = 0;
  for (; r + kLanes <= rows; r += kLanes) softmax_block(x + r * axis, y + r * axis, axis, log);
  if (r == rows) return;
  // The same sums in the last block as in all, wherever threads begin.
  float block[kLanes * kLanes] = {};
  const size_t bytes = static_cast<size_t>((rows - r) * axis) * sizeof(float);
  memcpy(block, x + r * axis, bytes);
  softmax_block(block, block, axis, log);
  memcpy(y + r * axis, block, bytes);
}
#else
void softmax_rows(const float* x, float* y, int64_t rows, int64_t axis, bool log);
void softmax_short_rows(const float* x, float* y, int64_t rows, int64_t axis, bool log) {
  softmax_rows(x, y, rows, axis, log);
}
#endif

// Rows that lie together: lanes run along the axis. A NaN may escape the maximum, but not the sum.
void softmax_rows(const float* x, float* y, int64_t rows, int64_t axis, bool log) {
  const DF d;
  const int64_t whole = axis / kLanes * kLanes;
  const size_t rest = static_cast<size_t>(axis - whole);
  const auto tail = hn::FirstN(d, rest);
  const VF lowest = hn::Set(d, -HUGE_VALF);
  for (int64_t r = 0; r < rows; ++r, x += axis, y += axis) {
    VF most0 = lowest, most1 = lowest;
    int64_t i = 0;
    for (; i + 2 * kLanes <= whole; i += 2 * kLanes) {
      most0 = at_least(d, most0, hn::LoadU(d, x + i));
      most1 = at_least(d, most1, hn::LoadU(d, x + i + kLanes));
    }
    if (i < whole) most0 = at_least(d, most0, hn::LoadU(d, x + i));
    if (rest != 0) most1 = at_least(d, most1, hn::IfThenElse(tail, hn::LoadN(d, x + whole, rest), lowest));
    const VF most = hn::MaxOfLanes(d, at_least(d, most0, most1));
    VF sum = hn::Zero(d);
    for (i = 0; i < whole; i += kLanes) {
      const VF shifted = hn::Sub(hn::LoadU(d, x + i), most);
      const VF e = exp_of_weight(d, shifted);
      sum = hn::Add(sum, e);
      hn::StoreU(log ? shifted : e, d, y + i);
    }
    if (rest != 0) {
      const VF shifted = hn::Sub(hn::LoadN(d, x + whole, rest), most);
      const VF e = exp_of_weight(d, shifted);
      sum = hn::Add(sum, hn::IfThenElseZero(tail, e));
      hn::StoreN(log ? shifted : e, d, y + whole, rest);
    }
    const VF total = hn::Set(d, sum_lanes(d, sum));
    const VF by = log ? log_f32(d, total) : hn::Div(hn::Set(d, 1.0f), total);
    for (i = 0; i < whole; i += kLanes) {
      const VF v = hn::LoadU(d, y + i);
      hn::StoreU(log ? hn::Sub(v, by) : hn::Mul(v, by), d, y + i);
    }
    if (rest != 0) {
      const VF v = hn::LoadN(d, y + whole, rest);
      hn::StoreN(log ? hn::Sub(v, by) : hn::Mul(v, by), d, y + whole, rest);
    }
  }
}

// Elements of a row `inner` apart: lanes run across neighbouring rows. Strips [begin, end) of kLanes columns.
void softmax_strips(const float* x, float* y, int64_t begin, int64_t end, int64_t axis, int64_t inner, bool log) {
  const DF d;
  const int64_t strips = (inner + kLanes - 1) / kLanes;
  for (int64_t s = begin; s < end; ++s) {
    const int64_t column = s % strips * kLanes, base = s / strips * axis * inner + column;
    const size_t lanes = static_cast<size_t>(inner - column < kLanes ? inner - column : kLanes);
    const float* from = x + base;
    float* to = y + base;
    VF most = hn::Set(d, -HUGE_VALF);
    for (int64_t k = 0; k < axis; ++k) most = at_least(d, most, hn::LoadN(d, from + k * inner, lanes));
    VF sum = hn::Zero(d);
    for (int64_t k = 0; k < axis; ++k) {
      const VF shifted = hn::Sub(hn::LoadN(d, from + k * inner, lanes), most);
      const VF e = exp_of_weight(d, shifted);
      sum = hn::Add(sum, e);
      hn::StoreN(log ? shifted : e, d, to + k * inner, lanes);
    }
    const VF by = log ? log_f32(d, sum) : hn::Div(hn::Set(d, 1.0f), sum);
    for (int64_t k = 0; k < axis; ++k) {
      const VF v = hn::LoadN(d, to + k * inner, lanes);
      hn::StoreN(log ? hn::Sub(v, by) : hn::Mul(v, by), d, to + k * inner, lanes);
    }
  }
}

int64_t strip_width() { return kLanes; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_short_rows);
HWY_EXPORT(softmax_strips);
HWY_EXPORT(strip_width);

void softmax_f32(const float* x, float* y, int64_t outer, int64_t axis, int64_t inner, bool log,
                 const Parallel& parallel) {
  if (outer <= 0 || axis <= 0 || inner <= 0) return;
  constexpr int64_t kGrain = 8192;  // elements: about 8 us
  const int64_t width = HWY_DYNAMIC_DISPATCH(strip_width)();
  if (inner == 1) {
    constexpr int64_t kFewRows = 4;  // take less time one by one
    const auto kernel =
        axis < width && outer >= kFewRows ? HWY_DYNAMIC_POINTER(softmax_short_rows) : HWY_DYNAMIC_POINTER(softmax_rows);
    parallel.for_range(outer, kGrain / axis + 1, [&](int64_t begin, int64_t end, int32_t) {
      kernel(x + begin * axis, y + begin * axis, end - begin, axis, log);
    });
    return;
  }
  const auto kernel = HWY_DYNAMIC_POINTER(softmax_strips);
  parallel.for_range(outer * ((inner + width - 1) / width), kGrain / (axis * width) + 1,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(x, y, begin, end, axis, inner, log); });
}
}  // namespace vireo::cpu
#endif
