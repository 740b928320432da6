// The file's plans for targets: which one places a session's nodes, and where it says that they run. A plan is a wish:
// a device that is here but does not take a node leaves it to the others, and no plan can hand a node to a device that
// did not claim it.
#ifndef VIREO_RUNTIME_PREPARE_TARGET_PLAN_H_
#define VIREO_RUNTIME_PREPARE_TARGET_PLAN_H_

#include "runtime/prepare/layout.h"

namespace vireo {

// Finds each of the plan's devices among the runtime's: one of the same delegate, vendor and family, that of the same
// name first. Drivers may differ. False where one is not here; `why` then says which.
bool find_plan_devices(const vireo_model* model, const fb::Plan& plan, PlanDevices* out, Error* why);

// Whether a session that names no target may follow such a plan. One for the CPU alone knows of no other device that is
// here, and would keep nodes from it.
inline bool is_automatic(const PlanDevices& devices) { return !devices.emulated && devices.beside_cpu; }

// Sets layout.plan by the session's options; the layout's bounds are known. Fails where a target that was named cannot
// be used.
Status choose_plan(SessionLayout& layout, const vireo_session_options& options, Error* error);
// Writes what the plan says of a subgraph over its `wanted`.
void follow_plan(SessionLayout& layout, uint32_t subgraph);
// Whether the plan has nodes for a device that the options do not allow by themselves.
bool plan_has(const SessionLayout& layout, uint32_t device);
// Gives nodes that are where the plan says the reason for it, where they have none.
void tell_plan(SessionLayout& layout, uint32_t subgraph);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_TARGET_PLAN_H_
