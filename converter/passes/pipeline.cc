#include "converter/passes/pipeline.h"

#include <algorithm>

#include "converter/passes/dead_code.h"
#include "converter/passes/eliminate_no_ops.h"
#include "converter/passes/fold_batch_norm.h"
#include "converter/passes/fold_constants.h"
#include "converter/passes/fuse_activation.h"
#include "converter/passes/fuse_epilogue.h"
#include "converter/passes/merge_equal.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::passes {
namespace {

// The order, and why.
const Pass* const kPipeline[] = {
    // What nothing uses costs every later pass time: importers leave the shape arithmetic behind whose result they
    // know.
    &kDeadCode,
    // Weights that are computed (transposed, cast, reshaped) become plain constants, which all patterns below ask for.
    &kFoldConstants,
    // Identity and no-op views stand between nodes that belong together.
    &kEliminateNoOps,
    // After folding, because equal constants make equal nodes; before patterns, which count consumers.
    &kMergeEqual,
    // Before fusion: a normalisation would end the chain behind its convolution.
    &kFoldBatchNorm,
    // Before the epilogue, which knows operators and not their spelled-out forms.
    &kFuseActivation,
    &kFuseEpilogue,
    // Constants that were replaced, and nodes that lost their users to a pattern.
    &kDeadCode,
};

// Bodies first. A composite's body is finished when it is made.
void run_everywhere(ir::Graph& g, const Pass& pass, PassLog& log) {
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kComposite) continue;
    for (auto& body : n.bodies) run_everywhere(*body, pass, log);
  }
  pass.run(g, log);
}

}  // namespace

std::string kind_of(const ir::Node& node) {
  if (node.op == Op::kComposite) return node.attributes<attrs::Composite>().hint()->str();
  return op_name(node.op);
}

const Pass* find_pass(const std::string& name) {
  for (const Pass* p : kPipeline) {
    if (name == p->name) return p;
  }
  return nullptr;
}

bool run_pipeline(ir::Graph& graph, const ConvertOptions& options, Observer* observer, Diagnostics* diagnostics,
                  ConvertReport* report) {
  for (const std::string& name : options.skip) {
    if (find_pass(name) == nullptr)
      diagnostics->warning(Code::kUnknownPass, "there is no pass named \"" + name + "\" to skip");
  }
  if (observer != nullptr && !observer->begin(graph)) return false;
  for (const Pass* pass : kPipeline) {
    if (!options.optimize && pass != &kDeadCode) continue;
    if (std::find(options.skip.begin(), options.skip.end(), pass->name) != options.skip.end()) continue;
    PassLog log;
    run_everywhere(graph, *pass, log);
    const std::string broken = graph.validate();
    if (!broken.empty()) {
      diagnostics->error(Code::kCheckFailed,
                         std::string("after pass ") + pass->name + " the graph is broken: " + broken,
                         std::string("convert without this pass, and report the model that shows it"));
      return false;
    }
    PassReport r;
    r.name = pass->name;
    r.changes = log.changes;
    r.declined = std::move(log.declined);
    const bool good = observer == nullptr || observer->after(pass->name, graph, &r);
    report->passes.push_back(std::move(r));
    if (!good) return false;
  }
  return true;
}

}  // namespace vireo::passes
