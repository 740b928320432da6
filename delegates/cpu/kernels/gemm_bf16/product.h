// What the engines of gemm_bf16 are handed.
#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_PRODUCT_H_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_PRODUCT_H_

#include "delegates/cpu/kernels/gemm_bf16/gemm_bf16.h"

namespace vireo::cpu {

constexpr int64_t kBf16Columns = 32, kBf16Depth = 32;  // of a panel; k is filled up to a multiple
constexpr int64_t kBf16RowGroup = 32;                  // rows of A come in such groups: two tiles, two register tiles
// With fewer a product is bound by reading B, and a tile of A would be mostly air.
constexpr int64_t kFewestTileRows = 8;

inline int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }
// Elements between rows of A in scratch: whole lines, and not a power of two, which would meet in few sets of the
// cache.
inline int64_t bf16_row(int64_t k) { return round_up(k, kBf16Depth) + 32; }

struct Bf16Product {
  int64_t m, n, k;
  const Epilogue* epilogue;
  const void* a;
  bool a_half;  // bfloat16 in memory
  int64_t a_row;
  const ConvF32* patches;  // not null: rows are the patches of x's pixels, over all images
  const uint16_t* packed;  // from column `packed_from` on
  int64_t packed_from;
  void* c;
  bool c_half;
  int64_t c_row;
  const uint16_t* residual;  // not null: in place of the epilogue's
  bool tiles;                // AMX or SME may be used
};

// Sums that end in bfloat16 stand in scratch as float32 until all of k is summed, and until what walks over whole rows
// is done: a block of so many floats, and as many again where a residual in bfloat16 is widened for that.
constexpr int64_t kBf16SumFloats = 16 * 1024;
constexpr int64_t kBf16MostSumRows = 1024;
inline int64_t bf16_sum_columns(int64_t rows) { return round_up(kBf16SumFloats / rows + 1, kBf16Columns); }
int64_t bf16_sum_floats(int64_t m, int64_t n);

// Bytes of A in a slot's room, and rows of it that are rounded at a time: they stay in a core's second-level cache
// while all of B passes.
size_t bf16_left_bytes(int64_t m, int64_t k);
int64_t bf16_block_rows(int64_t m, int64_t k);
// How many elements of A, in bfloat16, are in scratch at a time at most where it stands in lines.
int64_t bf16_left_elements(int64_t m, int64_t k);

// Windows read from lines of x with their border, rounded once, in place of patches: what a kernel's row of taps sees
// lies in one run. In tiles 16 rows are neighbouring places of a line: stride 1, and whole steps of k of channels. In
// vectors rows are as far from each other as windows, and k goes on by pairs.
struct Bf16Lines {
  int64_t places;  // of a line
  int64_t deep;    // lines of x that one line of y reads
  int64_t most;    // lines of y whose lines of x fit where A stands

  static bool serve_tiles(const ConvF32& s) {
    return serve(s) && s.in_channels % kBf16Depth == 0 && s.stride[1] == 1 && s.stride[2] == 1;
  }
  static bool serve_vectors(const ConvF32& s) {
    const int64_t run = s.kernel[2] * s.in_channels;
    return serve(s) && run % 2 == 0 && run >= kFewestRun;
  }
  // m, k: of the product. The last tile reads up to kBf16RowGroup places behind the last one.
  Bf16Lines(const ConvF32& s, int64_t m, int64_t k)
      : places((s.out[2] - 1) * s.stride[2] + s.kernel[2]), deep((s.kernel[1] - 1) * s.dilation[1] + 1) {
    const int64_t fit = (bf16_left_elements(m, k) / s.in_channels - kBf16RowGroup) / (places > 0 ? places : 1) - deep;
    most = fit < 0 ? 0 : fit / s.stride[1] + 1;
  }
  // The same where a block's sums stand in scratch.
  int64_t most_sums(const ConvF32& s) const {
    const int64_t fit = kBf16MostSumRows / (s.out[2] > 0 ? s.out[2] : 1);
    return fit < most ? fit : most;
  }

 private:
  static constexpr int64_t kFewestRun = 16;  // of a row of taps; shorter ones are patches
  static bool serve(const ConvF32& s) {
    return s.in_channels > 0 && s.kernel[0] == 1 && s.in[0] == 1 && s.out[0] == 1 && s.kernel[1] * s.kernel[2] > 1 &&
           s.dilation[2] == 1 && s.pad[2] >= 0;
  }
};

// The engine of AMX on tiles in plain C++: for tests, with kFewestTileRows at least and B packed.
void gemm_bf16_plain_tiles(const GemmBf16& shape, const Bf16Operands& operands, void* scratch);
void conv_bf16_plain_tiles(const ConvF32& shape, const Bf16Operands& operands, const void* weights,
                           const uint16_t* packed, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_PRODUCT_H_
