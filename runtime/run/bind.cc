// What goes into a run and what comes out of it: the caller's tensors, and state that a run leaves to the next.
#include "runtime/run/bind.h"

#include <string.h>

#include "runtime/run/remote.h"

namespace vireo {

void set_extents(vireo_session& s, uint32_t input, const Dim* extents) {
  Shape& shape = s.main.inputs[input]->shape;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape[d] != extents[d]) s.run.settled = false;
    shape[d] = extents[d];
  }
}

namespace {

uint64_t element_size(DType t) { return static_cast<uint64_t>(dtype_bits(t)) / 8; }

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
    const Dim most = s.inputs.most[input].shape[i];
    if (!is_symbolic(d)) {
      if (actual != d) {
        return fail(&s.error, Status::kInvalidArgument, "input \"{}\" has shape {}, the model wants {}", name, x.shape,
                    type.shape);
      }
      continue;
    }
    const uint32_t id = handle_id(d);
    const Interval within = s.shapes.intervals[id];
    if (actual < within.lo || actual > most) {
      return fail(&s.error, Status::kInvalidArgument,
                  "dimension {} of input \"{}\" is {}, outside the session's bounds {}..{}", i, name, actual, within.lo,
                  most);
    }
    const fb::Expr& e = *s.model->program.model().exprs()->Get(id);
    if (e.kind() != fb::ExprKind::Symbol) continue;
    if (s.shapes.symbols[id] >= 0 && s.shapes.symbols[id] != actual) {
      return fail(&s.error, Status::kInvalidArgument,
                  "dimension {} of input \"{}\" is {}, but \"{}\" is already {} in this run: inputs share its name "
                  "(convert with --shape INPUT=OTHER to rename it)",
                  i, name, actual, text_of(e.name()), s.shapes.symbols[id]);
    }
    s.shapes.symbols[id] = actual;
  }
  set_extents(s, input, x.shape.dims);
  return Status::kOk;
}

Status bind_input(vireo_session& s, uint32_t i, const vireo_tensor* given) {
  Tensor& x = *s.main.inputs[i];
  const Tensor& own = s.inputs.own[i];
  const char* name = input_name(s, i);
  if (given == nullptr || given->data == nullptr) {
    Tensor mine = x;
    if (given != nullptr && given->dtype != VIREO_NONE && given->rank >= 0 && given->rank <= kMaxRank) {
      mine.dtype = static_cast<DType>(given->dtype);
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
    uint8_t any = 0;  // in vectors
    for (int64_t k = 0; k < bytes; ++k) any |= t.as<const uint8_t>()[k];
    if (any > 1)
      return fail(&s.error, Status::kInvalidArgument, "input \"{}\" holds a bool that is neither 0 nor 1", name);
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

}  // namespace

Status bind_inputs(vireo_session& s, const vireo_tensor* inputs) {
  for (uint32_t i = 0; i < s.main.input_count; ++i) {
    const Status status = bind_input(s, i, inputs == nullptr ? nullptr : &inputs[i]);
    if (ok(status)) continue;
    blame_tensor(&s.error, input_name(s, i));
    return status;
  }
  return Remote::take_bound_inputs(s);
}

static Status check_outputs(vireo_session& s, const vireo_tensor* outputs) {
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

Status ready_outputs(vireo_session& s, const vireo_tensor* outputs) {
  VIREO_TRY(check_outputs(s, outputs));
  for (uint32_t o = 0; outputs != nullptr && o < s.main.output_count; ++o) {
    if (outputs[o].data == nullptr || !Remote::is_away(s, o)) continue;
    const Status status = Remote::fetch_output(s, o);
    if (ok(status)) continue;
    blame_tensor(&s.error, output_name(s, o));
    return status;
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
      if (Remote::is_away(s, o)) outputs[o].data = nullptr;
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
  for (uint32_t k = 0; k < s.state.count; ++k) {
    const uint32_t i = s.state.carried[k].input;
    const Tensor& y = *s.main.outputs[s.state.carried[k].output];
    const int64_t bytes = tensor_bytes(y);
    if (!Remote::carries(s, k) && bytes > 0 && bytes <= s.inputs.own[i].capacity)
      memmove(s.inputs.own[i].data, y.data, static_cast<size_t>(bytes));
    s.inputs.own[i].shape = y.shape;
    set_extents(s, i, y.shape.dims);
  }
}

void keep_state(vireo_session& s) {
  for (uint32_t k = 0; k < s.state.count; ++k)
    set_extents(s, s.state.carried[k].input, s.inputs.own[s.state.carried[k].input].shape.dims);
}

void forget_inputs(vireo_session& s) {
  for (uint32_t i = 0; i < s.main.input_count; ++i) {
    s.main.inputs[i]->data = s.inputs.own[i].data;
    s.main.inputs[i]->capacity = s.inputs.own[i].capacity;
  }
}

}  // namespace vireo
