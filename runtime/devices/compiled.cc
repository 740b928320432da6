#include "runtime/devices/compiled.h"

#include "sdk/base/config.h"
#include "sdk/base/fnv.h"

#include <string.h>

namespace vireo {
namespace {

class Mixer {
 public:
  void add(uint64_t value) { hash_ = hash_number(hash_, value); }
  // With its end, so that two texts do not run into each other.
  void add(const char* text) {
    if (text == nullptr) text = "";
    hash_ = hash_bytes(hash_, text, strlen(text) + 1);
  }
  uint64_t sum() const { return hash_; }

 private:
  uint64_t hash_ = kEmptyHash;
};

void tell(const vireo_model* model, vireo_log_level level, const char* device, const char* where, const char* what) {
  const vireo_runtime* rt = model->runtime;
  if (rt->log == nullptr) return;
  Error e;
  (void)fail(&e, Status::kUnsupported, "device \"{}\": what was compiled for it {} {}: it compiles anew", device, where,
             what);
  rt->log(rt->log_context, level, e.message);
}

// What one place has of a part.
struct Found {
  const void* contents = nullptr;
  PackEntry entry = {};
  CompiledHead head = {};
  bool good() const { return contents != nullptr; }
};

// `set`: a PackSet or a PackCache; of the file, bytes are made known (or plain) when they are first read.
template <class Set>
Found look(const vireo_model* model, const Set& set, const PackEntry& wanted, bool* damaged) {
  Found f;
  f.contents = set.find(wanted, &f.entry);
  if (f.contents == nullptr) return f;
  if (VIREO_TRUST && static_cast<const void*>(&set) == &model->section) {
    model->program.touch(f.contents, f.entry.bytes);
    if (!ok(check_guard(model, nullptr))) return Found();  // the session fails with it
  }
  if (contents_whole(f.entry, f.contents) && read_compiled_head(f.contents, f.entry.bytes, &f.head)) return f;
  *damaged = true;
  return Found();
}

// Whether the set has the part for another device of this delegate.
bool has_other(const PackSet& set, const PackEntry& wanted) {
  PackEntry any = wanted, e;
  any.sizes[2] = any.sizes[3] = INT64_MIN;
  const uint32_t at = set.lower_bound(any);
  if (at >= set.count() || !set.entry(at, &e)) return false;
  any = e;
  any.sizes[2] = wanted.sizes[2];
  any.sizes[3] = wanted.sizes[3];
  return compare_packs(any, wanted) == 0;
}

const Device* device_of(const vireo_model* model, const void* handle) {
  const vireo_runtime* rt = model->runtime;
  for (uint32_t d = 0; d < rt->device_count; ++d) {
    if (rt->devices[d].handle == handle) return &rt->devices[d];
  }
  return nullptr;
}

}  // namespace

uint64_t device_fingerprint(const Device& device) {
  const vireo_device_info& info = device.info;
  Mixer m;
  for (const char* text : {info.delegate, info.vendor, info.family, info.driver, info.detail}) m.add(text);
  m.add(info.types);
  m.add(info.memory_bytes);
  m.add(info.local_bytes);
  m.add(info.flags & ~uint32_t{VIREO_DEVICE_MEASURED});  // who measured has the same chip
  return m.sum();
}

bool name_compiled(const vireo_model* model, const BlobKey& key, PackEntry* out) {
  const Device* const device = device_of(model, key.device);
  *out = PackEntry{};
  if (device == nullptr || device->delegate->compile == nullptr ||
      !pack_delegate(device->delegate->name, out->delegate)) {
    return false;
  }
  out->kind = kCompiledPart;
  out->constant = uint64_t{key.subgraph} << 32 | key.first;
  out->sizes[0] = key.count;
  out->sizes[1] = static_cast<int64_t>(key.shapes);
  out->sizes[2] = static_cast<int64_t>(device_fingerprint(*device));
  return true;
}

const Blob* adopt_compiled(const vireo_model* model, const Device& device, const BlobKey& key) {
  PackEntry wanted;
  if (!name_compiled(model, key, &wanted) || model->blobs.forgot(key)) return nullptr;
  bool damaged = false;
  const Found in_file = look(model, model->section, wanted, &damaged);
  if (damaged) tell(model, VIREO_LOG_WARNING, device.info.name, "in the model's file", "is damaged");
#if VIREO_CACHE
  bool cache_damaged = false;
  const Found in_cache = look(model, model->cache, wanted, &cache_damaged);
  if (cache_damaged) tell(model, VIREO_LOG_INFO, device.info.name, "in the cache", "is damaged");
  const bool from_cache =
      in_cache.good() && (in_cache.head.checked != 0 || in_cache.head.refused != 0 || !in_file.good());
  const Found& found = from_cache ? in_cache : in_file;
#else
  const bool from_cache = false;
  const Found& found = in_file;
#endif
  if (!found.good()) {
    const uint32_t bit = 1u << static_cast<uint32_t>(&device - model->runtime->devices);
    if (!damaged && has_other(model->section, wanted) &&
        (__atomic_fetch_or(&model->told_foreign, bit, __ATOMIC_RELAXED) & bit) == 0)
      tell(model, VIREO_LOG_WARNING, device.info.name, "in the model's file",
           "is of another version of its driver, or of another chip");
    return nullptr;
  }
  Blob* const blob = Blobs::take(model->runtime->allocator, 0);
  if (blob == nullptr) return nullptr;  // to compile takes more, and says so
  blob->key = key;
  blob->origin = from_cache ? BlobOrigin::kCache : BlobOrigin::kFile;
  blob->head = found.head;
  if (!from_cache) blob->head.checked = 0;  // on whose device, nobody knows
  blob->bytes = static_cast<size_t>(found.entry.bytes) - sizeof(CompiledHead);
  if (blob->bytes > 0) blob->data = static_cast<const uint8_t*>(found.contents) + sizeof(CompiledHead);
  return model->blobs.add(model->runtime->allocator, blob);
}

bool compiled_at(const vireo_model* model, uint32_t index, CompiledCopy* out) {
  for (uint32_t i = 0; const Blob* const blob = model->blobs.at(i); ++i) {
    if (__atomic_load_n(&blob->passing, __ATOMIC_ACQUIRE) != 0 || !name_compiled(model, blob->key, &out->name))
      continue;
    if (index-- != 0) continue;
    out->blob = blob;
    out->delegate = device_of(model, blob->key.device)->delegate->name;
    out->name.bytes = sizeof(CompiledHead) + (blob->refused() ? 0 : blob->bytes);
    return true;
  }
  return false;
}

}  // namespace vireo
