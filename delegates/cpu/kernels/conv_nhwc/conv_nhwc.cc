#include "delegates/cpu/kernels/conv_nhwc/conv_nhwc.h"

#include <string.h>

#include "delegates/cpu/kernels/conv/depthwise_of.h"
#include "delegates/cpu/kernels/conv_image/conv_image.h"
#include "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.h"
#include "delegates/cpu/kernels/gemm/engine.h"

namespace vireo::cpu {
namespace {

constexpr int64_t kPatchFloats = 64 * 1024;        // patches of some pixels: 256 KiB, within a core's own cache
constexpr int64_t kMorePatchFloats = 256 * 1024;   // where all filters come from far away for each block of pixels
constexpr int64_t kLeastPixels = 14;               // a register tile
constexpr int64_t kPanelFloats = 2 * 1024 * 1024;  // packed filters: 8 MiB; more go in blocks of output channels
constexpr int64_t kResultFloats = 128 * 1024;      // where sums are added to in blocks of k

int64_t area(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }
int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

bool empty(const ConvF32& s) { return s.n <= 0 || s.out_channels <= 0 || area(s.out) <= 0; }

bool is_depthwise(const ConvF32& s) {
  return s.groups == s.in_channels && s.groups == s.out_channels && s.groups > 1 && s.kernel[0] == 1 &&
         s.stride[0] == 1 && s.pad[0] == 0 && s.in[0] == 1 && s.out[0] == 1;
}

// One pixel lies as channels first do, and has a product of its own there.
bool is_one_pixel(const ConvF32& s) { return area(s.in) == 1 && area(s.out) == 1 && area(s.kernel) == 1; }

// Where the rows of A come from.
enum class Rows {
  kWhole,    // x as it lies, all pixels at one distance
  kLine,     // x as it lies, the pixels of one line of the output at one distance
  kImage,    // x as it lies, a run for each row of the window
  kPatches,  // copied
};

Rows rows_of(const ConvF32& s) {
  if (s.packed_f16 == nullptr && conv_image_f32_serves(s)) return Rows::kImage;
  for (int i = 0; i < 3; ++i) {
    if (s.pad[i] != 0 || (i < 2 && s.kernel[i] != 1)) return Rows::kPatches;
    if ((s.out[i] - 1) * s.stride[i] + (s.kernel[i] - 1) * s.dilation[i] + 1 > s.in[i]) return Rows::kPatches;
  }
  if (s.kernel[2] > 1 && (s.dilation[2] != 1 || s.groups != 1)) return Rows::kPatches;
  const bool one_line = s.out[0] == 1 && s.out[1] == 1;
  const bool dense = s.kernel[2] == 1 && s.stride[0] == 1 && s.stride[1] == 1 && s.stride[2] == 1 &&
                     s.out[1] == s.in[1] && s.out[2] == s.in[2];
  if (one_line || dense) return Rows::kWhole;
  // All filters pass for each line: for a short one they cost more than copying its pixels.
  return s.out[2] < 4 * kLeastPixels ? Rows::kPatches : Rows::kLine;
}

// The filters of one group as B, [(kernel..., C / groups), O / groups]: patches of pixels have the channels last.
struct Filters {
  const float* data;
  int64_t channels, taps;
};

void pack_filters(const void* context, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int64_t width, float* panels) {
  if (kc == 0) return;
  const Filters& f = *static_cast<const Filters*>(context);
  const int64_t row = f.channels * f.taps;
  for (int64_t j = 0; j < nc; j += width, panels += kc * width) {
    const int64_t columns = nc - j < width ? nc - j : width;
    if (columns < width) memset(panels, 0, static_cast<size_t>(kc * width) * sizeof(float));
    const float* const from = f.data + (n0 + j) * row;
    for (int64_t c = 0; c < columns; ++c) {
      int64_t tap = k0 / f.channels, channel = k0 % f.channels;
      const float* const filter = from + c * row;
      float* to = panels + c;
      for (int64_t k = 0; k < kc;) {
        const int64_t run = at_most(f.channels - channel, kc - k);
        const float* tap_of = filter + channel * f.taps + tap;
        for (int64_t i = 0; i < run; ++i, tap_of += f.taps, to += width) *to = *tap_of;
        k += run;
        channel = 0;
        ++tap;
      }
    }
  }
}

// A run of a patch. What a call of memcpy costs would be several times what a short run does: it goes in whole lines,
// into kSlack floats behind it, which the next run overwrites, where x has so many to read before `end`.
constexpr int64_t kSlack = 16;
constexpr int64_t kShortRun = 128;
void copy_run(const float* from, int64_t floats, const float* end, float* to) {
  const int64_t lines = (floats + kSlack - 1) / kSlack;
  if (floats <= kSlack / 2 && end - from >= kSlack / 2) {
    memcpy(to, from, kSlack / 2 * sizeof(float));
    return;
  }
  if (floats > kShortRun || end - from < lines * kSlack) {
    memcpy(to, from, static_cast<size_t>(floats) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < lines; ++i) memcpy(to + i * kSlack, from + i * kSlack, kSlack * sizeof(float));
}

// Nor is memset worth its call for a few floats.
void clear(float* to, int64_t floats) {
  if (floats > kSlack) {
    memset(to, 0, static_cast<size_t>(floats) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < floats; ++i) to[i] = 0;
}

// Where the window of pixel `p` begins.
struct Corner {
  int64_t z, y, x;
};
Corner corner_of(const ConvF32& s, int64_t p) {
  return {p / (s.out[1] * s.out[2]) * s.stride[0] - s.pad[0], p / s.out[2] % s.out[1] * s.stride[1] - s.pad[1],
          p % s.out[2] * s.stride[2] - s.pad[2]};
}
// Of the next pixel: divisions would take as long as a small patch.
void advance(const ConvF32& s, Corner* c) {
  c->x += s.stride[2];
  if (c->x < s.out[2] * s.stride[2] - s.pad[2]) return;
  c->x = -s.pad[2];
  c->y += s.stride[1];
  if (c->y < s.out[1] * s.stride[1] - s.pad[1]) return;
  c->y = -s.pad[1];
  c->z += s.stride[0];
}

// The patches of pixels [p0, p0 + count) of one image, [count, kernel..., channels], and kSlack floats behind. `x`: at
// the group's first channel; x is readable up to `end`.
void copy_patches(const ConvF32& s, const float* x, const float* end, int64_t p0, int64_t count, float* to) {
  const int64_t channels = s.in_channels / s.groups, row = s.kernel[2] * channels;
  const size_t pixel_bytes = static_cast<size_t>(channels) * sizeof(float);
  const bool runs = s.dilation[2] == 1 && s.groups == 1;  // neighbouring taps are neighbours in x
  Corner at = corner_of(s, p0);
  for (int64_t p = 0; p < count; ++p, advance(s, &at)) {
    const bool whole = runs && at.x >= 0 && at.x + s.kernel[2] <= s.in[2];
    // Floats [first, last) of a run lie in the image.
    const int64_t first = at_most(at_least(-at.x, 0) * channels, row);
    const int64_t last = at_least(at_most((s.in[2] - at.x) * channels, row), first);
    for (int64_t kz = 0; kz < s.kernel[0]; ++kz) {
      for (int64_t ky = 0; ky < s.kernel[1]; ++ky, to += row) {
        const int64_t z = at.z + kz * s.dilation[0], y = at.y + ky * s.dilation[1];
        if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1]) {
          clear(to, row);
          continue;
        }
        const float* const line = x + (z * s.in[1] + y) * s.in[2] * s.in_channels;
        if (whole) {
          copy_run(line + at.x * channels, row, end, to);
          continue;
        }
        if (runs) {
          // What is copied too much lies where the zeros behind it go, or the next run.
          if (first > 0) clear(to, first);
          if (last > first) copy_run(line + at.x * channels + first, last - first, end, to + first);
          if (last < row) clear(to + last, row - last);
          continue;
        }
        for (int64_t kx = 0; kx < s.kernel[2]; ++kx) {
          const int64_t tap = at.x + kx * s.dilation[2];
          if (tap < 0 || tap >= s.in[2]) {
            memset(to + kx * channels, 0, pixel_bytes);
          } else {
            memcpy(to + kx * channels, line + tap * s.in_channels, pixel_bytes);
          }
        }
      }
    }
  }
}

// Whole register tiles, and blocks of nearly one size.
int64_t patch_pixels(int64_t pixels, int64_t k, bool packed) {
  const int64_t most = at_least((packed ? kMorePatchFloats : kPatchFloats) / at_least(k, 1), kLeastPixels);
  if (pixels <= most) return pixels;
  const int64_t blocks = (pixels + most - 1) / most;
  return at_most(((pixels + blocks - 1) / blocks + kLeastPixels - 1) / kLeastPixels * kLeastPixels, most);
}

struct Plan {
  Rows rows;
  int64_t k, columns;  // output channels at a time, of a group
  int64_t pixels;      // at a time
  size_t panel_floats, patch_floats;
};

Plan plan_of(const ConvF32& s, bool packed) {
  Plan p;
  p.rows = rows_of(s);
  p.k = s.in_channels / s.groups * area(s.kernel);
  const int64_t n = (s.out_channels / s.groups + 31) / 32 * 32;
  p.columns = packed || p.rows == Rows::kImage ? n : at_most(n, at_least(kPanelFloats / at_least(p.k, 1) / 32, 1) * 32);
  p.panel_floats = packed ? 0 : static_cast<size_t>(p.k * p.columns);
  p.pixels = at_least(kResultFloats / p.columns, 2 * kLeastPixels);
  p.patch_floats = 0;
  if (p.rows == Rows::kImage) {
    p.patch_floats = static_cast<size_t>(conv_image_f32_slot_floats(s, Sizes::kFixed));
  } else if (p.rows == Rows::kPatches) {
    p.pixels = patch_pixels(area(s.out), p.k, packed);
    p.patch_floats = static_cast<size_t>((p.pixels * p.k + 15) / 16 * 16 + kSlack);
  }
  return p;
}

// The product of all output channels of one group; its rows are set for each block of pixels.
Product product_of(const ConvF32& s, int64_t k, const Epilogue& e) {
  Product p;
  p.n = s.out_channels / s.groups;
  p.k = p.a_row = k;
  p.a_col = 1;
  p.b.rows = nullptr;
  p.b.row_stride = 0;
  p.b.pack = nullptr;
  p.b.context = nullptr;
  p.c_row = s.out_channels;
  p.m = 0;
  p.a = nullptr;
  p.c = nullptr;
  p.epilogue = &e;
  p.part = area(s.out) > 1;
  return p;
}

// Packs the filters of output channels [first, first + n).
void pack_block(const ConvF32& s, const float* weights, int64_t first, int64_t n, const Parallel& parallel,
                float* panels) {
  const int64_t taps = area(s.kernel), k = s.in_channels / s.groups * taps;
  const Filters filters{weights + first * k, s.in_channels / s.groups, taps};
  const MatrixB matrix{filters.data, k};
  const Epilogue none;
  Product p = product_of(s, k, none);
  p.n = n;
  p.b.pack = taps == 1 ? pack_matrix_columns() : pack_filters;
  p.b.context = taps == 1 ? static_cast<const void*>(&matrix) : &filters;
  pack_product(p, parallel, panels);
}

}  // namespace

int64_t conv_nhwc_f32_packed_floats(const ConvF32& s) {
  if (empty(s) || is_depthwise(s)) return 0;
  return s.groups * packed_floats(s.out_channels / s.groups, s.in_channels / s.groups * area(s.kernel));
}

void pack_conv_nhwc_f32(const ConvF32& s, const float* weights, const Parallel& parallel, float* packed) {
  const int64_t n = s.out_channels / s.groups;
  const int64_t step = conv_nhwc_f32_packed_floats(s) / s.groups;
  for (int64_t g = 0; g < s.groups; ++g) pack_block(s, weights, g * n, n, parallel, packed + g * step);
}

size_t conv_nhwc_f32_scratch_bytes(const ConvF32& s, int32_t slots, Sizes sizes, bool packed) {
  if (empty(s)) return 0;
  const size_t threads = static_cast<size_t>(slots < 1 ? 1 : slots);
  if (!packed && is_depthwise(s)) return depthwise_nhwc_f32_scratch_bytes(depthwise_of(s));
  if (!packed && is_one_pixel(s) && sizes == Sizes::kFixed) return conv_f32_scratch_bytes(s, slots, sizes);
  if (sizes == Sizes::kFixed) {
    const Plan p = plan_of(s, packed);
    return (p.panel_floats + threads * p.patch_floats) * sizeof(float);
  }
  // Smaller sizes take wider blocks of channels or more pixels, never more floats than these.
  const int64_t k = s.in_channels / s.groups * area(s.kernel);
  const int64_t n = (s.out_channels / s.groups + 31) / 32 * 32;
  const int64_t panels = packed ? 0 : at_most(k * n, at_least(kPanelFloats, k * 32));
  const int64_t most = packed ? kMorePatchFloats : kPatchFloats;
  const int64_t patches = at_least(at_most(k * area(s.out), at_least(most, k * kLeastPixels)) + 16 + kSlack,
                                   conv_image_f32_slot_floats(s, Sizes::kUpperBounds));
  const size_t own = (static_cast<size_t>(panels) + threads * static_cast<size_t>(patches)) * sizeof(float);
  const size_t pixel = !packed && area(s.kernel) == 1 ? conv_f32_scratch_bytes(s, slots, sizes) : 0;
  const size_t planes = !packed && s.groups > 1 ? depthwise_nhwc_f32_scratch_bytes(depthwise_of(s)) : 0;
  const size_t larger = own > pixel ? own : pixel;
  return larger > planes ? larger : planes;
}

void conv_nhwc_f32(const ConvF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
                   void* scratch) {
  if (empty(s)) return;
  // Filters that were packed at the bounds go as they are.
  const bool packed = s.packed != nullptr || s.packed_f16 != nullptr;
  if (!packed && is_depthwise(s)) {
    depthwise_nhwc_f32(depthwise_of(s), x, weights, y, parallel, scratch);
    return;
  }
  if (!packed && is_one_pixel(s)) {
    conv_f32(s, x, weights, y, parallel, scratch);
    return;
  }
  const Plan plan = plan_of(s, packed);
  if (plan.rows == Rows::kImage) {
    float* const room = static_cast<float*>(scratch);
    if (s.packed == nullptr) pack_block(s, weights, 0, s.out_channels, parallel, room);
    conv_image_f32(s, x, s.packed != nullptr ? s.packed : room, y, parallel, room + plan.panel_floats);
    return;
  }
  const int64_t in_area = area(s.in), out_area = area(s.out);
  const int64_t channels = s.in_channels / s.groups, outputs = s.out_channels / s.groups;
  float* const room = static_cast<float*>(scratch);
  for (int64_t group = 0; group < s.groups; ++group) {
    for (int64_t n0 = 0; n0 < outputs; n0 += plan.columns) {
      const int64_t first = group * outputs + n0;  // of the output channels
      Epilogue e;
      e.col_bias = s.bias != nullptr ? s.bias + first : nullptr;
      e.residual_stride = s.out_channels;
      e.residual_last = s.residual_last;
      e.residual_times = s.residual_times;
      e.col_slope = s.slope != nullptr ? s.slope + first : nullptr;
      e.act = s.act;
      Product p = product_of(s, plan.k, e);
      p.n = at_most(outputs - n0, plan.columns);
      const float* panels = room;
      const uint16_t* const halves =
          s.packed_f16 != nullptr ? s.packed_f16 + group * packed_floats(outputs, plan.k) : nullptr;
      if (s.packed != nullptr) {
        panels = s.packed + group * packed_floats(outputs, plan.k);
      } else if (halves == nullptr) {
        pack_block(s, weights, first, p.n, parallel, room);
      }
      for (int64_t image = 0; image < s.n; ++image) {
        const float* const from = x + image * in_area * s.in_channels + group * channels;
        const int64_t grain = at_least((int64_t{1} << 18) / (p.n * plan.k + 1), 2 * kLeastPixels);
        parallel.for_range(out_area, grain, [&](int64_t begin, int64_t end, int32_t slot) {
          float* const patches = room + plan.panel_floats + static_cast<size_t>(slot) * plan.patch_floats;
          int64_t count = 0;
          for (int64_t at = begin; at < end; at += count) {
            Product part = p;
            Epilogue own = e;
            count = at_most(end - at, plan.pixels);
            if (plan.rows == Rows::kPatches) {
              copy_patches(s, from, x + s.n * in_area * s.in_channels, at, count, patches);
              part.a = patches;
            } else {
              const int64_t ox = at % s.out[2], line = at / s.out[2];
              if (plan.rows == Rows::kLine) count = at_most(count, s.out[2] - ox);
              const int64_t z = line / s.out[1] * s.stride[0], row = line % s.out[1] * s.stride[1];
              part.a = from + ((z * s.in[1] + row) * s.in[2] + ox * s.stride[2]) * s.in_channels;
              part.a_row = s.stride[2] * s.in_channels;
            }
            const int64_t to = (image * out_area + at) * s.out_channels + first;
            part.m = count;
            part.c = y + to;
            own.residual = s.residual != nullptr ? s.residual + to : nullptr;
            part.epilogue = &own;
            if (halves != nullptr) {
              run_packed(part, halves);
            } else {
              run_packed(part, panels);
            }
          }
        });
      }
    }
  }
}

}  // namespace vireo::cpu
