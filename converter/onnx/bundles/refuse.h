// Refusals of bundles where a tensor, or elements that are listed, are wanted. Private to this folder's parent.
#ifndef VIREO_CONVERTER_ONNX_BUNDLES_REFUSE_H_
#define VIREO_CONVERTER_ONNX_BUNDLES_REFUSE_H_

#include <string>

#include "converter/diag/diagnostics.h"
#include "converter/ir/graph.h"
#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/tools.h"

namespace vireo::importer {

// Records that `what` of the node is `b`.
void refuse_bundle(Report& report, const Scope& scope, const ::onnx::NodeProto& node, const std::string& what,
                   const Bundle& b);
// False: `v` is no sequence whose parts are not listed (Bundle::open). Else that is recorded.
bool refuse_open(const Tools& tools, const Scope& scope, const ::onnx::NodeProto& node, const ir::Value* v);
// The same of an output of the model.
bool refuse_open_output(const Tools& tools, const Bundle& b);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BUNDLES_REFUSE_H_
