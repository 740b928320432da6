// Where products of halves are taken (Target::half_products) and their tiles are copied as they lie (stage_bytes), a
// float32 that only they read is rounded when it is written, not each time it is read: the results are the same, and
// half of the bytes move.
#ifndef VIREO_DELEGATES_GPU_LOWER_HALVE_H_
#define VIREO_DELEGATES_GPU_LOWER_HALVE_H_

#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// Behind fuse(), before split_depth(). What others read as well is written twice, in both widths.
void halve(Lowering* lowering);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_HALVE_H_
