#include "delegates/cpu/kernels/intgemm/intgemm.h"

#include <string.h>

#include "delegates/cpu/kernels/depthwise/depthwise.h"

#define VIREO_KERNEL_USES_VNNI
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
  void* c;  // int32, or bytes where `finish`
  int64_t c_row;
  const Requantize* finish;
};
constexpr int64_t kIntPanel = 32;        // columns of the widest tile; narrower ones divide it
constexpr int64_t kIntDepth = 4096;      // of k per block, even: most products are one block and end in registers
constexpr int64_t kIntFloor = 256;       // columns packed at once where k is small,
constexpr int64_t kIntPanels = 1 << 17;  // and 16-bit elements of packed B in all: 256 KiB
constexpr int64_t kIntRows = 8;
inline int64_t int_depth(int64_t k) { return k < kIntDepth ? k / 2 * 2 + 2 : kIntDepth; }  // above 0
inline int64_t int_columns(int64_t k) {
  const int64_t columns = kIntPanels / (int_depth(k) + 1) / kIntPanel * kIntPanel;
  return columns < kIntPanel ? kIntPanel : columns > kIntFloor ? kIntFloor : columns;
}
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

// Columns of a panel that lie in one row of a convolution's output.
struct Run {
  int64_t column, count;
  int64_t z, y, x;  // input position of the first column's tap (0, 0, 0)
};

// Which part of B a panel holds, and where its next row comes from.
class PanelRows {
 public:
  PanelRows(const IntProduct& p, int64_t k0, int64_t n, int64_t count)
      : p_(p),
        n_(n),
        count_(count),
        k_(k0),
        zero_(p.b_zero != nullptr && !p.b_zero_per_column ? at(p.b_zero, p.b_signed, 0) : 0) {
    if (p.patches == nullptr) return;
    const ConvF32& s = *p.patches;
    for (int64_t c = 0; c < count;) {
      const int64_t ox = (n + c) % s.out[2], row = (n + c) / s.out[2];
      Run& run = runs_[run_count_++];
      run.column = c;
      run.count = s.out[2] - ox < count - c ? s.out[2] - ox : count - c;
      run.z = row / s.out[1] * s.stride[0] - s.pad[0];
      run.y = row % s.out[1] * s.stride[1] - s.pad[1];
      run.x = ox * s.stride[2] - s.pad[2];
      c += run.count;
    }
    kx_ = k0 % s.kernel[2];
    ky_ = k0 / s.kernel[2] % s.kernel[1];
    kz_ = k0 / (s.kernel[2] * s.kernel[1]) % s.kernel[0];
    channel_ = k0 / (s.kernel[0] * s.kernel[1] * s.kernel[2]);
  }

  // Row k0, then k0 + 1, ...: 16-bit differences.
  HWY_INLINE void next(int16_t* to) {
    if (p_.patches == nullptr) {
      widen_any(p_.b, p_.b_signed, k_ * p_.b_k + n_ * p_.b_n, p_.b_n, count_, zero_, to);
      if (p_.b_zero_per_column) {
        for (int64_t i = 0; i < count_; ++i) to[i] = static_cast<int16_t>(to[i] - at(p_.b_zero, p_.b_signed, n_ + i));
      }
      ++k_;
      return;
    }
    const ConvF32& s = *p_.patches;
    const int64_t dz = kz_ * s.dilation[0], dy = ky_ * s.dilation[1], dx = kx_ * s.dilation[2], step = s.stride[2];
    for (int r = 0; r < run_count_; ++r) {
      const Run& run = runs_[r];
      const int64_t z = run.z + dz, y = run.y + dy, x = run.x + dx;
      int64_t first = x < 0 ? (step == 1 ? -x : (-x + step - 1) / step) : 0, last = run.count;
      if (static_cast<uint64_t>(z) >= static_cast<uint64_t>(s.in[0]) ||
          static_cast<uint64_t>(y) >= static_cast<uint64_t>(s.in[1])) {
        last = 0;
      } else if (x + (last - 1) * step >= s.in[2]) {
        last = s.in[2] > x ? (s.in[2] - x + step - 1) / step : 0;
      }
      if (first > last) first = last;
      int16_t* const out = to + run.column;
      for (int64_t i = 0; i < first; ++i) out[i] = 0;
      const int64_t offset = ((channel_ * s.in[0] + z) * s.in[1] + y) * s.in[2] + x + first * step;
      if (last > first) widen_any(p_.b, p_.b_signed, offset, step, last - first, zero_, out + first);
      for (int64_t i = last; i < run.count; ++i) out[i] = 0;
    }
    if (++kx_ < s.kernel[2]) return;
    kx_ = 0;
    if (++ky_ < s.kernel[1]) return;
    ky_ = 0;
    if (++kz_ < s.kernel[0]) return;
    kz_ = 0;
    ++channel_;
  }

 private:
  const IntProduct& p_;
  int64_t n_, count_, k_;
  int32_t zero_;
  int run_count_ = 0;
  int64_t kx_ = 0, ky_ = 0, kz_ = 0, channel_ = 0;
  Run runs_[kIntPanel];
};

// Panels [kc / 2, kWidth, 2]: a lane of 32 bits holds two neighbours in k. An odd end is paired with zeros.
void pack_pairs(const IntProduct& p, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int16_t* panels) {
  HWY_ALIGN int16_t rows[2][kIntPanel];
  const int64_t pairs = (kc + 1) / 2;
  for (int64_t j = 0; j < nc; j += kWidth) {
    const int64_t columns = nc - j < kWidth ? nc - j : kWidth;
    PanelRows source(p, k0, n0 + j, columns);
    memset(rows, 0, sizeof(rows));
    for (int64_t q = 0; q < pairs; ++q, panels += 2 * kWidth) {
      source.next(rows[0]);
      if (2 * q + 1 < kc) {
        source.next(rows[1]);
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

// The formula of Requantize for one vector of one row, at column j.
class Finish {
 public:
  explicit Finish(const Requantize& q) : q_(q) {
    const hn::RebindToFloat<DI> df;
    const int32_t lowest = q.is_signed ? -128 : 0;
    // Bounds before rounding: they are integers, so the order does not matter, and the conversion stays in range.
    lo_ = hn::Set(df, static_cast<float>(lowest - q.zero_point));
    hi_ = hn::Set(df, static_cast<float>(lowest + 255 - q.zero_point));
    zero_ = hn::Set(DI(), q.zero_point);
  }
  HWY_INLINE void store(VI v, int64_t row, int64_t j, size_t count, uint8_t* to) const {
    const DI d;
    const hn::RebindToFloat<DI> df;
    if (q_.bias != nullptr)
      v = hn::Add(v, q_.bias_per_column ? hn::LoadN(d, q_.bias + j, count) : hn::Set(d, q_.bias[row]));
    const auto m = q_.multiplier_per_column ? hn::LoadN(df, q_.multiplier + j, count)
                                            : hn::Set(df, q_.multiplier[q_.multiplier_per_row ? row : 0]);
    auto y = hn::Mul(hn::ConvertTo(df, v), m);
    y = hn::IfThenElse(hn::Gt(y, lo_), y, lo_);  // a NaN is not above anything
    y = hn::IfThenElse(hn::Lt(y, hi_), y, hi_);
    const VI bytes = hn::Add(hn::NearestInt(y), zero_);
    if (q_.is_signed) {
      const hn::Rebind<int8_t, DI> d8;
      hn::StoreN(hn::DemoteTo(d8, bytes), d8, reinterpret_cast<int8_t*>(to), count);
    } else {
      const hn::Rebind<uint8_t, DI> d8;
      hn::StoreN(hn::DemoteTo(d8, bytes), d8, to, count);
    }
  }

 private:
  const Requantize& q_;
  hn::Vec<hn::RebindToFloat<DI>> lo_, hi_;
  VI zero_;
};

struct IntTile {
  const int16_t* a;
  int64_t a_row;
  const int16_t* b;
  int64_t pairs;
  const int32_t* before;  // sums of earlier blocks of k, or null
  int64_t before_row;
  int64_t columns;
  int32_t* c;  // where sums go; null: `finish` takes them
  int64_t c_row;
  const Finish* finish;
  int64_t row, column;  // of the whole product
  uint8_t* y;
  int64_t y_row;
};

// kTileRows x 2 vectors of int32 sums; each step multiplies pairs along k and adds both products exactly.
template <int kTileRows>
HWY_NOINLINE void pair_tile(const IntTile& t) {
  const DI d;
  VI acc[kTileRows][2];
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) acc[i][0] = acc[i][1] = hn::Zero(d);
  const int16_t* a = t.a;
  const int16_t* b = t.b;
  const int64_t a_row = t.a_row;
#if HWY_TARGET == HWY_SCALAR
  for (int64_t q = 0; q < t.pairs; ++q, b += 2 * kWidth) {
    for (int i = 0; i < kTileRows; ++i) {
      const int32_t a0 = a[i * a_row + 2 * q], a1 = a[i * a_row + 2 * q + 1];
      for (int j = 0; j < 2; ++j) acc[i][j] = hn::Add(acc[i][j], hn::Set(d, a0 * b[2 * j] + a1 * b[2 * j + 1]));
    }
  }
#else
  const hn::Repartition<int16_t, DI> d16;
  VI none = hn::Zero(d);
  for (int64_t q = t.pairs; q > 0; --q, b += 2 * kWidth, a += 2) {
    const auto b0 = hn::LoadU(d16, b), b1 = hn::LoadU(d16, b + 2 * kLanes);
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      int32_t pair;
      memcpy(&pair, a + i * a_row, sizeof(pair));
      const auto av = hn::BitCast(d16, hn::Set(d, pair));
#if HWY_ARCH_X86  // pairs stay in their lane here, and VNNI has one instruction for it
      acc[i][0] = hn::ReorderWidenMulAccumulate(d, av, b0, acc[i][0], none);
      acc[i][1] = hn::ReorderWidenMulAccumulate(d, av, b1, acc[i][1], none);
#else
      acc[i][0] = hn::Add(acc[i][0], hn::WidenMulPairwiseAdd(d, av, b0));
      acc[i][1] = hn::Add(acc[i][1], hn::WidenMulPairwiseAdd(d, av, b1));
#endif
    }
  }
  (void)none;
#endif
  const size_t columns0 = static_cast<size_t>(t.columns < kLanes ? t.columns : kLanes);
  const size_t columns1 = static_cast<size_t>(t.columns < kLanes ? 0 : t.columns - kLanes);
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) {
    if (t.before != nullptr) {
      const int32_t* from = t.before + i * t.before_row;
      acc[i][0] = hn::Add(acc[i][0], hn::LoadN(d, from, columns0));
      if (columns1 != 0) acc[i][1] = hn::Add(acc[i][1], hn::LoadN(d, from + kLanes, columns1));
    }
    if (t.c == nullptr) {
      uint8_t* const to = t.y + i * t.y_row;
      t.finish->store(acc[i][0], t.row + i, t.column, columns0, to);
      if (columns1 != 0) t.finish->store(acc[i][1], t.row + i, t.column + kLanes, columns1, to + kLanes);
      continue;
    }
    int32_t* const to = t.c + i * t.c_row;
    hn::StoreN(acc[i][0], d, to, columns0);
    if (columns1 != 0) hn::StoreN(acc[i][1], d, to + kLanes, columns1);
  }
}

using PairTile = void (*)(const IntTile&);
constexpr PairTile kPairTiles[] = {nullptr,      pair_tile<1>, pair_tile<2>, pair_tile<3>, pair_tile<4>,
                                   pair_tile<5>, pair_tile<6>, pair_tile<7>, pair_tile<8>};

// Rows [m0, m1) and columns [n0, n1). `scratch`: a strip of A and panels of B, both as 16-bit differences, then sums
// where a requantized product has more than one block of k.
void int_product(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int16_t* scratch) {
  const int64_t depth = int_depth(p.k), width = int_columns(p.k);
  int16_t* const strip = scratch;
  int16_t* const panels = strip + kIntRows * depth;
  int32_t* const sums = reinterpret_cast<int32_t*>(panels + depth * width);
  const Requantize none;
  const Finish finish(p.finish != nullptr ? *p.finish : none);
  IntTile t{};
  t.a = strip;
  t.a_row = depth;
  t.finish = &finish;
  t.y_row = p.c_row;
  for (int64_t n = n0; n < n1; n += width) {
    const int64_t nc = n1 - n < width ? n1 - n : width;
    for (int64_t k0 = 0; k0 == 0 || k0 < p.k; k0 += depth) {
      const int64_t kc = p.k - k0 < depth ? p.k - k0 : depth;
      const bool to_bytes = p.finish != nullptr && k0 + kc == p.k;
      t.pairs = (kc + 1) / 2;
      pack_pairs(p, k0, kc, n, nc, panels);
      for (int64_t m = m0; m < m1; m += kIntRows) {
        const int64_t rows = m1 - m < kIntRows ? m1 - m : kIntRows;
        for (int64_t i = 0; i < rows; ++i) {
          const int32_t zero = p.a_zero == nullptr ? 0 : at(p.a_zero, p.a_signed, p.a_zero_per_row ? m + i : 0);
          int16_t* const to = strip + i * depth;
          widen_any(p.a, p.a_signed, (m + i) * p.a_row + k0, 1, kc, zero, to);
          if (kc % 2 != 0) to[kc] = 0;
        }
        t.row = m;
        for (int64_t j = 0; j < nc; j += kWidth) {
          t.b = panels + 2 * j * t.pairs;
          t.columns = nc - j < kWidth ? nc - j : kWidth;
          t.column = n + j;
          const bool bytes_later = p.finish != nullptr && (!to_bytes || k0 != 0);
          int32_t* const kept = bytes_later
                                    ? sums + (m - m0) * width + j
                                    : static_cast<int32_t*>(p.c) + (p.finish != nullptr ? 0 : m * p.c_row + n + j);
          const int64_t kept_row = bytes_later ? width : p.c_row;
          t.before = k0 != 0 ? kept : nullptr;
          t.before_row = kept_row;
          t.c = to_bytes ? nullptr : kept;
          t.c_row = kept_row;
          if (to_bytes) t.y = static_cast<uint8_t*>(p.c) + m * p.c_row + n + j;
          kPairTiles[rows](t);
        }
      }
    }
  }
}

void requantize_rows(const RequantizeI32& s, const int32_t* acc, void* y, int64_t begin, int64_t end) {
  const Finish finish(s);
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t j = 0; j < s.columns; j += kLanes) {
      const size_t count = static_cast<size_t>(s.columns - j < kLanes ? s.columns - j : kLanes);
      finish.store(hn::LoadN(DI(), acc + r * s.columns + j, count), r, j, count,
                   static_cast<uint8_t*>(y) + r * s.columns + j);
    }
  }
}

// to[i] = from[i] - zero, as float.
void widen_plane(const void* from, bool is_signed, int32_t zero, int64_t count, float* to) {
  const DI d;
  const hn::RebindToFloat<DI> df;
  const auto z = hn::Set(d, zero);
  int64_t i = 0;
  const auto* const u = static_cast<const uint8_t*>(from);
  const auto* const s = static_cast<const int8_t*>(from);
  const hn::Rebind<uint8_t, DI> du;
  const hn::Rebind<int8_t, DI> ds;
  for (; i + kLanes <= count; i += kLanes) {
    const VI v = is_signed ? hn::PromoteTo(d, hn::LoadU(ds, s + i)) : hn::PromoteTo(d, hn::LoadU(du, u + i));
    hn::StoreU(hn::ConvertTo(df, hn::Sub(v, z)), df, to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<float>((is_signed ? s[i] : u[i]) - zero);
}

// In place: whole floats to int32.
void sums_of_floats(int64_t count, const float* from, int32_t* to) {
  const DI d;
  const hn::RebindToFloat<DI> df;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::ConvertTo(d, hn::LoadU(df, from + i)), d, to + i);
  for (; i < count; ++i) to[i] = static_cast<int32_t>(from[i]);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(int_product);
HWY_EXPORT(requantize_rows);
HWY_EXPORT(widen_plane);
HWY_EXPORT(sums_of_floats);

namespace {
size_t round_up(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

// Grows with each of the sizes, so that a bound on them is a bound on this.
size_t slot_bytes(int64_t m, int64_t k, bool requantized) {
  const int64_t depth = int_depth(k), panels = depth * kIntFloor < kIntPanels ? depth * kIntFloor : kIntPanels;
  const int64_t sums = requantized && k > kIntDepth ? 2 * m * kIntPanel : 0;
  return round_up(static_cast<size_t>(kIntRows * depth + panels + sums) * sizeof(int16_t));
}

void run(const IntProduct& p, const Parallel& parallel, void* scratch) {
  if (p.m <= 0 || p.n <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(int_product);
  const size_t room = slot_bytes(p.m, p.k, p.finish != nullptr);
  const auto mine = [&](int32_t slot) {
    return reinterpret_cast<int16_t*>(static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  };
  const int64_t macs = p.m * p.n * p.k + 1;
  constexpr int64_t kGrainMacs = int64_t{1} << 20;  // 10 us
  const int64_t panels = (p.n + kIntPanel - 1) / kIntPanel;
  if (panels >= 2 * parallel.slots || p.m < 4 * kIntRows) {
    parallel.for_range(panels, kGrainMacs * panels / macs + 1, [&](int64_t begin, int64_t end, int32_t slot) {
      const int64_t n1 = end * kIntPanel < p.n ? end * kIntPanel : p.n;
      kernel(p, 0, p.m, begin * kIntPanel, n1, mine(slot));
    });
    return;
  }
  // Few columns: threads take rows, and each packs the little that B is for itself.
  const int64_t blocks = (p.m + kIntRows - 1) / kIntRows;
  const int64_t even = (blocks + parallel.slots - 1) / int64_t{parallel.slots}, least = kGrainMacs * blocks / macs + 1;
  parallel.for_range(blocks, even > least ? even : least, [&](int64_t begin, int64_t end, int32_t slot) {
    const int64_t m1 = end * kIntRows < p.m ? end * kIntRows : p.m;
    kernel(p, begin * kIntRows, m1, 0, p.n, mine(slot));
  });
}

int64_t area(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }

// Sums of at most 2^24 / 255^2 = 258 products of 9-bit differences are exact in float32.
bool goes_depthwise(const ConvF32& s) {
  return s.groups > 1 && s.groups == s.in_channels && s.kernel[0] == 1 && s.stride[0] == 1 && s.pad[0] == 0 &&
         s.kernel[1] * s.kernel[2] <= 258;
}

// One input plane and those of its outputs.
DepthwiseF32 plane_of(const ConvF32& s) {
  DepthwiseF32 d;
  d.multiplier = s.out_channels / s.groups;
  d.window = {s.in[1],     s.in[2],     s.out[1],      s.out[2],      s.kernel[1], s.kernel[2],
              s.stride[1], s.stride[2], s.dilation[1], s.dilation[2], s.pad[1],    s.pad[2]};
  return d;
}

// A plane's scratch: input and weights as floats, sums of its outputs, the depthwise kernel's own.
struct PlaneRoom {
  size_t x, weights, sums, total;
  PlaneRoom(const ConvF32& s, Sizes sizes) {
    const DepthwiseF32 d = plane_of(s);
    x = round_up(static_cast<size_t>(s.in[1] * s.in[2]) * sizeof(float));
    weights = round_up(static_cast<size_t>(d.multiplier * s.kernel[1] * s.kernel[2]) * sizeof(float));
    sums = round_up(static_cast<size_t>(d.multiplier * s.out[1] * s.out[2]) * sizeof(float));
    total = x + weights + sums + round_up(depthwise_f32_scratch_bytes(d, 1, sizes));
  }
};

int32_t zero_at(const void* data, bool is_signed, int64_t i) {
  if (data == nullptr) return 0;
  return is_signed ? static_cast<const int8_t*>(data)[i] : static_cast<const uint8_t*>(data)[i];
}

void run_depthwise(const ConvI8& conv, const void* x, const void* weights, void* y, const Parallel& parallel,
                   void* scratch) {
  const ConvF32& s = conv.shape;
  const DepthwiseF32 plane = plane_of(s);
  const PlaneRoom room(s, Sizes::kFixed);
  const size_t step = PlaneRoom(s, Sizes::kUpperBounds).total;
  const int64_t in_area = area(s.in) / s.in[0], out_area = area(s.out) / s.in[0], depth = s.in[0];
  const int64_t taps = s.kernel[1] * s.kernel[2];
  const auto widen = HWY_DYNAMIC_POINTER(widen_plane);
  const auto whole = HWY_DYNAMIC_POINTER(sums_of_floats);
  const auto finish = HWY_DYNAMIC_POINTER(requantize_rows);
  const int64_t work = (in_area + out_area * plane.multiplier * taps) * depth + 500;
  const int64_t x_zero = zero_at(conv.x_zero, conv.x_signed, 0);
  parallel.for_range(s.n * s.groups, (int64_t{1} << 18) / work + 1, [&](int64_t begin, int64_t end, int32_t slot) {
    char* const mine = static_cast<char*>(scratch) + static_cast<size_t>(slot) * step;
    float* const input = reinterpret_cast<float*>(mine);
    float* const filters = reinterpret_cast<float*>(mine + room.x);
    float* const sums = reinterpret_cast<float*>(mine + room.x + room.weights);
    void* const own = mine + room.x + room.weights + room.sums;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i % s.groups, first = group * plane.multiplier;
      for (int64_t o = 0; o < plane.multiplier; ++o) {
        const int32_t zero = zero_at(conv.w_zero, conv.w_signed, conv.w_zero_per_channel ? first + o : 0);
        widen(static_cast<const uint8_t*>(weights) + (first + o) * taps, conv.w_signed, zero, taps, filters + o * taps);
      }
      for (int64_t z = 0; z < depth; ++z) {
        widen(static_cast<const uint8_t*>(x) + (i * depth + z) * in_area, conv.x_signed, static_cast<int32_t>(x_zero),
              in_area, input);
        depthwise_f32(plane, input, filters, sums, Parallel{}, own);
        for (int64_t o = 0; o < plane.multiplier; ++o) {
          const int64_t at = ((i * plane.multiplier + o) * depth + z) * out_area;
          if (conv.finish == nullptr) {
            whole(out_area, sums + o * out_area, static_cast<int32_t*>(y) + at);
            continue;
          }
          int32_t* const integers = reinterpret_cast<int32_t*>(sums + o * out_area);
          whole(out_area, sums + o * out_area, integers);
          RequantizeI32 q;
          static_cast<Requantize&>(q) = *conv.finish;
          if (q.bias != nullptr) q.bias += first + o;
          if (q.multiplier_per_row) q.multiplier += first + o;
          q.rows = 1;
          q.columns = out_area;
          finish(q, integers, static_cast<uint8_t*>(y) + at, 0, 1);
        }
      }
    }
  });
}
}  // namespace

size_t gemm_i8_scratch_bytes(const GemmI8& s, bool requantized, int32_t slots) {
  if (s.m <= 0 || s.n <= 0) return 0;
  return slot_bytes(s.m, s.k, requantized) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void gemm_i8(const GemmI8& s, const void* a, const void* b, void* c, const Parallel& parallel, void* scratch) {
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
  p.finish = s.finish;
  run(p, parallel, scratch);
}

size_t conv_i8_scratch_bytes(const ConvI8& conv, bool requantized, int32_t slots) {
  const ConvF32& s = conv.shape;
  if (s.n <= 0 || s.out_channels <= 0 || area(s.out) <= 0) return 0;
  const size_t per_slot =
      goes_depthwise(s) ? PlaneRoom(s, Sizes::kUpperBounds).total
                        : slot_bytes(s.out_channels / s.groups, s.in_channels / s.groups * area(s.kernel), requantized);
  return per_slot * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void conv_i8(const ConvI8& conv, const void* x, const void* weights, void* y, const Parallel& parallel, void* scratch) {
  const ConvF32& s = conv.shape;
  if (s.n <= 0 || s.out_channels <= 0 || area(s.out) <= 0) return;
  if (goes_depthwise(s)) return run_depthwise(conv, x, weights, y, parallel, scratch);
  const int64_t in_area = area(s.in), out_area = area(s.out);
  const int64_t m = s.out_channels / s.groups, depth = s.in_channels / s.groups;
  bool matrix = true;  // 1 x 1 at stride 1: x as it lies
  for (int i = 0; i < 3; ++i)
    matrix = matrix && s.kernel[i] == 1 && s.stride[i] == 1 && s.pad[i] == 0 && s.in[i] == s.out[i];
  const int64_t unit = conv.finish != nullptr ? 1 : static_cast<int64_t>(sizeof(int32_t));
  const auto item = [&](int64_t i, const Parallel& spread, void* room) {
    const int64_t group = i % s.groups;
    Requantize finish;
    IntProduct p{};
    p.m = m;
    p.n = out_area;
    p.k = depth * area(s.kernel);
    p.a = static_cast<const uint8_t*>(weights) + group * m * p.k;
    p.a_row = p.k;
    p.a_signed = conv.w_signed;
    p.b_signed = conv.x_signed;
    p.a_zero = conv.w_zero != nullptr && conv.w_zero_per_channel ? static_cast<const uint8_t*>(conv.w_zero) + group * m
                                                                 : conv.w_zero;
    p.a_zero_per_row = conv.w_zero_per_channel;
    p.b_zero = conv.x_zero;
    p.b = static_cast<const uint8_t*>(x) + i * depth * in_area;
    p.b_k = in_area;
    p.b_n = 1;
    p.patches = matrix ? nullptr : &s;
    p.c = static_cast<uint8_t*>(y) + i * m * out_area * unit;
    p.c_row = out_area;
    if (conv.finish != nullptr) {
      finish = *conv.finish;
      if (finish.bias != nullptr) finish.bias += group * m;
      if (finish.multiplier_per_row) finish.multiplier += group * m;
      p.finish = &finish;
    }
    run(p, spread, room);
  };
  const int64_t items = s.n * s.groups;
  if (items < 2 * parallel.slots) {
    for (int64_t i = 0; i < items; ++i) item(i, parallel, scratch);
    return;
  }
  const size_t room = slot_bytes(m, depth * area(s.kernel), conv.finish != nullptr);
  const int64_t grain = (int64_t{1} << 20) / (m * out_area * depth * area(s.kernel) + 1) + 1;
  parallel.for_range(items, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    for (int64_t i = begin; i < end; ++i)
      item(i, Parallel{}, static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
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
