#include "runtime/memory/texts.h"

#include <string.h>

namespace vireo {

struct Texts::Entry {
  Entry* next;
  size_t bytes;  // of all

  char* text() { return reinterpret_cast<char*>(this + 1); }
};

const char* Texts::keep(const vireo_allocator& allocator, const char* text) {
  if (text == nullptr || text[0] == 0) return "";
  Entry* first = __atomic_load_n(&first_, __ATOMIC_ACQUIRE);
  for (Entry* e = first; e != nullptr; e = e->next) {
    if (strcmp(e->text(), text) == 0) return e->text();
  }
  const size_t length = strlen(text) + 1;
  const size_t bytes = sizeof(Entry) + length;
  auto* const mine = static_cast<Entry*>(allocator.allocate(allocator.context, bytes, alignof(Entry)));
  if (mine == nullptr) return nullptr;
  mine->bytes = bytes;
  memcpy(mine->text(), text, length);
  do {
    mine->next = first;
  } while (!__atomic_compare_exchange_n(&first_, &first, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return mine->text();
}

void Texts::release(const vireo_allocator& allocator) {
  while (first_ != nullptr) {
    Entry* const next = first_->next;
    allocator.release(allocator.context, first_, first_->bytes, alignof(Entry));
    first_ = next;
  }
}

size_t Texts::bytes() const {
  size_t sum = 0;
  for (const Entry* e = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); e != nullptr; e = e->next) sum += e->bytes;
  return sum;
}

}  // namespace vireo
