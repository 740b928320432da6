#include "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.h"
#include "delegates/cpu/kernels/depthwise_nhwc/lines.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/depthwise_nhwc/strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
// Output lines [begin, end) of N * OH. What strips cannot do follows while some lines are in the cache.
constexpr int64_t kLaterFloats = 16 * 1024;
void depthwise_lines(const DepthwiseF32& s, const float* x, const float* filters, float* y, int64_t begin,
                     int64_t end) {
  const Window& w = s.window;
  const int64_t in_image = w.in_h * w.in_w * s.channels, out_line = w.out_w * s.channels;
  const Activation kind = s.residual == nullptr && s.slope == nullptr ? s.act.kind : Activation::kNone;
  const bool later = s.residual != nullptr || s.slope != nullptr || !depthwise_nhwc_ends(kind);
  Lines<float> l = lines_for<float>(s, filters, kind);
  const LinesOf<float> lines = lines_of<float>(s);
  const int64_t few = 1 + kLaterFloats / out_line;
  for (int64_t line = begin; line < end;) {
    const int64_t image = line / w.out_h, oy = line % w.out_h;
    int64_t count = end - line < w.out_h - oy ? end - line : w.out_h - oy;
    if (later && count > few) count = few;
    l.x = x + image * in_image;
    l.y = y + image * w.out_h * out_line;
    lines(s, l, oy, oy + count);
    if (later) {
      // Slopes are as many as channels: a pixel at a time.
      const int64_t floats = count * out_line, each = s.slope != nullptr ? s.channels : floats;
      for (int64_t i = 0; i < floats; i += each) {
        RowFinish finish;
        finish.f = s.act;
        finish.slope = s.slope;
        const float* const row = s.residual != nullptr ? s.residual + line * out_line + i : nullptr;
        (s.residual_times ? finish.late_factor : s.residual_last ? finish.late_residual : finish.residual) = row;
        finish_row_f32(y + line * out_line + i, each, finish);
      }
    }
    line += count;
  }
}

// [C, taps] to [taps, C].
void turn_filters(const float* from, int64_t channels, int64_t taps, float* to) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d4;
  for (; c + 4 <= channels; c += 4) {
    const float* r = from + c * taps;
    int64_t t = 0;
    for (; t + 4 <= taps; t += 4) {
      const auto v0 = hn::LoadU(d4, r + t), v1 = hn::LoadU(d4, r + taps + t);
      const auto v2 = hn::LoadU(d4, r + 2 * taps + t), v3 = hn::LoadU(d4, r + 3 * taps + t);
      const auto low01 = hn::InterleaveLower(d4, v0, v1), low23 = hn::InterleaveLower(d4, v2, v3);
      const auto high01 = hn::InterleaveUpper(d4, v0, v1), high23 = hn::InterleaveUpper(d4, v2, v3);
      hn::StoreU(hn::ConcatLowerLower(d4, low23, low01), d4, to + t * channels + c);
      hn::StoreU(hn::ConcatUpperUpper(d4, low23, low01), d4, to + (t + 1) * channels + c);
      hn::StoreU(hn::ConcatLowerLower(d4, high23, high01), d4, to + (t + 2) * channels + c);
      hn::StoreU(hn::ConcatUpperUpper(d4, high23, high01), d4, to + (t + 3) * channels + c);
    }
    for (; t < taps; ++t) {
      for (int64_t i = 0; i < 4; ++i) to[t * channels + c + i] = r[i * taps + t];
    }
  }
#endif
  for (; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) to[t * channels + c] = from[c * taps + t];
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(depthwise_lines);
HWY_EXPORT(turn_filters);

size_t depthwise_nhwc_f32_scratch_bytes(const DepthwiseF32& s) {
  return no_lines(s) ? 0 : static_cast<size_t>(s.window.kernel_h * s.window.kernel_w * s.channels) * sizeof(float);
}

void depthwise_nhwc_f32(const DepthwiseF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
                        void* scratch) {
  if (no_lines(s)) return;
  const int64_t taps = s.window.kernel_h * s.window.kernel_w;
  float* const filters = static_cast<float*>(scratch);
  HWY_DYNAMIC_DISPATCH(turn_filters)(weights, s.channels, taps, filters);
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_lines);
  parallel.for_range(s.n * s.window.out_h, lines_grain(s),
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, filters, y, begin, end); });
}

bool depthwise_nhwc_ends(Activation kind) {
  return kind == Activation::kNone || kind == Activation::kRelu || kind == Activation::kClip ||
         kind == Activation::kHardSwish;
}
}  // namespace vireo::cpu
#endif
