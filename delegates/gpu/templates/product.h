// product: y[b, m, n] = epilogue(sum over k of x[b, m, k] w[b, k, n]): matrix products, batched, and convolutions whose
// rows of x are the window's places (no matrix of patches is made).
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_PRODUCT_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_PRODUCT_H_

#include "delegates/gpu/ir/program.h"
#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"
#include "delegates/gpu/templates/window.h"

namespace vireo::gpu {

// Element offset + sum batch[i] * coordinate + row * r + column * c. x: rows m, columns k; w: rows k, columns n.
struct MatrixView {
  DType dtype = DType::kF32;
  int64_t offset = 0;
  Extents batch;  // one stride an axis of the problem's batch; 0: shared
  int64_t row = 0, column = 0;
};

struct ProductProblem {
  Extents batch;  // at most 4 axes
  int64_t m = 1, n = 1, k = 1;
  MatrixView x, w;
  // float32 (x, w float32, float16, bfloat16) or int32 (8-bit x and w: exact, each less its zero point).
  DType sum = DType::kF32;
  int32_t x_zero = 0, w_zero = 0;
  bool raw = false;     // codes are multiplied as they are: the epilogue takes what zero points make of the sum
  bool made_w = true;   // w is no constant: where extents are open, so are k and n
  Expression epilogue;  // input 0 is given: the sum. Its space is [batch..., m, n]
  // Not 0: rows are two axes of the epilogue's space, of m / inner and of inner places. Row r is place
  // (r / inner, r % inner) there; where `turned`, the axes stand the other way round, and so do the places.
  int64_t inner = 0;
  bool turned = false;
};

// y[i, g, o, p] = epilogue(sum over channels c of the group, taps t of x[i, g C + c, place(p, t)] w[g O + o, c, t]).
struct ConvolutionProblem {
  int64_t images = 1, groups = 1, channels = 1, outputs = 1;  // channels and outputs: of one group
  // How many parts the depth of one group is divided into, in the order of the weights. Each part has a sum of its
  // own. The number divides channels * taps; in the epilogue's space parts stand in the place of groups.
  int64_t shares = 1;
  Window window;
  DType x_dtype = DType::kF32, w_dtype = DType::kF32;
  ImageView x;  // channel g * channels + c
  // w: element offset + g * group + o * output + c * channel + taps t0 t1 t2 by `spatial`.
  struct Weights {
    int64_t offset = 0, group = 0, output = 0, channel = 0;
    std::array<int64_t, 3> spatial{0, 0, 0};
  } w;
  DType sum = DType::kF32;
  int32_t x_zero = 0, w_zero = 0;
  bool raw = false;     // as above; x_zero stands for what is outside of the picture
  Expression epilogue;  // input 0 is given: the sum. Its space is [groups, images, out0, out1, out2, outputs]
};

constexpr int64_t kFewRows = 4;  // up to which w is read once and not kept

struct ProductTiling {
  uint32_t tile_m = 64, tile_n = 64, tile_k = 16;  // of a workgroup
  uint32_t lane_m = 4, lane_n = 4;                 // of a lane
  // Few rows: this many lanes, a power of two, share the depth of each of tile_n columns, and each has all of tile_m
  // rows; tile_k, lane_m and lane_n do not count. 0: tiles.
  uint32_t depth_lanes = 0;
  // Floats in quads: the number of groups of lanes that share a tile's depth; lane_m and lane_n are multiples of 4.
  // 0: elements one by one.
  uint32_t parts = 0;
  // Matrices: each subgroup multiplies sub_m x sub_n of the tile by `unit`; lane_m and lane_n do not count. unit.m 0:
  // no matrix unit.
  uint32_t sub_m = 0, sub_n = 0;
  Unit unit{};
  uint32_t stages = 0;  // tiles of which shared memory has room, where the unit reads tiles
};

ProductTiling choose_product(const ProductProblem& problem, const Target& target);
Dispatch make_product(const ProductProblem& problem, const ProductTiling& tiling, const Target& target);
ProductTiling choose_convolution(const ConvolutionProblem& problem, const Target& target);
Dispatch make_convolution(const ConvolutionProblem& problem, const ProductTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_PRODUCT_H_
