// Parts whose extents change from run to run, lowered for the extents of one run.
#ifndef VIREO_DELEGATES_GPU_DEVICE_SOURCE_H_
#define VIREO_DELEGATES_GPU_DEVICE_SOURCE_H_

#include <memory>

#include "delegates/gpu/device/part.h"
#include "delegates/gpu/lower/made_before.h"

namespace vireo::gpu {

// Host, graph and part are for the call; the target and what was made for it outlive the source.
std::unique_ptr<Source> make_source(const Target& target, const vireo_host& host, const vireo_graph* graph,
                                    const vireo_part& part, MadeBefore* made);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_SOURCE_H_
