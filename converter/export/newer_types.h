// Types that ONNX's operators took up after the oldest opset that is written (kExportOpset).
#ifndef VIREO_CONVERTER_EXPORT_NEWER_TYPES_H_
#define VIREO_CONVERTER_EXPORT_NEWER_TYPES_H_

#include <string>

#include "sdk/base/dtype.h"

namespace vireo::exporter {

// The opset since which operator `op` of ai.onnx takes `type`; 0: the oldest that is written has it, or none does.
int opset_with_type(const std::string& op, DType type);

}  // namespace vireo::exporter

#endif  // VIREO_CONVERTER_EXPORT_NEWER_TYPES_H_
