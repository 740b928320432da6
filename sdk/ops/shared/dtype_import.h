// An attribute that names a data type, for importers.
#ifndef VIREO_SDK_OPS_SHARED_DTYPE_IMPORT_H_
#define VIREO_SDK_OPS_SHARED_DTYPE_IMPORT_H_

#include <string>

#include "sdk/ops/view.h"

namespace vireo {

// ONNX numbers its types as DType does.
inline Status import_dtype(ImportContext& ctx, const char* name, DType otherwise, uint8_t* out) {
  const int64_t v = ctx.attr_int(name, static_cast<int64_t>(otherwise));
  if (v < 0 || v >= kDTypeCount) {
    return ctx.fail(Status::kInvalidModel,
                    std::string(name) + " is " + std::to_string(v) + ", which is no ONNX data type");
  }
  *out = static_cast<uint8_t>(v);
  return Status::kOk;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_DTYPE_IMPORT_H_
