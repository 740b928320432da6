// What goes into a run and what comes out of it.
#ifndef VIREO_RUNTIME_RUN_BIND_H_
#define VIREO_RUNTIME_RUN_BIND_H_

#include "runtime/run/session.h"

namespace vireo {

// The caller's tensors become the model's inputs until forget_inputs(); without `inputs`, the session's memory does.
Status bind_inputs(vireo_session& s, const vireo_tensor* inputs);
void forget_inputs(vireo_session& s);

// After the steps: whether the caller's buffers have room, and what devices keep of them is fetched.
Status ready_outputs(vireo_session& s, const vireo_tensor* outputs);
void hand_out(vireo_session& s, vireo_tensor* outputs);

// Outputs become state of the next run, or the state stays what it was.
void carry_state(vireo_session& s);
void keep_state(vireo_session& s);

}  // namespace vireo

#endif  // VIREO_RUNTIME_RUN_BIND_H_
