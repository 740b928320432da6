// Works of a part whose extents change, as runs with other extents have them. Tiles are chosen by extents, so each way
// to choose is a kernel of its own: all of them are made when the part is compiled, and a run finds its own.
#ifndef VIREO_DELEGATES_GPU_LOWER_OTHER_EXTENTS_H_
#define VIREO_DELEGATES_GPU_LOWER_OTHER_EXTENTS_H_

#include <vector>

#include "delegates/gpu/lower/network.h"
#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// Says of products whether w is made in the part: ProductProblem::made_w.
void mark_made(Lowering* l);

// Works of the bounds with fewer rows, queries, keys or matrices; of those that have one kernel, the first one's. Their
// memories are those of the bounds: only their kernels count.
std::vector<Work> with_other_extents(const Lowering& l);

// One place on the first axis, of values whose extents change and have as many there as the first of them: a batch of
// one, whose views are simpler. False: there is no such axis.
bool make_first_axis_one(Network* network);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_OTHER_EXTENTS_H_
