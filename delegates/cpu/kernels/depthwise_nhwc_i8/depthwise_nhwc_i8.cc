#include "delegates/cpu/kernels/depthwise_nhwc_i8/depthwise_nhwc_i8.h"

#include <string.h>

#include "delegates/cpu/kernels/depthwise_i8/strip.h"

#define VIREO_KERNEL_USES_VNNI
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/depthwise_nhwc_i8/depthwise_nhwc_i8.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/depthwise_nhwc_i8/columns-inl.h"
#include "delegates/cpu/kernels/depthwise_nhwc_i8/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// One group of channels after the other: its weights are turned once.
void depthwise_lines(const LastRange& r) {
  const DepthwiseI8& s = *r.shape;
  const Requantize& q = *s.finish;
  const Finish finish(q, products_in_range(q.multiplier, q.multiplier_per_row ? s.channels : 1));
#if HWY_TARGET == HWY_AVX3_DL
  for (int64_t c = r.c0; c < r.c1; c += QuadGroup::kChannels) {
    const int64_t count = r.c1 - c < QuadGroup::kChannels ? r.c1 - c : QuadGroup::kChannels;
    QuadGroup group(r, c, count);
    if (group.fits()) {
      group.run(finish);
    } else {
      for (int64_t part = 0; part < count; part += PairGroup::kChannels)
        PairGroup(r, c + part, count - part < PairGroup::kChannels ? count - part : PairGroup::kChannels).run(finish);
    }
  }
#else
  for (int64_t c = r.c0; c < r.c1; c += PairGroup::kChannels)
    PairGroup(r, c, r.c1 - c < PairGroup::kChannels ? r.c1 - c : PairGroup::kChannels).run(finish);
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(depthwise_lines);

namespace {
constexpr int64_t kRangeChannels = 64;  // of the widest group

bool empty(const DepthwiseI8& s) { return s.n <= 0 || s.channels <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0; }
}  // namespace

size_t depthwise_nhwc_i8_scratch_bytes(const DepthwiseI8& s, int32_t slots) {
  if (empty(s)) return 0;
  return LastRange::kPadding + last_slot_bytes(s.window) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void depthwise_nhwc_i8(const DepthwiseI8& s, const uint8_t* x, const void* weights, uint8_t* y,
                       const Parallel& parallel, void* scratch) {
  if (empty(s)) return;
  const Window& w = s.window;
  auto* const padding = static_cast<uint8_t*>(scratch);
  memset(padding, static_cast<uint8_t>(s.x_zero), LastRange::kPadding);
  const size_t room = last_slot_bytes(w);
  const int64_t lines = s.n * w.out_h, work = w.out_w * s.channels * (w.kernel_h * w.kernel_w + 8);
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_lines);
  const auto on = [&](int64_t begin, int64_t end, int64_t c0, int64_t c1, int32_t slot) {
    LastRange r;
    r.shape = &s;
    r.x = x;
    r.weights = weights;
    r.padding = padding;
    r.y = y;
    r.begin = begin;
    r.end = end;
    r.c0 = c0;
    r.c1 = c1;
    r.scratch = padding + LastRange::kPadding + static_cast<size_t>(slot) * room;
    kernel(r);
  };
  constexpr int64_t kMost = int64_t{1} << 19;  // multiplications: about 5 us
  const int64_t groups = (s.channels + kRangeChannels - 1) / kRangeChannels;
  if (groups >= 4 * int64_t{parallel.slots} ||
      (groups >= 2 * int64_t{parallel.slots} && groups % parallel.slots == 0)) {
    // Threads take channels: turning weights, which small planes pay for with a third of their time, is shared.
    parallel.for_range(groups, kMost * groups / (lines * work) + 1, [&](int64_t begin, int64_t end, int32_t slot) {
      const int64_t c1 = end * kRangeChannels;
      on(0, lines, begin * kRangeChannels, c1 < s.channels ? c1 : s.channels, slot);
    });
    return;
  }
  // Each range of lines turns all weights.
  const int64_t even = (lines + parallel.slots - 1) / int64_t{parallel.slots}, least = kMost / work + 1;
  parallel.for_range(lines, even > least ? even : least,
                     [&](int64_t begin, int64_t end, int32_t slot) { on(begin, end, 0, s.channels, slot); });
}
}  // namespace vireo::cpu
#endif
