// Hands out pieces of one block. With a null base it only counts, so that the same code says how much it will take and
// takes it.
#ifndef VIREO_SDK_BASE_CARVER_H_
#define VIREO_SDK_BASE_CARVER_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/checked.h"

namespace vireo {

class Carver {
 public:
  explicit Carver(void* base = nullptr) : base_(static_cast<uint8_t*>(base)) {}

  // Uninitialised memory; null while counting. `alignment`: a power of two, at most that of the block.
  void* bytes(size_t size, size_t alignment = 8) {
    used_ = static_cast<size_t>(align_up(used_, alignment));
    void* p = base_ == nullptr ? nullptr : base_ + used_;
    used_ = size > kMost - used_ ? kMost : used_ + size;
    if (used_ > peak_) peak_ = used_;
    return p;
  }
  template <class T>
  T* array(size_t count) {
    return static_cast<T*>(bytes(count * sizeof(T), alignof(T)));
  }
  size_t used() const { return used_; }
  size_t peak() const { return peak_; }
  // Gives back everything taken after `used` was `mark`.
  void rewind(size_t mark) { used_ = mark; }
  bool counting() const { return base_ == nullptr; }

 private:
  // Sums stay here instead of beginning anew at 0: what no allocator has. A delegate says sizes, too.
  static constexpr size_t kMost = SIZE_MAX - 4095;

  uint8_t* base_;
  size_t used_ = 0;
  size_t peak_ = 0;
};

}  // namespace vireo

#endif  // VIREO_SDK_BASE_CARVER_H_
