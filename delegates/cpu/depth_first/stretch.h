// A part of nodes that runs image by image (by_image.h): what it takes, and its run.
//
// Its inner values have room for one image, in the part's scratch, so that the session's arena has none for them. The
// kernels are those that the nodes would have by themselves: the numbers are the same to the bit.
#ifndef VIREO_DELEGATES_CPU_DEPTH_FIRST_STRETCH_H_
#define VIREO_DELEGATES_CPU_DEPTH_FIRST_STRETCH_H_

#include "delegates/cpu/cpu_op.h"

namespace vireo::cpu {

// What a claim says of a node in a stretch.
struct Link {
  const CpuKernel* kernel = nullptr;
  uint32_t packs = 0;  // constants that it reads packed
};

// A part as a call of the delegate names it.
struct StretchPart {
  const vireo_host& host;
  const vireo_graph* graph;
  const vireo_part& part;
  Link (*link)(const void* claimed);           // of part.claimed[k]
  bool (*stays_alone)(const CpuQuery& query);  // too small for a second thread
  int32_t slots = 1;
};

uint32_t count_packs(const vireo_host& host, const vireo_graph* graph, uint32_t node, const CpuKernel& kernel);

// As the delegate's functions. `state_bytes`: of what load_stretch() makes at `state`, which is aligned to 64.
vireo_status stretch_memory(const StretchPart& stretch, bool packs, size_t* state_bytes, size_t* scratch_bytes);
bool pack_stretch(const StretchPart& stretch, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to);
vireo_status load_stretch(const StretchPart& stretch, const void* const* packed, void* state);
// `blamed`: after an error, the name of the node that failed.
Status run_stretch(void* state, Span<const Tensor* const> inputs, Span<Tensor* const> outputs, const vireo_submit& with,
                   Error* error, const char** blamed);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_DEPTH_FIRST_STRETCH_H_
