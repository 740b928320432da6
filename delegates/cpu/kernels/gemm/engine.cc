#include "delegates/cpu/kernels/gemm/engine.h"

#include "delegates/cpu/kernels/sme/sme.h"
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/gemm/engine.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/gemm/outer-inl.h"
#include "delegates/cpu/kernels/gemm/sums-inl.h"
#include "delegates/cpu/kernels/half/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
// B: float, or uint16_t for float16, which is widened as it is loaded.
template <class B>
struct Tile : Sums {
  int64_t k;
  const float* a;
  int64_t a_row, a_col;
  const B* b;
  int64_t b_row;
  const char* ahead;  // one line is fetched for each step of k, `ahead_step` bytes apart: what comes next
  int64_t ahead_step;
};
constexpr int64_t kLine = 64;

HWY_INLINE VF load_b(const float* b) { return hn::LoadU(DF(), b); }
HWY_INLINE VF load_b(const uint16_t* b) { return load_half(DF(), b); }

// kVectors: 1 where no more columns are valid than one vector has; what a panel holds beside them is not read.
template <int kTileRows, int kVectors, class B>
HWY_NOINLINE void tile_kernel(const Tile<B>& t) {
  const DF d;
  VF acc[kTileRows][kVectors];
  begin_sums(t, acc);
  const float* a = t.a;
  const B* b = t.b;
  const char* ahead = t.ahead;
  const int64_t a_row = t.a_row, a_col = t.a_col, b_row = t.b_row, ahead_step = t.ahead_step;
  for (int64_t p = t.k; p > 0; --p) {
    VF bv[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) bv[v] = load_b(b + v * kLanes);
    VIREO_UNROLL
    for (int i = 0; i < kTileRows; ++i) {
      const VF ai = hn::Set(d, a[i * a_row]);
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::MulAdd(ai, bv[v], acc[i][v]);
    }
    __builtin_prefetch(ahead, 0, 2);  // to the second level: the first one is full with what is in use
    a += a_col;
    b += b_row;
    ahead += ahead_step;
  }

  end_sums(t, acc);
}

// One row times a panel, which is one stream. Two vectors of sums would wait for each other: those of a panel go on
// side by side, and so do four (fewer of narrow vectors) sums along k. Of a panel that is not full the first kUsed
// pairs of vectors are read.
constexpr int kPairs = static_cast<int>(kPanelColumns / kWidth);
template <int kUsed>
HWY_NOINLINE void row_kernel(const float* a, const float* b, int64_t k, const Sums* tiles, int64_t count) {
  constexpr int kChains = kUsed >= 4 ? 1 : 4 / kUsed;
  const DF d;
  VF acc[kChains][kUsed][1][2];
  VIREO_UNROLL
  for (int j = 0; j < kUsed; ++j) {
    acc[0][j][0][0] = acc[0][j][0][1] = hn::Zero(d);
    if (j < count) begin_sums(tiles[j], acc[0][j]);
    VIREO_UNROLL
    for (int c = 1; c < kChains; ++c) acc[c][j][0][0] = acc[c][j][0][1] = hn::Zero(d);
  }
  int64_t p = 0;
  for (; p + kChains <= k; p += kChains, b += kChains * kPanelColumns) {
    VIREO_UNROLL
    for (int c = 0; c < kChains; ++c) {
      const VF ai = hn::Set(d, a[p + c]);
      const float* const row = b + c * kPanelColumns;
      VIREO_UNROLL
      for (int j = 0; j < kUsed; ++j) {
        acc[c][j][0][0] = hn::MulAdd(ai, hn::LoadU(d, row + j * kWidth), acc[c][j][0][0]);
        acc[c][j][0][1] = hn::MulAdd(ai, hn::LoadU(d, row + j * kWidth + kLanes), acc[c][j][0][1]);
      }
    }
  }
  for (; p < k; ++p, b += kPanelColumns) {
    const VF ai = hn::Set(d, a[p]);
    VIREO_UNROLL
    for (int j = 0; j < kUsed; ++j) {
      acc[0][j][0][0] = hn::MulAdd(ai, hn::LoadU(d, b + j * kWidth), acc[0][j][0][0]);
      acc[0][j][0][1] = hn::MulAdd(ai, hn::LoadU(d, b + j * kWidth + kLanes), acc[0][j][0][1]);
    }
  }
  VIREO_UNROLL
  for (int j = 0; j < kUsed; ++j) {
    VIREO_UNROLL
    for (int step = 1; step < kChains; step *= 2) {
      VIREO_UNROLL
      for (int c = 0; c + step < kChains; c += 2 * step) {
        acc[c][j][0][0] = hn::Add(acc[c][j][0][0], acc[c + step][j][0][0]);
        acc[c][j][0][1] = hn::Add(acc[c][j][0][1], acc[c + step][j][0][1]);
      }
    }
    if (j < count) end_sums(tiles[j], acc[0][j]);
  }
}

template <class B>
using TileKernel = void (*)(const Tile<B>&);
template <class B, int kVectors>
constexpr TileKernel<B> kTileKernels[] = {
    nullptr,
    tile_kernel<1, kVectors, B>,
    tile_kernel<2, kVectors, B>,
    tile_kernel<3, kVectors, B>,
    tile_kernel<4, kVectors, B>,
    tile_kernel<5, kVectors, B>,
    tile_kernel<6, kVectors, B>,
#if VIREO_32_REGISTERS
    tile_kernel<7, kVectors, B>,
    tile_kernel<8, kVectors, B>,
    tile_kernel<9, kVectors, B>,
    tile_kernel<10, kVectors, B>,
    tile_kernel<11, kVectors, B>,
    tile_kernel<12, kVectors, B>,
    tile_kernel<13, kVectors, B>,
    tile_kernel<14, kVectors, B>,
#endif
};

// Packed B from column n0 and row k0 on. Panels may be wider than a tile: then a tile reads a part of each row.
template <class B>
struct Panels {
  const B* data = nullptr;
  int64_t width = kWidth, step = 0;  // elements of a row of a panel, and from one panel to the next

  const B* at(int64_t column) const { return data + column / width * step + column % width; }
};

// What the next blocks of B will read, fetched while this one is used: runs of `bytes`, `step` apart, `count` of them.
struct Ahead {
  const char* data = nullptr;
  int64_t bytes = 0, step = 0, count = 0;
  int64_t run = 0, at = 0;

  // Runs of elements.
  template <class B>
  Ahead(const B* from, int64_t elements, int64_t elements_apart, int64_t runs)
      : data(reinterpret_cast<const char*>(from)),
        bytes(elements * static_cast<int64_t>(sizeof(B))),
        step(elements_apart * static_cast<int64_t>(sizeof(B))),
        count(runs) {}
  Ahead() = default;

  // One line for each of `k` steps of a tile.
  template <class B>
  void next(int64_t k, Tile<B>* t) {
    t->ahead = data + run * step + at;
    t->ahead_step = kLine;
    at += kLine * k;
    if (at < bytes) return;
    at = 0;
    ++run;
  }
};

#if HWY_ARCH_ARM_A64
// A block that outer products are used for. Where they are makes no difference to a bit of C: sums begin and go on as
// in tile_kernel.
bool outer_serves(int64_t rows, int64_t columns, int64_t k) {
  return rows >= kFewestSmeRows && columns >= kWidth && k >= 16 && has_sme_f32();
}

// block_product for rows [m0, m1). Sums stay in C; A is transposed, in parts of 32 KiB.
void outer_block(const Product& p, const SumsOf& sums, int64_t m0, int64_t m1, int64_t n0, int64_t nc, int64_t k0,
                 int64_t kc, const Panels<float>& panels) {
  constexpr int64_t kLeft = 8 * 1024;
  HWY_ALIGN float left[kLeft];
  const int64_t group = 2 * sme_words(), depth = kLeft / group, unit = static_cast<int64_t>(sizeof(float));
  OuterProduct o;
  const bool packed = panels.data != nullptr;
  o.b_step = (packed ? panels.width : p.b.row_stride) * unit;
  o.columns = nc;
  o.panel = packed ? panels.width : nc;
  o.panel_step = panels.step * unit;
  o.c_step = p.c_row * unit;
  o.add = 1;
  for (int64_t m = m0; m < m1; m += group) {
    o.rows = m1 - m < group ? m1 - m : group;
    o.c = p.c + m * p.c_row + n0;
    begin_outer(sums, m, o.rows, n0, nc);
    for (int64_t k = 0; k < kc; k += depth) {
      o.k = kc - k < depth ? kc - k : depth;
      const float* const a = p.a + m * p.a_row + (k0 + k) * p.a_col;
      o.b = packed ? panels.data + k * panels.width : p.b.rows + (k0 + k) * p.b.row_stride + n0;
      o.a = left;
      o.a_step = o.rows * unit;
      if (p.a_row == 1) {
        o.a = a;  // lies transposed
        o.a_step = p.a_col * unit;
      } else if (p.a_col == 1) {
        sme_transpose(a, p.a_row * unit, o.rows, o.k * unit, left);
      } else {
        for (int64_t i = 0; i < o.k * o.rows; ++i) left[i] = a[i % o.rows * p.a_row + i / o.rows * p.a_col];
      }
      sme_outer_f32(o);
    }
    end_outer(sums, m, o.rows, n0, nc);
    sums.finish(m, o.rows, n0, nc);
  }
}
#endif

// Sums for rows of blocks [block0, block1) and columns [n0, n0 + nc) over k in [k0, k0 + kc). `panels` holds packed B
// for just that part; without data, B is float and read in place, whole panels only.
template <class B>
void block_product(const Product& p, const Bounds& bounds, int64_t block0, int64_t block1, int64_t n0, int64_t nc,
                   int64_t k0, int64_t kc, const Panels<B>& panels, Ahead ahead = {}) {
  const RowBlocks blocks(p.m);
  const SumsOf sums{*p.epilogue, bounds, k0 == 0, k0 + kc == p.k, p.c, p.c_row};
#if HWY_ARCH_ARM_A64
  if constexpr (sizeof(B) == sizeof(float)) {
    const int64_t m0 = blocks.begin(block0), m1 = blocks.begin(block1);
    if (outer_serves(m1 - m0, nc, kc)) return outer_block(p, sums, m0, m1, n0, nc, k0, kc, panels);
  }
#endif
  Tile<B> t;
  t.k = kc;
  t.a_row = p.a_row;
  t.a_col = p.a_col;
  const bool packed = panels.data != nullptr;
  t.b_row = packed ? panels.width : p.b.row_stride;
  for (int64_t block = block0; block < block1; ++block) {
    const int64_t m0 = blocks.begin(block), rows = blocks.begin(block + 1) - m0;
    const TileKernel<B> kernel = kTileKernels<B, 2>[rows], narrow = kTileKernels<B, 1>[rows];
    t.a = p.a + m0 * p.a_row + k0 * p.a_col;
    // Weights are used once per block of columns and come from far away. Where whole rows are in use, the next rows
    // follow these in memory and fit into one line per step of k (kRows <= 16).
    const bool rows_ahead = p.a_col == 1 && p.a_row == kc && block + 1 < blocks.count;
    sums.set_rows(m0, &t);
    for (int64_t j = 0; j < nc; j += kWidth) {
      t.columns = nc - j < kWidth ? nc - j : kWidth;
      t.b = panels.at(j);
      if constexpr (sizeof(B) == sizeof(float)) t.b = packed ? t.b : p.b.rows + k0 * p.b.row_stride + n0 + j;
      sums.set_tile(m0, n0 + j, &t);
      t.ahead = reinterpret_cast<const char*>(t.b);
      t.ahead_step = 0;
      if (!packed && block == block0 && j + 2 * kWidth <= nc) {
        // rows of B that lie far apart: no stride prefetcher follows them
        t.ahead = reinterpret_cast<const char*>(t.b + kWidth);
        t.ahead_step = t.b_row * static_cast<int64_t>(sizeof(B));
      } else if (rows_ahead && j == 0) {
        t.ahead = reinterpret_cast<const char*>(t.a + rows * p.a_row);
        t.ahead_step = kLine;
      } else if (ahead.run < ahead.count) {
        ahead.next(kc, &t);
      }
      t.columns <= kLanes ? narrow(t) : kernel(t);
    }
    sums.finish(m0, rows, n0, nc);
  }
}

// The columns [n0, n1) of a product of one row.
void row_product(const Product& p, const float* panels, int64_t n0, int64_t n1) {
  const Bounds bounds = bounds_of(*p.epilogue);
  const SumsOf sums{*p.epilogue, bounds, true, true, p.c, p.c_row};
  Sums tiles[kPairs];
  for (Sums& t : tiles) sums.set_rows(0, &t);
  for (int64_t n = n0; n < n1; n += kPanelColumns) {
    const int64_t columns = n1 - n < kPanelColumns ? n1 - n : kPanelColumns;
    const int64_t count = (columns + kWidth - 1) / kWidth;
    for (int64_t j = 0; j < count; ++j) {
      tiles[j].columns = columns - j * kWidth < kWidth ? columns - j * kWidth : kWidth;
      sums.set_tile(0, n + j * kWidth, &tiles[j]);
    }
    const auto kernel = count == 1 ? row_kernel<1> : count == 2 && kPairs > 2 ? row_kernel<2> : row_kernel<kPairs>;
    kernel(p.a, panels + n * p.k, p.k, tiles, count);
  }
  sums.finish(0, 1, n0, n1 - n0);
}

// All of k for the columns [n0, n1), packing or reading in place as the plan says.
void columns_product(const Product& p, const ProductPlan& plan, const Bounds& bounds, int64_t n0, int64_t n1,
                     float* panels) {
  const int64_t blocks = RowBlocks(p.m).count;
#if HWY_ARCH_ARM_A64
  const int64_t width = has_sme_f32() ? kPanelColumns : kWidth;  // outer products take panels as they come
#else
  constexpr int64_t width = kWidth;
#endif
  for (int64_t n = n0; n < n1; n += plan.nc) {
    const int64_t nc = n1 - n < plan.nc ? n1 - n : plan.nc;
    const int64_t in_place = plan.direct ? nc / kWidth * kWidth : 0;
    for (int64_t k0 = 0; k0 == 0 || k0 < p.k; k0 += plan.kc) {  // once for K = 0: bias alone
      const int64_t kc = p.k - k0 < plan.kc ? p.k - k0 : plan.kc;
      if (in_place > 0) block_product(p, bounds, 0, blocks, n, in_place, k0, kc, Panels<float>{});
      if (in_place < nc) {
        p.b.pack(p.b.context, k0, kc, n + in_place, nc - in_place, width, panels);
        block_product(p, bounds, 0, blocks, n + in_place, nc - in_place, k0, kc,
                      Panels<float>{panels, width, kc * width});
      }
    }
  }
}

void product_serial(const Product& p, const ProductPlan& plan, int64_t n0, int64_t n1, float* panels) {
  columns_product(p, plan, bounds_of(*p.epilogue), n0, n1, panels);
}

int64_t row_block_count(int64_t m) { return RowBlocks(m).count; }

void pack_panels(const Product& p, int64_t panel0, int64_t panel1, float* panels) {
  const int64_t n0 = panel0 * kPanelColumns, n1 = panel1 * kPanelColumns < p.n ? panel1 * kPanelColumns : p.n;
  p.b.pack(p.b.context, 0, p.k, n0, n1 - n0, kPanelColumns, panels + n0 * p.k);
}

// Rows of blocks [block0, block1) and columns [n0, n1), n0 at the beginning of a panel. `nc` columns and `kc` rows of
// B at a time stay in the cache while all rows of A pass.
template <class B>
void packed_product_of(const Product& p, const B* panels, int64_t kc, int64_t nc, int64_t block0, int64_t block1,
                       int64_t n0, int64_t n1) {
  const Bounds bounds = bounds_of(*p.epilogue);
  const int64_t step = p.k * kPanelColumns;
  const auto columns_at = [&](int64_t n) { return n1 - n < nc ? n1 - n : nc; };
  const auto depth_at = [&](int64_t k0) { return p.k - k0 < kc ? p.k - k0 : kc; };
  // What follows n1 is mostly the same thread's next part.
  const auto next_at = [&](int64_t n) { return p.n - n < nc ? p.n - n : nc; };
  for (int64_t n = n0; n < n1; n += nc) {
    for (int64_t k0 = 0; k0 == 0 || k0 < p.k; k0 += kc) {
      // Weights come from far away, and every panel ends the stream that a prefetcher follows.
      const bool last = k0 + kc >= p.k;
      const int64_t n2 = last ? n + columns_at(n) : n, k2 = last ? 0 : k0 + kc;
      Ahead ahead;
      if (n2 < p.n) {
        ahead = Ahead(panels + n2 * p.k + k2 * kPanelColumns, depth_at(k2) * kPanelColumns, step,
                      (next_at(n2) + kPanelColumns - 1) / kPanelColumns);
      }
      block_product(p, bounds, block0, block1, n, columns_at(n), k0, depth_at(k0),
                    Panels<B>{panels + n * p.k + k0 * kPanelColumns, kPanelColumns, step}, ahead);
    }
  }
}

void packed_product(const Product& p, const float* panels, int64_t kc, int64_t nc, int64_t block0, int64_t block1,
                    int64_t n0, int64_t n1) {
  if (p.m == 1 && !p.part && p.a_col == 1) return row_product(p, panels, n0, n1);
  packed_product_of(p, panels, kc, nc, block0, block1, n0, n1);
}

// A tile of 14 rows widens two vectors for 28 sums, which costs little. Tiles of 6 rows widen panels that many rows of
// A use once for all of them, as many columns and rows of B at a time as half of a first-level cache holds. The sums
// are the same: they go on in C.
constexpr int64_t kWidened = 4 * 1024;
constexpr int64_t kFewestToWiden = 3;  // blocks of rows
void packed_half_product(const Product& p, const uint16_t* panels, int64_t kc, int64_t nc, int64_t block0,
                         int64_t block1, int64_t n0, int64_t n1) {
  if (kRows > 6 || block1 - block0 < kFewestToWiden)
    return packed_product_of(p, panels, kc, nc, block0, block1, n0, n1);
  HWY_ALIGN float wide[kWidened];
  const Bounds bounds = bounds_of(*p.epilogue);
  const int64_t most = kWidened / kWidth, parts = (p.k + most - 1) / most;
  const int64_t deep = parts > 0 ? (p.k + parts - 1) / parts : 1, width = kWidened / deep / kWidth * kWidth;
  const Panels<uint16_t> from{panels, kPanelColumns, p.k * kPanelColumns};
  for (int64_t n = n0; n < n1; n += width) {
    const int64_t columns = n1 - n < width ? n1 - n : width;
    for (int64_t k0 = 0; k0 == 0 || k0 < p.k; k0 += deep) {
      const int64_t depth = p.k - k0 < deep ? p.k - k0 : deep;
      for (int64_t j = 0; j < columns; j += kLanes) {
        const uint16_t* const b = from.at(n + j) + k0 * kPanelColumns;
        for (int64_t k = 0; k < depth; ++k) hn::StoreU(load_b(b + k * kPanelColumns), DF(), wide + k * width + j);
      }
      block_product(p, bounds, block0, block1, n, columns, k0, depth, Panels<float>{wide, width, 0});
    }
  }
}

// While one product's panels are in use, the next one's come.
void packed_series(const Product& first, const float* panels, int64_t panel_step, const Series& series, int64_t kc) {
  const Bounds bounds = bounds_of(*first.epilogue);
  const int64_t blocks = RowBlocks(first.m).count;
  Product p = first;
  for (int64_t i = 0; i < series.count; ++i) {
    const float* const b = panels + i * series.panels_step;
    for (int64_t k0 = 0; k0 < p.k; k0 += kc) {
      const int64_t depth = p.k - k0 < kc ? p.k - k0 : kc;
      const bool last = k0 + kc >= p.k;
      Ahead ahead;
      if (!last || i + 1 < series.count) {
        const int64_t depth_ahead = last ? (p.k < kc ? p.k : kc) : p.k - k0 - kc < kc ? p.k - k0 - kc : kc;
        ahead = Ahead(last ? b + series.panels_step : b + (k0 + kc) * kPanelColumns, depth_ahead * kPanelColumns,
                      panel_step, (p.n + kPanelColumns - 1) / kPanelColumns);
      }
      block_product(p, bounds, 0, blocks, 0, p.n, k0, depth,
                    Panels<float>{b + k0 * kPanelColumns, kPanelColumns, panel_step}, ahead);
    }
    p.a += series.a_step;
    p.c += series.c_step;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(product_serial);
HWY_EXPORT(row_block_count);
HWY_EXPORT(pack_panels);
HWY_EXPORT(packed_product);
HWY_EXPORT(packed_half_product);
HWY_EXPORT(packed_series);

namespace {
constexpr int64_t kPanel = kPanelColumns;           // the widest register tile; narrower ones divide it
constexpr int64_t kCacheFloats = 128 * 1024;        // packed B kept in a core's own cache: 512 KiB
constexpr int64_t kBlockFloats = 32 * 1024;         // of B that is packed already: the next such block comes meanwhile
constexpr int64_t kNearFloats = 16 * 1024;          // B that is near as it lies: 64 KiB
constexpr int64_t kSharedFloats = 2 * 1024 * 1024;  // packed B for all threads at once: 8 MiB
constexpr int64_t kFewPanels = 8;                   // per thread: fewer split too unevenly
constexpr int64_t kGrainMacs = int64_t{1} << 18;    // 2 to 5 us of an AVX-512 core, several times what a call costs

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

// Rows of packed B at a time: blocks of one size.
int64_t packed_depth(int64_t k) { return at_least(ceil_div(k, at_least(ceil_div(k, 512), 1)), 1); }
}  // namespace

size_t product_scratch_bound(int64_t m, int64_t n, int64_t k, int32_t slots) {
  if (m <= 0 || n <= 0) return 0;
  // A slot packs at most kCacheFloats, whatever kc and nc: kc >= 1 and nc are chosen within that product.
  const int64_t padded = ceil_div(n, kPanel) * kPanel, depth = at_least(k, 1);
  const int64_t threads = slots < 1 ? 1 : slots;
  int64_t floats = threads * at_most(kCacheFloats, depth * padded);
  if (threads > 1 && m >= 28 * threads) {
    floats = at_least(floats, at_most(kSharedFloats, depth * at_most(padded, kFewPanels * threads * kPanel)));
  }
  return static_cast<size_t>(floats) * sizeof(float);
}

ProductPlan plan_product(int64_t m, int64_t n, int64_t k, bool rows_in_place, int32_t slots) {
  ProductPlan plan{};
  if (m <= 0 || n <= 0) return plan;
  const int64_t panels = ceil_div(n, kPanel), padded = panels * kPanel;
  // Packing reads and writes each element of B once; below two blocks of rows that costs more than it saves, and where
  // B stays in a core's own cache it saves nothing.
  plan.direct = rows_in_place && (m <= 28 || k * n <= kNearFloats);
  int64_t kc = 512;
  if (plan.direct) {
    kc = 256;  // rows of B that are swept together: as many as the first-level TLB maps pages
  } else if (kc * padded < kCacheFloats) {
    kc = kCacheFloats / padded;  // few columns: deeper blocks, fewer passes over C
  }
  if (k > kc) kc = at_least(ceil_div(k, ceil_div(k, kc)), 1);
  plan.kc = at_least(at_most(kc, k), 1);
  if (plan.direct) {
    plan.nc = padded;
    plan.slot_bytes = n % kPanel == 0 ? 0 : static_cast<size_t>(plan.kc * kPanel) * sizeof(float);
  } else {
    plan.nc = at_most(padded, at_least(kCacheFloats / plan.kc / kPanel, 1) * kPanel);
    plan.slot_bytes = static_cast<size_t>(plan.kc * plan.nc) * sizeof(float);
  }
  if (slots <= 1) {
    plan.bytes = plan.slot_bytes;
    return plan;
  }
  // Few columns split badly between threads; then all of B is packed once for everybody.
  plan.split_rows = !plan.direct && panels < kFewPanels * slots && m >= 28 * slots && k * padded <= kSharedFloats;
  if (plan.split_rows) {
    plan.bytes = static_cast<size_t>(k * padded) * sizeof(float);
    if (plan.bytes < plan.slot_bytes) plan.bytes = plan.slot_bytes;  // it may still run on one thread
  } else {
    plan.bytes = plan.slot_bytes * static_cast<size_t>(slots);
  }
  return plan;
}

void run_product(const Product& p, const ProductPlan& plan, const Parallel& parallel, void* scratch) {
  if (p.m <= 0 || p.n <= 0) return;
  float* const room = static_cast<float*>(scratch);
  const int64_t macs = p.m * p.n * p.k;
  const auto serial = HWY_DYNAMIC_POINTER(product_serial);
  if (parallel.run == nullptr || parallel.slots <= 1 || macs < 2 * kGrainMacs) {
    serial(p, plan, 0, p.n, room);
    return;
  }
  if (plan.split_rows) {
    pack_product(p, parallel, room);
    run_packed(p, room, parallel);
    return;
  }
  const int64_t panels = ceil_div(p.n, kPanel);
  const int64_t grain =
      at_least(ceil_div(panels, 4 * int64_t{parallel.slots}), kGrainMacs / at_least(macs / panels, 1));
  parallel.for_range(panels, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    serial(p, plan, begin * kPanel, at_most(end * kPanel, p.n),
           room + static_cast<size_t>(slot) * (plan.slot_bytes / sizeof(float)));
  });
}

void pack_product(const Product& p, const Parallel& parallel, float* panels) {
  const auto pack = HWY_DYNAMIC_POINTER(pack_panels);
  parallel.for_range(ceil_div(p.n, kPanel), at_least(1, 32768 / at_least(p.k * kPanel, 1)),
                     [&](int64_t begin, int64_t end, int32_t) { pack(p, begin, end, panels); });
}

void run_packed_series(const Product& first, const float* panels, int64_t panel_step, const Series& series) {
  if (first.m <= 0 || first.n <= 0) return;
  HWY_DYNAMIC_DISPATCH(packed_series)(first, panels, panel_step, series, packed_depth(first.k));
}

namespace {
template <class B>
using PackedProduct = void (*)(const Product& p, const B* panels, int64_t kc, int64_t nc, int64_t block0,
                               int64_t block1, int64_t n0, int64_t n1);

template <class B>
void run_packed_by(PackedProduct<B> product, const Product& p, const B* panels, const Parallel& parallel) {
  const int64_t blocks = HWY_DYNAMIC_DISPATCH(row_block_count)(p.m), columns = ceil_div(p.n, kPanel);
  const int64_t depth = packed_depth(p.k);
  // A block of A that stays in the core's own cache is read again at little cost, and B comes in smaller steps.
  const int64_t block = p.m * depth <= kCacheFloats ? kBlockFloats : kCacheFloats;
  int64_t nc = at_least(block / depth / kPanel, 1) * kPanel;
  if (has_sme_f32()) nc = at_least(nc, 512);  // rows of A are transposed for each such block
  const int64_t macs = p.m * p.n * p.k;
  if (parallel.run == nullptr || parallel.slots <= 1 || macs < 2 * kGrainMacs) {
    product(p, panels, depth, nc, 0, blocks, 0, p.n);
    return;
  }
  // The longer side is cut: a part of it meets all of the other side's operand, which each thread reads once a part.
  const int64_t wanted = 4 * int64_t{parallel.slots};
  const bool by_rows = (p.m > p.n ? blocks : columns) >= wanted ? p.m > p.n : blocks > columns;
  if (by_rows) {
    const int64_t grain = at_least(1, kGrainMacs / at_least(macs / blocks, 1));
    parallel.for_range(blocks, grain,
                       [&](int64_t begin, int64_t end, int32_t) { product(p, panels, depth, nc, begin, end, 0, p.n); });
  } else {
    const int64_t grain = at_least(1, kGrainMacs / at_least(macs / columns, 1));
    parallel.for_range(columns, grain, [&](int64_t begin, int64_t end, int32_t) {
      product(p, panels, depth, nc, 0, blocks, begin * kPanel, at_most(end * kPanel, p.n));
    });
  }
}
}  // namespace

void run_packed(const Product& p, const float* panels, const Parallel& parallel) {
  if (p.m > 0 && p.n > 0) run_packed_by(HWY_DYNAMIC_POINTER(packed_product), p, panels, parallel);
}
void run_packed(const Product& p, const uint16_t* panels, const Parallel& parallel) {
  if (p.m > 0 && p.n > 0) run_packed_by(HWY_DYNAMIC_POINTER(packed_half_product), p, panels, parallel);
}

void finish_rows_of(const Epilogue& e, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float* c, int64_t c_row) {
  for (int64_t i = m0; i < m1; ++i) {
    RowFinish finish;
    finish.scale = e.alpha;
    finish.row_bias = e.row_bias != nullptr ? e.row_bias[i] : 0;
    finish.col_bias = e.col_bias != nullptr ? e.col_bias + n0 : nullptr;
    if (e.residual != nullptr) e.put_residual(e.residual + i * e.residual_stride + n0, &finish);
    finish.residual_scale = e.residual_scale;
    finish.f = activation_of_row(e.act, e.row_slope != nullptr ? e.row_slope + i : nullptr);
    finish.slope = e.col_slope != nullptr ? e.col_slope + n0 : nullptr;
    finish_row_f32(c + i * c_row + n0, n1 - n0, finish);
  }
}
}  // namespace vireo::cpu
#endif
