// The blocked matrix product behind gemm and convolution. Callers outside the kernel families use gemm.h.
#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_ENGINE_H_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_ENGINE_H_

#include "delegates/cpu/kernels/gemm/gemm.h"

namespace vireo::cpu {

// Where the columns of B come from. `pack` writes B[k0 .. k0 + kc, n0 .. n0 + nc) as panels of `width` columns, each
// [kc, width] row-major, the last one padded with zeros, and writes nowhere else: neighbours may belong to other
// threads.
struct PanelSource {
  void (*pack)(const void* context, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int64_t width, float* panels);
  const void* context;
  const float* rows;  // not null: B is row-major here, and products with few rows read it without packing
  int64_t row_stride;
};

// A matrix in memory as the context of a `pack`.
struct MatrixB {
  const float* data;
  int64_t stride;
};

// The `pack` of a row-major [K, N] matrix; its context is a MatrixB.
using PackPanels = void (*)(const void* context, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int64_t width,
                            float* panels);
PackPanels pack_matrix_rows();
// The same of a row-major [N, K] matrix.
PackPanels pack_matrix_columns();

struct Product {
  int64_t m, n, k;
  const float* a;  // a[i * a_row + p * a_col]
  int64_t a_row, a_col;
  PanelSource b;
  float* c;
  int64_t c_row;
  const Epilogue* epilogue;
  bool part = false;  // rows that threads cut out of more: a single one adds up as all do
};

// How the product is cut; the same on every instruction set, so that scratch sizes are.
struct ProductPlan {
  bool direct;        // B is read in place
  bool split_rows;    // packs all of B once, then threads take blocks of rows; else threads take columns
  int64_t kc, nc;     // block of k; block of columns (a multiple of 32)
  size_t slot_bytes;  // scratch per slot
  size_t bytes;       // scratch in all
};
// Enough for plans of all products up to these sizes.
size_t product_scratch_bound(int64_t m, int64_t n, int64_t k, int32_t slots);
ProductPlan plan_product(int64_t m, int64_t n, int64_t k, bool rows_in_place, int32_t slots);
void run_product(const Product& product, const ProductPlan& plan, const Parallel& parallel, void* scratch);

// Layout 1 of packed weights: B in panels of 32 columns, each [K, 32] row-major, the last one padded with zeros. The
// same on every machine: cores with narrower vectors read parts of a panel's rows.
constexpr int64_t kPanelColumns = 32;
inline int64_t packed_floats(int64_t n, int64_t k) {
  return (n + kPanelColumns - 1) / kPanelColumns * kPanelColumns * k;
}

// B that serves several A, packed once: packed_floats(n, k) in all. product.b is not read again. `run_packed` without
// threads is serial.
void pack_product(const Product& product, const Parallel& parallel, float* panels);
void run_packed(const Product& product, const float* panels, const Parallel& parallel = {});

// The same panels in float16 (layout 8, gemm_f16/gemm_f16.h), widened as they are read.
void run_packed(const Product& product, const uint16_t* panels, const Parallel& parallel = {});

// What sums of rows [m0, m1) and columns [n0, n1) of c end with, where no tile did it.
void finish_rows_of(const Epilogue& epilogue, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float* c, int64_t c_row);

// `count` products of one size; floats from an operand of one to that of the next.
struct Series {
  int64_t count, a_step, panels_step, c_step;
};
// Serial. The panels of one product are `panel_step` floats apart.
void run_packed_series(const Product& first, const float* panels, int64_t panel_step, const Series& series);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GEMM_ENGINE_H_
