#include "delegates/cpu/kernels/winograd/winograd.h"

#include <string.h>

#include "delegates/cpu/kernels/gemm/engine.h"
#include "delegates/cpu/kernels/winograd/plan.h"

// clang-format off: the order is Highway's
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/winograd/winograd.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "delegates/cpu/kernels/winograd/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// Tiles [tile0, tile0 + count) of the input to matrices [count, C]. `zeros` [C] stands for pixels outside the image.
template <int kTile>
void input_tiles_of(const ConvF32& s, const WinogradPlan& plan, const float* x, const float* zeros, int64_t tile0,
                    int64_t count, float* to) {
  constexpr int64_t kEdge = kTile + 2;
  const int64_t channels = s.in_channels, height = s.in[1], width = s.in[2];
  for (int64_t t = tile0; t < tile0 + count; ++t, to += channels) {
    const int64_t line = t / plan.tiles_x, image = line / plan.tiles_y;
    const int64_t y0 = line % plan.tiles_y * kTile - s.pad[1], x0 = t % plan.tiles_x * kTile - s.pad[2];
    const float* pixels[kEdge * kEdge];
    for (int64_t i = 0; i < kEdge; ++i) {
      const bool inside = y0 + i >= 0 && y0 + i < height;
      const int64_t row = (image * height + y0 + i) * width + x0;
      for (int64_t j = 0; j < kEdge; ++j)
        pixels[i * kEdge + j] = inside && x0 + j >= 0 && x0 + j < width ? x + (row + j) * channels : zeros;
    }
    if (channels < kLanes) {
      input_vector<kTile, true>(pixels, 0, static_cast<size_t>(channels), to, plan.v_step);
      continue;
    }
    for (int64_t c = 0; c < channels; c += kLanes) {
      const int64_t at = c + kLanes <= channels ? c : channels - kLanes;  // the last one overlaps
      input_vector<kTile, false>(pixels, at, 0, to + at, plan.v_step);
    }
  }
}

// Output channels [first, first + n) of tiles [tile0, tile0 + count) from matrices [count, plan.columns].
template <int kTile>
void output_tiles_of(const ConvF32& s, const WinogradPlan& plan, const float* from, int64_t tile0, int64_t count,
                     int64_t first, int64_t n, float* y) {
  const DF d;
  const int64_t pixel = s.out_channels, line_step = s.out[2] * pixel;
  const bool before = s.residual != nullptr && !s.residual_last && !s.residual_times;
  const bool bounds = s.slope == nullptr && (s.act.kind == Activation::kRelu || s.act.kind == Activation::kClip);
  // All else is a pass over rows while they are in the cache.
  const bool late =
      (s.residual != nullptr && !before) || s.slope != nullptr || (!bounds && s.act.kind != Activation::kNone);
  TileFinish f;
  f.clip = bounds && !late;
  f.lo = hn::Set(d, s.act.kind == Activation::kRelu ? 0 : s.act.a);
  f.hi = hn::Set(d, s.act.kind == Activation::kRelu ? HUGE_VALF : s.act.b);
  for (int64_t t = tile0; t < tile0 + count; ++t, from += plan.columns) {
    const int64_t line = t / plan.tiles_x, image = line / plan.tiles_y;
    const int64_t y0 = line % plan.tiles_y * kTile, x0 = t % plan.tiles_x * kTile;
    const int64_t rows = s.out[1] - y0, columns = s.out[2] - x0;
    const int64_t at = ((image * s.out[1] + y0) * s.out[2] + x0) * pixel + first;
    for (int64_t c = 0; c < n; c += kLanes) {
      const int64_t k = c + kLanes <= n || n < kLanes ? c : n - kLanes;
      const float* const residual = before ? s.residual + at + k : nullptr;
      if (n < kLanes) {
        const size_t lanes = static_cast<size_t>(n);
        f.bias = s.bias != nullptr ? hn::LoadN(d, s.bias + first, lanes) : hn::Zero(d);
        output_vector<kTile, true>(from, plan.m_step, lanes, f, residual, y + at, line_step, pixel, rows, columns);
      } else {
        f.bias = s.bias != nullptr ? hn::LoadU(d, s.bias + first + k) : hn::Zero(d);
        output_vector<kTile, false>(from + k, plan.m_step, 0, f, residual, y + at + k, line_step, pixel, rows, columns);
      }
    }
    if (!late) continue;
    RowFinish finish;
    finish.f = s.act;
    finish.slope = s.slope != nullptr ? s.slope + first : nullptr;
    for (int64_t i = 0; i < rows && i < kTile; ++i) {
      for (int64_t j = 0; j < columns && j < kTile; ++j) {
        const int64_t to = at + i * line_step + j * pixel;
        if (s.residual != nullptr && !before)
          (s.residual_times ? finish.late_factor : finish.late_residual) = s.residual + to;
        finish_row_f32(y + to, n, finish);
      }
    }
  }
}

void input_tiles(const ConvF32& s, const WinogradPlan& plan, const float* x, const float* zeros, int64_t tile0,
                 int64_t count, float* to) {
  const auto transform = plan.tile == 4 ? input_tiles_of<4> : input_tiles_of<2>;
  transform(s, plan, x, zeros, tile0, count, to);
}

void output_tiles(const ConvF32& s, const WinogradPlan& plan, const float* from, int64_t tile0, int64_t count,
                  int64_t first, int64_t n, float* y) {
  const auto transform = plan.tile == 4 ? output_tiles_of<4> : output_tiles_of<2>;
  transform(s, plan, from, tile0, count, first, n, y);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(input_tiles);
HWY_EXPORT(output_tiles);

namespace {

// Tiles [tile0, tile0 + count), whose pixels are at `v`, by all filters of [first, last).
void products_of(const ConvF32& s, const WinogradPlan& plan, const float* v, int64_t tile0, int64_t count,
                 int64_t first, int64_t last, float* m, float* y) {
  const int64_t panel = s.in_channels * kPanelColumns;
  const Epilogue none;
  Product p{};
  p.m = count;
  p.k = p.a_row = s.in_channels;
  p.a_col = 1;
  p.a = v;
  p.c = m;
  p.c_row = plan.columns;
  p.epilogue = &none;
  const auto transform = HWY_DYNAMIC_POINTER(output_tiles);
  for (int64_t n0 = first; n0 < last; n0 += plan.columns) {
    p.n = last - n0 < plan.columns ? last - n0 : plan.columns;
    run_packed_series(p, s.packed + n0 * plan.places * s.in_channels, plan.places * panel,
                      {plan.places, plan.v_step, panel, plan.m_step});
    transform(s, plan, m, tile0, count, n0, p.n, y);
  }
}

}  // namespace

void winograd_f32(const ConvF32& s, int32_t tile, const float* x, float* y, const Parallel& parallel, void* scratch) {
  const int32_t slots = parallel.run == nullptr || parallel.slots < 1 ? 1 : parallel.slots;
  const WinogradPlan plan = plan_winograd(s, tile, slots);
  if (plan.tiles == 0) return;
  const auto transform = HWY_DYNAMIC_POINTER(input_tiles);
  float* const zeros = static_cast<float*>(scratch);
  memset(zeros, 0, static_cast<size_t>(plan.zeros) * sizeof(float));
  float* const pixels = zeros + plan.zeros;
  float* const products = pixels + (plan.shared ? 1 : slots) * plan.v_floats;
  if (!plan.shared) {
    parallel.for_range((plan.tiles + plan.block - 1) / plan.block, 1, [&](int64_t begin, int64_t end, int32_t slot) {
      for (int64_t at = begin * plan.block; at < end * plan.block && at < plan.tiles; at += plan.block) {
        const int64_t count = plan.tiles - at < plan.block ? plan.tiles - at : plan.block;
        float* const v = pixels + slot * plan.v_floats;
        transform(s, plan, x, zeros, at, count, v);
        products_of(s, plan, v, at, count, 0, s.out_channels, products + slot * plan.m_floats, y);
      }
    });
    return;
  }
  parallel.for_range(plan.tiles, 4, [&](int64_t begin, int64_t end, int32_t) {
    transform(s, plan, x, zeros, begin, end - begin, pixels + begin * s.in_channels);
  });
  parallel.for_range((s.out_channels + kPanelColumns - 1) / kPanelColumns, 1,
                     [&](int64_t begin, int64_t end, int32_t slot) {
                       const int64_t last = end * kPanelColumns < s.out_channels ? end * kPanelColumns : s.out_channels;
                       for (int64_t at = 0; at < plan.tiles; at += plan.block) {
                         const int64_t count = plan.tiles - at < plan.block ? plan.tiles - at : plan.block;
                         products_of(s, plan, pixels + at * s.in_channels, at, count, begin * kPanelColumns, last,
                                     products + slot * plan.m_floats, y);
                       }
                     });
}

}  // namespace vireo::cpu
#endif
