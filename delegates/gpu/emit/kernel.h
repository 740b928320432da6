// A program as a schedule's kernel, in the code that the target takes.
#ifndef VIREO_DELEGATES_GPU_EMIT_KERNEL_H_
#define VIREO_DELEGATES_GPU_EMIT_KERNEL_H_

#include "delegates/gpu/ir/program.h"
#include "delegates/gpu/schedule/schedule.h"
#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

Kernel kernel_of(const Program& program, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_EMIT_KERNEL_H_
