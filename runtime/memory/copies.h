// Copies of what a caller had, which are given back all at once.
#ifndef VIREO_RUNTIME_MEMORY_COPIES_H_
#define VIREO_RUNTIME_MEMORY_COPIES_H_

#include <stdint.h>
#include <string.h>

#include "vireo/vireo.h"

namespace vireo {

class Copies {
 public:
  // Aligned to 16. Null where the allocator has no more memory.
  const void* add(const vireo_allocator& allocator, const void* from, size_t bytes) {
    if (bytes > kMost) return nullptr;
    const size_t taken = (bytes + sizeof(Block) - 1) / sizeof(Block) * sizeof(Block);
    if (first_ == nullptr || first_->bytes - first_->used < taken) {
      const size_t size = sizeof(Block) + (taken < kBlockBytes ? kBlockBytes : taken);
      auto* const block = static_cast<Block*>(allocator.allocate(allocator.context, size, alignof(Block)));
      if (block == nullptr) return nullptr;
      block->next = first_;
      block->bytes = size;
      block->used = sizeof(Block);
      first_ = block;
    }
    void* const to = reinterpret_cast<uint8_t*>(first_) + first_->used;
    first_->used += taken;
    return memcpy(to, from, bytes);
  }
  void release(const vireo_allocator& allocator) {
    while (first_ != nullptr) {
      Block* const next = first_->next;
      allocator.release(allocator.context, first_, first_->bytes, alignof(Block));
      first_ = next;
    }
  }

 private:
  struct alignas(16) Block {  // in front of the copies
    Block* next;
    size_t bytes;  // of all
    size_t used;
  };
  static constexpr size_t kBlockBytes = 992, kMost = SIZE_MAX / 2;
  Block* first_ = nullptr;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_MEMORY_COPIES_H_
