#include "delegates/xnnpack/heap.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <new>

namespace vireo::xnnpack {

// In front of all that XNNPACK has, so that it can be given back whoever gives it.
struct alignas(Region::kAlignment) Region::Block {
  enum class Kind : uint8_t { kHeap, kCounted, kRegion };
  size_t bytes = 0;
  size_t offset = 0;  // in the region
  Kind kind = Kind::kHeap;

  void* data() { return this + 1; }
  static Block* of(void* data) { return static_cast<Block*>(data) - 1; }
  size_t total() const { return sizeof(Block) + aligned(bytes); }
};

namespace {

thread_local Region* current = nullptr;
std::atomic<size_t> heap_bytes{0}, heap_calls{0};

void* allocate(void*, size_t bytes) {
  Region::Block* const block = Region::take(bytes);
  return block == nullptr ? nullptr : block->data();
}
void deallocate(void*, void* data) {
  if (data != nullptr) Region::give_back(Region::Block::of(data));
}
void* reallocate(void* context, void* data, size_t bytes) {
  if (data == nullptr) return allocate(context, bytes);
  Region::Block* const old = Region::Block::of(data);
  if (bytes <= old->bytes) return data;
  // What was on the heap before there was a region stays there.
  Region* const region = current;
  if (old->kind == Region::Block::Kind::kHeap) current = nullptr;
  void* const grown = allocate(context, bytes);
  if (grown != nullptr) {
    memcpy(grown, data, old->bytes);
    deallocate(context, data);
  }
  current = region;
  return grown;
}
void* allocate_aligned(void* context, size_t alignment, size_t bytes) {
  return alignment > Region::kAlignment ? nullptr : allocate(context, bytes);
}

constexpr xnn_allocator kHeap = {nullptr, allocate, reallocate, deallocate, allocate_aligned, deallocate};

}  // namespace

const xnn_allocator& heap() { return kHeap; }
HeapUse heap_use() { return {heap_bytes, heap_calls}; }

Region::Region(void* memory, size_t bytes) : memory_(static_cast<uint8_t*>(memory)), bytes_(bytes), outer_(current) {
  current = this;
}
Region::~Region() { current = outer_; }

bool Region::is_last(const Block& block) const {
  const bool mine = memory_ == nullptr ? block.kind == Block::Kind::kCounted
                                       : reinterpret_cast<const uint8_t*>(&block) == memory_ + block.offset;
  return mine && block.offset + block.total() == used_;
}

Region::Block* Region::take(size_t bytes) {
  Block here;
  here.bytes = bytes;
  Region* const r = current;
  if (r != nullptr && (r->memory_ == nullptr || r->used_ + here.total() <= r->bytes_)) {
    here.kind = r->memory_ == nullptr ? Block::Kind::kCounted : Block::Kind::kRegion;
    here.offset = r->used_;
  }
  void* const at =
      here.kind == Block::Kind::kRegion ? r->memory_ + here.offset : aligned_alloc(kAlignment, here.total());
  if (at == nullptr) return nullptr;
  if (here.kind == Block::Kind::kHeap) {
    heap_bytes += bytes;
    ++heap_calls;
  } else {
    r->used_ += here.total();
    if (r->used_ > r->most_) r->most_ = r->used_;
  }
  return new (at) Block(here);
}

void Region::give_back(Block* block) {
  if (block->kind == Block::Kind::kHeap) heap_bytes -= block->bytes;
  if (current != nullptr && block->kind != Block::Kind::kHeap && current->is_last(*block))
    current->used_ = block->offset;
  if (block->kind != Block::Kind::kRegion) free(block);
}

}  // namespace vireo::xnnpack
