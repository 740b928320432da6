// Rounding of weights by what their products lose instead of by what they lose themselves: coordinate descent on (w - s
// q)^T H (w - s q), H = the covariance of what the weights multiply. From the nearest codes on, each step takes the
// best code of one weight, at most one beside its nearest, so the objective never rises. Source: Behdin et al. 2023,
// arXiv:2309.01885, section 3; the objective is that of Nagel et al. 2020, arXiv:2004.10568.
#ifndef VIREO_QUANT_REPAIR_ROUNDING_H_
#define VIREO_QUANT_REPAIR_ROUNDING_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "converter/stage/evaluator.h"
#include "quant/int8/plan.h"
#include "quant/observers/rows.h"
#include "quant/shared/weights8.h"

namespace vireo::quant {

// Covariances of what the rows of a layer's weights multiply: one matrix for each group of a convolution. Where fewer
// rows were seen than they have elements, these stand for the matrix: H = columns columns^T + damping I.
struct Covariance {
  int64_t groups = 1, size = 0;
  std::vector<double> values;  // [groups, size, size]; or empty, and
  int64_t rows = 0;
  std::vector<float> columns;  // [size, rows] of one group
  double damping = 0;
  std::vector<double> diagonal;  // [groups, size]
  std::vector<double> means;     // [groups, size]
};

// Windows of what `layer` reads, a sample's, among which `rows` choose: [channels x taps], channel by channel. False
// for layers whose windows are not looked at.
bool has_windows(const Layer& layer);
// How many of them say enough: fewer where a group has few weights, as each window is one for all groups; more where
// windows are small.
size_t most_windows(const Layer& layer, int64_t weights_of_row);
void add_windows(const Layer& layer, uint64_t sample, const TensorView& x, RowsObserver* rows);

// Of rows of groups * size elements; 0.01 of the mean variance stands on the diagonal besides. Not `centred`: about 0,
// for layers whose bias cannot take a mean back.
Covariance covariance_of(const RowsObserver& rows, int64_t groups, bool centred);
int64_t groups_of(const Layer& layer);

// The objective before and after, over all rows.
std::pair<double, double> descend(const WeightRows& weights, const Covariance& covariance, WeightCodes* codes);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_REPAIR_ROUNDING_H_
