// A file may declare shapes that its operators do not give: before anything is worked out from them, the operator's own
// shape function must agree.
#ifndef VIREO_DELEGATES_XNNPACK_SHAPE_CHECK_H_
#define VIREO_DELEGATES_XNNPACK_SHAPE_CHECK_H_

#include "delegates/xnnpack/part.h"

namespace vireo::xnnpack {

// False too when a shape follows from contents that are not constant.
bool shapes_agree(const Node& node);
// Gives the node's outputs the shapes that follow from its inputs'. False where none do.
bool infer_shapes(Node* node);

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_SHAPE_CHECK_H_
