// An application's allocator for tests: counts what is out, and has nothing left at one allocation, or from one on.
#ifndef VIREO_TESTS_FAULTS_HEAP_H_
#define VIREO_TESTS_FAULTS_HEAP_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "vireo/vireo.h"

namespace vireo::faults {

struct Heap {
  std::atomic<int64_t> live{0};    // bytes that are out
  std::atomic<int64_t> number{0};  // allocations since fail()
  int64_t fails_at = -1;           // -1: none
  bool for_good = false;           // and all after it
  std::atomic<bool> failed{false};
  size_t most = SIZE_MAX;  // of one allocation

  vireo_allocator allocator() { return {allocate, release, this}; }
  void fail(int64_t at, bool forever) {
    number = 0;
    fails_at = at;
    for_good = forever;
    failed = false;
  }

 private:
  static void* allocate(void* self, size_t bytes, size_t alignment) {
    auto& heap = *static_cast<Heap*>(self);
    const int64_t at = heap.number++;
    const bool chosen = heap.fails_at >= 0 && (at == heap.fails_at || (heap.for_good && at > heap.fails_at));
    if (chosen || bytes > heap.most) {
      heap.failed = true;
      return nullptr;
    }
    void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory != nullptr) heap.live += static_cast<int64_t>(bytes);
    return memory;
  }
  static void release(void* self, void* memory, size_t bytes, size_t) {
    if (memory == nullptr) return;
    static_cast<Heap*>(self)->live -= static_cast<int64_t>(bytes);
    std::free(memory);
  }
};

}  // namespace vireo::faults

#endif  // VIREO_TESTS_FAULTS_HEAP_H_
