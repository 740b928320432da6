#include "runtime/memory/packs.h"

#include <new>

namespace vireo {
namespace {
constexpr size_t kAlignment = 64;
}

struct Packs::Entry {
  Entry* next = nullptr;
  const char* delegate = "";
  vireo_packed what = {};

  bool is(const char* whose, const vireo_packed& wanted) const { return delegate == whose && same_pack(what, wanted); }

  static constexpr size_t kBytes = 128;  // in front of the data
  void* data() { return reinterpret_cast<uint8_t*>(this) + kBytes; }
  static Entry* of(void* data) { return reinterpret_cast<Entry*>(static_cast<uint8_t*>(data) - kBytes); }
};

bool same_pack(const vireo_packed& a, const vireo_packed& b) {
  for (int i = 0; i < 4; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
  }
  return a.constant == b.constant && a.layout == b.layout && a.bytes == b.bytes;
}

const void* Packs::find(const char* delegate, const vireo_packed& what) const {
  for (Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); e != nullptr; e = e->next) {
    if (e->is(delegate, what)) return e->data();
  }
  return nullptr;
}

bool Packs::at(uint32_t index, PackedCopy* out) const {
  Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE);
  for (; e != nullptr && index > 0; --index) e = e->next;
  if (e != nullptr) *out = {e->delegate, e->what, e->data()};
  return e != nullptr;
}

size_t Packs::bytes_of(const vireo_packed& what) {
  static_assert(sizeof(Entry) <= Entry::kBytes && Entry::kBytes % kAlignment == 0, "data are aligned");
  return Entry::kBytes + (what.bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void* Packs::take(const vireo_allocator& allocator, const char* delegate, const vireo_packed& what) {
  void* const block = allocator.allocate(allocator.context, bytes_of(what), kAlignment);
  if (block == nullptr) return nullptr;
  auto* const entry = new (block) Entry();
  entry->delegate = delegate;
  entry->what = what;
  return entry->data();
}

const void* Packs::add(const vireo_allocator& allocator, void* written) {
  Entry* const mine = Entry::of(written);
  Entry* first = __atomic_load_n(&first_, __ATOMIC_ACQUIRE);
  do {
    // Somebody else may have been quicker: looked for again whenever the list has grown.
    for (Entry* e = first; e != nullptr; e = e->next) {
      if (!e->is(mine->delegate, mine->what)) continue;
      drop(allocator, written);
      return e->data();
    }
    mine->next = first;
  } while (!__atomic_compare_exchange_n(&first_, &first, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return written;
}

void Packs::drop(const vireo_allocator& allocator, void* written) {
  Entry* const entry = Entry::of(written);
  allocator.release(allocator.context, entry, bytes_of(entry->what), kAlignment);
}

void Packs::release(const vireo_allocator& allocator) {
  while (first_ != nullptr) {
    Entry* const next = first_->next;
    drop(allocator, first_->data());
    first_ = next;
  }
}

}  // namespace vireo
