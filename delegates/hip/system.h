// The cards of this machine that HIP reaches, for the table and for tests.
#ifndef VIREO_DELEGATES_HIP_SYSTEM_H_
#define VIREO_DELEGATES_HIP_SYSTEM_H_

#include <memory>
#include <string>

#include "delegates/gpu/device/table.h"

namespace vireo::hip {

// NULL if this machine has no such card; *why then says what is missing.
std::unique_ptr<gpu::System> find_cards(std::string* why);

}  // namespace vireo::hip

#endif  // VIREO_DELEGATES_HIP_SYSTEM_H_
