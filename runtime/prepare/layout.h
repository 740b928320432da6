// What a session will take, worked out before it exists: types at the bounds, where each tensor lies, which device
// takes each node. Lives in temporary memory while vireo_model_memory or vireo_session_create runs.
#ifndef VIREO_RUNTIME_PREPARE_LAYOUT_H_
#define VIREO_RUNTIME_PREPARE_LAYOUT_H_

#include <stdint.h>

#include "runtime/devices/graph_view.h"
#include "runtime/devices/runtime.h"
#include "runtime/memory/copies.h"
#include "sdk/base/carver.h"
#include "sdk/base/config.h"
#include "sdk/ops/op.h"
#include "sdk/plan/planner.h"

namespace vireo {

constexpr uint8_t kNoDevice = 255;
constexpr uint8_t kGivenUp = 254;  // SubLayout::wanted: any device that runs the node by itself

struct JoinedPart;
struct DeviceArena;

struct NodeChoice {
  uint8_t device =
      kNoDevice;  // index in the runtime's devices; kNoDevice: control flow, or a composite run by its body
  const char* kernel = "";
  const char* reason = "";
  const void* claimed = nullptr;  // vireo_claim.state, or the copy of it
  size_t state_bytes = 0;
  size_t scratch_bytes = 0;
  uint64_t key = 0;       // vireo_candidate.key, where a preference was asked
  int32_t rank = 0;       // that it gave
  uint32_t packed = 0;    // constants that it reads packed
  bool in_place = false;  // under the plan, all that the node would copy lies where it belongs
  // branches.h
  uint8_t lane = 0;
  uint32_t window = 0;            // nodes that run in lanes, starting with this one; 0: one after another
  double cost_ns = 0;             // vireo_claim.cost_ns
  double time_ns = 0;             // vireo_claim.time_ns
  size_t lane_scratch_bytes = 0;  // with one slot
  // joined.h
  bool joins = false;          // its device may run it together with its neighbours
  bool stays = false;          // ... and cannot be lost: it has no second one
  uint32_t joined = 1;         // nodes of the part that begins here; 0: in one that began before
  JoinedPart* part = nullptr;  // that begins here
};

struct SubLayout {
  BoundType* max_types = nullptr;
  uint64_t* offsets = nullptr;  // as fb::SubgraphPlan.offsets
  uint64_t* regions = nullptr;
  NodeChoice* nodes = nullptr;
  Copies states;                  // what the nodes' claims hand on
  NodeChoice* seconds = nullptr;  // joined.h: of nodes in parts, where they run when their device is lost
  // auto_place.h: the device that is to have each node, where it takes it; kNoDevice: the first of the list that does
  uint8_t* wanted = nullptr;
  double* otherwise_ns = nullptr;  // what each takes at least on a device that runs it by itself
  uint32_t tensor_count = 0;
  uint32_t node_count = 0;
  uint32_t owner = 0;  // subgraph of the node that owns this body
  uint32_t owner_node = 0;
  bool inlined = false;  // body of a composite that runs by its body: its steps join the owner's
  bool dead = false;     // body of a composite that a device took whole
  uint64_t bytes = 0;    // of its region
  uint64_t lower_bound = 0;
};

// target_plan.h: the runtime's devices by the plan's.
struct PlanDevices {
  uint8_t of[kMaxDevices] = {};
  uint32_t count = 0;
  bool emulated = false;    // one of them is
  bool beside_cpu = false;  // one of them is not the CPU
};

struct SessionLayout {
  const vireo_model* model = nullptr;
  const Program* program = nullptr;
  int32_t slots = 1;
  bool packs = false;  // constants may be packed
  vireo_math math = VIREO_MATH_EXACT;
  const vireo_preference* preference = nullptr;  // the options'
  Interval* exprs = nullptr;
  SubLayout* subs = nullptr;
  vireo_graph* graphs = nullptr;
  size_t scratch_bytes = 0;
  JoinedPart* parts = nullptr;
  DeviceArena* arenas = nullptr;   // device_arenas.h
  bool begins_again = false;       // a run may: the model's inputs keep their memory to its end
  const fb::Plan* plan = nullptr;  // target_plan.h: that places the nodes
  PlanDevices plan_devices;
  const char* plan_reason = "";  // lives as long as the model
  int32_t lanes = 0;             // branches.h: the most that run at once, and what each has of the scratch
  size_t lane_scratch_bytes = 0;
  // What the temporary block takes, to be given back.
  void* block = nullptr;
  size_t block_bytes = 0;

  const fb::Subgraph& graph(uint32_t i) const { return program->subgraph(i); }
};

// Names a dimension without a bound (kInvalidArgument), a node without a kernel (kUnsupported), a plan that does not
// fit its graph (kInvalidModel). On failure nothing is held.
Status make_layout(const vireo_model* model, const vireo_session_options& options, SessionLayout* out, Error* error);
void free_layout(SessionLayout* layout);

// A node as its device sees it, with what its claim handed on; or `joined`. What they point to lives as long as the
// part.
vireo_part part_of(const SessionLayout& layout, uint32_t subgraph, const uint32_t* node, const void* const* claimed,
                   const JoinedPart* joined = nullptr);
inline vireo_part part_of(const SessionLayout& layout, uint32_t subgraph, const uint32_t* node,
                          const NodeChoice& choice) {
  return part_of(layout, subgraph, node, &choice.claimed, choice.part);
}
// Whether the device's delegate packs constants and the host keeps them: as the options say, but always for a part that
// works on the device's buffers, where constants cannot be read as they lie.
inline bool packs_for(const SessionLayout& layout, uint32_t device, const JoinedPart* joined) {
  const vireo_delegate& d = *layout.model->runtime->devices[device].delegate;
  const bool wanted = layout.packs || (VIREO_JOINED && joined != nullptr && d.bind != nullptr);
  return VIREO_PACKS && wanted && d.pack != nullptr;
}
// How a device runs it.
vireo_memory_request request_of(const SessionLayout& layout, uint32_t device, const JoinedPart* joined);
inline vireo_memory_request request_of(const SessionLayout& layout, const NodeChoice& choice) {
  return request_of(layout, choice.device, choice.part);
}

// Tensors of the subgraphs before `subgraph`, and of all: their numbers in one list.
uint32_t first_tensor(const SessionLayout& layout, uint32_t subgraph);
inline uint32_t tensor_total(const SessionLayout& layout) {
  return first_tensor(layout, layout.program->subgraph_count());
}

// The input that is carried state, by index among the inputs: its output; -1 for others.
int32_t state_of(const Program& program, uint32_t input);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_LAYOUT_H_
