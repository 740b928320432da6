// The transpose of a convolution: products of all filters' taps with a strip of the image, of which each line of the
// output then gathers those that meet it.
#include <numeric>

#include "delegates/cpu/kernels/conv/lines.h"
#include "delegates/cpu/kernels/gemm/engine.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/conv/conv_transpose.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_GATHER_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_GATHER_
namespace vireo::cpu {

// The taps that meet positions of one remainder modulo the stride: the first, and from one to the next. Position
// v stride + remainder meets x[v - back] at the first, `back_step` before that at each further one.
struct Taps {
  int64_t first, step, back, back_step;
};
inline Taps taps_of(const ConvF32& s, int axis, int64_t remainder) {
  const int64_t stride = s.stride[axis], dilation = s.dilation[axis], common = std::gcd(stride, dilation);
  Taps t{remainder % common == 0 ? 0 : s.kernel[axis], stride / common, 0, dilation / common};
  while (t.first < s.kernel[axis] && t.first * dilation % stride != remainder)
    t.first = t.first + 1 < t.step ? t.first + 1 : s.kernel[axis];
  t.back = (t.first * dilation - remainder) / stride;
  return t;
}

// A tap's addends lie as the image does, its pixel (row, column) at (row - row0) width + column - column0.
struct Addends {
  const float* data;         // products; the image itself where `factors` are given
  int64_t channel_step = 0;  // floats from those of an output channel to those of the next
  int64_t tap_step = 0;
  int64_t row0 = 0, column0 = 0, width = 0;
  const float* factors = nullptr;  // [images, .. factor_step .., channels, taps]
  int64_t images = 1, image_step = 0, factor_step = 0;
  int64_t channels = 1;
  const float* bias = nullptr;
};

// One tap's part of a line of sums: the same for all channels.
struct Addend {
  int64_t from;          // in `data`
  int64_t begin, count;  // in the line
  int64_t tap;
};

constexpr int64_t kGathered = 256;  // columns of each remainder at a time
constexpr int64_t kJoined = 8;      // remainders at a time; more are written one by one
inline bool is_joined(int64_t stride) { return stride <= 4 || stride == 8; }

}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// to = (sum or 0) + (factor or 1) x; `sum` may be `to`.
template <bool kSum, bool kFactor>
HWY_INLINE void add_line(const float* sum, const float* x, float factor, int64_t count, float* to) {
  const DF d;
  const auto f = hn::Set(d, factor);
  const auto of = [=](auto a, auto v) HWY_ATTR {
    if constexpr (kFactor) return kSum ? hn::MulAdd(f, v, a) : hn::Mul(f, v);
    return kSum ? hn::Add(a, v) : v;
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(of(kSum ? hn::LoadU(d, sum + i) : hn::Zero(d), hn::LoadU(d, x + i)), d, to + i);
  if (i < count) {
    const auto rest = static_cast<size_t>(count - i);
    hn::StoreN(of(kSum ? hn::LoadN(d, sum + i, rest) : hn::Zero(d), hn::LoadN(d, x + i, rest)), d, to + i, rest);
  }
}

HWY_INLINE void zero_line(int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = 0;
}

// What meets columns [u0, u1) of one remainder.
int64_t list_addends(const ConvF32& s, const Addends& from, const Taps& tz, int64_t z, const Taps& ty, int64_t row,
                     const Taps& tx, int64_t u0, int64_t u1, Addend* list) {
  int64_t found = 0;
  for (int64_t kz = tz.first, iz = z - tz.back; kz < s.kernel[0]; kz += tz.step, iz -= tz.back_step) {
    if (iz < 0 || iz >= s.in[0]) continue;
    for (int64_t ky = ty.first, iy = row - ty.back; ky < s.kernel[1]; ky += ty.step, iy -= ty.back_step) {
      if (iy < 0 || iy >= s.in[1]) continue;
      int64_t back = tx.back;
      for (int64_t kx = tx.first; kx < s.kernel[2]; kx += tx.step, back += tx.back_step) {
        const int64_t begin = back > u0 ? back : u0, end = back + s.in[2] < u1 ? back + s.in[2] : u1;
        if (begin >= end) continue;
        const int64_t tap = (kz * s.kernel[1] + ky) * s.kernel[2] + kx;
        const int64_t at = (iz * s.in[1] + iy - from.row0) * from.width + begin - back - from.column0;
        list[found++] = {tap * from.tap_step + at, begin - u0, end - begin, tap};
      }
    }
  }
  return found;
}

// The sums of `length` columns: in `line`, or where they lie if they are a single addend.
template <bool kFactor>
HWY_INLINE const float* gather(const Addends& from, const Addend* list, int64_t listed, const float* data,
                               const float* factors, int64_t length, float* line) {
  if (!kFactor && listed > 0 && list[0].count == length) {
    const float* const first = data + list[0].from;
    if (listed == 1) return first;
    if (list[1].count == length) {
      add_line<true, false>(first, data + list[1].from, 1, length, line);
      for (int64_t i = 2; i < listed; ++i) {
        float* const to = line + list[i].begin;
        add_line<true, false>(to, data + list[i].from, 1, list[i].count, to);
      }
      return line;
    }
  }
  int64_t i = 0;
  if (listed == 0) zero_line(length, line);
  for (; i < listed; ++i) {
    const Addend& a = list[i];
    float* const to = line + a.begin;
    const float* x = data + a.from;
    for (int64_t j = 0; j < from.images; ++j, x += from.image_step) {
      const float factor = kFactor ? factors[a.tap + j * from.factor_step] : 1;
      if (i + j == 0) {
        zero_line(a.begin, line);
        add_line<false, kFactor>(x, x, factor, a.count, to);
        zero_line(length - a.begin - a.count, to + a.count);
      } else {
        add_line<true, kFactor>(to, x, factor, a.count, to);
      }
    }
  }
  return line;
}

// to[i N + r] = rows[r][i] + bias for N of 2 to 4 rows; up to a vector more of each row is read and written.
template <int kRows>
HWY_INLINE void interleave(const float* const (&rows)[kRows], int64_t count, float bias, float* to) {
  const DF d;
  const auto b = hn::Set(d, bias);
  const auto at = [&](int r, int64_t i) HWY_ATTR { return hn::Add(hn::LoadU(d, rows[r] + i), b); };
  for (int64_t i = 0; i < count; i += kLanes, to += kRows * kLanes) {
    if constexpr (kRows == 2) {
      hn::StoreInterleaved2(at(0, i), at(1, i), d, to);
    } else if constexpr (kRows == 3) {
      hn::StoreInterleaved3(at(0, i), at(1, i), at(2, i), d, to);
    } else {
      hn::StoreInterleaved4(at(0, i), at(1, i), at(2, i), at(3, i), d, to);
    }
  }
}
// The same of `stride` rows. `pairs`: for eight rows, as much as they have.
void interleave_rows(const float* const* rows, int64_t stride, int64_t count, float bias, float* pairs, float* to) {
  if (stride == 2) return interleave<2>({rows[0], rows[1]}, count, bias, to);
  if (stride == 3) return interleave<3>({rows[0], rows[1], rows[2]}, count, bias, to);
  if (stride == 4) return interleave<4>({rows[0], rows[1], rows[2], rows[3]}, count, bias, to);
  const int64_t length = 2 * (kGathered + kLanes);
  for (int64_t r = 0; r < 4; ++r) interleave<2>({rows[r], rows[r + 4]}, count, bias, pairs + r * length);
  interleave<4>({pairs, pairs + length, pairs + 2 * length, pairs + 3 * length}, 2 * count, 0, to);
}

// Columns u of a line that are gathered at a time, for remainders [r0, r1) modulo the stride: all, or one of many.
struct Columns {
  int64_t u, count, r0, r1;
  const Addend* lists[kJoined];
  int64_t listed[kJoined];
};

// Of one channel. `spill` floats behind the line may be written. `room`: kJoined lines of kGathered, three times.
template <bool kFactor>
HWY_INLINE void gather_line(const ConvF32& s, const Addends& from, const Columns& l, int64_t channel, int64_t spill,
                            float* room, float* row) {
  const DF d;
  const int64_t stride = s.stride[2], length = kGathered + kLanes, count = l.count;
  const int64_t first = l.u * stride - s.pad[2], last = first + count * stride;
  const int64_t x0 = first > 0 ? first : 0, x1 = last < s.out[2] ? last : s.out[2];
  const float* const data = from.data + channel * from.channel_step;
  const float* const factors = kFactor ? from.factors + channel * area(s.kernel) : nullptr;
  const float bias = from.bias != nullptr ? from.bias[channel] : 0;
  if (!is_joined(stride)) {
    const float* const sums = gather<kFactor>(from, l.lists[0], l.listed[0], data, factors, count, room);
    float* const to = row + first + l.r0;
    const int64_t most = (x1 - first - l.r0 + stride - 1) / stride, end = most < count ? most : count;
    for (int64_t i = first + l.r0 < 0 ? 1 : 0; i < end; ++i) to[i * stride] = sums[i] + bias;
    return;
  }
  const float* rows[kJoined];
  for (int64_t r = 0; r < stride; ++r)
    rows[r] = gather<kFactor>(from, l.lists[r], l.listed[r], data, factors, count, room + r * length);
  float* const joined = room + kJoined * length;
  // What is written beyond a line belongs to the next one, which follows.
  const int64_t beyond = ((count + kLanes - 1) / kLanes * kLanes - count) * stride;
  const bool whole = stride > 1 && first == x0 && last == x1 && beyond <= spill;
  if (stride > 1) interleave_rows(rows, stride, count, bias, joined + kJoined * length, whole ? row + x0 : joined);
  if (whole) return;
  const float* const sums = (stride > 1 ? joined : rows[0]) + (x0 - first);
  const auto b = hn::Set(d, stride > 1 ? 0.0f : bias);
  for (int64_t i = 0; i < x1 - x0; i += kLanes) {
    const auto v = hn::Add(hn::LoadU(d, sums + i), b);
    const int64_t rest = x1 - x0 - i;
    rest >= kLanes ? hn::StoreU(v, d, row + x0 + i) : hn::StoreN(v, d, row + x0 + i, static_cast<size_t>(rest));
  }
}

// Rows [y0, y1) of all planes, and columns from u0 stride - pad on up to those of u1.
template <bool kFactor>
void gather_rows(const ConvF32& s, const Addends& from, int64_t y0, int64_t y1, int64_t u0, int64_t u1, Addend* list,
                 float* room, float* to) {
  const int64_t stride = s.stride[2], group = is_joined(stride) ? stride : 1;
  const bool lines = u0 * stride <= s.pad[2] && u1 * stride - s.pad[2] >= s.out[2];  // whole ones
  Columns l;
  for (int64_t z = 0; z < s.out[0]; ++z) {
    const int64_t at_z = z + s.pad[0];
    const Taps tz = taps_of(s, 0, at_z % s.stride[0]);
    for (int64_t y = y0; y < y1; ++y) {
      const int64_t at_y = y + s.pad[1];
      const Taps ty = taps_of(s, 1, at_y % s.stride[1]);
      const int64_t spill = lines && y + 1 < y1 ? s.out[2] : 0;
      for (l.u = u0; l.u < u1; l.u += kGathered) {
        l.count = u1 - l.u < kGathered ? u1 - l.u : kGathered;
        const int64_t first = l.u * stride - s.pad[2], rest = s.out[2] - first;
        for (l.r0 = group == 1 && l.count == 1 && first < 0 ? -first : 0; l.r0 < stride && l.r0 < rest; l.r0 = l.r1) {
          l.r1 = l.r0 + group;
          Addend* next = list;
          for (int64_t r = l.r0; r < l.r1; ++r) {
            const int64_t i = r - l.r0;
            l.lists[i] = next;
            l.listed[i] = list_addends(s, from, tz, at_z / s.stride[0], ty, at_y / s.stride[1], taps_of(s, 2, r), l.u,
                                       l.u + l.count, next);
            next += l.listed[i];
          }
          float* row = to + (z * s.out[1] + y) * s.out[2];
          for (int64_t c = 0; c < from.channels; ++c, row += area(s.out))
            gather_line<kFactor>(s, from, l, c, spill, room, row);
        }
      }
    }
  }
}

void gather_channels(const ConvF32& s, const Addends& from, int64_t y0, int64_t y1, int64_t u0, int64_t u1,
                     Addend* list, float* room, float* to) {
  from.factors != nullptr ? gather_rows<true>(s, from, y0, y1, u0, u1, list, room, to)
                          : gather_rows<false>(s, from, y0, y1, u0, u1, list, room, to);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <string.h>

namespace vireo::cpu {
HWY_EXPORT(gather_channels);

namespace {

constexpr int64_t kFloats = 64 * 1024;  // 256 KiB of products, and of filters, within a core's own cache
constexpr int64_t kSlack = 64;          // what vectors read beyond their operands
constexpr int64_t kFewPixels = 8;
constexpr int64_t kFewChannels = 2;
constexpr int64_t kNarrow = 4;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// Neighbours before a pixel that lie within its outputs' windows.
int64_t reach(const ConvF32& s, int axis) { return (s.kernel[axis] - 1) * s.dilation[axis] / s.stride[axis]; }

// Of up to `longest` steps, at least half: the one that leaves the fewest columns of tiles of 32 empty.
int64_t best_strip(int64_t size, int64_t longest, int64_t line) {
  const auto columns = [line](int64_t steps) {
    const int64_t n = steps * line, rest = n % 32;
    return n - rest + (rest == 0 ? 0 : rest <= 16 ? 20 : 32);
  };
  int64_t best = longest, fewest = INT64_MAX;
  for (int64_t strip = longest; strip > longest / 2 && strip > longest - 64; --strip) {
    const int64_t all = size / strip * (columns(strip) + 8) + columns(size % strip);
    if (all < fewest) best = strip;
    if (all < fewest) fewest = all;
  }
  return best;
}

bool is_single(const ConvF32& s) {
  for (int i = 0; i < 3; ++i) {
    if (s.in[i] != 1 || s.pad[i] != 0 || s.dilation[i] != 1 || s.out[i] != s.kernel[i]) return false;
  }
  return true;
}

// Blocks of output channels go through strips of the image, and keep the products that the next strip's outputs meet.
struct Blocks {
  bool scaled;              // few input channels: lines of the image are weighted as they are gathered
  bool single;              // one pixel, whose products are the output
  bool turned;              // few pixels: they are the product's rows, and filters are read as they lie
  int axis;                 // that strips go along: rows, or columns of a single line
  int64_t size, line;       // its extent; pixels of one step along it
  int64_t strip, halo;      // steps; those of them that are kept
  int64_t channels, count;  // of a block; blocks of a group
  int64_t parts;            // of an image: threads without a block of their own take some of its strips
  size_t list, left, products, pack, bytes;  // floats of each; bytes
};

size_t floats_of(int64_t floats) { return static_cast<size_t>((floats + kSlack + 15) / 16 * 16); }
constexpr size_t kLines = static_cast<size_t>(3 * kJoined * (kGathered + kSlack));
size_t list_of(const ConvF32& s) {
  return floats_of(area(s.kernel) * static_cast<int64_t>(sizeof(Addend) / sizeof(float)));
}
size_t bytes_of(const Blocks& b) { return (kLines + b.list + b.left + b.products) * sizeof(float) + b.pack; }

Blocks blocks_of(const ConvF32& s, int32_t slots, bool packed) {
  Blocks b{};
  const int64_t per_group = s.out_channels / s.groups, depth = s.in_channels / s.groups;
  const int64_t taps = area(s.kernel), pixels = area(s.in), items = s.n * s.groups;
  b.axis = s.in[1] == 1 && s.in[0] == 1 ? 2 : 1;
  b.size = s.in[b.axis];
  b.line = b.axis == 1 ? s.in[2] : 1;
  b.scaled = depth <= kFewChannels || pixels == 0;
  b.single = !b.scaled && is_single(s);
  b.turned = !b.scaled && !packed && pixels <= kFewPixels;
  b.single = b.single && b.turned;
  const bool whole = b.scaled || b.turned || s.in[0] > 1;
  b.halo = whole ? 0 : least(reach(s, b.axis), b.size);
  b.strip = whole ? b.size : least(b.size, most(ceil_div(128, b.line), 4 * b.halo));
  const int64_t wanted = ceil_div(slots < 1 ? 1 : slots, items);
  const int64_t unit = taps * (whole ? pixels : least(b.strip + b.halo, b.size) * b.line);
  b.channels = b.scaled ? per_group : kFloats / most(unit, 1);
  if (!packed && !b.scaled) b.channels = least(b.channels, kFloats / most(taps * depth, 1));
  b.channels = most(1, least(b.channels, ceil_div(per_group, wanted)));
  b.count = ceil_div(per_group, b.channels);
  b.channels = ceil_div(per_group, b.count);
  b.parts = s.in[0] > 1 ? 1 : most(1, least(ceil_div(wanted, b.count), b.size / most(4 * reach(s, b.axis), 1)));
  if (!whole) {
    const int64_t fit = kFloats / (taps * b.channels * b.line) - b.halo, share = ceil_div(b.size, b.parts);
    b.strip = least(most(b.strip, fit), share);
    b.strip = best_strip(share, b.strip, b.line);
  }
  b.list = s.in_channels / s.groups > 0 && pixels > 0 ? list_of(s) : 0;
  if (b.scaled) {
    b.bytes = bytes_of(b);
    return b;
  }
  const int64_t rows = b.channels * taps;
  b.left = packed ? 0 : floats_of(rows * (b.turned ? pixels : depth));
  b.products = floats_of(rows * (whole ? pixels : least(b.strip + b.halo, b.size) * b.line));
  b.pack = b.turned ? product_scratch_bound(pixels, rows, depth, 1)
                    : product_scratch_bound(rows, whole ? pixels : b.strip * b.line, depth, 1);
  b.bytes = bytes_of(b);
  return b;
}

// Strips of smaller images are no larger than those of this one, or have the size that all are made for.
size_t slot_bound(const ConvF32& s) {
  Blocks b{};
  const int64_t rows = s.out_channels / s.groups * area(s.kernel), depth = s.in_channels / s.groups;
  const int64_t taps = area(s.kernel), pixels = area(s.in);
  const int64_t strip =
      s.in[0] > 1 ? pixels : least(pixels, 128 + s.in[2] + 5 * most(reach(s, 1) * s.in[2], reach(s, 2)));
  b.list = depth > 0 && pixels > 0 ? list_of(s) : 0;
  b.left = floats_of(most(least(rows * depth, most(kFloats, taps * depth)),
                          least(rows * least(pixels, kFewPixels), most(kFloats, taps * kFewPixels))));
  b.products = floats_of(least(rows * pixels, most(kFloats, taps * strip)));
  const size_t wide = product_scratch_bound(rows, pixels, depth, 1);
  const size_t turned = product_scratch_bound(least(pixels, kFewPixels), rows, depth, 1);
  b.pack = wide > turned ? wide : turned;
  return bytes_of(b);
}

// Lines so short that a gathered one fills no vector: products are added where they belong, one by one.
bool is_narrow(const ConvF32& s, const Blocks& b) {
  return !b.scaled && b.strip == b.size && b.parts == 1 && b.axis == 1 && s.in[2] <= kNarrow;
}

void scatter(const ConvF32& s, const float* products, int64_t channels, const float* bias, float* y) {
  const int64_t out_area = area(s.out);
  for (int64_t c = 0; c < channels; ++c, y += out_area) {
    for (int64_t i = 0; i < out_area; ++i) y[i] = bias != nullptr ? bias[c] : 0;
    for (int64_t tap = 0, taps = area(s.kernel); tap < taps; ++tap, products += area(s.in)) {
      const int64_t k[3] = {tap / (s.kernel[1] * s.kernel[2]), tap / s.kernel[2] % s.kernel[1], tap % s.kernel[2]};
      const int64_t x0 = k[2] * s.dilation[2] - s.pad[2], step = s.stride[2];
      const int64_t first = x0 < 0 ? ceil_div(-x0, step) : 0;
      const int64_t last = least(s.in[2], s.out[2] > x0 ? ceil_div(s.out[2] - x0, step) : 0);
      const float* from = products;
      for (int64_t line = 0; line < s.in[0] * s.in[1]; ++line, from += s.in[2]) {
        const int64_t z = line / s.in[1] * s.stride[0] - s.pad[0] + k[0] * s.dilation[0];
        const int64_t row = line % s.in[1] * s.stride[1] - s.pad[1] + k[1] * s.dilation[1];
        if (z < 0 || z >= s.out[0] || row < 0 || row >= s.out[1]) continue;
        float* const to = y + (z * s.out[1] + row) * s.out[2] + x0;
        for (int64_t i = first; i < last; ++i) to[i * step] += from[i];
      }
    }
  }
}

size_t up(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

// One block of channels of one image and group, part `part` of it.
struct Task {
  const ConvF32& s;
  const Blocks& b;
  int64_t item, c0, channels;
  const float *x, *weights;  // the group's
  float* y;                  // the block's
  Addend* list;
  float *left, *products, *lines;
  void* pack;

  int64_t taps() const { return area(s.kernel); }
  int64_t per_group() const { return s.out_channels / s.groups; }
  int64_t depth() const { return s.in_channels / s.groups; }
  int64_t rows() const { return channels * taps(); }

  Product product_of(int64_t m, int64_t n, const MatrixB& right) const {
    Product p{};
    p.m = m;
    p.n = n;
    p.k = depth();
    p.b.pack = pack_matrix_rows();
    p.b.context = &right;
    p.b.rows = right.data;
    p.b.row_stride = right.stride;
    return p;
  }
  void run(Product p, bool in_place, float* to, int64_t to_row) const {
    const Epilogue plain;
    p.c = to;
    p.c_row = to_row;
    p.epilogue = &plain;
    run_product(p, plan_product(p.m, p.n, p.k, in_place, 1), Parallel{}, pack);
  }

  // Filters as they lie are a long step apart for each input channel: tiles read them from a copy.
  void copy_filters() const {
    if (s.packed != nullptr) return;
    for (int64_t i = 0; i < depth(); ++i)
      memcpy(left + i * rows(), weights + i * per_group() * taps(), static_cast<size_t>(rows()) * sizeof(float));
  }
  // Products of strip [i0, i1), `at` steps behind the first that are kept.
  void multiply(int64_t i0, int64_t i1, int64_t at, int64_t pitch) const {
    const MatrixB right{x + i0 * b.line, area(s.in)};
    Product p = product_of(rows(), s.in[0] > 1 ? area(s.in) : (i1 - i0) * b.line, right);
    const bool packed = s.packed != nullptr;
    p.a = packed ? s.packed + ((item % s.groups) * per_group() + c0) * taps() * depth() : left;
    p.a_row = packed ? depth() : 1;
    p.a_col = packed ? 1 : rows();
    run(p, true, products + at * b.line, pitch);
  }
  void multiply_turned() const {
    const int64_t pixels = area(s.in), wide = rows();
    const MatrixB right{weights, per_group() * taps()};
    Product p = product_of(pixels, wide, right);
    p.a = x;
    p.a_row = 1;
    p.a_col = pixels;
    run(p, pixels == 1, b.single ? y : pixels == 1 ? products : left, wide);
    for (int64_t j = 0; pixels > 1 && j < wide; ++j) {
      for (int64_t i = 0; i < pixels; ++i) products[j * pixels + i] = left[i * wide + j];
    }
  }

  // Outputs of steps [v0, v1) of the image; the last go on to the output's end. Products begin with step `from`.
  void finish(int64_t v0, int64_t v1, int64_t from, int64_t pitch) const {
    const int64_t stride = s.stride[b.axis], pad = s.pad[b.axis], size = s.out[b.axis];
    const int64_t end = v1 >= b.size ? size : most(0, least(v1 * stride - pad, size));
    const int64_t begin = v0 == 0 ? 0 : most(0, least(v0 * stride - pad, size));
    const bool line = b.axis == 2;
    const int64_t y0 = line ? 0 : begin, y1 = line ? s.out[1] : end;
    const int64_t columns = ceil_div(s.out[2] + s.pad[2], s.stride[2]);
    const int64_t u0 = most(line ? v0 : 0, s.pad[2] / s.stride[2]), u1 = line && v1 < b.size ? v1 : columns;
    const int64_t out_area = area(s.out), channel0 = item % s.groups * per_group() + c0;
    const float* const bias = s.bias != nullptr ? s.bias + channel0 : nullptr;
    if (depth() == 0 || area(s.in) == 0) {
      for (int64_t i = 0; i < channels * out_area; ++i) y[i] = bias != nullptr ? bias[i / out_area] : 0;
    } else if (b.single) {
      for (int64_t i = 0; bias != nullptr && i < channels * out_area; ++i) y[i] += bias[i / out_area];
    } else if (is_narrow(s, b)) {
      scatter(s, products, channels, bias, y);
    } else {
      Addends a;
      a.data = b.scaled ? x : products;
      a.width = s.in[2];
      a.channels = channels;
      a.bias = bias;
      if (b.scaled) {
        a.factors = weights;
        a.images = depth();
        a.image_step = area(s.in);
        a.factor_step = per_group() * taps();
      } else {
        a.channel_step = taps() * pitch;
        a.tap_step = pitch;
        a.row0 = line ? 0 : from;
        a.column0 = line ? from : 0;
      }
      HWY_DYNAMIC_DISPATCH(gather_channels)(s, a, y0, y1, u0, u1, list, lines, y);
    }
    if (!s.has_tail()) return;
    const bool planes = s.out[0] > 1;
    const int64_t at = planes ? 0 : line ? begin : y0 * s.out[2];
    const int64_t count = planes ? out_area : line ? end - begin : (y1 - y0) * s.out[2];
    const int64_t runs = !planes && line ? s.out[1] : 1;
    for (int64_t i = 0; i < channels * runs; ++i) {
      const int64_t c = i / runs, place = c * out_area + i % runs * s.out[2] + at;
      RowFinish f;
      f.f = activation_of_row(s.act, s.slope != nullptr ? s.slope + channel0 + c : nullptr);
      if (s.residual != nullptr) {
        const float* const with = s.residual + (item * per_group() + c0) * out_area + place;
        (s.residual_times ? f.late_factor : s.residual_last ? f.late_residual : f.residual) = with;
      }
      finish_row_f32(y + place, count, f);
    }
  }

  void run_part(int64_t part) const {
    const int64_t v0 = b.size * part / b.parts, v1 = b.size * (part + 1) / b.parts;
    if (b.scaled || b.turned) {
      if (b.turned) multiply_turned();
      return finish(v0, v1, 0, area(s.in));
    }
    copy_filters();
    const bool whole = s.in[0] > 1;
    const int64_t pitch = whole ? area(s.in) : least(b.strip + b.halo, b.size) * b.line;
    int64_t from = most(0, v0 - b.halo);
    if (from < v0) multiply(from, v0, 0, pitch);
    for (int64_t i0 = v0; i0 < v1;) {
      const int64_t i1 = least(i0 + b.strip, v1), kept = least(b.halo, i1);
      multiply(i0, i1, i0 - from, pitch);
      finish(i0, i1, from, pitch);
      if (i1 < v1 && kept > 0) {
        const size_t bytes = static_cast<size_t>(kept * b.line) * sizeof(float);
        for (int64_t r = 0; r < rows(); ++r) {
          float* const row = products + r * pitch;
          memmove(row, row + (i1 - kept - from) * b.line, bytes);
        }
      }
      from = i1 - kept;
      i0 = i1;
    }
  }
};

}  // namespace

size_t transposed_f32_packed_floats(const ConvF32& s) {
  const int64_t depth = s.in_channels / s.groups;
  return depth <= kFewChannels || area(s.in) <= kFewPixels || empty(s)
             ? 0
             : static_cast<size_t>(depth * s.out_channels * area(s.kernel));
}

size_t conv_transpose_f32_scratch_bytes(const ConvF32& s, int32_t slots, Sizes sizes, bool packed) {
  if (empty(s)) return 0;
  if (sizes == Sizes::kFixed && is_column(s)) return conv_transpose_f32_scratch_bytes(as_line(s), slots, sizes, packed);
  size_t bytes = sizes == Sizes::kFixed ? blocks_of(s, slots, packed).bytes : slot_bound(s);
  if (sizes != Sizes::kFixed) {
    const size_t line = slot_bound(as_line(s));
    bytes = line > bytes ? line : bytes;
  }
  return up(bytes) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void conv_transpose_f32(const ConvF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
                        void* scratch) {
  if (empty(s)) return;
  if (is_column(s)) return conv_transpose_f32(as_line(s), x, weights, y, parallel, scratch);
  const Blocks b = blocks_of(s, parallel.slots, s.packed != nullptr);
  const int64_t per_group = s.out_channels / s.groups, depth = s.in_channels / s.groups, taps = area(s.kernel);
  const size_t room = up(b.bytes);
  parallel.for_range(s.n * s.groups * b.count * b.parts, 1, [&](int64_t begin, int64_t end, int32_t slot) {
    float* const mine = reinterpret_cast<float*>(static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t block = i / b.parts, item = block / b.count, c0 = block % b.count * b.channels;
      const int64_t channels = least(per_group - c0, b.channels);
      if (channels <= 0) continue;
      const Task task{s,
                      b,
                      item,
                      c0,
                      channels,
                      x + item * depth * area(s.in),
                      weights + item % s.groups * depth * per_group * taps + c0 * taps,
                      y + (item * per_group + c0) * area(s.out),
                      reinterpret_cast<Addend*>(mine),
                      mine + b.list,
                      mine + b.list + b.left,
                      mine + b.list + b.left + b.products,
                      mine + b.list + b.left + b.products + kLines};
      task.run_part(i % b.parts);
    }
  });
}

}  // namespace vireo::cpu
#endif
