// Parts on a device that is verified before it is trusted: what happens when it is lost, and whether it computes
// rightly.
#ifndef VIREO_RUNTIME_RECOVER_FAILOVER_H_
#define VIREO_RUNTIME_RECOVER_FAILOVER_H_

#include "runtime/run/session.h"

namespace vireo {

// Runs a part's nodes one by one on their second devices, from the tensors that go into it.
Status run_fallback(vireo_session& s, Step& step);
// The same, when its device has just been lost in this run; says so in the log. `why` for people.
Status fail_over(vireo_session& s, Step& step, const char* why);
// Of vireo_session::lost_devices.
inline uint32_t device_bit(const vireo_session& s, const Device* device) {
  return 1u << static_cast<uint32_t>(device - s.model->runtime->devices);
}
// Whether this session knows the step's device, which it must have, as lost.
bool is_lost(const vireo_session& s, const Step& step);

// Runs each part that can fall back once on both devices, on made-up inputs at the session's bounds, unless this blob
// was compared before. *wrong: one differed; it counts as refused from now on, and the session must be laid out anew.
// What cannot be judged so (the second device refuses the made-up inputs) is left as it is.
Status check_parts(vireo_session& s, bool* wrong);

}  // namespace vireo

#endif  // VIREO_RUNTIME_RECOVER_FAILOVER_H_
