// Devices with memory of their own: what lies there, what is copied when, and what has to be waited for.
//
// Each such device has one buffer a session, its arena, planned as the host's is: the values that its parts read and
// make, sharing bytes where they are not alive together. Which copies a run needs is found while it runs: of each value
// it is known where it lies, a step brings what it reads to where it reads it, and what it makes lies there alone. So
// bodies of control flow, windows of branches and parts of a lost device need no rules of their own. Weighed against
// it: a list of copies for each step, made when the session is. That saves a look at each input of a step (a load and a
// test, and only in sessions that have such a device), but every way through control flow and failover needs a list.
//
// Submits on an arena keep their order, so a part waits for another on the same device by being behind it, and the host
// waits where it reads: before a copy home, and at a frame's end.
//
// When the device is lost, what lies there alone is, too: the run begins again on the other devices, from the model's
// inputs, whose memory is kept for that. Weighed against it: to copy every value home that could be a beginning, which
// a run without fault would pay for, and to begin in the middle, for which the host's memory of values that were copied
// would have to be kept as long as anything on the device depends on them.
// State that a run leaves to the next stays there, if one device makes and reads it: after a run, the output's place is
// the input's and the other way round, and parts are bound again. The host's memory has a copy unless the caller does
// without. Weighed against it: a copy on the device, for which there is no call, and one place for both, which the part
// would have to write without reading what it has written.
#ifndef VIREO_RUNTIME_RECOVER_DEVICE_MEMORY_H_
#define VIREO_RUNTIME_RECOVER_DEVICE_MEMORY_H_

#include "runtime/prepare/device_arenas.h"
#include "runtime/run/session.h"

struct vireo_buffer {
  vireo_runtime* runtime = nullptr;
  const vireo::Device* device = nullptr;
  void* handle = nullptr;  // the delegate's
  uint64_t bytes = 0;
};

namespace vireo {

// While a session is made: room for constants that no session before it has put there.
struct DeviceUpload {
  void* kept_by = nullptr;  // DevicePacks::reserve()
  void* buffer = nullptr;   // that is being filled; those that are full are the model's
  uint64_t bytes = 0;       // of it
  uint64_t used = 0;
  uint64_t missing = 0;  // that have no place yet, in this buffer or another one
};

struct Arena {
  const Device* device = nullptr;
  void* work = nullptr;   // scratch of its parts; null: they have none
  void* state = nullptr;  // the state of each: behind the scratch, unless both together are too much for one buffer
  uint64_t state_used = 0;
  DeviceUpload upload;
  void* buffer = nullptr;  // of the values
  void** more = nullptr;   // ... where one does not hold them all: those behind it
  uint32_t more_count = 0;
  bool shared = false;        // it is the host's arena, imported
  vireo_place* at = nullptr;  // one a tensor of the session; without buffer: it does not lie there
};

struct BoundBuffer {
  const vireo_buffer* buffer = nullptr;
  uint64_t offset = 0;
  uint32_t arena = UINT32_MAX;            // of the buffer's device; UINT32_MAX: the session has none there
  vireo_place before = VIREO_PLACE_INIT;  // what `at` said
  bool stays = false;                     // carried state that is not to be brought home (vireo_session_options)
};

// Of the k-th of vireo_session::State: between runs, and at the begin of one.
struct CarriedAt {
  uint32_t arena = UINT32_MAX;  // where input and output have places of their own, which take turns
  uint32_t where = 0;           // as DeviceMemory::where, of the input
};

struct DeviceMemory {
  Arena* arenas = nullptr;
  uint32_t count = 0;
  Tensor* tensors = nullptr;  // the session's, to number them
  uint32_t tensor_count = 0;
  uint32_t* where = nullptr;  // bit 0: the host's memory holds the tensor's value; bit 1 + k: arena k does
  Step** pending = nullptr;   // submitted, not waited for, in order
  uint32_t pending_count = 0;
  const vireo_place** places = nullptr;  // to work in
  BoundBuffer* bound = nullptr;          // one an input of the model, then one an output
  CarriedAt* carried = nullptr;
  uint32_t turned = 0;           // bits by arena: places changed since its parts were bound
  uint32_t indispensable = 0;    // bits by the runtime's index: devices some of whose parts cannot run elsewhere
  const Device* full = nullptr;  // it had no memory left
  bool begins_again = false;     // a device was lost, and the run does without it
};
static_assert(kMaxDevices <= 32,
              "bits of DeviceMemory::where: one for the host, and a device of the host's memory has none");
constexpr uint8_t kSomeArena = 255;  // Step::arena until the arenas are numbered

// The session's tensor `t` of a subgraph, while the session is built.
struct TensorOf {
  void* context;
  const Tensor* (*get)(void* context, uint32_t subgraph, uint32_t t);
};

// Of a profiled session, after a step that was waited for: what its device says of each node is counted there.
void count_times(vireo_session& s, Step& step);
// Reserves what a session's DeviceMemory takes; filled in when the carver is real.
DeviceMemory* carve_device_memory(const SessionLayout& layout, Carver& c);
// Makes the buffers that parts need when they are loaded: for their scratch and state, and for constants. On failure,
// DeviceMemory::full names the device that had no memory left.
Status open_device_work(vireo_session& s, const SessionLayout& layout, Error* error);
// Makes the next buffer for constants, with room for `bytes` at least; the one before is the model's then.
Status next_upload(vireo_session& s, Arena& a, uint64_t bytes, Error* error);
// Hands the constants over to the model.
void close_uploads(vireo_session& s);
// Makes the buffers of values and tells the parts where their values lie. `tensor_of(context, sub, t)`: the session's.
// On failure, DeviceMemory::full names the device that had no memory left.
Status open_device_memory(vireo_session& s, const SessionLayout& layout, const TensorOf& tensor_of, Error* error);
void close_device_memory(vireo_session& s);

// Waits for all that is under way, and brings this step's outputs home.
Status finish_step(vireo_session& s, const Step& step);
// Ends what is under way after a failure.
void abandon(vireo_session& s);
// All values count as the host's again: before a run, after a trial.
void all_at_home(vireo_session& s);

// See vireo_session_bind_input. `buffer` may be null.
Status bind_buffer(vireo_session& s, bool output, uint32_t index, const vireo_buffer* buffer, uint64_t offset,
                   Error* error);

// The end of what was submitted. A hang is a submit that is never done: past its time the part is cancelled and the
// device counts as lost.
vireo_status wait_for(vireo_session& s, const Step& step);

}  // namespace vireo

#endif  // VIREO_RUNTIME_RECOVER_DEVICE_MEMORY_H_
