#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu {

const TrialCard* trial_card() { return nullptr; }

}  // namespace vireo::gpu
