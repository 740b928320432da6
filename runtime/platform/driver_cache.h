// What drivers compiled, kept for other processes in the folder of the session's cache (vireo_cache): a file for each
// device, driver and key, named by a hash of all three. It holds them as text, so that a file of another name is none,
// and a hash of what follows: what is damaged, cut short or another user's is left alone.
#ifndef VIREO_RUNTIME_PLATFORM_DRIVER_CACHE_H_
#define VIREO_RUNTIME_PLATFORM_DRIVER_CACHE_H_

#include "runtime/devices/runtime.h"
#include "runtime/platform/platform.h"
#include "vireo/delegate.h"

namespace vireo {

// For one call of load().
class DriverCache {
 public:
  // `folder` NULL: nothing is kept. `most_bytes` as vireo_session_options.cache_bytes.
  DriverCache(const vireo_runtime& runtime, const Device& device, const char* folder, uint64_t most_bytes);
  ~DriverCache();
  DriverCache(const DriverCache&) = delete;
  DriverCache& operator=(const DriverCache&) = delete;

  const vireo_cache* table() const { return folder_ == nullptr ? nullptr : &table_; }

 private:
  static constexpr uint32_t kMostMapped = 4;
  static const void* get(void* context, const char* key, size_t* bytes);
  static void put(void* context, const char* key, const void* data, size_t bytes);

  const vireo_runtime& runtime_;
  const Device& device_;
  const char* const folder_;
  const uint64_t most_bytes_;
  vireo_cache table_ = VIREO_CACHE_INIT;
  platform::MappedFile mapped_[kMostMapped];
  uint32_t mapped_count_ = 0;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_PLATFORM_DRIVER_CACHE_H_
