// Where XNNPACK's objects lie: runtimes, operators, indirection buffers, workspaces. Its allocator is one for the
// process, but what it allocates on a thread while a Region is there comes from that region, which load() makes of the
// part's state; memory() makes one that only counts. What does not fit, and all else, comes from the C library.
#ifndef VIREO_DELEGATES_XNNPACK_HEAP_H_
#define VIREO_DELEGATES_XNNPACK_HEAP_H_

#include <stddef.h>
#include <stdint.h>
#include <xnnpack.h>

namespace vireo::xnnpack {

// For xnn_initialize. An application that initialised XNNPACK first keeps its own; then regions stay empty.
const xnn_allocator& heap();

class Region {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  // `memory` null: counts.
  Region(void* memory, size_t bytes);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // The most that was taken at once; the same calls take the same in a region that counts.
  size_t most() const { return most_; }

  // For the allocator.
  struct Block;
  static Block* take(size_t bytes);
  static void give_back(Block* block);

 private:
  bool is_last(const Block& block) const;

  uint8_t* memory_;
  size_t bytes_, used_ = 0, most_ = 0;
  Region* outer_;
};

// What came from the C library: outside of regions, or because it did not fit. For tests.
struct HeapUse {
  size_t bytes = 0;  // that are there now
  size_t calls = 0;  // ever
};
HeapUse heap_use();

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_HEAP_H_
