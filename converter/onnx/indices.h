// Constant indices against the extents that they point into. Private to this folder.
//
// Looked at behind the node's import and before its outputs are bound.
#ifndef VIREO_CONVERTER_ONNX_INDICES_H_
#define VIREO_CONVERTER_ONNX_INDICES_H_

#include "converter/onnx/tools.h"

namespace vireo::importer {

// False, and recorded, where the node reads or writes an element beyond its data in every run.
bool check_indices(const Tools& tools, Scope& scope, const ::onnx::NodeProto& node);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_INDICES_H_
