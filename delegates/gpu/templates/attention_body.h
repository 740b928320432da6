// The two bodies of attention, for units that keep to themselves how they spread a matrix, and for those of which it is
// known, and what they share.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_BODY_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_BODY_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "delegates/gpu/templates/attention.h"
#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/numbers.h"
#include "delegates/gpu/templates/product_body.h"

namespace vireo::gpu {

// Where a workgroup reads and writes. Group 0 is a tile of `rows` queries, group 1 a share of the keys, group 2 a
// batch. Problem, tiling and target outlive it.
class AttentionBody {
 protected:
  AttentionBody(const AttentionProblem& problem, const AttentionTiling& tiling, const Target& target);

  struct Operands {
    ProductOperand q, k, v;  // bindings 0 to 2
  };
  Operands find_operands();
  // row0_ and lane_.
  void find_tile(uint32_t rows);
  // share_, first_ and end_.
  void find_share();
  // The program, once it is written.
  Dispatch take(uint32_t rows, uint32_t lanes);

  // In the space of the epilogue.
  std::vector<Value> place_of(Value row, Value column) const;
  // Four results of a query from `column` on, or those of them that there are.
  void store_four(Evaluator& epilogue, Value row, Value column, const std::array<Value, 4>& four);
  // A query's greatest score and sum of exponentials, for the launch that adds up the shares.
  void write_statistics(uint32_t binding, Value row, Value most, Value sum);

  const AttentionProblem& p_;
  const AttentionTiling& t_;
  const Target& target_;
  Builder b_;
  Numbers numbers_;
  std::vector<Value> batch_;
  Value queries_, keys_, head_, value_head_;
  Value row0_, lane_;
  Value share_, first_, end_;  // the keys of this workgroup
};

// With Unit::known: sums stay in registers, and are scaled anew when a greater score comes.
// "" or why a tiling cannot be had.
std::string refuse_register_tiling(const AttentionProblem& problem, const AttentionTiling& tiling,
                                   const Target& target);
AttentionTiling choose_register_attention(const AttentionProblem& problem, const Target& target);
Dispatch make_register_attention(const AttentionProblem& problem, const AttentionTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_BODY_H_
