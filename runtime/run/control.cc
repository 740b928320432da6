// If, Loop and Scan: bodies run in the session's own arena, bound to their owner's tensors (sdk/ops/control/control.fbs
// has the calling convention).
#include <string.h>

#include "runtime/run/session.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

Status fail_here(vireo_session& s, const Step& step, const char* what) {
  return fail_step(s, step, Status::kInvalidModel, what);
}

// A body's input takes the owner's tensor; what the body declares fixed must be so.
Status bind_body_input(vireo_session& s, const Step& step, Frame& body, uint32_t i, const Tensor& x) {
  const TensorType declared = type_of(*body.graph->tensors()->Get(body.graph->inputs()->Get(i)));
  bool fits = x.dtype == declared.dtype && x.shape.rank == declared.shape.rank;
  for (int d = 0; fits && d < x.shape.rank; ++d)
    fits = is_symbolic(declared.shape[d]) || declared.shape[d] == x.shape[d];
  if (!fits) {
    s.error.clear();
    blame_tensor(&s.error, text_of(body.graph->tensors()->Get(body.graph->inputs()->Get(i))->name()));
    (void)fail(&s.error, Status::kInvalidModel, "input {} of its body is declared {}, but gets {}", i, declared.shape,
               x.shape);
    return fail_step(s, step, Status::kInvalidModel, "");
  }
  *body.inputs[i] = x;
  return Status::kOk;
}

bool is_input(const Frame& body, const Tensor* t) {
  for (uint32_t i = 0; i < body.input_count; ++i) {
    if (body.inputs[i] == t) return true;
  }
  return false;
}

// Copies `from` over `to`, shape included.
Status copy_tensor(vireo_session& s, const Step& step, const Tensor& from, Tensor* to) {
  const int64_t bytes = tensor_bytes(from);
  if (bytes < 0 || bytes > to->capacity) {
    return fail_step(s, step, Status::kOutOfArena,
                     "a value grows above its declared bound: give larger bounds to the session");
  }
  to->shape = from.shape;
  if (bytes > 0 && to->data != from.data) memmove(to->data, from.data, static_cast<size_t>(bytes));
  return Status::kOk;
}

// Puts element `at` of `total` into a stacked output [total, element...].
Status stack(vireo_session& s, const Step& step, const Tensor& element, int64_t at, int64_t total, bool first,
             Tensor* to) {
  if (element.shape.rank >= kMaxRank) return fail_here(s, step, "a stacked output would have a rank above 8");
  const int64_t bytes = tensor_bytes(element);
  int64_t all = 0;
  if (bytes < 0 || !checked_mul(bytes, total, &all) || all > to->capacity) {
    return fail_step(s, step, Status::kOutOfArena,
                     "a stacked output grows above its declared bound: give larger bounds to the session");
  }
  bool same = first || to->shape.rank == element.shape.rank + 1;
  for (int d = 0; same && !first && d < element.shape.rank; ++d) same = to->shape[d + 1] == element.shape[d];
  if (!same) return fail_here(s, step, "a stacked output changes its shape from one iteration to the next");
  to->shape.rank = element.shape.rank + 1;
  to->shape[0] = total;
  for (int d = 0; d < element.shape.rank; ++d) to->shape[d + 1] = element.shape[d];
  if (bytes > 0) memcpy(to->as<uint8_t>() + at * bytes, element.data, static_cast<size_t>(bytes));
  return Status::kOk;
}

void stack_nothing(const Tensor& element, Tensor* to) {
  to->shape.rank = element.shape.rank < kMaxRank ? element.shape.rank + 1 : kMaxRank;
  to->shape[0] = 0;
  for (int d = 1; d < to->shape.rank; ++d) to->shape[d] = element.shape[d - 1];
}

bool read_bool(const Tensor& t, bool* out) {
  if (t.data == nullptr || t.count() < 1) return false;
  *out = read_integer(t.dtype, t.data, 0) != 0;
  return true;
}

Status run_if(vireo_session& s, Step& step) {
  bool condition = false;
  if (!read_bool(*step.args[0], &condition)) return fail_here(s, step, "its condition is empty");
  Frame& body = *step.bodies[condition ? 0 : 1];
  for (uint32_t i = 0; i + 1 < step.input_count; ++i) VIREO_TRY(bind_body_input(s, step, body, i, *step.args[i + 1]));
  Tensor** const outputs = step.args + step.input_count;
  for (uint32_t o = 0; o < step.output_count; ++o) {
    Tensor* inner = body.outputs[o];
    const bool constant = body.graph->tensors()->Get(body.graph->outputs()->Get(o))->segment() >= 0;
    if (outputs[o] == nullptr || constant || is_input(body, inner)) continue;
    inner->data = outputs[o]->data;
  }
  // Those of bodies within come first in the list, and may lie where one of the bodies around them does.
  for (uint32_t a = body.alias_count; a-- > 0;) body.aliases[a].tensor->data = body.aliases[a].target->data;
  VIREO_TRY(run_frame(s, body));
  for (uint32_t o = 0; o < step.output_count; ++o) {
    if (outputs[o] != nullptr) VIREO_TRY(copy_tensor(s, step, *body.outputs[o], outputs[o]));
  }
  return Status::kOk;
}

Status run_loop(vireo_session& s, Step& step) {
  const auto& a = *::flatbuffers::GetRoot<attrs::Loop>(step.attrs);
  const uint32_t carried = a.carried(), scanned = a.scanned();
  Frame& body = *step.bodies[0];
  Tensor** const outputs = step.args + step.input_count;
  int64_t trips = INT64_MAX;
  bool again = true;
  if (step.args[0] != nullptr) {
    if (step.args[0]->count() < 1) return fail_here(s, step, "its trip count is empty");
    trips = read_integer(step.args[0]->dtype, step.args[0]->data, 0);
  }
  if (step.args[1] != nullptr && !read_bool(*step.args[1], &again)) return fail_here(s, step, "its condition is empty");
  if (s.run.loop_depth >= kMaxNesting) return fail_here(s, step, "loops nest too deep");
  int64_t* const cells = s.run.loop_cells + 2 * s.run.loop_depth++;

  for (uint32_t j = 0; j < carried; ++j) VIREO_TRY(copy_tensor(s, step, *step.args[2 + j], outputs[j]));
  for (uint32_t i = 2 + carried; i < step.input_count; ++i) VIREO_TRY(bind_body_input(s, step, body, i, *step.args[i]));
  int64_t iteration = 0;
  for (; again && iteration < trips; ++iteration) {
    cells[0] = iteration;
    cells[1] = 1;
    body.inputs[0]->data = &cells[0];
    body.inputs[1]->data = &cells[1];
    for (uint32_t j = 0; j < carried; ++j) VIREO_TRY(bind_body_input(s, step, body, 2 + j, *outputs[j]));
    VIREO_TRY(run_frame(s, body));
    if (!read_bool(*body.outputs[0], &again)) return fail_here(s, step, "its body's condition is empty");
    for (uint32_t j = 0; j < carried; ++j) VIREO_TRY(copy_tensor(s, step, *body.outputs[1 + j], outputs[j]));
    for (uint32_t k = 0; k < scanned; ++k) {
      VIREO_TRY(stack(s, step, *body.outputs[1 + carried + k], iteration, iteration + 1, iteration == 0,
                      outputs[carried + k]));
    }
  }
  for (uint32_t k = 0; iteration == 0 && k < scanned; ++k)
    stack_nothing(*body.outputs[1 + carried + k], outputs[carried + k]);
  --s.run.loop_depth;
  return Status::kOk;
}

Status run_scan(vireo_session& s, Step& step) {
  const auto& a = *::flatbuffers::GetRoot<attrs::Scan>(step.attrs);
  const uint32_t carried = a.carried(), scanned_in = a.scanned_in(), scanned_out = step.output_count - carried;
  Frame& body = *step.bodies[0];
  Tensor** const outputs = step.args + step.input_count;
  int64_t trips = -1;
  for (uint32_t k = 0; k < scanned_in; ++k) {
    const Tensor& x = *step.args[carried + k];
    // Slices start at whole bytes; the converter widens packed types.
    if (x.shape.rank < 1 || (trips >= 0 && x.shape[0] != trips) || dtype_bits(x.dtype) < 8)
      return fail_here(s, step, "its scanned inputs differ in length, or have elements of less than a byte");
    trips = x.shape[0];
  }
  for (uint32_t j = 0; j < carried; ++j) VIREO_TRY(copy_tensor(s, step, *step.args[j], outputs[j]));
  for (uint32_t i = carried + scanned_in; i < step.input_count; ++i)
    VIREO_TRY(bind_body_input(s, step, body, i, *step.args[i]));
  for (int64_t iteration = 0; iteration < trips; ++iteration) {
    for (uint32_t j = 0; j < carried; ++j) VIREO_TRY(bind_body_input(s, step, body, j, *outputs[j]));
    for (uint32_t k = 0; k < scanned_in; ++k) {
      const Tensor& x = *step.args[carried + k];
      Tensor slice;
      slice.dtype = x.dtype;
      slice.shape.rank = x.shape.rank - 1;
      for (int d = 0; d < slice.shape.rank; ++d) slice.shape[d] = x.shape[d + 1];
      slice.capacity = tensor_bytes(slice);
      const int64_t at = a.in_reverse()->Get(k) ? trips - 1 - iteration : iteration;
      slice.data = x.as<uint8_t>() + at * slice.capacity;
      VIREO_TRY(bind_body_input(s, step, body, carried + k, slice));
    }
    VIREO_TRY(run_frame(s, body));
    for (uint32_t j = 0; j < carried; ++j) VIREO_TRY(copy_tensor(s, step, *body.outputs[j], outputs[j]));
    for (uint32_t k = 0; k < scanned_out; ++k) {
      const int64_t at = a.out_reverse()->Get(k) ? trips - 1 - iteration : iteration;
      VIREO_TRY(stack(s, step, *body.outputs[carried + k], at, trips, iteration == 0, outputs[carried + k]));
    }
  }
  for (uint32_t k = 0; trips <= 0 && k < scanned_out; ++k)
    stack_nothing(*body.outputs[carried + k], outputs[carried + k]);
  return Status::kOk;
}

}  // namespace

Status run_bodies(vireo_session& s, Step& step) {
  s.run.settled = false;  // bodies run with other shapes each time
  return (step.kind == Step::kIf ? run_if : step.kind == Step::kLoop ? run_loop : run_scan)(s, step);
}

}  // namespace vireo
