// Which matrices of a model in 4 bits take 8: those whose 4 bits cost the answers most for the bytes that 8 would take.
#ifndef VIREO_QUANT_INT4_EIGHT_BITS_H_
#define VIREO_QUANT_INT4_EIGHT_BITS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/stage/evaluator.h"

namespace vireo::quant {

// What 4 bits of one matrix cost, and what 8 bits take besides.
struct Raise {
  double loss = 0;
  uint64_t bytes = 0;
};
// The ones that take most loss away for the bytes, while all fit into `budget`; in the order of `raises`.
std::vector<size_t> best_raises(const std::vector<Raise>& raises, uint64_t budget);

// What 4 and 8 bits of a matrix [K, N] or [N, K] take, codes and scales.
uint64_t bytes_of_codes(int64_t k, int64_t n, int bits);

// How far answers are from what they were. Results of products are taken for scores of a softmax, and what counts is
// half of the variance of their change (the divergence of both softmaxes, for small changes); of other values the noise
// counts against the signal.
class AnswerLoss {
 public:
  void add(const TensorView& was, const TensorView& is, bool is_scores);
  double value() const { return (rows_ == 0 ? 0 : divergence_ / rows_) + (signal_ > 0 ? noise_ / signal_ : 0); }

 private:
  double divergence_ = 0, rows_ = 0, noise_ = 0, signal_ = 0;
};

// The float32 results of a model by which it is judged: not caches, which go on from what the caller gives. All of them
// where there is nothing else.
std::vector<const ir::Value*> answers_of(const ir::Graph& graph);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT4_EIGHT_BITS_H_
