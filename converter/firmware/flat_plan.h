// A converted model as a flat plan (delegates/mcu/plan/plan.h): what a microcontroller runs without FlatBuffers, shape
// inference and planner.
//
// Kernels, their parameters, offsets in the arena and scratch memory are settled here, in the arithmetic of the
// target's core.
#ifndef VIREO_CONVERTER_FIRMWARE_FLAT_PLAN_H_
#define VIREO_CONVERTER_FIRMWARE_FLAT_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/dtype.h"
#include "sdk/base/span.h"

namespace vireo::firmware {

// A kind of core, by what plans depend on.
struct Core {
  const char* name;  // "cortex-m4"
  int32_t tile;      // VIREO_MCU_TILE there
  bool lanes, vectors;
  bool reals;  // float32 arithmetic is the core's own
};
// Null where there is no such core; the names of all, with commas.
const Core* find_core(const std::string& name);
std::string core_names();

struct PlanValue {  // an input or output of the model
  std::string name;
  DType dtype = DType::kNone;
  std::vector<int64_t> dims;
  uint32_t offset = 0, bytes = 0;  // in the arena
  bool quantized = false;          // real = scale * (code - zero)
  float scale = 1;
  int32_t zero = 0;
  // What made-up integers have to be: below this, as the rows of what they choose from; 0: any. Never 0: a divisor.
  uint32_t below = 0;
  bool never_0 = false;
  float read_scale = 0;  // of the codes that the first QuantizeLinear makes of it; 0: none does
};

struct PlanStep {  // a node
  std::string node, op, kernel;
  uint16_t number = 0;        // of the kernel
  uint32_t record = 0;        // of the plan; nodes of one record are a segment, which runs strip by strip
  uint16_t in_strip = 0;      // rows that it makes a call; 0: it runs whole
  uint64_t instructions = 0;  // of a run; 0: not known
  uint64_t products = 0;
  uint32_t scratch_bytes = 0;
  uint32_t output_offset = 0, output_bytes = 0;  // in the arena
};

// A node that the core has no kernel for.
struct Refusal {
  std::string node, op, reason;
};

struct PlanOptions {
  bool strips = true;        // nodes over images may run strip by strip (segments.h)
  uint64_t arena_limit = 0;  // bytes that have to do, 0: any
};

struct FlatPlan {
  std::vector<uint32_t> words;  // the plan's bytes
  std::vector<PlanValue> inputs, outputs;
  std::vector<PlanStep> steps;
  uint32_t arena_bytes = 0, constant_bytes = 0, model = 0;
  uint32_t lower_bound_bytes = 0;  // of the arena: the largest set of tensors that are needed at once
  bool in_reals = false;           // some of its kernels compute in float32
  PlanOptions options;
  uint32_t segments = 0;
  uint32_t bytes() const { return static_cast<uint32_t>(words.size() * 4); }
};

// `file`: a whole .vireo file, verified, aligned to 64. False: `refusals` has every node in the way, or `error` says
// what else is.
// costs: the column of cost.h, by which steps are measured; "": none.
bool make_flat_plan(Span<const uint8_t> file, const Core& core, const std::string& costs, const PlanOptions& options,
                    FlatPlan* out, std::vector<Refusal>* refusals, std::string* error);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_FLAT_PLAN_H_
