// Kernels of the sizes that models have, in the tilings that are chosen for a target: what tests ask compilers about
// registers of.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_USUAL_TESTING_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_USUAL_TESTING_H_

#include <functional>
#include <vector>

#include "delegates/gpu/templates/dispatch.h"

namespace vireo::gpu {

struct UsualKernel {
  const char* name;
  bool halves;       // products of halves
  bool needs_units;  // what chips without a unit compute by other launches
  std::function<Dispatch(const Target&)> make;
};

std::vector<UsualKernel> usual_kernels();

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_USUAL_TESTING_H_
