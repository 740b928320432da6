// Kernels of programs that were printed before. A run with new extents makes its programs anew, and nearly all of them
// are those of earlier extents: numbers that change are arguments. Printing takes longer than making them.
#ifndef VIREO_DELEGATES_GPU_EMIT_MADE_KERNELS_H_
#define VIREO_DELEGATES_GPU_EMIT_MADE_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "delegates/gpu/schedule/schedule.h"
#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

struct Program;

// Of one target. From any thread.
class MadeKernels {
 public:
  // As kernel_of(). The same kernel as before has the same address.
  std::shared_ptr<const Kernel> of(const Program& program, const Target& target);
  size_t count();

 private:
  struct Made;
  static constexpr size_t kMost = 256;  // some MB; beyond that it begins anew

  std::mutex mutex_;
  std::unordered_multimap<uint64_t, std::shared_ptr<const Made>> made_;  // by a hash of the program
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_EMIT_MADE_KERNELS_H_
