// Gains of normalisations that move into the weights behind them, where codes lose less so.
#ifndef VIREO_QUANT_SCHEMES_FOLD_GAINS_H_
#define VIREO_QUANT_SCHEMES_FOLD_GAINS_H_

#include <functional>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::quant {

// A normalisation whose gains (and bias) are constant, one a channel of the last axis, and whose result only products
// read.
struct GainedProducts {
  ir::Node* norm = nullptr;
  std::vector<ir::Node*> readers;
};
// Of the products in `products`, whose weights `may_change` lets become others; empty readers: `norm` is none such.
GainedProducts gained_products(ir::Node& norm, const std::vector<ir::Node*>& products,
                               const std::function<bool(const ir::Node&)>& may_change);

// The power of `importance` (one number above 0 a channel, what x is like there) by which codes of 4 bits lose least:
// the factors between gains and the rows of weights. Empty: none is better than 1.
std::vector<float> best_factors(const GainedProducts& products, const std::vector<float>& importance,
                                const std::vector<double>& powers);
// Divides the gains and the bias by `factors`, one a channel.
void divide_gains(ir::Graph& g, ir::Node& norm, const std::vector<float>& factors);
// Multiplies the rows of the weights by `factors` and divides the gains by them.
void move_gains(ir::Graph& g, const GainedProducts& products, const std::vector<float>& factors);

// For each normalisation whose result only products of `products` read: factors between its gains and the rows of their
// weights, which change no result but by rounding. `may_change`: whether a product's weights may become others.
// Returns how many normalisations changed.
size_t fold_gains(ir::Graph& g, const std::vector<ir::Node*>& products,
                  const std::function<bool(const ir::Node&)>& may_change);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_FOLD_GAINS_H_
