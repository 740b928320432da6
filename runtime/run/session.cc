#include "runtime/run/session.h"
#include "runtime/recover/device_memory.h"
#include "runtime/recover/failover.h"
#include "runtime/run/part_guard.h"
#include "sdk/base/config.h"

#include <string.h>

#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/value_reader.h"

namespace vireo {
namespace {

uint64_t element_size(DType t) { return static_cast<uint64_t>(dtype_bits(t)) / 8; }

const char* name_of(const vireo_session& s, const Step& step) {
  const fb::Node* node = s.infos == nullptr ? nullptr : s.infos[step.info].node;
  return node == nullptr ? "" : text_of(node->name());
}

}  // namespace

Status run_part(vireo_session& s, Step& step) {
#if VIREO_JOINED
  if (step.arena != 0) return submit_there(s, step);
#endif
  Tensor** const args = step.args;
  [[maybe_unused]] const PartGuard guard(s, step);
  s.submit.message[0] = 0;
#if VIREO_JOINED
  vireo_status status = step.submit(
#else
  const vireo_status status = step.submit(
#endif
      step.loaded, const_cast<const vireo_tensor* const*>(reinterpret_cast<vireo_tensor**>(args)), step.input_count,
      reinterpret_cast<vireo_tensor**>(args + step.input_count), step.output_count, &s.submit);
#if VIREO_JOINED
  if (step.device != nullptr) {
    if (status == VIREO_OK && step.device->delegate->wait != nullptr) status = wait_for(s, step);
    if (status == VIREO_CANCELLED) return fail(&s.error, Status::kCancelled, "the run was cancelled");
    if (status == VIREO_DEVICE_LOST && step.fallback != nullptr)
      return fail_over(s, step, s.submit.message[0] == 0 ? "it is gone" : s.submit.message);
    if (status == VIREO_DEVICE_LOST) {
      return fail(&s.error, Status::kDeviceLost, "device \"{}\", from {} \"{}\" on: {}", step.device->info.name,
                  step.def->name, name_of(s, step), s.submit.message[0] == 0 ? "lost" : s.submit.message);
    }
  }
#endif
  if (status != VIREO_OK) {
    const bool silent = s.submit.message[0] == 0;
    return fail(&s.error, static_cast<Status>(status), silent ? "{} \"{}\" failed: status {}" : "{} \"{}\": {}",
                step.def->name, name_of(s, step), silent ? ErrorArg(status) : ErrorArg(s.submit.message));
  }
  return Status::kOk;
}

namespace {

Status run_step_here(vireo_session& s, Step& step) {
  if (step.in_place) return Status::kOk;
#if VIREO_JOINED
  if (step.fallback != nullptr && is_lost(s, step)) return run_fallback(s, step);
#endif
#if VIREO_CONTROL_FLOW
  if (step.kind != Step::kPart) {
    s.settled = false;  // bodies run with other shapes each time
    VIREO_TRY((step.kind == Step::kIf ? run_if : step.kind == Step::kLoop ? run_loop : run_scan)(s, step));
  } else
#endif
  {
    if (step.infer && !(s.settled && !step.reads)) {
      const Status status = infer_step(s, step);
      if (!ok(status)) return fail_step(s, step, status, "");
    }
    if (step.reads || step.data_dependent) s.settled = false;
    VIREO_TRY(run_part(s, step));
    if (!step.data_dependent) return Status::kOk;
  }
  const Status status = check_bounds(s, step);  // extents that only the run decided
  return ok(status) ? status : fail_step(s, step, status, "");
}

Status run_step(vireo_session& s, Step& step) {
#if VIREO_JOINED
  if (s.memory != nullptr) {
    VIREO_TRY(come_home(s, step));
    VIREO_TRY(run_step_here(s, step));
    made_at_home(s, step);
    return Status::kOk;
  }
#endif
  return run_step_here(s, step);
}

// ---- One run of the whole model

}  // namespace

void set_extents(vireo_session& s, uint32_t input, const Dim* extents) {
  Shape& shape = s.main.inputs[input]->shape;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape[d] != extents[d]) s.settled = false;
    shape[d] = extents[d];
  }
}

namespace {

// A symbolic extent has one value in a run.
Status bind_symbols(vireo_session& s, uint32_t input, const Tensor& x) {
  const fb::Subgraph& g = s.model->program.subgraph(0);
  const fb::Tensor& declared = *g.tensors()->Get(g.inputs()->Get(input));
  const TensorType type = type_of(declared);
  const char* name = text_of(declared.name());
  if (x.dtype != type.dtype) {
    return fail(&s.error, Status::kInvalidArgument, "input \"{}\" is {}, the model wants {}", name, dtype_name(x.dtype),
                dtype_name(type.dtype));
  }
  if (x.shape.rank != type.shape.rank) {
    return fail(&s.error, Status::kInvalidArgument, "input \"{}\" has shape {}, the model wants rank {}: {}", name,
                x.shape, type.shape.rank, type.shape);
  }
  for (int i = 0; i < x.shape.rank; ++i) {
    const Dim d = type.shape[i], actual = x.shape[i];
    const Dim most = s.input_types[input].shape[i];
    if (!is_symbolic(d)) {
      if (actual != d) {
        return fail(&s.error, Status::kInvalidArgument, "input \"{}\" has shape {}, the model wants {}", name, x.shape,
                    type.shape);
      }
      continue;
    }
    const uint32_t id = handle_id(d);
    const Interval within = s.intervals[id];
    if (actual < within.lo || actual > most) {
      return fail(&s.error, Status::kInvalidArgument,
                  "dimension {} of input \"{}\" is {}, outside the session's bounds {}..{}", i, name, actual, within.lo,
                  most);
    }
    const fb::Expr& e = *s.model->program.model().exprs()->Get(id);
    if (e.kind() != fb::ExprKind::Symbol) continue;
    if (s.symbols[id] >= 0 && s.symbols[id] != actual) {
      return fail(&s.error, Status::kInvalidArgument,
                  "dimension {} of input \"{}\" is {}, but \"{}\" is already {} in this run: inputs share its name "
                  "(convert with --shape INPUT=OTHER to rename it)",
                  i, name, actual, text_of(e.name()), s.symbols[id]);
    }
    s.symbols[id] = actual;
  }
  set_extents(s, input, x.shape.dims);
  return Status::kOk;
}

Status bind_input(vireo_session& s, uint32_t i, const vireo_tensor* given) {
  Tensor& x = *s.main.inputs[i];
  const Tensor& own = s.own_inputs[i];
  const char* name = input_name(s, i);
  if (given == nullptr || given->data == nullptr) {
    Tensor mine = x;
    if (given != nullptr && given->dtype != VIREO_NONE && given->rank >= 0 && given->rank <= kMaxRank) {
      mine.shape.rank = given->rank;  // an empty tensor, or the shape of what the session's memory holds
      for (int d = 0; d < given->rank; ++d) mine.shape[d] = given->dims[d];
    }
    x.data = own.data;
    x.capacity = own.capacity;
    return bind_symbols(s, i, mine);
  }
  if (given->rank < 0 || given->rank > kMaxRank)
    return fail(&s.error, Status::kInvalidArgument, "input \"{}\" has rank {}", name, given->rank);
  Tensor t;
  memcpy(static_cast<void*>(&t), given, sizeof(t));
  for (int d = 0; d < t.shape.rank; ++d) {
    if (t.shape[d] < 0) return fail(&s.error, Status::kInvalidArgument, "input \"{}\" has a negative dimension", name);
  }
  VIREO_TRY(bind_symbols(s, i, t));
  const int64_t bytes = tensor_bytes(t);
  if (bytes < 0 || t.capacity < bytes) {
    return fail(&s.error, Status::kInvalidArgument, "input \"{}\" has {} bytes, shape {} takes {}", name, t.capacity,
                t.shape, bytes);
  }
  const uint64_t unit = element_size(t.dtype);
  const uint64_t alignment = t.dtype == DType::kString ? alignof(StringRef) : unit == 0 ? 1 : unit > 8 ? 8 : unit;
  if (reinterpret_cast<uintptr_t>(t.data) % alignment != 0) {
    return fail(&s.error, Status::kInvalidArgument, "input \"{}\" must be aligned to {}", name, alignment);
  }
  if (t.dtype == DType::kBool) {
    for (int64_t k = 0; k < bytes; ++k) {
      if (t.as<const uint8_t>()[k] > 1)
        return fail(&s.error, Status::kInvalidArgument, "input \"{}\" holds a bool that is neither 0 nor 1", name);
    }
  }
  if (t.dtype == DType::kString) {
    for (int64_t k = 0; k < t.count(); ++k) {
      const StringRef& r = t.as<const StringRef>()[k];
      if (r.data == nullptr && r.size != 0)
        return fail(&s.error, Status::kInvalidArgument, "input \"{}\" holds a string without bytes", name);
    }
  }
  x = t;
  return Status::kOk;
}

Status check_outputs(vireo_session& s, const vireo_tensor* outputs) {
  for (uint32_t o = 0; outputs != nullptr && o < s.main.output_count; ++o) {
    if (outputs[o].data == nullptr) continue;
    const Tensor& y = *s.main.outputs[o];
    const int64_t bytes = tensor_bytes(y);
    if (outputs[o].capacity < bytes) {
      blame_tensor(&s.error, output_name(s, o));
      return fail(&s.error, Status::kOutOfArena, "output \"{}\" takes {} bytes, the caller's buffer has {}",
                  output_name(s, o), bytes, outputs[o].capacity);
    }
  }
  return Status::kOk;
}

void hand_out(vireo_session& s, vireo_tensor* outputs) {
  for (uint32_t o = 0; outputs != nullptr && o < s.main.output_count; ++o) {
    const Tensor& y = *s.main.outputs[o];
    void* const own = outputs[o].data;
    const int64_t capacity = outputs[o].capacity;
    memcpy(&outputs[o], as_c(&y), sizeof(vireo_tensor));
    if (own == nullptr) {
#if VIREO_JOINED
      if (s.memory != nullptr && is_bound(s, o)) outputs[o].data = nullptr;
#endif
      continue;
    }
    const int64_t bytes = tensor_bytes(y);
    if (bytes > 0) memcpy(own, y.data, static_cast<size_t>(bytes));
    outputs[o].data = own;
    outputs[o].capacity = capacity;
  }
}

// Outputs become the inputs of the next run. A state may be fed by another state's input (a shift register), so all go
// through their own memory: no output lies in a state input's memory, because the planner keeps that memory to itself.
void carry_state(vireo_session& s) {
  for (uint32_t k = 0; k < s.carried_count; ++k) {
    const uint32_t i = s.carried[k].input;
    const Tensor& y = *s.main.outputs[s.carried[k].output];
    const int64_t bytes = tensor_bytes(y);
    if (bytes > 0 && bytes <= s.own_inputs[i].capacity)
      memmove(s.own_inputs[i].data, y.data, static_cast<size_t>(bytes));
    s.own_inputs[i].shape = y.shape;
    set_extents(s, i, y.shape.dims);
  }
}

Status check_cancelled(vireo_session& s) {
  if (__atomic_load_n(&s.cancelled, __ATOMIC_RELAXED) == 0) return Status::kOk;
  return fail(&s.error, Status::kCancelled, "the run was cancelled");
}

#if VIREO_BRANCHES

struct WindowRun {
  vireo_session* s;
  Step* steps;
  uint32_t count;
};

void run_lane(const WindowRun& run, uint32_t lane) {
  vireo_session& s = *run.s;
  BranchLane& mine = s.branch_lanes[lane];
  mine.status = VIREO_OK;
  for (uint32_t i = 0; i < run.count; ++i) {
    const Step& step = run.steps[i];
    if (step.lane != lane || step.in_place) continue;
    if (__atomic_load_n(&s.cancelled, __ATOMIC_RELAXED) != 0) return;
    const uint64_t begin = s.times == nullptr ? 0 : platform::now_ns();
    mine.submit.message[0] = 0;
    mine.status =
        step.submit(step.loaded, reinterpret_cast<const vireo_tensor* const*>(step.args), step.input_count,
                    reinterpret_cast<vireo_tensor**>(step.args + step.input_count), step.output_count, &mine.submit);
    if (s.times != nullptr) {
      s.times[step.info].total_ns += platform::now_ns() - begin;
      ++s.times[step.info].calls;
    }
    if (mine.status != VIREO_OK) {
      mine.failed = i;
      return;
    }
  }
}

// The first step of a window and all that run beside it. A lane that fails ends; the others go on, so that the node
// that is named does not depend on who was faster: the first of the model's order.
Status run_window(vireo_session& s, Step* steps, uint32_t count) {
#if VIREO_JOINED
  for (uint32_t i = 0; s.memory != nullptr && i < count; ++i) {
    VIREO_TRY(come_home(s, steps[i]));
    made_at_home(s, steps[i]);  // before its turn, for those behind it in the window
  }
#endif
  WindowRun run = {&s, steps, count};
  s.pool.run(
      s.pool.pool, s.branch_lane_count, 1,
      [](void* arg, int64_t begin, int64_t end, int32_t) {
        for (int64_t lane = begin; lane < end; ++lane)
          run_lane(*static_cast<WindowRun*>(arg), static_cast<uint32_t>(lane));
      },
      &run);
  const BranchLane* first = nullptr;
  for (int32_t k = 0; k < s.branch_lane_count; ++k) {
    const BranchLane& lane = s.branch_lanes[k];
    if (lane.status != VIREO_OK && (first == nullptr || lane.failed < first->failed)) first = &lane;
  }
  if (first == nullptr) return check_cancelled(s);  // lanes may have left steps out
  const Step& step = steps[first->failed];
  blame_node(&s.error, name_of(s, step));
  return fail(&s.error, static_cast<Status>(first->status), "{} \"{}\": {}", step.def->name, name_of(s, step),
              first->submit.message);
}

#endif

}  // namespace

Status fail_step(vireo_session& s, const Step& step, Status status, const char* what) {
  // The cause was recorded where it was found; the node's name is added to it.
  char cause[sizeof(s.error.message)];
  memcpy(cause, s.error.message, sizeof(cause));
  const bool told = !ok(s.error.status);
  s.error.status = Status::kOk;
  return fail(&s.error, status, "{} \"{}\": {}", step.def->name, name_of(s, step), told ? cause : what);
}

// No node is to blame for what the caller ended.
static Status blame_step(vireo_session& s, const Step& step, Status status) {
  if (status != Status::kCancelled) blame_node(&s.error, name_of(s, step));
  return status;
}

Status run_frame(vireo_session& s, Frame& frame) {
#if VIREO_JOINED
  if (s.memory != nullptr) enter_frame(s, frame);
#endif
  for (uint32_t i = 0; i < frame.step_count; ++i) {
    VIREO_TRY(check_cancelled(s));
    Step& step = frame.steps[i];
#if VIREO_BRANCHES
    if (step.window != 0) {
      VIREO_TRY(run_window(s, &step, step.window));
      i += step.window - 1;
      continue;
    }
#endif
    if (s.times == nullptr) {
      const Status status = run_step(s, step);
      if (!ok(status)) return blame_step(s, step, status);
      continue;
    }
    const uint64_t begin = platform::now_ns();
    const Status status = run_step(s, step);
    if (!ok(status)) return blame_step(s, step, status);
    NodeTime& time = s.times[step.info];
    time.total_ns += platform::now_ns() - begin;
    ++time.calls;
  }
#if VIREO_JOINED
  if (s.memory != nullptr) return leave_frame(s, frame);
#endif
  return Status::kOk;
}

Status run_session(vireo_session& s, const vireo_tensor* inputs, vireo_tensor* outputs) {
  s.error = Error{};
  s.loop_depth = 0;
  for (uint32_t i = 0; i < s.model->program.expr_count(); ++i) s.symbols[i] = -1;
  Status status = Status::kOk;
  // Inputs that lie in the file, as those of its tests do, count as constants, but only in this run.
  bool from_file = false;
  for (uint32_t i = 0; inputs != nullptr && i < s.main.input_count; ++i)
    from_file |= inputs[i].data != nullptr && lies_in(s.model->program.file(), inputs[i].data);
  if (from_file) s.settled = false;
#if VIREO_JOINED
  const uint64_t random = s.random;
#endif
  bool again = false;
  do {
    for (uint32_t i = 0; ok(status) && i < s.main.input_count; ++i) {
      status = bind_input(s, i, inputs == nullptr ? nullptr : &inputs[i]);
      if (!ok(status)) blame_tensor(&s.error, input_name(s, i));
    }
#if VIREO_JOINED
    if (ok(status) && s.memory != nullptr) status = take_bound_inputs(s);
#endif
    if (ok(status)) status = run_frame(s, s.main);
#if VIREO_JOINED
    if (s.memory == nullptr) break;
    if (!ok(status)) abandon(s);
    again = s.memory->again;
    s.memory->again = false;
    if (!again) break;
    status = Status::kOk;
    s.error = Error{};
    s.settled = false;
    s.random = random;
    s.loop_depth = 0;
    for (uint32_t i = 0; i < s.model->program.expr_count(); ++i) s.symbols[i] = -1;
#endif
  } while (again);
  if (ok(status)) status = check_outputs(s, outputs);
#if VIREO_JOINED
  for (uint32_t o = 0; ok(status) && s.memory != nullptr && outputs != nullptr && o < s.main.output_count; ++o) {
    if (outputs[o].data != nullptr && is_bound(s, o)) status = fetch_output(s, o);
    if (!ok(status)) blame_tensor(&s.error, output_name(s, o));
  }
#endif
  if (ok(status)) {
    hand_out(s, outputs);
    s.settled = !from_file;
    carry_state(s);
  } else {
    s.settled = false;
    for (uint32_t k = 0; k < s.carried_count; ++k)  // the state is what it was
      set_extents(s, s.carried[k].input, s.own_inputs[s.carried[k].input].shape.dims);
  }
  for (uint32_t i = 0; i < s.main.input_count; ++i) {  // forget the caller's memory
    s.main.inputs[i]->data = s.own_inputs[i].data;
    s.main.inputs[i]->capacity = s.own_inputs[i].capacity;
  }
  __atomic_store_n(&s.cancelled, 0u, __ATOMIC_RELAXED);
  return status;
}

}  // namespace vireo
