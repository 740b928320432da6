#include <string.h>

#include "runtime/memory/blobs.h"

#include <new>

namespace vireo {
namespace {
constexpr size_t kAlignment = 64;
constexpr size_t kHead = 384;  // in front of the data
}  // namespace

struct Blobs::Entry {
  Blob blob;
  Entry* next = nullptr;
  size_t total = 0;
  static Entry* of(Blob* blob) { return reinterpret_cast<Entry*>(blob); }
};

void Blob::refuse(const char* why) const {
  if (__atomic_exchange_n(&refusing, 1u, __ATOMIC_ACQ_REL) != 0) return;
  size_t n = strlen(why);
  if (n >= sizeof(reason)) n = sizeof(reason) - 1;
  memcpy(reason, why, n);
  reason[n] = 0;
  __atomic_store_n(&refused, 1u, __ATOMIC_RELEASE);
}

const Blob* Blobs::find(const BlobKey& key) const {
  for (Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); e != nullptr; e = e->next) {
    if (e->blob.key == key) return &e->blob;
  }
  return nullptr;
}

Blob* Blobs::take(const vireo_allocator& allocator, size_t bytes) {
  static_assert(sizeof(Entry) <= kHead && kHead % kAlignment == 0, "data are aligned");
  if (bytes > SIZE_MAX - kHead) return nullptr;
  void* const block = allocator.allocate(allocator.context, kHead + bytes, kAlignment);
  if (block == nullptr) return nullptr;
  auto* const entry = new (block) Entry();
  entry->total = kHead + bytes;
  entry->blob.bytes = bytes;
  entry->blob.data = bytes == 0 ? nullptr : data_of(&entry->blob);
  return &entry->blob;
}

void* Blobs::data_of(Blob* blob) { return reinterpret_cast<uint8_t*>(blob) + kHead; }

const Blob* Blobs::add(const vireo_allocator& allocator, Blob* filled) {
  Entry* const mine = Entry::of(filled);
  Entry* first = __atomic_load_n(&first_, __ATOMIC_ACQUIRE);
  do {
    // Somebody else may have been quicker: looked for again whenever the list has grown.
    for (Entry* e = first; e != nullptr; e = e->next) {
      if (!(e->blob.key == filled->key)) continue;
      drop(allocator, filled);
      return &e->blob;
    }
    mine->next = first;
  } while (!__atomic_compare_exchange_n(&first_, &first, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return filled;
}

void Blobs::drop(const vireo_allocator& allocator, Blob* blob) {
  Entry* const entry = Entry::of(blob);
  allocator.release(allocator.context, entry, entry->total, kAlignment);
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

}  // namespace vireo
