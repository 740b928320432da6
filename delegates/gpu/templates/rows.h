// rows: what needs a row as a whole. A row is the last axes of the index space, one for each place of the others.
// Each statistic is one pass over the row: softmax is the greatest element, the sum of exp(v - greatest), and an
// epilogue; a normalisation is the mean, the mean of squared differences, and an epilogue; a reduction has one
// statistic and an epilogue of one value a row.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_ROWS_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_ROWS_H_

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"

namespace vireo::gpu {

enum class Combine : uint8_t { kSum, kProduct, kMax, kMin };

// map: inputs given: v, then the statistics before this one; others are indexed (tables). Its only output is what is
// combined, in its own type. A NaN is the greatest and the least element, as sdk/ops/reduce wants.
struct Statistic {
  Combine combine = Combine::kSum;
  Expression map;
};

struct RowsProblem {
  Extents shape;
  int row_axes = 1;     // the last axes
  Expression prologue;  // over the space; its only output is v (the view of that output is not used)
  std::vector<Statistic> statistics;
  // Inputs given: v, then the statistics. With per_row: only the statistics, over the space without the row's axes
  // (views have an entry for each of the outer axes only).
  Expression epilogue;
  bool per_row = false;
};

struct RowsTiling {
  uint32_t lanes = 64;         // of a workgroup, a power of two
  uint32_t lanes_of_row = 64;  // a power of two, at most `lanes`: short rows share a workgroup
  uint32_t kept = 0;           // elements of v that a lane keeps between passes, all that it has; 0: v is made again
};

RowsTiling choose_rows(const RowsProblem& problem, const Target& target);
Dispatch make_rows(const RowsProblem& problem, const RowsTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_ROWS_H_
