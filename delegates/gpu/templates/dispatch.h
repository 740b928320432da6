// What every template makes: a program, and the launch that runs it. Problems that differ only in numbers share a
// program where the numbers fit into the push constants.
//
// Bindings come in this order: the template's own operands, then the buffers of its expressions' inputs (expression by
// expression, in order, without those that are given), then the outputs, then the words of errors if an expression
// reports any. Each is bound from its buffer's first element.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_DISPATCH_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_DISPATCH_H_

#include <stdint.h>

#include <array>
#include <string>
#include <vector>

#include "delegates/gpu/ir/program.h"
#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

struct Dispatch {
  std::string refusal;  // not empty: why there is no program for this problem and target
  Program program;
  std::vector<uint32_t> push;
  std::array<uint32_t, 3> groups{1, 1, 1};
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_DISPATCH_H_
