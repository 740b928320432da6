// What a node takes, estimated: the same number on every machine, so that what is decided by it is too.
#ifndef VIREO_DELEGATES_CPU_COST_H_
#define VIREO_DELEGATES_CPU_COST_H_

#include "delegates/cpu/cpu_op.h"

namespace vireo {

// Nanoseconds of one thread of a core with vectors of 256 bits, the weights in its cache: the larger of what the
// multiplications and what the bytes take. Right within a factor of some three; what counts is how nodes compare. 0:
// not known (shapes that change, operators that are neither products nor walks over their operands). `tuned`: not the
// reference kernel.
double cost_ns(const CpuQuery& query, bool tuned);

}  // namespace vireo

#endif  // VIREO_DELEGATES_CPU_COST_H_
