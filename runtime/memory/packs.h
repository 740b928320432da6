// Constants in layouts of the delegates' own: written once, shared by all sessions of a model.
//
// They lie in one of three places: in the model's file (its section of packed weights), in a file of the user's cache
// (both mapped, runtime/platform/pack_cache.h), or in memory of the runtime's allocator, where they were packed.
#ifndef VIREO_RUNTIME_MEMORY_PACKS_H_
#define VIREO_RUNTIME_MEMORY_PACKS_H_

#include <stddef.h>
#include <stdint.h>

#include "vireo/delegate.h"

namespace vireo {

bool same_pack(const vireo_packed& a, const vireo_packed& b);

// A copy that this process made.
struct PackedCopy {
  const char* delegate = "";
  vireo_packed what = {};
  const void* data = nullptr;
};

// A list that only grows while the model lives, so that finding needs no lock. Two sessions that are created at once
// may both write the same copy; one of them is then dropped.
class Packs {
 public:
  // The copy that agrees with `what`, or null.
  const void* find(const char* delegate, const vireo_packed& what) const;
  // Copy `index`, the newest first; false past the last one.
  bool at(uint32_t index, PackedCopy* out) const;

  // Room for a copy from `allocator`, or null. `delegate` lives as long.
  static void* take(const vireo_allocator& allocator, const char* delegate, const vireo_packed& what);
  // Hands over what was written there: gives what the list has for it from now on.
  const void* add(const vireo_allocator& allocator, void* written);
  static void drop(const vireo_allocator& allocator, void* written);

  void release(const vireo_allocator& allocator);

  // What one copy takes.
  static size_t bytes_of(const vireo_packed& what);

 private:
  struct Entry;
  Entry* first_ = nullptr;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_MEMORY_PACKS_H_
