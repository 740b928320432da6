// How scratch is asked for.
#ifndef VIREO_DELEGATES_CPU_KERNELS_SCRATCH_H_
#define VIREO_DELEGATES_CPU_KERNELS_SCRATCH_H_

namespace vireo::cpu {

// A smaller product is not always cut into smaller pieces: it may choose deeper blocks, or pack what a larger one
// shares.
enum class Sizes {
  kUpperBounds,  // enough for every run with sizes up to these
  kFixed,        // for exactly these sizes: less
};

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_SCRATCH_H_
