// A tensor's type at the session's upper bounds.
#ifndef VIREO_RUNTIME_DEVICES_BOUND_TYPE_H_
#define VIREO_RUNTIME_DEVICES_BOUND_TYPE_H_

#include <stdint.h>

#include "sdk/base/shape.h"

namespace vireo {

struct BoundType : TensorType {
  uint32_t open = 0;  // bit d: the bounds leave dimension d more than one extent
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_BOUND_TYPE_H_
