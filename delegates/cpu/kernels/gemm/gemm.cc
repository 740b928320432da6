#include "delegates/cpu/kernels/gemm/gemm.h"

#include <string.h>

#include "delegates/cpu/kernels/gemm/engine.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/gemm/gemm.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// B is [K, N]: rows are read along their length, so that a row's pages are visited once.
void pack_rows(const void* context, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int64_t width, float* panels) {
  const DF d;
  const MatrixB& b = *static_cast<const MatrixB*>(context);
  for (int64_t p = 0; p < kc; ++p) {
    const float* from = b.data + (k0 + p) * b.stride + n0;
    float* to = panels + p * width;
    int64_t j = 0;
    for (; j + width <= nc; j += width, to += kc * width) {
      for (int64_t i = 0; i < width; i += kLanes) hn::StoreU(hn::LoadU(d, from + j + i), d, to + i);
    }
    if (j < nc) {
      for (int64_t i = 0; i < width; i += kLanes) {
        const int64_t rest = nc - j - i;
        const size_t lanes = static_cast<size_t>(rest < 0 ? 0 : rest < kLanes ? rest : kLanes);
        hn::StoreU(hn::LoadN(d, from + j + i, lanes), d, to + i);
      }
    }
  }
}

// B is [N, K]: 4 x 4 transposes inside 128-bit registers.
void pack_columns(const void* context, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int64_t width, float* panels) {
  const MatrixB& b = *static_cast<const MatrixB*>(context);
  for (int64_t j = 0; j < nc; j += width, panels += kc * width) {
    const int64_t columns = nc - j < width ? nc - j : width;
    const float* from = b.data + (n0 + j) * b.stride + k0;
    int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::FixedTag<float, 4> d4;
    for (; c + 4 <= columns; c += 4) {
      const float* r0 = from + c * b.stride;
      const float* r1 = r0 + b.stride;
      const float* r2 = r1 + b.stride;
      const float* r3 = r2 + b.stride;
      int64_t p = 0;
      float* to = panels + c;
      for (; p + 4 <= kc; p += 4, to += 4 * width) {
        const auto v0 = hn::LoadU(d4, r0 + p), v1 = hn::LoadU(d4, r1 + p);
        const auto v2 = hn::LoadU(d4, r2 + p), v3 = hn::LoadU(d4, r3 + p);
        const auto low01 = hn::InterleaveLower(d4, v0, v1), low23 = hn::InterleaveLower(d4, v2, v3);
        const auto high01 = hn::InterleaveUpper(d4, v0, v1), high23 = hn::InterleaveUpper(d4, v2, v3);
        hn::StoreU(hn::ConcatLowerLower(d4, low23, low01), d4, to);
        hn::StoreU(hn::ConcatUpperUpper(d4, low23, low01), d4, to + width);
        hn::StoreU(hn::ConcatLowerLower(d4, high23, high01), d4, to + 2 * width);
        hn::StoreU(hn::ConcatUpperUpper(d4, high23, high01), d4, to + 3 * width);
      }
      for (; p < kc; ++p, to += width) {
        to[0] = r0[p];
        to[1] = r1[p];
        to[2] = r2[p];
        to[3] = r3[p];
      }
    }
#endif
    for (; c < columns; ++c) {
      for (int64_t p = 0; p < kc; ++p) panels[p * width + c] = from[c * b.stride + p];
    }
    for (; c < width; ++c) {
      for (int64_t p = 0; p < kc; ++p) panels[p * width + c] = 0;
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// Sums over the blocks of 4 lanes: 4 lanes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> sum_of_blocks(D d, V v) {
  if constexpr (hn::MaxLanes(d) == 4) {
    return hn::ResizeBitCast(hn::FixedTag<float, 4>(), v);
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
// The sums of the lanes of four vectors, side by side: three steps for all in place of four steps for each.
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> four_sums(VF a, VF b, VF c, VF e) {
  const DF d;
  const hn::Repartition<uint64_t, DF> d64;
  const auto ab = hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  const VF low = hn::BitCast(d, hn::InterleaveLower(d64, ab, ce));
  const VF high = hn::BitCast(d, hn::InterleaveUpper(d64, ab, ce));
  return sum_of_blocks(d, hn::Add(low, high));
}
// To where they belong.
HWY_INLINE void put_four_sums(VF a, VF b, VF c, VF e, float* to) {
  hn::StoreU(four_sums(a, b, c, e), hn::FixedTag<float, 4>(), to);
}
#else
HWY_INLINE void put_four_sums(VF a, VF b, VF c, VF e, float* to) {
  to[0] = hn::GetLane(a);
  to[1] = hn::GetLane(b);
  to[2] = hn::GetLane(c);
  to[3] = hn::GetLane(e);
}
#endif

// kRows x kColumns dot products of rows that are contiguous in k.
template <int kRows, int kColumns>
HWY_INLINE void dots(int64_t k, const float* a, int64_t a_row, const float* b, int64_t b_row, float* c, int64_t c_row) {
  const DF d;
  VF acc[kRows][kColumns];
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    VIREO_UNROLL
    for (int j = 0; j < kColumns; ++j) acc[i][j] = hn::Zero(d);
  }
  int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
    VF bv[kColumns];
    VIREO_UNROLL
    for (int j = 0; j < kColumns; ++j) bv[j] = hn::LoadU(d, b + j * b_row + p);
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const VF av = hn::LoadU(d, a + i * a_row + p);
      VIREO_UNROLL
      for (int j = 0; j < kColumns; ++j) acc[i][j] = hn::MulAdd(av, bv[j], acc[i][j]);
    }
  }
  if (p < k) {
    const size_t rest = static_cast<size_t>(k - p);
    VF bv[kColumns];
    VIREO_UNROLL
    for (int j = 0; j < kColumns; ++j) bv[j] = hn::LoadN(d, b + j * b_row + p, rest);
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const VF av = hn::LoadN(d, a + i * a_row + p, rest);
      VIREO_UNROLL
      for (int j = 0; j < kColumns; ++j) acc[i][j] = hn::MulAdd(av, bv[j], acc[i][j]);
    }
  }
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    if constexpr (kColumns == 4) {
      put_four_sums(acc[i][0], acc[i][1], acc[i][2], acc[i][3], c + i * c_row);
    } else {
      VIREO_UNROLL
      for (int j = 0; j < kColumns; ++j) c[i * c_row + j] = sum_lanes(d, acc[i][j]);
    }
  }
}

template <int kRows>
HWY_NOINLINE void dot_rows(int64_t n, int64_t k, const float* a, int64_t a_row, const float* b, int64_t b_row, float* c,
                           int64_t c_row) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) dots<kRows, 4>(k, a, a_row, b + j * b_row, b_row, c + j, c_row);
  for (; j < n; ++j) dots<kRows, 1>(k, a, a_row, b + j * b_row, b_row, c + j, c_row);
}

void dot_product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, const float* b, int64_t b_row,
                 float* c, int64_t c_row) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) dot_rows<4>(n, k, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row);
  for (; i < m; ++i) dot_rows<1>(n, k, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row);
}

// c[n] = sum_k a[k] B[k, n]: eight rows of B at a time run through the cache as eight streams; c stays in the first
// level.
void row_times_matrix(int64_t n, int64_t k, const float* a, int64_t a_step, const float* b, int64_t b_row, float* c) {
  const DF d;
  constexpr int kStreams = 8;
  constexpr int64_t kBlock = 2048;  // floats of c in flight
  for (int64_t j0 = 0; j0 < n; j0 += kBlock) {
    const int64_t columns = n - j0 < kBlock ? n - j0 : kBlock;
    float* const to = c + j0;
    for (int64_t p = 0; p == 0 || p < k; p += kStreams) {
      const int64_t rows = k - p < kStreams ? k - p : kStreams;
      VF av[kStreams];
      const float* from[kStreams];
      VIREO_UNROLL
      for (int i = 0; i < kStreams; ++i) {
        const int64_t row = i < rows ? p + i : p;  // a missing row is row p with weight 0
        av[i] = i < rows ? hn::Set(d, a[row * a_step]) : hn::Zero(d);
        from[i] = b + (rows > 0 ? row * b_row : 0) + j0;
      }
      if (rows < kStreams) {  // 0 times infinity is not 0, so the short end goes row by row
        for (int64_t j = 0; j < columns; j += kLanes) {
          const size_t lanes = static_cast<size_t>(columns - j < kLanes ? columns - j : kLanes);
          VF sum = p == 0 ? hn::Zero(d) : hn::LoadN(d, to + j, lanes);
          for (int64_t i = 0; i < rows; ++i)
            sum = hn::MulAdd(hn::Set(d, a[(p + i) * a_step]), hn::LoadN(d, b + (p + i) * b_row + j0 + j, lanes), sum);
          hn::StoreN(sum, d, to + j, lanes);
        }
        continue;
      }
      int64_t j = 0;
      for (; j + kLanes <= columns; j += kLanes) {
        VF even = p == 0 ? hn::Zero(d) : hn::LoadU(d, to + j);
        VF odd = hn::Zero(d);
        VIREO_UNROLL
        for (int i = 0; i < kStreams; i += 2) {
          even = hn::MulAdd(av[i], hn::LoadU(d, from[i] + j), even);
          odd = hn::MulAdd(av[i + 1], hn::LoadU(d, from[i + 1] + j), odd);
        }
        hn::StoreU(hn::Add(even, odd), d, to + j);
      }
      if (j < columns) {
        const size_t lanes = static_cast<size_t>(columns - j);
        VF sum = p == 0 ? hn::Zero(d) : hn::LoadN(d, to + j, lanes);
        VIREO_UNROLL
        for (int i = 0; i < kStreams; ++i) sum = hn::MulAdd(av[i], hn::LoadN(d, from[i] + j, lanes), sum);
        hn::StoreN(sum, d, to + j, lanes);
      }
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(pack_rows);
HWY_EXPORT(pack_columns);
HWY_EXPORT(dot_product);
HWY_EXPORT(row_times_matrix);

PackPanels pack_matrix_rows() { return HWY_DYNAMIC_POINTER(pack_rows); }
PackPanels pack_matrix_columns() { return HWY_DYNAMIC_POINTER(pack_columns); }

namespace {

// A panel of 2 vectors is mostly padding for few columns, and an [N, K] matrix is packed for few rows only to be used
// once: there dot products along k win. A single row times [K, N] streams B through once.
enum class Route { kPanels, kDots, kRowTimesMatrix };
constexpr int64_t kFewColumns = 8, kFewRows = 4;
// From here on panels that are there already win: weights come as one stream.
constexpr int64_t kLeastColumns = 16;
// One row meets each weight once. Panels that lie in a core's own cache are read twice as fast as rows of [N, K], whose
// ends meet no line's; what comes from memory comes no faster, and a row of [K, N] is a stream as it lies.
constexpr int64_t kOneRowFloats = 256 * 1024;
bool packs(const GemmF32& s) {
  return s.batch == 1 && s.n >= kLeastColumns && (s.m >= 2 || (s.m == 1 && s.trans_b && s.n * s.k <= kOneRowFloats));
}

Route route_of(const GemmF32& s) {
  const bool a_along_k = !s.trans_a || (s.m == 1 && s.lda == 1);
  if (a_along_k && s.trans_b && (s.m <= kFewRows || s.n <= kFewColumns)) return Route::kDots;
  if (a_along_k && !s.trans_b && s.n <= kFewColumns && s.m >= kFewColumns) return Route::kDots;
  if (s.m == 1 && !s.trans_b) return Route::kRowTimesMatrix;
  return Route::kPanels;
}

int64_t padded_k(int64_t k) { return (k + 15) / 16 * 16; }

size_t item_scratch_bytes(const GemmF32& s, int32_t slots) {
  switch (route_of(s)) {
    case Route::kDots:
      return s.trans_b || (s.n == 1 && s.ldb == 1) ? 0 : static_cast<size_t>(s.n * padded_k(s.k)) * sizeof(float);
    case Route::kRowTimesMatrix:
      return 0;
    case Route::kPanels:
      return plan_product(s.m, s.n, s.k, !s.trans_b, slots).bytes;
  }
  return 0;
}

Product product_of(const GemmF32& s, const Epilogue& e, const float* a, const MatrixB& b) {
  Product p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = a;
  p.a_row = s.trans_a ? 1 : s.lda;
  p.a_col = s.trans_a ? s.lda : 1;
  p.b.pack = s.trans_b ? pack_matrix_columns() : pack_matrix_rows();
  p.b.context = &b;
  p.b.rows = s.trans_b ? nullptr : b.data;
  p.b.row_stride = s.ldb;
  p.c = nullptr;
  p.c_row = s.ldc;
  p.epilogue = &e;
  return p;
}

void item_dots(const GemmF32& s, const Epilogue& e, const float* a, const float* b, float* c, const Parallel& parallel,
               void* scratch) {
  const auto dot = HWY_DYNAMIC_POINTER(dot_product);
  const float* rows = b;
  int64_t stride = s.ldb;
  if (!s.trans_b) {
    if (s.n == 1 && s.ldb == 1) {
      stride = s.k;
    } else {
      float* const copy = static_cast<float*>(scratch);
      stride = padded_k(s.k);
      for (int64_t p = 0; p < s.k; ++p) {
        for (int64_t j = 0; j < s.n; ++j) copy[j * stride + p] = b[p * s.ldb + j];
      }
      rows = copy;
    }
  }
  const int64_t a_row = s.trans_a ? s.k : s.lda;  // trans_a comes here with one row only
  constexpr int64_t kGrainMacs = 1 << 17;         // bound by memory: 10 us
  if (s.m <= kFewRows) {
    // Columns go in fours; what is left over adds up in another order, so that nobody cuts between.
    parallel.for_range((s.n + 3) / 4, 1 + kGrainMacs / (4 * s.m * s.k + 1), [&](int64_t begin, int64_t end, int32_t) {
      const int64_t n0 = 4 * begin, n1 = 4 * end < s.n ? 4 * end : s.n;
      dot(s.m, n1 - n0, s.k, a, a_row, rows + n0 * stride, stride, c + n0, s.ldc);
      finish_rows_of(e, 0, s.m, n0, n1, c, s.ldc);
    });
  } else {
    parallel.for_range(s.m, 1 + kGrainMacs / (s.n * s.k + 1), [&](int64_t begin, int64_t end, int32_t) {
      dot(end - begin, s.n, s.k, a + begin * a_row, a_row, rows, stride, c + begin * s.ldc, s.ldc);
      finish_rows_of(e, begin, end, 0, s.n, c, s.ldc);
    });
  }
}

void item(const GemmF32& s, const Epilogue& e, const float* a, const float* b, float* c, const Parallel& parallel,
          void* scratch) {
  switch (route_of(s)) {
    case Route::kDots:
      return item_dots(s, e, a, b, c, parallel, scratch);
    case Route::kRowTimesMatrix: {
      const auto kernel = HWY_DYNAMIC_POINTER(row_times_matrix);
      const int64_t a_step = s.trans_a ? s.lda : 1;
      const int64_t strips = (s.n + 63) / 64;
      parallel.for_range(strips, 1 + (1 << 17) / (64 * s.k + 1), [&](int64_t begin, int64_t end, int32_t) {
        const int64_t n0 = begin * 64, n1 = end * 64 < s.n ? end * 64 : s.n;
        kernel(n1 - n0, s.k, a, a_step, b + n0, s.ldb, c + n0);
        finish_rows_of(e, 0, 1, n0, n1, c, s.ldc);
      });
      return;
    }
    case Route::kPanels: {
      const MatrixB matrix{b, s.ldb};
      Product p = product_of(s, e, a, matrix);
      p.c = c;
      run_product(p, plan_product(s.m, s.n, s.k, !s.trans_b, parallel.slots), parallel, scratch);
      return;
    }
  }
}

// Where item i of A and B begins.
void sides_of_item(const GemmF32& s, int64_t i, int64_t* a, int64_t* b) {
  if (s.batch_dims == nullptr) {
    *a = i * s.a_step;
    *b = i * s.b_step;
    return;
  }
  *a = *b = 0;
  for (const BatchDim* d = s.batch_dims; i > 0; i /= d->extent, ++d) {
    *a += i % d->extent * d->a_step;
    *b += i % d->extent * d->b_step;
  }
}

bool spreads_over_batch(const GemmF32& s, int32_t slots) { return s.batch > 1 && s.batch >= slots; }

}  // namespace

int64_t gemm_f32_packed_floats(const GemmF32& s) { return packs(s) ? packed_floats(s.n, s.k) : 0; }

void pack_gemm_f32(const GemmF32& s, const float* b, const Parallel& parallel, float* packed) {
  pack_product(product_of(s, s.epilogue, nullptr, {b, s.ldb}), parallel, packed);
}

size_t gemm_f32_scratch_bytes(const GemmF32& s, int32_t slots, Sizes sizes) {
  if (s.m <= 0 || s.n <= 0 || s.batch <= 0) return 0;
  if (sizes == Sizes::kUpperBounds) {
    // Any route may be taken; batches of at least `slots` keep a part per slot, as columns within an item do.
    const size_t dots = static_cast<size_t>((s.n < kFewColumns ? s.n : kFewColumns) * padded_k(s.k)) * sizeof(float);
    const size_t panels = product_scratch_bound(s.m, s.n, s.k, slots);
    const size_t spread = s.batch == 1 || slots <= 1 ? dots : dots * static_cast<size_t>(slots);
    return (spread > panels ? spread : panels) + (s.batch == 1 ? 0 : 64 * static_cast<size_t>(slots < 1 ? 1 : slots));
  }
  if (!spreads_over_batch(s, slots)) return item_scratch_bytes(s, slots);
  return ((item_scratch_bytes(s, 1) + 63) & ~size_t{63}) * static_cast<size_t>(slots);
}

void gemm_f32(const GemmF32& s, const float* a, const float* b, float* c, const Parallel& parallel, void* scratch) {
  if (s.m <= 0 || s.n <= 0 || s.batch <= 0) return;
  if (s.packed != nullptr) {
    Product p = product_of(s, s.epilogue, a, {});
    p.c = c;
    run_packed(p, s.packed, parallel);
    return;
  }
  const auto one = [&](int64_t i, const Parallel& spread, void* room) {
    Epilogue e = s.epilogue;
    if (e.residual != nullptr) e.residual += i * s.residual_step;
    int64_t from_a, from_b;
    sides_of_item(s, i, &from_a, &from_b);
    item(s, e, a + from_a, b + from_b, c + i * s.c_step, spread, room);
  };
  if (!spreads_over_batch(s, parallel.slots)) {
    for (int64_t i = 0; i < s.batch; ++i) one(i, parallel, scratch);
    return;
  }
  const size_t room = (item_scratch_bytes(s, 1) + 63) & ~size_t{63};
  const int64_t grain = 1 + (1 << 18) / (s.m * s.n * s.k + 1);
  parallel.for_range(s.batch, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    void* const mine = static_cast<char*>(scratch) + static_cast<size_t>(slot) * room;
    for (int64_t i = begin; i < end; ++i) one(i, Parallel{}, mine);
  });
}

}  // namespace vireo::cpu
#endif
