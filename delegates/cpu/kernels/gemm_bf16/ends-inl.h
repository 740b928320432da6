// How sums begin and end where what is added, or the result, lies in bfloat16. Compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_ENDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_ENDS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_ENDS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_ENDS_INL_H_
#endif

#include <type_traits>

#include "delegates/cpu/kernels/gemm/sums-inl.h"
#include "delegates/cpu/kernels/gemm_bf16/product.h"
#include "delegates/cpu/kernels/gemm_bf16/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// A tile's sums that begin or end in bfloat16: in place of Sums' addend and c.
struct HalfSums : Sums {
  const uint16_t* half_addend;  // null: none
  int64_t half_addend_row;
  uint16_t* half_c;  // null: c
  int64_t half_c_row;
};

// Rows of `columns`, widened, zeros behind them up to `vectors`.
inline HWY_NOINLINE void widen_half_rows(const uint16_t* from, int64_t from_row, int64_t rows, int64_t columns,
                                         int64_t vectors, float* to) {
  for (int64_t i = 0; i < rows; ++i, from += from_row, to += vectors * kLanes) {
    for (int64_t v = 0; v < vectors; ++v) {
      const int64_t rest = columns - v * kLanes;
      const size_t count = static_cast<size_t>(rest < 0 ? 0 : rest < kLanes ? rest : kLanes);
      hn::Store(count == 0 ? hn::Zero(DF()) : widened(from + v * kLanes, count), DF(), to + v * kLanes);
    }
  }
}

// Only a core that bfloat16 makes faster adds whole rows of it in registers.
constexpr bool kAddsHalf = HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86;
template <int kTileRows, int kVectors>
HWY_INLINE void begin_half_sums(const HalfSums& t, VF (&acc)[kTileRows][kVectors]) {
  const uint16_t* from = t.half_addend;
  const float* addend = t.addend;
  int64_t addend_row = t.addend_row;
  HWY_ALIGN float wide[kTileRows * kVectors * kLanes];
  const bool whole = t.columns == kVectors * kLanes, in_registers = kAddsHalf && whole && from != nullptr;
  if (from != nullptr ? !in_registers : addend != nullptr && !whole) {
    if (from != nullptr) {
      widen_half_rows(from, t.half_addend_row, kTileRows, t.columns, kVectors, wide);
    } else {
      widen_rows<kVectors>(addend, addend_row, kTileRows, t.columns, wide);
    }
    addend = wide;
    addend_row = kVectors * kLanes;
  }
  begin_sums(t, addend, addend_row, acc);
  if (!in_registers) return;
  VIREO_UNROLL
  for (int i = 0; i < kTileRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::Add(acc[i][v], widened(from + v * kLanes));
    from += t.half_addend_row;
  }
}

// Up to kWidth neighbouring columns.
HWY_INLINE void store_half(VF low, VF high, int64_t columns, uint16_t* to) {
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
  const hn::Repartition<uint16_t, DF> du;
  const auto both = hn::BitCast(du, hn::OrderedDemote2To(hn::Repartition<hwy::bfloat16_t, DF>(), low, high));
  if (columns == kWidth) return hn::StoreU(both, du, to);
  hn::StoreN(both, du, to, static_cast<size_t>(columns));
#else
  const hn::Rebind<uint16_t, DF> half;
  hn::StoreN(narrowed(low), half, to, static_cast<size_t>(columns < kLanes ? columns : kLanes));
  if (columns > kLanes) hn::StoreN(narrowed(high), half, to + kLanes, static_cast<size_t>(columns - kLanes));
#endif
}
// No more than one vector of them.
HWY_INLINE void store_half(VF low, int64_t columns, uint16_t* to) {
  const hn::Rebind<uint16_t, DF> half;
  if (columns == kLanes) return hn::StoreU(narrowed(low), half, to);
  hn::StoreN(narrowed(low), half, to, static_cast<size_t>(columns));
}

// `rows` rows of sums, of any columns in so many vectors, through a slope to bfloat16.
inline HWY_NOINLINE void end_rows_of_half_sums(const HalfSums& t, const float* sums, int64_t rows, int64_t vectors) {
  const DF d;
  uint16_t* to = t.half_c;
  for (int64_t i = 0; i < rows; ++i, sums += vectors * kLanes, to += t.half_c_row) {
    VF low = hn::Load(d, sums), high = vectors == 2 ? hn::Load(d, sums + kLanes) : hn::Zero(d);
    if (t.slope != nullptr) {
      const VF slope = hn::Set(d, t.slope[i * t.slope_step]);
      low = times_below_zero(low, slope);
      high = times_below_zero(high, slope);
    }
    store_half(low, high, t.columns, to);
  }
}

template <int kTileRows, int kVectors>
HWY_INLINE void end_half_sums(const HalfSums& t, VF (&acc)[kTileRows][kVectors]) {
  uint16_t* to = t.half_c;
  clip_sums(t, acc);
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86  // one instruction rounds both vectors of a row
  if (to != nullptr && t.slope == nullptr && t.columns == kVectors * kLanes) {
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      if constexpr (kVectors == 2) {
        store_half(acc[i][0], acc[i][1], kWidth, to);
      } else {
        store_half(acc[i][0], kLanes, to);
      }
      to += t.half_c_row;
    }
    return;
  }
#endif
  const bool whole = to == nullptr && t.columns == kVectors * kLanes && t.slope == nullptr;
  HWY_ALIGN float sums[kTileRows * kVectors * kLanes];
  put_sums(acc, whole ? t.c : sums, whole ? t.c_row : kVectors * kLanes);
  if (whole) return;
  if (to == nullptr) return end_rows_of_sums<kVectors>(t, sums, kTileRows);
  end_rows_of_half_sums(t, sums, kTileRows, kVectors);
}

// What sums in memory go through, in registers, on their way to a C in bfloat16.
enum class Curve : uint8_t { kNone, kBounds, kSilu, kHardSwish };  // kNone: not in registers
struct HalfBounds : Bounds {
  Curve curve;
  float slope_of_silu;
};

// Rows of a panel that stand at `sum`, `sum_row` floats apart.
struct RowsOfSums {
  const float* sum;
  int64_t sum_row, rows;
  const float* col_bias;        // null or [columns]
  const float* addend;          // null or added: what was summed before, or the residual
  const uint16_t* half_addend;  // null or added
  int64_t addend_row;
  uint16_t* c;
  int64_t c_row;
};

template <Curve kCurve, class Addend>
HWY_INLINE void end_columns(const RowsOfSums& t, const HalfBounds& b, const Addend* addend, int64_t j,
                            int64_t columns) {
  const DF d;
  const size_t columns0 = static_cast<size_t>(columns < kLanes ? columns : kLanes);
  const size_t columns1 = static_cast<size_t>(columns < kLanes ? 0 : columns - kLanes);
  const VF lo = hn::Set(d, b.lo), hi = hn::Set(d, b.hi), slope = hn::Set(d, b.slope_of_silu);
  const auto load = [&](const auto* from, size_t count) HWY_ATTR {
    if constexpr (sizeof(*from) == sizeof(uint16_t)) {
      return count == static_cast<size_t>(kLanes) ? widened(from) : widened(from, count);
    } else {
      return count == static_cast<size_t>(kLanes) ? hn::LoadU(d, from) : hn::LoadN(d, from, count);
    }
  };
  const auto curved = [&](VF v) HWY_ATTR {
    if constexpr (kCurve == Curve::kBounds) return clip(d, v, lo, hi);
    if constexpr (kCurve == Curve::kSilu) return silu_for_bf16(d, v, slope);
    return hard_swish_f32(d, v);
  };
  VF bias0 = hn::Zero(d), bias1 = bias0;
  if (t.col_bias != nullptr) {
    bias0 = load(t.col_bias + j, columns0);
    if (columns1 != 0) bias1 = load(t.col_bias + j + kLanes, columns1);
  }
  const float* sum = t.sum + j;
  uint16_t* to = t.c + j;
  for (int64_t i = 0; i < t.rows; ++i, sum += t.sum_row, to += t.c_row) {
    VF v0 = bias0, v1 = bias1;
    if constexpr (!std::is_void_v<Addend>) {
      const Addend* const from = addend + i * t.addend_row + j;
      v0 = hn::Add(v0, load(from, columns0));
      if (columns1 != 0) v1 = hn::Add(v1, load(from + kLanes, columns1));
    }
    v0 = hn::Add(v0, hn::LoadU(d, sum));
    if (columns1 == 0) {
      store_half(curved(v0), columns, to);
      continue;
    }
    v1 = hn::Add(v1, hn::LoadU(d, sum + kLanes));
    store_half(curved(v0), curved(v1), columns, to);
  }
}
template <Curve kCurve, class Addend>
void end_rows_with(const RowsOfSums& t, const HalfBounds& b, const Addend* addend, int64_t columns) {
  int64_t j = 0;
  for (; j + kWidth <= columns; j += kWidth) end_columns<kCurve>(t, b, addend, j, kWidth);
  if (j < columns) end_columns<kCurve>(t, b, addend, j, columns - j);
}
template <Curve kCurve>
void end_rows_of(const RowsOfSums& t, const HalfBounds& b, int64_t columns) {
  if (t.half_addend != nullptr) return end_rows_with<kCurve>(t, b, t.half_addend, columns);
  if (t.addend != nullptr) return end_rows_with<kCurve>(t, b, t.addend, columns);
  end_rows_with<kCurve>(t, b, static_cast<const void*>(nullptr), columns);
}
inline void end_rows(const RowsOfSums& t, const HalfBounds& b, int64_t columns) {
  switch (b.curve) {
    case Curve::kNone:
      return;
    case Curve::kBounds:
      return end_rows_of<Curve::kBounds>(t, b, columns);
    case Curve::kSilu:
      return end_rows_of<Curve::kSilu>(t, b, columns);
    case Curve::kHardSwish:
      return end_rows_of<Curve::kHardSwish>(t, b, columns);
  }
}

// As gemm's, of a residual in bfloat16 too.
HalfBounds bounds_of(const Bf16Product& p) {
  const Epilogue& e = *p.epilogue;
  HalfBounds out{bounds_of(e), Curve::kNone, 0};
  if (p.residual != nullptr) {
    out.scaled = out.scaled || e.residual_scale != 1;
    out.rows = out.rows || out.scaled || e.residual_last || e.residual_times;
    if (out.rows) out.clip = out.slope = false;
  }
  const bool adds = p.residual != nullptr || e.residual != nullptr;
  if (!p.c_half || out.scaled || out.slope || e.row_bias != nullptr || e.row_slope != nullptr ||
      e.col_slope != nullptr || (adds && (e.residual_last || e.residual_times)))
    return out;
  if (e.act.kind == Activation::kSilu) {
    out.curve = Curve::kSilu;
    out.slope_of_silu = e.act.a;
  } else if (e.act.kind == Activation::kHardSwish) {
    out.curve = Curve::kHardSwish;
  } else if (!out.rows) {
    out.curve = Curve::kBounds;
  }
  return out;
}

// What a block of rows and columns begins and ends with, and where its float32 sums stand: in C, or in scratch that is
// the block's own where C is bfloat16.
class EndsOf {
 public:
  EndsOf(const Bf16Product& p, const HalfBounds& bounds, int64_t m0, int64_t n0, int64_t wide, float* scratch)
      : p_(p), bounds_(bounds), m0_(m0), n0_(n0), wide_(wide), scratch_(scratch) {}

  // The next block of k.
  void set_depth(bool first, bool last) {
    first_ = first;
    last_ = last;
  }
  void set_rows(int64_t m, HalfSums* t) const {
    of().set_rows(m, t);
    if (p_.c_half) t->c_row = wide_;
    t->half_addend_row = p_.epilogue->residual_stride;
    t->half_c_row = p_.c_row;
  }
  // The tile of row m and column n.
  void set_tile(int64_t m, int64_t n, HalfSums* t) const {
    const Epilogue& e = *p_.epilogue;
    t->half_addend = nullptr;
    t->half_c = nullptr;
    const bool begins = first_ && !bounds_.scaled;
    t->col_bias = begins && e.col_bias != nullptr ? e.col_bias + n : nullptr;
    t->c = p_.c_half ? scratch_ + (m - m0_) * wide_ + (n - n0_) : static_cast<float*>(p_.c) + m * p_.c_row + n;
    if (p_.c_half && last_ && !bounds_.rows) t->half_c = static_cast<uint16_t*>(p_.c) + m * p_.c_row + n;
    t->addend = nullptr;
    if (!first_) {
      t->addend = t->c;
      t->addend_row = p_.c_half ? wide_ : p_.c_row;
    } else if (begins && !e.residual_last && !e.residual_times) {
      if (p_.residual != nullptr) {
        t->half_addend = p_.residual + m * e.residual_stride + n;
      } else if (e.residual != nullptr) {
        t->addend = e.residual + m * e.residual_stride + n;
        t->addend_row = e.residual_stride;
      }
    }
  }
  // Whether end() takes sums that stand in memory. They are whole then: what they begin with is added there.
  bool ends() const { return last_ && bounds_.curve != Curve::kNone; }
  // Rows from m on, up to kBf16Columns columns from n on, in a `sum` with rows of a panel.
  void end(int64_t m, int64_t rows, int64_t n, int64_t columns, const float* sum) const {
    HalfSums begin{};
    set_rows(m, &begin);
    set_tile(m, n, &begin);
    const bool half = begin.half_addend != nullptr;
    end_rows(
        {sum, kBf16Columns, rows, begin.col_bias, begin.addend, begin.half_addend,
         half ? begin.half_addend_row : begin.addend_row, static_cast<uint16_t*>(p_.c) + m * p_.c_row + n, p_.c_row},
        bounds_, columns);
  }
  // Where C is bfloat16 a tile whose sums are not ready yet stands in `at`, in rows of a panel, and finish_tile does
  // the rest of them while they are in the first-level cache.
  void keep(float* at, HalfSums* t) const {
    if (!waits()) return;
    t->c = at;
    t->c_row = kBf16Columns;
    t->half_c = nullptr;
  }
  // A line of each row of a C in bfloat16, to be written: they come while the sums that they take are made.
  void ask_for(int64_t m, int64_t rows, int64_t n) const {
    if (!last_ || !p_.c_half) return;
    const auto* to = static_cast<const uint16_t*>(p_.c) + m * p_.c_row + n;
    for (int64_t i = 0; i < rows; ++i, to += p_.c_row) __builtin_prefetch(to, 1, 3);
  }
  // Rows up to kBf16RowGroup.
  void finish_tile(int64_t m, int64_t rows, int64_t n, int64_t columns, float* sums) const {
    if (!waits()) return;
    if (bounds_.curve != Curve::kNone) {
      auto* const to = static_cast<uint16_t*>(p_.c) + m * p_.c_row + n;
      return end_rows({sums, kBf16Columns, rows, nullptr, nullptr, nullptr, 0, to, p_.c_row}, bounds_, columns);
    }
    HWY_ALIGN float added[kBf16RowGroup * kBf16Columns];
    finish_at(m, rows, n, columns, sums, kBf16Columns, added, kBf16Columns);
    auto* to = static_cast<uint16_t*>(p_.c) + m * p_.c_row + n;
    for (int64_t i = 0; i < rows; ++i, to += p_.c_row) put_rounded(sums + i * kBf16Columns, columns, to);
  }
  // What tiles cannot do of a float32 C, over whole rows while they are in the cache.
  void finish(int64_t rows, int64_t nc) const {
    if (!last_ || !bounds_.rows || p_.c_half) return;
    if (p_.residual == nullptr) return of().finish(m0_, rows, n0_, nc);
    const int64_t room = bf16_sum_floats(p_.m, p_.n);
    float* const added = scratch_ + room;
    // Rows whose residual has room beside the sums.
    const int64_t most = room / nc > 1 ? room / nc : 1;
    for (int64_t r = 0; r < rows; r += most) {
      const int64_t count = rows - r < most ? rows - r : most, m = m0_ + r;
      finish_at(m, count, n0_, nc, static_cast<float*>(p_.c) + m * p_.c_row + n0_, p_.c_row, added, nc);
    }
  }

  // As float32's engines have it, where C is.
  SumsOf of() const {
    return {*p_.epilogue, bounds_, first_, last_, p_.c_half ? scratch_ : static_cast<float*>(p_.c), p_.c_row};
  }

 private:
  bool waits() const { return last_ && bounds_.rows && p_.c_half; }
  // Sums of rows from m and columns from n on, that stand at `sums`. `added`: room for a residual in bfloat16, widened.
  void finish_at(int64_t m, int64_t rows, int64_t n, int64_t columns, float* sums, int64_t row, float* added,
                 int64_t added_row) const {
    const Epilogue& e = *p_.epilogue;
    const float* residual = e.residual == nullptr ? nullptr : e.residual + m * e.residual_stride + n;
    int64_t residual_row = e.residual_stride;
    if (p_.residual != nullptr && (bounds_.scaled || e.residual_last || e.residual_times)) {
      const uint16_t* const from = p_.residual + m * e.residual_stride + n;
      for (int64_t i = 0; i < rows; ++i) put_rounded(from + i * e.residual_stride, columns, added + i * added_row);
      residual = added;
      residual_row = added_row;
    }
    of().finish(m, rows, n, columns, sums, row, residual, residual_row);
  }

  const Bf16Product& p_;
  const HalfBounds& bounds_;
  int64_t m0_, n0_, wide_;
  float* scratch_;
  bool first_ = true, last_ = true;
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
