#include "delegates/cpu/kernels/pool_i8/pool_i8.h"

#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/pool_i8/pool_i8.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/requantize/finish-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_I8_TAPS_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_I8_TAPS_
namespace vireo::cpu {
// Taps of one dimension at one output.
struct Taps {
  int64_t first;       // position of the first one
  int64_t begin, end;  // those inside the input
  int64_t padded;      // those inside the padded input

  Taps(int64_t output, int64_t stride, int64_t pad, int64_t dilation, int64_t kernel, int64_t in, int64_t pad_end)
      : first(output * stride - pad), begin(0), end(kernel), padded(kernel) {
    while (begin < kernel && first + begin * dilation < 0) ++begin;
    while (end > begin && first + (end - 1) * dilation >= in) --end;
    while (padded > 0 && first + (padded - 1) * dilation >= in + pad_end) --padded;
  }
};

// A maximum's row of columns: what the windows of a row reach, and as much behind it as two vectors read.
inline int64_t max_span(const Window& w) { return (w.out_w - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1; }
inline int64_t max_columns(const Window& w) { return max_span(w) + 4 * 64; }
}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// to[i] = max(to[i], from[i]) of bytes made unsigned.
HWY_INLINE void max_into(const uint8_t* from, int64_t count, uint8_t flip, uint8_t* to) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, flip);
  if (count < lanes) {
    const size_t n = static_cast<size_t>(count);
    return hn::StoreN(hn::Max(hn::LoadN(d, to, n), hn::Xor(hn::LoadN(d, from, n), f)), d, to, n);
  }
  for (int64_t i = 0;;) {  // the last vector overlaps the one before: a maximum may be taken twice
    hn::StoreU(hn::Max(hn::LoadU(d, to + i), hn::Xor(hn::LoadU(d, from + i), f)), d, to + i);
    if (i + lanes == count) return;
    i = i + 2 * lanes <= count ? i + lanes : count - lanes;
  }
#else
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t v = from[i] ^ flip;
    if (v > to[i]) to[i] = v;
  }
#endif
}
HWY_INLINE void add_into(const uint8_t* from, int64_t count, uint8_t flip, int32_t* to) {
  const hn::Rebind<uint8_t, DI> d;
  const auto f = hn::Set(d, flip);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(hn::Add(hn::LoadU(DI(), to + i), hn::PromoteTo(DI(), hn::Xor(hn::LoadU(d, from + i), f))), DI(), to + i);
  for (; i < count; ++i) to[i] += from[i] ^ flip;
}

// y[i] = max over k of from[i kStride + k dilation], then `flip`. Reads up to `count` rounded up to vectors.
template <int kStride>
HWY_INLINE void max_along(const uint8_t* from, int64_t kernel, int64_t dilation, int64_t count, uint8_t flip,
                          uint8_t* y) {
#if HWY_TARGET != HWY_SCALAR
  static_assert(kStride == 1 || kStride == 2);
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, flip);
  for (int64_t i = 0; i < count; i += lanes, from += kStride * lanes) {
    auto most = hn::Zero(d);
    for (int64_t k = 0; k < kernel; ++k) {
      const uint8_t* const at = from + k * dilation;
      auto v = hn::LoadU(d, at);
      if constexpr (kStride == 2) v = hn::ConcatEven(d, hn::LoadU(d, at + lanes), v);
      most = hn::Max(most, v);
    }
    most = hn::Xor(most, f);
    if (count - i >= lanes) {
      hn::StoreU(most, d, y + i);
    } else {
      hn::StoreN(most, d, y + i, static_cast<size_t>(count - i));
    }
  }
#else
  for (int64_t i = 0; i < count; ++i) {
    uint8_t most = 0;
    for (int64_t k = 0; k < kernel; ++k) {
      const uint8_t v = from[i * kStride + k * dilation];
      most = v > most ? v : most;
    }
    y[i] = most ^ flip;
  }
#endif
}

// Columns of the window's rows are put together first, then their neighbours along the row. 0, the least, stands around
// them.
HWY_INLINE void max_plane(const PoolI8& s, const uint8_t* x, uint8_t* y, uint8_t* columns) {
  const Window& w = s.window;
  const uint8_t flip = s.x_signed ? 0x80 : 0;
  const int64_t span = max_span(w), used = span - w.pad_left < w.in_w ? span - w.pad_left : w.in_w;
  const size_t bytes = static_cast<size_t>(max_columns(w));
  for (int64_t oy = 0; oy < w.out_h; ++oy, y += w.out_w) {
    const Taps v(oy, w.stride_h, w.pad_top, w.dilation_h, w.kernel_h, w.in_h, 0);
    memset(columns, 0, bytes);
    for (int64_t k = v.begin; used > 0 && k < v.end; ++k)
      max_into(x + (v.first + k * w.dilation_h) * w.in_w, used, flip, columns + w.pad_left);
    if (w.stride_w == 1) {
      max_along<1>(columns, w.kernel_w, w.dilation_w, w.out_w, flip, y);
    } else if (w.stride_w == 2) {
      max_along<2>(columns, w.kernel_w, w.dilation_w, w.out_w, flip, y);
    } else {
      for (int64_t ox = 0; ox < w.out_w; ++ox) {
        uint8_t most = 0;
        for (int64_t k = 0; k < w.kernel_w; ++k) {
          const uint8_t c = columns[ox * w.stride_w + k * w.dilation_w];
          most = c > most ? c : most;
        }
        y[ox] = most ^ flip;
      }
    }
  }
}

// Sum of bytes made unsigned; wraps modulo 2^32.
HWY_INLINE uint32_t sum_of(const uint8_t* x, int64_t count, uint8_t flip) {
  uint32_t sum = 0;
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto eights = hn::Zero(d64);
  for (; i + lanes <= count; i += lanes)
    eights = hn::Add(eights, hn::SumsOf8(hn::Xor(hn::LoadU(d, x + i), hn::Set(d, flip))));
  sum = static_cast<uint32_t>(hn::ReduceSum(d64, eights));
#endif
  for (; i < count; ++i) sum += x[i] ^ flip;
  return sum;
}

HWY_INLINE void average_plane(const PoolI8& s, const Finish& finish, const uint8_t* x, uint8_t* y, int32_t* columns) {
  const Window& w = s.window;
  const uint8_t flip = s.x_signed ? 0x80 : 0;
  const auto zero = static_cast<uint32_t>(s.x_zero + (s.x_signed ? 128 : 0));
  const int64_t area = w.in_h * w.in_w;
  if (w.kernel_h == w.in_h && w.kernel_w == w.in_w && w.out_h == 1 && w.out_w == 1 && w.pad_top == 0 &&
      w.pad_left == 0 && s.pad_bottom == 0 && s.pad_right == 0) {  // every tap, dilation or not, is inside
    const auto sum = static_cast<int32_t>(sum_of(x, area, flip) - static_cast<uint32_t>(area) * zero);
    const VF m = hn::Set(DF(), s.multiplier[s.one_multiplier ? 0 : area]);
    return finish.store(finish.rounded(hn::Set(DI(), sum), m), 1, y);
  }
  for (int64_t oy = 0; oy < w.out_h; ++oy, y += w.out_w) {
    const Taps v(oy, w.stride_h, w.pad_top, w.dilation_h, w.kernel_h, w.in_h, s.pad_bottom);
    memset(columns, 0, static_cast<size_t>(w.in_w) * sizeof(int32_t));
    for (int64_t k = v.begin; k < v.end; ++k)
      add_into(x + (v.first + k * w.dilation_h) * w.in_w, w.in_w, flip, columns);
    for (int64_t ox = 0; ox < w.out_w; ++ox) {
      const Taps h(ox, w.stride_w, w.pad_left, w.dilation_w, w.kernel_w, w.in_w, s.pad_right);
      const int64_t taps = (v.end - v.begin) * (h.end - h.begin);
      const int64_t counted = s.count_padding ? v.padded * h.padded : taps;
      uint32_t sum = 0;
      for (int64_t k = h.begin; k < h.end; ++k) sum += static_cast<uint32_t>(columns[h.first + k * w.dilation_w]);
      sum -= static_cast<uint32_t>(taps) * zero;
      const VF m = hn::Set(DF(), s.multiplier[s.one_multiplier ? 0 : counted]);
      finish.store(finish.rounded(hn::Set(DI(), static_cast<int32_t>(sum)), m), 1, y + ox);
    }
  }
}

void pool_planes(const PoolI8& s, const uint8_t* x, uint8_t* y, int64_t begin, int64_t end, void* scratch) {
  const Window& w = s.window;
  const Finish finish(s.finish);
  for (int64_t p = begin; p < end; ++p) {
    const uint8_t* const from = x + p * w.in_h * w.in_w;
    uint8_t* const to = y + p * w.out_h * w.out_w;
    if (s.is_max) {
      max_plane(s, from, to, static_cast<uint8_t*>(scratch));
    } else {
      average_plane(s, finish, from, to, static_cast<int32_t*>(scratch));
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(pool_planes);

namespace {
size_t slot_bytes(const PoolI8& s) {
  const size_t bytes =
      s.is_max ? static_cast<size_t>(max_columns(s.window)) : static_cast<size_t>(s.window.in_w) * sizeof(int32_t);
  return (bytes + 63) & ~size_t{63};
}
}  // namespace

size_t pool_i8_scratch_bytes(const PoolI8& s, int32_t slots) {
  return slot_bytes(s) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void pool_i8(const PoolI8& s, const uint8_t* x, uint8_t* y, const Parallel& parallel, void* scratch) {
  if (s.planes <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(pool_planes);
  const size_t room = slot_bytes(s);
  const int64_t work = s.window.out_h * (s.window.in_w + s.window.out_w * s.window.kernel_w) + 100;
  parallel.for_range(s.planes, (int64_t{1} << 16) / work + 1, [&](int64_t begin, int64_t end, int32_t slot) {
    kernel(s, x, y, begin, end, static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  });
}
}  // namespace vireo::cpu
#endif
