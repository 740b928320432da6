// Sums of the integer product in matrix tiles (AMX): 16 rows times 16 columns times 64 of k an instruction, 16 cycles.
//
// A lies in place, 16 rows of 64 bytes a tile; B in the panels that VNNI reads (packed.h). Four tiles of sums, two of A
// and two of B: each operand is loaded once for two products. What the tiles give is added to what the vector engine
// begins its own sums with, and ends in its code: zero points and codes know nothing of tiles.
#ifndef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_TILES_H_
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_TILES_H_

#include <stdint.h>

#include "delegates/cpu/kernels/amx/amx.h"

namespace vireo::cpu {

constexpr int64_t kTileDepth = 64;  // of k; the least for which tiles are used, as kTileRows is of rows

// sums[i, lane] = sum_k a[i, k] b[k, lane] of 16 row_tiles rows and 16 vectors columns. A and B differ in sign.
struct TileSums {
  const uint8_t* a;
  int64_t a_row;
  int64_t row_tiles;  // 1 or 2
  const uint8_t* b;
  int64_t b_row, b_vector;  // bytes from one four of k to the next, and from one vector
  int64_t vectors;
  int64_t k;
  int64_t runs, run, a_run;  // of k in a row of A, `a_run` apart; what 64 leaves of the only one is the tail
  const uint8_t* tail;       // A from k / 64 * 64 on, 64 bytes of each row readable; B is 0 behind k
  int64_t tail_row;
  bool a_signed;
  int32_t* sums;
  const uint8_t* ahead;  // lines that are asked for on the way, ahead_lines for each 64 of k and pair of vectors
  int64_t ahead_lines;
};

struct TileEngine {
  void (*begin)();  // of a task, on its thread
  void (*end)();
  void (*sums)(const TileSums& s);
};
// Whether the instruction set chosen at run time has an engine that takes tiles.
bool int_engine_takes_tiles();
// Or reads windows where they lie (IntProduct::line_step).
bool int_engine_takes_windows();
// This machine's, or null.
const TileEngine* int_tiles();

template <class Tiles>
void begin_tiles(Tiles& tiles) {
  TileConfig config;
  for (int t = 0; t < 8; ++t) config.set(t, kTileRows, kTileBytes);
  tiles.configure(config);
}

inline int64_t tile_steps(const TileSums& s) { return s.run / 64 * s.runs; }

// Vectors [v, v + kVectors) of the panel. Tiles 0 to 3: sums; 4, 5: A; 6, 7: B.
template <int kRowTiles, int kVectors, bool kASigned, class Tiles>
void tile_block(Tiles& tiles, const TileSums& s, int64_t v) {
  const int64_t b_row = s.b_row, sums_row = s.vectors * 64;
  const auto step = [&](const uint8_t* a, int64_t a_row, const uint8_t* b) {
    tiles.template load<6>(b, b_row);
    tiles.template load<4>(a, a_row);
    tiles.template dot_i8<0, 4, 6, kASigned, !kASigned>();
    if constexpr (kVectors == 2) {
      tiles.template load<7>(b + s.b_vector, b_row);
      tiles.template dot_i8<1, 4, 7, kASigned, !kASigned>();
    }
    if constexpr (kRowTiles == 2) {
      tiles.template load<5>(a + 16 * a_row, a_row);
      tiles.template dot_i8<2, 5, 6, kASigned, !kASigned>();
      if constexpr (kVectors == 2) tiles.template dot_i8<3, 5, 7, kASigned, !kASigned>();
    }
  };
  tiles.template zero<0>();
  if constexpr (kVectors == 2) tiles.template zero<1>();
  if constexpr (kRowTiles == 2) tiles.template zero<2>();
  if constexpr (kRowTiles == 2 && kVectors == 2) tiles.template zero<3>();
  const uint8_t* run = s.a;
  const uint8_t* b = s.b + v * s.b_vector;
  const uint8_t* ahead = s.ahead + v / 2 * tile_steps(s) * s.ahead_lines * 64;
  for (int64_t r = s.runs; r > 0; --r, run += s.a_run) {
    const uint8_t* a = run;
    for (int64_t i = s.run / 64; i > 0; --i, a += 64, b += 16 * b_row) {
      for (int64_t j = s.ahead_lines; j > 0; --j, ahead += 64) __builtin_prefetch(ahead, 0, 2);
      step(a, s.a_row, b);
    }
  }
  if (s.k % 64 != 0) step(s.tail, s.tail_row, b);
  int32_t* const to = s.sums + v * 16;
  tiles.template store<0>(to, sums_row);
  if constexpr (kVectors == 2) tiles.template store<1>(to + 16, sums_row);
  if constexpr (kRowTiles == 2) tiles.template store<2>(to + 4 * sums_row, sums_row);
  if constexpr (kRowTiles == 2 && kVectors == 2) tiles.template store<3>(to + 4 * sums_row + 16, sums_row);
}

template <int kRowTiles, bool kASigned, class Tiles>
void tile_rows(Tiles& tiles, const TileSums& s) {
  int64_t v = 0;
  for (; v + 2 <= s.vectors; v += 2) tile_block<kRowTiles, 2, kASigned>(tiles, s, v);
  if (v < s.vectors) tile_block<kRowTiles, 1, kASigned>(tiles, s, v);
}

template <class Tiles>
void tile_sums(Tiles& tiles, const TileSums& s) {
  if (s.row_tiles == 2) {
    s.a_signed ? tile_rows<2, true>(tiles, s) : tile_rows<2, false>(tiles, s);
  } else {
    s.a_signed ? tile_rows<1, true>(tiles, s) : tile_rows<1, false>(tiles, s);
  }
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_INTGEMM_TILES_H_
