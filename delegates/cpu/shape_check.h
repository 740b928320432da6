// Tuned kernels trust shapes; a file may not deserve it. Before any of them looks at a node, the operator's own shape
// function must accept the types that the file declares.
#ifndef VIREO_DELEGATES_CPU_SHAPE_CHECK_H_
#define VIREO_DELEGATES_CPU_SHAPE_CHECK_H_

#include "sdk/graph/node_view.h"

namespace vireo {

enum class ShapeCheck : uint8_t {
  kAgree,   // the shape functions of the node, or of all nodes of a composite's body, accept the types at the upper
            // bounds and give outputs no larger than declared
  kUnsure,  // they follow from contents that are not known yet
  kRefuse,
};
ShapeCheck check_shapes(const NodeView& node);

}  // namespace vireo

#endif  // VIREO_DELEGATES_CPU_SHAPE_CHECK_H_
