// The two bodies of attention, for units that keep to themselves how they spread a matrix, and for those of which it is
// known.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_BODY_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_BODY_H_

#include <string>

#include "delegates/gpu/templates/attention.h"

namespace vireo::gpu {

// With Unit::known: sums stay in registers, and are scaled anew when a greater score comes.
// "" or why a tiling cannot be had.
std::string refuse_register_tiling(const AttentionProblem& problem, const AttentionTiling& tiling,
                                   const Target& target);
AttentionTiling choose_register_attention(const AttentionProblem& problem, const Target& target);
Dispatch make_register_attention(const AttentionProblem& problem, const AttentionTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_ATTENTION_BODY_H_
