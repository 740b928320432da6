// Rows of A times the packed B in one pass over it: its bytes are widened in registers on their way into the products,
// where the engine of pairs widens them in memory first. Compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_INTGEMM_WIDENED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_WIDENED_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_WIDENED_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_WIDENED_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/intgemm/pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
// Where widening is one instruction it costs a twelfth of what six rows multiply; elsewhere one row alone comes here.
#define VIREO_WIDENS_FOR_ROWS (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
// The engine of pairs widens a column once for all rows, and ends fewer sums: more rows for each of k are its.
constexpr int64_t kWidenedDepth = 12;
HWY_INLINE bool widened_serves(const IntProduct& p, int64_t rows) {
  return HWY_TARGET != HWY_SCALAR && (rows == 1 || (VIREO_WIDENS_FOR_ROWS && p.k >= kWidenedDepth * rows)) &&
         p.packed != nullptr && p.k <= kIntDepth && p.k > 0;
}

#if HWY_TARGET != HWY_SCALAR
// Half of a line in use is more than a prefetcher takes for a stream.
constexpr int64_t kRowsAhead = 16;

// `quads` fours of k of some columns of a panel, b_row bytes apart, and as many of rows of A, a_row elements apart.
struct WidenedTile {
  const int16_t* a;
  int64_t a_row;
  const uint8_t* b;
  int64_t b_row;
  int64_t quads;
  const int32_t* totals;  // of each row of A, and
  const int32_t* zeros;   // what each lane takes that many times from its sums; null: nothing
  int64_t panel, lane;    // columns of the panel, and the first lane of these
  int64_t rows;           // of the panel's sums
  int32_t* sums;          // [columns / kPairWidth, rows, kPairWidth]
};

// The sums of four columns, which stand side by side in every panel.
HWY_INLINE int32_t* four_sums(const WidenedTile& t, int64_t row, int64_t lane) {
  const int64_t c = t.panel == 16 ? lane : lane / 4 % 4 * 16 + lane / 16 * 4;  // as packed_lane has it
  return t.sums + (c / kPairWidth * t.rows + row) * kPairWidth + c % kPairWidth;
}

// Two sums a column as one. A function of its own: what it keeps in registers would push sums out of them.
HWY_NOINLINE void end_widened(const WidenedTile& t, const int32_t* made, int64_t rows, int64_t vectors) {
  const DI d;
  const hn::CappedTag<int32_t, 4> d4;
  for (int64_t i = 0; i < rows; ++i) {
    const VI total = hn::Set(d, t.totals[i]);
    for (int64_t lane = t.lane; lane < t.lane + vectors / 2 * kLanes; lane += kLanes, made += 2 * kLanes) {
      const VI a = hn::Load(d, made), b = hn::Load(d, made + kLanes);
      VI sum = hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
      if (t.zeros != nullptr) sum = hn::Sub(sum, hn::Mul(total, hn::LoadU(d, t.zeros + lane)));
      hn::StoreU(hn::ExtractBlock<0>(sum), d4, four_sums(t, i, lane));
      if constexpr (kLanes > 4) hn::StoreU(hn::ExtractBlock<1>(sum), d4, four_sums(t, i, lane + 4));
      if constexpr (kLanes > 8) {
        hn::StoreU(hn::ExtractBlock<2>(sum), d4, four_sums(t, i, lane + 8));
        hn::StoreU(hn::ExtractBlock<3>(sum), d4, four_sums(t, i, lane + 12));
      }
    }
  }
}

// Sums of `kVectors` vectors of 16 bits, a column's four of k side by side in each.
template <class Byte, int kRows, int kVectors>
HWY_NOINLINE void widened_tile(const WidenedTile& t) {
  const DI d;
  const hn::Repartition<int16_t, DI> d16;
  const hn::Repartition<int64_t, DI> d64;
  const hn::Rebind<Byte, decltype(d16)> d8;
  VI acc[kRows][kVectors];
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Zero(d);
  }
  const int16_t* a = t.a;
  const uint8_t* b = t.b;
  const int64_t a_row = t.a_row, b_row = t.b_row;
  VI none = hn::Zero(d);
  for (int64_t q = t.quads; q > 0; --q, a += 4, b += b_row) {
    hn::Vec<decltype(d16)> bv[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v)
      bv[v] = hn::PromoteTo(d16, hn::LoadU(d8, reinterpret_cast<const Byte*>(b) + v * 2 * kLanes));
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      int64_t four;
      memcpy(&four, a + i * a_row, sizeof(four));
      const auto av = hn::BitCast(d16, hn::Set(d64, four));
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) {
#if HWY_ARCH_X86  // pairs stay in their lane here
        acc[i][v] = hn::ReorderWidenMulAccumulate(d, av, bv[v], acc[i][v], none);
#else
        acc[i][v] = hn::Add(acc[i][v], hn::WidenMulPairwiseAdd(d, av, bv[v]));
#endif
      }
    }
    VIREO_UNROLL
    for (int64_t line = 0; line < kVectors * 2 * kLanes; line += 64) __builtin_prefetch(b + kRowsAhead * b_row + line);
  }
  (void)none;
  HWY_ALIGN int32_t made[kRows * kVectors * kLanes];
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::Store(acc[i][v], d, made + (i * kVectors + v) * kLanes);
  }
  end_widened(t, made, kRows, kVectors);
}

// All columns of a panel, which are multiples of 32 / kLanes vectors: few rows meet many of them, so that 12 sums of 16
// registers are in use.
template <class Byte, int kRows>
HWY_NOINLINE void widened_panel(WidenedTile t) {
  constexpr int kNarrow = 32 / static_cast<int>(kLanes);  // vectors of 16 columns
  constexpr int kMost = kRows == 1                         ? 8
                        : kRows == 2 || VIREO_32_REGISTERS ? 4
                                                           : 2,
                kFew = kMost < kNarrow ? kMost : kNarrow;
  const auto over = [&](auto tile, int vectors) {
    const int64_t step = vectors * (kLanes / 2);
    for (t.lane = 0; t.lane < t.panel; t.lane += step, t.b += 4 * step) tile(t);
  };
  t.rows = kRows;
  t.panel == 16 ? over(widened_tile<Byte, kRows, kFew>, kFew) : over(widened_tile<Byte, kRows, kMost>, kMost);
}

using WidenedPanel = void (*)(WidenedTile);
template <class Byte>
constexpr WidenedPanel kWidenedPanels[] = {
    nullptr,
    widened_panel<Byte, 1>,
#if VIREO_WIDENS_FOR_ROWS
    widened_panel<Byte, 2>,
    widened_panel<Byte, 3>,
    widened_panel<Byte, 4>,
    widened_panel<Byte, 5>,
    widened_panel<Byte, 6>,
#endif
};
constexpr int64_t kWidenedRows = VIREO_WIDENS_FOR_ROWS ? 6 : 1;
constexpr int64_t kWidenedBlock = 240;  // rows that are widened together: many tiles

// What becomes of `rows` rows of a panel's sums.
HWY_INLINE void end_panel(PairTile t, int32_t* sums, int64_t rows, int64_t columns) {
  for (int64_t c = 0; c < columns; c += kPairWidth, sums += rows * kPairWidth) {
    t.columns = columns - c < kPairWidth ? columns - c : kPairWidth;
    end_pairs<2>(t, sums, rows);
    t.column += kPairWidth;
    if (t.c != nullptr) t.c += kPairWidth;
    if (t.y != nullptr) t.y += kPairWidth;
    if (t.added != nullptr) t.added += kPairWidth;
  }
}
#endif

// Rows [m0, m1) and columns [n0, n1), n0 at the begin of a panel of 64. `scratch`: A as 16-bit differences, many rows.
HWY_INLINE void product_of_widened(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
#if HWY_TARGET != HWY_SCALAR
  int16_t* const a = static_cast<int16_t*>(scratch);
  const int64_t quads = (p.k + 3) / 4, depth = 4 * quads;
  // As many as the engine of pairs has panels for.
  const int64_t room = (kPairRows * int_depth(p.k) + int_depth(p.k) * pair_columns(p.k)) / depth;
  const int64_t block = room < kWidenedBlock ? room / kWidenedRows * kWidenedRows : kWidenedBlock;
  const int32_t moved = p.a_signed != p.b_signed ? 0 : p.b_signed ? 128 : -128;  // b' - b
  const Requantize none;
  const Requantize& q = p.finish != nullptr ? *p.finish : none;
  const ProductFinish finish(q, p.finish == nullptr || products_in_range(q.multiplier, multipliers_of(p)), p.n);
  HWY_ALIGN int32_t totals[kWidenedBlock];
  HWY_ALIGN int32_t zeros[kIntPanel];
  HWY_ALIGN int32_t sums[kWidenedRows * kIntPanel];
  const bool no_zeros = !p.b_zero_per_column && zero_at(p.b_zero, p.b_signed, 0) + moved == 0;
  for (int64_t m = m0; m < m1; m += block) {
    const int64_t rows = m1 - m < block ? m1 - m : block;
    for (int64_t i = 0; i < rows; ++i) {
      int16_t* const to = a + i * depth;
      const int32_t zero = zero_at(p.a_zero, p.a_signed, p.a_zero_per_row ? m + i : 0);
      widen_any(p.a, p.a_signed, (m + i) * p.a_row, 1, p.k, zero, to);
      for (int64_t k = p.k; k < depth; ++k) to[k] = 0;
      uint32_t total = 0;  // modulo 2^32, as the sums
      for (int64_t k = 0; !no_zeros && k < p.k; ++k) total += static_cast<uint32_t>(int32_t{to[k]});
      totals[i] = static_cast<int32_t>(total);
    }
    for (int64_t n = n0; n < n1;) {
      const int64_t width = packed_panel_columns(p.n, n), count = n1 - n < width ? n1 - n : width;
      WidenedTile tile{};
      tile.a_row = depth;
      tile.b = packed_panel(p.packed, p.k, n);
      tile.b_row = 4 * width;
      tile.quads = quads;
      tile.zeros = no_zeros ? nullptr : zeros;
      tile.panel = width;
      tile.sums = sums;
      for (int64_t c = 0; !no_zeros && c < width; ++c) {
        const int64_t at = p.b_zero_per_column ? n + (c < count ? c : 0) : 0;
        zeros[packed_lane(width, c)] = zero_at(p.b_zero, p.b_signed, at) + moved;
      }
      PairTile end{};
      end.finish = &finish;
      end.c_row = end.y_row = p.c_row;
      end.real = p.real;
      end.column = n;
      for (int64_t i = 0; i < rows;) {
        const int64_t high = rows - i < kWidenedRows ? rows - i : kWidenedRows;
        tile.a = a + i * depth;
        tile.totals = totals + i;
        (p.a_signed ? kWidenedPanels<uint8_t> : kWidenedPanels<int8_t>)[high](tile);
        const int64_t at = (m + i) * p.c_row + n;
        end.row = m + i;
        if (p.finish == nullptr) {
          end.c = static_cast<int32_t*>(p.c) + at;
        } else {
          end.y = static_cast<uint8_t*>(p.c) + at;
        }
        if (p.added != nullptr) end.added = p.added + at;
        end_panel(end, sums, high, count);
        i += high;
      }
      n += width;
    }
  }
#else
  (void)p, (void)m0, (void)m1, (void)n0, (void)n1, (void)scratch;
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
