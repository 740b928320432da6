#include "delegates/cpu/kernels/depthwise_i8/depthwise_i8.h"

#include <string.h>

#include "delegates/cpu/kernels/depthwise_i8/strip.h"

#define VIREO_KERNEL_USES_VNNI
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/depthwise_i8/depthwise_i8.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/depthwise_i8/pairs-inl.h"
#include "delegates/cpu/kernels/depthwise_i8/quads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// Input planes [begin, end) of N * C * depth. `scratch`: offsets of taps, weights, a strip.
void depthwise_planes(const DepthwiseRange& range, void* scratch) {
  const DepthwiseI8& s = *range.shape;
  const Window& w = s.window;
  const int64_t taps = w.kernel_h * w.kernel_w, pairs = (taps + 1) / 2, area = w.out_h * w.out_w;
  const int64_t outputs = s.channels * s.multiplier;
  int64_t* const offsets = static_cast<int64_t*>(scratch);
  int32_t* const weights = reinterpret_cast<int32_t*>(offsets + (taps + 8) / 8 * 8);
  int16_t* const copy = reinterpret_cast<int16_t*>(weights + (taps + 16) / 16 * 16);
  const Strip sorted(w, true);
  for (int64_t t = 0; t < taps; ++t) offsets[t] = sorted.tap(w, t / w.kernel_w, t % w.kernel_w);
  offsets[taps] = 0;
  bool holds_pairs = false;
#if HWY_TARGET == HWY_AVX3_DL
  const Strip plain(w, false);
  const QuadRows quad_rows(w, plain);
  const uint8_t flip = s.x_signed ? 0x80 : 0;
  const uint8_t padding = static_cast<uint8_t>(s.x_zero) ^ flip;
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(copy);
  bool holds_bytes = false;
#endif
  Requantize q;
  if (s.finish != nullptr) q = *s.finish;
  const Finish finish(q, s.finish != nullptr && products_in_range(q.multiplier, q.multiplier_per_row ? outputs : 1));
  for (int64_t i = range.begin; i < range.end; ++i) {
    const int64_t z = i % s.depth, c = i / s.depth % s.channels, n = i / s.depth / s.channels;
    const uint8_t* const plane = static_cast<const uint8_t*>(range.x) + i * w.in_h * w.in_w;
    for (int64_t j = 0; j < s.multiplier; ++j) {
      const int64_t o = c * s.multiplier + j, at = ((n * outputs + o) * s.depth + z) * area;
      uint32_t start = 0;
      PlaneOut out{weights, 0, nullptr, 0, nullptr, nullptr};
      if (q.multiplier != nullptr) {
        if (q.bias != nullptr) start = static_cast<uint32_t>(q.bias[o]);
        out.multiplier = q.multiplier[q.multiplier_per_row ? o : 0];
        out.finish = &finish;
      }
      const auto strips = [&](const Strip& strip, const auto& work) {
        for (int64_t y0 = 0; y0 < w.out_h; y0 += strip.rows) {
          out.bytes = static_cast<uint8_t*>(range.y) + at + y0 * w.out_w;
          out.sums = static_cast<int32_t*>(range.y) + (s.finish != nullptr ? 0 : at + y0 * w.out_w);
          work(y0, w.out_h - y0 < strip.rows ? w.out_h - y0 : strip.rows);
        }
      };
#if HWY_TARGET == HWY_AVX3_DL
      uint32_t sum = 0;
      if (QuadRows::reach(w) && quad_weights(s, range.weights, o, weights, &sum)) {
        out.start = static_cast<int32_t>(start - static_cast<uint32_t>(padding) * sum);
        if (!holds_bytes) memset(bytes, padding, static_cast<size_t>(plain.elements));
        strips(plain, [&](int64_t y0, int64_t rows) {
          if (j == 0 || plain.rows != w.out_h || !holds_bytes)
            copy_strip(s, plain, plane, y0, rows, plain.rows == w.out_h, flip, padding, bytes);
          quad_rows.run(out, bytes, rows);
        });
        holds_bytes = true;
        holds_pairs = false;
        continue;
      }
      holds_bytes = false;
#endif
      out.start = static_cast<int32_t>(start);
      pair_weights(s, range.weights, o, taps, weights);
      if (!holds_pairs) memset(copy, 0, static_cast<size_t>(sorted.elements) * sizeof(int16_t));
      strips(sorted, [&](int64_t y0, int64_t rows) {
        if (j == 0 || sorted.rows != w.out_h || !holds_pairs)
          copy_strip(s, sorted, plane, y0, rows, sorted.rows == w.out_h, copy);
        const int64_t step = w.stride_h * sorted.pitch;
        int64_t row = 0;
#if HWY_TARGET == HWY_AVX2
        for (; w.out_w <= 8 && row + 2 <= rows; row += 2)
          two_rows_of_pairs(out, copy + row * step, step, offsets, pairs, row, w.out_w);
#endif
        for (; row < rows; ++row) row_of_pairs(out, copy + row * step, offsets, pairs, row, w.out_w);
      });
      holds_pairs = true;
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(depthwise_planes);

namespace {
size_t slot_bytes(const DepthwiseI8& s) {
  const int64_t taps = s.window.kernel_h * s.window.kernel_w;
  // In units of 64 bytes each; 4 spare for the vector that follows the last pair of a row.
  const int64_t bytes = (taps + 8) / 8 * 64 + (taps + 16) / 16 * 64 + Strip(s.window, true).most * 2 + 256;
  return (static_cast<size_t>(bytes) + 63) & ~size_t{63};
}
bool empty(const DepthwiseI8& s) {
  return s.n <= 0 || s.channels <= 0 || s.multiplier <= 0 || s.depth <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0;
}
}  // namespace

size_t depthwise_i8_scratch_bytes(const DepthwiseI8& s, int32_t slots) {
  return empty(s) ? 0 : slot_bytes(s) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void depthwise_i8(const DepthwiseI8& s, const void* x, const void* weights, void* y, const Parallel& parallel,
                  void* scratch) {
  if (empty(s)) return;
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_planes);
  const size_t room = slot_bytes(s);
  const int64_t planes = s.n * s.channels * s.depth;
  const int64_t work =
      s.window.out_h * s.window.out_w * (s.window.kernel_h * s.window.kernel_w + 4) * s.multiplier + 500;
  // 2^20 multiplications take about 10 us. Four ranges a thread: one that is late keeps the others waiting for little.
  int64_t grain = (int64_t{1} << 20) / work + 1;
  const int64_t even = (planes + 4 * parallel.slots - 1) / (4 * int64_t{parallel.slots});
  if (grain < even) grain = even;
  parallel.for_range(planes, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    const DepthwiseRange range = {&s, x, weights, y, begin, end};
    kernel(range, static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  });
}
}  // namespace vireo::cpu
#endif
