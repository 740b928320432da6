// Parts on a device that is verified before it is trusted: what happens when it is lost, and whether it computes
// rightly.
#ifndef VIREO_RUNTIME_RECOVER_FAILOVER_H_
#define VIREO_RUNTIME_RECOVER_FAILOVER_H_

#include "runtime/run/session.h"

namespace vireo {

// Of vireo_session::lost_devices.
inline uint32_t device_bit(const vireo_session& s, const Device* device) {
  return 1u << static_cast<uint32_t>(device - s.model->runtime->devices);
}
// Whether submit() said that the device does not take the part with the extents of this run, and others can.
inline bool declines(const Step& step, vireo_status status) {
  return status == VIREO_UNSUPPORTED && step.away.graph != 0 && step.away.fallback != nullptr;
}
// Says so, once for each part of a session.
void note_declined(vireo_session& s, Step& step);
// Whether this session knows the step's device, which it must have, as lost.
bool is_lost(const vireo_session& s, const Step& step);

// Runs each part that can fall back on made-up inputs at the session's bounds, unless this blob was compared before:
// on its device as often as vireo_device_info.trial_runs says, then once on the second device. Runs of one device must
// agree to the bit, which needs no second device and finds a driver that is wrong now and then. *wrong: one differed;
// it counts as refused from now on, and the session must be laid out anew. What cannot be judged so (the second device
// refuses the made-up inputs) is left as it is.
Status check_parts(vireo_session& s, bool* wrong);

}  // namespace vireo

#endif  // VIREO_RUNTIME_RECOVER_FAILOVER_H_
