#include "delegates/cpu/kernels/conv_image/conv_image.h"

#include <string.h>

#include "delegates/cpu/kernels/conv_image/lines.h"
#include "delegates/cpu/kernels/gemm/engine.h"
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/conv_image/conv_image.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
#if VIREO_32_REGISTERS
constexpr int kPixels = 14;  // x 2 vectors: as the matrix product's tile
#else
constexpr int kPixels = 6;
#endif

// Some neighbouring outputs of a line.
struct Tile {
  const float* x;      // the first row of the first window
  int64_t rows, line;  // rows of the window, floats from one to the next
  int64_t run;         // floats of a row
  const float* b;      // filters [rows * run, 32], from this tile's first column on
  int64_t columns;     // valid ones, up to 2 vectors
  const float* bias;   // [columns] or null
  float* y;
  int64_t y_pixel;  // floats from one output to the next
  bool clip;
  float lo, hi;
  int64_t at[kPixels];  // where windows lie that are not at one distance
};

// Sums of `count` outputs, `step` floats apart, of fewer columns than that: of a tile of any height, once for all.
HWY_NOINLINE void put_part(const Tile& t, const float* sums, int64_t count, int64_t step) {
  const DF d;
  float* y = t.y;
  for (int64_t i = 0; i < count; ++i, sums += step, y += t.y_pixel) {
    for (int64_t c = 0; c < t.columns; c += kLanes) {
      const int64_t left = t.columns - c;
      hn::StoreN(hn::Load(d, sums + c), d, y + c, static_cast<size_t>(left < kLanes ? left : kLanes));
    }
  }
}

// Windows lie kStep floats apart, which are part of the address of each load: one register for all of them. 0: at `at`.
template <int kCount, int kStep, int kVectors>
HWY_NOINLINE void tile_outputs(const Tile& t) {
  const DF d;
  size_t lanes[kVectors];
  VF acc[kCount][kVectors];
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = t.columns - v * kLanes;
    lanes[v] = static_cast<size_t>(left < 0 ? 0 : left < kLanes ? left : kLanes);
    const VF start = t.bias != nullptr && lanes[v] != 0 ? hn::LoadN(d, t.bias + v * kLanes, lanes[v]) : hn::Zero(d);
    VIREO_UNROLL
    for (int i = 0; i < kCount; ++i) acc[i][v] = start;
  }
  const float* x = t.x;
  const float* b = t.b;
  for (int64_t row = 0; row < t.rows; ++row, x += t.line) {
    for (int64_t p = 0; p < t.run; ++p, b += kPanelColumns) {
      VF k[kVectors];
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) k[v] = hn::LoadU(d, b + v * kLanes);
      VIREO_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const VF a = hn::Set(d, x[p + (kStep != 0 ? i * kStep : t.at[i])]);
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::MulAdd(a, k[v], acc[i][v]);
      }
    }
  }
  if (t.clip) {
    const VF lo = hn::Set(d, t.lo), hi = hn::Set(d, t.hi);
    VIREO_UNROLL
    for (int i = 0; i < kCount; ++i) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[i][v] = clip(d, acc[i][v], lo, hi);
    }
  }
  const bool whole = t.columns == kVectors * kLanes;
  HWY_ALIGN float sums[kCount * kVectors * kLanes];
  float* y = whole ? t.y : sums;
  const int64_t y_pixel = whole ? t.y_pixel : kVectors * kLanes;
  VIREO_UNROLL
  for (int i = 0; i < kCount; ++i, y += y_pixel) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], d, y + v * kLanes);
  }
  if (!whole) put_part(t, sums, kCount, kVectors * kLanes);
}
// By the number of pixels, then of vectors.
using TileOutputs = void (*)(const Tile&);
template <int kStep>
constexpr TileOutputs kTiles[2][2] = {{tile_outputs<kPixels / 2, kStep, 1>, tile_outputs<kPixels / 2, kStep, 2>},
                                      {tile_outputs<kPixels, kStep, 1>, tile_outputs<kPixels, kStep, 2>}};

HWY_INLINE int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
HWY_INLINE int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

// The windows of `count` outputs from `ox` on, with what lies beside the image as zeros.
void copy_windows(const ConvF32& s, const float* image, int64_t oy, int64_t ox, int64_t count, float* to) {
  const int64_t channels = s.in_channels, left = ox * s.stride[2] - s.pad[2];
  const int64_t columns = (count - 1) * s.stride[2] + s.kernel[2];
  const int64_t begin = left < 0 ? lesser(-left, columns) : 0;
  const int64_t end = greater(lesser(s.in[2] - left, columns), begin);
  memset(to, 0, static_cast<size_t>(s.kernel[1] * columns * channels) * sizeof(float));
  for (int64_t i = 0; i < s.kernel[1]; ++i, to += columns * channels) {
    const int64_t y = oy * s.stride[1] - s.pad[1] + i;
    if (y < 0 || y >= s.in[1] || begin == end) continue;
    memcpy(to + begin * channels, image + (y * s.in[2] + left + begin) * channels,
           static_cast<size_t>((end - begin) * channels) * sizeof(float));
  }
}

// `count` outputs: kPixels, or half of them.
void all_filters(const ConvF32& s, Tile& t, int64_t count, const float* panels, float* y,
                 const TileOutputs (&tiles)[2][2]) {
  const int64_t depth = t.rows * t.run;
  for (int64_t o = 0; o < s.out_channels; o += 2 * kLanes) {
    t.b = panels + o / kPanelColumns * kPanelColumns * depth + o % kPanelColumns;
    t.columns = lesser(s.out_channels - o, 2 * kLanes);
    t.bias = s.bias != nullptr ? s.bias + o : nullptr;
    t.y = y + o;
    tiles[count == kPixels][t.columns > kLanes](t);
  }
}

void image_line(const ConvF32& s, const Tile& whole, const float* image, const float* panels, int64_t oy, float* y,
                float* room, const TileOutputs (&tiles)[2][2]) {
  Tile t = whole;
  const int64_t channels = s.in_channels, width = s.out[2];
  const int64_t top = oy * s.stride[1] - s.pad[1];
  const bool inside = top >= 0 && top + s.kernel[1] <= s.in[1];
  constexpr int64_t kHalf = kPixels / 2;
  for (int64_t ox = 0; ox < width;) {
    // The last tiles overlap the ones before them.
    const int64_t count = width - ox > kHalf ? kPixels : kHalf;
    if (ox + count > width) ox = width - count;
    const int64_t left = ox * s.stride[2] - s.pad[2], columns = (count - 1) * s.stride[2] + s.kernel[2];
    if (inside && left >= 0 && left + columns <= s.in[2]) {
      t.x = image + (top * s.in[2] + left) * channels;
      t.line = s.in[2] * channels;
    } else {
      copy_windows(s, image, oy, ox, count, room);
      t.x = room;
      t.line = columns * channels;
    }
    all_filters(s, t, count, panels, y + ox * s.out_channels, tiles);
    ox += count;
  }
}

// Lines [oy0, oy1), so short that tiles go on from one to the next. At least kPixels outputs.
void short_lines(const ConvF32& s, const Tile& whole, const float* image, const float* panels, int64_t oy0, int64_t oy1,
                 float* y, float* room) {
  Tile t = whole;
  const int64_t channels = s.in_channels, width = s.out[2], count = (oy1 - oy0) * width;
  t.line = ((width - 1) * s.stride[2] + s.kernel[2]) * channels;
  const int64_t lines = (oy1 - oy0 - 1) * s.stride[1] + s.kernel[1];
  ConvF32 all = s;
  all.kernel[1] = lines;
  copy_windows(all, image, oy0, 0, width, room);
  t.x = room;
  for (int64_t p = 0; p < count;) {
    const int64_t tile = count - p > kPixels / 2 ? kPixels : kPixels / 2;
    if (p + tile > count) p = count - tile;
    for (int64_t i = 0; i < tile; ++i) {
      const int64_t line = (p + i) / width, ox = (p + i) % width;
      t.at[i] = line * s.stride[1] * t.line + ox * s.stride[2] * channels;
    }
    all_filters(s, t, tile, panels, y + (oy0 * width + p) * s.out_channels, kTiles<0>);
    p += tile;
  }
}

void finish(const ConvF32& s, int64_t begin, int64_t end, float* y) {
  const int64_t floats = (end - begin) * s.out[2] * s.out_channels, first = begin * s.out[2] * s.out_channels;
  // Slopes are as many as channels: a pixel at a time.
  const int64_t each = s.slope != nullptr ? s.out_channels : floats;
  for (int64_t i = first; i < first + floats; i += each) {
    RowFinish finish;
    finish.f = s.act;
    finish.slope = s.slope;
    const float* const row = s.residual != nullptr ? s.residual + i : nullptr;
    (s.residual_times ? finish.late_factor : s.residual_last ? finish.late_residual : finish.residual) = row;
    finish_row_f32(y + i, each, finish);
  }
}

Tile tile_of(const ConvF32& s) {
  Tile t = {};
  t.rows = s.kernel[1];
  t.run = s.kernel[2] * s.in_channels;
  t.y_pixel = s.out_channels;
  const Activation kind = s.residual == nullptr && s.slope == nullptr ? s.act.kind : Activation::kNone;
  t.clip = kind == Activation::kRelu || kind == Activation::kClip;
  t.lo = kind == Activation::kClip ? s.act.a : 0;
  t.hi = kind == Activation::kClip ? s.act.b : HUGE_VALF;
  return t;
}

// Lines [oy0, oy1) of image `n`.
void image_lines(const ConvF32& s, const float* x, const float* panels, float* y, int64_t n, int64_t oy0, int64_t oy1,
                 float* room) {
  const Tile t = tile_of(s);
  const float* const image = x + n * s.in[1] * s.in[2] * s.in_channels;
  float* const to = y + n * s.out[1] * s.out[2] * s.out_channels;
  const bool later = !t.clip && s.has_tail();
  if (s.out[2] < kLongLine) {
    short_lines(s, t, image, panels, oy0, oy1, to, room);
    if (later) finish(s, n * s.out[1] + oy0, n * s.out[1] + oy1, y);
    return;
  }
  const int64_t step = s.stride[2] * s.in_channels, line = s.out[2] * s.out_channels;
  const auto& tiles = step == 1 ? kTiles<1> : step == 2 ? kTiles<2> : step == 3 ? kTiles<3> : kTiles<6>;
  for (int64_t oy = oy0; oy < oy1; ++oy) {
    image_line(s, t, image, panels, oy, to + oy * line, room, tiles);
    if (later) finish(s, n * s.out[1] + oy, n * s.out[1] + oy + 1, y);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(image_lines);

namespace {
// Filters stay in a core's own cache.
constexpr int64_t kMostOutputs = 512, kMostTaps = 256;

int64_t row_floats(const ConvF32& s, int64_t outputs) {
  return ((outputs - 1) * s.stride[2] + s.kernel[2]) * s.in_channels;
}
// Lines of `width` outputs that are computed at once, but for the last ones, which may be nearly twice as many.
int64_t lines_at_once(int64_t width) { return width >= kLongLine ? 1 : (kManyOutputs + width - 1) / width; }
int64_t room_for(const ConvF32& s, int64_t width) {
  if (width >= kLongLine) return s.kernel[1] * row_floats(s, kLongLine);
  return ((2 * lines_at_once(width) - 2) * s.stride[1] + s.kernel[1]) * row_floats(s, width);
}
}  // namespace

bool conv_image_f32_serves(const ConvF32& s) {
  return s.groups == 1 && (s.in_channels == 1 || s.in_channels == 3) && s.in[0] == 1 && s.out[0] == 1 &&
         s.kernel[0] == 1 && s.pad[0] == 0 && s.dilation[1] == 1 && s.dilation[2] == 1 && s.stride[2] <= 2 &&
         s.out_channels <= kMostOutputs && s.kernel[1] * s.kernel[2] * s.in_channels <= kMostTaps &&
         (s.out[2] >= kLongLine || s.out[1] * s.out[2] >= kManyOutputs);
}

int64_t conv_image_f32_slot_floats(const ConvF32& s, Sizes sizes) {
  int64_t most = room_for(s, sizes == Sizes::kFixed ? s.out[2] : kLongLine);
  for (int64_t width = 1; sizes == Sizes::kUpperBounds && width < kLongLine; ++width) {
    const int64_t room = room_for(s, width);
    most = room > most ? room : most;
  }
  return (most + 15) / 16 * 16;
}

void conv_image_f32(const ConvF32& s, const float* x, const float* panels, float* y, const Parallel& parallel,
                    float* scratch) {
  const auto kernel = HWY_DYNAMIC_POINTER(image_lines);
  const int64_t room = conv_image_f32_slot_floats(s, Sizes::kFixed), lines = lines_at_once(s.out[2]);
  const int64_t parts = s.out[1] / lines > 0 ? s.out[1] / lines : 1;
  const int64_t macs = lines * s.out[2] * s.out_channels * s.kernel[1] * s.kernel[2] * s.in_channels;
  const int64_t grain = (int64_t{1} << 18) / (macs + 1) + 1;
  parallel.for_range(s.n * parts, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % parts;
      kernel(s, x, panels, y, i / parts, part * lines, part + 1 == parts ? s.out[1] : (part + 1) * lines,
             scratch + slot * room);
    }
  });
}
}  // namespace vireo::cpu
#endif
