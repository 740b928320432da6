// What delegates compiled parts to: once a model, for all sessions that place the same nodes at the same bounds.
#ifndef VIREO_RUNTIME_MEMORY_BLOBS_H_
#define VIREO_RUNTIME_MEMORY_BLOBS_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/format/pack_set.h"
#include "vireo/delegate.h"

namespace vireo {

// Which part it is. Nodes of a part follow each other.
struct BlobKey {
  const void* device = nullptr;  // vireo_delegate.enumerate's
  uint32_t subgraph = 0;
  uint32_t first = 0;
  uint32_t count = 0;
  uint64_t shapes = 0;  // of the part's values at the session's bounds, and of its math: a hash

  bool operator==(const BlobKey& o) const {
    return device == o.device && subgraph == o.subgraph && first == o.first && count == o.count && shapes == o.shapes;
  }
};

// Where a part's bytes come from.
enum class BlobOrigin : uint8_t {
  kMade,   // compiled by this process
  kFile,   // in the model's file
  kCache,  // in the user's folder
};

// Refusals are kept as well: a part that does not compile is not tried again.
struct Blob {
  BlobKey key;
  size_t bytes = 0;
  const void* data = nullptr;  // aligned to 64; null where the delegate compiles nothing
  BlobOrigin origin = BlobOrigin::kMade;
  mutable uint32_t refusing = 0;  // somebody writes the reason
  mutable uint32_t passing = 0;   // 1: refused for want of memory, which another process may have
  mutable uint32_t forgotten = 0;
  // refused: written before the blob is added to the list, or by a session that finds that the part computes wrongly or
  // that the device has no memory for it: refuse(). checked: compared with another device. Last: where the bytes are
  // the model's own, they follow, so that both are the contents that a file has (sdk/format/pack_set.h).
  mutable CompiledHead head = {};

  // A copy of the head, which other sessions may change meanwhile.
  CompiledHead head_now() const;
  bool refused() const { return __atomic_load_n(&head.refused, __ATOMIC_ACQUIRE) != 0; }
  // For as long as the model lives; the first reason stays. Any thread.
  void refuse(const char* why) const;
  void refuse_for_now(const char* why) const;
  // Bytes from a file that the device does not take, or that compute something else: the part is compiled anew. Who
  // uses them now may go on. False where they were compiled here: then they are what there is.
  bool forget() const;
};

// A list that only grows while the model lives, as Packs.
class Blobs {
 public:
  const Blob* find(const BlobKey& key) const;
  // Whether bytes of a file were found to be no good.
  bool forgot(const BlobKey& key) const;
  // Entry `index` that is not forgotten, the newest first; null past the last one.
  const Blob* at(uint32_t index) const;

  // Room for an entry with `bytes` of data, zeroed but for those; null when the allocator has none.
  static Blob* take(const vireo_allocator& allocator, size_t bytes);
  static void* data_of(Blob* blob);
  // Hands over what was filled in: gives what the list has for its key from now on.
  const Blob* add(const vireo_allocator& allocator, Blob* filled);
  static void drop(const vireo_allocator& allocator, Blob* blob);

  void release(const vireo_allocator& allocator);
  // Of all entries: what the model holds for them, and what lies in files.
  size_t bytes() const;
  size_t mapped_bytes() const;

 private:
  struct Entry;
  Entry* first_ = nullptr;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_MEMORY_BLOBS_H_
