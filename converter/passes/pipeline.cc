#include "converter/passes/pipeline.h"

#include <algorithm>

#include "converter/passes/dead_code.h"
#include "converter/passes/eliminate_no_ops.h"
#include "converter/passes/fold_batch_norm.h"
#include "converter/passes/fold_constants.h"
#include "converter/passes/fuse_activation.h"
#include "converter/passes/fuse_epilogue.h"
#include "converter/passes/inline_branches.h"
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
    // Conditions are known now or never. Where a branch came out, the walk goes on at the folding above: what it brings
    // may be constant, and may decide the next branch.
    &kInlineBranches,
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

// What a graph is to those who use it: no pass may change it.
class Interface {
 public:
  explicit Interface(const ir::Graph& g) : outputs_(g.output_names()) {
    for (const ir::Value* v : g.inputs()) inputs_.push_back(v->name);
    for (const ir::Value* v : g.outputs()) dtypes_.push_back(v->type.dtype);
  }

  // What `g` has otherwise; "" where all is as promised.
  std::string difference(const ir::Graph& g) const {
    const Interface now(g);
    if (now.inputs_ != inputs_) return "its inputs are " + list(now.inputs_) + ", they were " + list(inputs_);
    if (now.outputs_ != outputs_) return "its outputs are " + list(now.outputs_) + ", they were " + list(outputs_);
    for (size_t i = 0; i < dtypes_.size(); ++i) {
      if (now.dtypes_[i] == dtypes_[i]) continue;
      return "output \"" + outputs_[i] + "\" is " + dtype_name(now.dtypes_[i]) + ", it was " + dtype_name(dtypes_[i]);
    }
    return "";
  }

 private:
  static std::string list(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "\"" : ", \"") + n + "\"";
    return out.empty() ? "none" : out;
  }

  std::vector<std::string> inputs_, outputs_;
  std::vector<DType> dtypes_;
};

// One entry a pass, however often it ran.
void add(PassReport r, ConvertReport* report) {
  for (PassReport& have : report->passes) {
    if (have.name != r.name) continue;
    have.changes += r.changes;
    have.declined = std::move(r.declined);  // the last word
    have.checked = have.checked || r.checked;
    have.max_difference = std::max(have.max_difference, r.max_difference);
    return;
  }
  report->passes.push_back(std::move(r));
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
  std::vector<const Pass*> passes;
  for (const Pass* pass : kPipeline) {
    if (!options.optimize && pass != &kDeadCode) continue;
    if (std::find(options.skip.begin(), options.skip.end(), pass->name) != options.skip.end()) continue;
    passes.push_back(pass);
  }
  return run_passes(graph, passes, observer, diagnostics, report);
}

bool run_passes(ir::Graph& graph, const std::vector<const Pass*>& passes, Observer* observer, Diagnostics* diagnostics,
                ConvertReport* report) {
  if (observer != nullptr && !observer->begin(graph)) return false;
  const Interface promised(graph);
  for (size_t i = 0; i < passes.size(); ++i) {
    const Pass& pass = *passes[i];
    PassLog log;
    run_everywhere(graph, pass, log);
    std::string broken = graph.validate();
    if (broken.empty()) broken = promised.difference(graph);
    if (!broken.empty()) {
      diagnostics->error(Code::kCheckFailed, std::string("after pass ") + pass.name + " the graph is broken: " + broken,
                         std::string("convert without this pass, and report the model that shows it"));
      return false;
    }
    PassReport r;
    r.name = pass.name;
    r.changes = log.changes;
    r.declined = std::move(log.declined);
    const bool good = observer == nullptr || observer->after(pass.name, graph, &r);
    add(std::move(r), report);
    if (!good) return false;
    if (&pass != &kInlineBranches || log.changes == 0) continue;
    const auto folding = std::find(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(i), &kFoldConstants);
    i = static_cast<size_t>(folding - passes.begin()) - (*folding == &kFoldConstants ? 1 : 0);
  }
  return true;
}

}  // namespace vireo::passes
