// What ONNX's checker insists on and this library does not: ranks of operands that are one number, and results that
// nobody uses. Host only.
#ifndef VIREO_SDK_OPS_SHARED_STRICT_EXPORT_H_
#define VIREO_SDK_OPS_SHARED_STRICT_EXPORT_H_

#include <string>

#include "sdk/ops/view_export.h"

namespace vireo {

// Input `i`, which holds one element, as a tensor of rank 0 (a number) or 1 (a list); "" where it is absent.
std::string one_number(ExportContext& ctx, int i);
std::string list_of_one(ExportContext& ctx, int i);

// Names for all of the first `count` outputs, those too that nothing reads.
void name_outputs(ExportContext& ctx, int count, OnnxNode* node);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_STRICT_EXPORT_H_
