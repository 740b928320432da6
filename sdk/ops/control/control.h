// What the converter's plans and the runtime must agree on about bodies; control.fbs has the calling convention.
#ifndef VIREO_SDK_OPS_CONTROL_CONTROL_H_
#define VIREO_SDK_OPS_CONTROL_CONTROL_H_

#include "sdk/ops/op.h"

namespace vireo {

// True: the body writes its outputs where its owner's lie, and its plan gives them no place (kNoOffset). False: they
// lie in the body's own region, from where the owner copies them after each iteration; its carried outputs hold what
// the iteration reads, so it could not write there.
constexpr bool owner_binds_outputs(Op owner) { return owner == Op::kIf || owner == Op::kComposite; }

}  // namespace vireo

#endif  // VIREO_SDK_OPS_CONTROL_CONTROL_H_
