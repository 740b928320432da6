// What sessions and models share: allocator, log, threads, devices.
#ifndef VIREO_RUNTIME_DEVICES_RUNTIME_H_
#define VIREO_RUNTIME_DEVICES_RUNTIME_H_

#include <stdint.h>

#include "runtime/load/program.h"
#include "runtime/memory/blobs.h"
#include "runtime/memory/device_packs.h"
#include "runtime/memory/packs.h"
#include "runtime/memory/texts.h"
#include "runtime/platform/pack_cache.h"
#include "runtime/platform/platform.h"
#include "sdk/base/config.h"
#include "sdk/base/error.h"
#include "sdk/base/span.h"
#include "sdk/format/pack_set.h"
#include "vireo/delegate.h"
#include "vireo/trust.h"
#include "vireo/vireo.h"

namespace vireo {

struct Plugin;
class Guard;

struct Device {
  const vireo_delegate* delegate = nullptr;
  void* handle = nullptr;
  vireo_device_info info = VIREO_DEVICE_INFO_INIT;
  mutable uint32_t resets = 0;  // how often it came back after it was lost
};
inline DeviceLife life_of(const Device& device) {
  return {device.delegate, device.handle, __atomic_load_n(&device.resets, __ATOMIC_ACQUIRE)};
}

// A build without lists of devices has one delegate, the CPU's (delegates/CMakeLists.txt), which is of this tree: its
// texts are constants, it looks at no list of a part's values, its claims and loads have nothing to explain, and
// without tuned kernels it hands on no state. The runtime does without what others need.
constexpr bool kOnlyCpu = !VIREO_DEVICE_LISTS;
constexpr bool kKeepsStates = !kOnlyCpu || VIREO_TUNED || VIREO_MCU;

constexpr uint32_t kMaxDevices = kOnlyCpu ? 1 : 32;
constexpr size_t kPlanReasonBytes = 96;  // vireo_model.plan_reasons

// The delegates linked into this build, best first; the array is written by delegates/CMakeLists.txt.
Span<const vireo_delegate* const> builtin_delegates();

}  // namespace vireo

// Handles may be released in any order: what a session or model needs lives until they are gone too.
namespace vireo {
inline void hold(uint32_t& holders) { __atomic_fetch_add(&holders, 1u, __ATOMIC_RELAXED); }
// True for the last one, who sees all that the others did.
inline bool let_go(uint32_t& holders) { return __atomic_sub_fetch(&holders, 1u, __ATOMIC_ACQ_REL) == 0; }
}  // namespace vireo

struct vireo_runtime {
  uint32_t holders = 1;  // its creator and each model
  vireo_allocator allocator = {};
  vireo_host host = {};  // what delegates call: make_host()
  vireo_thread_pool pool = {};
  bool owns_pool = false;
  void (*log)(void* context, vireo_log_level level, const char* text) = nullptr;
  void* log_context = nullptr;
  vireo::Plugin* plugins = nullptr;  // plugins.h
  vireo::Plugin* opening = nullptr;  // the one whose first error is wanted as its reason
  vireo_trust trust = VIREO_TRUST_INIT;
  uint32_t takes_signed = 0;  // in a build that cannot check signatures: the caller said that none is wanted
  uint32_t device_count = 0;
  vireo::Device devices[vireo::kMaxDevices];

  void* allocate(size_t bytes, size_t alignment = 64) const {
    return allocator.allocate(allocator.context, bytes, alignment);
  }
  void release(void* memory, size_t bytes, size_t alignment = 64) const {
    if (memory != nullptr) allocator.release(allocator.context, memory, bytes, alignment);
  }
};

struct vireo_model {
  mutable uint32_t holders = 1;  // its creator and each session
  vireo_runtime* runtime = nullptr;
  vireo::platform::MappedFile mapped;  // empty when the caller's memory is used
  vireo::Span<const uint8_t> file;
  uint8_t* buffer = nullptr;  // copy of the FlatBuffer part of a mapped file
  size_t buffer_bytes = 0;
  vireo::Program program;
  mutable vireo::Packs packs;
  mutable vireo::DevicePacks device_packs;
  mutable vireo::Blobs blobs;
  mutable vireo::Texts texts;  // reasons
  vireo::PackSet section;  // packed weights and compiled parts in the file itself; empty where it has none that this
                           // build reads
  mutable vireo::PackCache cache;  // those in the user's folder
  vireo::Guard* guard = nullptr;   // guard.h; null where any byte may be read
  vireo_signature signature = VIREO_SIGNATURE_INIT;
  mutable uint32_t checked = 0;  // all bytes were compared with the hash tree
  char* plan_reasons = nullptr;  // what is told of nodes that a plan places: a text of kPlanReasonBytes each, by plan
  size_t plan_reasons_bytes = 0;
  mutable uint32_t told_foreign = 0;  // bits by the runtime's devices: the log has that the file's parts are another's
};

namespace vireo {

Status create_runtime(const vireo_runtime_options* options, vireo_runtime** out, Error* error);
void release_runtime(vireo_runtime* runtime);
Status load_model(vireo_runtime* runtime, const platform::MappedFile& mapped, Span<const uint8_t> file,
                  vireo_model** out, Error* error);
void release_model(vireo_model* model);

// kInvalidModel where a chunk that was read is not what was signed or encrypted.
Status check_guard(const vireo_model* model, Error* error);
// A delegate's text for as long as the model lives; "" for null. Null where there is no memory.
inline const char* keep_text(const vireo_model& model, const char* text) {
  if constexpr (kOnlyCpu) {
    return text == nullptr ? "" : text;
  } else {
    return model.texts.keep(model.runtime->allocator, text);
  }
}
// The packed copy of a constant in the model's file or in the cache, or null.
const void* find_mapped_pack(const vireo_model* model, const char* delegate, const vireo_packed& what);
// How a set names it; false for what no set can name: its bytes are not in the model's file.
bool name_pack(const vireo_model* model, const char* delegate, const vireo_packed& what, PackEntry* out);

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_RUNTIME_H_
