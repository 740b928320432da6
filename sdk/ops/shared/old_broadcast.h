// How ONNX broadcast before opset 7: attributes `broadcast` and `axis` of the operators with two operands. Host only.
#ifndef VIREO_SDK_OPS_SHARED_OLD_BROADCAST_H_
#define VIREO_SDK_OPS_SHARED_OLD_BROADCAST_H_

#include "sdk/ops/view.h"

namespace vireo {

// The second operand, reshaped where an old node asks for it so that NumPy's rules place it the same way.
Status old_broadcast(ImportContext& ctx, Value* second);

// `v` with `count` dimensions of one element appended; absent on failure.
Value append_ones(ImportContext& ctx, Value v, int count);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_OLD_BROADCAST_H_
