#include "delegates/cuda/system.h"

#include "delegates/cuda/device.h"
#include "delegates/gpu/stream/system.h"

namespace vireo::cuda {

std::unique_ptr<gpu::System> find_cards(std::string* why) { return gpu::StreamSystem<Api>::find(why); }

}  // namespace vireo::cuda
