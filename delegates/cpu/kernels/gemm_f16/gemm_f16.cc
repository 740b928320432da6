#include "delegates/cpu/kernels/gemm_f16/gemm_f16.h"

#include <string.h>

#include "delegates/cpu/kernels/gemm/engine.h"
#include "delegates/cpu/kernels/half/half.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/gemm_f16/gemm_f16.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/half/half-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_F16_ROWS_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_F16_ROWS_
namespace vireo::cpu {
namespace {
// With no more rows than that B is read once, in one stream, and that is what takes the time.
constexpr int64_t kFewRows = 4;
// Elements to fetch ahead, over the end of a page, where the stream of a prefetcher stops.
constexpr int64_t kAhead = 64 * 32;
}  // namespace
}  // namespace vireo::cpu
#endif  // once

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int64_t kWidth = 2 * kLanes < kPanelColumns ? 2 * kLanes : kPanelColumns;

// sum[r][0 .. kWidth) += sum over `count` k of a[r][k] B[k], for one part of a panel.
template <int kRows>
HWY_INLINE void add_rows(const uint16_t* b, int64_t count, const float* a, int64_t lda, float* sum) {
  // Few sums would wait for each other: they go in several chains.
  constexpr int kChains = kRows == 1 ? 4 : kRows == 2 ? 2 : 1;
  const DF d;
  VF acc[kRows][kChains][2];
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int c = 0; c < kChains; ++c) acc[r][c][0] = acc[r][c][1] = hn::Zero(d);
  }
  for (; count >= kChains; count -= kChains, a += kChains) {
    VIREO_UNROLL
    for (int c = 0; c < kChains; ++c, b += kPanelColumns) {
      __builtin_prefetch(b + kAhead);
      const VF b0 = load_half(d, b), b1 = load_half(d, b + kLanes);
      VIREO_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const VF x = hn::Set(d, a[r * lda + c]);
        acc[r][c][0] = hn::MulAdd(x, b0, acc[r][c][0]);
        acc[r][c][1] = hn::MulAdd(x, b1, acc[r][c][1]);
      }
    }
  }
  for (; count > 0; --count, ++a, b += kPanelColumns) {
    const VF b0 = load_half(d, b), b1 = load_half(d, b + kLanes);
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const VF x = hn::Set(d, a[r * lda]);
      acc[r][0][0] = hn::MulAdd(x, b0, acc[r][0][0]);
      acc[r][0][1] = hn::MulAdd(x, b1, acc[r][0][1]);
    }
  }
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int c = 1; c < kChains; ++c) {
      acc[r][0][0] = hn::Add(acc[r][0][0], acc[r][c][0]);
      acc[r][0][1] = hn::Add(acc[r][0][1], acc[r][c][1]);
    }
    float* const to = sum + r * kPanelColumns;
    hn::StoreU(hn::Add(acc[r][0][0], hn::LoadU(d, to)), d, to);
    hn::StoreU(hn::Add(acc[r][0][1], hn::LoadU(d, to + kLanes)), d, to + kLanes);
  }
}

// Panels [panel0, panel1) of `n` columns in all; c is at column 0.
template <int kRows>
void few_rows_of(const uint16_t* packed, int64_t n, int64_t k, int64_t panel0, int64_t panel1, const float* a,
                 int64_t lda, float* c, int64_t ldc) {
  // Of k at a time: 16 KiB of a panel, which narrow vectors go through once for each part of its width.
  constexpr int64_t kDepth = 256;
  HWY_ALIGN float sum[kFewRows * kPanelColumns];
  for (int64_t panel = panel0; panel < panel1; ++panel) {
    memset(sum, 0, sizeof(sum));
    for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
      const int64_t count = k - k0 < kDepth ? k - k0 : kDepth;
      const uint16_t* const part = packed + (panel * k + k0) * kPanelColumns;
      for (int64_t j = 0; j < kPanelColumns; j += kWidth) add_rows<kRows>(part + j, count, a + k0, lda, sum + j);
    }
    const int64_t n0 = panel * kPanelColumns, columns = n - n0 < kPanelColumns ? n - n0 : kPanelColumns;
    for (int64_t r = 0; r < kRows; ++r)
      memcpy(c + r * ldc + n0, sum + r * kPanelColumns, static_cast<size_t>(columns) * sizeof(float));
  }
}

void few_rows(int64_t m, const uint16_t* packed, int64_t n, int64_t k, int64_t panel0, int64_t panel1, const float* a,
              int64_t lda, float* c, int64_t ldc) {
  constexpr decltype(&few_rows_of<1>) kRows[] = {few_rows_of<1>, few_rows_of<2>, few_rows_of<3>, few_rows_of<4>};
  kRows[m - 1](packed, n, k, panel0, panel1, a, lda, c, ldc);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(few_rows);

namespace {
constexpr int64_t kLeftFloats = 128 * 1024;  // widened rows of A: 512 KiB, within a core's own cache
constexpr int64_t kSumFloats = 32 * 1024;    // sums before they are rounded: 128 KiB
constexpr int64_t kRowUnit = 28;             // whole register tiles on every instruction set, or nearly
constexpr int64_t kMostColumns = 512;        // of sums before they are rounded: what a thread takes at a time

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }
size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

Product product_of(const GemmF16& s, const float* a, float* c) {
  Product p{};
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = a;
  p.a_row = s.lda;
  p.a_col = 1;
  p.c = c;
  p.c_row = s.ldc;
  p.epilogue = &s.epilogue;
  return p;
}

void product(const GemmF16& s, const uint16_t* panels, const float* a, float* c, const Parallel& parallel) {
  if (s.m > kFewRows) return run_packed(product_of(s, a, c), panels, parallel);
  const auto kernel = HWY_DYNAMIC_POINTER(few_rows);
  constexpr int64_t kGrainMacs = 1 << 18;  // bound by memory: some 10 us
  parallel.for_range(ceil_div(s.n, kPanelColumns), 1 + kGrainMacs / (s.m * s.k * kPanelColumns + 1),
                     [&](int64_t begin, int64_t end, int32_t) {
                       kernel(s.m, panels, s.n, s.k, begin, end, a, s.lda, c, s.ldc);
                       finish_rows_of(s.epilogue, 0, s.m, begin * kPanelColumns, at_most(end * kPanelColumns, s.n), c,
                                      s.ldc);
                     });
}

// How a product of float16 goes: blocks of rows of A, for each of them strips of columns.
struct Blocks {
  int64_t rows, columns;
  size_t left, sums, residual;  // bytes of a slot's room

  Blocks(int64_t m, int64_t n, int64_t k) {
    const int64_t most = at_least(kLeftFloats / at_least(k, 1) / kRowUnit, 1) * kRowUnit;
    rows = at_most(m, most);
    columns = at_most(ceil_div(n, kPanelColumns) * kPanelColumns, kMostColumns);
    columns = at_least(at_most(columns, kSumFloats / rows / kPanelColumns * kPanelColumns), 2 * kPanelColumns);
    left = whole_lines(static_cast<size_t>(rows * k) * sizeof(float));
    sums = residual = whole_lines(static_cast<size_t>(rows * columns) * sizeof(float));
  }
  size_t bytes() const { return left + sums + residual; }
};

// Room for fewer rows of the same columns is never more, though their strips are wider.
size_t blocks_bytes(int64_t m, int64_t n, int64_t k) {
  const Blocks blocks(m, n, k);
  const size_t wide =
      whole_lines(static_cast<size_t>(at_most(at_least(kSumFloats, blocks.rows * 2 * kPanelColumns),
                                              blocks.rows * at_least(kMostColumns, 2 * kPanelColumns))) *
                  sizeof(float));
  return blocks.left + 2 * wide;
}

// Panels as they were given, or made in `room`.
const uint16_t* panels_of(const GemmF16& s, const Parallel& parallel, void* room) {
  if (s.packed != nullptr) return s.packed;
  pack_f16(s.b, s.n, s.k, parallel, static_cast<uint16_t*>(room));
  return static_cast<const uint16_t*>(room);
}
size_t panels_bytes(int64_t n, int64_t k, bool packed) {
  return packed ? 0 : whole_lines(static_cast<size_t>(f16_packed_elements(n, k)) * sizeof(uint16_t));
}

void widen_rows(const uint16_t* from, int64_t from_row, int64_t rows, int64_t count, float* to) {
  if (from_row == count) return f32_from_f16(from, to, rows * count, Parallel{});
  for (int64_t i = 0; i < rows; ++i) f32_from_f16(from + i * from_row, to + i * count, count, Parallel{});
}
}  // namespace

int64_t f16_packed_elements(int64_t n, int64_t k) { return packed_floats(n, k); }

void pack_f16(const Columns16& b, int64_t n, int64_t k, const Parallel& parallel, uint16_t* packed) {
  parallel.for_range(ceil_div(n, kPanelColumns), at_least(1, 32768 / at_least(k * kPanelColumns, 1)),
                     [&](int64_t begin, int64_t end, int32_t) {
                       for (int64_t panel = begin; panel < end; ++panel) {
                         const int64_t n0 = panel * kPanelColumns, columns = at_most(n - n0, kPanelColumns);
                         uint16_t* to = packed + n0 * k;
                         for (int64_t p = 0; p < k; ++p, to += kPanelColumns) {
                           const uint16_t* const from = b.at(p, n0);
                           for (int64_t c = 0; c < columns; ++c) to[c] = from[c * b.n_step];
                           for (int64_t c = columns; c < kPanelColumns; ++c) to[c] = 0;
                         }
                       }
                     });
}

size_t gemm_f16_scratch_bytes(int64_t m, int64_t n, int64_t k, int32_t slots, bool packed, bool halves) {
  if (m <= 0 || n <= 0) return 0;
  const size_t tail = 2 * whole_lines(static_cast<size_t>(n) * sizeof(float));
  const size_t room = halves ? tail + blocks_bytes(m, n, k) * static_cast<size_t>(slots < 1 ? 1 : slots) : 0;
  return panels_bytes(n, k, packed) + room;
}

void gemm_f16(const GemmF16& s, const float* a, float* c, const Parallel& parallel, void* scratch) {
  if (s.m > 0 && s.n > 0) product(s, panels_of(s, parallel, scratch), a, c, parallel);
}

void gemm_f16(const GemmF16& s, const HalfTail& tail, const uint16_t* a, uint16_t* c, const Parallel& parallel,
              void* scratch) {
  if (s.m <= 0 || s.n <= 0) return;
  const uint16_t* const panels = panels_of(s, parallel, scratch);
  char* room = static_cast<char*>(scratch) + panels_bytes(s.n, s.k, s.packed != nullptr);
  const auto row_of = [&](const uint16_t* from) -> const float* {
    float* const to = reinterpret_cast<float*>(room);
    room += whole_lines(static_cast<size_t>(s.n) * sizeof(float));
    if (from == nullptr) return nullptr;
    f32_from_f16(from, to, s.n, Parallel{});
    return to;
  };
  const float* const bias = row_of(tail.col_bias);
  const float* const slope = row_of(tail.col_slope);
  const Blocks blocks(s.m, s.n, s.k);
  const auto left_at = [&](int32_t slot) {
    return reinterpret_cast<float*>(room + static_cast<size_t>(slot) * blocks.bytes());
  };
  // The columns [n0, n0 + count) of a block of rows.
  const auto strip = [&](int64_t m0, int64_t rows, int64_t n0, const float* left, int32_t slot) {
    float* const sums = left_at(slot) + blocks.left / sizeof(float);
    float* const residual = sums + blocks.sums / sizeof(float);
    GemmF16 part = s;
    part.m = rows;
    part.n = at_most(s.n - n0, blocks.columns);
    part.lda = s.k;
    part.ldc = part.epilogue.residual_stride = part.n;
    part.epilogue.col_bias = bias != nullptr ? bias + n0 : nullptr;
    part.epilogue.col_slope = slope != nullptr ? slope + n0 : nullptr;
    part.epilogue.residual = nullptr;
    if (tail.residual != nullptr) {
      const int64_t stride = s.epilogue.residual_stride;
      widen_rows(tail.residual + m0 * stride + n0, stride, rows, part.n, residual);
      part.epilogue.residual = residual;
    }
    product(part, panels + n0 * s.k, left, sums, Parallel{});
    for (int64_t i = 0; i < rows; ++i) f16_from_f32(sums + i * part.n, c + (m0 + i) * s.ldc + n0, part.n, Parallel{});
  };
  const int64_t row_blocks = ceil_div(s.m, blocks.rows), strips = ceil_div(s.n, blocks.columns);
  const auto rows_at = [&](int64_t block) { return at_most(s.m - block * blocks.rows, blocks.rows); };
  if (row_blocks >= 2 * int64_t{parallel.slots}) {
    parallel.for_range(row_blocks, 1, [&](int64_t begin, int64_t end, int32_t slot) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t m0 = block * blocks.rows, rows = rows_at(block);
        widen_rows(a + m0 * s.lda, s.lda, rows, s.k, left_at(slot));
        for (int64_t j = 0; j < strips; ++j) strip(m0, rows, j * blocks.columns, left_at(slot), slot);
      }
    });
    return;
  }
  constexpr int64_t kGrainMacs = int64_t{1} << 19;
  for (int64_t block = 0; block < row_blocks; ++block) {
    const int64_t m0 = block * blocks.rows, rows = rows_at(block);
    float* const left = left_at(0);
    widen_rows(a + m0 * s.lda, s.lda, rows, s.k, left);
    const int64_t macs = rows * blocks.columns * s.k;
    parallel.for_range(strips, 1 + kGrainMacs / (macs + 1), [&](int64_t begin, int64_t end, int32_t slot) {
      for (int64_t j = begin; j < end; ++j) strip(m0, rows, j * blocks.columns, left, slot);
    });
  }
}

}  // namespace vireo::cpu
#endif
