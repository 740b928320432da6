// The engine of AVX-512 with VNNI: bytes as they are, multiplied and added in fours, twice the rate of pairs.
//
// One operand of the instruction is unsigned, the other signed. A is read in place; the bytes of B are packed with the
// sign that A has not, b' = b +- 128 where it must change, and so is B's zero point. The zero points are taken out of
// the sums: sum (a - az)(b' - bz') = sum a b' - bz' sum a - az sum b' + k az bz'. All modulo 2^32, as sums are.
#if defined(VIREO_DELEGATES_CPU_KERNELS_INTGEMM_QUADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_QUADS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_QUADS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_QUADS_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/intgemm/rows-inl.h"
#include "delegates/cpu/kernels/requantize/finish-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A panel is [k / 4, vectors, 16 columns, 4]: of 64 columns in 4 vectors, or of 16 in 1. With 4, unpacking 4 rows block
// by block leaves vector v, block b with columns 16 b + 4 v on, and packing sums to bytes block by block puts them
// back: neither takes a step to keep columns in order.
template <int kVectors>
constexpr int64_t kQuadColumns = kVectors * 16;
template <int kVectors>
HWY_INLINE int64_t lane_of(int64_t column) {
  return kVectors == 1 ? column : column % 16 / 4 * 16 + column / 16 * 4 + column % 4;
}

// a, b: bytes; the one that is signed by `kASigned`.
template <bool kASigned>
HWY_INLINE VI dot(hn::Vec<hn::Repartition<uint8_t, DI>> a, hn::Vec<hn::Repartition<uint8_t, DI>> b, VI sum) {
  const hn::Repartition<int8_t, DI> ds;
  return kASigned ? hn::SumOfMulQuadAccumulate(DI(), b, hn::BitCast(ds, a), sum)
                  : hn::SumOfMulQuadAccumulate(DI(), a, hn::BitCast(ds, b), sum);
}

// Columns [n, n + columns) of B, k from k0. `sums`: of the columns of b', by lane, or null.
template <int kVectors, bool kASigned>
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
      for (int v = 0; v < kVectors; ++v) total[v] = dot<kASigned>(ones, hn::Load(all, panel + v * 64), total[v]);
    }
  }
  if (sums == nullptr) return;
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::Store(total[v], DI(), sums + v * 16);
}

// Sum of a row of A.
template <bool kASigned>
HWY_INLINE int32_t sum_of_row(const uint8_t* a, int64_t k) {
  const hn::Repartition<uint8_t, DI> d;
  const auto ones = hn::Set(d, uint8_t{1});
  VI sum = hn::Zero(DI());
  int64_t i = 0;
  for (; i + 64 <= k; i += 64) sum = dot<kASigned>(hn::LoadU(d, a + i), ones, sum);
  if (i < k) sum = dot<kASigned>(hn::LoadN(d, a + i, static_cast<size_t>(k - i)), ones, sum);
  return hn::ReduceSum(DI(), sum);
}

struct QuadTile {
  const uint8_t* a;
  int64_t a_row;
  int64_t k;
  const uint8_t* b;
  const int32_t* row_start;   // one a row
  const int32_t* lane_start;  // by lane, or null
  const int32_t* before;      // instead of row_start: by row and lane, or null
  int32_t* sums;              // where sums go, by row and lane; null: `c` or `finish` take them
  int32_t* c;                 // [rows, columns], or null
  int64_t c_row;
  const Finish* finish;
  const float* row_multiplier;   // one a row, or
  bool one_multiplier;           // one for all, or
  const float* lane_multiplier;  // by lane: not null
  int64_t columns;
  uint8_t* y;
  int64_t y_row;
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

template <int kRows, int kVectors, bool kASigned>
HWY_NOINLINE void quad_tile(const QuadTile& t) {
  const DI d;
  const hn::Repartition<uint8_t, DI> d8;
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
  const uint8_t* a = t.a;
  const uint8_t* b = t.b;
  const int64_t a_row = t.a_row;
  for (int64_t q = t.k / 4; q > 0; --q, a += 4, b += kVectors * 64) {
    hn::Vec<decltype(d8)> bv[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) bv[v] = hn::Load(d8, b + v * 64);
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      int32_t quad;
      memcpy(&quad, a + i * a_row, sizeof(quad));
      const auto av = hn::BitCast(d8, hn::Set(d, quad));
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = dot<kASigned>(av, bv[v], acc[i][v]);
    }
  }
  if (t.k % 4 != 0) {  // what a whole quad would read behind the row's end may belong to nobody
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      int32_t quad = 0;
      for (int64_t j = 0; j < t.k % 4; ++j) quad |= static_cast<int32_t>(uint32_t{a[i * a_row + j]} << (8 * j));
      const auto av = hn::BitCast(d8, hn::Set(d, quad));
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = dot<kASigned>(av, hn::Load(d8, b + v * 64), acc[i][v]);
    }
  }
  if (t.sums != nullptr) {
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], d, t.sums + (i * kVectors + v) * 16);
    }
    return;
  }
  if (t.c != nullptr) {
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      int32_t* const to = t.c + i * t.c_row;
      if constexpr (kVectors == 1) {
        hn::StoreN(acc[i][0], d, to, static_cast<size_t>(t.columns));
      } else {
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          put_block<0>(acc[i][v], 4 * v, t.columns, to);
          put_block<1>(acc[i][v], 16 + 4 * v, t.columns, to);
          put_block<2>(acc[i][v], 32 + 4 * v, t.columns, to);
          put_block<3>(acc[i][v], 48 + 4 * v, t.columns, to);
        }
      }
    }
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
    if constexpr (kVectors == 1) {
      finish.store(r[0], static_cast<size_t>(t.columns), to);
    } else {
      finish.store(finish.blocks(r[0], r[1], r[2], r[3]), static_cast<size_t>(t.columns), to);
    }
  }
}

// The largest tile for what rows are left: 24 of 32 registers for sums of 4 vectors, 12 for sums of 1 (2 ports x 5
// cycles of latency ask for 10).
template <int kVectors, bool kASigned>
HWY_INLINE int64_t next_tile(int64_t rows, void (**tile)(const QuadTile&)) {
  if constexpr (kVectors == 1) {
    *tile = rows >= 12 ? quad_tile<12, 1, kASigned> : rows >= 4 ? quad_tile<4, 1, kASigned> : quad_tile<1, 1, kASigned>;
    return rows >= 12 ? 12 : rows >= 4 ? 4 : 1;
  } else {
    *tile = rows >= 6   ? quad_tile<6, 4, kASigned>
            : rows >= 4 ? quad_tile<4, 4, kASigned>
            : rows >= 2 ? quad_tile<2, 4, kASigned>
                        : quad_tile<1, 4, kASigned>;
    return rows >= 6 ? 6 : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
  }
}

// Rows [m0, m1) of one panel of columns.
template <bool kASigned>
class QuadPanels {
 public:
  QuadPanels(const IntProduct& p, int64_t m0, int64_t m1, void* scratch)
      : p_(p),
        m0_(m0),
        m1_(m1),
        flip_(p.b_signed == kASigned ? 0x80 : 0),
        depth_(int_depth(p.k)),
        panel_(static_cast<uint8_t*>(scratch)),
        starts_(reinterpret_cast<int32_t*>(panel_ + depth_ * kIntPanel)),
        sums_(starts_ + p.m),
        finish_(p.finish != nullptr ? *p.finish : none_,
                p.finish == nullptr || products_in_range(p.finish->multiplier, multipliers_of(p))) {
    // b' - b: what the packing adds to each byte.
    const int32_t moved = flip_ == 0 ? 0 : p.b_signed ? 128 : -128;
    bool zero_rows = true;
    for (int64_t m = m0; m < m1; ++m) {
      const int64_t at = p.a_zero_per_row ? m : 0;
      zero_rows = zero_rows && zero_at(p.a_zero, p.a_signed, at) == 0;
      same_rows_ =
          same_rows_ && zero_at(p.a_zero, p.a_signed, at) == zero_at(p.a_zero, p.a_signed, p.a_zero_per_row ? m0 : 0);
      if (!p.a_zero_per_row) break;
    }
    a_zeros_ = !zero_rows;
    b_moved_ = moved;
    const bool uniform = !p.b_zero_per_column;
    const int32_t bz = uniform ? zero_at(p.b_zero, p.b_signed, 0) + moved : 0;
    for (int64_t m = m0; m < m1; ++m) {
      uint32_t start = 0;
      if (p.finish != nullptr && p.finish->bias != nullptr && !p.finish->bias_per_column)
        start = static_cast<uint32_t>(p.finish->bias[m]);
      if (bz != 0) start += static_cast<uint32_t>(bz) * rest(m);
      starts_[m - m0] = static_cast<int32_t>(start);
    }
  }

  // Columns [n, n + columns), at most kQuadColumns<kVectors>.
  template <int kVectors>
  void run(int64_t n, int64_t columns) {
    constexpr int64_t kColumns = kQuadColumns<kVectors>;
    HWY_ALIGN int32_t column_sums[kColumns];
    HWY_ALIGN int32_t lane_start[kColumns];
    HWY_ALIGN float lane_multiplier[kColumns];
    const bool by_column = p_.finish != nullptr && p_.finish->multiplier_per_column;
    const bool column_bias = p_.finish != nullptr && p_.finish->bias != nullptr && p_.finish->bias_per_column;
    // Zero points that differ along both sides: sums begin with products, made one by one.
    const bool products = p_.b_zero_per_column || (a_zeros_ && !same_rows_);
    for (int64_t c = 0; c < kColumns; ++c) {
      const int64_t lane = lane_of<kVectors>(c);
      if (by_column) lane_multiplier[lane] = c < columns ? p_.finish->multiplier[n + c] : 0;
    }
    for (int64_t k0 = 0; k0 == 0 || k0 < p_.k; k0 += depth_) {
      const int64_t kc = p_.k - k0 < depth_ ? p_.k - k0 : depth_;
      const bool last = k0 + kc == p_.k;
      pack_quads<kVectors, kASigned>(p_, k0, kc, n, columns, flip_, panel_, a_zeros_ ? column_sums : nullptr);
      const bool lanes = (column_bias && k0 == 0) || (a_zeros_ && !products);
      for (int64_t c = 0; lanes && c < kColumns; ++c) {
        uint32_t start = column_bias && k0 == 0 && c < columns ? static_cast<uint32_t>(p_.finish->bias[n + c]) : 0;
        const int64_t lane = lane_of<kVectors>(c);
        if (a_zeros_ && !products)
          start -= static_cast<uint32_t>(a_zero(m0_)) * static_cast<uint32_t>(column_sums[lane]);
        lane_start[lane] = static_cast<int32_t>(start);
      }
      QuadTile t{};
      t.a_row = p_.a_row;
      t.k = kc;
      t.b = panel_;
      t.lane_start = lanes ? lane_start : nullptr;
      t.finish = &finish_;
      t.one_multiplier = p_.finish != nullptr && !p_.finish->multiplier_per_row;
      t.lane_multiplier = by_column ? lane_multiplier : nullptr;
      t.columns = columns;
      t.c_row = t.y_row = p_.c_row;
      HWY_ALIGN int32_t begin[6 * 64];
      for (int64_t m = m0_; m < m1_;) {
        void (*tile)(const QuadTile&) = nullptr;
        const int64_t rows = next_tile<kVectors, kASigned>(m1_ - m, &tile);
        int32_t* const kept = sums_ + (m - m0_) * kIntPanel;
        t.a = static_cast<const uint8_t*>(p_.a) + m * p_.a_row + k0;
        t.row_start = starts_ + (m - m0_);
        t.before = k0 != 0 ? kept : nullptr;
        if (products) {
          start_products<kVectors>(n, columns, m, rows, k0, k0 != 0 ? kept : nullptr, column_sums, begin);
          t.before = begin;
        }
        t.sums = last ? nullptr : kept;
        if (p_.finish == nullptr) {
          t.c = static_cast<int32_t*>(p_.c) + m * p_.c_row + n;
        } else {
          t.y = static_cast<uint8_t*>(p_.c) + m * p_.c_row + n;
          t.row_multiplier = p_.finish->multiplier + (p_.finish->multiplier_per_row ? m : 0);
        }
        tile(t);
        m += rows;
      }
    }
  }

 private:
  int32_t a_zero(int64_t m) const { return zero_at(p_.a_zero, p_.a_signed, p_.a_zero_per_row ? m : 0); }
  // k az - sum a of row m, what a zero point of B is multiplied with.
  uint32_t rest(int64_t m) const {
    const int32_t sum = sum_of_row<kASigned>(static_cast<const uint8_t*>(p_.a) + m * p_.a_row, p_.k);
    return static_cast<uint32_t>(p_.k) * static_cast<uint32_t>(a_zero(m)) - static_cast<uint32_t>(sum);
  }
  template <int kVectors>
  void start_products(int64_t n, int64_t columns, int64_t m, int64_t rows, int64_t k0, const int32_t* kept,
                      const int32_t* column_sums, int32_t* begin) const {
    for (int64_t i = 0; i < rows; ++i) {
      const uint32_t az = static_cast<uint32_t>(a_zero(m + i)), of_row = k0 == 0 ? rest(m + i) : 0;
      for (int64_t c = 0; c < kQuadColumns<kVectors>; ++c) {
        const int64_t lane = lane_of<kVectors>(c), at = i * kQuadColumns<kVectors> + lane;
        uint32_t sum = static_cast<uint32_t>(kept != nullptr ? kept[at] : starts_[m - m0_ + i]);
        if (a_zeros_) sum -= az * static_cast<uint32_t>(column_sums[lane]);
        if (p_.b_zero_per_column && c < columns)
          sum += of_row * static_cast<uint32_t>(zero_at(p_.b_zero, p_.b_signed, n + c) + b_moved_);
        begin[at] = static_cast<int32_t>(sum);
      }
    }
  }

  const IntProduct& p_;
  int64_t m0_, m1_;
  uint8_t flip_;
  int64_t depth_;
  uint8_t* panel_;
  int32_t* starts_;
  int32_t* sums_;
  Requantize none_;
  Finish finish_;
  bool a_zeros_ = false, same_rows_ = true;
  int32_t b_moved_ = 0;
};

template <bool kASigned>
void product_of_quads_by_sign(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  QuadPanels<kASigned> panels(p, m0, m1, scratch);
  for (int64_t n = n0; n < n1;) {
    const int64_t left = n1 - n;
    if (left > 48) {
      const int64_t columns = left < 64 ? left : 64;
      panels.template run<4>(n, columns);
      n += columns;
    } else {
      const int64_t columns = left < 16 ? left : 16;
      panels.template run<1>(n, columns);
      n += columns;
    }
  }
}

// Rows [m0, m1) and columns [n0, n1). `scratch`: a panel of B, what each row's sums begin with, then sums where there
// is more than one block of k.
HWY_INLINE void product_of_quads(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  (p.a_signed ? product_of_quads_by_sign<true> : product_of_quads_by_sign<false>)(p, m0, m1, n0, n1, scratch);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#endif  // include guard per target
