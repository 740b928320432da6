// A tensor's type at the session's upper bounds.
#ifndef VIREO_RUNTIME_DEVICES_BOUND_TYPE_H_
#define VIREO_RUNTIME_DEVICES_BOUND_TYPE_H_

#include "sdk/base/shape.h"

namespace vireo {

struct BoundType : TensorType {
  bool fixed = false;  // the bounds leave one extent for each dimension
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_BOUND_TYPE_H_
