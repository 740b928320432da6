#include "delegates/hip/system.h"

#include "delegates/gpu/stream/system.h"
#include "delegates/hip/device.h"

namespace vireo::hip {

std::unique_ptr<gpu::System> find_cards(std::string* why) { return gpu::StreamSystem<Api>::find(why); }

}  // namespace vireo::hip
