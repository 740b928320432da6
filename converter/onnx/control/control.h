// If, Loop and Scan. Private to this folder's parent.
//
// Owns what they leave to be looked at later: outputs of an If whose branches differ in rank, until all readers are
// known, and texts of Scans that were rewritten. Made behind all of Tools; check_ranks() is called once every node of
// the model is imported.
#ifndef VIREO_CONVERTER_ONNX_CONTROL_CONTROL_H_
#define VIREO_CONVERTER_ONNX_CONTROL_CONTROL_H_

#include <string>

#include "converter/onnx/control/old_scan.h"
#include "converter/onnx/control/unit_extents.h"
#include "converter/onnx/tools.h"

namespace vireo::importer {

bool is_control_operator(const std::string& domain, const std::string& op);

class Control {
 public:
  explicit Control(const Tools& tools) : tools_(tools), lifted_(tools.state), old_scans_(tools.report) {}

  // One of them: its outputs are bound, or it is refused.
  void import(Scope& scope, ::onnx::NodeProto& node);
  // Records each If whose branches differ in rank where a reader minds.
  void check_ranks(const ir::Graph& graph) { lifted_.check(graph); }

 private:
  const Tools& tools_;
  UnitExtents lifted_;
  OldScans old_scans_;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_CONTROL_CONTROL_H_
