// A queue of runs, sessions that take the oldest one, and results in the order of submission. See DESIGN.md for the
// designs that were weighed.
#include "c_api/fleet/common.h"
#include "runtime/platform/pool.h"
#include "runtime/platform/threads.h"

namespace vireo::fleet {
namespace {

constexpr uint32_t kMostSessions = 64, kMostRuns = 4096;

struct Run {
  enum State : uint8_t { kFree, kQueued, kRunning, kDone };
  State state = kFree;
  bool cancel = false;
  vireo_status status = VIREO_OK;
  uint64_t number = 0, run_ns = 0;
  void* user = nullptr;
  vireo_tensor *inputs = nullptr, *outputs = nullptr;  // ours
  vireo_tensor* to = nullptr;                          // the caller's list of outputs
  vireo_error error = VIREO_ERROR_INIT;
};

struct Worker {
  vireo_pipeline* pipeline = nullptr;
  vireo_session* session = nullptr;
  platform::Thread thread;
  Run* run = nullptr;  // under way
};

}  // namespace
}  // namespace vireo::fleet

struct vireo_pipeline {
  vireo_allocator allocator = {};
  uint32_t input_count = 0, output_count = 0, depth = 0, capacity = 0, profile = 0;
  const vireo_model* model = nullptr;  // its sessions keep it
  vireo::fleet::Run* runs = nullptr;   // a ring: run number n lies at n % capacity
  vireo_tensor* tensors = nullptr;
  vireo::fleet::Worker* workers = nullptr;
  vireo::fleet::Estimate chosen;

  vireo::platform::Mutex mutex;  // of all below, and of what runs and workers hold
  vireo::platform::Condition work, done, room;
  uint64_t first = 0, next = 0,
           end = 0;  // numbers: the oldest not given back, the next to be begun, the next submitted
  bool stopping = false;

  size_t tensor_count() const { return static_cast<size_t>(capacity) * (input_count + output_count); }
};

namespace vireo::fleet {
namespace {

using platform::Lock;

Run& run_of(vireo_pipeline& p, uint64_t number) { return p.runs[number % p.capacity]; }

// Without the lock. A cancel that came as the session's last run ended is still noted there and would end this one,
// before its first node: it is begun again. Once, for that takes the note away; a device that cancels by itself has the
// last word.
vireo_status run_one(vireo_pipeline& p, Worker& w, Run& run) {
  const vireo_status status =
      vireo_session_run(w.session, run.inputs, p.input_count, run.outputs, p.output_count, &run.error);
  if (status != VIREO_CANCELLED) return status;
  {
    Lock lock(p.mutex);
    if (run.cancel) return status;
  }
  return vireo_session_run(w.session, run.inputs, p.input_count, run.outputs, p.output_count, &run.error);
}

void* serve(void* argument) {
  Worker& w = *static_cast<Worker*>(argument);
  vireo_pipeline& p = *w.pipeline;
  p.mutex.lock();
  for (;;) {
    while (!p.stopping && p.next == p.end) p.work.wait(p.mutex);
    if (p.stopping) break;
    Run& run = run_of(p, p.next++);
    if (run.state != Run::kQueued) continue;  // cancelled before its turn
    run.state = Run::kRunning;
    w.run = &run;
    p.mutex.unlock();
    vireo_tensor* const outputs = run.outputs;
    uint64_t wanted[1 + (1024 - 1) / 64] = {};  // which outputs have the caller's memory
    for (uint32_t o = 0; o < p.output_count; ++o) {
      if (outputs[o].data != nullptr) wanted[o / 64] |= uint64_t{1} << (o % 64);
    }
    const uint64_t begin = platform::now_ns();
    const vireo_status status = run_one(p, w, run);
    const uint64_t end = platform::now_ns();
    for (uint32_t o = 0; o < p.output_count; ++o) {
      if ((wanted[o / 64] >> (o % 64) & 1) != 0) continue;
      outputs[o].data = nullptr;  // else a view of memory that the session's next run writes
      outputs[o].capacity = 0;
    }
    p.mutex.lock();
    run.status = status;
    run.run_ns = end - begin;
    run.state = Run::kDone;
    w.run = nullptr;
    p.done.wake_all();
  }
  p.mutex.unlock();
  return nullptr;
}

void cancel_all(vireo_pipeline& p) {
  bool any = false;
  for (uint64_t n = p.first; n < p.end; ++n) {
    Run& run = run_of(p, n);
    if (run.state == Run::kQueued) {
      run.state = Run::kDone;
      run.status = VIREO_CANCELLED;
      run.run_ns = 0;
      (void)refuse(&run.error, Status::kCancelled, "the run was cancelled before it began");
      any = true;
    } else if (run.state == Run::kRunning) {
      run.cancel = true;
    }
  }
  for (uint32_t i = 0; i < p.depth; ++i) {
    if (p.workers[i].run != nullptr) vireo_session_cancel(p.workers[i].session);
  }
  if (any) p.done.wake_all();
}

void close(vireo_pipeline* p) {
  if (p->workers != nullptr) {
    if (p->mutex.here()) {
      p->mutex.lock();
      p->stopping = true;
      cancel_all(*p);
      p->work.wake_all();
      p->mutex.unlock();
    }
    for (uint32_t i = 0; i < p->depth; ++i) p->workers[i].thread.join();
    for (uint32_t i = 0; i < p->depth; ++i) vireo_session_release(p->workers[i].session);
  }
  const vireo_allocator from = p->allocator;
  destroy(from, p->workers, p->depth);
  destroy(from, p->tensors, p->tensor_count());
  destroy(from, p->runs, p->capacity);
  destroy(from, p, 1);
}

// A string's text stays in the session, which runs on.
vireo_status refuse_strings(const vireo_model* model, vireo_error* error) {
  for (uint32_t o = 0; o < vireo_model_output_count(model); ++o) {
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    if (vireo_model_output(model, o, &info, error) != VIREO_OK || info.dtype != VIREO_STRING) continue;
    Error e;
    (void)fail(&e, Status::kUnsupported,
               "output \"{}\" is text, which lies in the session that made it: run the model in a session", info.name);
    e.tensor = info.name;
    return report(e.status, e, error);
  }
  return VIREO_OK;
}

vireo_status build(vireo_pipeline& p, const vireo_model* model, const vireo_pipeline_options& options,
                   vireo_error* error) {
  vireo_session_options made = VIREO_SESSION_OPTIONS_INIT;
  if (options.session != nullptr) made = *options.session;
  vireo_status status = choose(model, made, options.emulated != 0, &p.chosen, error);
  if (status != VIREO_OK) return status;
  if (made.device == nullptr || strcmp(made.device, "auto") == 0) made.device = p.chosen.whole.devices;
  const int32_t threads = made.threads;
  uint32_t others = 0;  // devices beside the host
  for (uint32_t i = 0; i < p.chosen.whole.load_count; ++i)
    others += strcmp(p.chosen.loads[i].device, "cpu") != 0 ? 1u : 0u;
  const uint32_t wanted = options.depth != 0              ? options.depth
                          : p.chosen.whole.load_count > 1 ? p.chosen.whole.load_count
                                                          : 1;
  const uint32_t at_host = wanted > others ? wanted - others : 1;
  const auto cores = static_cast<uint32_t>(platform::usable_cores());
  made.threads = threads > 0 ? threads : static_cast<int32_t>(cores > at_host ? cores / at_host : 1);
  vireo_session* first = nullptr;
  status = vireo_session_create(model, &made, &first, error);
  if (status != VIREO_OK) return status;
  p.depth = wanted;
  if (wanted > 1) {
    status = refuse_random(
        first, "run i + 1 takes up where run i ended, so runs cannot overlap: give depth 1, or seeds in the model",
        error);
    if (status != VIREO_OK && options.depth == 0) {
      status = VIREO_OK;
      p.depth = 1;
      clear(error);
    }
    if (status != VIREO_OK) {
      p.depth = 0;
      vireo_session_release(first);
      return status;
    }
  }
  p.capacity = options.capacity == 0 ? 2 * p.depth : options.capacity;
  p.workers = make<Worker>(p.allocator, p.depth);
  if (p.workers != nullptr) p.workers[0].session = first;
  p.runs = make<Run>(p.allocator, p.capacity);
  p.tensors = make<vireo_tensor>(p.allocator, p.tensor_count());
  if (p.workers == nullptr || p.runs == nullptr || p.tensors == nullptr) {
    if (p.workers == nullptr) vireo_session_release(first);
    return refuse(error, Status::kOutOfArena, "the allocator has no memory for a pipeline of {} sessions and {} runs",
                  p.depth, p.capacity);
  }
  for (uint32_t i = 0; i < p.capacity; ++i) {
    p.runs[i].inputs = p.tensors + static_cast<size_t>(i) * (p.input_count + p.output_count);
    p.runs[i].outputs = p.runs[i].inputs + p.input_count;
  }
  for (uint32_t i = 0; i < p.depth; ++i) {
    Worker& w = p.workers[i];
    w.pipeline = &p;
    if (i > 0) status = vireo_session_create(model, &made, &w.session, error);
    if (status != VIREO_OK) return status;
  }
  for (uint32_t i = 0; i < p.depth; ++i) {
    if (!p.workers[i].thread.start(serve, &p.workers[i]))
      return refuse(error, Status::kIo, "the system starts no more than {} of {} threads", i, p.depth);
  }
  return VIREO_OK;
}

}  // namespace
}  // namespace vireo::fleet

using vireo::Status;
using vireo::fleet::Run;
using vireo::platform::Lock;

extern "C" {

vireo_status vireo_pipeline_create(const vireo_model* model, const vireo_pipeline_options* options,
                                   vireo_pipeline** out_pipeline, vireo_error* error) {
  namespace fleet = vireo::fleet;
  vireo::clear(error);
  if (out_pipeline != nullptr) *out_pipeline = nullptr;
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out_pipeline, error);
  vireo::Error e;
  vireo_pipeline_options given;
  vireo_session_options session;
  Status read = vireo::read_sized(options, &given, {"options", "VIREO_PIPELINE_OPTIONS_INIT"}, &e);
  if (vireo::ok(read) && given.session != nullptr) {
    read = vireo::read_sized(given.session, &session, {"options.session", "VIREO_SESSION_OPTIONS_INIT"}, &e);
    given.session = &session;
  }
  if (!vireo::ok(read)) return vireo::report(read, e, error);
  if (given.session != nullptr && given.session->arena != nullptr)
    return vireo::refuse(error, Status::kInvalidArgument,
                         "options.session.arena is one session's: a pipeline's sessions take theirs from the runtime");
  if (given.depth > fleet::kMostSessions)
    return vireo::refuse(error, Status::kInvalidArgument, "depth is {}, at most {} sessions are possible", given.depth,
                         fleet::kMostSessions);
  if (given.capacity > fleet::kMostRuns || (given.capacity != 0 && given.capacity < given.depth))
    return vireo::refuse(error, Status::kInvalidArgument, "capacity is {}, wanted depth ({}) to {}", given.capacity,
                         given.depth, fleet::kMostRuns);
  vireo_status status = fleet::refuse_state(
      model, "run i + 1 needs what run i left, so runs cannot overlap; run the model in a session", error);
  if (status == VIREO_OK) status = fleet::refuse_strings(model, error);
  if (status != VIREO_OK) return status;
  if (vireo_model_output_count(model) > 1024)
    return vireo::refuse(error, Status::kUnsupported, "the model has {} outputs, a pipeline hands on at most 1024",
                         vireo_model_output_count(model));
  const vireo_allocator from = fleet::allocator_of(given.allocator);
  vireo_pipeline* const p = fleet::make<vireo_pipeline>(from, 1);
  if (p == nullptr) return vireo::refuse(error, Status::kOutOfArena, "the allocator has no memory for a pipeline");
  p->allocator = from;
  p->model = model;
  p->input_count = vireo_model_input_count(model);
  p->output_count = vireo_model_output_count(model);
  p->profile = given.session == nullptr ? 0 : given.session->profile;
  status = fleet::build(*p, model, given, error);
  if (status != VIREO_OK) {
    fleet::close(p);
    return status;
  }
  *out_pipeline = p;
  return VIREO_OK;
}

void vireo_pipeline_release(vireo_pipeline* pipeline) {
  if (pipeline != nullptr) vireo::fleet::close(pipeline);
}

vireo_status vireo_pipeline_submit(vireo_pipeline* pipeline, const vireo_tensor* inputs, uint32_t input_count,
                                   vireo_tensor* outputs, uint32_t output_count, void* user, vireo_when_full when_full,
                                   vireo_error* error) {
  namespace fleet = vireo::fleet;
  vireo::clear(error);
  VIREO_NOT_NULL(pipeline, error);
  vireo_pipeline& p = *pipeline;
  const vireo_status counted = vireo::check_counts(inputs, input_count, vireo_model_input_count(p.model), outputs,
                                                   output_count, vireo_model_output_count(p.model), error);
  if (counted != VIREO_OK) return counted;
  if (!p.mutex.here()) return fleet::refuse_fork("pipeline", error);
  for (uint32_t i = 0; i < p.input_count; ++i) {
    bool empty = inputs[i].dtype != VIREO_NONE && inputs[i].rank > 0 && inputs[i].rank <= VIREO_MAX_RANK;
    bool zero = false;
    for (int32_t d = 0; empty && d < inputs[i].rank; ++d) zero = zero || inputs[i].dims[d] == 0;
    empty = empty && zero;
    if (inputs[i].data == nullptr && !empty)
      return vireo::refuse(error, Status::kInvalidArgument,
                           "input {} has no data: a pipeline's inputs lie in the caller's memory", i);
  }
  Lock lock(p.mutex);
  while (p.end - p.first == p.capacity) {
    if (when_full == VIREO_WHEN_FULL_BUSY)
      return vireo::refuse(error, Status::kBusy, "{} runs are submitted and none was taken back: vireo_pipeline_wait",
                           p.capacity);
    p.room.wait(p.mutex);
  }
  Run& run = fleet::run_of(p, p.end);
  if (inputs != nullptr)
    for (uint32_t i = 0; i < p.input_count; ++i) run.inputs[i] = inputs[i];
  for (uint32_t o = 0; o < p.output_count; ++o) run.outputs[o] = outputs == nullptr ? vireo_tensor{} : outputs[o];
  run.to = outputs;
  run.user = user;
  run.number = p.end;
  run.cancel = false;
  run.state = Run::kQueued;
  ++p.end;
  p.work.wake_one();
  return VIREO_OK;
}

vireo_status vireo_pipeline_wait(vireo_pipeline* pipeline, uint64_t timeout_ns, vireo_finished* out,
                                 vireo_error* error) {
  namespace fleet = vireo::fleet;
  vireo::clear(error);
  VIREO_NOT_NULL(pipeline, error);
  VIREO_NOT_NULL(out, error);
  vireo::Error e;
  const Status sized = vireo::check_sized(out, {"out", "VIREO_FINISHED_INIT"}, &e);  // before a run is taken back
  if (!vireo::ok(sized)) return vireo::report(sized, e, error);
  vireo_pipeline& p = *pipeline;
  if (!p.mutex.here()) return fleet::refuse_fork("pipeline", error);
  const uint64_t begin = vireo::platform::now_ns();
  Lock lock(p.mutex);
  for (;;) {
    if (p.first == p.end) return vireo::refuse(error, Status::kInvalidArgument, "no run is submitted");
    Run& run = fleet::run_of(p, p.first);
    if (run.state == Run::kDone) {
      // A cancelled run that no thread has passed yet: its place may be taken again now.
      if (p.next == p.first) ++p.next;
      ++p.first;
      vireo_finished finished = VIREO_FINISHED_INIT;
      finished.status = run.status;
      finished.number = run.number;
      finished.user = run.user;
      finished.run_ns = run.run_ns;
      vireo::write_sized(&finished, sizeof(finished), out);
      if (run.status == VIREO_OK && run.to != nullptr) {
        for (uint32_t o = 0; o < p.output_count; ++o) run.to[o] = run.outputs[o];
      }
      if (run.status != VIREO_OK) vireo::copy_error(run.error, error);
      run.state = Run::kFree;
      p.room.wake_one();
      return VIREO_OK;
    }
    if (timeout_ns == UINT64_MAX) {
      p.done.wait(p.mutex);
      continue;
    }
    const uint64_t spent = vireo::platform::now_ns() - begin;
    if (spent >= timeout_ns) return vireo::refuse(error, Status::kBusy, "the oldest run is not finished");
    (void)p.done.wait_for(p.mutex, timeout_ns - spent);
  }
}

void vireo_pipeline_cancel(vireo_pipeline* pipeline) {
  if (pipeline == nullptr || !pipeline->mutex.here()) return;
  Lock lock(pipeline->mutex);
  vireo::fleet::cancel_all(*pipeline);
}

vireo_status vireo_pipeline_estimate(const vireo_pipeline* pipeline, vireo_estimate* out, vireo_load* loads,
                                     uint32_t capacity, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(pipeline, error);
  VIREO_NOT_NULL(out, error);
  return vireo::fleet::give_estimate(pipeline->chosen, out, loads, capacity, error);
}

uint32_t vireo_pipeline_depth(const vireo_pipeline* pipeline) { return pipeline == nullptr ? 0 : pipeline->depth; }

vireo_status vireo_pipeline_loads(vireo_pipeline* pipeline, vireo_load* loads, uint32_t capacity, uint32_t* count,
                                  vireo_error* error) {
  namespace fleet = vireo::fleet;
  vireo::clear(error);
  VIREO_NOT_NULL(pipeline, error);
  VIREO_NOT_NULL(count, error);
  if (capacity != 0) VIREO_NOT_NULL(loads, error);
  if (pipeline->profile == 0)
    return vireo::refuse(error, Status::kInvalidArgument, "times are kept only with session options.profile 1");
  vireo_pipeline& p = *pipeline;
  if (!p.mutex.here()) return fleet::refuse_fork("pipeline", error);
  Lock lock(p.mutex);
  for (uint32_t i = 0; i < p.depth; ++i) {
    if (p.workers[i].run != nullptr) return vireo::refuse(error, Status::kBusy, "a run is under way");
  }
  vireo_load all[VIREO_FLEET_DEVICES] = {};
  uint32_t found = 0;
  for (uint32_t i = 0; i < p.depth; ++i) {
    const vireo_session* const s = p.workers[i].session;
    uint32_t owner = UINT32_MAX;
    for (uint32_t n = 0; n < vireo_session_node_count(s); ++n) {
      vireo_node_info node = VIREO_NODE_INFO_INIT;
      if (vireo_session_node(s, n, &node, nullptr) != VIREO_OK || node.depth > owner) continue;
      owner = UINT32_MAX;
      if (strcmp(node.device, "-") == 0) continue;
      owner = node.depth;
      vireo_load* const load = fleet::find_load(all, &found, VIREO_FLEET_DEVICES, node.device);
      if (load == nullptr) continue;
      if (i == 0) ++load->nodes;
      if (i == 0 && node.calls > 0) ++load->timed;
      load->busy_ns += static_cast<double>(node.total_ns);
    }
  }
  const vireo_status status = fleet::give_loads(all, found, loads, capacity, error);
  if (status == VIREO_OK) *count = found;
  return status;
}

}  // extern "C"
