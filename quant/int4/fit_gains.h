// Gains of a normalisation once the weights behind it are codes: those with which the products are nearest to what they
// were, by least squares.
#ifndef VIREO_QUANT_INT4_FIT_GAINS_H_
#define VIREO_QUANT_INT4_FIT_GAINS_H_

#include <vector>

#include "converter/ir/graph.h"
#include "quant/observers/gram.h"

namespace vireo::quant {

// Minimises E |W x0 - W' (d x)|^2 over d, one number a channel, with x what comes in and x0 what came in before.
class GainFit {
 public:
  // E x x^T and E x (x0 - x)^T, [size, size]; `drift` is empty where x is x0.
  GainFit(const std::vector<double>& moment, const std::vector<double>& drift) : moment_(moment), drift_(drift) {}
  // Both must outlive it.
  GainFit(const std::vector<double>& moment, std::vector<double>&& drift) = delete;
  GainFit(std::vector<double>&& moment, const std::vector<double>& drift) = delete;

  // One of the products: its weights as they were and as they are.
  void add(const ir::Constant& was, const ir::Constant& is, bool by_rows);
  // 1 / d; empty where nothing is won.
  std::vector<float> factors();

 private:
  const std::vector<double>&moment_, &drift_;
  GramObserver squares_, products_;  // sums of W' W'^T and of W W'^T
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT4_FIT_GAINS_H_
