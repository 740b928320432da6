// What a pass is. One page each: see the heads of the .cc files, and README.md for how to add one.
#ifndef VIREO_CONVERTER_PASSES_PASS_H_
#define VIREO_CONVERTER_PASSES_PASS_H_

#include "converter/ir/graph.h"
#include "converter/ir/infer.h"
#include "converter/stage/log.h"
#include "converter/target/costs.h"

namespace vireo::passes {

// A pass changes one graph (the pipeline visits bodies itself), keeps its promises (ir/graph.h), is deterministic, and
// finds nothing to do when it runs again at once.
struct Pass {
  const char* name;
  void (*run)(ir::Graph& graph, PassLog& log);
  // Of an output's largest value: what its check must allow at least, where it replaces arithmetic by other arithmetic.
  double check_atol = 0;
  // In place of `run`: of a pass that weighs forms by what the target's kernels take.
  void (*run_for)(ir::Graph& graph, const target::KernelCosts& costs, PassLog& log) = nullptr;
};

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_PASS_H_
