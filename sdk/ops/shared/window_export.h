// Writes the attributes of sliding windows: the way back of window_import.h. Host only.
#ifndef VIREO_SDK_OPS_SHARED_WINDOW_EXPORT_H_
#define VIREO_SDK_OPS_SHARED_WINDOW_EXPORT_H_

#include "sdk/ops/view_export.h"

namespace vireo {

template <class Attrs>
void export_window_attributes(const Attrs& a, OnnxNode* node) {
  const char* const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  node->numbers("strides", a.strides()).numbers("dilations", a.dilations()).numbers("pads", a.pads());
  if (a.auto_pad() != 0) node->text("auto_pad", names[a.auto_pad() & 3]);
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_WINDOW_EXPORT_H_
