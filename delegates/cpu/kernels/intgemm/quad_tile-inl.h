// Panels of B and register tiles of the engine that multiplies bytes in fours (quads-inl.h).
#if defined(VIREO_DELEGATES_CPU_KERNELS_INTGEMM_QUAD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_QUAD_TILE_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_QUAD_TILE_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_QUAD_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/intgemm/rows-inl.h"
#include "delegates/cpu/kernels/requantize/second-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A panel is [k / 4, vectors, 16 columns, 4]: of 64 columns in 4 vectors, or of 16 in 1. With 4, unpacking 4 rows block
// by block leaves vector v, block b with columns 16 b + 4 v on, and packing sums to bytes block by block puts them
// back: neither takes a step to keep columns in order. Two or three vectors are as many panels of 16 side by side.
template <int kVectors>
constexpr int64_t kQuadColumns = kVectors * 16;
template <int kVectors>
HWY_INLINE int64_t lane_of(int64_t column) {
  return kVectors == 4 ? packed_lane(64, column) : column;
}

// a, b: bytes; the one that is signed by `kASigned`.
template <bool kASigned>
HWY_INLINE VI dot(hn::Vec<hn::Repartition<uint8_t, DI>> a, hn::Vec<hn::Repartition<uint8_t, DI>> b, VI sum) {
  const hn::Repartition<int8_t, DI> ds;
  return kASigned ? hn::SumOfMulQuadAccumulate(DI(), b, hn::BitCast(ds, a), sum)
                  : hn::SumOfMulQuadAccumulate(DI(), a, hn::BitCast(ds, b), sum);
}

// Columns [n, n + columns) of B, k from k0, zeros behind them up to a multiple of 64 where tiles ask for it. `sums`: of
// the columns of b', by lane, or null.
template <int kVectors>
HWY_INLINE void pack_quads(const IntProduct& p, int64_t k0, int64_t kc, int64_t n, int64_t columns, uint8_t flip,
                           uint8_t* panel, int32_t* sums) {
  constexpr int64_t kColumns = kQuadColumns<kVectors>;
  const hn::CappedTag<uint8_t, kColumns> d;
  using V = hn::Vec<decltype(d)>;
  const hn::Repartition<uint16_t, decltype(d)> d16;
  const hn::Repartition<uint8_t, DI> all;
  const size_t lanes = static_cast<size_t>(columns);
  const bool in_place = p.patches == nullptr && p.b_n == 1;
  const uint8_t* from = static_cast<const uint8_t*>(p.b) + k0 * p.b_k + n;
  const V f = hn::Set(d, flip);
  PanelRows<uint8_t> source(p, k0, n, columns, flip);
  HWY_ALIGN uint8_t rows[4][kColumns] = {};
  VI total[kVectors];
  for (VI& t : total) t = hn::Zero(DI());
  const auto ones = hn::Set(all, uint8_t{1});
  for (int64_t k = 0; k < kc; k += 4, panel += 4 * kColumns) {
    V row[4];
    const int64_t count = kc - k < 4 ? kc - k : 4;
    if (in_place && count == 4) {
      if (columns == kColumns) {
        VIREO_UNROLL
        for (int i = 0; i < 4; ++i) row[i] = hn::Xor(hn::LoadU(d, from + i * p.b_k), f);
      } else {
        VIREO_UNROLL
        for (int i = 0; i < 4; ++i) row[i] = hn::Xor(hn::LoadN(d, from + i * p.b_k, lanes), f);
      }
      from += 4 * p.b_k;
    } else if (in_place) {
      for (int i = 0; i < 4; ++i) row[i] = i < count ? hn::Xor(hn::LoadN(d, from + i * p.b_k, lanes), f) : hn::Zero(d);
    } else {
      for (int64_t i = 0; i < count; ++i) source.next(rows[i]);
      if (count < 4) memset(rows[count], 0, static_cast<size_t>((4 - count) * kColumns));
      VIREO_UNROLL
      for (int i = 0; i < 4; ++i) row[i] = hn::Load(d, rows[i]);
    }
    const auto lo01 = hn::BitCast(d16, hn::InterleaveLower(d, row[0], row[1]));
    const auto hi01 = hn::BitCast(d16, hn::InterleaveUpper(d, row[0], row[1]));
    const auto lo23 = hn::BitCast(d16, hn::InterleaveLower(d, row[2], row[3]));
    const auto hi23 = hn::BitCast(d16, hn::InterleaveUpper(d, row[2], row[3]));
    hn::Store(hn::BitCast(d, hn::InterleaveLower(d16, lo01, lo23)), d, panel);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(d16, lo01, lo23)), d, panel + kColumns);
    hn::Store(hn::BitCast(d, hn::InterleaveLower(d16, hi01, hi23)), d, panel + 2 * kColumns);
    hn::Store(hn::BitCast(d, hn::InterleaveUpper(d16, hi01, hi23)), d, panel + 3 * kColumns);
    if (sums != nullptr) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const auto quads = hn::Load(all, panel + v * 64);
        total[v] = p.a_signed ? dot<true>(ones, quads, total[v]) : dot<false>(ones, quads, total[v]);
      }
    }
  }
  if (p.tiles != nullptr) memset(panel, 0, static_cast<size_t>((packed_quads(kc) - (kc + 3) / 4) * 4 * kColumns));
  if (sums == nullptr) return;
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::Store(total[v], DI(), sums + v * 16);
}

// Sum of a row of A.
inline HWY_NOINLINE int32_t sum_of_row(bool is_signed, const uint8_t* a, int64_t k) {
  const hn::Repartition<uint8_t, DI> d;
  const auto ones = hn::Set(d, uint8_t{1});
  VI sum = hn::Zero(DI());
  int64_t i = 0;
  for (; i < k; i += 64) {
    const auto quads = i + 64 <= k ? hn::LoadU(d, a + i) : hn::LoadN(d, a + i, static_cast<size_t>(k - i));
    sum = is_signed ? dot<true>(quads, ones, sum) : dot<false>(quads, ones, sum);
  }
  return hn::ReduceSum(DI(), sum);
}

// Into the second-level cache.
HWY_INLINE void prefetch_second(const void* at) { __builtin_prefetch(at, 0, 2); }

// Sums of rows that lie anywhere, each of `runs` runs of fours of k, a_run apart: windows over an image.
struct WindowSums {
  const uint8_t* row[12];
  int64_t runs, run, a_run;
  const uint8_t* b;
  int64_t b_vector;
  const uint8_t* ahead;  // as in QuadTile
  int64_t ahead_step;
  int32_t* sums;  // by row and lane
};
template <int kRows, int kVectors>
HWY_NOINLINE void window_sums(const WindowSums& w) {
  const DI d;
  const hn::Repartition<uint8_t, DI> d8;
  VI acc[kRows][kVectors];
  const uint8_t* row[kRows];
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    row[i] = w.row[i];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Zero(d);
  }
  const uint8_t* b = w.b;
  const uint8_t* ahead = w.ahead;
  const int64_t b_vector = kVectors == 4 ? 64 : w.b_vector, step = w.ahead_step;
  for (int64_t r = 0; r < w.runs; ++r) {
    const int64_t end = r * w.a_run + w.run;
    for (int64_t at = r * w.a_run; at < end; at += 4, b += kVectors == 4 ? 256 : 64, ahead += step) {
      prefetch_second(ahead);
      hn::Vec<decltype(d8)> bv[kVectors];
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) bv[v] = hn::Load(d8, b + v * b_vector);
      VIREO_UNROLL
      for (int i = 0; i < kRows; ++i) {
        int32_t quad;
        memcpy(&quad, row[i] + at, sizeof(quad));
        const auto av = hn::BitCast(d8, hn::Set(d, quad));
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[i][v] = dot<false>(av, bv[v], acc[i][v]);
      }
    }
  }
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], d, w.sums + (i * kVectors + v) * 16);
  }
}

// RealStep's numbers, one for each lane of a panel; null: none.
struct RealLanes {
  const float* factor;
  const float* later;
  const float* bias;
};
struct QuadTile {
  const uint8_t* a;
  int64_t a_row;
  bool a_signed;
  int64_t k;
  const uint8_t* b;
  int64_t b_vector;           // from one vector to the next, where they are panels of their own
  const int32_t* row_start;   // one a row
  const int32_t* lane_start;  // by lane, or null
  const int32_t* before;      // instead of row_start: by row and lane, or null
  const int32_t* made;        // what tiles have summed, likewise, to be added, or null
  int32_t* sums;              // where sums go, by row and lane; null: `c` or `finish` take them
  int32_t* c;                 // [rows, columns], or null
  const RealLanes* real;      // `c` is float32; or null
  int64_t c_row;
  const Finish* finish;
  const float* row_multiplier;   // one a row, or
  bool one_multiplier;           // one for all, or
  const float* lane_multiplier;  // by lane: not null
  int64_t columns;
  uint8_t* y;
  int64_t y_row;
  const uint8_t* added;      // that the second step adds, as `y`, or null
  const float* lane_factor;  // of the second step, one for each lane: for sums alone, or
  const float* lane_below;
  const float* lane_offset;
  const uint8_t* ahead;  // what is asked for while sums are made, a line for each four of k, ahead_step apart
  int64_t ahead_step;
};

// 4 columns of one 128-bit block to where they belong.
template <int kBlock>
HWY_INLINE void put_block(VI v, int64_t column, int64_t columns, int32_t* to) {
  const hn::CappedTag<int32_t, 4> d4;
  const auto part = hn::ExtractBlock<kBlock>(v);
  if (column + 4 <= columns) {
    hn::StoreU(part, d4, to + column);
  } else if (column < columns) {
    hn::StoreN(part, d4, to + column, static_cast<size_t>(columns - column));
  }
}

// How many of `columns`, more than 16 v of them, are in vector v.
HWY_INLINE size_t count_of(int64_t columns, int v) {
  return static_cast<size_t>(columns < 16 * v + 16 ? columns - 16 * v : 16);
}

// `rows` rows of sums to where they go as they are: of a tile of any height, for unrolled this is more code than all
// that multiplies.
template <int kVectors>
HWY_NOINLINE void put_rows_of_sums(const QuadTile& t, const int32_t* sums, int64_t rows) {
  const DI d;
  const DF df;
  int32_t* to = t.c;
  const auto made = [&](int v) HWY_ATTR {
    const VI sum = hn::Load(d, sums + v * 16);
    if (t.real == nullptr) return sum;
    VF y = hn::Mul(hn::ConvertTo(df, sum), hn::Load(df, t.real->factor + v * 16));
    if (t.real->later != nullptr) y = hn::Mul(y, hn::Load(df, t.real->later + v * 16));
    if (t.real->bias != nullptr) y = hn::Add(y, hn::Load(df, t.real->bias + v * 16));
    return hn::BitCast(d, y);
  };
  for (int64_t i = 0; i < rows; ++i, sums += kVectors * 16, to += t.c_row) {
    if constexpr (kVectors < 4) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) hn::StoreN(made(v), d, to + v * 16, count_of(t.columns, v));
    } else {
      for (int v = 0; v < kVectors; ++v) {
        const VI sum = made(v);
        put_block<0>(sum, 4 * v, t.columns, to);
        put_block<1>(sum, 16 + 4 * v, t.columns, to);
        put_block<2>(sum, 32 + 4 * v, t.columns, to);
        put_block<3>(sum, 48 + 4 * v, t.columns, to);
      }
    }
  }
}

// The first `count` bytes of four of each row, zeros behind: what a whole quad would read behind a row's end may belong
// to nobody.
inline HWY_NOINLINE void parts_of_quads(const uint8_t* a, int64_t a_row, int64_t rows, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < rows; ++i, a += a_row, to += 4) {
    for (int64_t j = 0; j < 4; ++j) to[j] = j < count ? a[j] : 0;
  }
}

// acc += A B over `quads` fours of k.
template <bool kASigned, int kRows, int kVectors>
HWY_INLINE void add_quads(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_vector, int64_t quads,
                          const uint8_t* ahead, int64_t ahead_step, VI (&acc)[kRows][kVectors]) {
  const DI d;
  const hn::Repartition<uint8_t, DI> d8;
  for (; quads > 0; --quads, a += 4, b += kVectors == 4 ? 256 : 64, ahead += ahead_step) {
    prefetch_second(ahead);
    hn::Vec<decltype(d8)> bv[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) bv[v] = hn::Load(d8, b + v * b_vector);
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      int32_t quad;
      memcpy(&quad, a + i * a_row, sizeof(quad));
      const auto av = hn::BitCast(d8, hn::Set(d, quad));
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = dot<kASigned>(av, bv[v], acc[i][v]);
    }
  }
}

// The sign of A is asked where sums begin to be made: what tiles begin and end with is one code for both.
template <int kRows, int kVectors>
HWY_NOINLINE void quad_tile(const QuadTile& t) {
  const DI d;
  const int64_t quads = t.k / 4, rest = t.k % 4;
  uint8_t last[kRows * 4];
  if (rest != 0) parts_of_quads(t.a + quads * 4, t.a_row, kRows, rest, last);
  VI acc[kRows][kVectors];
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      acc[i][v] = t.before != nullptr ? hn::LoadU(d, t.before + (i * kVectors + v) * 16) : hn::Set(d, t.row_start[i]);
    }
  }
  if (t.lane_start != nullptr) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const VI start = hn::LoadU(d, t.lane_start + v * 16);
      VIREO_UNROLL
      for (int i = 0; i < kRows; ++i) acc[i][v] = hn::Add(acc[i][v], start);
    }
  }
  if (t.made != nullptr) {
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Add(acc[i][v], hn::LoadU(d, t.made + (i * kVectors + v) * 16));
    }
  }
  const int64_t b_vector = kVectors == 4 ? 64 : t.b_vector;
  const uint8_t* a = t.a;
  const uint8_t* b = t.b;
  int64_t a_row = t.a_row, count = quads;
  for (bool whole = true;; whole = false) {
    if (t.a_signed) {
      add_quads<true>(a, a_row, b, b_vector, count, t.ahead, t.ahead_step, acc);
    } else {
      add_quads<false>(a, a_row, b, b_vector, count, t.ahead, t.ahead_step, acc);
    }
    if (!whole || rest == 0) break;
    a = last;
    a_row = 4;
    b += quads * (kVectors == 4 ? 256 : 64);
    count = 1;
  }
  if (t.sums != nullptr || t.c != nullptr) {
    HWY_ALIGN int32_t kept[kRows * kVectors * 16];
    int32_t* const to = t.sums != nullptr ? t.sums : kept;
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], d, to + (i * kVectors + v) * 16);
    }
    if (t.sums == nullptr) put_rows_of_sums<kVectors>(t, kept, kRows);
    return;
  }
  const Finish finish = *t.finish;
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    VI r[kVectors];
    if (t.lane_multiplier != nullptr) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) r[v] = finish.rounded(acc[i][v], hn::LoadU(DF(), t.lane_multiplier + v * 16));
    } else {
      const VF m = hn::Set(DF(), t.row_multiplier[t.one_multiplier ? 0 : i]);
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) r[v] = finish.rounded(acc[i][v], m);
    }
    uint8_t* const to = t.y + i * t.y_row;
    if constexpr (kVectors < 4) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) finish.store(r[v], count_of(t.columns, v), to + v * 16);
    } else {
      finish.store(finish.blocks(r[0], r[1], r[2], r[3]), static_cast<size_t>(t.columns), to);
    }
  }
}

// `rows` rows of sums that tiles have made, all there is to sum: codes.
template <int kVectors>
HWY_NOINLINE void end_quads(const QuadTile& t, int64_t rows) {
  const DI d;
  const Finish finish = *t.finish;
  VI start[kVectors];
  VF multiplier[kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    start[v] = t.lane_start != nullptr ? hn::LoadU(d, t.lane_start + v * 16) : hn::Zero(d);
    multiplier[v] =
        t.lane_multiplier != nullptr ? hn::LoadU(DF(), t.lane_multiplier + v * 16) : hn::Set(DF(), t.row_multiplier[0]);
  }
  const int32_t* made = t.made;
  uint8_t* to = t.y;
  for (int64_t i = 0; i < rows; ++i, made += kVectors * 16, to += t.y_row) {
    const VI of_row = hn::Set(d, t.row_start[i]);
    VI r[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v)
      r[v] = finish.rounded(hn::Add(hn::Add(start[v], of_row), hn::LoadU(d, made + v * 16)), multiplier[v]);
    if constexpr (kVectors < 4) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) finish.store(r[v], count_of(t.columns, v), to + v * 16);
    } else {
      finish.store(finish.blocks(r[0], r[1], r[2], r[3]), static_cast<size_t>(t.columns), to);
    }
  }
}

// `rows` rows of sums, without what they begin with where `begins`: the codes behind the second step.
template <int kVectors>
HWY_NOINLINE void end_second(const QuadTile& t, const Second& second, const int32_t* sums, bool begins, int64_t rows) {
  const DI d;
  const SecondStep& step = *second.step();
  VI start[kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v)
    start[v] = begins && t.lane_start != nullptr ? hn::LoadU(d, t.lane_start + v * 16) : hn::Zero(d);
  const VF one_factor = hn::Set(DF(), *step.factor), other_factor = hn::Set(DF(), step.other_factor);
  uint8_t* to = t.y;
  const uint8_t* other = t.added;
  for (int64_t i = 0; i < rows; ++i, sums += kVectors * 16, to += t.y_row) {
    const VI of_row = hn::Set(d, begins ? t.row_start[i] : 0);
    VF number[kVectors];
    VI r[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const VI sum = hn::Add(hn::Add(start[v], of_row), hn::LoadU(d, sums + v * 16));
      number[v] = second.difference(sum, t.lane_multiplier != nullptr
                                             ? hn::LoadU(DF(), t.lane_multiplier + v * 16)
                                             : hn::Set(DF(), t.row_multiplier[t.one_multiplier ? 0 : i]));
    }
    if (step.adds) {
      const CodesIn codes(other, 1, step.other_signed, step.other_zero);
      other += t.y_row;
      VF others[4];
      if constexpr (kVectors == 4) {
        codes.blocks(0, static_cast<size_t>(t.columns), others);
      } else {
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v) others[v] = codes.part(v * 16, count_of(t.columns, v));
      }
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v)
        r[v] = second.rounded(hn::Add(hn::Mul(number[v], one_factor), hn::Mul(others[v], other_factor)));
    } else {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const VF factor = hn::LoadU(DF(), t.lane_factor + v * 16), below = hn::LoadU(DF(), t.lane_below + v * 16);
        r[v] =
            second.rounded(hn::Add(times_by_sign(number[v], factor, below), hn::LoadU(DF(), t.lane_offset + v * 16)));
      }
    }
    if constexpr (kVectors < 4) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) second.store(r[v], count_of(t.columns, v), to + v * 16);
    } else {
      second.store(second.blocks(r[0], r[1], r[2], r[3]), static_cast<size_t>(t.columns), to);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#endif  // include guard per target
