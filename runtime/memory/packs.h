// Constants in layouts of the delegates' own: written once, shared by all sessions of a model.
#ifndef VIREO_RUNTIME_MEMORY_PACKS_H_
#define VIREO_RUNTIME_MEMORY_PACKS_H_

#include <stddef.h>

#include "vireo/delegate.h"

namespace vireo {

bool same_pack(const vireo_packed& a, const vireo_packed& b);

// A list that only grows while the model lives, so that finding needs no lock. Two sessions that are created at once
// may both write the same copy; one of them is then dropped.
class Packs {
 public:
  // The copy that agrees with `what`, or null.
  const void* find(const vireo_packed& what) const;

  // Room for a copy from `allocator`, or null.
  static void* take(const vireo_allocator& allocator, const vireo_packed& what);
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
