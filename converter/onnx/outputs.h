// The model's outputs, under the names that the file lists. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_OUTPUTS_H_
#define VIREO_CONVERTER_ONNX_OUTPUTS_H_

#include "converter/onnx/tools.h"

namespace vireo::importer {

// Called once, behind all nodes.
void add_outputs(const Tools& tools, Scope& scope);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_OUTPUTS_H_
