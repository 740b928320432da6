// What AddressSanitizer cannot see by itself: a session's values, its scratch and its tables are one allocation. In
// builds with it, a kernel may touch its operands and as much scratch as it asked for while it runs; the rest of the
// arena, and what lies around arena and scratch, is poisoned. Other builds have none of this.
//
// Not covered: windows whose steps run in lanes (branches.h), sessions whose devices may be at work in the arena
// meanwhile (device_memory.h), and arenas beyond kMostGuarded, for the time it would take.
#ifndef VIREO_RUNTIME_RUN_PART_GUARD_H_
#define VIREO_RUNTIME_RUN_PART_GUARD_H_

#include "runtime/run/session.h"

#if VIREO_ASAN
// Of its runtime.
extern "C" void __asan_poison_memory_region(void const volatile* begin, size_t bytes);
extern "C" void __asan_unpoison_memory_region(void const volatile* begin, size_t bytes);
#endif

namespace vireo {

constexpr size_t kRedZone = VIREO_ASAN ? 256 : 0;  // in front of the arena, between it and scratch, and behind that

#if VIREO_ASAN

class PartGuard {
 public:
  PartGuard(const vireo_session& s, const Step& step)
      : begin_(s.values.at - kRedZone), scratch_(static_cast<uint8_t*>(s.submit.scratch)) {
    end_ = scratch_ + s.submit.scratch_bytes + kRedZone;
    if (s.devices.memory != nullptr || end_ - begin_ > kMostGuarded) end_ = begin_;
    if (end_ == begin_) return;
    __asan_poison_memory_region(begin_, static_cast<size_t>(end_ - begin_));
    __asan_unpoison_memory_region(scratch_, step.scratch_bytes);
    const int count = step.input_count + step.output_count;
    for (int i = 0; i < count; ++i) {
      const Tensor* const t = step.args[i];
      if (t == nullptr || t->data == nullptr) continue;
      // Extents that only the kernel decides have room up to their bounds; those inside a device's part are its own.
      const bool open = i >= step.input_count && (step.shapes.data_dependent || step.nodes > 1);
      const int64_t bytes = open ? t->capacity : tensor_bytes(*t);
      if (bytes > 0) __asan_unpoison_memory_region(t->data, static_cast<size_t>(bytes));
    }
  }
  ~PartGuard() { __asan_unpoison_memory_region(begin_, static_cast<size_t>(end_ - begin_)); }
  PartGuard(const PartGuard&) = delete;
  PartGuard& operator=(const PartGuard&) = delete;

 private:
  static constexpr ptrdiff_t kMostGuarded = 64 << 20;

  uint8_t *begin_, *scratch_, *end_;
};

#else

struct PartGuard {
  PartGuard(const vireo_session&, const Step&) {}
};

#endif

}  // namespace vireo

#endif  // VIREO_RUNTIME_RUN_PART_GUARD_H_
