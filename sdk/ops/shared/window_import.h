// Reads the attributes of sliding windows from an ONNX node into the tables of convolutions and pools. Host only.
#ifndef VIREO_SDK_OPS_SHARED_WINDOW_IMPORT_H_
#define VIREO_SDK_OPS_SHARED_WINDOW_IMPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/ops/view.h"

namespace vireo {

inline Status import_ints(ImportContext& ctx, const char* name, std::vector<int32_t>* out) {
  for (const int64_t v : ctx.attr_ints(name)) {
    if (v < INT32_MIN || v > INT32_MAX) {
      return ctx.fail(Status::kInvalidModel,
                      std::string(name) + " holds " + std::to_string(v) + ", which no tensor has room for");
    }
    out->push_back(static_cast<int32_t>(v));
  }
  return Status::kOk;
}

inline Status import_auto_pad(ImportContext& ctx, uint8_t* out) {
  const std::string s = ctx.attr_string("auto_pad", "NOTSET");
  const char* const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  for (uint8_t i = 0; i < 4; ++i) {
    if (s == names[i]) {
      *out = i;
      return Status::kOk;
    }
  }
  if (s.empty()) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "auto_pad is \"" + s + "\", wanted NOTSET, SAME_UPPER, SAME_LOWER or VALID");
}

// strides, dilations, pads, auto_pad of any table that has them.
template <class Attrs>
Status import_window(ImportContext& ctx, Attrs* a) {
  VIREO_TRY(import_ints(ctx, "strides", &a->strides));
  VIREO_TRY(import_ints(ctx, "dilations", &a->dilations));
  VIREO_TRY(import_auto_pad(ctx, &a->auto_pad));
  // Exporters write pads beside SAME_*; the standard forbids both, everyone ignores the pads.
  if (a->auto_pad == 0) VIREO_TRY(import_ints(ctx, "pads", &a->pads));
  return Status::kOk;
}

// A convolution's kernel_shape may be left out: the filters (input `w`, kernel from dimension 2) have it. If given, it
// agrees.
inline Status check_kernel_shape(ImportContext& ctx, int w) {
  const std::vector<int64_t> kernel = ctx.attr_ints("kernel_shape");
  const Shape& s = ctx.type(ctx.input(w)).shape;
  if (kernel.empty()) return Status::kOk;
  bool same = static_cast<int>(kernel.size()) == s.rank - 2;
  for (int i = 2; same && i < s.rank; ++i) same = is_symbolic(s[i]) || s[i] == kernel[static_cast<size_t>(i - 2)];
  if (same) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "kernel_shape does not agree with the weights' shape",
                  "correct the weights or kernel_shape in the model");
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_WINDOW_IMPORT_H_
