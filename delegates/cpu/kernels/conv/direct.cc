#include "delegates/cpu/kernels/conv/direct.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/conv/direct.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_DIRECT_LINES_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_DIRECT_LINES_
namespace vireo::cpu {

// How outputs are cut: the same on every instruction set, so that scratch sizes are. A piece is some lines of outputs
// and some columns of them. Its input lines are copied for all channels with their border, columns sorted by their
// remainder modulo the stride: then neighbouring outputs read neighbouring floats, as in Band (window.h). Where lines
// are short, they are sorted by their remainder as well, so that the end of a line's outputs and the begin of the
// next one's are neighbours, too, but for the few between them that are nobody's: one long line. Where there are any
// such, tiles go through a room behind the copy, from where the true outputs go to y. A depth axis
// multiplies channels: the planes that an output sees of one lie one after the other, as their weights do.
struct DirectPieces {
  static constexpr int64_t kFloats = 80 * 1024;  // 320 KiB: a core's own cache
  static constexpr int64_t kColumns = 512;
  static constexpr int64_t kSlack = 64;      // the last tile reads beyond its line
  static constexpr int64_t kRoom = 24 * 16;  // a tile's sums

  int64_t columns, lines;  // outputs of a piece
  bool joined;             // lines are one
  int64_t phase, pitch;    // floats from one remainder of columns, and from one line, to the next
  int64_t turn;            // joined: floats from one remainder of lines to the next
  int64_t plane;           // floats from one channel to the next, of a piece with all its lines
  int64_t floats;

  explicit DirectPieces(const ConvF32& s) {
    const int64_t pieces = (s.out[2] + kColumns - 1) / kColumns;
    columns = pieces > 1 ? ((s.out[2] + pieces - 1) / pieces + 15) / 16 * 16 : s.out[2];
    const int64_t channels = channels_of(s), reach = (s.kernel[1] - 1) * s.dilation[1] + 1;
    const int64_t beyond = (s.kernel[2] - 1) * s.dilation[2] / s.stride[2];
    joined = s.out[1] > 1 && pieces == 1 && beyond < kSlack / 2 && columns + beyond < (columns + 15) / 16 * 16;
    if (joined) {
      pitch = columns + beyond;
      const int64_t line = channels * s.stride[1] * s.stride[2] * pitch, more = (reach - 1) / s.stride[1];
      lines = within(line > 0 ? (kFloats - kRoom) / line - more : s.out[1], s.out[1]);
      phase = (lines + more) * pitch;
      turn = phase * s.stride[2];
      plane = turn * s.stride[1];
      floats = channels * plane + kSlack + kRoom;
      return;
    }
    phase = (columns + beyond + 1 + 15) / 16 * 16;
    pitch = phase * s.stride[2];
    lines =
        within(channels * pitch > 0 ? (kFloats / (channels * pitch) - reach) / s.stride[1] + 1 : s.out[1], s.out[1]);
    turn = 0;
    plane = ((lines - 1) * s.stride[1] + reach) * pitch;
    floats = channels * plane + kSlack;
  }

  static int64_t channels_of(const ConvF32& s) { return s.in_channels / s.groups * s.kernel[0]; }

  // Vectors of 16 that a filter's outputs take, of which some are nobody's.
  int64_t vectors() const { return joined ? (lines * pitch + 15) / 16 : lines * ((columns + 15) / 16); }

 private:
  static int64_t within(int64_t count, int64_t most) { return count > most ? most : count < 1 ? 1 : count; }
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
constexpr bool fits_room(int filters) {
  return filters == 0 || (filters * kMostVectors[filters] * kLanes <= DirectPieces::kRoom && fits_room(filters - 1));
}
static_assert(fits_room(kFilters), "a tile's sums fit their room");

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

// Sums of `filters` filters, `vectors` vectors of each, that are more than the outputs: of a tile of any height, once
// for all.
HWY_NOINLINE void put_part(const DirectTile& t, const float* sums, int64_t filters, int64_t vectors) {
  const DF d;
  float* y = t.y;
  for (int64_t i = 0; i < filters; ++i, sums += vectors * kLanes, y += t.y_step) {
    int64_t c = 0;
    for (; c + kLanes <= t.columns; c += kLanes) hn::StoreU(hn::Load(d, sums + c), d, y + c);
    if (c < t.columns) hn::StoreN(hn::Load(d, sums + c), d, y + c, static_cast<size_t>(t.columns - c));
  }
}

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
  const bool whole = t.columns >= kVectors * kLanes;
  HWY_ALIGN float sums[kCount * kVectors * kLanes];
  float* y = whole ? t.y : sums;
  const int64_t y_step = whole ? t.y_step : kVectors * kLanes;
  VIREO_UNROLL
  for (int i = 0; i < kCount; ++i, y += y_step) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], d, y + v * kLanes);
  }
  if (!whole) put_part(t, sums, kCount, kVectors);
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

// Lines are short: a call of memset or memcpy takes longer than their vectors.
HWY_INLINE void zero_floats(float* to, int64_t count) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::Zero(d), d, to + i);
  if (i < count) hn::StoreN(hn::Zero(d), d, to + i, static_cast<size_t>(count - i));
}
HWY_INLINE void copy_floats(const float* from, int64_t count, float* to) {
  const DF d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  const auto rest = static_cast<size_t>(count - i);
  if (i < count) hn::StoreN(hn::LoadN(d, from + i, rest), d, to + i, rest);
}

// to[p * phase + j] = from[p + (j - begin) * step] for as many j of [begin, end) as fill vectors, whose end it returns.
template <class D>
HWY_INLINE int64_t sort_columns(D d, const float* from, int64_t step, int64_t phase, int64_t begin, int64_t end,
                                float* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> v[4];
  int64_t j = begin;
  for (; j + lanes <= end; j += lanes, from += step * lanes) {
    if (step == 2) {
      hn::LoadInterleaved2(d, from, v[0], v[1]);
    } else if (step == 3) {
      hn::LoadInterleaved3(d, from, v[0], v[1], v[2]);
    } else if (step == 4) {
      hn::LoadInterleaved4(d, from, v[0], v[1], v[2], v[3]);
    } else {
      break;
    }
    for (int64_t p = 0; p < step; ++p) hn::StoreU(v[p], d, to + p * phase + j);
  }
  return j;
}

// to[p * phase + j] = line[left + j * step + p], 0 outside [0, width): all remainders p of one line, `count` of each.
void copy_line(const float* line, int64_t width, int64_t left, int64_t step, int64_t count, int64_t phase, float* to) {
  const DF d;
  if (step == 1) {
    const int64_t begin = left < 0 ? lesser(-left, count) : 0, end = greater(lesser(width - left, count), begin);
    zero_floats(to, begin);
    copy_floats(line + left + begin, end - begin, to + begin);
    zero_floats(to + end, count - end);
    return;
  }
  // Whole groups of `step` columns that lie inside.
  const int64_t first = left < 0 ? lesser((-left + step - 1) / step, count) : 0;
  const int64_t last = width > left ? greater(lesser((width - left) / step, count), first) : first;
  const auto one_by_one = [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t p = 0; p < step; ++p) {
        const int64_t column = left + j * step + p;
        to[p * phase + j] = column >= 0 && column < width ? line[column] : 0;
      }
    }
  };
  one_by_one(0, first);
  int64_t j = sort_columns(d, line + left + first * step, step, phase, first, last, to);
  // Short lines, and what is left of long ones.
  j = sort_columns(hn::CappedTag<float, 4>(), line + left + j * step, step, phase, j, last, to);
  one_by_one(j, count);
}

// Where taps lie in the copy, and the copy of what `lines` lines of outputs see, of all channels: planes from `front`,
// input lines from `top`, columns from `left` on.
void copy_piece(const ConvF32& s, const DirectPieces& pieces, const float* x, int64_t lines, int64_t front, int64_t top,
                int64_t left, int64_t* taps, float* to) {
  const int64_t count = s.kernel[1] * s.kernel[2], channels = pieces.channels_of(s), in_area = s.in[1] * s.in[2];
  const bool joined = pieces.joined;
  const int64_t turns = joined ? s.stride[1] : 1, columns = joined ? pieces.pitch : pieces.phase;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t line = i / s.kernel[2] * s.dilation[1], column = i % s.kernel[2] * s.dilation[2];
    taps[i] = line % turns * pieces.turn + line / turns * pieces.pitch + column % s.stride[2] * pieces.phase +
              column / s.stride[2];
  }
  const int64_t reach = (s.kernel[1] - 1) * s.dilation[1] + 1;
  const int64_t in_lines = joined ? (lines + (reach - 1) / turns) * turns : (lines - 1) * s.stride[1] + reach;
  const int64_t plane = joined ? pieces.plane : in_lines * pieces.pitch;
  for (int64_t c = 0; c < channels; ++c, to += plane) {
    const int64_t z = front + c % s.kernel[0] * s.dilation[0];
    const bool inside = z >= 0 && z < s.in[0];
    for (int64_t i = 0; i < in_lines; ++i) {
      float* const line_to = to + i % turns * pieces.turn + i / turns * pieces.pitch;
      const int64_t line = top + i;
      if (inside && line >= 0 && line < s.in[1]) {
        copy_line(x + (c / s.kernel[0] * s.in[0] + z) * in_area + line * s.in[2], s.in[2], left, s.stride[2], columns,
                  pieces.phase, line_to);
        continue;
      }
      for (int64_t p = 0; p < s.stride[2]; ++p) zero_floats(line_to + p * pieces.phase, columns);
    }
  }
  zero_floats(to, DirectPieces::kSlack);
}

// The outputs of a tile that are someone's: `columns` from `column` on of the lines that are one, of `filters` filters
// `step` floats apart in the room.
void put_lines(const ConvF32& s, const DirectPieces& pieces, const float* room, int64_t step, int64_t filters,
               int64_t column, int64_t columns, float* y) {
  const int64_t out_area = s.out[0] * s.out[1] * s.out[2];
  int64_t line = column / pieces.pitch, at = column % pieces.pitch;
  for (int64_t done = 0; done < columns; ++line, at = 0) {
    const int64_t run = greater(lesser(s.out[2] - at, columns - done), 0);
    const float* from = room + done;
    float* to = y + line * s.out[2] + at;
    for (int64_t f = 0; f < filters; ++f, from += step, to += out_area) copy_floats(from, run, to);
    done += pieces.pitch - at;
  }
}

// Lines [y0, y1) and columns [x0, x1) of plane z of one image's group: x [C / groups, D, H, W], weights, bias, slope
// and y of the group, `residual` as y. `scratch`: where taps lie, then the copy.
void direct_piece(const ConvF32& s, const DirectPieces& pieces, const float* x, const float* weights, int64_t z,
                  int64_t y0, int64_t y1, int64_t x0, int64_t x1, float* y, const float* residual, float* scratch) {
  const int64_t filters = s.out_channels / s.groups, channels = pieces.channels_of(s);
  const int64_t count = s.kernel[1] * s.kernel[2], lines = y1 - y0;
  const int64_t out_plane = s.out[1] * s.out[2], out_area = s.out[0] * out_plane;
  int64_t* const taps = reinterpret_cast<int64_t*>(scratch);
  float* const copy = scratch + (count + 7) / 8 * 16;
  copy_piece(s, pieces, x, lines, z * s.stride[0] - s.pad[0], y0 * s.stride[1] - s.pad[1], x0 * s.stride[2] - s.pad[2],
             taps, copy);
  y += z * out_plane;
  residual = residual != nullptr ? residual + z * out_plane : nullptr;

  DirectTile t;
  t.channels = channels;
  t.plane =
      pieces.joined ? pieces.plane : ((lines - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1] + 1) * pieces.pitch;
  t.taps = taps;
  t.tap_count = count;
  t.weights_step = channels * count;
  const bool alone = s.residual == nullptr && s.slope == nullptr;
  t.clip = alone && (s.act.kind == Activation::kRelu || s.act.kind == Activation::kClip);
  t.lo = s.act.kind == Activation::kClip ? s.act.a : 0;
  t.hi = s.act.kind == Activation::kClip ? s.act.b : HUGE_VALF;
  // Filters and vectors are cut evenly. What a tile sees of all channels stays near while lines and filters pass.
  const int64_t length = pieces.joined ? (lines - 1) * pieces.pitch + x1 - x0 : x1 - x0;
  const int64_t blocks = (filters + kFilters - 1) / kFilters;
  const int64_t vectors = (length + kLanes - 1) / kLanes, most = kMostVectors[(filters + blocks - 1) / blocks];
  const int64_t tiles = (vectors + most - 1) / most;
  float* const room = copy + channels * pieces.plane + DirectPieces::kSlack;
  const bool all_true = !pieces.joined || pieces.pitch == s.out[2];
  // Lines that are one are one row of tiles.
  const int64_t rows = pieces.joined ? 1 : lines;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t v = vectors * tile / tiles, wide = vectors * (tile + 1) / tiles - v, column = v * kLanes;
    t.columns = lesser(length - column, wide * kLanes);
    for (int64_t row = 0; row < rows; ++row) {
      t.x = copy + row * s.stride[1] * pieces.pitch + column;
      float* const line = y + (y0 + row) * s.out[2] + x0;
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t f = filters * block / blocks, high = filters * (block + 1) / blocks - f;
        t.weights = weights + f * t.weights_step;
        t.bias = s.bias != nullptr ? s.bias + f : nullptr;
        t.y = all_true ? line + f * out_area + column : room;
        t.y_step = all_true ? out_area : wide * kLanes;
        direct_kernel(high, wide)(t);
        if (!all_true) put_lines(s, pieces, room, t.y_step, high, column, t.columns, line + f * out_area);
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
constexpr int64_t kMostFilters = 128;         // more repay patches
constexpr int64_t kMostWeights = 256 * 1024;  // of a group: they are read once for each tile, from a core's own cache
// An element of a patch costs about as much as this many multiplications, with what is uncertain left out.
constexpr int64_t kPatch = 13;

// Floats of a line of all remainders, at most.
int64_t widest_pitch(const ConvF32& s) {
  return (s.out[2] + (s.kernel[2] - 1) * s.dilation[2] / s.stride[2] + 1 + 15) / 16 * 16 * s.stride[2];
}
int64_t tap_floats(int64_t taps) { return (taps + 7) / 8 * 16; }
}  // namespace

bool conv_direct_f32_serves(const ConvF32& s) {
  const int64_t taps = s.kernel[1] * s.kernel[2], filters = s.out_channels / s.groups;
  if (s.kernel[0] * taps <= 1 || taps > kMostTaps || s.stride[2] > kMostStride) return false;
  if (filters > kMostFilters || filters * taps * DirectPieces::channels_of(s) > kMostWeights) return false;
  // Vectors are in part empty; the product's are full, after each patch was made. What both copy does not count.
  const DirectPieces pieces(s);
  const int64_t channels = DirectPieces::channels_of(s), k = channels * taps;
  const int64_t outputs = pieces.lines * pieces.columns, saved = k * outputs - channels * pieces.plane;
  if (filters * k * (pieces.vectors() * 16 - outputs) > kPatch * saved) return false;
  return pieces.floats <= DirectPieces::kFloats + DirectPieces::kSlack;
}

int64_t conv_direct_f32_slot_floats(const ConvF32& s, Sizes sizes) {
  const int64_t taps = s.kernel[1] * s.kernel[2];
  if (sizes == Sizes::kFixed) return tap_floats(taps) + (DirectPieces(s).floats + 15) / 16 * 16;
  ConvF32 widest = s;
  if (widest.out[2] > DirectPieces::kColumns) widest.out[2] = DirectPieces::kColumns;
  const int64_t reach = (s.kernel[1] - 1) * s.dilation[1] + 1, pitch = widest_pitch(widest);
  const int64_t all = DirectPieces::channels_of(s) * (s.out[1] * s.stride[1] + reach) * pitch + DirectPieces::kRoom;
  return tap_floats(taps < kMostTaps ? taps : kMostTaps) +
         (all < DirectPieces::kFloats ? (all + 15) / 16 * 16 : DirectPieces::kFloats) + DirectPieces::kSlack;
}

void conv_direct_f32(const ConvF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
                     float* scratch) {
  const auto kernel = HWY_DYNAMIC_POINTER(direct_piece);
  const int64_t room = conv_direct_f32_slot_floats(s, Sizes::kFixed), items = s.n * s.groups;
  DirectPieces pieces(s);
  const int64_t filters = s.out_channels / s.groups, channels = s.in_channels / s.groups;
  const int64_t in_area = s.in[0] * s.in[1] * s.in[2], out_area = s.out[0] * s.out[1] * s.out[2];
  const int64_t k = channels * s.kernel[0] * s.kernel[1] * s.kernel[2];
  // Threads want several pieces each.
  const int64_t across = (s.out[2] + pieces.columns - 1) / pieces.columns;
  const int64_t least = items * s.out[0] * across;
  const int64_t wanted = parallel.slots > 1 ? (4 * int64_t{parallel.slots} + least - 1) / least : 1;
  const int64_t even = (s.out[1] + wanted - 1) / wanted;
  const int64_t lines = even < pieces.lines ? even : pieces.lines;
  const int64_t down = (s.out[1] + lines - 1) / lines, plane = across * down, each = s.out[0] * plane;
  const int64_t grain = (int64_t{1} << 18) / (lines * pieces.columns * filters * k + 1) + 1;
  parallel.for_range(items * each, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t item = i / each, group = item % s.groups;
      const int64_t y0 = i % plane / across * lines, x0 = i % across * pieces.columns;
      ConvF32 part = s;
      part.bias = s.bias != nullptr ? s.bias + group * filters : nullptr;
      part.slope = s.slope != nullptr ? s.slope + group * filters : nullptr;
      kernel(part, pieces, x + item * channels * in_area, weights + group * filters * k, i % each / plane, y0,
             y0 + lines < s.out[1] ? y0 + lines : s.out[1], x0,
             x0 + pieces.columns < s.out[2] ? x0 + pieces.columns : s.out[2], y + item * filters * out_area,
             s.residual != nullptr ? s.residual + item * filters * out_area : nullptr, scratch + slot * room);
    }
  });
}

}  // namespace vireo::cpu
#endif
