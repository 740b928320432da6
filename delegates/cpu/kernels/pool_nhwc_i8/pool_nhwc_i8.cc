#include "delegates/cpu/kernels/pool_nhwc_i8/pool_nhwc_i8.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/pool_nhwc_i8/pool_nhwc_i8.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/requantize/finish-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_I8_SEEN_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_I8_SEEN_
namespace vireo::cpu {
// Taps of one axis at one output: those inside the input, and how many are inside the padded one.
struct Seen {
  int64_t first, count, padded;
  Seen(int64_t begin, int64_t taps, int64_t dilation, int64_t in, int64_t pad_end) {
    const auto below = [&](int64_t limit) {  // taps that stand before `limit`
      const int64_t n = limit > begin ? (limit - begin + dilation - 1) / dilation : 0;
      return n < taps ? n : taps;
    };
    const int64_t outside = below(0), last = below(in);
    padded = below(in + pad_end);
    count = last > outside ? last - outside : 0;
    first = begin + outside * dilation;
  }
};
// The pixels that one output sees, the first at `from`.
struct SeenPixels {
  const uint8_t* from;
  int64_t rows, columns, row_step, column_step;  // in bytes
  int64_t counted;                               // for an average
};
}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// What has no tap inside is the least code. `flip` makes codes unsigned.
HWY_INLINE void max_pixel(const SeenPixels& p, int64_t channels, uint8_t flip, uint8_t* to) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, flip);
  const auto vector = [&](int64_t at) HWY_ATTR {
    auto most = hn::Zero(d);
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j)
        most = hn::Max(most, hn::Xor(hn::LoadU(d, p.from + i * p.row_step + j * p.column_step + at), f));
    }
    hn::StoreU(hn::Xor(most, f), d, to + at);
  };
  for (; c + lanes <= channels; c += lanes) vector(c);
  if (c < channels && channels >= lanes) {  // the last ones again
    vector(channels - lanes);
    return;
  }
#endif
  for (; c < channels; ++c) {
    uint8_t most = 0;
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) {
        const uint8_t v = p.from[i * p.row_step + j * p.column_step + c] ^ flip;
        most = v > most ? v : most;
      }
    }
    to[c] = most ^ flip;
  }
}

HWY_INLINE void average_pixel(const PoolI8& s, const Finish& finish, const SeenPixels& p, int64_t channels,
                              uint8_t* to) {
  const hn::Rebind<uint8_t, DI> d8;
  const auto f = hn::Set(d8, s.x_signed ? uint8_t{0x80} : uint8_t{0});
  const auto zero = static_cast<uint32_t>(s.x_zero + (s.x_signed ? 128 : 0));
  const VI start = hn::Set(DI(), static_cast<int32_t>(0u - static_cast<uint32_t>(p.rows * p.columns) * zero));
  const VF m = hn::Set(DF(), s.multiplier[s.one_multiplier ? 0 : p.counted]);
  for (int64_t c = 0; c < channels; c += kLanes) {
    const auto count = static_cast<size_t>(channels - c < kLanes ? channels - c : kLanes);
    VI sum = start;
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) {
        const auto v = hn::LoadN(d8, p.from + i * p.row_step + j * p.column_step + c, count);
        sum = hn::Add(sum, hn::PromoteTo(DI(), hn::Xor(v, f)));
      }
    }
    finish.store(finish.rounded(sum, m), count, to + c);
  }
}

// Lines [begin, end) of N * OH.
void pool_lines(const PoolI8& s, int64_t channels, const uint8_t* x, uint8_t* y, int64_t begin, int64_t end) {
  const Window& w = s.window;
  const Finish finish(s.finish);
  for (int64_t line = begin; line < end; ++line) {
    const uint8_t* const image = x + line / w.out_h * w.in_h * w.in_w * channels;
    const Seen v(line % w.out_h * w.stride_h - w.pad_top, w.kernel_h, w.dilation_h, w.in_h, s.pad_bottom);
    for (int64_t ox = 0; ox < w.out_w; ++ox) {
      const Seen h(ox * w.stride_w - w.pad_left, w.kernel_w, w.dilation_w, w.in_w, s.pad_right);
      SeenPixels p;
      p.from = image + (v.first * w.in_w + h.first) * channels;
      p.rows = v.count;
      p.columns = h.count;
      p.row_step = w.dilation_h * w.in_w * channels;
      p.column_step = w.dilation_w * channels;
      p.counted = s.count_padding ? v.padded * h.padded : v.count * h.count;
      uint8_t* const to = y + (line * w.out_w + ox) * channels;
      if (s.is_max) {
        max_pixel(p, channels, s.x_signed ? 0x80 : 0, to);
      } else {
        average_pixel(s, finish, p, channels, to);
      }
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(pool_lines);

void pool_nhwc_i8(const PoolI8& s, int64_t channels, const uint8_t* x, uint8_t* y, const Parallel& parallel) {
  const Window& w = s.window;
  if (s.planes <= 0 || channels <= 0 || w.out_h <= 0 || w.out_w <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(pool_lines);
  const int64_t work = w.out_w * channels * w.kernel_h * w.kernel_w / 8 + 100;
  parallel.for_range(s.planes / channels * w.out_h, (int64_t{1} << 16) / work + 1,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, channels, x, y, begin, end); });
}
}  // namespace vireo::cpu
#endif
