// One row of A times the packed B, which is one stream: bytes are widened in registers on their way into the products,
// where several rows of A would share pairs in memory. Compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_INTGEMM_ONE_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_ONE_ROW_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_ONE_ROW_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_ONE_ROW_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/intgemm/pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
HWY_INLINE bool one_row_serves(const IntProduct& p, int64_t rows) {
  return HWY_TARGET != HWY_SCALAR && rows == 1 && p.packed != nullptr && p.k <= kIntDepth;
}

#if HWY_TARGET != HWY_SCALAR
// Half of a line in use is more than a prefetcher takes for a stream.
constexpr int64_t kRowsAhead = 16;
// Sums of `kVectors` vectors of 16 bits, a column's four of k side by side in each; `quads` rows of fours, b_row bytes
// apart. They go to sums[lane], without the zero point of B.
template <class Byte, int kVectors>
HWY_INLINE void row_of_quads(const int16_t* a, const uint8_t* b, int64_t b_row, int64_t quads, int32_t* sums) {
  const DI d;
  const hn::Repartition<int16_t, DI> d16;
  const hn::Repartition<int64_t, DI> d64;
  const hn::Rebind<Byte, decltype(d16)> d8;
  VI acc[kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) acc[v] = hn::Zero(d);
  for (int64_t q = 0; q < quads; ++q, a += 4, b += b_row) {
    int64_t four;
    memcpy(&four, a, sizeof(four));
    const auto av = hn::BitCast(d16, hn::Set(d64, four));
    VIREO_UNROLL
    for (int64_t line = 0; line < kVectors * 2 * kLanes; line += 64) __builtin_prefetch(b + kRowsAhead * b_row + line);
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto bv = hn::PromoteTo(d16, hn::LoadU(d8, reinterpret_cast<const Byte*>(b) + v * 2 * kLanes));
      acc[v] = hn::Add(acc[v], hn::WidenMulPairwiseAdd(d, av, bv));
    }
  }
  VIREO_UNROLL
  for (int v = 0; v < kVectors; v += 2) {
    const VI low = hn::ConcatEven(d, acc[v + 1], acc[v]), high = hn::ConcatOdd(d, acc[v + 1], acc[v]);
    hn::StoreU(hn::Add(low, high), d, sums + v / 2 * kLanes);
  }
}

// Eight vectors at a time; a panel of 16 columns has 2 (of 16 lanes of 32 bits), 4 or 8.
template <class Byte>
HWY_INLINE void row_of_panel(const int16_t* a, const uint8_t* panel, int64_t columns, int64_t quads, int32_t* sums) {
  constexpr int kNarrow = 32 / static_cast<int>(kLanes);
  if (columns == 16) return row_of_quads<Byte, kNarrow>(a, panel, 4 * columns, quads, sums);
  constexpr int64_t kStep = 4 * kLanes;
  for (int64_t lane = 0; lane < columns; lane += kStep)
    row_of_quads<Byte, 8>(a, panel + 4 * lane, 4 * columns, quads, sums + lane);
}
#endif

// Columns [n0, n1), n0 at the begin of a panel of 64. `scratch`: A as 16-bit differences.
HWY_INLINE void product_of_one_row(const IntProduct& p, int64_t m, int64_t n0, int64_t n1, void* scratch) {
#if HWY_TARGET != HWY_SCALAR
  const DI d;
  int16_t* const a = static_cast<int16_t*>(scratch);
  widen_any(p.a, p.a_signed, m * p.a_row, 1, p.k, zero_at(p.a_zero, p.a_signed, p.a_zero_per_row ? m : 0), a);
  const int64_t quads = (p.k + 3) / 4;
  for (int64_t k = p.k; k < 4 * quads; ++k) a[k] = 0;
  uint32_t total = 0;  // modulo 2^32, as the sums
  for (int64_t k = 0; k < p.k; ++k) total += static_cast<uint32_t>(int32_t{a[k]});
  const int32_t moved = p.a_signed != p.b_signed ? 0 : p.b_signed ? 128 : -128;  // b' - b
  const Requantize none;
  const Requantize& q = p.finish != nullptr ? *p.finish : none;
  const ProductFinish finish(q, p.finish == nullptr || products_in_range(q.multiplier, multipliers_of(p)), p.n);
  HWY_ALIGN int32_t lanes[kIntPanel];
  HWY_ALIGN int32_t sums[kIntPanel];
  for (int64_t n = n0; n < n1;) {
    const int64_t width = packed_panel_columns(p.n, n), count = n1 - n < width ? n1 - n : width;
    const uint8_t* const panel = packed_panel(p.packed, p.k, n);
    (p.a_signed ? row_of_panel<uint8_t> : row_of_panel<int8_t>)(a, panel, width, quads, lanes);
    for (int64_t c = 0; c < count; ++c) {
      const int32_t zero = zero_at(p.b_zero, p.b_signed, p.b_zero_per_column ? n + c : 0) + moved;
      sums[c] = static_cast<int32_t>(static_cast<uint32_t>(lanes[packed_lane(width, c)]) -
                                     static_cast<uint32_t>(zero) * total);
    }
    for (int64_t c = 0; c < count; c += kLanes) {
      const size_t some = static_cast<size_t>(count - c < kLanes ? count - c : kLanes);
      const VI v = hn::Load(d, sums + c);
      const int64_t at = m * p.c_row + n + c;
      if (p.finish == nullptr) {
        hn::StoreN(v, d, static_cast<int32_t*>(p.c) + at, some);
      } else {
        uint8_t* const to = static_cast<uint8_t*>(p.c) + at;
        finish.put(v, m, n + c, some, to, p.added != nullptr ? p.added + at : to);
      }
    }
    n += width;
  }
#else
  (void)p, (void)m, (void)n0, (void)n1, (void)scratch;
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
