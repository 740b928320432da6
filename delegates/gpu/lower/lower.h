// From nodes of a model to what a GPU runs: which nodes there is a kernel for, and the schedule of a part.
//
// A composite is lowered by its body. Nothing in here knows a composite's name: what the converter put together, and
// what it did not, are fused by the same rule (fuse.h).
#ifndef VIREO_DELEGATES_GPU_LOWER_LOWER_H_
#define VIREO_DELEGATES_GPU_LOWER_LOWER_H_

#include <string>
#include <vector>

#include "delegates/gpu/schedule/schedule.h"
#include "vireo/delegate.h"

namespace vireo::gpu {

class MadeBefore;

// What lower_part() has against a part.
struct Refusal {
  std::string why;             // "": nothing
  const char* node = nullptr;  // the host's name of the one to blame; null: none in particular
};

// Whether node `index` runs on the target, by itself and so in any part. *kernel: the template that does most of it, a
// text that lives for ever.
std::string refusal(const Target& target, const vireo_host& host, const vireo_graph* graph, uint32_t index,
                    const char** kernel);

// The same part gives the same schedule on every machine. Where extents change from run to run, it is for the bounds.
// `made`, where it is given, keeps what such a part has kernels for, for runs with other extents (made_before.h).
Refusal lower_part(const Target& target, const vireo_host& host, const vireo_graph* graph, const vireo_part& part,
                   Schedule* out, MadeBefore* made = nullptr);

// Of such a part (Schedule::open): the schedule for the extents of one run, which `graph` shows (vireo_submit.graph).
// Its weights are those of the schedule for the bounds, by the same numbers. `contents`: of each input of the part, or
// null where it is not at hand.
Refusal lower_run(const Target& target, const vireo_host& host, const vireo_graph* graph, const vireo_part& part,
                  const void* const* contents, Schedule* out, MadeBefore* made = nullptr);

// Which inputs of a part have contents that lower_run() reads.
std::vector<uint32_t> steering_inputs(const vireo_host& host, const vireo_graph* graph, const vireo_part& part);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_LOWER_H_
