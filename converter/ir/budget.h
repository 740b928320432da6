// What one conversion may make beyond what its file holds. A file of few kilobytes can ask for more than a machine has:
// functions that call each other twice, loops in loops, constants that double, sums of extents multiplied again and
// again. Whoever makes such things spends here first and stops where nothing is left: it does not fold (a run computes
// the value), loses track of an expression, or refuses with the limit in its message.
//
// Two other designs were weighed. A limit at each maker, for one node, expression or loop: easy to write, and a file
// passes all of them by asking often, because what it makes is their product. The process's clock and memory
// (--max-seconds, --max-memory): nothing escapes them, but one file then converts on one machine and not on another, a
// library cannot set them, and their message cannot name what the file did; they stay as the last net. So there is one
// account a conversion, which all its graphs share through their DimTable. It counts what is made and not how long that
// takes, so that a file gives the same result everywhere.
#ifndef VIREO_CONVERTER_IR_BUDGET_H_
#define VIREO_CONVERTER_IR_BUDGET_H_

#include <array>
#include <cstdint>
#include <string>

namespace vireo::ir {

class Budget {
 public:
  enum Kind : uint8_t {
    kNodes,        // and constants, imported again: of functions, unrolled loops, bodies whose types widen
    kElements,     // of sequences, each time that a sequence is made
    kDenseBytes,   // of sparse tensors made dense
    kTerms,        // of expressions of extents, each time that an operation reads or makes them
    kFoldedBytes,  // of constants that folding makes
    kFoldedSteps,  // elementary operations of folding (steps.h)
    kKinds
  };
  Budget();

  // Takes `amount`. False: less than that is left, and nothing is taken.
  bool spend(Kind kind, int64_t amount);
  // Weights in the file let more be made of them: converted weights are as large.
  void add_weights(int64_t bytes);
  bool exceeded(Kind kind) const { return exceeded_[kind]; }  // something was refused
  // "131072 nodes that functions and loops unfold to".
  std::string limit(Kind kind) const;

 private:
  std::array<int64_t, kKinds> left_, weighed_;  // weighed: what was added for weights
  std::array<bool, kKinds> exceeded_ = {};
};

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_BUDGET_H_
