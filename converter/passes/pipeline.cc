#include "converter/passes/pipeline.h"

#include "converter/passes/dead_code.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::passes {
namespace {

// The order, and why.
const Pass* const kPipeline[] = {
    // Exporters and importers leave nodes behind that nothing uses.
    &kDeadCode,
};

void run_everywhere(ir::Graph& g, const Pass& pass, PassLog& log) {
  for (ir::Node& n : g.nodes()) {
    for (auto& body : n.bodies) run_everywhere(*body, pass, log);
  }
  pass.run(g, log);
}

}  // namespace

std::string kind_of(const ir::Node& node) {
  if (node.op == Op::kComposite) return node.attributes<attrs::Composite>().hint()->str();
  return op_name(node.op);
}

bool run_pipeline(ir::Graph& graph, const ConvertOptions&, Diagnostics*, ConvertReport* report) {
  for (const Pass* pass : kPipeline) {
    PassLog log;
    run_everywhere(graph, *pass, log);
    PassReport r;
    r.name = pass->name;
    r.changes = log.changes;
    r.declined = std::move(log.declined);
    report->passes.push_back(std::move(r));
  }
  return true;
}

}  // namespace vireo::passes
