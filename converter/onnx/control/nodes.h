// One node of control flow: If, Loop and Scan, each in the file of its name, and those that carry sequences or
// optionals in unroll.cc. Its outputs are bound, or it is refused. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_CONTROL_NODES_H_
#define VIREO_CONVERTER_ONNX_CONTROL_NODES_H_

#include "converter/ir/graph.h"
#include "converter/onnx/tools.h"

namespace vireo::importer {

class OldScans;
class UnitExtents;

void import_if(const Tools& tools, UnitExtents& lifted, Scope& scope, ::onnx::NodeProto& node);
void import_loop(const Tools& tools, UnitExtents& lifted, Scope& scope, ::onnx::NodeProto& node);
void import_scan(const Tools& tools, OldScans& old_scans, Scope& scope, ::onnx::NodeProto& node);

// Whether an output of the graph is declared as a sequence or an optional.
bool makes_bundles(const ::onnx::GraphProto& g);
// An If whose branches do. `cond`: a bool that only a run knows.
void choose_branch(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, ir::Value* cond,
                   ::onnx::GraphProto* const branches[2]);
// A Loop that carries them, whose inputs were looked at.
void unroll_loop(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, ::onnx::GraphProto& body);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_CONTROL_NODES_H_
