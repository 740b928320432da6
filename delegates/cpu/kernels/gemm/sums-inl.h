// Sums of a matrix product between their start and their end, and how rows are cut: what the engines share, whatever
// they multiply. Compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_GEMM_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_GEMM_SUMS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_GEMM_SUMS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_SUMS_INL_H_
#endif

#include "delegates/cpu/kernels/gemm/gemm.h"
#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// Register tile: kRows x 2 vectors of C. With 32 registers, 28 sums + 2 of B + 1 broadcast of A leave one spare and
// give 28 independent chains where 8 cover the latency of two FMA ports; with 16 registers 6 rows are what fits.
#if VIREO_32_REGISTERS
constexpr int kRows = 14;
#else
constexpr int kRows = 6;
#endif
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int64_t kWidth = 2 * kLanes;

// A register tile's sums: where they go, and what they begin and end with.
struct Sums {
  float* c;
  int64_t c_row;
  int64_t columns;        // valid ones, 1 .. kWidth
  const float* row_bias;  // null or [rows]
  const float* col_bias;  // null or [columns]
  const float* addend;    // null or added to the sums: the residual, or C itself from the block of k before
  int64_t addend_row;
  const float* slope;  // null or a factor for what is below 0: of row i at i * slope_step
  int64_t slope_step;
  bool clip;
  float lo, hi;
};

// What whole tiles do in registers is unrolled. The rest goes through a tile's sums in memory, in functions for tiles
// of every height: unrolled it would be more code than all that multiplies.

HWY_INLINE VF times_below_zero(VF v, VF slope) { return hn::MaskedMulOr(v, hn::Lt(v, hn::Zero(DF())), v, slope); }

// Rows of `columns`, zeros behind them up to vectors of a tile's row.
template <int kVectors>
HWY_NOINLINE void widen_rows(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to) {
  const DF d;
  for (int64_t i = 0; i < rows; ++i, from += from_row, to += kVectors * kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t rest = columns - v * kLanes;
      const size_t count = static_cast<size_t>(rest < 0 ? 0 : rest < kLanes ? rest : kLanes);
      hn::Store(count == 0 ? hn::Zero(d) : hn::LoadN(d, from + v * kLanes, count), d, to + v * kLanes);
    }
  }
}

// `rows` rows of sums, of any columns, through a slope to where they go.
template <int kVectors>
HWY_NOINLINE void end_rows_of_sums(const Sums& t, const float* sums, int64_t rows) {
  const DF d;
  for (int64_t i = 0; i < rows; ++i, sums += kVectors * kLanes) {
    for (int64_t v = 0; v * kLanes < t.columns; ++v) {
      const int64_t rest = t.columns - v * kLanes;
      VF sum = hn::Load(d, sums + v * kLanes);
      if (t.slope != nullptr) sum = times_below_zero(sum, hn::Set(d, t.slope[i * t.slope_step]));
      float* const to = t.c + i * t.c_row + v * kLanes;
      rest < kLanes ? hn::StoreN(sum, d, to, static_cast<size_t>(rest)) : hn::StoreU(sum, d, to);
    }
  }
}

// They start from bias and addend, so that only slope and bounds are left to do at the end. kVectors: 2, or 1 where no
// more columns are valid than one vector has. `addend`: null, or whole rows of vectors.
template <int kTileRows, int kVectors>
HWY_INLINE void begin_sums(const Sums& t, const float* addend, int64_t addend_row, VF (&acc)[kTileRows][kVectors]) {
  const DF d;
  const size_t columns0 = static_cast<size_t>(t.columns < kLanes ? t.columns : kLanes);
  const size_t columns1 = static_cast<size_t>(t.columns < kLanes ? 0 : t.columns - kLanes);
  VF start[kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) start[v] = hn::Zero(d);
  if (t.col_bias != nullptr) {
    start[0] = hn::LoadN(d, t.col_bias, columns0);
    if constexpr (kVectors == 2) start[1] = columns1 == 0 ? start[1] : hn::LoadN(d, t.col_bias + kLanes, columns1);
  }
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[i][v] = start[v];
  }
  if (t.row_bias != nullptr) {
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      const VF bias = hn::Set(d, t.row_bias[i]);
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Add(acc[i][v], bias);
    }
  }
  if (addend != nullptr) {
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Add(acc[i][v], hn::LoadU(d, addend + v * kLanes));
      addend += addend_row;
    }
  }
}
template <int kTileRows, int kVectors>
HWY_INLINE void begin_sums(const Sums& t, VF (&acc)[kTileRows][kVectors]) {
  const float* addend = t.addend;
  int64_t addend_row = t.addend_row;
  HWY_ALIGN float wide[kTileRows * kVectors * kLanes];
  if (addend != nullptr && t.columns != kVectors * kLanes) {
    widen_rows<kVectors>(addend, addend_row, kTileRows, t.columns, wide);
    addend = wide;
    addend_row = kVectors * kLanes;
  }
  begin_sums(t, addend, addend_row, acc);
}

// Of bounds and a slope a tile has one at most (bounds_of).
template <int kTileRows, int kVectors>
HWY_INLINE void clip_sums(const Sums& t, VF (&acc)[kTileRows][kVectors]) {
  if (!t.clip) return;
  const DF d;
  const VF lo = hn::Set(d, t.lo), hi = hn::Set(d, t.hi);
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[i][v] = clip(d, acc[i][v], lo, hi);
  }
}

template <int kTileRows, int kVectors>
HWY_INLINE void put_sums(const VF (&acc)[kTileRows][kVectors], float* to, int64_t to_row) {
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], DF(), to + v * kLanes);
    to += to_row;
  }
}

template <int kTileRows, int kVectors>
HWY_INLINE void end_sums(const Sums& t, VF (&acc)[kTileRows][kVectors]) {
  clip_sums(t, acc);
  const bool whole = t.columns == kVectors * kLanes && t.slope == nullptr;
  HWY_ALIGN float sums[kTileRows * kVectors * kLanes];
  put_sums(acc, whole ? t.c : sums, whole ? t.c_row : kVectors * kLanes);
  if (!whole) end_rows_of_sums<kVectors>(t, sums, kTileRows);
}

// Rows go out in blocks of nearly equal height: 16 rows are 8 + 8, not 14 + 2, which would starve the FMA ports.
struct RowBlocks {
  int64_t count, low, extra;  // the first `extra` blocks have one row more than `low`
  explicit RowBlocks(int64_t m) : count((m + kRows - 1) / kRows), low(m / count), extra(m % count) {}
  int64_t begin(int64_t block) const { return block * low + (block < extra ? block : extra); }
};

struct Bounds {
  bool clip;
  bool slope;   // x < 0 ? slope x : x
  bool rows;    // a pass over whole rows follows: other activations, scales, what comes behind the activation
  bool scaled;  // bias and residual wait for it, because the sums are scaled first
  float lo, hi;
};
inline Bounds bounds_of(const Epilogue& e) {
  Bounds out{false, false, false, false, -HUGE_VALF, HUGE_VALF};
  out.scaled = e.alpha != 1 || (e.residual != nullptr && e.residual_scale != 1);
  out.rows = out.scaled || (e.residual != nullptr && (e.residual_last || e.residual_times));
  const bool one = e.col_slope == nullptr;  // for all columns
  if (one && (e.row_slope != nullptr || e.act.kind == Activation::kLeakyRelu)) {
    out.slope = true;
  } else if (one && e.act.kind == Activation::kRelu) {
    out.clip = true;
    out.lo = 0;
  } else if (one && e.act.kind == Activation::kClip) {
    out.clip = true;
    out.lo = e.act.a;
    out.hi = e.act.b;
  } else if (!one || e.act.kind != Activation::kNone) {
    out.rows = true;
  }
  if (out.rows) out.clip = out.slope = false;
  return out;
}

// What a block of rows begins and ends with: set once for its rows, then for each of its tiles.
struct SumsOf {
  const Epilogue& e;
  const Bounds& bounds;
  bool first, last;  // block of k
  float* c;          // of the whole product
  int64_t c_row;

  void set_rows(int64_t m0, Sums* t) const {
    t->c_row = c_row;
    t->clip = last && bounds.clip;
    t->lo = bounds.lo;
    t->hi = bounds.hi;
    t->slope = !last || !bounds.slope ? nullptr : e.row_slope != nullptr ? e.row_slope + m0 : &e.act.a;
    t->slope_step = e.row_slope != nullptr ? 1 : 0;
    t->row_bias = first && !bounds.scaled && e.row_bias != nullptr ? e.row_bias + m0 : nullptr;
  }
  // The tile of row m0 and column n.
  void set_tile(int64_t m0, int64_t n, Sums* t) const {
    t->c = c + m0 * c_row + n;
    t->col_bias = first && !bounds.scaled && e.col_bias != nullptr ? e.col_bias + n : nullptr;
    if (!first) {
      t->addend = t->c;
      t->addend_row = c_row;
    } else if (e.residual != nullptr && !bounds.scaled && !e.residual_last && !e.residual_times) {
      t->addend = e.residual + m0 * e.residual_stride + n;
      t->addend_row = e.residual_stride;
    } else {
      t->addend = nullptr;
    }
  }
  // What tiles cannot do, over whole rows while they are in the cache.
  void finish(int64_t m0, int64_t rows, int64_t n0, int64_t nc) const {
    if (!last || !bounds.rows) return;
    const float* const residual = e.residual == nullptr ? nullptr : e.residual + m0 * e.residual_stride + n0;
    finish(m0, rows, n0, nc, c + m0 * c_row + n0, c_row, residual, e.residual_stride);
  }
  // The same of rows that stand at `to`, with the residual's rows at `residual`.
  void finish(int64_t m0, int64_t rows, int64_t n0, int64_t nc, float* to, int64_t to_row, const float* residual,
              int64_t residual_row) const {
    // One call for the block, unless its rows differ in more than what is added to them.
    const bool alike = e.row_slope == nullptr && (!bounds.scaled || e.row_bias == nullptr);
    const int64_t each = alike ? rows : 1;
    for (int64_t r = 0; r < rows; r += each) {
      const int64_t i = m0 + r;
      RowFinish finish;
      if (bounds.scaled) {
        finish.scale = e.alpha;
        finish.row_bias = e.row_bias != nullptr ? e.row_bias[i] : 0;
        finish.col_bias = e.col_bias != nullptr ? e.col_bias + n0 : nullptr;
        finish.residual_scale = e.residual_scale;
      }
      if (residual != nullptr && (bounds.scaled || e.residual_last || e.residual_times))
        e.put_residual(residual + r * residual_row, &finish);
      finish.f = activation_of_row(e.act, e.row_slope != nullptr ? e.row_slope + i : nullptr);
      finish.slope = e.col_slope != nullptr ? e.col_slope + n0 : nullptr;
      finish_rows_f32(to + r * to_row, to_row, each, nc, finish, residual_row);
    }
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
