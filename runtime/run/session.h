// A running instance of a model: tensors, steps, and the loop over them.
//
// A frame is a subgraph that runs as one list of steps: the model itself, or a body of If, Loop, Scan. The steps of a
// composite that no device took whole are put in its owner's list when the session is built, so that running it unfused
// costs nothing more. Every tensor has one fixed Tensor struct, which steps point to; there is no recursion, so bodies
// need one set.
#ifndef VIREO_RUNTIME_RUN_SESSION_H_
#define VIREO_RUNTIME_RUN_SESSION_H_

#include <stdint.h>

#include "runtime/devices/fault.h"
#include "runtime/devices/pool_slice.h"
#include "runtime/prepare/layout.h"
#include "sdk/base/asan.h"
#include "sdk/ops/kernel.h"
#include "vireo/delegate.h"
#include "vireo/vireo.h"

namespace vireo {

struct Frame;

struct Fallback;
struct DeviceMemory;

// Constants lie in the model's file, and what lies there counts as one: it never changes.
inline bool lies_in(Span<const uint8_t> file, const void* p) {
  return static_cast<size_t>(static_cast<const uint8_t*>(p) - file.data()) < file.size();
}

struct Step {
  enum Kind : uint8_t { kPart, kIf, kLoop, kScan };
  // What is not known of its shapes before it runs.
  struct Shapes {
    bool infer = false;           // they are worked out as the run goes: see vireo_session::Run::settled
    bool reads = false;           // they depend on contents that are not constant
    bool data_dependent = false;  // the kernel sets its outputs' extents
    bool bounded = false;         // its kernel has scratch, which is as large as the bounds want it
  };
  // Steps side by side (prepare/branches.h).
  struct Window {
    uint8_t steps = 0;  // that run in lanes, starting with this one
    uint8_t lane = 0;
  };
  // What the file declares; null of a part of several nodes.
  struct Declared {
    const fb::Subgraph* graph = nullptr;
    const fb::Node* node = nullptr;
  };
  // What its device does.
  struct Call {
    vireo_status (*submit)(void* loaded, const vireo_tensor* const*, uint32_t, vireo_tensor* const*, uint32_t,
                           const vireo_submit*) = nullptr;
    void (*unload)(void* loaded) = nullptr;
    void* loaded = nullptr;
  };
  // Of a part that a device may lose, or works on in memory of its own (remote.h).
  struct Away {
    const Device* device = nullptr;  // where submit may return before the outputs are written
    Fallback* fallback = nullptr;
    bool tells_time = false;  // its device says what each of its nodes took
    uint8_t arena = 0;        // 1 + index in DeviceMemory::arenas; 0: on the host's memory
    uint32_t graph = 0;       // 1 + index in Devices::run_graphs; 0: its shapes are fixed
  };

  Kind kind = kPart;
  bool in_place = false;  // fixed shapes, and all that it would copy lies where it belongs: nothing to run
  Shapes shapes;
  Window window;
  uint16_t input_count = 0;
  uint16_t output_count = 0;
  uint32_t info = 0;   // index of its NodeInfo; of a part of several nodes, the first one's
  uint32_t nodes = 1;  // that it runs, which follow each other among the NodeInfos
  uint32_t attrs_size = 0;
  const uint8_t* attrs = nullptr;
  const OpDef* def = nullptr;
  Tensor** args = nullptr;  // inputs, then outputs; null: absent or not wanted
  Declared declared;
  Call call;
  Away away;
#if VIREO_ASAN
  size_t scratch_bytes = 0;  // that its kernel asked for: part_guard.h
#endif
  // Control flow; of a fused composite of symbolic shapes [0], for its shapes alone.
  Frame* bodies[2] = {nullptr, nullptr};
};

// `tensor` lies where `target` lies, which is only known when the owner of the frame runs.
struct Alias {
  Tensor* tensor;
  const Tensor* target;
};

struct Frame {
  const fb::Subgraph* graph = nullptr;
  Alias* aliases = nullptr;
  uint32_t alias_count = 0;
  Step* steps = nullptr;
  uint32_t step_count = 0;
  Tensor** inputs = nullptr;
  Tensor** outputs = nullptr;
  uint32_t input_count = 0;
  uint32_t output_count = 0;
};

// One line of the placement, and where its times are counted.
struct NodeInfo {
  const fb::Node* node = nullptr;
  const char* kernel = "";
  const char* reason = "";
  uint64_t key = 0;  // vireo_candidate.key, where a preference was asked
  uint16_t device = kNoDevice;
  DType dtype = DType::kNone;
  uint8_t depth = 0;
};
// What a part becomes when its device is lost.
struct FallbackValue {
  Tensor* tensor;
  void* at;  // while the steps below run; else the device keeps it, and nobody may read it here
};
struct Fallback {
  Frame frame;
  NodeInfo* infos = nullptr;  // one a step: what vireo_session_node tells from then on
  uint32_t first_info = 0;
  FallbackValue* values = nullptr;
  uint32_t value_count = 0;
  const Blob* blob = nullptr;
  bool lost = false;      // its device is: it runs like this until the session is released
  bool declined = false;  // its device did not take the part with what some run brought, which was said
};
// What runs the steps of a window that are in one lane.
struct BranchLane {
  vireo_submit submit = VIREO_SUBMIT_INIT;  // without threads; its own scratch and fault
  Fault fault;
  vireo_status status = VIREO_OK;
  uint32_t failed = 0;  // the step, where status is not VIREO_OK
};
// The output that becomes an input of the next run.
struct Carried {
  uint32_t input, output;
};
struct NodeTime {
  uint64_t calls = 0;
  uint64_t total_ns = 0;
};

}  // namespace vireo

struct vireo_session {
  // What it takes of the caller's or the allocator's memory, itself included.
  struct Block {
    void* at = nullptr;
    size_t bytes = 0;
    bool owned = false;
  };
  // The planned arena.
  struct Values {
    uint8_t* at = nullptr;
    size_t bytes = 0;
  };
  // Every tensor of every subgraph.
  struct Tensors {
    vireo::Tensor* first = nullptr;
    uint32_t count = 0;
  };
  // The placement and the profile, by node.
  struct Nodes {
    vireo::NodeInfo* infos = nullptr;
    vireo::NodeTime* times = nullptr;  // null unless profiling
    uint32_t count = 0;
  };
  struct Shapes {
    int64_t* symbols = nullptr;  // values of the current run's symbolic dimensions, -1 unknown
    vireo::Interval* intervals = nullptr;
  };
  // By the model's inputs.
  struct Inputs {
    vireo::TensorType* most = nullptr;  // at their upper bounds
    vireo::Tensor* own = nullptr;       // the session's own memory behind each, while the caller binds another
  };
  // Outputs that are inputs of the next run.
  struct State {
    vireo::Carried* carried = nullptr;
    uint32_t count = 0;
  };
  struct Threads {
    vireo_thread_pool pool = {};  // with as many slots as the session takes
    vireo::PoolSlice slice;       // behind `pool` where those are fewer than there are
    vireo::BranchLane* lanes = nullptr;
    int32_t lane_count = 0;
  };
  struct Random {
    uint64_t state = 0;
    uint64_t seed = 0;
  };
  struct Devices {
    vireo::DeviceMemory* memory = nullptr;    // where parts work on their device's own memory, else null
    const vireo_graph* run_graphs = nullptr;  // the subgraphs with the extents of the run in hand
    uint32_t failovers = 0;
    uint32_t lost = 0;  // bits by the runtime's index
  };
  // How far a run is.
  struct Run {
    int64_t loop_cells[2 * vireo::kMaxNesting] = {};  // iteration number and condition of each nesting level
    uint32_t loop_depth = 0;
    uint32_t busy = 0;  // this and the next: other threads see them
    uint32_t cancelled = 0;
    // Shapes of tensors are those of a run that came to its end, and no input has got another since: they need not be
    // worked out again, up to the first step where they hang on contents. That step ends it, until the run's end.
    bool settled = false;
  };

  const vireo_model* model = nullptr;
  Block block;
  Values values;
  vireo::Frame main;
  Tensors all;
  Nodes nodes;
  Shapes shapes;
  Inputs inputs;
  State state;
  Threads threads;
  vireo_submit submit = VIREO_SUBMIT_INIT;
  vireo::Fault fault;  // of the submit in hand; its names are empty between failures
  Random random;
  Devices devices;
  Run run;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  vireo::Error error;
};

namespace vireo {

// Runs the model's steps on what its input tensors hold.
Status run_frame(vireo_session& s, Frame& frame);
// One part, shapes being known.
Status run_part(vireo_session& s, Step& step);
// Puts the node and the value that a device blames into the session's error.
inline void take_blame(vireo_session& s) {
  blame(&s.error, s.fault);
  s.fault.node = s.fault.tensor = nullptr;
}
// What its device said of it, as an error that names the node.
Status end_part(vireo_session& s, const Step& step, vireo_status status);
// window.cc: a window's `count` steps, in lanes. A lane that fails ends; the others go on, so that the node that is
// named does not depend on who was faster: the first of the model's order.
Status run_window(vireo_session& s, Step* steps, uint32_t count);
// control.cc: If, Loop or Scan.
Status run_bodies(vireo_session& s, Step& step);

// One run on the caller's tensors; see vireo_session_run.
Status run_session(vireo_session& s, const vireo_tensor* inputs, vireo_tensor* outputs);

// Nothing of the run before counts any more: its error, its symbols, how deep its loops were.
void begin_run(vireo_session& s);
Status check_cancelled(vireo_session& s);

// Extents of an input, as many as it has.
void set_extents(vireo_session& s, uint32_t input, const Dim* extents);

// infer.cc: shapes of a step's outputs from its inputs as they stand; checks every output against its capacity.
Status infer_step(vireo_session& s, Step& step);
// That outputs have room and the extents that the file declares; of a step that is `bounded`, that they and its inputs
// are within the session's bounds. Each extent counts, not only their product, because kernels ask for scratch by
// it.
Status check_bounds(vireo_session& s, const Step& step);
// The same before data exist. Says in `unsure` whether contents that are not constant were asked for.
Status infer_static(const Step& step, const bool* constant_inputs, TensorType* const* outputs, bool* unsure,
                    Error* error);

// "" where it has none.
const char* step_name(const vireo_session& s, const Step& step);
// The message of the first failure, with the node's name in front.
Status fail_step(vireo_session& s, const Step& step, Status status, const char* what);

inline const char* input_name(const vireo_session& s, uint32_t index) {
  return text_of(s.main.graph->tensors()->Get(s.main.graph->inputs()->Get(index))->name());
}
inline const char* output_name(const vireo_session& s, uint32_t index) {
  return text_of(s.main.graph->tensors()->Get(s.main.graph->outputs()->Get(index))->name());
}

inline vireo_tensor* as_c(Tensor* t) { return reinterpret_cast<vireo_tensor*>(t); }
inline const vireo_tensor* as_c(const Tensor* t) { return reinterpret_cast<const vireo_tensor*>(t); }

}  // namespace vireo

#endif  // VIREO_RUNTIME_RUN_SESSION_H_
