// The engine of every instruction set: 16-bit differences, multiplied and added in pairs; compiled once per instruction
// set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PAIRS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PAIRS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PAIRS_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/intgemm/rows-inl.h"
#include "delegates/cpu/kernels/requantize/second-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
constexpr int64_t kPairWidth = 2 * kLanes;
// Rows of a tile: two vectors of sums each, two of B and one of A beside them in registers.
#define VIREO_PAIRS_HAVE_32_REGISTERS (VIREO_32_REGISTERS || HWY_ARCH_RISCV)
#if VIREO_PAIRS_HAVE_32_REGISTERS
constexpr int64_t kTileHeight = kPairRows;
#else
constexpr int64_t kTileHeight = 6;
#endif

// 4 columns of the packed B, whose 4 fours of k stand side by side, `step` bytes apart, as two rows of pairs a four.
template <class Byte>
HWY_INLINE void widen_fours(const uint8_t* from, int64_t step, int64_t pairs, const int16_t* zeros, int16_t* to) {
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<int16_t, 8> d;
  const hn::Rebind<Byte, decltype(d)> narrow;
  const hn::Repartition<int32_t, decltype(d)> d32;
  const auto z = hn::Load(d, zeros);
  for (int64_t q = 0; q < pairs; q += 2, from += step, to += 4 * kPairWidth) {
    const auto* const bytes = reinterpret_cast<const Byte*>(from);
    const auto low = hn::BitCast(d32, hn::PromoteTo(d, hn::LoadU(narrow, bytes)));
    const auto high = hn::BitCast(d32, hn::PromoteTo(d, hn::LoadU(narrow, bytes + 8)));
    hn::StoreU(hn::Sub(hn::BitCast(d, hn::ConcatEven(d32, high, low)), z), d, to);
    if (q + 1 < pairs) hn::StoreU(hn::Sub(hn::BitCast(d, hn::ConcatOdd(d32, high, low)), z), d, to + 2 * kPairWidth);
  }
#else
  for (int64_t q = 0; q < pairs; ++q, to += 2 * kPairWidth) {
    for (int64_t c = 0; c < kPairWidth; ++c) {
      const uint8_t* const pair = from + q / 2 * step + 4 * c + q % 2 * 2;
      for (int i = 0; i < 2; ++i) to[2 * c + i] = static_cast<int16_t>(static_cast<Byte>(pair[i]) - zeros[2 * c]);
    }
  }
#endif
}

// Columns [n, n + columns) of the packed B, k from k0, a multiple of 4. Behind the last k stands what meets zeros of A.
HWY_INLINE void widen_packed(const IntProduct& p, int64_t k0, int64_t kc, int64_t n, int64_t columns, int16_t* panel) {
  constexpr int64_t kStep = kPairWidth < 4 ? kPairWidth : 4;
  const int64_t pairs = (kc + 1) / 2;
  const int32_t moved = p.a_signed != p.b_signed ? 0 : p.b_signed ? 128 : -128;  // b' - b
  if (columns < kPairWidth) memset(panel, 0, static_cast<size_t>(pairs * 2 * kPairWidth) * sizeof(int16_t));
  for (int64_t c = 0; c < columns; c += kStep) {
    const int64_t width = packed_panel_columns(p.n, n + c), in_panel = (n + c) % width;
    const uint8_t* const from =
        packed_panel(p.packed, p.k, n + c - in_panel) + k0 * width + packed_lane(width, in_panel) * 4;
    HWY_ALIGN int16_t zeros[8];
    for (int64_t i = 0; i < 8; ++i) {
      const int64_t at = n + c + i / 2 < p.n ? n + c + i / 2 : p.n - 1;
      zeros[i] = static_cast<int16_t>(zero_at(p.b_zero, p.b_signed, p.b_zero_per_column ? at : 0) + moved);
    }
    (p.a_signed ? widen_fours<uint8_t> : widen_fours<int8_t>)(from, 4 * width, pairs, zeros, panel + 2 * c);
  }
}

// Panels [kc / 2, kPairWidth, 2]: a lane of 32 bits holds two neighbours in k. An odd end is paired with zeros. Rows
// are fetched for as many panels as kIntPanel has columns: where one begins costs more to find than a panel to fill.
HWY_INLINE void pack_pairs(const IntProduct& p, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int16_t* panels) {
  const int64_t pairs = (kc + 1) / 2, panel = 2 * kPairWidth * pairs;
  if (p.packed != nullptr) {
    for (int64_t j = 0; j < nc; j += kPairWidth, panels += panel)
      widen_packed(p, k0, kc, n0 + j, nc - j < kPairWidth ? nc - j : kPairWidth, panels);
    return;
  }
  HWY_ALIGN int16_t rows[2][kIntPanel];
  for (int64_t j = 0; j < nc; j += kIntPanel) {
    const int64_t columns = nc - j < kIntPanel ? nc - j : kIntPanel;
    PanelRows<int16_t> source(p, k0, n0 + j, columns);
    memset(rows, 0, sizeof(rows));
    for (int64_t q = 0; q < pairs; ++q) {
      source.next(rows[0]);
      if (2 * q + 1 < kc) {
        source.next(rows[1]);
      } else {
        memset(rows[1], 0, sizeof(rows[1]));
      }
      int16_t* to = panels + 2 * kPairWidth * q;
      for (int64_t c = 0; c < columns; c += kPairWidth, to += panel) {
        int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
        const hn::ScalableTag<int16_t> d;
        for (; i < kPairWidth; i += 2 * kLanes)
          hn::StoreInterleaved2(hn::Load(d, rows[0] + c + i), hn::Load(d, rows[1] + c + i), d, to + 2 * i);
#endif
        for (; i < kPairWidth; ++i) {
          to[2 * i] = rows[0][c + i];
          to[2 * i + 1] = rows[1][c + i];
        }
      }
    }
    panels += panel * ((columns + kPairWidth - 1) / kPairWidth);
  }
}

// Bias, multiplier and codes of one vector of one row, at column j.
class ProductFinish : public Finish {
 public:
  // `columns`: of the product.
  ProductFinish(const Requantize& q, bool in_range, int64_t columns)
      : Finish(q, in_range), q_(q), second_(q, in_range, columns) {}
  // `added`: what the second step adds, as `to`.
  HWY_INLINE void put(VI v, int64_t row, int64_t j, size_t count, uint8_t* to, const uint8_t* added) const {
    const DI d;
    const DF df;
    if (q_.bias != nullptr)
      v = hn::Add(v, q_.bias_per_column ? hn::LoadN(d, q_.bias + j, count) : hn::Set(d, q_.bias[row]));
    const VF m = q_.multiplier_per_column ? hn::LoadN(df, q_.multiplier + j, count)
                                          : hn::Set(df, q_.multiplier[q_.multiplier_per_row ? row : 0]);
    if (q_.then == nullptr) return store(rounded(v, m), count, to);
    const SecondStep& step = *q_.then;
    const VF number = second_.difference(v, m);
    if (step.adds) {
      const VF other = CodesIn(added, 1, step.other_signed, step.other_zero).part(0, count);
      const VF sum =
          hn::Add(hn::Mul(number, hn::Set(df, *step.factor)), hn::Mul(other, hn::Set(df, step.other_factor)));
      return second_.store(second_.rounded(sum), count, to);
    }
    const auto lanes = [&](const float* from)
                           HWY_ATTR { return step.per_column ? hn::LoadN(df, from + j, count) : hn::Set(df, *from); };
    const VF factor = lanes(step.factor);
    VF real = times_by_sign(number, factor, step.below != nullptr ? lanes(step.below) : factor);
    if (step.offset != nullptr) real = hn::Add(real, lanes(step.offset));
    second_.store(second_.rounded(real), count, to);
  }

#if HWY_TARGET != HWY_SCALAR
  // Without a second step four vectors are packed at once: whole vectors of rows, at column j.
  bool takes_whole_rows() const { return q_.then == nullptr; }
  template <int kVectors>
  HWY_INLINE void put_whole(const int32_t* sums, int64_t rows, int64_t row, int64_t j, uint8_t* to,
                            int64_t to_row) const {
    if (q_.multiplier_per_row || (q_.bias != nullptr && !q_.bias_per_column)) {
      put_rows_of<kVectors, true>(*this, q_, sums, rows, row, j, to, to_row);
    } else {
      put_rows_of<kVectors, false>(*this, q_, sums, rows, row, j, to, to_row);
    }
  }
#endif

 private:
#if HWY_TARGET != HWY_SCALAR
  // `f`: a copy, which codes that are written cannot change.
  template <int kVectors, bool kByRow>
  static HWY_INLINE void put_rows_of(const Finish f, const Requantize& q, const int32_t* sums, int64_t rows,
                                     int64_t row, int64_t j, uint8_t* to, int64_t to_row) {
    constexpr int kTogether = 4 / kVectors;  // rows
    const DI d;
    const DF df;
    const hn::Half<D8> half;
    const bool bias_by_row = q.bias != nullptr && !q.bias_per_column;
    VI bias[kVectors];
    VF m[kVectors];
    VIREO_UNROLL
    for (int c = 0; c < kVectors; ++c) {
      bias[c] = q.bias != nullptr && q.bias_per_column ? hn::LoadU(d, q.bias + j + c * kLanes) : hn::Zero(d);
      m[c] = q.multiplier_per_column ? hn::LoadU(df, q.multiplier + j + c * kLanes) : hn::Set(df, q.multiplier[0]);
    }
    for (int64_t i = 0; i < rows; i += kTogether, to += kTogether * to_row) {
      const int64_t count = rows - i < kTogether ? rows - i : kTogether;
      VI codes[4];
      VIREO_UNROLL
      for (int x = 0; x < 4; ++x) {
        const int c = x % kVectors;
        const int64_t r = i + (x / kVectors < count ? x / kVectors : 0);
        const VI added = kByRow && bias_by_row ? hn::Set(d, q.bias[row + r]) : bias[c];
        codes[x] = f.rounded(hn::Add(hn::Load(d, sums + (r * kVectors + c) * kLanes), added),
                             kByRow && q.multiplier_per_row ? hn::Set(df, q.multiplier[row + r]) : m[c]);
      }
      const auto y = f.in_order(codes[0], codes[1], codes[2], codes[3]);
      if constexpr (kVectors == 2) {
        hn::StoreU(hn::LowerHalf(half, y), half, reinterpret_cast<int8_t*>(to));
        if (count > 1) hn::StoreU(hn::UpperHalf(half, y), half, reinterpret_cast<int8_t*>(to + to_row));
      } else {
        HWY_ALIGN int8_t lines[4 * kLanes];
        hn::Store(y, D8(), lines);
        for (int64_t r = 0; r < count; ++r) memcpy(to + r * to_row, lines + r * kLanes, kLanes);
      }
    }
  }
#endif
  const Requantize& q_;
  Second second_;
};

struct PairTile {
  const int16_t* a;
  int64_t a_row;
  const int16_t* b;
  int64_t pairs;
  const int32_t* before;  // sums of earlier blocks of k, or null
  int64_t before_row;
  int64_t columns;
  int32_t* c;  // where sums go; null: `finish` takes them
  int64_t c_row;
  const RealStep* real;  // `c` is float32; or null
  const ProductFinish* finish;
  int64_t row, column;  // of the whole product
  uint8_t* y;
  int64_t y_row;
  const uint8_t* added;  // as `y`, or null
};

// What becomes of `rows` rows of a tile's sums: one function for tiles of every height, where unrolling them would cost
// more code than all that multiplies.
template <int kVectors>
HWY_NOINLINE void end_pairs(const PairTile& t, int32_t* sums, int64_t rows) {
  const DI d;
  constexpr int64_t kRow = kVectors * kLanes;
  const size_t columns[2] = {static_cast<size_t>(t.columns < kLanes ? t.columns : kLanes),
                             static_cast<size_t>(t.columns < kLanes ? 0 : t.columns - kLanes)};
  if (t.before != nullptr) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int v = 0; v < kVectors; ++v) {
        int32_t* const at = sums + i * kRow + v * kLanes;
        const VI before = hn::LoadN(d, t.before + i * t.before_row + v * kLanes, columns[v]);
        hn::Store(hn::Add(hn::Load(d, at), before), d, at);
      }
    }
  }
#if HWY_TARGET != HWY_SCALAR
  if (t.c == nullptr && t.columns == kRow && t.finish->takes_whole_rows())
    return t.finish->template put_whole<kVectors>(sums, rows, t.row, t.column, t.y, t.y_row);
#endif
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < kVectors && columns[v] != 0; ++v) {
      VI sum = hn::Load(d, sums + i * kRow + v * kLanes);
      if (t.c != nullptr) {
        if (t.real != nullptr) sum = real_of(*t.real, sum, t.column + v * kLanes, columns[v]);
        int32_t* const to = t.c + i * t.c_row + v * kLanes;
        if (columns[v] == static_cast<size_t>(kLanes)) {
          hn::StoreU(sum, d, to);
        } else {
          hn::StoreN(sum, d, to, columns[v]);
        }
        continue;
      }
      const int64_t at = i * t.y_row + v * kLanes;
      t.finish->put(sum, t.row + i, t.column + v * kLanes, columns[v], t.y + at,
                    (t.added != nullptr ? t.added : t.y) + at);
    }
  }
}

// kTileRows x kVectors vectors of int32 sums; each step multiplies pairs along k and adds both products exactly.
// kVectors: 2, or 1 where no more columns are valid than one vector has.
template <int kTileRows, int kVectors>
HWY_NOINLINE void pair_tile(const PairTile& t) {
  const DI d;
  VI acc[kTileRows][kVectors];
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Zero(d);
  }
  const int16_t* a = t.a;
  const int16_t* b = t.b;
  const int64_t a_row = t.a_row;
#if HWY_TARGET == HWY_SCALAR
  for (int64_t q = 0; q < t.pairs; ++q, b += 2 * kPairWidth) {
    for (int i = 0; i < kTileRows; ++i) {
      const int32_t a0 = a[i * a_row + 2 * q], a1 = a[i * a_row + 2 * q + 1];
      for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Add(acc[i][v], hn::Set(d, a0 * b[2 * v] + a1 * b[2 * v + 1]));
    }
  }
#else
  const hn::Repartition<int16_t, DI> d16;
  VI none = hn::Zero(d);
  for (int64_t q = t.pairs; q > 0; --q, b += 2 * kPairWidth, a += 2) {
    hn::Vec<decltype(d16)> bv[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d16, b + 2 * v * kLanes);
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      int32_t pair;
      memcpy(&pair, a + i * a_row, sizeof(pair));
      const auto av = hn::BitCast(d16, hn::Set(d, pair));
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) {
#if HWY_ARCH_X86  // pairs stay in their lane here, and VNNI has one instruction for it
        acc[i][v] = hn::ReorderWidenMulAccumulate(d, av, bv[v], acc[i][v], none);
#else
        acc[i][v] = hn::Add(acc[i][v], hn::WidenMulPairwiseAdd(d, av, bv[v]));
#endif
      }
    }
  }
  (void)none;
#endif
  HWY_ALIGN int32_t sums[kTileRows * kVectors * kLanes];
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::Store(acc[i][v], d, sums + (i * kVectors + v) * kLanes);
  }
  end_pairs<kVectors>(t, sums, kTileRows);
}

using PairTileKernel = void (*)(const PairTile&);
template <int kVectors>
constexpr PairTileKernel kPairTiles[] = {
    nullptr,
    pair_tile<1, kVectors>,
    pair_tile<2, kVectors>,
    pair_tile<3, kVectors>,
    pair_tile<4, kVectors>,
    pair_tile<5, kVectors>,
    pair_tile<6, kVectors>,
#if VIREO_PAIRS_HAVE_32_REGISTERS
    pair_tile<7, kVectors>,
    pair_tile<8, kVectors>,
#endif
};

// Rows [m0, m1) and columns [n0, n1). `scratch`: a strip of A and panels of B, both as 16-bit differences, then sums
// where a requantized product has more than one block of k.
HWY_INLINE void product_of_pairs(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  const int64_t depth = int_depth(p.k), width = pair_columns(p.k);
  int16_t* const strip = static_cast<int16_t*>(scratch);
  int16_t* const panels = strip + kPairRows * depth;
  int32_t* const sums = reinterpret_cast<int32_t*>(panels + depth * width);
  const Requantize none;
  const Requantize& q = p.finish != nullptr ? *p.finish : none;
  const ProductFinish finish(q, p.finish == nullptr || products_in_range(q.multiplier, multipliers_of(p)), p.n);
  PairTile t{};
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
      for (int64_t m = m0; m < m1; m += kTileHeight) {
        const int64_t rows = m1 - m < kTileHeight ? m1 - m : kTileHeight;
        for (int64_t i = 0; i < rows; ++i) {
          const int32_t zero = zero_at(p.a_zero, p.a_signed, p.a_zero_per_row ? m + i : 0);
          int16_t* const to = strip + i * depth;
          widen_any(p.a, p.a_signed, (m + i) * p.a_row + k0, 1, kc, zero, to);
          if (kc % 2 != 0) to[kc] = 0;
        }
        t.row = m;
        for (int64_t j = 0; j < nc; j += kPairWidth) {
          t.b = panels + 2 * j * t.pairs;
          t.columns = nc - j < kPairWidth ? nc - j : kPairWidth;
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
          t.real = k0 + kc == p.k ? p.real : nullptr;
          if (to_bytes) t.y = static_cast<uint8_t*>(p.c) + m * p.c_row + n + j;
          if (p.added != nullptr) t.added = p.added + m * p.c_row + n + j;
          t.columns <= kLanes ? kPairTiles<1>[rows](t) : kPairTiles<2>[rows](t);
        }
      }
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
