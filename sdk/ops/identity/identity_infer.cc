// y = x, of any shape and element type, strings included.
//   alias    y may be x;  scratch none
// Source: ONNX opset 25 "Identity".
#include "sdk/ops/identity/identity_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {

extern const OpDef kIdentityOp;
const OpDef kIdentityOp = {"Identity",   verify_attrs<attrs::Identity>, infer_same, 1, 1, 1, 1, OpDef::kView,
                           /*inplace=*/1};

}  // namespace vireo
