#include "runtime/memory/texts.h"

#include <string.h>

#include "sdk/base/fnv.h"

namespace vireo {

struct Texts::Entry {
  static constexpr uint64_t kWays = 4;

  Entry* ways[kWays];
  size_t bytes;  // of all

  char* text() { return reinterpret_cast<char*>(this + 1); }

  static Entry* make(const vireo_allocator& allocator, const char* text, size_t length) {
    const size_t bytes = sizeof(Entry) + length;
    auto* const made = static_cast<Entry*>(allocator.allocate(allocator.context, bytes, alignof(Entry)));
    if (made == nullptr) return nullptr;
    *made = Entry{};
    made->bytes = bytes;
    memcpy(made->text(), text, length);
    return made;
  }
  static void drop(const vireo_allocator& allocator, Entry* entry) {
    if (entry != nullptr) allocator.release(allocator.context, entry, entry->bytes, alignof(Entry));
  }
  // As deep as a hash has levels: texts of one hash follow each other by way 0.
  static void drop_tree(const vireo_allocator& allocator, Entry* entry) {
    while (entry != nullptr) {
      for (uint64_t way = 1; way < kWays; ++way) drop_tree(allocator, entry->ways[way]);
      Entry* const next = entry->ways[0];
      drop(allocator, entry);
      entry = next;
    }
  }
};

const char* Texts::keep(const vireo_allocator& allocator, const char* text) {
  if (text == nullptr || text[0] == 0) return "";
  const size_t length = strlen(text) + 1;
  uint64_t hash = hash_bytes(kEmptyHash, text, length);
  hash ^= hash >> 32;  // the lowest bits of FNV follow from the texts' lowest bits
  Entry* mine = nullptr;
  for (Entry** at = &root_;; hash /= Entry::kWays) {
    Entry* found = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (found == nullptr) {
      if (mine == nullptr) mine = Entry::make(allocator, text, length);
      if (mine == nullptr) return nullptr;
      if (__atomic_compare_exchange_n(at, &found, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&bytes_, mine->bytes, __ATOMIC_RELAXED);
        return mine->text();
      }
    }
    if (strcmp(found->text(), text) == 0) {
      Entry::drop(allocator, mine);
      return found->text();
    }
    at = &found->ways[hash % Entry::kWays];
  }
}

void Texts::release(const vireo_allocator& allocator) {
  Entry::drop_tree(allocator, root_);
  root_ = nullptr;
}

size_t Texts::bytes() const { return __atomic_load_n(&bytes_, __ATOMIC_RELAXED); }

}  // namespace vireo
