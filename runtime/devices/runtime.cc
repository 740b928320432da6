#include "runtime/devices/runtime.h"

#include <string.h>

#include "runtime/devices/graph_view.h"
#include "runtime/devices/plugins.h"
#include "runtime/load/guard.h"
#include "sdk/base/config.h"

namespace vireo {
namespace {

Status find_devices(vireo_runtime* rt, Error* error) {
  for (const vireo_delegate* d : builtin_delegates()) {
    if (d->abi != VIREO_DELEGATE_ABI || d->struct_size != sizeof(*d)) {
      return fail(error, Status::kUnsupported,
                  "delegate \"{}\" is linked in, and was built with another vireo/delegate.h (ABI {}, {} bytes) than "
                  "this runtime (ABI {}, {} bytes): build it again",
                  d->name, d->abi, d->struct_size, VIREO_DELEGATE_ABI, sizeof(*d));
    }
    for (uint32_t i = 0; rt->device_count < kMaxDevices; ++i) {
      Device& device = rt->devices[rt->device_count];
      device = Device{};
      if (d->enumerate(d->self, &rt->host, i, &device.info, &device.handle) != VIREO_OK) break;
      device.delegate = d;
      device.info.delegate = d->name;
      ++rt->device_count;
    }
  }
  return Status::kOk;
}

[[maybe_unused]] bool is_plugin(const vireo_runtime* rt, const vireo_delegate* d) {
  for (const Plugin* p = rt->plugins; p != nullptr; p = p->next) {
    if (p->delegate == d) return true;
  }
  return false;
}

}  // namespace

Status create_runtime(const vireo_runtime_options* options, vireo_runtime** out, Error* error) {
  const vireo_allocator allocator =
      options != nullptr && options->allocator != nullptr ? *options->allocator : platform::heap();
  if (allocator.allocate == nullptr || allocator.release == nullptr) {
    return fail(error, Status::kInvalidArgument, "this target has no heap: give vireo_runtime_options.allocator");
  }
  void* memory = allocator.allocate(allocator.context, sizeof(vireo_runtime), 64);
  if (memory == nullptr)
    return fail(error, Status::kOutOfArena, "the allocator has no {} bytes for the runtime", sizeof(vireo_runtime));
  auto* rt = new (memory) vireo_runtime();
  rt->allocator = allocator;
  rt->host = make_host(rt);
  if (options != nullptr) {
    rt->log = options->log;
    rt->log_context = options->log_context;
  }
  Status status = Status::kOk;
  if (options != nullptr && options->thread_pool != nullptr) {
    rt->pool = *options->thread_pool;
    if (rt->pool.slots < 1 || (rt->pool.slots > 1 && rt->pool.run == nullptr)) {
      status = fail(error, Status::kInvalidArgument, "vireo_thread_pool needs run and at least one slot");
    }
  } else {
    status = platform::open_pool(options == nullptr ? 0 : options->threads, &rt->pool, error);
    rt->owns_pool = ok(status);
  }
  if (ok(status)) status = find_devices(rt, error);
#if VIREO_PLUGINS
  if (ok(status)) {
    const char* const given = options == nullptr ? nullptr : options->plugins;
    const char* const list = given == nullptr ? platform::environment("VIREO_PLUGINS") : given;
    ProbeOptions probe;
    const char* const program = platform::environment("VIREO_PROBE");
    bool probes = program == nullptr || strcmp(program, "off") != 0;
    if (options != nullptr) {
      probes = probes && options->probe != VIREO_PROBE_NEVER;
      probe.cache = options->plugin_cache;
      probe.timeout_ms = options->probe_timeout_ms;
    }
    if (list != nullptr) status = open_plugins(rt, list, probes ? &probe : nullptr, error);
  }
#endif
  if (!ok(status)) {
    release_runtime(rt);
    return status;
  }
  *out = rt;
  return Status::kOk;
}

void release_runtime(vireo_runtime* rt) {
  if (rt == nullptr || !let_go(rt->holders)) return;
  const vireo_delegate* last = nullptr;
  for (uint32_t i = 0; i < rt->device_count; ++i) {
    const vireo_delegate* d = rt->devices[i].delegate;
    if (d != last && !(VIREO_PLUGINS && is_plugin(rt, d))) d->release(d->self);
    last = d;
  }
#if VIREO_PLUGINS
  close_plugins(rt);
#endif
  if (rt->owns_pool) platform::close_pool(rt->pool);
  const vireo_allocator allocator = rt->allocator;
  rt->~vireo_runtime();
  allocator.release(allocator.context, rt, sizeof(vireo_runtime), 64);
}

static void open_section(vireo_model* model) {
  const Span<const uint8_t> packed = model->program.packed();
  if (VIREO_TRUST && packed.size() >= sizeof(PackHeader)) {  // its index; contents when one is found
    PackHeader header;
    model->program.touch(packed.data(), sizeof(header));
    memcpy(&header, packed.data(), sizeof(header));
    const uint64_t index = sizeof(header) + uint64_t{header.count} * sizeof(PackEntry);
    model->program.touch(packed.data(), index < packed.size() ? index : packed.size());
  }
  const vireo_runtime* rt = model->runtime;
  if (model->section.open(packed) || packed.size() == 0 || rt->log == nullptr) return;
  rt->log(rt->log_context, VIREO_LOG_INFO,
          "the model's section of packed weights and compiled parts is damaged, or of another version: not used");
}

Status check_guard([[maybe_unused]] const vireo_model* model, [[maybe_unused]] Error* error) {
#if VIREO_TRUST
  if (model->guard != nullptr) return model->guard->check(error);
#endif
  return Status::kOk;
}

namespace {

// For sessions and their nodes' reasons, which may outlive a layout.
Status write_plan_reasons(vireo_model* model, Error* error) {
  const auto& plans = *model->program.model().plans();
  const size_t bytes = plans.size() * kPlanReasonBytes;
  static_assert(kMaxTargetBytes + sizeof("as the plan for  says") <= kPlanReasonBytes, "a text has room");
  model->plan_reasons = static_cast<char*>(model->runtime->allocate(bytes));
  if (model->plan_reasons == nullptr)
    return fail(error, Status::kOutOfArena, "the allocator has no {} bytes for the file's plans", bytes);
  model->plan_reasons_bytes = bytes;
  memset(model->plan_reasons, 0, bytes);
  for (uint32_t i = 1; i < plans.size(); ++i) {
    char* at = model->plan_reasons + i * kPlanReasonBytes;
    for (const char* piece : {"as the plan for ", text_of(plans.Get(i)->target()), " says"}) {
      const size_t n = strlen(piece);
      memcpy(at, piece, n);  // NOLINT: zeros follow
      at += n;
    }
  }
  return Status::kOk;
}

}  // namespace

Status load_model(vireo_runtime* rt, const platform::MappedFile& mapped, Span<const uint8_t> file, vireo_model** out,
                  Error* error) {
  FileHeader header;
  VIREO_TRY(read_header(file, file.size(), &header, error));
  if (reinterpret_cast<uintptr_t>(file.data()) % kSegmentAlignment != 0) {
    return fail(error, Status::kInvalidArgument, "the model's bytes must be aligned to {}", kSegmentAlignment);
  }
  void* memory = rt->allocate(sizeof(vireo_model));
  if (memory == nullptr)
    return fail(error, Status::kOutOfArena, "the allocator has no {} bytes for the model", sizeof(vireo_model));
  auto* model = new (memory) vireo_model();
  model->runtime = rt;
  hold(rt->holders);
  model->file = file;
  Status status = Status::kOk;
#if VIREO_TRUST
  status = Guard::open(rt->allocator, rt->trust, file, header, &model->signature, &model->guard, error);
  if (ok(status) && model->guard != nullptr) {
    model->guard->touch(header.model_offset, header.model_size);
    status = model->guard->check(error);
    file = model->guard->image();
    model->program.set_guard(model->guard);
  }
#else
  if (header.cipher_offset != 0)
    status = fail(error, Status::kUnsupported, "the file is encrypted, which this build (VIREO_TRUST) cannot undo");
  else if (header.signature_offset != 0 && rt->takes_signed == 0)
    status = fail(error, Status::kUnsupported,
                  "the file is signed, which this build (VIREO_TRUST) cannot check: "
                  "vireo_runtime_set_trust(runtime, NULL) takes it unchecked (vireo: --trust none)");
#endif
  Span<const uint8_t> buffer(file.data() + header.model_offset, static_cast<size_t>(header.model_size));
  if (ok(status) && mapped.data != nullptr) {
    // Another process may write to a mapped file between the check and the use, so the part that steers is copied
    // first.
    model->buffer = static_cast<uint8_t*>(rt->allocate(buffer.size()));
    if (model->buffer == nullptr) {
      status = fail(error, Status::kOutOfArena, "the allocator has no {} bytes for the graph", buffer.size());
    } else {
      model->buffer_bytes = buffer.size();
      memcpy(model->buffer, buffer.data(), buffer.size());
      buffer = Span<const uint8_t>(model->buffer, model->buffer_bytes);
    }
  }
  if (ok(status)) {
    const size_t work_bytes = Program::workspace_bytes(buffer.size());
    auto* work = static_cast<uint8_t*>(rt->allocate(work_bytes));
    status = work == nullptr
                 ? fail(error, Status::kOutOfArena, "the allocator has no {} bytes to verify the model", work_bytes)
                 : model->program.open(file, header, buffer, Span<uint8_t>(work, work_bytes), error);
    rt->release(work, work_bytes);
  }
  if (ok(status)) status = check_guard(model, error);
  if (!ok(status)) {
    release_model(model);
    return status;
  }
  if (VIREO_PACKS || VIREO_JOINED) open_section(model);
  if constexpr (VIREO_JOINED) {
    if (model->program.model().plans()->size() > 1) status = write_plan_reasons(model, error);
    if (!ok(status)) {
      release_model(model);
      return status;
    }
  }
  model->mapped = mapped;  // from here on the model unmaps it
  *out = model;
  return Status::kOk;
}

bool name_pack(const vireo_model* model, const char* delegate, const vireo_packed& what, PackEntry* out) {
  const auto base = reinterpret_cast<uintptr_t>(model->program.file().data()),
             at = reinterpret_cast<uintptr_t>(what.constant);
  *out = PackEntry{};
  if (at < base || at - base >= model->file.size() || !pack_delegate(delegate, out->delegate)) return false;
  out->layout = what.layout;
  out->constant = at - base;
  for (int i = 0; i < 4; ++i) out->sizes[i] = what.sizes[i];
  out->bytes = what.bytes;
  return true;
}

const void* find_mapped_pack(const vireo_model* model, const char* delegate, const vireo_packed& what) {
  PackEntry name;
  if (!name_pack(model, delegate, what, &name)) return nullptr;
  const void* found = model->section.find(name);
  if (VIREO_TRUST && found != nullptr) model->program.touch(found, what.bytes);
  if (VIREO_CACHE && found == nullptr) found = model->cache.find(name);
  return found;
}

void release_model(vireo_model* model) {
  if (model == nullptr || !let_go(model->holders)) return;
  vireo_runtime* rt = model->runtime;
  if (VIREO_PACKS) model->packs.release(rt->allocator);
  if constexpr (VIREO_JOINED) {
    model->blobs.release(rt->allocator);
    model->device_packs.release(rt->allocator);
  }
  if (VIREO_CACHE) model->cache.release(rt->allocator);
  if constexpr (!kOnlyCpu) model->texts.release(rt->allocator);
  rt->release(model->buffer, model->buffer_bytes);
#if VIREO_TRUST
  if (model->guard != nullptr) model->guard->release(rt->allocator);
#endif
  rt->release(model->plan_reasons, model->plan_reasons_bytes);
  platform::unmap_file(model->mapped);
  model->~vireo_model();
  rt->release(model, sizeof(vireo_model));
  release_runtime(rt);
}

}  // namespace vireo
