#include "delegates/cpu/kernels/conv/direct.h"

#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/conv/direct.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "delegates/cpu/kernels/math-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_DIRECT_LINES_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_DIRECT_LINES_
namespace vireo::cpu {

// How outputs are cut: the same on every instruction set, so that scratch sizes are. A piece is some lines of outputs
// and some columns of them. Its input lines are copied for all channels with their border, columns sorted by their
// remainder modulo the stride: then neighbouring outputs read neighbouring floats, as in Band (window.h).
struct DirectPieces {
  static constexpr int64_t kFloats = 64 * 1024;  // 256 KiB: a core's own cache
  static constexpr int64_t kColumns = 512;
  static constexpr int64_t kSlack = 64;  // the last tile reads beyond its line

  int64_t columns, lines;  // outputs of a piece
  int64_t phase, pitch;    // floats from one remainder, and from one line, to the next
  int64_t plane;           // floats from one channel to the next, of a piece with all its lines
  int64_t floats;

  explicit DirectPieces(const ConvF32& s) {
    const int64_t pieces = (s.out[2] + kColumns - 1) / kColumns;
    columns = pieces > 1 ? ((s.out[2] + pieces - 1) / pieces + 15) / 16 * 16 : s.out[2];
    phase = (columns + (s.kernel[2] - 1) * s.dilation[2] / s.stride[2] + 1 + 15) / 16 * 16;
    pitch = phase * s.stride[2];
    const int64_t channels = s.in_channels / s.groups, reach = (s.kernel[1] - 1) * s.dilation[1] + 1;
    lines = channels * pitch > 0 ? (kFloats / (channels * pitch) - reach) / s.stride[1] + 1 : s.out[1];
    if (lines > s.out[1]) lines = s.out[1];
    if (lines < 1) lines = 1;
    plane = ((lines - 1) * s.stride[1] + reach) * pitch;
    floats = channels * plane + kSlack;
  }
};

}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
#if VIREO_32_REGISTERS
constexpr int kFilters = 8;
constexpr int kMostVectors[] = {0, 8, 8, 6, 6, 4, 4, 3, 3};  // by filters: sums, a line's vectors and a weight in 32
#else
constexpr int kFilters = 4;
constexpr int kMostVectors[] = {0, 8, 4, 3, 3};  // in 16
#endif

// Outputs of one line, for some filters.
struct DirectTile {
  const float* x;  // what the first tap of the first output sees in the first channel
  int64_t channels, plane;
  const int64_t* taps;  // where they lie
  int64_t tap_count;
  const float* weights;  // of the first filter
  int64_t weights_step;  // floats from one filter to the next
  const float* bias;     // [filters] or null
  float* y;
  int64_t y_step;   // floats from one filter's output to the next one's
  int64_t columns;  // of the tile that are outputs
  bool clip;
  float lo, hi;
};

template <int kCount, int kVectors>
HWY_NOINLINE void direct_tile(const DirectTile& t) {
  const DF d;
  VF acc[kCount][kVectors];
  VIREO_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const VF start = t.bias != nullptr ? hn::Set(d, t.bias[i]) : hn::Zero(d);
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[i][v] = start;
  }
  const float* x = t.x;
  const float* w = t.weights;
  const int64_t* const taps = t.taps;
  const int64_t count = t.tap_count, plane = t.plane, step = t.weights_step;
  for (int64_t c = t.channels; c > 0; --c, x += plane) {
    for (int64_t p = 0; p < count; ++p, ++w) {
      const float* const line = x + taps[p];
      VF b[kVectors];
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) b[v] = hn::LoadU(d, line + v * kLanes);
      VIREO_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const VF a = hn::Set(d, w[i * step]);
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::MulAdd(a, b[v], acc[i][v]);
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
  float* y = t.y;
  if (t.columns >= kVectors * kLanes) {
    VIREO_UNROLL
    for (int i = 0; i < kCount; ++i, y += t.y_step) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], d, y + v * kLanes);
    }
    return;
  }
  VIREO_UNROLL
  for (int i = 0; i < kCount; ++i, y += t.y_step) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = t.columns - v * kLanes;
      if (left > 0) hn::StoreN(acc[i][v], d, y + v * kLanes, static_cast<size_t>(left < kLanes ? left : kLanes));
    }
  }
}

// The tile for `vectors` of them, or a few more where there is none.
using DirectKernel = void (*)(const DirectTile&);
template <int kCount>
DirectKernel direct_kernel_of(int64_t vectors) {
  constexpr int kMost = kMostVectors[kCount];
  if (vectors <= 1) return direct_tile<kCount, 1>;
  if (vectors == 2) return direct_tile<kCount, 2>;
  if (vectors == 3) return direct_tile<kCount, 3>;
  if constexpr (kMost >= 6) {
    if (vectors == 4) return direct_tile<kCount, 4>;
    if (vectors <= 6) return direct_tile<kCount, 6>;
  }
  return direct_tile<kCount, kMost>;
}
DirectKernel direct_kernel(int64_t filters, int64_t vectors) {
  switch (filters) {
    case 1:
      return direct_kernel_of<1>(vectors);
    case 2:
      return direct_kernel_of<2>(vectors);
    case 3:
      return direct_kernel_of<3>(vectors);
#if VIREO_32_REGISTERS
    case 5:
      return direct_kernel_of<5>(vectors);
    case 6:
      return direct_kernel_of<6>(vectors);
    case 7:
      return direct_kernel_of<7>(vectors);
    case 8:
      return direct_kernel_of<8>(vectors);
#endif
    default:
      return direct_kernel_of<4>(vectors);
  }
}

HWY_INLINE int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
HWY_INLINE int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

HWY_INLINE void zero_floats(float* to, int64_t count) {
  if (count > 0) memset(to, 0, static_cast<size_t>(count) * sizeof(float));
}

// to[p * phase + j] = line[left + j * step + p], 0 outside [0, width): all remainders p of one line.
void copy_line(const float* line, int64_t width, int64_t left, int64_t step, int64_t phase, float* to) {
  const DF d;
  if (step == 1) {
    const int64_t begin = left < 0 ? lesser(-left, phase) : 0, end = greater(lesser(width - left, phase), begin);
    zero_floats(to, begin);
    if (end > begin) memcpy(to + begin, line + left + begin, static_cast<size_t>(end - begin) * sizeof(float));
    zero_floats(to + end, phase - end);
    return;
  }
  // Whole groups of `step` columns that lie inside.
  const int64_t first = left < 0 ? lesser((-left + step - 1) / step, phase) : 0;
  const int64_t last = width > left ? greater(lesser((width - left) / step, phase), first) : first;
  const auto one_by_one = [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t p = 0; p < step; ++p) {
        const int64_t column = left + j * step + p;
        to[p * phase + j] = column >= 0 && column < width ? line[column] : 0;
      }
    }
  };
  one_by_one(0, first);
  int64_t j = first;
  const float* from = line + left + first * step;
  VF a, b, c;
  if (step == 2) {
    for (; j + kLanes <= last; j += kLanes, from += 2 * kLanes) {
      hn::LoadInterleaved2(d, from, a, b);
      hn::StoreU(a, d, to + j);
      hn::StoreU(b, d, to + phase + j);
    }
  } else if (step == 3) {
    for (; j + kLanes <= last; j += kLanes, from += 3 * kLanes) {
      hn::LoadInterleaved3(d, from, a, b, c);
      hn::StoreU(a, d, to + j);
      hn::StoreU(b, d, to + phase + j);
      hn::StoreU(c, d, to + 2 * phase + j);
    }
  }
  one_by_one(j, phase);
}

// Lines [y0, y1) and columns [x0, x1) of one image's group: x [C / groups, H, W], weights, bias, slope and y of the
// group, `residual` as y. `scratch`: where taps lie, then the copy.
void direct_piece(const ConvF32& s, const DirectPieces& pieces, const float* x, const float* weights, int64_t y0,
                  int64_t y1, int64_t x0, int64_t x1, float* y, const float* residual, float* scratch) {
  const int64_t filters = s.out_channels / s.groups, channels = s.in_channels / s.groups;
  const int64_t count = s.kernel[1] * s.kernel[2], in_area = s.in[1] * s.in[2], out_area = s.out[1] * s.out[2];
  const int64_t in_lines = (y1 - y0 - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1] + 1;
  int64_t* const taps = reinterpret_cast<int64_t*>(scratch);
  float* const copy = scratch + (count + 7) / 8 * 16;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t column = i % s.kernel[2] * s.dilation[2];
    taps[i] =
        i / s.kernel[2] * s.dilation[1] * pieces.pitch + column % s.stride[2] * pieces.phase + column / s.stride[2];
  }
  const int64_t plane = in_lines * pieces.pitch, left = x0 * s.stride[2] - s.pad[2];
  float* to = copy;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < in_lines; ++i, to += pieces.pitch) {
      const int64_t line = y0 * s.stride[1] - s.pad[1] + i;
      if (line < 0 || line >= s.in[1]) {
        zero_floats(to, pieces.pitch);
      } else {
        copy_line(x + c * in_area + line * s.in[2], s.in[2], left, s.stride[2], pieces.phase, to);
      }
    }
  }
  zero_floats(to, DirectPieces::kSlack);

  DirectTile t;
  t.channels = channels;
  t.plane = plane;
  t.taps = taps;
  t.tap_count = count;
  t.weights_step = channels * count;
  t.y_step = out_area;
  const bool alone = s.residual == nullptr && s.slope == nullptr;
  t.clip = alone && (s.act.kind == Activation::kRelu || s.act.kind == Activation::kClip);
  t.lo = s.act.kind == Activation::kClip ? s.act.a : 0;
  t.hi = s.act.kind == Activation::kClip ? s.act.b : HUGE_VALF;
  // Filters and vectors are cut evenly. What a tile sees of all channels stays near while lines and filters pass.
  const int64_t blocks = (filters + kFilters - 1) / kFilters;
  const int64_t vectors = (x1 - x0 + kLanes - 1) / kLanes, most = kMostVectors[(filters + blocks - 1) / blocks];
  const int64_t tiles = (vectors + most - 1) / most;
  for (int64_t tile = 0, v = 0; tile < tiles; ++tile) {
    const int64_t wide = (vectors - v + tiles - tile - 1) / (tiles - tile), column = v * kLanes;
    v += wide;
    t.columns = lesser(x1 - x0 - column, wide * kLanes);
    for (int64_t line = y0; line < y1; ++line) {
      t.x = copy + (line - y0) * s.stride[1] * pieces.pitch + column;
      for (int64_t block = 0, f = 0; block < blocks; ++block) {
        const int64_t high = (filters - f + blocks - block - 1) / (blocks - block);
        t.weights = weights + f * t.weights_step;
        t.bias = s.bias != nullptr ? s.bias + f : nullptr;
        t.y = y + f * out_area + line * s.out[2] + x0 + column;
        direct_kernel(high, wide)(t);
        f += high;
      }
    }
  }
  if (t.clip || !s.has_tail()) return;
  for (int64_t f = 0; f < filters; ++f) {
    RowFinish finish;
    finish.f = activation_of_row(s.act, s.slope != nullptr ? s.slope + f : nullptr);
    for (int64_t line = y0; line < y1; ++line) {
      const int64_t at = f * out_area + line * s.out[2] + x0;
      if (residual != nullptr) {
        (s.residual_times  ? finish.late_factor
         : s.residual_last ? finish.late_residual
                           : finish.residual) = residual + at;
      }
      finish_row_f32(y + at, x1 - x0, finish);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(direct_piece);

namespace {
constexpr int64_t kMostTaps = 1024;
constexpr int64_t kMostStride = 4;
constexpr int64_t kMostFilters = 64;         // more repay patches
constexpr int64_t kMostWeights = 64 * 1024;  // of a group: they are read once for each tile, from a core's own cache
// An element of a patch costs about as much as this many multiplications, with what is uncertain left out.
constexpr int64_t kPatch = 10;

int64_t tap_floats(int64_t taps) { return (taps + 7) / 8 * 16; }
}  // namespace

bool conv_direct_f32_serves(const ConvF32& s) {
  const bool flat = s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.pad[0] == 0;
  const int64_t taps = s.kernel[1] * s.kernel[2], filters = s.out_channels / s.groups;
  if (!flat || taps <= 1 || taps > kMostTaps || s.stride[2] > kMostStride) return false;
  if (filters > kMostFilters || filters * taps * (s.in_channels / s.groups) > kMostWeights) return false;
  // The last vector of each line is in part empty; the product's are full, after each patch was made.
  const int64_t empty = (16 - s.out[2] % 16) % 16;
  if (filters * empty > kPatch * s.out[2]) return false;
  return DirectPieces(s).floats <= DirectPieces::kFloats + DirectPieces::kSlack;
}

int64_t conv_direct_f32_slot_floats(const ConvF32& s, Sizes sizes) {
  const int64_t taps = s.kernel[1] * s.kernel[2];
  if (sizes == Sizes::kFixed) return tap_floats(taps) + (DirectPieces(s).floats + 15) / 16 * 16;
  ConvF32 widest = s;
  if (widest.out[2] > DirectPieces::kColumns) widest.out[2] = DirectPieces::kColumns;
  const DirectPieces pieces(widest);
  const int64_t reach = (s.kernel[1] - 1) * s.dilation[1] + 1;
  const int64_t all = s.in_channels / s.groups * ((s.out[1] - 1) * s.stride[1] + reach) * pieces.pitch;
  return tap_floats(taps < kMostTaps ? taps : kMostTaps) +
         (all < DirectPieces::kFloats ? (all + 15) / 16 * 16 : DirectPieces::kFloats) + DirectPieces::kSlack;
}

void conv_direct_f32(const ConvF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
                     float* scratch) {
  const auto kernel = HWY_DYNAMIC_POINTER(direct_piece);
  const int64_t room = conv_direct_f32_slot_floats(s, Sizes::kFixed), items = s.n * s.groups;
  DirectPieces pieces(s);
  const int64_t filters = s.out_channels / s.groups, channels = s.in_channels / s.groups;
  const int64_t in_area = s.in[1] * s.in[2], out_area = s.out[1] * s.out[2];
  const int64_t k = channels * s.kernel[1] * s.kernel[2];
  // Threads want several pieces each.
  const int64_t across = (s.out[2] + pieces.columns - 1) / pieces.columns;
  const int64_t wanted = parallel.slots > 1 ? (4 * int64_t{parallel.slots} + items * across - 1) / (items * across) : 1;
  const int64_t even = (s.out[1] + wanted - 1) / wanted;
  const int64_t lines = even < pieces.lines ? even : pieces.lines;
  const int64_t down = (s.out[1] + lines - 1) / lines, each = across * down;
  const int64_t grain = (int64_t{1} << 18) / (lines * pieces.columns * filters * k + 1) + 1;
  parallel.for_range(items * each, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t item = i / each, group = item % s.groups;
      const int64_t y0 = i % each / across * lines, x0 = i % across * pieces.columns;
      ConvF32 part = s;
      part.bias = s.bias != nullptr ? s.bias + group * filters : nullptr;
      part.slope = s.slope != nullptr ? s.slope + group * filters : nullptr;
      kernel(part, pieces, x + item * channels * in_area, weights + group * filters * k, y0,
             y0 + lines < s.out[1] ? y0 + lines : s.out[1], x0,
             x0 + pieces.columns < s.out[2] ? x0 + pieces.columns : s.out[2], y + item * filters * out_area,
             s.residual != nullptr ? s.residual + item * filters * out_area : nullptr, scratch + slot * room);
    }
  });
}

}  // namespace vireo::cpu
#endif
