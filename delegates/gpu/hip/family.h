// Families of AMD's chips and their matrix units.
#ifndef VIREO_DELEGATES_GPU_HIP_FAMILY_H_
#define VIREO_DELEGATES_GPU_HIP_FAMILY_H_

#include <stdint.h>

#include <string>

#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

// What multiplies 16 x 16 by 16 x 16 halves into floats, and how it spreads matrices over the lanes of a wave. Lane l
// has of the left operand the row l % 16, of the right one the column l % 16, and of both the depths from l / 16 *
// depth_step on, `halves` of them. Of the sum it has column l % 16: element e is of row l / 16 * row_step + e *
// element_step.
//
// Sources: AMD's ISA documents of MI200 (section 7.1), RDNA3 (7.9) and RDNA4 (7.12), and AMD's matrix instruction
// calculator. Both operands have the same depths in the same lane, so a product is right in whatever order these are.
struct HipUnit {
  const char* builtin;  // of clang
  const char* more;     // arguments behind the operands
  uint32_t lanes;       // of a wave
  uint32_t halves, depth_step;
  uint32_t floats, row_step, element_step;
};

struct HipFamily {
  const char* begin;    // of the names of its chips
  uint32_t generation;  // 9 to 12
  uint32_t lanes;       // of a wave
  const HipUnit* unit;  // or null
  // Its unit takes subnormal halves for 0 (AMD's "MI200 MFMA behavior specifics"): it multiplies only where the caller
  // lets float32 be rounded to halves.
  bool flushes = false;
};

// The family of a chip by its name, with or without the features that a driver adds ("gfx90a:sramecc+:xnack-"); null
// where kernels are not printed for it.
const HipFamily* hip_family(const std::string& name);

// Those that tests compile for.
constexpr const char* kHipFamilies[] = {"gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201"};

// What all cards of a family can do: limits that a driver tells replace those here.
Target hip_target(const HipFamily& family);
// The unit of a target's cards; null where it has none.
const HipUnit* hip_unit(const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_HIP_FAMILY_H_
