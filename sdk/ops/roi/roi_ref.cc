#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/roi/roi_generated.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// A place on one axis of n elements: its neighbours and the upper one's weight. `inside` is false more than one element
// off.
struct Neighbours {
  int64_t low, high;
  double upper;
  bool inside;
};

Neighbours neighbours(double p, int64_t n) {
  if (!(p >= -1 && p <= static_cast<double>(n))) return {0, 0, 0, false};
  if (p < 0) p = 0;
  const int64_t low = static_cast<int64_t>(p);
  if (low >= n - 1) return {n - 1, n - 1, 0, true};
  return {low, low + 1, p - static_cast<double>(low), true};
}

// One axis of a region: where it starts, how long a bin is, and the points in each.
struct Bins {
  double start, step;
  int64_t points;
  double at(int64_t bin, int64_t point) const {
    return start + static_cast<double>(bin) * step +
           (static_cast<double>(point) + 0.5) * step / static_cast<double>(points);
  }
};

// Points [first, end) of a bin: all that lie in the map, and at most two that do not.
struct Run {
  int64_t first, end;
};

Bins make_bins(const attrs::RoiAlign& a, double from, double to, int64_t bins) {
  const double shift = a.half_pixel() ? 0.5 : 0, scale = static_cast<double>(a.spatial_scale());
  const double start = from * scale - shift;
  double length = to * scale - shift - start;
  if (!a.half_pixel() && length < 1) length = 1;
  const double step = length / static_cast<double>(bins);
  const double wanted = a.sampling_ratio() > 0 ? a.sampling_ratio() : ceil(step);
  return {start, step, wanted > 0 ? static_cast<int64_t>(wanted < 0x1p40 ? wanted : 0x1p40) : 0};
}

// Only points in the map have a value, and there are at most some two an element where the points follow from the
// region. So the work is bounded by the map, however large a region the data ask for.
Run points_inside(const Bins& b, int64_t bin, int64_t n) {
  const double between = b.step / static_cast<double>(b.points);
  if (between <= 0) return {0, b.points};  // a region turned around: as many as sampling_ratio says
  const double origin = b.start + static_cast<double>(bin) * b.step;
  const double first = floor((-1 - origin) / between - 0.5),
               end = ceil((static_cast<double>(n) - origin) / between + 0.5);
  const double all = static_cast<double>(b.points);
  if (!(first < all && end > 0)) return {0, 0};  // also where the region has no finite place
  return {first > 0 ? static_cast<int64_t>(first) : 0, end < all ? static_cast<int64_t>(end) : b.points};
}

template <class T>
double pool_bin(const attrs::RoiAlign& a, const T* plane, int64_t h, int64_t w, const Bins& rows, const Bins& columns,
                int64_t row, int64_t column) {
  const Run down = points_inside(rows, row, h), across = points_inside(columns, column, w);
  double sum = 0;
  // The largest counts points outside as 0.
  bool first = (down.end - down.first) == rows.points && (across.end - across.first) == columns.points;
  for (int64_t i = down.first; i < down.end; ++i) {
    const Neighbours y = neighbours(rows.at(row, i), h);
    for (int64_t j = across.first; j < across.end; ++j) {
      const Neighbours x = neighbours(columns.at(column, j), w);
      double part[4] = {};
      if (y.inside && x.inside) {
        const auto value = [&](int64_t r, int64_t c) {
          return static_cast<double>(static_cast<compute_t<T>>(plane[r * w + c]));
        };
        part[0] = (1 - y.upper) * (1 - x.upper) * value(y.low, x.low);
        part[1] = (1 - y.upper) * x.upper * value(y.low, x.high);
        part[2] = y.upper * (1 - x.upper) * value(y.high, x.low);
        part[3] = y.upper * x.upper * value(y.high, x.high);
      }
      if (!a.max()) {
        sum += part[0] + part[1] + part[2] + part[3];
        continue;
      }
      for (const double v : part) {
        if (first || v > sum) sum = v;
        first = false;
      }
    }
  }
  const double count = static_cast<double>(rows.points) * static_cast<double>(columns.points);
  return a.max() || count == 0 ? sum : sum / count;
}

Status run_align(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::RoiAlign>();
  const Tensor& x = *ctx.in(0);
  const Tensor& rois = *ctx.in(1);
  const Tensor& batch = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  const int64_t channels = x.shape[1], h = x.shape[2], w = x.shape[3];
  for (int64_t r = 0; r < y.shape[0]; ++r) {
    const int64_t n = read_integer(batch.dtype, batch.data, r);
    if (n < 0 || n >= x.shape[0] || h == 0 || w == 0) {
      return ctx.fail(Status::kInvalidArgument, "RoiAlign: region {} is of batch entry {} of {}", r, n, x.shape);
    }
  }
  return dispatch_float(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = y.as<T>();
    for (int64_t r = 0; r < y.shape[0]; ++r) {
      const int64_t n = read_integer(batch.dtype, batch.data, r);
      double roi[4];
      for (int k = 0; k < 4; ++k) roi[k] = read_real(rois.dtype, rois.data, r * 4 + k);
      const Bins rows = make_bins(a, roi[1], roi[3], y.shape[2]), columns = make_bins(a, roi[0], roi[2], y.shape[3]);
      for (int64_t c = 0; c < channels; ++c) {
        const T* plane = x.as<const T>() + (n * channels + c) * h * w;
        for (int64_t i = 0; i < y.shape[2]; ++i) {
          for (int64_t j = 0; j < y.shape[3]; ++j) {
            *out++ = T(static_cast<compute_t<T>>(pool_bin(a, plane, h, w, rows, columns, i, j)));
          }
        }
      }
    }
    return Status::kOk;
  });
}

int64_t to_index(double v) { return v > 1e9 ? 1000000000 : v > -1e9 ? static_cast<int64_t>(v) : -1000000000; }

// Elements [low, high) of bin k of a region's axis from `first` to `last`, both included, cut to [0, n).
void bin_range(int64_t first, int64_t last, int64_t k, int64_t bins, int64_t n, int64_t* low, int64_t* high) {
  const double length = static_cast<double>(last - first + 1 > 1 ? last - first + 1 : 1);
  const double step = length / static_cast<double>(bins);
  *low = first + to_index(floor(static_cast<double>(k) * step));
  *high = first + to_index(ceil(static_cast<double>(k + 1) * step));
  *low = *low < 0 ? 0 : *low > n ? n : *low;
  *high = *high < 0 ? 0 : *high > n ? n : *high;
}

Status run_max(const KernelContext& ctx) {
  const double scale = static_cast<double>(ctx.attrs<attrs::MaxRoiPool>().spatial_scale());
  const Tensor& x = *ctx.in(0);
  const Tensor& rois = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  const int64_t channels = x.shape[1], h = x.shape[2], w = x.shape[3];
  for (int64_t r = 0; r < y.shape[0]; ++r) {
    const double n = read_real(rois.dtype, rois.data, r * 5);
    if (!(n >= 0 && n < static_cast<double>(x.shape[0]))) {
      return ctx.fail(Status::kInvalidArgument, "MaxRoiPool: region {} is of no batch entry of {}", r, x.shape);
    }
  }
  return dispatch_float(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = y.as<T>();
    for (int64_t r = 0; r < y.shape[0]; ++r) {
      int64_t at[5];
      at[0] = to_index(read_real(rois.dtype, rois.data, r * 5));
      for (int k = 1; k < 5; ++k) at[k] = to_index(round(read_real(rois.dtype, rois.data, r * 5 + k) * scale));
      for (int64_t c = 0; c < channels; ++c) {
        const T* plane = x.as<const T>() + (at[0] * channels + c) * h * w;
        for (int64_t i = 0; i < y.shape[2]; ++i) {
          int64_t top = 0, bottom = 0, left = 0, right = 0;
          bin_range(at[2], at[4], i, y.shape[2], h, &top, &bottom);
          for (int64_t j = 0; j < y.shape[3]; ++j) {
            bin_range(at[1], at[3], j, y.shape[3], w, &left, &right);
            T best = T(0);
            for (int64_t p = top; p < bottom; ++p) {
              for (int64_t q = left; q < right; ++q) {
                const T v = plane[p * w + q];
                if ((p == top && q == left) || v > best) best = v;
              }
            }
            *out++ = best;
          }
        }
      }
    }
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kRoiAlignRef;
extern const RefKernel kMaxRoiPoolRef;
const RefKernel kRoiAlignRef = {run_align, nullptr};
const RefKernel kMaxRoiPoolRef = {run_max, nullptr};

}  // namespace vireo
