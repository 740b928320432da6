// What the parts of the integer product share. Callers outside this folder use intgemm.h.
#ifndef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PRODUCT_H_
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PRODUCT_H_

#include "delegates/cpu/kernels/intgemm/intgemm.h"
#include "delegates/cpu/kernels/intgemm/packed.h"
#include "delegates/cpu/kernels/sme/sme.h"

namespace vireo::cpu {

struct TileEngine;
// What multiplies columns of A by rows of packed B: sme_outer_i8, or a test's.
using OuterBytes = void (*)(const OuterProduct& p, bool a_signed);
inline OuterBytes int_outer() { return has_sme_i8() ? sme_outer_i8 : nullptr; }

// One product on one range of rows and columns. B is a matrix, or the patches of `patches`.
struct IntProduct {
  int64_t m, n, k;
  const void* a;  // [m, k], rows a_row apart
  int64_t a_row;
  bool a_signed, b_signed;
  const void* a_zero;
  const void* b_zero;
  bool a_zero_per_row, b_zero_per_column;
  const void* b;     // matrix, or the first channel of this group
  int64_t b_k, b_n;  // steps along k and n
  const ConvF32* patches;
  const uint8_t* packed;    // B as pack_i8 wrote it, in place of `b`; or null
  const TileEngine* tiles;  // or null
  OuterBytes outer;         // or null
  // Windows over lines of pixels, without patches; 0 runs: none. A row of A is `runs` runs of k / runs bytes, whole
  // 64s, a_run apart. Rows are places of lines: the first `line_pixels` of each `line_places` are rows of C, the others
  // hang over the end of the line. Wants packed B, tiles, at least 16 rows in one range, and no zero point of B.
  int64_t runs, a_run, line_places, line_pixels;
  // Or, not 0, without tiles: from the first row of one line of `line_pixels` to that of the next. Every row is one of
  // C, and runs are whole fours. Wants packed B of the other sign, no zero point of it, and a finish by column.
  int64_t line_step;
  void* c;  // int32, bytes where `finish`, or float32 where `real`
  int64_t c_row;
  const Requantize* finish;
  const RealStep* real;  // or null, as where there is a `finish`
  const uint8_t* added;  // what finish->then adds, as `c`; or null
};

// As gemm_i8, by the caller's choice of tiles.
IntProduct int_product_of(const GemmI8& shape, const void* a, const void* b, void* c);
void run_int_product(const IntProduct& p, const Parallel& parallel, void* scratch);
// All rows of columns [n0, n1), n0 at the begin of a panel of 64, on the calling thread.
void run_int_columns(const IntProduct& p, int64_t n0, int64_t n1, void* scratch);

// How many multipliers there are, where there is a `finish`.
inline int64_t multipliers_of(const IntProduct& p) {
  return p.finish->multiplier_per_row ? p.m : p.finish->multiplier_per_column ? p.n : 1;
}

constexpr int64_t kIntDepth = 4096;  // of k per block, a multiple of 4: most products are one block, end in registers
constexpr int64_t kIntPanel = 64;    // columns of the widest panel of either engine

// 16-bit engine: columns packed at once where k is small, rows of a tile, elements of packed B in all (256 KiB).
constexpr int64_t kPairFloor = 256;
constexpr int64_t kPairRows = 8;
constexpr int64_t kPairPanels = 1 << 17;

inline int64_t int_depth(int64_t k) { return k < kIntDepth ? k / 4 * 4 + 4 : kIntDepth; }  // above 0
inline int64_t pair_columns(int64_t k) {
  const int64_t columns = kPairPanels / (int_depth(k) + 1) / 32 * 32;
  return columns < 32 ? 32 : columns > kPairFloor ? kPairFloor : columns;
}

// Scratch of one thread: the larger of what the engines take, for the plan must hold on every instruction set. Grows
// with each of the sizes, so that a bound on them is a bound on this.
inline size_t int_slot_bytes(int64_t m, int64_t k, bool requantized) {
  const int64_t depth = int_depth(k);
  const bool blocks = requantized && k > kIntDepth;
  const int64_t panels = depth * kPairFloor < kPairPanels ? depth * kPairFloor : kPairPanels;
  const int64_t pairs = (kPairRows * depth + panels) * 2 + (blocks ? m * 32 * 4 : 0);
  const int64_t quads = (depth + 63) / 64 * 64 * kIntPanel + m * 4 + (k > kIntDepth ? m * kIntPanel * 4 : 0);
  return (static_cast<size_t>(pairs > quads ? pairs : quads) + 63) & ~size_t{63};
}

inline int32_t byte_at(const void* data, bool is_signed, int64_t i) {
  return is_signed ? static_cast<const int8_t*>(data)[i] : static_cast<const uint8_t*>(data)[i];
}
// A zero point, of many or one for all; null: 0.
inline int32_t zero_at(const void* data, bool is_signed, int64_t i) {
  return data == nullptr ? 0 : byte_at(data, is_signed, i);
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PRODUCT_H_
