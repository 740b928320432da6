// What delegates compiled parts to: once a model, for all sessions that place the same nodes at the same bounds.
#ifndef VIREO_RUNTIME_MEMORY_BLOBS_H_
#define VIREO_RUNTIME_MEMORY_BLOBS_H_

#include <stddef.h>
#include <stdint.h>

#include "vireo/delegate.h"

namespace vireo {

// Which part it is. Nodes of a part follow each other.
struct BlobKey {
  const void* device = nullptr;  // vireo_delegate.enumerate's
  uint32_t subgraph = 0;
  uint32_t first = 0;
  uint32_t count = 0;
  uint64_t shapes = 0;  // of the part's values at the session's bounds: a hash

  bool operator==(const BlobKey& o) const {
    return device == o.device && subgraph == o.subgraph && first == o.first && count == o.count && shapes == o.shapes;
  }
};

// Refusals are kept as well: a part that does not compile is not tried again.
struct Blob {
  BlobKey key;
  // 1: the device does not get the part. Written before the blob is added to the list, or by a session that finds that
  // the part computes wrongly or that the device has no memory for it: refuse().
  mutable uint32_t refused = 0;
  mutable uint32_t refusing = 0;  // somebody writes the reason
  mutable uint32_t checked = 0;   // 1: compared with another device
  mutable char reason[200] = {};  // where refused
  vireo_compiled compiled = VIREO_COMPILED_INIT;
  size_t bytes = 0;
  const void* data = nullptr;  // aligned to 64; null where the delegate compiles nothing

  // For as long as the model lives; the first reason stays. Any thread.
  void refuse(const char* why) const;
};

// A list that only grows while the model lives, as Packs.
class Blobs {
 public:
  const Blob* find(const BlobKey& key) const;

  // Room for an entry with `bytes` of data, zeroed but for those; null when the allocator has none.
  static Blob* take(const vireo_allocator& allocator, size_t bytes);
  static void* data_of(Blob* blob);
  // Hands over what was filled in: gives what the list has for its key from now on.
  const Blob* add(const vireo_allocator& allocator, Blob* filled);
  static void drop(const vireo_allocator& allocator, Blob* blob);

  void release(const vireo_allocator& allocator);
  // Of all entries: what the model holds for them.
  size_t bytes() const;

 private:
  struct Entry;
  Entry* first_ = nullptr;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_MEMORY_BLOBS_H_
