// gemv: y[c] = epilogue(sum over k of x[k] w[c, k], ...): the products of one row, as a token's vector has them. Its
// time is that of reading w once, so everything else is done on the way: what makes x (a norm, by each workgroup
// again), and what is made of several sums (a gate and what it multiplies, the halves of a rotation).
//
// Weighed: a launch for each of these. A decoder's layer had eleven launches that wait for each other then, of which
// each costs 2 to 3 us on an H200, where the weights of all take 21.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_GEMV_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_GEMV_H_

#include <vector>

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"
#include "delegates/gpu/templates/rows.h"

namespace vireo::gpu {

// Lanes of a subgroup share a column's depth and exchange their sums: for targets that have `shuffles`.
struct GemvProblem {
  Extents shape;  // of the epilogue's space; a place has a column in each of `columns`
  int64_t k = 1;
  // x is element x_offset + i of its buffer, i < k. Or it is made by the only problem in `rows`, which has one row of k
  // elements and one output, whose view is not used: then there is no such buffer.
  DType x_dtype = DType::kF32;
  int64_t x_offset = 0;
  std::vector<RowsProblem> rows;
  // A column is elements offset + sum of coordinate * steps + i of w. Bytes of all of them are multiples of 16.
  struct Columns {
    int64_t offset = 0;
    Extents steps;
  };
  DType w_dtype = DType::kF32;  // float32, float16 or bfloat16, as x is; or codes of 4 or 8 bits
  std::vector<Columns> columns;
  // A weight is (code - zero) * scale. `block` neighbours along the depth share one, from element 0 of w on, and scales
  // lie as the blocks do; columns are whole blocks.
  struct Scales {
    DType dtype = DType::kF32;  // float32, float16 or bfloat16
    int64_t block = 0;          // 0: no codes
    int32_t zero = 0;
  };
  Scales scales;
  Expression epilogue;  // the sums are given, one for each of `columns`, in float32
};

struct GemvTiling {
  uint32_t lanes = 256;  // of a workgroup, whole subgroups
  uint32_t turns = 4;    // loads of each column that a lane asks for before it needs the first
};

GemvTiling choose_gemv(const GemvProblem& problem, const Target& target);
// Bindings: x where it is read, w, scales of codes, those of the rows' expressions, those of the epilogue.
Dispatch make_gemv(const GemvProblem& problem, const GemvTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_GEMV_H_
