// Operators over maps. Private to this folder's parent.
#ifndef VIREO_CONVERTER_ONNX_BUNDLES_MAPS_H_
#define VIREO_CONVERTER_ONNX_BUNDLES_MAPS_H_

#include <string>

#include "converter/onnx/tools.h"

namespace vireo::importer {

bool is_map_operator(const std::string& domain, const std::string& op);
// One of them, in version `opset` of ai.onnx.ml: its output is bound, or it is refused.
void import_map(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, int opset);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BUNDLES_MAPS_H_
