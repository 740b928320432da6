// Rows of A, rounded to bfloat16: of a matrix, or patches of an image channels last. Compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_ROWS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_ROWS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_ROWS_INL_H_
#endif

#include <hwy/highway.h>
#include <string.h>

#include "delegates/cpu/kernels/bf16-inl.h"
#include "delegates/cpu/kernels/gemm_bf16/product.h"
#include "sdk/base/half.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As float32, for cores that multiply those.
HWY_INLINE void put_rounded(const float* from, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto half = hn::Set(du, 0x7FFFu), one = hn::Set(du, 1u), mask = hn::Set(du, 0xFFFF0000u);
  const auto rounded = [&](auto x) {
    const auto bits = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), one);
    const auto near = hn::BitCast(d, hn::And(hn::Add(bits, hn::Add(half, odd)), mask));
    return hn::IfThenElse(hn::IsNaN(x), x, near);
  };
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(rounded(hn::LoadU(d, from + i)), d, to + i);
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    hn::StoreN(rounded(hn::LoadN(d, from + i, rest)), d, to + i, rest);
  }
}

// As bfloat16.
HWY_INLINE void put_rounded(const float* from, int64_t count, uint16_t* to) {
  int64_t i = 0;
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
  const hn::ScalableTag<float> d;
  const hn::Repartition<hwy::bfloat16_t, decltype(d)> db;
  const hn::Repartition<uint16_t, decltype(d)> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto both = hn::OrderedDemote2To(db, hn::LoadU(d, from + i), hn::LoadU(d, from + i + lanes));
    hn::StoreU(hn::BitCast(du, both), du, to + i);
  }
  if (i < count) {
    const int64_t rest = count - i, low = rest < lanes ? rest : lanes;
    const auto first = hn::LoadN(d, from + i, static_cast<size_t>(low));
    const auto second = rest > low ? hn::LoadN(d, from + i + lanes, static_cast<size_t>(rest - low)) : hn::Zero(d);
    hn::StoreN(hn::BitCast(du, hn::OrderedDemote2To(db, first, second)), du, to + i, static_cast<size_t>(rest));
  }
#else
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> half;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::TruncateTo(half, bf16_words(hn::LoadU(d, from + i))), half, to + i);
  for (; i < count; ++i) to[i] = f32_to_bf16(from[i]);
#endif
}

// What is bfloat16 already.
HWY_INLINE void put_rounded(const uint16_t* from, int64_t count, uint16_t* to) {
  memcpy(to, from, static_cast<size_t>(count) * sizeof(*to));
}
HWY_INLINE void put_rounded(const uint16_t* from, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(widened(from + i), d, to + i);
  if (i < count) {
    const size_t rest = static_cast<size_t>(count - i);
    hn::StoreN(widened(from + i, rest), d, to + i, rest);
  }
}

template <class T>
HWY_INLINE void put_zeros(int64_t count, T* to) {
  if (count > 0) memset(to, 0, static_cast<size_t>(count) * sizeof(T));
}

// The patch of one pixel, [kernel..., channels].
template <class From, class T>
void put_patch(const ConvF32& s, const From* x, int64_t pixel, T* to) {
  const int64_t channels = s.in_channels, area = s.out[0] * s.out[1] * s.out[2];
  x += pixel / area * s.in[0] * s.in[1] * s.in[2] * channels;
  pixel %= area;
  const int64_t z0 = pixel / (s.out[1] * s.out[2]) * s.stride[0] - s.pad[0];
  const int64_t y0 = pixel / s.out[2] % s.out[1] * s.stride[1] - s.pad[1];
  const int64_t x0 = pixel % s.out[2] * s.stride[2] - s.pad[2];
  for (int64_t kz = 0; kz < s.kernel[0]; ++kz) {
    for (int64_t ky = 0; ky < s.kernel[1]; ++ky, to += s.kernel[2] * channels) {
      const int64_t z = z0 + kz * s.dilation[0], y = y0 + ky * s.dilation[1];
      if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1]) {
        put_zeros(s.kernel[2] * channels, to);
        continue;
      }
      const From* const line = x + (z * s.in[1] + y) * s.in[2] * channels;
      if (s.dilation[2] == 1) {  // neighbouring taps are neighbours in x
        int64_t first = x0 < 0 ? -x0 : 0, last = s.in[2] - x0;
        first = first < s.kernel[2] ? first : s.kernel[2];
        last = last < s.kernel[2] ? last : s.kernel[2];
        last = last > first ? last : first;
        put_zeros(first * channels, to);
        if (last > first) put_rounded(line + (x0 + first) * channels, (last - first) * channels, to + first * channels);
        put_zeros((s.kernel[2] - last) * channels, to + last * channels);
        continue;
      }
      for (int64_t kx = 0; kx < s.kernel[2]; ++kx) {
        const int64_t at = x0 + kx * s.dilation[2];
        if (at < 0 || at >= s.in[2]) {
          put_zeros(channels, to + kx * channels);
        } else {
          put_rounded(line + at * channels, channels, to + kx * channels);
        }
      }
    }
  }
}

// `count` lines of x from `first` on, `places` long, with their border.
template <class From>
HWY_INLINE void put_lines(const ConvF32& s, int64_t places, const From* image, int64_t first, int64_t count,
                          uint16_t* to) {
  const int64_t c = s.in_channels, left = s.pad[2];
  int64_t inside = places - left < s.in[2] ? places - left : s.in[2];
  inside = inside > 0 ? inside : 0;
  for (int64_t at = first; at < first + count; ++at, to += places * c) {
    if (at < 0 || at >= s.in[1] || inside == 0) {
      put_zeros(places * c, to);
      continue;
    }
    put_zeros(left * c, to);
    put_rounded(image + at * s.in[2] * c, inside * c, to + left * c);
    put_zeros((places - left - inside) * c, to + (left + inside) * c);
  }
}

// A row of A from `count` runs, `step` apart, in whole vectors: what one writes too much the next one covers, and zeros
// the last one's. Reads up to kBf16Depth - 1 elements behind a run, and leaves as many behind k.
HWY_INLINE void put_runs(const uint16_t* from, int64_t count, int64_t length, int64_t step, uint16_t* to) {
  const hn::CappedTag<uint16_t, kBf16Depth> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; count > 0; --count, from += step, to += length) {
    for (int64_t i = 0; i < length; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  }
  for (int64_t i = 0; i < kBf16Depth; i += lanes) hn::StoreU(hn::Zero(d), d, to + i);
}

// Longer runs are worth a copy of their own, and rows a call.
constexpr int64_t kShortRun = 256;

// Patches by way of lines of x that are rounded once for all windows that see them. `lines`: room for so many elements.
// False where a line of y does not fit, or where patches do well by themselves.
template <class From>
bool put_patches(const Bf16Product& p, const From* x, int64_t m0, int64_t count, uint16_t* to, uint16_t* lines,
                 int64_t room) {
  const ConvF32& s = *p.patches;
  const int64_t run = s.kernel[2] * s.in_channels, deep = (s.kernel[1] - 1) * s.dilation[1] + 1;
  const int64_t places = (s.out[2] - 1) * s.stride[2] + s.kernel[2], line = places * s.in_channels;
  const bool flat = s.kernel[0] == 1 && s.in[0] == 1 && s.out[0] == 1 && s.dilation[2] == 1 && s.pad[2] >= 0;
  if (!flat || run < 1 || s.kernel[1] * s.kernel[2] == 1 || (p.a_half && run > kShortRun)) return false;
  const int64_t fit = (room - kBf16Depth) / line - deep, most = fit < 0 ? 0 : fit / s.stride[1] + 1;
  if (most == 0) return false;
  const int64_t row = bf16_row(p.k), last = m0 + count;
  for (int64_t m = m0; m < last;) {
    const int64_t l = m / s.out[2], y = l % s.out[1];
    int64_t end = l + (most < s.out[1] - y ? most : s.out[1] - y);
    end = end * s.out[2] < last ? end * s.out[2] : last;
    put_lines(s, places, x + l / s.out[1] * s.in[1] * s.in[2] * s.in_channels, y * s.stride[1] - s.pad[1],
              ((end - 1) / s.out[2] - l) * s.stride[1] + deep, lines);
    for (const uint16_t* from = lines; m < end; from += s.stride[1] * line) {
      const int64_t at = m % s.out[2], stop = end < m - at + s.out[2] ? end : m - at + s.out[2];
      for (const uint16_t* window = from + at * s.stride[2] * s.in_channels; m < stop;
           ++m, to += row, window += s.stride[2] * s.in_channels) {
        put_runs(window, s.kernel[1], run, s.dilation[1] * line, to);
      }
    }
  }
  return true;
}
template <class From>
bool put_patches(const Bf16Product&, const From*, int64_t, int64_t, float*, float*, int64_t) {
  return false;  // room for patches alone
}

// Rows that can be read in whole vectors: how many, of those from m0 on.
template <class From>
int64_t put_short_rows(const Bf16Product&, const From*, int64_t, int64_t, const void*) {
  return 0;
}
inline int64_t put_short_rows(const Bf16Product& p, const uint16_t* a, int64_t m0, int64_t count, uint16_t* to) {
  if (p.k < 1 || p.k > kShortRun || p.a_row < p.k) return 0;
  // Behind the last row there may be nothing.
  const int64_t safe = p.m - 1 - (kBf16Depth - 1) / p.a_row, here = safe - m0 < count ? safe - m0 : count;
  const int64_t row = bf16_row(p.k);
  for (int64_t i = 0; i < here; ++i) put_runs(a + (m0 + i) * p.a_row, 1, p.k, 0, to + i * row);
  return here > 0 ? here : 0;
}

// Rows [m0, m0 + count), bf16_row(k) elements apart, k filled up with zeros. `to` has room for `room` elements.
template <class From, class T>
void put_rows(const Bf16Product& p, const From* a, int64_t m0, int64_t count, T* to, int64_t room) {
  const int64_t row = bf16_row(p.k), fill = round_up(p.k, kBf16Depth) - p.k;
  int64_t i = 0;
  if (p.patches == nullptr) {
    i = put_short_rows(p, a, m0, count, to);
  } else if (put_patches(p, a, m0, count, to, to + count * row, room - count * row)) {
    return;
  }
  for (to += i * row; i < count; ++i, to += row) {
    if (p.patches != nullptr) {
      put_patch(*p.patches, a, m0 + i, to);
    } else {
      put_rounded(a + (m0 + i) * p.a_row, p.k, to);
    }
    put_zeros(fill, to + p.k);
  }
}
template <class T>
void put_rows(const Bf16Product& p, int64_t m0, int64_t count, T* to, int64_t room) {
  if (p.a_half) return put_rows(p, static_cast<const uint16_t*>(p.a), m0, count, to, room);
  put_rows(p, static_cast<const float*>(p.a), m0, count, to, room);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
