#include "delegates/cpu/kernels/gemm_bf16/gemm_bf16.h"

#include <string.h>

#include "delegates/cpu/kernels/amx/amx.h"
#include "delegates/cpu/kernels/gemm_bf16/product.h"
#include "delegates/cpu/kernels/sme/sme.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/gemm_bf16/gemm_bf16.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/gemm/outer-inl.h"
#include "delegates/cpu/kernels/gemm_bf16/ends-inl.h"
#include "delegates/cpu/kernels/gemm_bf16/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// One register tile. T: uint16_t, pairs of k that the core multiplies; or float.
template <class T>
struct Bf16Tile : HalfSums {
  int64_t k;  // of a run of A; even
  const T* a;
  int64_t a_row;
  int64_t runs, jump;     // from the end of a run to the next one; one run where A is float
  const uint16_t* b;      // at the tile's first column
  const uint16_t* ahead;  // a line of 64 bytes for each pair of k, to be fetched, and their distance in elements
  int64_t ahead_step;
};

// To the second level: the first one is full with what is in use.
constexpr int64_t kLine = 64 / sizeof(uint16_t);
HWY_INLINE void prefetch_line(const uint16_t* line) { __builtin_prefetch(line, 0, 2); }

#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
using Left = uint16_t;

// kVectors: 2, or 1 where no more columns are left than one has.
template <int kTileRows, int kVectors = 2>
HWY_NOINLINE void bf16_tile_kernel(const Bf16Tile<Left>& t) {
  const DF d;
  const hn::Repartition<hwy::bfloat16_t, DF> db;
  const hn::Repartition<uint16_t, DF> d16;
  const hn::Repartition<uint32_t, DF> d32;
  VF acc[kTileRows][kVectors];
  begin_half_sums(t, acc);
  const Left* a = t.a;
  const uint16_t* b = t.b;
  const uint16_t* ahead = t.ahead;
  const int64_t a_row = t.a_row, ahead_step = t.ahead_step;
  VF unused = hn::Zero(d);
  for (int64_t r = t.runs; r > 0; --r, a += t.jump) {
    for (int64_t p = t.k / 2; p > 0; --p) {
      hn::Vec<decltype(db)> bv[kVectors];
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) bv[v] = hn::BitCast(db, hn::LoadU(d16, b + v * 2 * kLanes));
      VIREO_UNROLL
      for (int i = 0; i < kTileRows; ++i) {
        uint32_t pair;
        memcpy(&pair, a + i * a_row, sizeof(pair));
        const auto ai = hn::BitCast(db, hn::Set(d32, pair));
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::ReorderWidenMulAccumulate(d, ai, bv[v], acc[i][v], unused);
      }
      prefetch_line(ahead);
      ahead += ahead_step;
      a += 2;
      b += 2 * kBf16Columns;
    }
  }
  end_half_sums(t, acc);
}
#else
using Left = float;

// A row of a panel holds even k in the low halves of its words and odd k in the high ones: one instruction widens each.
template <int kTileRows>
HWY_NOINLINE void bf16_tile_kernel(const Bf16Tile<Left>& t) {
  const DF d;
  const hn::RebindToUnsigned<DF> du;
  const auto high = hn::Set(du, 0xFFFF0000u);
  VF acc[kTileRows][2];
  begin_half_sums(t, acc);
  const Left* a = t.a;
  const uint16_t* b = t.b;
  const uint16_t* ahead = t.ahead;
  const int64_t a_row = t.a_row, ahead_step = t.ahead_step;
  for (int64_t p = t.k / 2; p > 0; --p) {
    const auto w0 = pairs_at(b), w1 = pairs_at(b + 2 * kLanes);
    const VF even0 = hn::BitCast(d, hn::ShiftLeft<16>(w0)), even1 = hn::BitCast(d, hn::ShiftLeft<16>(w1));
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      const VF ai = hn::Set(d, a[i * a_row]);
      acc[i][0] = hn::MulAdd(ai, even0, acc[i][0]);
      acc[i][1] = hn::MulAdd(ai, even1, acc[i][1]);
    }
    const VF odd0 = hn::BitCast(d, hn::And(w0, high)), odd1 = hn::BitCast(d, hn::And(w1, high));
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      const VF ai = hn::Set(d, a[i * a_row + 1]);
      acc[i][0] = hn::MulAdd(ai, odd0, acc[i][0]);
      acc[i][1] = hn::MulAdd(ai, odd1, acc[i][1]);
    }
    prefetch_line(ahead);
    ahead += ahead_step;
    a += 2;
    b += 2 * kBf16Columns;
  }
  end_half_sums(t, acc);
}
#endif

using TileKernel = void (*)(const Bf16Tile<Left>&);
constexpr TileKernel kTileKernels[] = {
    nullptr,
    bf16_tile_kernel<1>,
    bf16_tile_kernel<2>,
    bf16_tile_kernel<3>,
    bf16_tile_kernel<4>,
    bf16_tile_kernel<5>,
    bf16_tile_kernel<6>,
#if VIREO_32_REGISTERS
    bf16_tile_kernel<7>,
    bf16_tile_kernel<8>,
    bf16_tile_kernel<9>,
    bf16_tile_kernel<10>,
    bf16_tile_kernel<11>,
    bf16_tile_kernel<12>,
    bf16_tile_kernel<13>,
    bf16_tile_kernel<14>,
#endif
};
// Of lower tiles there are few, and what is saved is not worth their code.
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
constexpr int64_t kLowestOneVector = 7;
constexpr TileKernel kOneVectorKernels[] = {
    bf16_tile_kernel<7, 1>,  bf16_tile_kernel<8, 1>,  bf16_tile_kernel<9, 1>,  bf16_tile_kernel<10, 1>,
    bf16_tile_kernel<11, 1>, bf16_tile_kernel<12, 1>, bf16_tile_kernel<13, 1>, bf16_tile_kernel<14, 1>,
};
HWY_INLINE TileKernel tile_kernel_for(int64_t rows, int64_t columns) {
  return columns > kLanes || rows < kLowestOneVector ? kTileKernels[rows] : kOneVectorKernels[rows - kLowestOneVector];
}
#else  // a core that bfloat16 does not make faster
HWY_INLINE TileKernel tile_kernel_for(int64_t rows, int64_t) { return kTileKernels[rows]; }
#endif

// One block of k (kc, a multiple of 32; `used` of it are not filled up, or one more) for `rows` rows from m0 and up to
// 32 columns from n. `a`: rounded, at the first row and k0; `b`: the panel at that k. `next`: what follows it,
// `next_kc` of k deep.
struct Part {
  int64_t m0, rows, n, columns, k0, kc, used;
  const uint16_t* b;
  const uint16_t* next;
  int64_t next_kc;
};

// Rows of A: row i from a + i row on, its k from k0 on in runs of `run`, a_run apart. In tiles a run is whole steps of
// k.
template <class T>
struct RowsOfRuns {
  const T* a;
  int64_t row, k0, run, a_run;
  int64_t places, pixels;  // not 0: rows are places of lines, of which the first `pixels` are rows of C
};
using TileRows = RowsOfRuns<uint16_t>;

// Sums in vector registers.
struct Vectors {
  using Left = HWY_NAMESPACE::Left;
  static constexpr bool kInPlace = true, kWholeTiles = false;
  static constexpr int64_t kShallow = kRows;  // with no more rows than that, B passes once whatever the block of k
  // A block of a panel, 64 KiB, comes from the second-level cache as fast as it is used; what ends and begins a block
  // is worth half a hundred steps of k.
  static constexpr int64_t kMostDepth = 1024;

  void begin() {}
  void end() {}
  void rows_are_put(Left*, int64_t, int64_t, int64_t) {}
  void part(const EndsOf& sums, const Part& p, const Left* a, int64_t a_row) {
    part(sums, p, {a, a_row, 0, p.used, 0, 0, 0});
  }
  HWY_NOINLINE void part(const EndsOf& sums, const Part& p, const RowsOfRuns<Left>& a) {
    const RowBlocks blocks(p.rows);
    Bf16Tile<Left> t;
    t.k = a.run;
    t.a_row = a.row;
    t.runs = a.run > 0 ? p.used / a.run : 0;
    t.jump = a.a_run - a.run;
    const int64_t pairs = p.used / 2;
    HWY_ALIGN float waiting[kRows * kBf16Columns];
    // Panels come from far away, and only the first rows meet one that is not near: while rows pass, the next one
    // comes.
    int64_t lines = p.next_kc * kBf16Columns / kLine;
    t.ahead = p.next;
    for (int64_t block = 0; block < blocks.count; ++block) {
      const int64_t first = blocks.begin(block), rows = blocks.begin(block + 1) - first;
      t.ahead_step = lines > 0 ? kLine : 0;
      t.a = a.a + first * a.row;
      sums.set_rows(p.m0 + first, &t);
      for (int64_t j = 0; j < p.columns; j += kWidth) {
        t.columns = p.columns - j < kWidth ? p.columns - j : kWidth;
        t.b = p.b + 2 * j;
        sums.set_tile(p.m0 + first, p.n + j, &t);
        sums.keep(waiting + j, &t);
        sums.ask_for(p.m0 + first, rows, p.n + j);
        tile_kernel_for(rows, t.columns)(t);
        t.ahead += pairs * t.ahead_step;
        lines -= pairs;
      }
      sums.finish_tile(p.m0 + first, rows, p.n, p.columns, waiting);
    }
  }
};

// Sums in tiles: 2 x 2 of C, so that each tile of A and of B is used twice. They go through memory to the vectors that
// end them. Depth is whole tiles, which k is filled up for; what rows and columns there are too many is not stored.
template <class Tiles>
struct TileSums {
  using Left = uint16_t;
  static constexpr bool kInPlace = true, kWholeTiles = true;
  static constexpr int64_t kShallow = kBf16RowGroup;
  static constexpr int64_t kMostDepth = 512;  // of a panel 32 KiB, which stay in the first-level cache
  static constexpr int64_t kSide = 2 * kTileRows;
  Tiles tiles;

  void begin() {
    TileConfig config;
    for (int i = 0; i < 8; ++i) config.set(i, kTileRows, kTileBytes);
    tiles.configure(config);
  }
  void end() { tiles.release(); }
  void rows_are_put(Left*, int64_t, int64_t, int64_t) {}

  void part(const EndsOf& sums, const Part& p, const Left* a, int64_t a_row) {
    part(sums, p, TileRows{a, a_row, 0, p.kc, 0, 0, 0});
  }
  void part(const EndsOf& sums, const Part& p, const TileRows& a) {
    HWY_ALIGN float sum[kSide * kSide];
    const bool half_panel = p.columns <= kTileRows;
    if (half_panel) memset(sum, 0, sizeof(sum));
    for (int64_t i = 0; i < p.rows; i += kSide) {
      const bool high = p.rows - i > kTileRows;
      if (half_panel) {
        high ? multiply<2, 1>(p.kc, a, i, p.b, sum) : multiply<1, 1>(p.kc, a, i, p.b, sum);
      } else {
        high ? multiply<2, 2>(p.kc, a, i, p.b, sum) : multiply<1, 2>(p.kc, a, i, p.b, sum);
      }
      end_block(sums, p, a, i, sum);
    }
  }

 private:
  // Up to kSide rows of A from `first` on. What hangs over the end of a line is dropped.
  void end_block(const EndsOf& sums, const Part& p, const TileRows& a, int64_t first, float* sum) {
    const int64_t rows = p.rows - first < kSide ? p.rows - first : kSide;
    if (a.places == 0) return end_rows(sums, p, p.m0 + first, rows, sum);
    for (int64_t r = 0; r < rows;) {
      const int64_t line = (first + r) / a.places, at = (first + r) % a.places;
      int64_t count = (at < a.pixels ? a.pixels : a.places) - at;
      count = count < rows - r ? count : rows - r;
      if (at < a.pixels) end_rows(sums, p, p.m0 + line * a.pixels + at, count, sum + r * kSide);
      r += count;
    }
  }
  // Rows of C from m on begin with what they begin with, take their sums, and end.
  void end_rows(const EndsOf& sums, const Part& p, int64_t m, int64_t rows, float* sum) {
    if (sums.ends()) return sums.end(m, rows, p.n, p.columns, sum);
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8) end_group<8>(sums, p, m + r, sum + r * kSide);
    for (; r + 4 <= rows; r += 4) end_group<4>(sums, p, m + r, sum + r * kSide);
    for (; r < rows; ++r) end_group<1>(sums, p, m + r, sum + r * kSide);
    sums.finish_tile(m, rows, p.n, p.columns, sum);
  }
  template <int kGroup>
  HWY_NOINLINE void end_group(const EndsOf& sums, const Part& p, int64_t m, float* sum) {
    HalfSums t;
    sums.set_rows(m, &t);
    for (int64_t j = 0; j < p.columns; j += kWidth) {
      t.columns = p.columns - j < kWidth ? p.columns - j : kWidth;
      sums.set_tile(m, p.n + j, &t);
      sums.keep(sum + j, &t);
      VF acc[kGroup][2];
      begin_half_sums(t, acc);
      VIREO_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        acc[i][0] = hn::Add(acc[i][0], hn::Load(DF(), sum + i * kSide + j));
        acc[i][1] = hn::Add(acc[i][1], hn::Load(DF(), sum + i * kSide + j + kLanes));
      }
      end_half_sums(t, acc);
    }
  }

  template <int kHigh, int kWide>
  void multiply(int64_t kc, const TileRows& left, int64_t row, const uint16_t* b, float* sum) {
    constexpr int64_t kUnit = static_cast<int64_t>(sizeof(Left));
    const int64_t a_bytes = left.row * kUnit, b_bytes = 2 * kBf16Columns * kUnit, c_bytes = kSide * 4;
    // The first rows meet a panel that nobody has read lately: the filters of a whole model do not stay in the
    // second-level cache, and loads of tiles trigger the hardware's prefetcher too late.
    const bool cold = row == 0;
    tiles.template zero<0>();
    if (kWide == 2) tiles.template zero<1>();
    if (kHigh == 2) tiles.template zero<2>();
    if (kHigh == 2 && kWide == 2) tiles.template zero<3>();
    for (int64_t k = left.k0, end = left.k0 + kc; k < end;) {
      const int64_t at = k % left.run, rest = left.run - at;
      const Left* a = left.a + row * left.row + k / left.run * left.a_run + at;
      const int64_t count = rest < end - k ? rest : end - k;
      k += count;
      for (int64_t i = 0; i < count; i += kBf16Depth, a += kBf16Depth, b += kBf16Depth * kBf16Columns) {
        for (int64_t r = 2 * kTileRows; cold && r < 3 * kTileRows; ++r) {  // two steps ahead
          tiles.prefetch(b + r * 2 * kBf16Columns);
          if (kWide == 2) tiles.prefetch(b + r * 2 * kBf16Columns + kBf16Columns);
        }
        tiles.template load<4>(a, a_bytes);
        tiles.template load<6>(b, b_bytes);
        if (kWide == 2) tiles.template load<7>(b + kBf16Columns, b_bytes);
        tiles.template dot_bf16<0, 4, 6>();
        if (kWide == 2) tiles.template dot_bf16<1, 4, 7>();
        if (kHigh == 2) {
          tiles.template load<5>(a + kTileRows * left.row, a_bytes);
          tiles.template dot_bf16<2, 5, 6>();
          if (kWide == 2) tiles.template dot_bf16<3, 5, 7>();
        }
      }
    }
    tiles.template store<0>(sum, c_bytes);
    if (kWide == 2) tiles.template store<1>(sum + kTileRows, c_bytes);
    if (kHigh == 2) tiles.template store<2>(sum + kTileRows * kSide, c_bytes);
    if (kHigh == 2 && kWide == 2) tiles.template store<3>(sum + kTileRows * kSide + kTileRows, c_bytes);
  }
};

#if HWY_ARCH_ARM_A64
// Sums in outer products (SME), which begin and go on in C, float32. Pairs of k are words, rows of A stand transposed
// behind those that are rounded: a slot has room for them as float32.
struct OuterSums {
  using Left = uint16_t;
  static constexpr bool kInPlace = false, kWholeTiles = false;
  static constexpr int64_t kShallow = 2 * kBf16RowGroup;
  static constexpr int64_t kMostDepth = 512;
  const int64_t group = 2 * sme_words();
  const Left* transposed = nullptr;
  int64_t words = 0;  // of a row

  void begin() {}
  void end() {}
  void rows_are_put(Left* rows, int64_t count, int64_t most, int64_t row) {
    constexpr int64_t kUnit = static_cast<int64_t>(sizeof(Left));
    Left* const to = rows + most * row;
    words = row / 2;
    for (int64_t i = 0; i < count; i += group) {
      sme_transpose(rows + i * row, row * kUnit, count - i < group ? count - i : group, (row - kBf16Depth) * kUnit,
                    to + i * row);
    }
    transposed = to;
  }
  void part(const EndsOf& ends, const Part& p, const Left*, int64_t) {
    const SumsOf sums = ends.of();
    OuterProduct o;
    o.k = p.used / 2;
    o.b = p.b;
    o.b_step = kBf16Columns * 4;
    o.columns = p.columns;
    o.panel = kBf16Columns;
    o.c_step = sums.c_row * 4;
    o.add = 1;
    begin_outer(sums, p.m0, p.rows, p.n, p.columns);
    for (int64_t i = 0; i < p.rows; i += group) {
      o.rows = p.rows - i < group ? p.rows - i : group;
      o.a_step = o.rows * 4;
      o.a = transposed + 2 * (i * words + p.k0 / 2 * o.rows);
      o.c = sums.c + (p.m0 + i) * sums.c_row + p.n;
      sme_outer_bf16(o);
    }
    end_outer(sums, p.m0, p.rows, p.n, p.columns);
  }
};
#endif

// Whether rows of A are read where they lie: in bfloat16, and nothing is read behind a row's end.
template <class Engine>
bool reads_in_place(const Bf16Product& p) {
  return sizeof(typename Engine::Left) == sizeof(uint16_t) && Engine::kInPlace && p.a_half && p.patches == nullptr &&
         p.k % (Engine::kWholeTiles ? kBf16Depth : 2) == 0;
}

// Columns whose sums are still in the cache when whole rows are finished.
inline int64_t columns_of(const Bf16Product& p, int64_t rows) {
  constexpr int64_t kFinishFloats = 64 * 1024;
  if (p.c_half || p.residual != nullptr) return bf16_sum_columns(rows);
  return round_up(kFinishFloats / rows + 1, kBf16Columns);
}

// Rows [m0, m1) and columns [n0, n1), n0 at the beginning of a panel. `room`: for bf16_block_rows rows, then for sums.
template <class Engine>
void product_with(Engine engine, const Bf16Product& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* room) {
  using T = typename Engine::Left;
  T* const copied = static_cast<T*>(room);
  auto* const scratch = reinterpret_cast<float*>(static_cast<char*>(room) + bf16_left_bytes(p.m, p.k));
  const HalfBounds bounds = bounds_of(p);
  const int64_t depth = round_up(p.k, kBf16Depth), most = bf16_block_rows(p.m, p.k);
  const bool in_place = reads_in_place<Engine>(p);
  const int64_t blocks = p.m <= Engine::kShallow ? 1 : (depth + Engine::kMostDepth - 1) / Engine::kMostDepth;
  const int64_t kc = round_up(depth / (blocks < 1 ? 1 : blocks) + 1, kBf16Depth);
  engine.begin();
  for (int64_t m = m0, rows = 0; m < m1; m += rows) {
    rows = m1 - m < most ? m1 - m : most;
    bool here = in_place;
    if (here && Engine::kWholeTiles) {  // tiles read whole groups of rows: what is left of one is copied
      here = rows >= kBf16RowGroup;
      rows = here ? rows / kBf16RowGroup * kBf16RowGroup : rows;
    }
    const T* left = copied;
    int64_t row = bf16_row(p.k);
    if (here) {
      left = static_cast<const T*>(p.a) + m * p.a_row;
      row = p.a_row;
    } else {
      put_rows(p, m, rows, copied, static_cast<int64_t>(bf16_left_bytes(p.m, p.k) / sizeof(T)));
      engine.rows_are_put(copied, rows, most, row);
    }
    const int64_t wide = columns_of(p, rows);
    for (int64_t n = n0; n < n1; n += wide) {
      const int64_t nc = n1 - n < wide ? n1 - n : wide;
      EndsOf sums(p, bounds, m, n, round_up(nc, kBf16Columns), scratch);
      for (int64_t k0 = 0; k0 == 0 || k0 < depth; k0 += kc) {  // once for K = 0: bias alone
        const int64_t deep = depth - k0 < kc ? depth - k0 : kc;
        const int64_t even = round_up(p.k, 2) - k0, used = deep < even ? deep : even;
        sums.set_depth(k0 == 0, k0 + deep == depth);
        for (int64_t j = n; j < n + nc; j += kBf16Columns) {
          const int64_t columns = n + nc - j < kBf16Columns ? n + nc - j : kBf16Columns;
          const auto panel_at = [&](int64_t at, int64_t k) {
            return p.packed + (at - p.packed_from) * depth + k * kBf16Columns;
          };
          const uint16_t* const panel = panel_at(j, k0);
          // This block of k of the next panel, or the next block of the first one, or what follows that.
          const int64_t n2 = j + kBf16Columns, k2 = k0 + deep;
          const uint16_t* next = n2 < n + nc ? panel_at(n2, k0) : k2 < depth ? panel_at(n, k2) : panel_at(n2, 0);
          const int64_t next_kc = n2 < n + nc  ? deep
                                  : k2 < depth ? (depth - k2 < kc ? depth - k2 : kc)
                                               : (depth < kc ? depth : kc);
          const bool more = n2 < n1 || k2 < depth;
          engine.part(sums, {m, rows, j, columns, k0, deep, used, panel, more ? next : panel, more ? next_kc : 0},
                      left + k0, row);
        }
      }
      sums.finish(rows, nc);
    }
  }
  engine.end();
}

// Lines [l0, l1) of y, of all images, and columns [n0, n1): windows over lines of x that stand in `room` in bfloat16,
// with their border, in place of patches.
template <class Tiles, class From>
void product_of_lines(TileSums<Tiles> engine, const Bf16Product& p, const From* x, int64_t l0, int64_t l1, int64_t n0,
                      int64_t n1, void* room) {
  const ConvF32& s = *p.patches;
  const Bf16Lines lines(s, p.m, p.k);
  auto* const left = static_cast<uint16_t*>(room);
  auto* const scratch = reinterpret_cast<float*>(static_cast<char*>(room) + bf16_left_bytes(p.m, p.k));
  const HalfBounds bounds = bounds_of(p);
  constexpr int64_t kMostDepth = TileSums<Tiles>::kMostDepth;
  const int64_t blocks = (p.k + kMostDepth - 1) / kMostDepth, kc = round_up(p.k / blocks + 1, kBf16Depth);
  const int64_t most = p.c_half || p.residual != nullptr ? lines.most_sums(s) : lines.most;
  engine.begin();
  for (int64_t l = l0; l < l1;) {
    const int64_t y0 = l % s.out[1], image = l / s.out[1];
    int64_t count = l1 - l < most ? l1 - l : most;
    count = count < s.out[1] - y0 ? count : s.out[1] - y0;
    put_lines(s, lines.places, x + image * s.in[1] * s.in[2] * s.in_channels, y0 - s.pad[1], count + lines.deep - 1,
              left);
    const int64_t rows = (count - 1) * lines.places + s.out[2], m = l * s.out[2];
    const int64_t wide = columns_of(p, rows);
    for (int64_t n = n0; n < n1; n += wide) {
      const int64_t nc = n1 - n < wide ? n1 - n : wide;
      EndsOf sums(p, bounds, m, n, round_up(nc, kBf16Columns), scratch);
      for (int64_t k0 = 0; k0 < p.k; k0 += kc) {
        const int64_t deep = p.k - k0 < kc ? p.k - k0 : kc;
        sums.set_depth(k0 == 0, k0 + deep == p.k);
        const TileRows a{
            left,         s.in_channels, k0, s.kernel[2] * s.in_channels, s.dilation[1] * lines.places * s.in_channels,
            lines.places, s.out[2]};
        for (int64_t j = n; j < n + nc; j += kBf16Columns) {
          const int64_t columns = n + nc - j < kBf16Columns ? n + nc - j : kBf16Columns;
          const uint16_t* const panel = p.packed + (j - p.packed_from) * p.k + k0 * kBf16Columns;
          engine.part(sums, {m, rows, j, columns, k0, deep, deep, panel, nullptr, 0}, a);
        }
      }
      sums.finish(count * s.out[2], nc);
    }
    l += count;
  }
  engine.end();
}
template <class Tiles>
void product_of_lines(const Bf16Product& p, int64_t l0, int64_t l1, int64_t n0, int64_t n1, void* room) {
  if (p.a_half) return product_of_lines(TileSums<Tiles>(), p, static_cast<const uint16_t*>(p.a), l0, l1, n0, n1, room);
  product_of_lines(TileSums<Tiles>(), p, static_cast<const float*>(p.a), l0, l1, n0, n1, room);
}

#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
// The same in vectors, a line of y after the other: x stays in the first-level cache while its windows pass, and sums
// in registers for all of k.
void vectors_of_lines(const Bf16Product& p, int64_t l0, int64_t l1, int64_t n0, int64_t n1, void* room) {
  const ConvF32& s = *p.patches;
  const Bf16Lines lines(s, p.m, p.k);
  auto* const left = static_cast<uint16_t*>(room);
  auto* const scratch = reinterpret_cast<float*>(static_cast<char*>(room) + bf16_left_bytes(p.m, p.k));
  const HalfBounds bounds = bounds_of(p);
  const int64_t depth = round_up(p.k, kBf16Depth), width = s.out[2], line = lines.places * s.in_channels;
  RowsOfRuns<uint16_t> a = {left, s.stride[2] * s.in_channels, 0, s.kernel[2] * s.in_channels, s.dilation[1] * line, 0,
                            0};
  for (int64_t l = l0; l < l1;) {
    const int64_t y0 = l % s.out[1], image = l / s.out[1];
    int64_t count = l1 - l < lines.most ? l1 - l : lines.most;
    count = count < s.out[1] - y0 ? count : s.out[1] - y0;
    const auto put = [&](const auto* x) HWY_ATTR {
      put_lines(s, lines.places, x + image * s.in[1] * s.in[2] * s.in_channels, y0 * s.stride[1] - s.pad[1],
                (count - 1) * s.stride[1] + lines.deep, left);
    };
    p.a_half ? put(static_cast<const uint16_t*>(p.a)) : put(static_cast<const float*>(p.a));
    const int64_t m = l * width, wide = p.c_half ? n1 - n0 : columns_of(p, count * width);
    for (int64_t n = n0; n < n1; n += wide) {
      const int64_t nc = n1 - n < wide ? n1 - n : wide;
      const EndsOf sums(p, bounds, m, n, round_up(nc, kBf16Columns), scratch);
      for (int64_t j = n; j < n + nc; j += kBf16Columns) {
        const int64_t columns = n + nc - j < kBf16Columns ? n + nc - j : kBf16Columns;
        const uint16_t* const panel = p.packed + (j - p.packed_from) * depth;
        const uint16_t* next = panel + depth * kBf16Columns;
        int64_t ahead = j + kBf16Columns < n1 ? depth : 0;  // lines of the next panel that are not asked for yet
        for (int64_t i = 0; i < count; ++i) {
          a.a = left + i * s.stride[1] * line;
          Vectors().part(sums, {m + i * width, width, j, columns, 0, depth, p.k, panel, next, ahead}, a);
          const int64_t asked = RowBlocks(width).count * (p.k / 2);
          next += (asked < ahead ? asked : ahead) * kLine;
          ahead -= asked < ahead ? asked : ahead;
        }
      }
      sums.finish(count * width, nc);
    }
    l += count;
  }
}

void bf16_lines(const Bf16Product& p, int64_t l0, int64_t l1, int64_t n0, int64_t n1, void* room) {
#if VIREO_AMX
  if (p.tiles) return product_of_lines<AmxTiles>(p, l0, l1, n0, n1, room);
#endif
  vectors_of_lines(p, l0, l1, n0, n1, room);
}
// Whether this instruction set reads lines.
bool bf16_takes_lines(const Bf16Product& p) {
  if (p.tiles) return p.m >= kFewestTileRows && Bf16Lines::serve_tiles(*p.patches);
  return Bf16Lines::serve_vectors(*p.patches);
}
#else
void bf16_lines(const Bf16Product&, int64_t, int64_t, int64_t, int64_t, void*) {}
bool bf16_takes_lines(const Bf16Product&) { return false; }
#endif

void bf16_product(const Bf16Product& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* room) {
#if VIREO_AMX && HWY_NATIVE_DOT_BF16
  if (p.tiles && p.m >= kFewestTileRows) return product_with(TileSums<AmxTiles>(), p, m0, m1, n0, n1, room);
#endif
#if HWY_ARCH_ARM_A64
  // Its sums begin and end in a float32 C.
  if (p.tiles && p.m >= kFewestTileRows && !p.c_half && p.residual == nullptr)
    return product_with(OuterSums(), p, m0, m1, n0, n1, room);
#endif
  product_with(Vectors(), p, m0, m1, n0, n1, room);
}

#if HWY_ONCE
void plain_tiles_lines(const Bf16Product& p, int64_t l0, int64_t l1, int64_t n0, int64_t n1, void* room) {
  product_of_lines<PlainTiles>(p, l0, l1, n0, n1, room);
}
void plain_tiles_product(const Bf16Product& p, void* room) {
  product_with(TileSums<PlainTiles>(), p, 0, p.m, 0, p.n, room);
}
#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(bf16_product);
HWY_EXPORT(bf16_lines);
HWY_EXPORT(bf16_takes_lines);

namespace {
constexpr int64_t kBlockElements = 320 * 1024;  // of A: 640 KiB, half of what second-level caches hold
constexpr int64_t kMostRows = 512;
constexpr int64_t kUnpackedColumns = 128;         // B that is packed on the way, in each slot
constexpr int64_t kGrainMacs = int64_t{1} << 19;  // several times what calling a thread costs

int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

// Room of a slot: A as float32, which is what the widest of the engines keeps; sums, where there are any; then B.
size_t right_bytes(int64_t n, int64_t k, bool packed) {
  if (packed) return 0;
  const int64_t columns = at_most(round_up(n, kBf16Columns), kUnpackedColumns);
  return static_cast<size_t>(columns * round_up(k, kBf16Depth)) * sizeof(uint16_t);
}
size_t sum_bytes(int64_t m, int64_t n, bool half) {
  return half ? static_cast<size_t>(2 * bf16_sum_floats(m, n)) * sizeof(float) : 0;
}
size_t room_bytes(int64_t m, int64_t n, int64_t k, bool packed, bool half) {
  return (bf16_left_bytes(m, k) + sum_bytes(m, n, half) + right_bytes(n, k, packed) + 63) / 64 * 64;
}
bool ends_half(const Bf16Product& p) { return p.c_half || p.residual != nullptr; }

// Panels from column n0 on, up to column n1.
void pack_panels(const Columns16& b, int64_t k, int64_t n0, int64_t n1, uint16_t* to) {
  const int64_t depth = round_up(k, kBf16Depth);
  for (int64_t n = n0; n < n1; n += kBf16Columns) {
    const int64_t columns = at_most(n1 - n, kBf16Columns);
    for (int64_t p = 0; p < depth; p += 2, to += 2 * kBf16Columns) {
      if (columns < kBf16Columns || p + 2 > k) memset(to, 0, 2 * kBf16Columns * sizeof(*to));
      for (int64_t i = 0; i < 2 && p + i < k; ++i) {
        const uint16_t* const from = b.at(p + i, n);
        for (int64_t c = 0; c < columns; ++c) to[2 * c + i] = from[c * b.n_step];
      }
    }
  }
}

void run(const Bf16Product& p, const Columns16& b, const Parallel& parallel, void* scratch) {
  if (p.m <= 0 || p.n <= 0) return;
  const auto product = HWY_DYNAMIC_POINTER(bf16_product);
  const bool packed = p.packed != nullptr;
  const size_t room = room_bytes(p.m, p.n, p.k, packed, ends_half(p));
  const auto mine = [&](int32_t slot) { return static_cast<char*>(scratch) + static_cast<size_t>(slot) * room; };
  const int64_t macs = at_least(p.m * p.n * p.k, 1);
  const int64_t groups = (p.m + kBf16RowGroup - 1) / kBf16RowGroup;
  if (packed && groups >= 4 * int64_t{parallel.slots}) {
    // Every thread streams B: blocks of rows are as large as an even share allows.
    const int64_t share = at_least(groups / (4 * int64_t{parallel.slots}), 1);
    parallel.for_range(groups, at_least(kGrainMacs * groups / macs + 1, share),
                       [&](int64_t begin, int64_t end, int32_t slot) {
                         product(p, begin * kBf16RowGroup, at_most(end * kBf16RowGroup, p.m), 0, p.n, mine(slot));
                       });
    return;
  }
  // Few rows. Where they are rounded, or gathered from patches, that is done for each share of columns anew: one a
  // thread then.
  const int64_t unit = packed ? kBf16Columns : kUnpackedColumns, units = (p.n + unit - 1) / unit;
  const int64_t slots = at_least(parallel.slots, 1);
  const bool as_they_lie = p.a_half && p.patches == nullptr;
  const int64_t share = as_they_lie ? at_least(units / (4 * slots), 1) : (units + slots - 1) / slots;
  const int64_t least = at_least(p.m * p.k * unit, 1);
  parallel.for_range(units, at_least(kGrainMacs / least, share), [&](int64_t begin, int64_t end, int32_t slot) {
    if (packed) return product(p, 0, p.m, begin * unit, at_most(end * unit, p.n), mine(slot));
    Bf16Product part = p;
    auto* const panels =
        reinterpret_cast<uint16_t*>(mine(slot) + bf16_left_bytes(p.m, p.k) + sum_bytes(p.m, p.n, ends_half(p)));
    for (int64_t n = begin * unit; n < end * unit && n < p.n; n += unit) {
      const int64_t n1 = at_most(n + unit, p.n);
      pack_panels(b, p.k, n, n1, panels);
      part.packed = panels;
      part.packed_from = n;
      product(part, 0, p.m, n, n1, mine(slot));
    }
  });
}

// The same over lines, by `product`.
template <class Product>
void run_lines(Product product, const Bf16Product& p, const Parallel& parallel, void* scratch) {
  const size_t room = room_bytes(p.m, p.n, p.k, true, ends_half(p));
  const auto mine = [&](int32_t slot) { return static_cast<char*>(scratch) + static_cast<size_t>(slot) * room; };
  const ConvF32& s = *p.patches;
  const int64_t all = s.n * s.out[1], macs = at_least(p.m * p.n * p.k, 1), slots = parallel.slots;
  if (p.m >= 4 * kBf16RowGroup * slots && all >= slots) {
    const int64_t share = (all + slots - 1) / slots;
    parallel.for_range(all, at_least(kGrainMacs * all / macs + 1, share),
                       [&](int64_t begin, int64_t end, int32_t slot) { product(p, begin, end, 0, p.n, mine(slot)); });
    return;
  }
  const int64_t units = (p.n + kBf16Columns - 1) / kBf16Columns, share = (units + slots - 1) / slots;
  parallel.for_range(units, at_least(kGrainMacs * units / macs, share), [&](int64_t begin, int64_t end, int32_t slot) {
    product(p, 0, all, begin * kBf16Columns, at_most(end * kBf16Columns, p.n), mine(slot));
  });
}

bool has_tiles() { return has_amx_bf16() || has_sme_bf16(); }

Bf16Product product_of(const GemmBf16& s, const Bf16Operands& o) {
  return {s.m,      s.n, s.k, &s.epilogue, o.a,   o.a_half,   s.lda,      nullptr,
          s.packed, 0,   o.c, o.c_half,    s.ldc, o.residual, has_tiles()};
}

int64_t area(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }
int64_t depth_of(const ConvF32& s) { return s.in_channels * area(s.kernel); }
}  // namespace

int64_t bf16_block_rows(int64_t m, int64_t k) {
  const int64_t most = at_least(kBlockElements / bf16_row(k) / kBf16RowGroup, 1) * kBf16RowGroup;
  return at_most(at_most(round_up(m, kBf16RowGroup), kMostRows), most);
}

size_t bf16_left_bytes(int64_t m, int64_t k) {
  const int64_t row = bf16_row(k), group = kBf16RowGroup * row;
  // Whole tiles, where there may be any.
  const int64_t rows = m < kFewestTileRows ? m : at_most(round_up(m, kBf16RowGroup), kMostRows);
  return static_cast<size_t>(at_most(rows * row, at_least(kBlockElements, group))) * sizeof(float);
}
int64_t bf16_left_elements(int64_t m, int64_t k) {
  return at_most(static_cast<int64_t>(bf16_left_bytes(m, k) / sizeof(uint16_t)), kBlockElements);
}
int64_t bf16_sum_floats(int64_t m, int64_t n) {
  const int64_t rows = at_most(m, kBf16MostSumRows);
  return at_most(rows * round_up(n, kBf16Columns), kBf16SumFloats + rows * kBf16Columns);
}

int64_t bf16_packed_elements(int64_t n, int64_t k) { return round_up(n, kBf16Columns) * round_up(k, kBf16Depth); }

void pack_bf16(const Columns16& b, int64_t n, int64_t k, const Parallel& parallel, uint16_t* packed) {
  const int64_t depth = round_up(k, kBf16Depth);
  parallel.for_range((n + kBf16Columns - 1) / kBf16Columns, at_least(1, 32768 / at_least(depth * kBf16Columns, 1)),
                     [&](int64_t begin, int64_t end, int32_t) {
                       pack_panels(b, k, begin * kBf16Columns, at_most(end * kBf16Columns, n),
                                   packed + begin * kBf16Columns * depth);
                     });
}

size_t gemm_bf16_scratch_bytes(int64_t m, int64_t n, int64_t k, int32_t slots, bool packed, bool half) {
  if (m <= 0 || n <= 0) return 0;
  return room_bytes(m, n, k, packed, half) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void gemm_bf16(const GemmBf16& s, const Bf16Operands& operands, const Parallel& parallel, void* scratch) {
  run(product_of(s, operands), s.b, parallel, scratch);
}

void gemm_bf16_plain_tiles(const GemmBf16& s, const Bf16Operands& operands, void* scratch) {
  if (s.m > 0 && s.n > 0) HWY_STATIC_DISPATCH(plain_tiles_product)(product_of(s, operands), scratch);
}

size_t conv_bf16_scratch_bytes(const ConvF32& s, int32_t slots, bool packed, bool half) {
  return gemm_bf16_scratch_bytes(s.n * area(s.out), s.out_channels, depth_of(s), slots, packed, half);
}

namespace {
// kPlain: on tiles in plain C++, where lines can be read.
template <bool kPlain>
void conv_on(const ConvF32& s, const Bf16Operands& o, const void* weights, const uint16_t* packed,
             const Parallel& parallel, void* scratch) {
  Epilogue e;
  e.col_bias = s.bias;
  e.residual = s.residual;
  e.residual_stride = s.out_channels;
  e.residual_last = s.residual_last;
  e.residual_times = s.residual_times;
  e.col_slope = s.slope;
  e.act = s.act;
  bool dense = area(s.kernel) == 1;  // x as it lies
  for (int i = 0; i < 3; ++i) dense = dense && s.stride[i] == 1 && s.pad[i] == 0 && s.in[i] == s.out[i];
  const Bf16Product p{s.n * area(s.out),     s.out_channels, depth_of(s), &e,  o.a,      o.a_half,       s.in_channels,
                      dense ? nullptr : &s,  packed,         0,           o.c, o.c_half, s.out_channels, o.residual,
                      has_tiles() && !kPlain};
  const bool lines = packed != nullptr && !dense && s.in_channels > 0 && p.m > 0 && p.n > 0 &&
                     Bf16Lines(s, p.m, p.k).most > 0 && (!ends_half(p) || s.out[2] <= kBf16MostSumRows);
  if constexpr (kPlain) {
    if (lines && p.m >= kFewestTileRows && Bf16Lines::serve_tiles(s))
      return run_lines(&HWY_STATIC_DISPATCH(plain_tiles_lines), p, parallel, scratch);
  }
  if (lines && HWY_DYNAMIC_DISPATCH(bf16_takes_lines)(p))
    return run_lines(HWY_DYNAMIC_POINTER(bf16_lines), p, parallel, scratch);
  run(p, Columns16::filters(weights, s.in_channels, area(s.kernel)), parallel, scratch);
}
}  // namespace

void conv_bf16(const ConvF32& s, const Bf16Operands& operands, const void* weights, const uint16_t* packed,
               const Parallel& parallel, void* scratch) {
  conv_on<false>(s, operands, weights, packed, parallel, scratch);
}
void conv_bf16_plain_tiles(const ConvF32& s, const Bf16Operands& operands, const void* weights, const uint16_t* packed,
                           const Parallel& parallel, void* scratch) {
  conv_on<true>(s, operands, weights, packed, parallel, scratch);
}

}  // namespace vireo::cpu
#endif
