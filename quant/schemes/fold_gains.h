// Gains of normalisations that move into the weights behind them, where codes lose less so.
#ifndef VIREO_QUANT_SCHEMES_FOLD_GAINS_H_
#define VIREO_QUANT_SCHEMES_FOLD_GAINS_H_

#include <functional>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::quant {

// For each normalisation whose result only products of `products` read: factors between its gains and the rows of their
// weights, which change no result but by rounding. `may_change`: whether a product's weights may become others.
// Returns how many normalisations changed.
size_t fold_gains(ir::Graph& g, const std::vector<ir::Node*>& products,
                  const std::function<bool(const ir::Node&)>& may_change);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_FOLD_GAINS_H_
