// What matrix products and convolutions share: tiles in shared memory, sums in registers, the epilogue.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_PRODUCT_BODY_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_PRODUCT_BODY_H_

#include <functional>
#include <string>
#include <vector>

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/product.h"

namespace vireo::gpu {

// An operand. line(r): what is known of a row of x or a column of w, worked out once before the loop over k.
// read(line, first, k): the index of element first + k along the depth, and whether it is one or stands for 0. In tiles
// whose depth divides the product's, `first` is the same for all lanes and a multiple of the tile's depth; elsewhere 0.
struct ProductOperand {
  struct Line {
    std::vector<Value> parts;
  };
  struct Element {
    Value index, inside;
  };
  Tensor tensor;
  int32_t zero = 0;
  bool k_is_fastest = false;  // neighbouring lanes take neighbours along k
  int32_t outside = 0;        // what stands for an element that is none, less `zero`
  // So many elements, from each multiple of it on, lie side by side from a multiple of it on, along k where that is
  // fastest, else along lines; and all of them are elements, or none. As many as 16 bytes have, or 1; of bytes, along k
  // only, also 4.
  uint32_t neighbours = 1;
  std::function<Line(Value)> line;
  std::function<Element(const Line&, Value, Value)> read;
};

// Lines of a matrix (rows of x, columns of w): base + line * line_stride + k * k_stride, in the matrix of a batch.
ProductOperand matrix_operand(Builder& builder, Numbers& numbers, const MatrixView& view, uint32_t binding,
                              int32_t zero, int64_t lines, int64_t line_stride, int64_t depth, int64_t k_stride,
                              const std::vector<Value>& batch);

struct ProductShape {
  int64_t m = 1, n = 1, k = 1;
  DType sum = DType::kF32;
  bool m_open = false, nk_open = false;  // Target::open
  bool w_constant = false;               // no launch writes w
};

// Whether `v` is one of `extent`, of which tiles have `tile`. Nothing to ask where tiles divide them for good.
inline Value is_below(Builder& b, Value v, Value end, int64_t extent, uint32_t tile, bool open) {
  return !open && extent % tile == 0 ? b.boolean(true) : v < end;
}

// "" or why a tiling cannot be had.
std::string refuse_tiling(const ProductTiling& tiling, const Target& target);

// Which tile of the product this workgroup has is group(0) along m and group(1) along n.
// place(row, column): the epilogue's coordinates.
void write_product(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                   const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w, Evaluator& epilogue,
                   const std::function<std::vector<Value>(Value, Value)>& place);

// The same by lanes that share the depth (ProductTiling::depth_lanes).
void write_few_rows(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                    const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w, Evaluator& epilogue,
                    const std::function<std::vector<Value>(Value, Value)>& place);

// The same of floats in quads (ProductTiling::parts).
void write_float_product(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                         const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w,
                         Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place);
uint32_t float_bytes(const ProductTiling& tiling);  // of shared memory, at least
// The one for a product of floats, or parts 0 where another way is faster.
ProductTiling choose_float_tiles(int64_t m, int64_t n, int64_t k, int64_t batch, const Target& target);

// The same by a matrix unit (ProductTiling::unit).
void write_matrix_product(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                          const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w,
                          Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place);
uint32_t matrix_bytes(const ProductTiling& tiling);  // of shared memory, at least

uint32_t product_lanes(const ProductTiling& tiling);
// A tiling of the unit that reads tiles, with room for `stages` of them; refuse_tiling() may refuse it.
ProductTiling tile_tiling(uint32_t tile_m, uint32_t tile_n, uint32_t stages);
// The one for a product whose operands are halves that can be copied as they lie, or unit.m 0 where another way is
// faster. w_turned: its columns lie side by side in memory.
ProductTiling choose_tile_unit(int64_t m, int64_t n, int64_t k, int64_t batch, bool w_turned,
                               const Expression& epilogue, const Target& target);
// The same for bytes.
ProductTiling code_tile_tiling(uint32_t tile_m, uint32_t tile_n, uint32_t stages, bool x_signed, bool w_signed);
// The one for a product of bytes, or unit.m 0 where no unit takes them. copied: tiles can be, as they lie.
ProductTiling choose_code_tiles(int64_t m, int64_t n, int64_t k, int64_t batch, bool copied, bool x_signed,
                                bool w_signed, const Expression& epilogue, const Target& target);
// along_k: w's neighbours in memory lie along k. halves: a matrix unit may multiply the operands.
// nk_open: as ProductShape has it.
ProductTiling choose_tiles(int64_t m, int64_t n, int64_t k, int64_t batch, bool along_k, bool halves,
                           const Target& target, bool nk_open = false);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_PRODUCT_BODY_H_
