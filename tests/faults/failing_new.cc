// In a file of its own: where a compiler sees both sides, it takes malloc and delete for a mismatch.
#include "tests/faults/failing_new.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace vireo::faults {

std::atomic<int64_t> g_number{0}, g_fails_at{-1};
std::atomic<bool> g_forever{false};

}  // namespace vireo::faults

namespace {

using vireo::faults::g_fails_at;
using vireo::faults::g_forever;
using vireo::faults::g_number;

void* take(size_t bytes, size_t alignment) {
  const int64_t at = g_number++, fails = g_fails_at;
  if (fails >= 0 && (at == fails || (g_forever && at > fails))) return nullptr;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return alignment <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes)
                                                : std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}
void* take_or_throw(size_t bytes, size_t alignment) {
  void* const memory = take(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t n) { return take_or_throw(n, 1); }
void* operator new[](size_t n) { return take_or_throw(n, 1); }
void* operator new(size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<size_t>(a)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return take(n, 1); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return take(n, 1); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
