// Inputs whose contents say where a node's elements lie: axes, starts, pads, scales. A model has them as constants, or
// a run brings them.
#ifndef VIREO_DELEGATES_GPU_LOWER_STEERING_H_
#define VIREO_DELEGATES_GPU_LOWER_STEERING_H_

#include <vector>

#include "delegates/gpu/lower/network.h"

namespace vireo::gpu {

// The values of a network that steer a node and are not constant.
std::vector<int> steering_values(const Network& network);
// Whether such a value says nothing but results' shapes, which the host works out.
bool says_only_shapes(const Network& network, int value);

// Contents that such a value may have at the bounds, one element after the other: to see whether there is a kernel.
std::vector<uint8_t> assumed_contents(const Network& network, int value);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_STEERING_H_
