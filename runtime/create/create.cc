// What comes before a session and after it: its memory, its creation, its release.
#include <string.h>

#include "runtime/create/create.h"

#include "runtime/create/builder.h"
#include "runtime/prepare/device_arenas.h"
#include "runtime/prepare/packed_bytes.h"
#include "runtime/recover/device_memory.h"
#include "runtime/recover/failover.h"
#include "runtime/run/remote.h"
#include "sdk/base/config.h"

namespace vireo {

void unload(Step& step) {
  if (step.call.unload != nullptr) step.call.unload(step.call.loaded);
  if (VIREO_JOINED && step.away.fallback != nullptr) unload(step.away.fallback->frame);
  for (Frame* body : step.bodies) {
    if (body != nullptr && step.kind != Step::kPart) unload(*body);
  }
}
void unload(Frame& frame) {
  for (uint32_t i = 0; i < frame.step_count; ++i) unload(frame.steps[i]);
}

namespace {

struct TemporaryBlock {
  const vireo_runtime* rt;
  size_t bytes;
  void* memory;
  TemporaryBlock(const vireo_runtime* runtime, size_t size)
      : rt(runtime), bytes(size), memory(runtime->allocate(size)) {}
  ~TemporaryBlock() { rt->release(memory, bytes); }
  TemporaryBlock(const TemporaryBlock&) = delete;
  TemporaryBlock& operator=(const TemporaryBlock&) = delete;
};

// Counts; the answer to both questions: what to reserve, and what to report.
Status measure(const SessionLayout& l, const vireo_session_options& options, void* temporary, size_t* total,
               size_t* tables, Error* error) {
  Builder counter(l, options, nullptr);
  VIREO_TRY(counter.build(temporary, error));
  *total = static_cast<size_t>(align_up(counter.total(), 64));
  *tables = counter.tables();
  return Status::kOk;
}

}  // namespace

Status session_memory(const vireo_model* model, const vireo_session_options& options, vireo_memory* memory,
                      Error* error) {
  SessionLayout l;
  VIREO_TRY(make_layout(model, options, &l, error));
  const size_t temporary_bytes = Builder::temporary_bytes(l);
  TemporaryBlock temporary(model->runtime, temporary_bytes);
  Status status = Status::kOk;
  size_t total = 0, tables = 0;
  if (temporary.memory == nullptr) {
    status = fail(error, Status::kOutOfArena, "the allocator has no {} bytes to plan the session", temporary_bytes);
  } else {
    status = measure(l, options, temporary.memory, &total, &tables, error);
  }
  if (ok(status)) {
    memory->total_bytes = total;
    memory->tensor_bytes = static_cast<size_t>(l.subs[0].bytes);
    memory->scratch_bytes = l.scratch_bytes;
    memory->state_bytes = total - memory->tensor_bytes - memory->scratch_bytes;
    memory->lower_bound_bytes = static_cast<size_t>(l.subs[0].lower_bound);
    status = packed_bytes(l, model->runtime->host, &memory->packed_bytes, &memory->mapped_bytes, error);
    if constexpr (!kOnlyCpu) memory->text_bytes = model->texts.bytes();
    if constexpr (VIREO_JOINED) {
      memory->compiled_bytes = model->blobs.bytes();
      memory->device_bytes = static_cast<size_t>(device_bytes(l));
      for (const DeviceArena* a = l.arenas; a != nullptr; a = a->next)
        memory->device_packed_bytes += static_cast<size_t>(a->packed_bytes);
      memory->mapped_bytes += model->blobs.mapped_bytes();
    }
  }
  free_layout(&l);
  return status;
}

namespace {

// The caller's arena, or memory of the allocator's; null with the reason.
void* take_block(const vireo_runtime* rt, const vireo_session_options& given, size_t total, Status* status,
                 Error* error) {
  void* const block = given.arena == nullptr ? rt->allocate(total) : given.arena;
  if (block == nullptr) {
    *status = fail(error, Status::kOutOfArena, "the allocator has no {} bytes for the session", total);
  } else if (given.arena != nullptr && reinterpret_cast<uintptr_t>(block) % 64 != 0) {
    *status = fail(error, Status::kInvalidArgument, "the arena must be aligned to 64");
  } else if (given.arena != nullptr && given.arena_bytes < total) {
    *status = fail(error, Status::kOutOfArena, "the arena has {} bytes, the session takes {}: see vireo_model_memory",
                   given.arena_bytes, total);
  }
  return block;
}

// *refused: a device computed wrongly or has no memory left, and does not get those nodes any more.
Status finish_session(const vireo_model* model, const Builder& builder, Status status, bool* refused, Error* error) {
  if (ok(status)) status = check_guard(model, error);
  if constexpr (VIREO_JOINED) {
    if (builder.refused()) {
      *refused = true;
      return Status::kOk;
    }
    if (ok(status)) {
      status = check_parts(*builder.session(), refused);
      if (!ok(status) && error != nullptr) *error = builder.session()->error;
    }
  }
  return status;
}

// Makes the session in `block`; it is released again where that fails, and where a device has refused nodes.
Status make_session(const SessionLayout& l, const vireo_session_options& given, void* temporary, void* block,
                    size_t total, bool* refused, vireo_session** out, Error* error) {
  const vireo_model* const model = l.model;
  Builder builder(l, given, block);
  const Status built = builder.build(temporary, error);
  vireo_session* const s = builder.session();
  hold(model->holders);
  s->block.at = block;
  s->block.bytes = total;
  s->block.owned = given.arena == nullptr;
  const Status status = finish_session(model, builder, built, refused, error);
  if (!ok(status) || *refused) {
    release_session(s);
    return status;
  }
  if (VIREO_CACHE && given.cache != nullptr) model->cache.keep(*model, given.cache, given.cache_bytes);
  *out = s;
  return Status::kOk;
}

// *refused: as above, and the nodes have to be laid out anew.
Status create_once(const vireo_model* model, const vireo_session_options& options, bool* refused, vireo_session** out,
                   Error* error) {
  const vireo_runtime* rt = model->runtime;
  SessionLayout l;
  VIREO_TRY(make_layout(model, options, &l, error));
  const size_t temporary_bytes = Builder::temporary_bytes(l);
  TemporaryBlock temporary(rt, temporary_bytes);
  Status status = Status::kOk;
  size_t total = 0, tables = 0;
  if (temporary.memory == nullptr) {
    status = fail(error, Status::kOutOfArena, "the allocator has no {} bytes to build the session", temporary_bytes);
  } else {
    status = measure(l, options, temporary.memory, &total, &tables, error);
  }
  if (VIREO_JOINED && ok(status) && l.arenas != nullptr) {  // what of it is missing on devices
    size_t held = 0, mapped = 0;
    status = packed_bytes(l, rt->host, &held, &mapped, error);
  }
  void* const block = ok(status) ? take_block(rt, options, total, &status, error) : nullptr;
  if (ok(status)) status = make_session(l, options, temporary.memory, block, total, refused, out, error);
  free_layout(&l);
  return status;
}

}  // namespace

Status create_session(const vireo_model* model, const vireo_session_options& options, vireo_session** out,
                      Error* error) {
  for (;;) {
    bool refused = false;
    if (error != nullptr) error->clear();
    VIREO_TRY(create_once(model, options, &refused, out, error));
    if (!refused) return Status::kOk;
  }
}

void release_session(vireo_session* session) {
  if (session == nullptr) return;
  unload(session->main);
  if constexpr (VIREO_JOINED) close_device_memory(*session);
  auto* const model = const_cast<vireo_model*>(session->model);
  const vireo_runtime* rt = model->runtime;
  void* const block = session->block.at;
  const size_t bytes = session->block.bytes;
  const bool owned = session->block.owned;
  session->~vireo_session();
  if (owned) rt->release(block, bytes);
  release_model(model);
}

Status rebuild_session(vireo_session** session, const vireo_bound* bounds, uint32_t bound_count, Error* error) {
  vireo_session* before = *session;
  vireo_session_options options = before->options;
  options.bounds = bounds;
  options.bound_count = bound_count;
  options.arena = nullptr;
  vireo_session* after = nullptr;
  VIREO_TRY(create_session(before->model, options, &after, error));
  after->random.state = before->random.state;
  for (uint32_t i = 0; i < after->main.input_count; ++i) {
    if (state_of(before->model->program, i) < 0) continue;
    const Tensor& from = before->inputs.own[i];
    if constexpr (VIREO_JOINED) {
      before->error.clear();
      const Status there = Remote::take_state(*before, i);
      if (!ok(there)) {
        if (error != nullptr) *error = before->error;
        release_session(after);
        return there;
      }
    }
    const int64_t bytes = tensor_bytes(from);
    if (bytes < 0 || bytes > after->inputs.own[i].capacity) {
      blame_tensor(error, input_name(*before, i));
      release_session(after);
      return fail(error, Status::kOutOfArena, "carried state of input {} does not fit the new bounds", i);
    }
    if (bytes > 0) memcpy(after->inputs.own[i].data, from.data, static_cast<size_t>(bytes));
    after->inputs.own[i].shape = from.shape;
    after->main.inputs[i]->shape = from.shape;
  }
  release_session(before);
  *session = after;
  return Status::kOk;
}

}  // namespace vireo
