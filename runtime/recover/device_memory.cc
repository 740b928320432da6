#include "runtime/recover/device_memory.h"

#include <string.h>

#include <new>

#include "runtime/prepare/joined.h"
#include "runtime/recover/failover.h"
#include "runtime/run/remote.h"

namespace vireo {
namespace {

constexpr uint64_t kBufferAlignment = VIREO_BUFFER_ALIGNMENT;
constexpr uint32_t kAll = UINT32_MAX;

uint32_t arena_count(const SessionLayout& l) {
  uint32_t n = 0;
  for (const DeviceArena* a = l.arenas; a != nullptr; a = a->next) ++n;
  return n;
}

uint32_t number_of(const DeviceMemory& m, const Tensor* t) { return static_cast<uint32_t>(t - m.tensors); }
uint32_t& where(const DeviceMemory& m, const Tensor* t) { return m.where[number_of(m, t)]; }
constexpr uint32_t kHome = 1;
constexpr uint32_t bit_of(uint32_t arena) { return 2u << arena; }

// The run begins again without the device, or ends.
Status lose_device(vireo_session& s, uint32_t arena, const char* node, const char* why) {
  DeviceMemory& m = *s.devices.memory;
  const Device* const device = m.arenas[arena].device;
  const uint32_t bit = device_bit(s, device);
  bool bound = false;
  for (uint32_t i = 0; i < s.main.input_count; ++i) bound = bound || m.bound[i].arena == arena;
  for (uint32_t o = 0; o < s.main.output_count; ++o) bound = bound || m.bound[s.main.input_count + o].arena == arena;
  bool state = false;
  for (uint32_t k = 0; k < s.state.count; ++k) state = state || m.carried[k].where == bit_of(arena);
  if ((m.indispensable & bit) != 0 || bound || state || (s.devices.lost & bit) != 0) {
    return fail(&s.error, Status::kDeviceLost, "device \"{}\", at \"{}\": {}{}", device->info.name, node, why,
                state   ? ", and with it the state that was carried there (vireo_session_reset begins anew elsewhere)"
                : bound ? ", and with it what the caller bound to its memory"
                        : "");
  }
  s.devices.lost |= bit;
  m.begins_again = true;
  Error told;
  (void)fail(&told, Status::kDeviceLost,
             "device \"{}\" was lost at \"{}\" ({}): the run begins again, and what this session had there runs on its "
             "other devices from now on",
             device->info.name, node, why);
  const vireo_runtime* rt = s.model->runtime;
  if (rt->log != nullptr) rt->log(rt->log_context, VIREO_LOG_WARNING, told.message);
  return fail(&s.error, Status::kDeviceLost, "{}", static_cast<const char*>(told.message));
}

Status failed(vireo_session& s, uint32_t arena, vireo_status status, const char* node, const char* what) {
  if (status == VIREO_CANCELLED) return fail(&s.error, Status::kCancelled, "the run was cancelled");
  take_blame(s);
  if (status == VIREO_DEVICE_LOST) return lose_device(s, arena, node, what[0] == 0 ? "it is gone" : what);
  return fail(&s.error, static_cast<Status>(status), "device \"{}\", at \"{}\": {}",
              s.devices.memory->arenas[arena].device->info.name, node, what);
}

// Waits for what was submitted on an arena, in order.
Status drain(vireo_session& s, uint32_t arena) {
  DeviceMemory& m = *s.devices.memory;
  for (uint32_t i = 0; i < m.pending_count;) {
    Step& step = *m.pending[i];
    const uint32_t its = step.away.arena - 1u;
    if (arena != kAll && its != arena) {
      ++i;
      continue;
    }
    s.fault.text[0] = 0;
    const vireo_status status = wait_for(s, step);
    --m.pending_count;
    memmove(m.pending + i, m.pending + i + 1, sizeof(*m.pending) * (m.pending_count - i));
    if (status == VIREO_OK) {
      count_times(s, step);
      continue;
    }
    if (status != VIREO_CANCELLED) blame_node(&s.error, step_name(s, step));
    return failed(s, its, status, step_name(s, step), s.fault.text);
  }
  return Status::kOk;
}

Status bring_home(vireo_session& s, const Tensor& t, const char* node) {
  DeviceMemory& m = *s.devices.memory;
  uint32_t& w = where(m, &t);
  if ((w & kHome) != 0) return Status::kOk;
  uint32_t k = 0;
  while (k + 1 < m.count && (w & bit_of(k)) == 0) ++k;
  const Arena& a = m.arenas[k];
  VIREO_TRY(drain(s, k));
  const vireo_place& at = a.at[number_of(m, &t)];
  const int64_t bytes = tensor_bytes(t);
  if (a.shared && at.buffer == a.buffer) {
    const uint8_t* const place = s.values.at + at.offset;                                 // the import begins there
    if (bytes > 0 && place != t.data) memcpy(t.data, place, static_cast<size_t>(bytes));  // of a trial
  } else if (bytes > 0) {
    const vireo_status status =
        a.device->delegate->buffer_read(a.device->handle, at.buffer, at.offset, t.data, static_cast<size_t>(bytes));
    if (status != VIREO_OK) return failed(s, k, status, node, "its memory could not be read");
  }
  w |= kHome;
  return Status::kOk;
}

Status bring_there(vireo_session& s, const Tensor& t, uint32_t k, const char* node) {
  DeviceMemory& m = *s.devices.memory;
  if ((where(m, &t) & bit_of(k)) != 0) return Status::kOk;
  VIREO_TRY(bring_home(s, t, node));
  const Arena& a = m.arenas[k];
  const vireo_place& at = a.at[number_of(m, &t)];
  const int64_t bytes = tensor_bytes(t);
  if (a.shared && at.buffer == a.buffer) {
    uint8_t* const place = s.values.at + at.offset;
    if (bytes > 0 && place != t.data) memcpy(place, t.data, static_cast<size_t>(bytes));
  } else if (bytes > 0) {
    const auto write = [&] {
      return a.device->delegate->buffer_write(a.device->handle, at.buffer, at.offset, t.data,
                                              static_cast<size_t>(bytes));
    };
    vireo_status status = write();
    if (status == VIREO_BUSY) {
      VIREO_TRY(drain(s, k));
      status = write();
    }
    if (status != VIREO_OK) return failed(s, k, status, node, "its memory could not be written");
  }
  where(m, &t) |= bit_of(k);
  return Status::kOk;
}

// Shape functions read small values: lists of extents, axes, scales.
bool may_steer_shapes(const Tensor& t) { return t.shape.rank <= 1; }

Status bind_step(vireo_session& s, Step& step) {
  const DeviceMemory& m = *s.devices.memory;
  const Arena& a = m.arenas[step.away.arena - 1u];
  for (uint32_t i = 0; i < uint32_t{step.input_count} + step.output_count; ++i)
    m.places[i] = &a.at[number_of(m, step.args[i])];
  return static_cast<Status>(step.away.device->delegate->bind(step.call.loaded, m.places, m.places + step.input_count));
}

// All steps that work on arena `k` and, unless that is null, on `tensor`.
Status bind_frame(vireo_session& s, Frame& frame, uint32_t k, const Tensor* tensor, Error* error) {
  for (uint32_t i = 0; i < frame.step_count; ++i) {
    Step& step = frame.steps[i];
    bool concerned = step.away.arena == k + 1u;
    if (concerned && tensor != nullptr) {
      concerned = false;
      for (uint32_t j = 0; j < uint32_t{step.input_count} + step.output_count; ++j)
        concerned = concerned || step.args[j] == tensor;
    }
    if (concerned) {
      const Status status = bind_step(s, step);
      if (!ok(status)) {
        blame_node(error, step_name(s, step));
        return fail(error, status, "node \"{}\": device \"{}\" does not take the places of its values",
                    step_name(s, step), step.away.device->info.name);
      }
    }
    for (Frame* body : step.bodies) {
      if (body != nullptr && step.kind != Step::kPart) VIREO_TRY(bind_frame(s, *body, k, tensor, error));
    }
  }
  return Status::kOk;
}

// Numbers the arenas of steps; says which devices have a part that cannot run elsewhere.
void number_steps(vireo_session& s, Frame& frame) {
  DeviceMemory& m = *s.devices.memory;
  for (uint32_t i = 0; i < frame.step_count; ++i) {
    Step& step = frame.steps[i];
    if (step.away.arena == kSomeArena) {
      uint32_t k = 0;
      while (m.arenas[k].device != step.away.device) ++k;
      step.away.arena = static_cast<uint8_t>(k + 1);
      if (step.away.fallback == nullptr) m.indispensable |= device_bit(s, step.away.device);
    }
    for (Frame* body : step.bodies) {
      if (body != nullptr && step.kind != Step::kPart) number_steps(s, *body);
    }
  }
}

}  // namespace

DeviceMemory* carve_device_memory(const SessionLayout& l, Carver& c) {
  const uint32_t count = arena_count(l), tensors = tensor_total(l);
  uint32_t parts = 0, most = 0;
  for (const JoinedPart* p = l.parts; p != nullptr; p = p->next) {
    ++parts;
    const uint32_t values = p->input_count + p->output_count;
    if (values > most) most = values;
  }
  const uint32_t inputs = l.graph(0).inputs()->size(), ends = inputs + l.graph(0).outputs()->size();
  auto* const m = c.array<DeviceMemory>(1);
  Arena* const arenas = c.array<Arena>(count);
  uint32_t* const where = c.array<uint32_t>(tensors);
  Step** const pending = c.array<Step*>(parts);
  const vireo_place** const places = c.array<const vireo_place*>(most);
  BoundBuffer* const bound = c.array<BoundBuffer>(ends);
  CarriedAt* const carried = c.array<CarriedAt>(inputs);
  const bool real = !c.counting();
  if (real) {
    *m = DeviceMemory{};
    m->arenas = arenas;
    m->count = count;
    m->where = where;
    m->pending = pending;
    m->places = places;
    m->bound = bound;
    m->carried = carried;
    for (uint32_t i = 0; i < ends; ++i) bound[i] = BoundBuffer{};
  }
  for (uint32_t k = 0; k < count; ++k) {
    vireo_place* const at = c.array<vireo_place>(tensors);
    if (!real) continue;
    arenas[k] = Arena{};
    arenas[k].at = at;
  }
  uint32_t k = 0;
  for (const DeviceArena* plan = l.arenas; plan != nullptr; plan = plan->next, ++k) {
    const Device& device = l.model->runtime->devices[plan->device];
    const uint32_t more_count = value_buffers(*plan, device) - 1;
    void** const more = c.array<void*>(more_count);
    if (!real) continue;
    arenas[k].device = &device;
    arenas[k].more = more;
    arenas[k].more_count = more_count;
    for (uint32_t b = 0; b < more_count; ++b) more[b] = nullptr;
  }
  return m;
}

namespace {

Status make_buffer(DeviceMemory& m, const Device& device, const vireo_host& host, uint64_t bytes, void** out,
                   Error* error) {
  const vireo_status status = device.delegate->buffer_create(device.handle, &host, bytes, out);
  if (status == VIREO_OK) return Status::kOk;
  *out = nullptr;
  if (status == VIREO_OUT_OF_ARENA) m.full = &device;
  return fail(error, static_cast<Status>(status), "device \"{}\" gave no {} bytes of its memory", device.info.name,
              bytes);
}

}  // namespace

Status open_device_work(vireo_session& s, const SessionLayout& l, Error* error) {
  DeviceMemory& m = *s.devices.memory;
  const vireo_runtime* rt = l.model->runtime;
  uint32_t k = 0;
  for (const DeviceArena* plan = l.arenas; plan != nullptr; plan = plan->next, ++k) {
    Arena& a = m.arenas[k];
    const uint64_t most = most_buffer_bytes(*a.device);
    const bool together = plan->scratch_bytes + plan->state_bytes <= most;
    a.state_used = together ? plan->scratch_bytes : 0;
    if (const uint64_t bytes = plan->scratch_bytes + (together ? plan->state_bytes : 0); bytes != 0)
      VIREO_TRY(make_buffer(m, *a.device, rt->host, bytes, &a.work, error));
    a.state = a.work;
    if (!together && plan->state_bytes > most) {
      m.full = a.device;
      return fail(error, Status::kOutOfArena, "device \"{}\" has no buffer of {} bytes for the state of its parts",
                  a.device->info.name, plan->state_bytes);
    }
    if (!together) VIREO_TRY(make_buffer(m, *a.device, rt->host, plan->state_bytes, &a.state, error));
    a.upload.missing = plan->missing_bytes;
    if (plan->missing_bytes != 0) VIREO_TRY(next_upload(s, a, 0, error));
  }
  return Status::kOk;
}

static void close_upload(vireo_session& s, Arena& a) {
  const vireo_model& model = *s.model;
  if (a.upload.used != 0) {
    model.device_packs.keep(a.upload.kept_by, life_of(*a.device), a.upload.buffer);
  } else {
    if (a.upload.buffer != nullptr) a.device->delegate->buffer_release(a.device->handle, a.upload.buffer);
    DevicePacks::drop(model.runtime->allocator, a.upload.kept_by);
  }
  a.upload = DeviceUpload{};
}

Status next_upload(vireo_session& s, Arena& a, uint64_t bytes, Error* error) {
  DeviceMemory& m = *s.devices.memory;
  const vireo_runtime* rt = s.model->runtime;
  const uint64_t missing = a.upload.missing, most = most_buffer_bytes(*a.device),
                 take = missing < most ? missing : most;
  if (bytes > take) return fail(error, Status::kUnsupported, "has another size than when its memory was planned");
  close_upload(s, a);
  a.upload.missing = missing;
  a.upload.kept_by = DevicePacks::reserve(rt->allocator);
  if (a.upload.kept_by == nullptr)
    return fail(error, Status::kOutOfArena, "the allocator has no memory for what lies on device \"{}\"",
                a.device->info.name);
  VIREO_TRY(make_buffer(m, *a.device, rt->host, take, &a.upload.buffer, error));
  a.upload.bytes = take;
  return Status::kOk;
}

void close_uploads(vireo_session& s) {
  for (uint32_t k = 0; s.devices.memory != nullptr && k < s.devices.memory->count; ++k)
    close_upload(s, s.devices.memory->arenas[k]);
}

// Where carried state may stay.
static void open_state(vireo_session& s, const SessionLayout& l) {
  DeviceMemory& m = *s.devices.memory;
  uint32_t count = 0;
  for (uint32_t i = 0; i < s.main.input_count; ++i) {
    if (state_of(*l.program, i) < 0) continue;
    CarriedAt& at = m.carried[count++] = CarriedAt{};
    at.where = kHome;
    const int32_t o = staying_output(*l.program, i);
    uint32_t k = 0;
    for (const DeviceArena* plan = l.arenas; o >= 0 && plan != nullptr; plan = plan->next, ++k) {
      const uint32_t x = l.graph(0).inputs()->Get(i), y = l.graph(0).outputs()->Get(static_cast<uint32_t>(o));
      if (m.arenas[k].shared || plan->at[x] == kNoOffset || plan->at[y] == kNoOffset) continue;
      at.arena = k;
      m.bound[s.main.input_count + static_cast<uint32_t>(o)].stays = s.options.state_stays != 0;
    }
  }
}

Status open_device_memory(vireo_session& s, const SessionLayout& l, const TensorOf& tensor_of, Error* error) {
  DeviceMemory& m = *s.devices.memory;
  const vireo_runtime* rt = l.model->runtime;
  m.tensors = s.all.first;
  m.tensor_count = s.all.count;
  all_at_home(s);
  uint32_t k = 0;
  for (const DeviceArena* plan = l.arenas; plan != nullptr; plan = plan->next, ++k) {
    Arena& a = m.arenas[k];
    for (uint32_t t = 0; t < m.tensor_count; ++t) a.at[t] = VIREO_PLACE_INIT;
    const vireo_delegate& d = *a.device->delegate;
    if (shares_arena(l, plan->device) && reinterpret_cast<uintptr_t>(s.values.at) % kImportAlignment == 0) {
      vireo_handle handle = VIREO_HANDLE_INIT;
      handle.kind = VIREO_HANDLE_HOST;
      handle.value = reinterpret_cast<uintptr_t>(s.values.at);
      handle.bytes = align_up(s.values.bytes, kImportAlignment);
      a.shared = d.buffer_import(a.device->handle, &rt->host, &handle, &a.buffer) == VIREO_OK;
      if (!a.shared) a.buffer = nullptr;
    }
    const uint64_t most = most_buffer_bytes(*a.device);
    for (uint32_t b = 0; !a.shared && b <= a.more_count; ++b) {
      const uint64_t left = plan->bytes - b * most;
      VIREO_TRY(
          make_buffer(m, *a.device, rt->host, left < most ? left : most, b == 0 ? &a.buffer : &a.more[b - 1], error));
    }
    for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) {
      const uint64_t* const at = plan->at + first_tensor(l, i);
      for (uint32_t t = 0; t < l.subs[i].tensor_count; ++t) {
        if (at[t] == kNoOffset) continue;
        const Tensor* const tensor = tensor_of.get(tensor_of.context, i, t);
        vireo_place& place = a.at[number_of(m, tensor)];
        if (place.buffer != nullptr) continue;  // the owner's, which lives as long as its bodies need it
        const uint64_t b = a.shared ? 0 : at[t] / most;
        place.buffer = b == 0 ? a.buffer : a.more[b - 1];
        place.offset =
            a.shared ? static_cast<uint64_t>(static_cast<uint8_t*>(tensor->data) - s.values.at) : at[t] % most;
      }
    }
  }
  open_state(s, l);
  number_steps(s, s.main);
  for (k = 0; k < m.count; ++k) VIREO_TRY(bind_frame(s, s.main, k, nullptr, error));
  return Status::kOk;
}

void close_device_memory(vireo_session& s) {
  close_uploads(s);
  for (uint32_t k = 0; s.devices.memory != nullptr && k < s.devices.memory->count; ++k) {
    const Arena& a = s.devices.memory->arenas[k];
    const auto release = [&a](void* buffer) {
      if (buffer != nullptr) a.device->delegate->buffer_release(a.device->handle, buffer);
    };
    release(a.work);
    if (a.state != a.work) release(a.state);
    release(a.buffer);
    for (uint32_t b = 0; b < a.more_count; ++b) release(a.more[b]);
  }
}

void all_at_home(vireo_session& s) {
  for (uint32_t t = 0; t < s.devices.memory->tensor_count; ++t) s.devices.memory->where[t] = kHome;
}

// What the session carries lies where the run before left it, unless the caller gives other data.
static Status take_carried(vireo_session& s) {
  DeviceMemory& m = *s.devices.memory;
  for (uint32_t k = 0; m.turned != 0 && k < m.count; ++k) {
    if ((m.turned & bit_of(k)) == 0) continue;
    const Status status = bind_frame(s, s.main, k, nullptr, &s.error);
    if (status == Status::kDeviceLost) {  // its first submit says so, and what follows from it
      s.error.clear();
    } else {
      VIREO_TRY(status);
    }
  }
  m.turned = 0;
  for (uint32_t k = 0; k < s.state.count; ++k) {
    const uint32_t i = s.state.carried[k].input;
    if (s.main.inputs[i]->data == s.inputs.own[i].data) where(m, s.main.inputs[i]) = m.carried[k].where;
  }
  return Status::kOk;
}

bool Remote::turn(vireo_session& s, uint32_t k) {
  DeviceMemory& m = *s.devices.memory;
  CarriedAt& at = m.carried[k];
  const Tensor& y = *s.main.outputs[s.state.carried[k].output];
  at.where = kHome;
  if (at.arena == kAll || (where(m, &y) & bit_of(at.arena)) == 0) return false;
  vireo_place* const places = m.arenas[at.arena].at;
  vireo_place &a = places[number_of(m, s.main.inputs[s.state.carried[k].input])], &b = places[number_of(m, &y)];
  const vireo_place before = a;
  a = b;
  b = before;
  at.where = where(m, &y);
  m.turned |= bit_of(at.arena);
  return (at.where & kHome) == 0;
}

Status Remote::bring_state(vireo_session& s, uint32_t input) {
  DeviceMemory& m = *s.devices.memory;
  for (uint32_t k = 0; k < s.state.count; ++k) {
    if (s.state.carried[k].input != input) continue;
    Tensor& x = *s.main.inputs[input];
    where(m, &x) = m.carried[k].where;
    VIREO_TRY(bring_home(s, x, input_name(s, input)));
    m.carried[k].where = kHome;
  }
  return Status::kOk;
}

void Remote::forget_state(vireo_session& s) {
  for (uint32_t k = 0; k < s.state.count; ++k) s.devices.memory->carried[k].where = kHome;
}

Status Remote::take_buffers(vireo_session& s) {
  DeviceMemory& m = *s.devices.memory;
  all_at_home(s);
  VIREO_TRY(take_carried(s));
  for (uint32_t i = 0; i < s.main.input_count; ++i) {
    const BoundBuffer& b = m.bound[i];
    if (b.buffer == nullptr) continue;
    Tensor& x = *s.main.inputs[i];
    if (x.data != s.inputs.own[i].data) {
      blame_tensor(&s.error, input_name(s, i));
      return fail(&s.error, Status::kInvalidArgument, "input {} is bound to a buffer, and the caller gives data, too",
                  i);
    }
    if (b.arena != kAll) {
      where(m, &x) = bit_of(b.arena);
      continue;
    }
    const Device& d = *b.buffer->device;
    const int64_t bytes = tensor_bytes(x);
    const vireo_status status =
        d.delegate->buffer_read(d.handle, b.buffer->handle, b.offset, x.data, static_cast<uint64_t>(bytes));
    if (status != VIREO_OK) {
      blame_tensor(&s.error, input_name(s, i));
      return fail(&s.error, static_cast<Status>(status), "input {}: device \"{}\" could not read the buffer", i,
                  d.info.name);
    }
  }
  return Status::kOk;
}

// The nodes of a part that the device does not take with this run's extents, on the devices that each would have had.
static Status run_declined(vireo_session& s, Step& step) {
  note_declined(s, step);
  for (uint32_t k = 0; k < s.devices.memory->count; ++k) {  // their values may lie where a part still reads
    if (s.devices.memory->arenas[k].shared) VIREO_TRY(drain(s, k));
  }
  for (uint32_t i = 0; i < step.input_count; ++i) VIREO_TRY(bring_home(s, *step.args[i], step_name(s, step)));
  VIREO_TRY(Remote::run_instead(s, step));
  for (uint32_t o = 0; o < step.output_count; ++o) where(*s.devices.memory, step.args[step.input_count + o]) = kHome;
  return Status::kOk;
}

Status Remote::submit(vireo_session& s, Step& step) {
  DeviceMemory& m = *s.devices.memory;
  const uint32_t k = step.away.arena - 1u;
  const char* const node = step_name(s, step);
  Tensor** const args = step.args;
  for (uint32_t i = 0; i < step.input_count; ++i) VIREO_TRY(bring_there(s, *args[i], k, node));
  s.fault.text[0] = 0;
  show_extents(s, step);
  const vireo_status status = step.call.submit(
      step.call.loaded, const_cast<const vireo_tensor* const*>(reinterpret_cast<vireo_tensor**>(args)),
      step.input_count, reinterpret_cast<vireo_tensor**>(args + step.input_count), step.output_count, &s.submit);
  if (declines(step, status)) return run_declined(s, step);
  if (status != VIREO_OK) return failed(s, k, status, node, s.fault.text);
  m.pending[m.pending_count++] = &step;
  for (uint32_t o = 0; o < step.output_count; ++o) where(m, args[step.input_count + o]) = bit_of(k);
  return Status::kOk;
}

Status Remote::before(vireo_session& s, const Step& step) {
  const DeviceMemory& m = *s.devices.memory;
  const bool there = step.away.arena != 0 && !is_lost(s, step);
  for (uint32_t k = 0; !there && k < m.count; ++k) {  // it may write where a part still reads
    if (m.arenas[k].shared) VIREO_TRY(drain(s, k));
  }
  if (there && !step.shapes.infer) return Status::kOk;
  for (uint32_t i = 0; i < step.input_count; ++i) {
    const Tensor* const t = step.args[i];
    if (t == nullptr || t->data == nullptr) continue;  // the device alone has it: what wants to see it here says so
    if (!there || may_steer_shapes(*t)) VIREO_TRY(bring_home(s, *t, step_name(s, step)));
  }
  return Status::kOk;
}

void Remote::after(vireo_session& s, const Step& step) {
  if (step.away.arena != 0 && !is_lost(s, step)) return;
  for (uint32_t o = 0; o < step.output_count; ++o) {
    if (const Tensor* const t = step.args[step.input_count + o]; t != nullptr) where(*s.devices.memory, t) = kHome;
  }
}

void Remote::enter(vireo_session& s, const Frame& frame) {
  if (&frame == &s.main) return;  // take_buffers()
  for (uint32_t i = 0; i < frame.input_count; ++i) where(*s.devices.memory, frame.inputs[i]) = kHome;
}

Status Remote::leave(vireo_session& s, Frame& frame) {
  DeviceMemory& m = *s.devices.memory;
  const bool main = &frame == &s.main;
  for (uint32_t o = 0; o < frame.output_count; ++o) {
    const Tensor& y = *frame.outputs[o];
    const char* const name = text_of(frame.graph->tensors()->Get(frame.graph->outputs()->Get(o))->name());
    const BoundBuffer* const b = main ? &m.bound[s.main.input_count + o] : nullptr;
    const bool given = b != nullptr && b->buffer != nullptr;
    if (given && b->arena != kAll && (where(m, &y) & bit_of(b->arena)) != 0) continue;  // it was made there
    if (main && b->stays && (where(m, &y) & kHome) == 0) continue;
    if (const Status status = bring_home(s, y, name); !ok(status)) {
      if (s.error.node == nullptr && status != Status::kCancelled) blame_tensor(&s.error, name);
      return status;
    }
    if (!given) continue;
    VIREO_TRY(drain(s, kAll));
    const Device& d = *b->buffer->device;
    const vireo_status status = d.delegate->buffer_write(d.handle, b->buffer->handle, b->offset, y.data,
                                                         static_cast<uint64_t>(tensor_bytes(y)));
    if (status != VIREO_OK) {
      blame_tensor(&s.error, name);
      return fail(&s.error, static_cast<Status>(status), "output \"{}\": device \"{}\" could not write the buffer",
                  name, d.info.name);
    }
  }
  return drain(s, kAll);
}

bool Remote::is_elsewhere(const vireo_session& s, uint32_t output) {
  const DeviceMemory& m = *s.devices.memory;
  return m.bound[s.main.input_count + output].buffer != nullptr || (where(m, s.main.outputs[output]) & kHome) == 0;
}
Status Remote::fetch_output(vireo_session& s, uint32_t output) {
  return bring_home(s, *s.main.outputs[output], "the model's end");
}

bool Remote::end_run(vireo_session& s, uint64_t random, Status* status) {
  if (!ok(*status)) abandon(s);
  const bool again = s.devices.memory->begins_again;
  s.devices.memory->begins_again = false;
  if (!again) return false;
  *status = Status::kOk;
  begin_run(s);
  s.run.settled = false;
  s.random.state = random;
  return true;
}

Status finish_step(vireo_session& s, const Step& step) {
  for (uint32_t o = 0; o < step.output_count; ++o)
    VIREO_TRY(bring_home(s, *step.args[step.input_count + o], step_name(s, step)));
  return drain(s, kAll);
}

void abandon(vireo_session& s) {
  DeviceMemory& m = *s.devices.memory;
  for (uint32_t i = 0; i < m.pending_count; ++i) {
    const Step& step = *m.pending[i];
    step.away.device->delegate->cancel(step.call.loaded);
    (void)step.away.device->delegate->wait(step.call.loaded, 0);
  }
  m.pending_count = 0;
}

Status bind_buffer(vireo_session& s, bool output, uint32_t index, const vireo_buffer* buffer, uint64_t offset,
                   Error* error) {
  const char* const end = output ? "output" : "input";
  const uint32_t count = output ? s.main.output_count : s.main.input_count;
  if (index >= count) return fail(error, Status::kInvalidArgument, "the model has no {} {}", end, index);
  if (s.devices.memory == nullptr) {
    return fail(error, Status::kUnsupported,
                "no device of this session works on memory of its own: vireo_buffer_read gives the bytes");
  }
  DeviceMemory& m = *s.devices.memory;
  Tensor& t = output ? *s.main.outputs[index] : *s.main.inputs[index];
  bool carried = false;
  for (uint32_t k = 0; k < s.state.count; ++k)
    carried = carried || (output ? s.state.carried[k].output : s.state.carried[k].input) == index;
  if (carried) return fail(error, Status::kUnsupported, "{} {} is carried state", end, index);
  for (uint32_t i = 0; output && i < s.main.input_count; ++i) {
    if (s.main.inputs[i] == &t) return fail(error, Status::kUnsupported, "output {} is an input of the model", index);
  }
  for (uint32_t o = 0; output && o < s.main.output_count; ++o) {
    if (o != index && s.main.outputs[o] == &t)
      return fail(error, Status::kUnsupported, "output {} is output {}, too", index, o);
  }
  const auto most = static_cast<uint64_t>(output ? t.capacity : s.inputs.own[index].capacity);
  if (t.dtype == DType::kString) return fail(error, Status::kUnsupported, "{} {} holds strings", end, index);
  if (buffer != nullptr &&
      (offset % kBufferAlignment != 0 || buffer->bytes < offset || buffer->bytes - offset < most)) {
    return fail(error, Status::kInvalidArgument,
                "{} {} takes {} bytes at a multiple of {}; the buffer has {} behind offset {}", end, index, most,
                kBufferAlignment, buffer->bytes < offset ? 0 : buffer->bytes - offset, offset);
  }
  BoundBuffer& b = m.bound[output ? s.main.input_count + index : index];
  BoundBuffer next;
  next.buffer = buffer;
  next.offset = offset;
  for (uint32_t k = 0; buffer != nullptr && k < m.count; ++k) {
    // Where no part of the device reads or makes it, it is copied.
    if (m.arenas[k].device == buffer->device && m.arenas[k].at[number_of(m, &t)].buffer != nullptr) next.arena = k;
  }
  if (b.arena != kAll) {
    m.arenas[b.arena].at[number_of(m, &t)] = b.before;
    VIREO_TRY(bind_frame(s, s.main, b.arena, &t, error));
  }
  b = BoundBuffer{};
  if (next.arena != kAll) {
    vireo_place& at = m.arenas[next.arena].at[number_of(m, &t)];
    next.before = at;
    at.buffer = buffer->handle;
    at.offset = offset;
    const Status status = bind_frame(s, s.main, next.arena, &t, error);
    if (!ok(status)) {
      at = next.before;
      Error ignored;
      (void)bind_frame(s, s.main, next.arena, &t, &ignored);
      return status;
    }
  }
  b = next;
  return Status::kOk;
}

// How long a device is waited for between looks at the caller's wish to cancel.
static constexpr uint64_t kLookNs = 2000000;

vireo_status wait_for(vireo_session& s, const Step& step) {
  const vireo_delegate& d = *step.away.device->delegate;
  const uint64_t limit = s.options.device_timeout_ns == 0 ? VIREO_DEVICE_TIMEOUT_NS : s.options.device_timeout_ns;
  const uint64_t begin = platform::now_ns();
  uint64_t looks = 0;  // instead of a clock, where there is none
  vireo_status status = VIREO_BUSY;
  while ((status = d.wait(step.call.loaded, kLookNs)) == VIREO_BUSY) {
    if (__atomic_load_n(&s.run.cancelled, __ATOMIC_RELAXED) != 0) {
      d.cancel(step.call.loaded);
      return VIREO_CANCELLED;
    }
    ++looks;
    const uint64_t now = platform::now_ns();
    if ((begin == 0 ? looks * kLookNs : now - begin) < limit) continue;
    d.cancel(step.call.loaded);
    const char why[] = "did not answer in time";
    memcpy(s.fault.text, why, sizeof(why));
    return VIREO_DEVICE_LOST;
  }
  return status;
}

void count_times(vireo_session& s, Step& step) {
  if (s.nodes.times == nullptr || !step.away.tells_time) return;
  struct Times {
    NodeTime* of;
    uint32_t count, entries;
  } times = {s.nodes.times + step.info, step.nodes, 0};
  const auto take = [](void* context, const vireo_timeline_entry* entry) {
    auto& t = *static_cast<Times*>(context);
    ++t.entries;
    if (entry->node < t.count && entry->end_ns > entry->begin_ns)
      t.of[entry->node].total_ns += entry->end_ns - entry->begin_ns;
  };
  const vireo_status status = step.away.device->delegate->timeline(step.call.loaded, &times, take);
  if (status != VIREO_OK || times.entries == 0) {
    step.away.tells_time = false;  // the host's clock has to do
    return;
  }
  for (uint32_t k = 1; k < step.nodes; ++k) ++times.of[k].calls;  // the first is counted as a step
}

}  // namespace vireo
