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

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "delegates/cpu/kernels/intgemm/quad_tile-inl.h"
#include "delegates/cpu/kernels/intgemm/tiles.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// The largest tile for what rows are left: 24 of 32 registers for sums, 12 where there is 1 vector (2 ports x 5 cycles
// of latency ask for 10).
template <int kVectors>
HWY_INLINE int64_t next_tile(int64_t rows, void (**tile)(const QuadTile&)) {
  constexpr int kMost = kVectors == 4 ? 6 : kVectors == 3 ? 8 : 12;
  if (rows >= kMost) {
    *tile = quad_tile<kMost, kVectors>;
    return kMost;
  }
  *tile = rows >= 4 ? quad_tile<4, kVectors> : rows >= 2 ? quad_tile<2, kVectors> : quad_tile<1, kVectors>;
  return rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
}
// The same of windows. A row alone takes as long as two and a half: 7 are 4 and 3, 5 are 3 and 2.
template <int kVectors>
HWY_INLINE int64_t next_windows(int64_t rows, void (**tile)(const WindowSums&)) {
  constexpr int kMost = kVectors == 4 ? 6 : kVectors == 3 ? 8 : 12;
  if (rows >= kMost && rows != kMost + 1) {
    *tile = window_sums<kMost, kVectors>;
    return kMost;
  }
  const int64_t count = rows >= 4 && rows != 5 ? 4 : rows >= 3 ? 3 : rows;
  *tile = count == 4   ? window_sums<4, kVectors>
          : count == 3 ? window_sums<3, kVectors>
          : count == 2 ? window_sums<2, kVectors>
                       : window_sums<1, kVectors>;
  return count;
}

// Rows [m0, m1) of one panel of columns.
class QuadPanels {
 public:
  QuadPanels(const IntProduct& p, int64_t m0, int64_t m1, void* scratch)
      : p_(p),
        m0_(m0),
        m1_(m1),
        flip_(p.b_signed == p.a_signed ? 0x80 : 0),
        depth_(p.packed != nullptr && p.k > 0 ? p.k : int_depth(p.k)),
        tiles_(p.k >= kTileDepth && m1 - m0 >= kTileRows && p.line_step == 0 ? p.tiles : nullptr),
        panel_(static_cast<uint8_t*>(scratch)),
        starts_(reinterpret_cast<int32_t*>(panel_ + (int_depth(p.k) + 63) / 64 * 64 * kIntPanel)),
        sums_(starts_ + p.m),
        finish_(p.finish != nullptr ? *p.finish : none_,
                p.finish == nullptr || products_in_range(p.finish->multiplier, multipliers_of(p))),
        second_(p.finish != nullptr ? *p.finish : none_, finish_.in_range(), p.n) {
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
    rests_ = !uniform && (p.finish == nullptr || p.finish->bias == nullptr || p.finish->bias_per_column);
    const int32_t bz = uniform ? zero_at(p.b_zero, p.b_signed, 0) + moved : 0;
    for (int64_t m = m0; m < m1; ++m) {
      uint32_t start = 0;
      if (p.finish != nullptr && p.finish->bias != nullptr && !p.finish->bias_per_column)
        start = static_cast<uint32_t>(p.finish->bias[m]);
      if (bz != 0) start += static_cast<uint32_t>(bz) * rest(m);
      if (rests_) start = rest(m);
      starts_[m - m0] = static_cast<int32_t>(start);
    }
  }

  // Columns [n, n + columns), at most kQuadColumns<kVectors>; `more`: others follow.
  template <int kVectors>
  void run(int64_t n, int64_t columns, bool more) {
    constexpr int64_t kColumns = kQuadColumns<kVectors>;
    HWY_ALIGN int32_t column_sums[kColumns];
    HWY_ALIGN int32_t lane_start[kColumns];
    HWY_ALIGN float lane_multiplier[kColumns];
    const bool by_column = p_.finish != nullptr && p_.finish->multiplier_per_column;
    const bool column_bias = p_.finish != nullptr && p_.finish->bias != nullptr && p_.finish->bias_per_column;
    // Zero points that differ along one side, or both: each tile's sums begin with products of them.
    const bool products = p_.b_zero_per_column || (a_zeros_ && !same_rows_);
    for (int64_t c = 0; c < kColumns; ++c) {
      const int64_t lane = lane_of<kVectors>(c);
      if (by_column) lane_multiplier[lane] = c < columns ? p_.finish->multiplier[n + c] : 0;
    }
    HWY_ALIGN float lane_step[3][kColumns];
    const SecondStep* const step = second_.step();
    for (int64_t c = 0; step != nullptr && !step->adds && c < kColumns; ++c) {
      const int64_t lane = lane_of<kVectors>(c), at = !step->per_column ? 0 : n + (c < columns ? c : 0);
      lane_step[0][lane] = step->factor[at];
      lane_step[1][lane] = (step->below != nullptr ? step->below : step->factor)[at];
      lane_step[2][lane] = step->offset != nullptr ? step->offset[at] : 0;
    }
    HWY_ALIGN int32_t zeros[kColumns];
    for (int64_t c = 0; p_.b_zero_per_column && c < kColumns; ++c)
      zeros[lane_of<kVectors>(c)] = zero_at(p_.b_zero, p_.b_signed, n + (c < columns ? c : 0)) + b_moved_;
    HWY_ALIGN float lane_real[3][kColumns];
    RealLanes real{};
    const auto by_lane = [&](const float* from, bool per_column, float* to) -> const float* {
      for (int64_t c = 0; from != nullptr && c < kColumns; ++c)
        to[lane_of<kVectors>(c)] = from[per_column && c < columns ? n + c : 0];
      return from != nullptr ? to : nullptr;
    };
    if (p_.real != nullptr) {
      real.factor = by_lane(p_.real->factor, p_.real->factor_per_column, lane_real[0]);
      real.later = by_lane(p_.real->later, p_.real->later_per_column, lane_real[1]);
      real.bias = by_lane(p_.real->bias, p_.real->bias_per_column, lane_real[2]);
    }
    for (int64_t k0 = 0; k0 == 0 || k0 < p_.k; k0 += depth_) {
      const int64_t kc = p_.k - k0 < depth_ ? p_.k - k0 : depth_;
      const bool last = k0 + kc == p_.k;
      const uint8_t* panel = panel_;
      if (p_.packed != nullptr) {
        panel = packed_panel(p_.packed, p_.k, n);
        constexpr int64_t kOwn = kVectors == 4 ? 64 : 16;  // columns of a panel
        for (int64_t c = 0; c < kColumns; c += kOwn)
          memcpy(column_sums + c, packed_panel(p_.packed, p_.k, n + c) + packed_quads(p_.k) * 4 * kOwn, kOwn * 4);
      } else if constexpr (kVectors == 1 || kVectors == 4) {
        pack_quads<kVectors>(p_, k0, kc, n, columns, flip_, panel_, a_zeros_ ? column_sums : nullptr);
      }
      const bool lanes = (column_bias && k0 == 0) || (a_zeros_ && !products);
      for (int64_t c = 0; lanes && c < kColumns; ++c) {
        uint32_t start = column_bias && k0 == 0 && c < columns ? static_cast<uint32_t>(p_.finish->bias[n + c]) : 0;
        const int64_t lane = lane_of<kVectors>(c);
        if (a_zeros_ && !products)
          start -= static_cast<uint32_t>(a_zero(m0_)) * static_cast<uint32_t>(column_sums[lane]);
        lane_start[lane] = static_cast<int32_t>(start);
      }
      Block block{};
      QuadTile& t = block.t;
      block.n = n;
      block.columns = columns;
      block.k0 = k0;
      block.last = last;
      block.zeros = zeros;
      t.a_row = p_.a_row;
      t.a_signed = p_.a_signed;
      t.k = kc;
      t.b = panel;
      ask_from(more && p_.packed != nullptr ? packed_panel(p_.packed, p_.k, n + columns) : nullptr, panel);
      t.b_vector = packed_panel_bytes(p_.k, 16);
      t.lane_start = lanes ? lane_start : nullptr;
      t.real = p_.real != nullptr ? &real : nullptr;
      t.finish = &finish_;
      t.one_multiplier = p_.finish != nullptr && !p_.finish->multiplier_per_row;
      t.lane_multiplier = by_column ? lane_multiplier : nullptr;
      t.columns = columns;
      t.c_row = t.y_row = p_.c_row;
      t.lane_factor = lane_step[0];
      t.lane_below = lane_step[1];
      t.lane_offset = lane_step[2];
      int64_t m = m0_;
      if (tiles_ != nullptr) m = tile_rows<kVectors>(block, panel, column_sums, products);
      if (p_.line_step != 0) m = window_rows<kVectors>(block, panel, column_sums);
      while (m < m1_) {
        void (*tile)(const QuadTile&) = nullptr;
        block.m = m;
        block.rows = next_tile<kVectors>(m1_ - m, &tile);
        HWY_ALIGN int32_t begin[12 * 64];
        one_tile<kVectors>(block, column_sums, products ? begin : nullptr, tile);
        m += block.rows;
      }
    }
  }

 private:
  // Rows [m, m + rows) of one panel and one block of k.
  struct Block {
    QuadTile t;
    int64_t n, columns, m, rows, k0;
    bool last;
    const int32_t* zeros;  // of B, by lane, where they differ
  };

  // `c_row`: the row of C where it is not that of A.
  template <int kVectors>
  HWY_NOINLINE void one_tile(Block& b, const int32_t* column_sums, int32_t* begin, void (*tile)(const QuadTile&),
                             int64_t c_row = -1) {
    QuadTile& t = b.t;
    if (c_row < 0) c_row = b.m;
    const int64_t m = b.m;
    t.ahead = ask(t.k / 4, &t.ahead_step);
    int32_t* const kept = sums_ + (m - m0_) * kIntPanel;
    t.a = static_cast<const uint8_t*>(p_.a) + m * p_.a_row + b.k0;
    t.row_start = starts_ + (m - m0_);
    t.before = b.k0 != 0 ? kept : nullptr;
    if (begin != nullptr) {
      start_products<kVectors>(m, b.rows, b.k0, t.before, column_sums, b.zeros, begin);
      t.before = begin;
    }
    t.sums = b.last ? nullptr : kept;
    if (p_.finish == nullptr) {
      t.c = static_cast<int32_t*>(p_.c) + c_row * p_.c_row + b.n;
    } else {
      set_codes(b, c_row);
      t.row_multiplier = p_.finish->multiplier + (p_.finish->multiplier_per_row ? m : 0);
    }
    if (!b.last || second_.step() == nullptr) return tile(t);
    // Rows of one panel lie whole rows of C apart, which no hardware foresees: asked for while sums are made.
    for (int64_t i = 0; t.added != nullptr && i < b.rows; ++i) hwy::Prefetch(t.added + i * t.y_row);
    HWY_ALIGN int32_t sums[24 * 16];
    t.sums = sums;
    tile(t);
    end_second<kVectors>(t, second_, sums, false, b.rows);
  }

  // The next panel of packed B is asked for while rows meet this one: it is read in its order but once, from far away
  // where all weights are more than the cache, and pages end what hardware foresees.
  void ask_from(const uint8_t* next, const uint8_t* near) {
    ahead_ = next;
    ahead_end_ = next != nullptr ? next + packed_panel_bytes(p_.k, kIntPanel) : nullptr;
    near_ = near;
  }
  // For so many lines, or a line that is at hand.
  HWY_INLINE const uint8_t* ask(int64_t lines, int64_t* step) {
    *step = ahead_ < ahead_end_ ? 64 : 0;
    if (*step == 0) return near_;
    const uint8_t* const from = ahead_;
    ahead_ += lines * 64;
    return from;
  }

  // All rows, places of lines that lie in memory as the image does.
  template <int kVectors>
  HWY_NOINLINE int64_t window_rows(Block& b, const uint8_t* panel, const int32_t* column_sums) {
    HWY_ALIGN int32_t sums[12 * 64];
    WindowSums w{};
    w.runs = p_.runs;
    w.run = p_.k / p_.runs;
    w.a_run = p_.a_run;
    w.b = panel;
    w.b_vector = b.t.b_vector;
    w.sums = sums;
    const auto* line = static_cast<const uint8_t*>(p_.a);
    int64_t at = 0;  // of the line
    for (int64_t m = 0, rows = 0; m < p_.m; m += rows) {
      void (*tile)(const WindowSums&) = nullptr;
      rows = next_windows<kVectors>(p_.m - m, &tile);
      for (int64_t i = 0; i < rows; ++i) {
        w.row[i] = line + at * p_.a_row;
        if (p_.added != nullptr) hwy::Prefetch(p_.added + (m + i) * p_.c_row + b.n);
        if (++at < p_.line_pixels) continue;
        at = 0;
        line += p_.line_step;
      }
      w.ahead = ask(p_.k / 4, &w.ahead_step);
      tile(w);
      end_rows<kVectors>(b, m, m, rows, sums, column_sums, false);
    }
    return p_.m;
  }

  HWY_INLINE void set_codes(Block& b, int64_t c_row) const {
    const int64_t at = c_row * p_.c_row + b.n;
    b.t.y = static_cast<uint8_t*>(p_.c) + at;
    if (p_.added != nullptr) b.t.added = p_.added + at;
  }

  // Rows in tiles, 32 or 16 at a time; returns the first one that is left. A block is ended while the next one is in
  // the tiles.
  template <int kVectors>
  HWY_NOINLINE int64_t tile_rows(Block& b, const uint8_t* panel, const int32_t* column_sums, bool products) {
    constexpr int64_t kMost = 2 * kTileRows;
    HWY_ALIGN int32_t made[2][kMost * kQuadColumns<kVectors>];
    HWY_ALIGN uint8_t tail[kMost * 64];
    const int64_t kc = b.t.k;
    const bool one_block = b.k0 == 0 && b.last;
    int64_t m = m0_, before = m0_, before_rows = 0;
    int turn = 0;
    b.t.k = 0;
    while (m1_ - m >= kTileRows || (m < m1_ && one_block)) {
      // Rows that are too few for a tile go with those before them, which are made twice. Sums that are kept would be
      // added twice.
      if (m1_ - m < kTileRows) m = m1_ - kTileRows;
      const int64_t rows = m1_ - m >= kMost ? kMost : kTileRows;
      if (p_.added != nullptr && p_.runs == 0) {  // as in one_tile
        for (int64_t i = 0; i < rows; ++i) hwy::Prefetch(p_.added + (m + i) * p_.c_row + b.n);
      }
      tile_block<kVectors>(b, m, rows, kc, panel, tail, made[turn]);
      if (before_rows != 0) end_block<kVectors>(b, before, before_rows, made[1 - turn], column_sums, products);
      before = m;
      before_rows = rows;
      turn = 1 - turn;
      m += rows;
    }
    if (before_rows != 0) end_block<kVectors>(b, before, before_rows, made[1 - turn], column_sums, products);
    b.t.k = kc;
    b.t.made = nullptr;
    return m;
  }

  // `tail`: room for the ends of 32 rows.
  template <int kVectors>
  HWY_NOINLINE void tile_block(const Block& b, int64_t m, int64_t rows, int64_t kc, const uint8_t* panel, uint8_t* tail,
                               int32_t* made) {
    TileSums s{};
    s.a = static_cast<const uint8_t*>(p_.a) + m * p_.a_row + b.k0;
    s.a_row = s.tail_row = p_.a_row;
    s.row_tiles = rows / kTileRows;
    s.b = panel;
    s.b_row = kVectors == 4 ? 256 : 64;
    s.b_vector = kVectors == 4 ? 64 : b.t.b_vector;
    s.vectors = kVectors;
    s.k = kc;
    s.runs = p_.runs != 0 ? p_.runs : 1;
    s.run = kc / s.runs;
    s.a_run = p_.a_run;
    s.a_signed = p_.a_signed;
    s.sums = made;
    const int64_t steps = tile_steps(s) * ((kVectors + 1) / 2);
    if (ahead_ < ahead_end_ && steps > 0) {
      // The rest of the panel over what rows are left.
      const int64_t lines = (ahead_end_ - ahead_) / 64, all = (m1_ - m + rows - 1) / rows * steps;
      s.ahead = ahead_;
      s.ahead_lines = (lines + all - 1) / all;
      ahead_ += steps * s.ahead_lines * 64;
    }
    const int64_t whole = kc / 64 * 64;
    s.tail = s.a + whole;
    // Behind a row stands the next one, whose bytes meet zeros of B; behind the last row, perhaps nothing.
    if (kc != whole && (m + rows - 1) * p_.a_row + b.k0 + whole + 64 > (p_.m - 1) * p_.a_row + p_.k) {
      memset(tail, 0, 2 * kTileRows * 64);
      for (int64_t i = 0; i < rows; ++i) memcpy(tail + i * 64, s.tail + i * p_.a_row, static_cast<size_t>(kc - whole));
      s.tail = tail;
      s.tail_row = 64;
    }
    tiles_->sums(s);
  }

  // What the sums of rows [m, m + rows) end in. Where rows are places of lines, what hangs over a line's end is
  // dropped.
  template <int kVectors>
  HWY_NOINLINE void end_block(Block& b, int64_t m, int64_t rows, const int32_t* made, const int32_t* column_sums,
                              bool products) {
    constexpr int64_t kColumns = kQuadColumns<kVectors>;
    if (p_.runs == 0) return end_rows<kVectors>(b, m, m, rows, made, column_sums, products);
    int64_t at = m % p_.line_places;
    int64_t c_row = m / p_.line_places * p_.line_pixels + (at < p_.line_pixels ? at : p_.line_pixels);
    for (int64_t i = 0; i < rows;) {
      const bool pixels = at < p_.line_pixels;
      int64_t count = (pixels ? p_.line_pixels : p_.line_places) - at;
      count = count < rows - i ? count : rows - i;
      if (pixels) {
        end_rows<kVectors>(b, m + i, c_row, count, made + i * kColumns, column_sums, products);
        c_row += count;
      }
      i += count;
      at = at + count == p_.line_places ? 0 : at + count;
    }
  }

  // Rows of C from c_row on.
  template <int kVectors>
  HWY_NOINLINE void end_rows(Block& b, int64_t m, int64_t c_row, int64_t rows, const int32_t* made,
                             const int32_t* column_sums, bool products) {
    constexpr int64_t kColumns = kQuadColumns<kVectors>;
    QuadTile& t = b.t;
    t.made = made;
    if (p_.finish != nullptr && b.k0 == 0 && b.last && !products && !p_.finish->multiplier_per_row) {
      t.row_start = starts_ + (m - m0_);
      t.row_multiplier = p_.finish->multiplier;
      set_codes(b, c_row);
      return second_.step() != nullptr ? end_second<kVectors>(t, second_, made, true, rows)
                                       : end_quads<kVectors>(t, rows);
    }
    HWY_ALIGN int32_t begin[4 * kColumns];
    for (int64_t i = 0; i < rows; i += b.rows, t.made += b.rows * kColumns) {
      b.m = m + i;
      b.rows = rows - i >= 4 ? 4 : 1;
      one_tile<kVectors>(b, column_sums, products ? begin : nullptr,
                         b.rows == 4 ? quad_tile<4, kVectors> : quad_tile<1, kVectors>, c_row + i);
    }
  }

  int32_t a_zero(int64_t m) const { return zero_at(p_.a_zero, p_.a_signed, p_.a_zero_per_row ? m : 0); }
  // k az - sum a of row m, what a zero point of B is multiplied with.
  uint32_t rest(int64_t m) const {
    const int32_t sum = sum_of_row(p_.a_signed, static_cast<const uint8_t*>(p_.a) + m * p_.a_row, p_.k);
    return static_cast<uint32_t>(p_.k) * static_cast<uint32_t>(a_zero(m)) - static_cast<uint32_t>(sum);
  }
  // Sums of rows [m, m + rows) begin so, by row and lane; `zeros`: of the panel's columns, by lane, where they differ.
  template <int kVectors>
  HWY_NOINLINE void start_products(int64_t m, int64_t rows, int64_t k0, const int32_t* kept, const int32_t* column_sums,
                                   const int32_t* zeros, int32_t* begin) const {
    const DI d;
    for (int64_t i = 0; i < rows; ++i) {
      const VI az = hn::Set(d, a_zero(m + i)), start = hn::Set(d, rests_ ? 0 : starts_[m - m0_ + i]);
      const bool by_zero = p_.b_zero_per_column && k0 == 0;
      const VI of_row = hn::Set(d, !by_zero ? 0 : rests_ ? starts_[m - m0_ + i] : static_cast<int32_t>(rest(m + i)));
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = (i * kVectors + v) * 16;
        VI sum = kept != nullptr ? hn::LoadU(d, kept + at) : start;
        if (a_zeros_) sum = hn::Sub(sum, hn::Mul(az, hn::LoadU(d, column_sums + v * 16)));
        if (by_zero) sum = hn::Add(sum, hn::Mul(of_row, hn::LoadU(d, zeros + v * 16)));
        hn::StoreU(sum, d, begin + at);
      }
    }
  }

  const IntProduct& p_;
  int64_t m0_, m1_;
  uint8_t flip_;
  int64_t depth_;
  const TileEngine* tiles_;
  uint8_t* panel_;
  int32_t* starts_;
  int32_t* sums_;
  Requantize none_;
  Finish finish_;
  Second second_;
  const uint8_t* ahead_ = nullptr;
  const uint8_t* ahead_end_ = nullptr;
  const uint8_t* near_ = nullptr;
  bool a_zeros_ = false, same_rows_ = true;
  bool rests_ = false;  // starts_ holds rest() of each row, and sums begin with 0
  int32_t b_moved_ = 0;
};

// Rows [m0, m1) and columns [n0, n1). `scratch`: a panel of B, what each row's sums begin with, then sums where there
// is more than one block of k.
HWY_NOINLINE void product_of_quads(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  const bool tiles = p.tiles != nullptr && p.k >= kTileDepth && m1 - m0 >= kTileRows && p.line_step == 0;
  if (tiles) p.tiles->begin();
  QuadPanels panels(p, m0, m1, scratch);
  for (int64_t n = n0; n < n1;) {
    const int64_t left = n1 - n;
    const int64_t most = left > 48 ? 64 : p.packed != nullptr ? 48 : 16, columns = left < most ? left : most;
    const bool more = n + columns < n1;
    if (left > 48) {
      panels.run<4>(n, columns, more);
    } else if (columns > 32) {
      panels.run<3>(n, columns, more);
    } else if (columns > 16) {
      panels.run<2>(n, columns, more);
    } else {
      panels.run<1>(n, columns, more);
    }
    n += columns;
  }
  if (tiles) p.tiles->end();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#endif  // include guard per target
