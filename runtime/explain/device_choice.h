// Which device for a model: what a run on each is expected to take, against limits.
#ifndef VIREO_RUNTIME_EXPLAIN_DEVICE_CHOICE_H_
#define VIREO_RUNTIME_EXPLAIN_DEVICE_CHOICE_H_

#include "runtime/prepare/layout.h"

namespace vireo {

// vireo_model_devices.
Status rank_devices(const vireo_model* model, const vireo_session_options& options, const vireo_limits& limits,
                    vireo_device_choice* choices, uint32_t capacity, uint32_t* count, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_EXPLAIN_DEVICE_CHOICE_H_
