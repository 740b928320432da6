// vireo_session_options.require: how many nodes a device has to have.
#ifndef VIREO_RUNTIME_PREPARE_REQUIREMENT_H_
#define VIREO_RUNTIME_PREPARE_REQUIREMENT_H_

#include "runtime/prepare/layout.h"

namespace vireo {

// Nodes are placed. Null and "" require nothing. Names the first node that is elsewhere.
Status check_requirement(const SessionLayout& layout, const char* require, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_REQUIREMENT_H_
