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

// Fewer channels than lanes go through whole vectors in memory: transforms of parts of vectors would be as much code
// again.
struct Steps {
  int64_t row, pixel;  // floats from one to the next
};
HWY_NOINLINE void copy_few(const float* from, const Steps& from_step, int64_t rows, int64_t columns, size_t lanes,
                           float* to, const Steps& to_step) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      memcpy(to + i * to_step.row + j * to_step.pixel, from + i * from_step.row + j * from_step.pixel,
             lanes * sizeof(float));
    }
  }
}

// One tile of at least a vector of channels.
template <int kTile>
HWY_NOINLINE void input_tile(const float* const* pixels, int64_t channels, float* to, int64_t step) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t at = c + kLanes <= channels ? c : channels - kLanes;  // the last one overlaps
    input_vector<kTile>(pixels, at, to + at, step);
  }
}

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
    if (channels >= kLanes) {
      input_tile<kTile>(pixels, channels, to, plan.v_step);
      continue;
    }
    const size_t lanes = static_cast<size_t>(channels);
    HWY_ALIGN float few[kEdge * kEdge * kLanes] = {};
    for (int64_t i = 0; i < kEdge * kEdge; ++i) {
      memcpy(few + i * kLanes, pixels[i], lanes * sizeof(float));
      pixels[i] = few + i * kLanes;
    }
    input_tile<kTile>(pixels, kLanes, few, kLanes);
    copy_few(few, {0, kLanes}, 1, kEdge * kEdge, lanes, to, {0, plan.v_step});
  }
}

// Part of a tile that lies in the image, of at least a vector of channels.
struct TileOut {
  const float* bias;      // null or [n]
  const float* residual;  // null or as y
  float* y;
  Steps step;
  int64_t rows, columns;
};
template <int kTile>
HWY_NOINLINE void output_tile(const float* from, int64_t from_step, int64_t n, const TileFinish& finish,
                              const TileOut& shared) {
  const TileOut out = shared;  // what is stored cannot change it
  TileFinish f = finish;
  for (int64_t c = 0; c < n; c += kLanes) {
    const int64_t k = c + kLanes <= n ? c : n - kLanes;
    f.bias = out.bias != nullptr ? hn::LoadU(DF(), out.bias + k) : hn::Zero(DF());
    output_vector<kTile>(from + k, from_step, f, out.residual != nullptr ? out.residual + k : nullptr, out.y + k,
                         out.step.row, out.step.pixel, out.rows, out.columns);
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
    const int64_t rows_here = rows < kTile ? rows : kTile, columns_here = columns < kTile ? columns : kTile;
    TileOut out{s.bias != nullptr ? s.bias + first : nullptr,
                before ? s.residual + at : nullptr,
                y + at,
                {line_step, pixel},
                rows,
                columns};
    if (n >= kLanes) {
      output_tile<kTile>(from, plan.m_step, n, f, out);
    } else {
      constexpr Steps kFew = {kTile * kLanes, kLanes};
      const size_t lanes = static_cast<size_t>(n);
      HWY_ALIGN float few[kTile * kTile * kLanes] = {}, bias[kLanes] = {};
      if (out.bias != nullptr) memcpy(bias, out.bias, lanes * sizeof(float));
      if (before) copy_few(out.residual, out.step, rows_here, columns_here, lanes, few, kFew);
      // A residual is read where the sum goes, before it.
      output_tile<kTile>(from, plan.m_step, kLanes, f, {bias, before ? few : nullptr, few, kFew, rows, columns});
      copy_few(few, kFew, rows_here, columns_here, lanes, out.y, out.step);
    }
    if (!late) continue;
    RowFinish finish;
    finish.f = s.act;
    finish.slope = s.slope != nullptr ? s.slope + first : nullptr;
    for (int64_t i = 0; i < rows_here; ++i) {
      for (int64_t j = 0; j < columns_here; ++j) {
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
