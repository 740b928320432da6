#include "delegates/cpu/kernels/conv/conv.h"

#include <string.h>

#include "delegates/cpu/kernels/conv/depthwise_of.h"
#include "delegates/cpu/kernels/conv/direct.h"
#include "delegates/cpu/kernels/conv/lines.h"
#include "delegates/cpu/kernels/gemm/engine.h"
#include "delegates/cpu/kernels/sme/sme.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/conv/conv.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_PATCHES_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_PATCHES_
namespace vireo::cpu {
// The input of one group of one image, as the source of patches.
struct Patches {
  const ConvF32* shape;
  const float* x;      // [C / groups, D, H, W]
  const float* x_end;  // of the whole tensor: vectors may read up to here
};
}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// Columns of a panel that lie in one row of the output.
struct Segment {
  int64_t column, count;
  int64_t z, y, x;  // input position of the first column's tap (0, 0, 0)
};

// Neighbouring columns of a panel's row: floats that lie `step` apart from `from` on in each plane, or zeros.
struct Run {
  int64_t column, count;
  int64_t from;  // in a plane; kZeros
};
constexpr int64_t kZeros = -1;

// Writes a run to `rows` rows of panels, `to_step` apart. Their planes begin at `from`, `from_step` apart; nothing is
// read from `from_end` on. Vectors end where a row does, `room` columns from the run's first on. What they write beyond
// `count` is overwritten by the runs that follow. `ahead` floats behind is what the next panel reads.
void copy_run(const float* from, int64_t from_step, const float* from_end, int64_t ahead, int64_t step, int64_t count,
              int64_t room, int64_t rows, float* to, int64_t to_step) {
  const DF d;
  if (step > 2) {
    for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
    }
    return;
  }
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<size_t>(count - i < kLanes ? count - i : kLanes);
    const bool whole = i + kLanes <= room;
    const float* x = from + i * step;
    float* y = to + i;
    int64_t r = 0;
    for (; r < rows && x + kLanes * step <= from_end; ++r, x += from_step, y += to_step) {
      __builtin_prefetch(x + ahead);
      hn::Vec<DF> v, odd;
      if (step == 1) {
        v = hn::LoadU(d, x);
      } else {
        hn::LoadInterleaved2(d, x, v, odd);
      }
      whole ? hn::StoreU(v, d, y) : hn::StoreN(v, d, y, rest);
    }
    for (; r < rows; ++r, x += from_step, y += to_step) {
      for (size_t j = 0; j < rest; ++j) y[j] = x[static_cast<int64_t>(j) * step];
    }
  }
}
void zero_run(int64_t count, int64_t room, int64_t rows, float* to, int64_t to_step) {
  const DF d;
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto rest = static_cast<size_t>(count - i < kLanes ? count - i : kLanes);
    const bool whole = i + kLanes <= room;
    float* y = to + i;
    for (int64_t r = 0; r < rows; ++r, y += to_step)
      whole ? hn::StoreU(hn::Zero(d), d, y) : hn::StoreN(hn::Zero(d), d, y, rest);
  }
}

// The runs of one tap in a panel's row of `width` columns, as few as they come to: lines that go on in memory are one.
struct Runs {
  Run runs[3 * 32 + 1];
  int count = 0;

  void add(int64_t column, int64_t columns, int64_t from, int64_t step) {
    if (columns <= 0) return;
    Run& last = runs[count > 0 ? count - 1 : 0];
    if (count > 0 &&
        (from == kZeros ? last.from == kZeros : last.from != kZeros && last.from + last.count * step == from)) {
      last.count += columns;
      return;
    }
    runs[count++] = {column, columns, from};
  }
};

// B[k, n] = x[i, z + kz, y + ky, x + kx] for k = (i, kz, ky, kx) and n = (oz, oy, ox): the patch matrix, a panel at a
// time. Where a tap's runs lie is found once for several channels; more of them would leave the first-level cache
// before the next tap reads the same lines.
void pack_patches(const void* context, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int64_t width, float* panels) {
  constexpr int64_t kChannels = 32;
  const Patches& p = *static_cast<const Patches*>(context);
  const ConvF32& s = *p.shape;
  const int64_t depth = s.in[0], height = s.in[1], in_width = s.in[2], in_area = depth * height * in_width;
  const int64_t taps_h = s.kernel[1], taps_w = s.kernel[2], taps = s.kernel[0] * taps_h * taps_w;
  const int64_t step = s.stride[2], k1 = k0 + kc;
  Segment segments[32];
  for (int64_t j = 0; j < nc; j += width, panels += kc * width) {
    const int64_t columns = nc - j < width ? nc - j : width;
    int count = 0;
    for (int64_t c = 0; c < columns;) {
      const int64_t n = n0 + j + c, ox = n % s.out[2], row = n / s.out[2];
      Segment& segment = segments[count++];
      segment.column = c;
      segment.count = s.out[2] - ox < columns - c ? s.out[2] - ox : columns - c;
      segment.z = row / s.out[1] * s.stride[0] - s.pad[0];
      segment.y = row % s.out[1] * s.stride[1] - s.pad[1];
      segment.x = ox * step - s.pad[2];
      c += segment.count;
    }
    for (int64_t c0 = k0 / taps; c0 * taps < k1; c0 += kChannels) {
      int64_t kz = 0, ky = 0, kx = -1;
      for (int64_t tap = 0; tap < taps; ++tap) {
        if (++kx == taps_w) {
          kx = 0;
          if (++ky == taps_h) {
            ky = 0;
            ++kz;
          }
        }
        int64_t channel = c0, end = c0 + kChannels;
        if (channel * taps + tap < k0) ++channel;
        if ((end - 1) * taps + tap >= k1) end = k1 > tap ? (k1 - tap + taps - 1) / taps : 0;
        if (channel >= end) continue;
        const int64_t dz = kz * s.dilation[0], dy = ky * s.dilation[1], dx = kx * s.dilation[2];
        Runs runs;
        for (int i = 0; i < count; ++i) {
          const Segment& segment = segments[i];
          const int64_t z = segment.z + dz, y = segment.y + dy, x = segment.x + dx;
          int64_t skip = 0, stop = segment.count;
          if (static_cast<uint64_t>(z) >= static_cast<uint64_t>(depth) ||
              static_cast<uint64_t>(y) >= static_cast<uint64_t>(height)) {
            skip = stop;
          } else {
            if (x < 0) {
              skip = (-x + step - 1) / step;
              if (skip > stop) skip = stop;
            }
            if (x + (stop - 1) * step >= in_width) {
              stop = in_width > x ? (in_width - x + step - 1) / step : 0;
              if (stop < skip) stop = skip;
            }
          }
          runs.add(segment.column, skip, kZeros, 0);
          runs.add(segment.column + skip, stop - skip, (z * height + y) * in_width + x + skip * step, step);
          runs.add(segment.column + stop, segment.count - stop, kZeros, 0);
        }
        runs.add(columns, width - columns, kZeros, 0);
        float* const to = panels + (channel * taps + tap - k0) * width;
        for (int i = 0; i < runs.count; ++i) {
          const Run& run = runs.runs[i];
          if (run.from == kZeros) {
            zero_run(run.count, width - run.column, end - channel, to + run.column, taps * width);
          } else {
            copy_run(p.x + channel * in_area + run.from, in_area, p.x_end, width * step, step, run.count,
                     width - run.column, end - channel, to + run.column, taps * width);
          }
        }
      }
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(pack_patches);

namespace {

bool is_product(const ConvF32& s) {
  for (int i = 0; i < 3; ++i) {
    if (s.kernel[i] != 1 || s.stride[i] != 1 || s.pad[i] != 0 || s.in[i] != s.out[i]) return false;
  }
  return true;
}

bool is_depthwise(const ConvF32& s) {
  return s.groups == s.in_channels && s.kernel[0] == 1 && s.stride[0] == 1 && s.pad[0] == 0 && s.in[0] == s.out[0] &&
         s.groups > 1;
}

struct Split {
  bool over_items;  // threads take images and groups; else the inside of each
  ProductPlan plan;
  size_t slot_bytes;
};

Split split_of(const ConvF32& s, int32_t slots) {
  const int64_t items = s.n * s.groups;
  Split split;
  split.over_items = items > 1 && items >= slots;
  split.plan = plan_product(s.out_channels / s.groups, area(s.out), s.in_channels / s.groups * area(s.kernel),
                            is_product(s), split.over_items ? 1 : slots);
  split.slot_bytes = (split.plan.bytes + 63) & ~size_t{63};
  return split;
}

// One pixel: channels first and last are the same, and images are rows of a matrix product.
bool is_one_pixel(const ConvF32& s) { return s.groups == 1 && area(s.in) == 1 && is_product(s); }

GemmF32 one_pixel(const ConvF32& s) {
  GemmF32 g;
  g.m = s.n;
  g.n = g.ldc = s.out_channels;
  g.k = g.lda = g.ldb = s.in_channels;
  g.trans_b = true;
  g.epilogue.col_bias = s.bias;
  g.epilogue.residual = s.residual;
  g.epilogue.residual_stride = s.out_channels;
  g.epilogue.residual_last = s.residual_last;
  g.epilogue.residual_times = s.residual_times;
  g.epilogue.col_slope = s.slope;
  g.epilogue.act = s.act;
  return g;
}

// A depth axis of a depthwise convolution is so many planes more only when there is none: D = 1.
bool goes_depthwise(const ConvF32& s) { return is_depthwise(s) && s.in[0] == 1; }

// Outer products repay patches of as many filters as they take.
bool has_rows_for_outer_products(const ConvF32& s) { return s.out_channels / s.groups >= kFewestSmeRows; }
bool goes_direct(const ConvF32& s) {
  return conv_direct_f32_serves(s) && !(has_rows_for_outer_products(s) && has_sme_f32());
}

size_t most_of(size_t a, size_t b) { return a > b ? a : b; }

// Which way smaller images go is not known.
size_t scratch_bound(const ConvF32& s, int32_t slots) {
  const auto threads = static_cast<size_t>(slots < 1 ? 1 : slots);
  // Fewer channels a filter, or a depth axis that shrinks to 1, may make it depthwise.
  const auto planes = [&](const ConvF32& t) {
    return t.groups > 1 ? depthwise_f32_scratch_bytes(depthwise_of(t), slots, Sizes::kUpperBounds) : 0;
  };
  const auto direct = [&](const ConvF32& t) {
    return static_cast<size_t>(conv_direct_f32_slot_floats(t, Sizes::kUpperBounds)) * sizeof(float) * threads;
  };
  const size_t product =
      product_scratch_bound(s.out_channels / s.groups, area(s.out), s.in_channels / s.groups * area(s.kernel), slots) +
      64 * threads;
  const size_t pixel =
      is_product(s) && s.groups == 1 ? gemm_f32_scratch_bytes(one_pixel(s), slots, Sizes::kUpperBounds) : 0;
  const ConvF32 line = as_line(s);
  return most_of(most_of(most_of(planes(s), planes(line)), most_of(direct(s), direct(line))), most_of(product, pixel));
}

}  // namespace

size_t conv_f32_scratch_bytes(const ConvF32& s, int32_t slots, Sizes sizes) {
  if (empty(s)) return 0;
  if (sizes == Sizes::kUpperBounds) return scratch_bound(s, slots);
  if (is_column(s)) return conv_f32_scratch_bytes(as_line(s), slots, sizes);
  if (goes_depthwise(s)) return depthwise_f32_scratch_bytes(depthwise_of(s), slots, sizes);
  if (is_one_pixel(s)) return gemm_f32_scratch_bytes(one_pixel(s), slots, sizes);
  const auto threads = static_cast<size_t>(slots < 1 ? 1 : slots);
  const bool serves = conv_direct_f32_serves(s);
  const size_t direct =
      serves ? static_cast<size_t>(conv_direct_f32_slot_floats(s, sizes)) * sizeof(float) * threads : 0;
  if (serves && !has_rows_for_outer_products(s)) return direct;
  const Split split = split_of(s, slots);
  return most_of(direct, split.over_items ? split.slot_bytes * threads : split.slot_bytes);
}

void conv_f32(const ConvF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
              void* scratch) {
  if (empty(s)) return;
  if (is_column(s)) {
    conv_f32(as_line(s), x, weights, y, parallel, scratch);
    return;
  }
  if (goes_depthwise(s)) {
    depthwise_f32(depthwise_of(s), x, weights, y, parallel, scratch);
    return;
  }
  if (is_one_pixel(s)) {
    gemm_f32(one_pixel(s), x, weights, y, parallel, scratch);
    return;
  }
  if (goes_direct(s)) {
    conv_direct_f32(s, x, weights, y, parallel, static_cast<float*>(scratch));
    return;
  }
  const Split split = split_of(s, parallel.slots);
  const bool product = is_product(s);
  const int64_t in_area = area(s.in), out_area = area(s.out);
  const int64_t m = s.out_channels / s.groups, depth = s.in_channels / s.groups;
  const auto patches = HWY_DYNAMIC_POINTER(pack_patches);
  const auto item = [&](int64_t i, const Parallel& spread, void* room) {
    const int64_t group = i % s.groups;
    const Patches source{&s, x + i * depth * in_area, x + s.n * s.in_channels * in_area};
    const MatrixB matrix{source.x, in_area};
    Epilogue e;
    e.row_bias = s.bias != nullptr ? s.bias + group * m : nullptr;
    e.residual = s.residual != nullptr ? s.residual + i * m * out_area : nullptr;
    e.residual_stride = out_area;
    e.residual_last = s.residual_last;
    e.residual_times = s.residual_times;
    e.act = s.act;
    e.row_slope = s.slope != nullptr ? s.slope + group * m : nullptr;
    Product p;
    p.m = m;
    p.n = out_area;
    p.k = depth * area(s.kernel);
    p.a = weights + group * m * p.k;
    p.a_row = p.k;
    p.a_col = 1;
    p.b.pack = product ? pack_matrix_rows() : patches;
    p.b.context = product ? static_cast<const void*>(&matrix) : &source;
    p.b.rows = product ? source.x : nullptr;
    p.b.row_stride = in_area;
    p.c = y + i * m * out_area;
    p.c_row = out_area;
    p.epilogue = &e;
    run_product(p, split.plan, spread, room);
  };
  const int64_t items = s.n * s.groups;
  if (!split.over_items) {
    for (int64_t i = 0; i < items; ++i) item(i, parallel, scratch);
    return;
  }
  const int64_t grain = (int64_t{1} << 19) / (m * out_area * depth * area(s.kernel) + 1) + 1;
  parallel.for_range(items, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    void* const mine = static_cast<char*>(scratch) + static_cast<size_t>(slot) * split.slot_bytes;
    for (int64_t i = begin; i < end; ++i) item(i, Parallel{}, mine);
  });
}

}  // namespace vireo::cpu
#endif
