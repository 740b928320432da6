#include "runtime/run/session.h"

#include <string.h>

#include "runtime/run/bind.h"
#include "runtime/run/part_guard.h"
#include "runtime/run/remote.h"
#include "sdk/base/config.h"

namespace vireo {

const char* step_name(const vireo_session& s, const Step& step) {
  const fb::Node* node = s.nodes.infos == nullptr ? nullptr : s.nodes.infos[step.info].node;
  return node == nullptr ? "" : text_of(node->name());
}

Status end_part(vireo_session& s, const Step& step, vireo_status status) {
  if (status == VIREO_OK) return Status::kOk;
  if (!kOnlyCpu) take_blame(s);  // its kernels blame none
  const bool silent = s.fault.text[0] == 0;
  return fail(&s.error, static_cast<Status>(status), silent ? "{} \"{}\" failed: status {}" : "{} \"{}\": {}",
              step.def->name, step_name(s, step), s.fault.said(status));
}

Status run_part(vireo_session& s, Step& step) {
  if (Remote::works_there(step)) return Remote::submit(s, step);
  Tensor** const args = step.args;
  [[maybe_unused]] const PartGuard guard(s, step);
  s.fault.text[0] = 0;
  Remote::show_extents(s, step);
  const vireo_status status = step.call.submit(
      step.call.loaded, const_cast<const vireo_tensor* const*>(reinterpret_cast<vireo_tensor**>(args)),
      step.input_count, reinterpret_cast<vireo_tensor**>(args + step.input_count), step.output_count, &s.submit);
  if (Remote::may_be_away(step)) return Remote::settle(s, step, status);
  return end_part(s, step, status);
}

namespace {

Status run_kernel(vireo_session& s, Step& step) {
  if (step.shapes.infer && !(s.run.settled && !step.shapes.reads)) {
    const Status status = infer_step(s, step);
    if (!ok(status)) return fail_step(s, step, status, "");
  }
  if (step.shapes.reads || step.shapes.data_dependent) s.run.settled = false;
  return run_part(s, step);
}

// Extents that only the run decided.
Status check_made(vireo_session& s, const Step& step) {
  const Status status = check_bounds(s, step);
  return ok(status) ? status : fail_step(s, step, status, "");
}

Status run_step_here(vireo_session& s, Step& step) {
  if (step.in_place) return Status::kOk;
  if (Remote::is_replaced(s, step)) return Remote::run_instead(s, step);
  if constexpr (VIREO_CONTROL_FLOW) {
    if (step.kind != Step::kPart) {
      VIREO_TRY(run_bodies(s, step));
      return check_made(s, step);
    }
  }
  VIREO_TRY(run_kernel(s, step));
  return step.shapes.data_dependent ? check_made(s, step) : Status::kOk;
}

Status run_step(vireo_session& s, Step& step) {
  if (!Remote::has_memory(s)) return run_step_here(s, step);
  VIREO_TRY(Remote::before(s, step));
  VIREO_TRY(run_step_here(s, step));
  Remote::after(s, step);
  return Status::kOk;
}

}  // namespace

Status check_cancelled(vireo_session& s) {
  if (__atomic_load_n(&s.run.cancelled, __ATOMIC_RELAXED) == 0) return Status::kOk;
  return fail(&s.error, Status::kCancelled, "the run was cancelled");
}

Status fail_step(vireo_session& s, const Step& step, Status status, const char* what) {
  // The cause was recorded where it was found; the node's name is added to it.
  char cause[sizeof(s.error.message)];
  memcpy(cause, s.error.message, sizeof(cause));
  const bool told = !ok(s.error.status);
  s.error.status = Status::kOk;
  return fail(&s.error, status, "{} \"{}\": {}", step.def->name, step_name(s, step), told ? cause : what);
}

// No node is to blame for what the caller ended.
static Status blame_step(vireo_session& s, const Step& step, Status status) {
  if (status != Status::kCancelled) blame_node(&s.error, step_name(s, step));
  return status;
}

Status run_frame(vireo_session& s, Frame& frame) {
  if (Remote::has_memory(s)) Remote::enter(s, frame);
  for (uint32_t i = 0; i < frame.step_count; ++i) {
    VIREO_TRY(check_cancelled(s));
    Step& step = frame.steps[i];
    if constexpr (VIREO_BRANCHES) {
      if (step.window.steps != 0) {
        VIREO_TRY(run_window(s, &step, step.window.steps));
        i += step.window.steps - 1;
        continue;
      }
    }
    if (s.nodes.times == nullptr) {
      const Status status = run_step(s, step);
      if (!ok(status)) return blame_step(s, step, status);
      continue;
    }
    const uint64_t begin = platform::now_ns();
    const Status status = run_step(s, step);
    if (!ok(status)) return blame_step(s, step, status);
    NodeTime& time = s.nodes.times[step.info];
    if (!Remote::tells_time(step)) time.total_ns += platform::now_ns() - begin;
    ++time.calls;
  }
  return Remote::has_memory(s) ? Remote::leave(s, frame) : Status::kOk;
}

void begin_run(vireo_session& s) {
  s.error.clear();
  s.run.loop_depth = 0;
  for (uint32_t i = 0; i < s.model->program.expr_count(); ++i) s.shapes.symbols[i] = -1;
}

Status run_session(vireo_session& s, const vireo_tensor* inputs, vireo_tensor* outputs) {
  begin_run(s);
  // Inputs that lie in the file, as those of its tests do, count as constants, but only in this run.
  bool from_file = false;
  for (uint32_t i = 0; inputs != nullptr && i < s.main.input_count; ++i)
    from_file |= inputs[i].data != nullptr && lies_in(s.model->program.file(), inputs[i].data);
  if (from_file) s.run.settled = false;
  const uint64_t random = s.random.state;
  Status status = Status::kOk;
  do {
    status = bind_inputs(s, inputs);
    if (ok(status)) status = run_frame(s, s.main);
  } while (Remote::begins_again(s, random, &status));
  if (ok(status)) status = ready_outputs(s, outputs);
  if (ok(status)) {
    hand_out(s, outputs);
    s.run.settled = !from_file;
    carry_state(s);
  } else {
    s.run.settled = false;
    keep_state(s);
  }
  forget_inputs(s);
  __atomic_store_n(&s.run.cancelled, 0u, __ATOMIC_RELAXED);
  return status;
}

}  // namespace vireo
