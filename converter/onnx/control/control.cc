// A body becomes a graph of its own; what it uses from outside is handed in behind the operator's own inputs
// (sdk/ops/control/control.fbs states the calling convention). An If whose condition is known here is replaced by the
// branch that is taken.
#include "converter/onnx/control/control.h"

#include "converter/onnx/control/nodes.h"

namespace vireo::importer {

bool is_control_operator(const std::string& domain, const std::string& op) {
  return domain.empty() && (op == "If" || op == "Loop" || op == "Scan");
}

void Control::import(Scope& scope, ::onnx::NodeProto& node) {
  if (node.op_type() == "If") return import_if(tools_, lifted_, scope, node);
  if (node.op_type() == "Loop") return import_loop(tools_, lifted_, scope, node);
  import_scan(tools_, old_scans_, scope, node);
}

}  // namespace vireo::importer
