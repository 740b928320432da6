#include "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.h"
#include "delegates/cpu/kernels/depthwise_nhwc/lines.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/targets.h"
#include "sdk/base/half.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/depthwise_nhwc/bf16.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/depthwise_nhwc/strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
// Output lines [begin, end) of N * OH, with an end that strips can do.
void depthwise_lines_bf16(const DepthwiseF32& s, const uint16_t* x, const float* filters, uint16_t* y, int64_t begin,
                          int64_t end) {
  const Window& w = s.window;
  Lines<uint16_t> l = lines_for<uint16_t>(s, filters, s.act.kind);
  const LinesOf<uint16_t> lines = lines_of<uint16_t>(s);
  for (int64_t line = begin, count = 0; line < end; line += count) {
    const int64_t image = line / w.out_h, oy = line % w.out_h;
    count = end - line < w.out_h - oy ? end - line : w.out_h - oy;
    l.x = x + image * w.in_h * w.in_w * s.channels;
    l.y = y + image * w.out_h * w.out_w * s.channels;
    lines(s, l, oy, oy + count);
  }
}

void widen_filters(const uint16_t* from, int64_t channels, int64_t taps, float* to) {
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t c = 0; c < channels; ++c) to[t * channels + c] = bf16_to_f32(from[c * taps + t]);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(depthwise_lines_bf16);
HWY_EXPORT(widen_filters);

void depthwise_nhwc_bf16(const DepthwiseF32& s, const uint16_t* x, const uint16_t* weights, uint16_t* y,
                         const Parallel& parallel, void* scratch) {
  if (no_lines(s)) return;
  float* const filters = static_cast<float*>(scratch);
  HWY_DYNAMIC_DISPATCH(widen_filters)(weights, s.channels, s.window.kernel_h * s.window.kernel_w, filters);
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_lines_bf16);
  parallel.for_range(s.n * s.window.out_h, lines_grain(s),
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, filters, y, begin, end); });
}
}  // namespace vireo::cpu
#endif
