#include <string.h>

#include "runtime/memory/blobs.h"

#include <new>

namespace vireo {
namespace {
constexpr size_t kAlignment = 64;
constexpr size_t kHead = 448;  // in front of the data
}  // namespace

struct Blobs::Entry {
  Entry* next = nullptr;
  size_t total = 0;
  Blob blob;  // its head is last, in front of the data
};

namespace {
// An entry ends where its data begin.
template <class Entry>
void* block_of(Entry* entry) {
  return reinterpret_cast<uint8_t*>(entry) + sizeof(Entry) - kHead;
}
template <class Entry>
Entry* entry_of(Blob* blob) {
  return reinterpret_cast<Entry*>(reinterpret_cast<uint8_t*>(blob + 1) - sizeof(Entry));
}
}  // namespace

void Blob::refuse(const char* why) const {
  if (__atomic_exchange_n(&refusing, 1u, __ATOMIC_ACQ_REL) != 0) return;
  size_t n = strlen(why);
  if (n >= sizeof(head.reason)) n = sizeof(head.reason) - 1;
  memcpy(head.reason, why, n);
  head.reason[n] = 0;
  __atomic_store_n(&head.refused, 1u, __ATOMIC_RELEASE);
}

CompiledHead Blob::head_now() const {
  CompiledHead now = {};
  now.refused = __atomic_load_n(&head.refused, __ATOMIC_ACQUIRE);
  now.checked = __atomic_load_n(&head.checked, __ATOMIC_ACQUIRE);
  now.time_ns = head.time_ns;
  now.energy_nj = head.energy_nj;
  now.moved_bytes = head.moved_bytes;
  if (now.refused != 0) memcpy(now.reason, head.reason, sizeof(now.reason));  // whole since then
  return now;
}

void Blob::refuse_for_now(const char* why) const {
  if (!refused()) __atomic_store_n(&passing, 1u, __ATOMIC_RELEASE);
  refuse(why);
}

bool Blob::forget() const {
  if (origin == BlobOrigin::kMade) return false;
  __atomic_store_n(&forgotten, 1u, __ATOMIC_RELEASE);
  return true;
}

const Blob* Blobs::find(const BlobKey& key) const {
  for (Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); e != nullptr; e = e->next) {
    if (e->blob.key == key && __atomic_load_n(&e->blob.forgotten, __ATOMIC_ACQUIRE) == 0) return &e->blob;
  }
  return nullptr;
}

bool Blobs::forgot(const BlobKey& key) const {
  for (Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); e != nullptr; e = e->next) {
    if (e->blob.key == key && __atomic_load_n(&e->blob.forgotten, __ATOMIC_ACQUIRE) != 0) return true;
  }
  return false;
}

const Blob* Blobs::at(uint32_t index) const {
  for (Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); e != nullptr; e = e->next) {
    if (__atomic_load_n(&e->blob.forgotten, __ATOMIC_ACQUIRE) == 0 && index-- == 0) return &e->blob;
  }
  return nullptr;
}

Blob* Blobs::take(const vireo_allocator& allocator, size_t bytes) {
  static_assert(sizeof(Entry) <= kHead && kHead % kAlignment == 0 && sizeof(Entry) % 8 == 0, "data are aligned");
  static_assert(sizeof(Blob) % 8 == 0 && sizeof(CompiledHead) % 8 == 0, "nothing lies between head and data");
  if (bytes > SIZE_MAX - kHead) return nullptr;
  void* const block = allocator.allocate(allocator.context, kHead + bytes, kAlignment);
  if (block == nullptr) return nullptr;
  auto* const entry = new (static_cast<uint8_t*>(block) + kHead - sizeof(Entry)) Entry();
  entry->total = kHead + bytes;
  entry->blob.bytes = bytes;
  entry->blob.data = bytes == 0 ? nullptr : data_of(&entry->blob);
  return &entry->blob;
}

void* Blobs::data_of(Blob* blob) { return blob + 1; }

const Blob* Blobs::add(const vireo_allocator& allocator, Blob* filled) {
  Entry* const mine = entry_of<Entry>(filled);
  Entry* first = __atomic_load_n(&first_, __ATOMIC_ACQUIRE);
  do {
    // Somebody else may have been quicker: looked for again whenever the list has grown.
    for (Entry* e = first; e != nullptr; e = e->next) {
      if (!(e->blob.key == filled->key) || __atomic_load_n(&e->blob.forgotten, __ATOMIC_ACQUIRE) != 0) continue;
      drop(allocator, filled);
      return &e->blob;
    }
    mine->next = first;
  } while (!__atomic_compare_exchange_n(&first_, &first, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return filled;
}

void Blobs::drop(const vireo_allocator& allocator, Blob* blob) {
  Entry* const entry = entry_of<Entry>(blob);
  allocator.release(allocator.context, block_of(entry), entry->total, kAlignment);
}

void Blobs::release(const vireo_allocator& allocator) {
  while (first_ != nullptr) {
    Entry* const next = first_->next;
    drop(allocator, &first_->blob);
    first_ = next;
  }
}

size_t Blobs::bytes() const {
  size_t sum = 0;
  for (Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); e != nullptr; e = e->next) sum += e->total;
  return sum;
}

size_t Blobs::mapped_bytes() const {
  size_t sum = 0;
  for (uint32_t i = 0; const Blob* const blob = at(i); ++i) sum += blob->origin == BlobOrigin::kMade ? 0 : blob->bytes;
  return sum;
}

}  // namespace vireo
