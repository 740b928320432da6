#include "delegates/cpu/kernels/intgemm/intgemm.h"

#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/intgemm/intgemm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#ifndef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_TYPES_
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_TYPES_
namespace vireo::cpu {
// One product on one range of rows and columns. B is a matrix, or the patches of `patches`.
struct IntProduct {
  int64_t m, n, k;
  const void* a;  // [m, k], rows a_row apart
  int64_t a_row;
  bool a_signed, b_signed;
  const void* a_zero;
  const void* b_zero;
  bool a_zero_per_row, b_zero_per_column;
  const void* b;     // matrix, or the first channel of this group
  int64_t b_k, b_n;  // steps along k and n
  const ConvF32* patches;
  int32_t* c;
  int64_t c_row;
};
constexpr int64_t kIntPanel = 32;     // columns of the widest tile; narrower ones divide it
constexpr int64_t kIntDepth = 512;    // of k per block, even
constexpr int64_t kIntColumns = 256;  // columns packed at once: 256 KiB of 16-bit panels
constexpr int64_t kIntRows = 8;
}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using DI = hn::ScalableTag<int32_t>;
using VI = hn::Vec<DI>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DI()));
constexpr int64_t kWidth = 2 * kLanes;

HWY_INLINE int32_t at(const void* data, bool is_signed, int64_t i) {
  return is_signed ? static_cast<const int8_t*>(data)[i] : static_cast<const uint8_t*>(data)[i];
}

// 16-bit differences to[i] = from[i * step] - zero.
template <class T>
HWY_INLINE void widen(const T* from, int64_t step, int64_t count, int32_t zero, int16_t* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (step == 1) {
    const hn::ScalableTag<int16_t> d;
    const hn::Rebind<T, decltype(d)> narrow;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto z = hn::Set(d, static_cast<int16_t>(zero));
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, from + i)), z), d, to + i);
    }
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<int16_t>(from[i * step] - zero);
}
HWY_INLINE void widen_any(const void* data, bool is_signed, int64_t offset, int64_t step, int64_t count, int32_t zero,
                          int16_t* to) {
  if (is_signed) {
    widen(static_cast<const int8_t*>(data) + offset, step, count, zero, to);
  } else {
    widen(static_cast<const uint8_t*>(data) + offset, step, count, zero, to);
  }
}

// Row k of B for columns [n, n + count).
HWY_INLINE void fetch_row(const IntProduct& p, int64_t k, int64_t n, int64_t count, int32_t zero, int16_t* to) {
  if (p.patches == nullptr) {
    widen_any(p.b, p.b_signed, k * p.b_k + n * p.b_n, p.b_n, count, zero, to);
    if (p.b_zero_per_column) {
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(to[i] - at(p.b_zero, p.b_signed, n + i));
    }
    return;
  }
  const ConvF32& s = *p.patches;
  const int64_t kx = k % s.kernel[2], ky = k / s.kernel[2] % s.kernel[1],
                kz = k / (s.kernel[2] * s.kernel[1]) % s.kernel[0];
  const int64_t channel = k / (s.kernel[0] * s.kernel[1] * s.kernel[2]);
  for (int64_t i = 0; i < count;) {
    const int64_t ox = (n + i) % s.out[2], row = (n + i) / s.out[2];
    const int64_t run = s.out[2] - ox < count - i ? s.out[2] - ox : count - i;
    const int64_t z = row / s.out[1] * s.stride[0] - s.pad[0] + kz * s.dilation[0];
    const int64_t y = row % s.out[1] * s.stride[1] - s.pad[1] + ky * s.dilation[1];
    const int64_t x = ox * s.stride[2] - s.pad[2] + kx * s.dilation[2], step = s.stride[2];
    int64_t first = x < 0 ? (-x + step - 1) / step : 0;
    int64_t last = s.in[2] > x ? (s.in[2] - x + step - 1) / step : 0;
    if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1]) last = 0;
    if (last > run) last = run;
    if (first > last) first = last;
    for (int64_t j = 0; j < first; ++j) to[i + j] = 0;
    const int64_t offset = ((channel * s.in[0] + z) * s.in[1] + y) * s.in[2] + x + first * step;
    if (last > first) widen_any(p.b, p.b_signed, offset, step, last - first, zero, to + i + first);
    for (int64_t j = last; j < run; ++j) to[i + j] = 0;
    i += run;
  }
}

// Panels [kc / 2, kWidth, 2]: a lane of 32 bits holds two neighbours in k. An odd end is paired with zeros.
void pack_pairs(const IntProduct& p, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int16_t* panels) {
  const int32_t zero = p.b_zero != nullptr && !p.b_zero_per_column ? at(p.b_zero, p.b_signed, 0) : 0;
  HWY_ALIGN int16_t rows[2][kIntPanel];
  const int64_t pairs = (kc + 1) / 2;
  for (int64_t j = 0; j < nc; j += kWidth) {
    const int64_t columns = nc - j < kWidth ? nc - j : kWidth;
    memset(rows, 0, sizeof(rows));
    for (int64_t q = 0; q < pairs; ++q, panels += 2 * kWidth) {
      fetch_row(p, k0 + 2 * q, n0 + j, columns, zero, rows[0]);
      if (2 * q + 1 < kc) {
        fetch_row(p, k0 + 2 * q + 1, n0 + j, columns, zero, rows[1]);
      } else {
        memset(rows[1], 0, sizeof(rows[1]));
      }
      int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
      const hn::ScalableTag<int16_t> d;
      for (; i < kWidth; i += 2 * kLanes)
        hn::StoreInterleaved2(hn::Load(d, rows[0] + i), hn::Load(d, rows[1] + i), d, panels + 2 * i);
#endif
      for (; i < kWidth; ++i) {
        panels[2 * i] = rows[0][i];
        panels[2 * i + 1] = rows[1][i];
      }
    }
  }
}

// kTileRows x 2 vectors of int32 sums; each step multiplies pairs along k and adds both products exactly.
template <int kTileRows>
HWY_NOINLINE void pair_tile(const int16_t* a, int64_t a_row, const int16_t* b, int64_t pairs, bool add, int32_t* c,
                            int64_t c_row, int64_t columns) {
  const DI d;
  VI acc[kTileRows][2];
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) acc[i][0] = acc[i][1] = hn::Zero(d);
#if HWY_TARGET == HWY_SCALAR
  for (int64_t q = 0; q < pairs; ++q, b += 2 * kWidth) {
    for (int i = 0; i < kTileRows; ++i) {
      const int32_t a0 = a[i * a_row + 2 * q], a1 = a[i * a_row + 2 * q + 1];
      for (int j = 0; j < 2; ++j) acc[i][j] = hn::Add(acc[i][j], hn::Set(d, a0 * b[2 * j] + a1 * b[2 * j + 1]));
    }
  }
#else
  const hn::Repartition<int16_t, DI> d16;
  for (int64_t q = 0; q < pairs; ++q, b += 2 * kWidth) {
    const auto b0 = hn::LoadU(d16, b), b1 = hn::LoadU(d16, b + 2 * kLanes);
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      int32_t pair;
      memcpy(&pair, a + i * a_row + 2 * q, sizeof(pair));
      const auto av = hn::BitCast(d16, hn::Set(d, pair));
      acc[i][0] = hn::Add(acc[i][0], hn::WidenMulPairwiseAdd(d, av, b0));
      acc[i][1] = hn::Add(acc[i][1], hn::WidenMulPairwiseAdd(d, av, b1));
    }
  }
#endif
  const size_t columns0 = static_cast<size_t>(columns < kLanes ? columns : kLanes);
  const size_t columns1 = static_cast<size_t>(columns < kLanes ? 0 : columns - kLanes);
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) {
    int32_t* to = c + i * c_row;
    if (add) {
      acc[i][0] = hn::Add(acc[i][0], hn::LoadN(d, to, columns0));
      if (columns1 != 0) acc[i][1] = hn::Add(acc[i][1], hn::LoadN(d, to + kLanes, columns1));
    }
    hn::StoreN(acc[i][0], d, to, columns0);
    if (columns1 != 0) hn::StoreN(acc[i][1], d, to + kLanes, columns1);
  }
}

using PairTile = void (*)(const int16_t*, int64_t, const int16_t*, int64_t, bool, int32_t*, int64_t, int64_t);
constexpr PairTile kPairTiles[] = {nullptr,      pair_tile<1>, pair_tile<2>, pair_tile<3>, pair_tile<4>,
                                   pair_tile<5>, pair_tile<6>, pair_tile<7>, pair_tile<8>};

// Rows [m0, m1) and columns [n0, n1). `scratch`: a strip of A, then panels of B, both as 16-bit differences.
void int_product(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int16_t* scratch) {
  int16_t* const strip = scratch;
  int16_t* const panels = scratch + kIntRows * kIntDepth;
  for (int64_t n = n0; n < n1; n += kIntColumns) {
    const int64_t nc = n1 - n < kIntColumns ? n1 - n : kIntColumns;
    for (int64_t k0 = 0; k0 == 0 || k0 < p.k; k0 += kIntDepth) {
      const int64_t kc = p.k - k0 < kIntDepth ? p.k - k0 : kIntDepth, pairs = (kc + 1) / 2;
      pack_pairs(p, k0, kc, n, nc, panels);
      for (int64_t m = m0; m < m1; m += kIntRows) {
        const int64_t rows = m1 - m < kIntRows ? m1 - m : kIntRows;
        for (int64_t i = 0; i < rows; ++i) {
          const int32_t zero = p.a_zero == nullptr ? 0 : at(p.a_zero, p.a_signed, p.a_zero_per_row ? m + i : 0);
          int16_t* const to = strip + i * kIntDepth;
          widen_any(p.a, p.a_signed, (m + i) * p.a_row + k0, 1, kc, zero, to);
          if (kc % 2 != 0) to[kc] = 0;
        }
        for (int64_t j = 0; j < nc; j += kWidth) {
          kPairTiles[rows](strip, kIntDepth, panels + 2 * j * pairs, pairs, k0 != 0, p.c + m * p.c_row + n + j, p.c_row,
                           nc - j < kWidth ? nc - j : kWidth);
        }
      }
    }
  }
}

void requantize_rows(const RequantizeI32& s, const int32_t* acc, void* y, int64_t begin, int64_t end) {
  const DI d;
  const hn::RebindToFloat<DI> df;
  const int32_t lowest = s.is_signed ? -128 : 0;
  // Bounds before rounding: they are integers, so the order does not matter, and the conversion stays in range.
  const auto lo = hn::Set(df, static_cast<float>(lowest - s.zero_point));
  const auto hi = hn::Set(df, static_cast<float>(lowest + 255 - s.zero_point));
  const VI zero = hn::Set(d, s.zero_point);
  HWY_ALIGN int32_t lanes[kLanes];
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t j = 0; j < s.columns; j += kLanes) {
      const size_t count = static_cast<size_t>(s.columns - j < kLanes ? s.columns - j : kLanes);
      VI v = hn::LoadN(d, acc + r * s.columns + j, count);
      if (s.bias != nullptr)
        v = hn::Add(v, s.bias_per_column ? hn::LoadN(d, s.bias + j, count) : hn::Set(d, s.bias[r]));
      const auto m = s.multiplier_per_column ? hn::LoadN(df, s.multiplier + j, count)
                                             : hn::Set(df, s.multiplier[s.multiplier_per_row ? r : 0]);
      const auto product = hn::Mul(hn::ConvertTo(df, v), m);
      hn::Store(hn::Add(hn::NearestInt(hn::Min(hn::Max(product, lo), hi)), zero), d, lanes);
      uint8_t* const to = static_cast<uint8_t*>(y) + r * s.columns + j;
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(lanes[i]);  // int8 has the same low byte
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(int_product);
HWY_EXPORT(requantize_rows);

namespace {
constexpr size_t kSlotElements = static_cast<size_t>(kIntRows * kIntDepth + kIntColumns * kIntDepth);

size_t scratch_bytes(int32_t slots) {
  return kSlotElements * sizeof(int16_t) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void run(const IntProduct& p, const Parallel& parallel, void* scratch) {
  if (p.m <= 0 || p.n <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(int_product);
  int16_t* const room = static_cast<int16_t*>(scratch);
  const int64_t macs = p.m * p.n * p.k + 1;
  constexpr int64_t kGrainMacs = int64_t{1} << 20;  // 10 us
  const int64_t panels = (p.n + kIntPanel - 1) / kIntPanel;
  if (panels >= 2 * parallel.slots || p.m < 4 * kIntRows) {
    const int64_t even = (panels + 2 * parallel.slots - 1) / (2 * int64_t{parallel.slots});
    const int64_t least = kGrainMacs * panels / macs + 1;
    parallel.for_range(panels, even > least ? even : least, [&](int64_t begin, int64_t end, int32_t slot) {
      const int64_t n1 = end * kIntPanel < p.n ? end * kIntPanel : p.n;
      kernel(p, 0, p.m, begin * kIntPanel, n1, room + static_cast<size_t>(slot) * kSlotElements);
    });
    return;
  }
  // Few columns: threads take rows, and each packs the little that B is for itself.
  const int64_t blocks = (p.m + kIntRows - 1) / kIntRows;
  const int64_t even = (blocks + parallel.slots - 1) / int64_t{parallel.slots}, least = kGrainMacs * blocks / macs + 1;
  parallel.for_range(blocks, even > least ? even : least, [&](int64_t begin, int64_t end, int32_t slot) {
    const int64_t m1 = end * kIntRows < p.m ? end * kIntRows : p.m;
    kernel(p, begin * kIntRows, m1, 0, p.n, room + static_cast<size_t>(slot) * kSlotElements);
  });
}
}  // namespace

size_t gemm_i8_scratch_bytes(const GemmI8& s, int32_t slots) { return s.m <= 0 || s.n <= 0 ? 0 : scratch_bytes(slots); }

void gemm_i8(const GemmI8& s, const void* a, const void* b, int32_t* c, const Parallel& parallel, void* scratch) {
  IntProduct p{};
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = a;
  p.a_row = s.lda;
  p.a_signed = s.a_signed;
  p.b_signed = s.b_signed;
  p.a_zero = s.a_zero;
  p.b_zero = s.b_zero;
  p.a_zero_per_row = s.a_zero_per_row;
  p.b_zero_per_column = s.b_zero != nullptr && s.b_zero_per_column;
  p.b = b;
  p.b_k = s.trans_b ? 1 : s.ldb;
  p.b_n = s.trans_b ? s.ldb : 1;
  p.c = c;
  p.c_row = s.ldc;
  run(p, parallel, scratch);
}

size_t conv_i8_scratch_bytes(const ConvI8&, int32_t slots) { return scratch_bytes(slots); }

void conv_i8(const ConvI8& conv, const void* x, const void* weights, int32_t* y, const Parallel& parallel,
             void* scratch) {
  const ConvF32& s = conv.shape;
  const int64_t in_area = s.in[0] * s.in[1] * s.in[2], out_area = s.out[0] * s.out[1] * s.out[2];
  const int64_t m = s.out_channels / s.groups, depth = s.in_channels / s.groups;
  const auto item = [&](int64_t i, const Parallel& spread, void* room) {
    const int64_t group = i % s.groups;
    IntProduct p{};
    p.m = m;
    p.n = out_area;
    p.k = depth * s.kernel[0] * s.kernel[1] * s.kernel[2];
    p.a = static_cast<const uint8_t*>(weights) + group * m * p.k;
    p.a_row = p.k;
    p.a_signed = conv.w_signed;
    p.b_signed = conv.x_signed;
    p.a_zero = conv.w_zero != nullptr && conv.w_zero_per_channel ? static_cast<const uint8_t*>(conv.w_zero) + group * m
                                                                 : conv.w_zero;
    p.a_zero_per_row = conv.w_zero_per_channel;
    p.b_zero = conv.x_zero;
    p.b = static_cast<const uint8_t*>(x) + i * depth * in_area;
    p.patches = &s;
    p.c = y + i * m * out_area;
    p.c_row = out_area;
    run(p, spread, room);
  };
  const int64_t items = s.n * s.groups;
  if (items < 2 * parallel.slots) {
    for (int64_t i = 0; i < items; ++i) item(i, parallel, scratch);
    return;
  }
  parallel.for_range(items, (items + 2 * parallel.slots - 1) / (2 * int64_t{parallel.slots}),
                     [&](int64_t begin, int64_t end, int32_t slot) {
                       for (int64_t i = begin; i < end; ++i) {
                         item(i, Parallel{},
                              static_cast<int16_t*>(scratch) + static_cast<size_t>(slot) * kSlotElements);
                       }
                     });
}

void requantize_i32(const RequantizeI32& s, const int32_t* acc, void* y, const Parallel& parallel) {
  if (s.rows <= 0 || s.columns <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(requantize_rows);
  parallel.for_range(s.rows, 16384 / s.columns + 1,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, acc, y, begin, end); });
}
}  // namespace vireo::cpu
#endif
