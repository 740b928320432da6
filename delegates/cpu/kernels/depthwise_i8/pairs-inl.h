// 16-bit differences, two taps at a time: every instruction set, every weight; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_PAIRS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_PAIRS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_PAIRS_INL_H_
#endif

#include <hwy/highway.h>
#include <string.h>

#include "delegates/cpu/kernels/depthwise_i8/strip.h"
#include "delegates/cpu/kernels/requantize/finish-inl.h"
#include "delegates/cpu/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What one output plane is made with.
struct PlaneOut {
  const int32_t* weights;  // pairs or quads along the taps
  int32_t start;           // of every sum: the bias, and what zero points bring
  const Finish* finish;    // null: int32
  float multiplier;
  uint8_t* bytes;  // the strip's first row, or
  int32_t* sums;
};

// Rows of padding and the columns beside the image hold 0 from the beginning; rows that another strip wrote are
// cleared.
HWY_INLINE void copy_strip(const DepthwiseI8& s, const Strip& strip, const void* plane, int64_t y0, int64_t rows,
                           bool fresh, int16_t* to) {
  const Window& w = s.window;
  const int64_t in_rows = (rows - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1;
  const int64_t reach = (w.out_w - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1 - w.pad_left;
  const int64_t width = reach < w.in_w ? reach : w.in_w;
  for (int64_t r = 0; r < in_rows; ++r, to += strip.pitch) {
    const int64_t y = y0 * w.stride_h - w.pad_top + r;
    if (y < 0 || y >= w.in_h) {
      if (!fresh) memset(to, 0, static_cast<size_t>(strip.pitch) * sizeof(int16_t));
      continue;
    }
    for (int64_t f = 0; f < strip.phases; ++f) {
      // The first column of the image whose place in the strip has this remainder.
      const int64_t first = ((f - w.pad_left) % strip.phases + strip.phases) % strip.phases;
      if (first >= width) continue;
      const int64_t count = (width - first + strip.phases - 1) / strip.phases;
      int16_t* const out = to + f * strip.phase + (first + w.pad_left) / strip.phases;
      widen_any(plane, s.x_signed, y * w.in_w + first, strip.phases, count, s.x_zero, out);
    }
  }
}

// Pairs of 16-bit differences; an odd end is paired with 0.
HWY_INLINE void pair_weights(const DepthwiseI8& s, const void* weights, int64_t o, int64_t taps, int32_t* pairs) {
  const int32_t zero = weight_zero(s, o);
  for (int64_t t = 0; t < taps; t += 2) {
    const uint32_t even = static_cast<uint32_t>(code_at(weights, s.w_signed, o * taps + t) - zero) & 0xFFFF;
    const uint32_t odd =
        t + 1 < taps ? static_cast<uint32_t>(code_at(weights, s.w_signed, o * taps + t + 1) - zero) : 0;
    pairs[t / 2] = static_cast<int32_t>(even | odd << 16);
  }
}

#if HWY_TARGET != HWY_SCALAR
// Adds the products of all pairs of taps; load(t): the vector of tap t. Of each 128 bits the lower half goes to `lo`.
template <class Load>
HWY_INLINE void add_pairs(const int32_t* weights, int64_t pairs, const Load& load, VI* lo, VI* hi) {
  const DI d;
  const hn::Repartition<int16_t, DI> d16;
  VI none = hn::Zero(d);
  for (int64_t t = 0; t < pairs; ++t) {
    const auto even = load(2 * t), odd = load(2 * t + 1);
    const auto weight = hn::BitCast(d16, hn::Set(d, weights[t]));
    const auto first = hn::InterleaveLower(d16, even, odd), second = hn::InterleaveUpper(d16, even, odd);
#if HWY_ARCH_X86
    *lo = hn::ReorderWidenMulAccumulate(d, first, weight, *lo, none);
    *hi = hn::ReorderWidenMulAccumulate(d, second, weight, *hi, none);
#else
    *lo = hn::Add(*lo, hn::WidenMulPairwiseAdd(d, first, weight));
    *hi = hn::Add(*hi, hn::WidenMulPairwiseAdd(d, second, weight));
#endif
  }
  (void)none;
}
#endif

// `offsets`: of the taps, of an even number.
HWY_INLINE void row_of_pairs(const PlaneOut& out, const int16_t* line, const int64_t* offsets, int64_t pairs,
                             int64_t row, int64_t width) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t x = 0; x < width; ++x) {
    uint32_t sum = static_cast<uint32_t>(out.start);
    for (int64_t t = 0; t < pairs; ++t) {
      const int32_t even = static_cast<int16_t>(out.weights[t] & 0xFFFF), odd = out.weights[t] >> 16;
      sum += static_cast<uint32_t>(line[offsets[2 * t] + x] * even) +
             static_cast<uint32_t>(line[offsets[2 * t + 1] + x] * odd);
    }
    if (out.finish == nullptr) {
      out.sums[row * width + x] = static_cast<int32_t>(sum);
    } else {
      const VI v = hn::Set(DI(), static_cast<int32_t>(sum));
      out.finish->store(out.finish->rounded(v, hn::Set(DF(), out.multiplier)), 1, out.bytes + row * width + x);
    }
  }
#else
  const DI d;
  const hn::Repartition<int16_t, DI> d16;
  const VI start = hn::Set(d, out.start);
  const VF m = hn::Set(DF(), out.multiplier);
  for (int64_t x = 0; x < width; x += 2 * kLanes) {
    VI lo = start, hi = start;
    add_pairs(
        out.weights, pairs, [&](int64_t t) HWY_ATTR { return hn::LoadU(d16, line + offsets[t] + x); }, &lo, &hi);
    const size_t count = static_cast<size_t>(width - x < 2 * kLanes ? width - x : 2 * kLanes);
    if (out.finish != nullptr) {
      const Finish& finish = *out.finish;
      finish.store_halves(finish.rounded(lo, m), finish.rounded(hi, m), count, out.bytes + row * width + x);
      continue;
    }
    HWY_ALIGN int32_t halves[2][kLanes];  // block by block: 4 columns in lo, the next 4 in hi
    hn::Store(lo, d, halves[0]);
    hn::Store(hi, d, halves[1]);
    for (size_t i = 0; i < count; ++i)
      out.sums[row * width + x + static_cast<int64_t>(i)] = halves[i / 4 % 2][i / 8 * 4 + i % 4];
  }
#endif
}

#if HWY_TARGET == HWY_AVX2
// The same of rows `row` and `row` + 1, `step` elements apart in the strip and of up to 8 columns each: those of one
// are a half of a vector.
HWY_INLINE void two_rows_of_pairs(const PlaneOut& out, const int16_t* line, int64_t step, const int64_t* offsets,
                                  int64_t pairs, int64_t row, int64_t width) {
  const DI d;
  const hn::Repartition<int16_t, DI> d16;
  const hn::Half<decltype(d16)> half;
  const auto load = [&](int64_t t) HWY_ATTR {
    const int16_t* const from = line + offsets[t];
    return hn::Combine(d16, hn::LoadU(half, from + step), hn::LoadU(half, from));
  };
  VI lo = hn::Set(d, out.start), hi = lo;
  add_pairs(out.weights, pairs, load, &lo, &hi);
  if (out.finish == nullptr) {
    HWY_ALIGN int32_t halves[2][kLanes];  // of each row 4 columns in lo, the next 4 in hi
    hn::Store(lo, d, halves[0]);
    hn::Store(hi, d, halves[1]);
    for (int64_t i = 0; i < 2 * width; ++i) {
      const int64_t r = i / width, x = i % width;
      out.sums[row * width + i] = halves[x / 4][r * 4 + x % 4];
    }
    return;
  }
  const Finish& finish = *out.finish;
  const VF m = hn::Set(DF(), out.multiplier);
  HWY_ALIGN uint8_t codes[16];
  finish.store_halves(finish.rounded(lo, m), finish.rounded(hi, m), 16, codes);
  for (int64_t r = 0; r < 2; ++r) {
    uint8_t* const to = out.bytes + (row + r) * width;
    if (width >= 4) {  // the last four overlap the first
      memcpy(to, codes + 8 * r, 4);
      memcpy(to + width - 4, codes + 8 * r + width - 4, 4);
    } else {
      for (int64_t x = 0; x < width; ++x) to[x] = codes[8 * r + x];
    }
  }
}
#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
