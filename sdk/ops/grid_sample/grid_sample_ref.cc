#include <math.h>

#include <limits>
#include <type_traits>

#include "sdk/ops/grid_sample/grid_sample_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

using Padding = attrs::GridSamplePadding;
using Mode = attrs::GridSampleMode;

// Mirrors x at the borders until it is between them.
double reflect(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  double at = fmod(x < low ? low - x : x - low, 2 * span);
  if (at > span) at = 2 * span - at;
  return low + at;
}

// The borders of n elements, for reflection.
double low_border(bool corners) { return corners ? 0 : -0.5; }
double high_border(bool corners, int64_t n) { return static_cast<double>(n) - (corners ? 1 : 0.5); }

// Element i, or -1 for 0.
int64_t element(const attrs::GridSample& a, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (a.padding()) {
    case Padding::zeros:
      return -1;
    case Padding::border:
      return i < 0 ? 0 : n - 1;
    default: {
      const bool c = a.align_corners();
      const int64_t at = static_cast<int64_t>(reflect(static_cast<double>(i), low_border(c), high_border(c, n)));
      return at < 0 ? 0 : at >= n ? n - 1 : at;
    }
  }
}

// [-1, 1] to element places, moved inside as the padding says. Bounded, so that it converts to an integer.
double place(const attrs::GridSample& a, double v, int64_t n, bool round) {
  const double d = static_cast<double>(n);
  double x = a.align_corners() ? (v + 1) / 2 * (d - 1) : ((v + 1) * d - 1) / 2;
  if (round) x = rint(x);
  const double low = low_border(a.align_corners()), high = high_border(a.align_corners(), n);
  if (!(x >= low && x <= high)) {
    if (x != x) x = -4;  // no number: outside
    if (a.padding() == Padding::border) x = x < 0 ? 0 : d - 1;
    if (a.padding() == Padding::reflection) x = reflect(x, low, high);
    if (x != x) x = low;  // an infinite one has no mirror image
  }
  return x < -4 ? -4 : x > d + 4 ? d + 4 : x;
}

// Weights of the elements floor(x) - 1 .. floor(x) + 2.
void cubic_weights(double t, double* w) {
  const double a = -0.75;
  const double far = 1 + t, near = 1 - t, past = 2 - t;
  w[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
  w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  w[2] = ((a + 2) * near - (a + 3)) * near * near + 1;
  w[3] = ((a * past - 5 * a) * past + 8 * a) * past - 4 * a;
}

// Integers as Cast makes them of floats, towards 0, but never beyond their range; bool: whether it is not 0.
void write_number(DType t, void* data, int64_t i, double v) {
  if (t == DType::kBool) {
    static_cast<uint8_t*>(data)[i] = v != 0;
    return;
  }
  (void)dispatch_number(t, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral<T>::value) {
      using Limits = std::numeric_limits<T>;
      static_cast<T*>(data)[i] = !(v > static_cast<double>(Limits::min())) ? Limits::min()
                                 : v < static_cast<double>(Limits::max())  ? static_cast<T>(v)
                                                                           : Limits::max();
    } else {
      static_cast<T*>(data)[i] = T(static_cast<compute_t<T>>(v));
    }
    return Status::kOk;
  });
}

struct Axis {
  int64_t at[4];  // elements, -1: 0
  double weight[4];
  int taps;
};

Axis make_axis(const attrs::GridSample& a, double x, int64_t n) {
  Axis s = {};
  const double low = floor(x);
  const int64_t first = static_cast<int64_t>(low);
  if (a.mode() == Mode::nearest) {
    s.taps = 1;
    s.weight[0] = 1;
    s.at[0] = element(a, first, n);
  } else if (a.mode() == Mode::linear) {
    s.taps = 2;
    s.weight[0] = 1 - (x - low);
    s.weight[1] = x - low;
    for (int j = 0; j < 2; ++j) s.at[j] = element(a, first + j, n);
  } else {
    s.taps = 4;
    cubic_weights(x - low, s.weight);
    for (int j = 0; j < 4; ++j) s.at[j] = element(a, first - 1 + j, n);
  }
  return s;
}

// Over the taps of the axes, from element `at` on.
template <class Read>
double gather(const Read& read, int64_t at, const int64_t* strides, const Axis* axes, int k) {
  if (k == 0) return read(at);
  double sum = 0;
  for (int j = 0; j < axes->taps; ++j) {
    if (axes->at[j] < 0) continue;
    sum += axes->weight[j] * gather(read, at + axes->at[j] * *strides, strides + 1, axes + 1, k - 1);
  }
  return sum;
}

// The one tap of each axis; -1: 0.
int64_t nearest(const int64_t* strides, const Axis* axes, int k) {
  int64_t at = 0;
  for (int i = 0; i < k; ++i) {
    if (axes[i].at[0] < 0) return -1;
    at += axes[i].at[0] * strides[i];
  }
  return at;
}

// Calls f(place of y in its image, axes, element of x and of y with which each image of them starts).
template <class F>
void for_each_place(const KernelContext& ctx, const F& f) {
  const auto& a = ctx.attrs<attrs::GridSample>();
  const Tensor& grid = *ctx.in(1);
  const Shape& x = ctx.in(0)->shape;
  const Shape& y = ctx.out(0)->shape;
  const int k = x.rank - 2;
  const int64_t places = product(y, 2, y.rank), size = product(x, 2, x.rank);
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t o = 0; o < places; ++o) {
      Axis axes[kMaxRank] = {};
      for (int i = 0; i < k; ++i) {
        const double v = read_real(grid.dtype, grid.data, (n * places + o) * k + k - 1 - i);
        axes[i] = make_axis(a, place(a, v, x[i + 2], a.mode() == Mode::nearest), x[i + 2]);
      }
      for (int64_t c = 0; c < x[1]; ++c) f(axes, (n * x[1] + c) * size, (n * x[1] + c) * places + o);
    }
  }
}

Status run_sample(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const int k = x.shape.rank - 2;
  if (product(x.shape, 2, x.shape.rank) == 0) {
    return y.count() == 0 ? Status::kOk : ctx.fail(Status::kInvalidArgument, "GridSample of nothing");
  }
  const StridedView dense = dense_view(x.shape);
  const int64_t* strides = dense.strides + 2;
  if (ctx.attrs<attrs::GridSample>().mode() == Mode::nearest) {
    return dispatch_size(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      for_each_place(ctx, [&](const Axis* axes, int64_t from, int64_t to) {
        const int64_t at = nearest(strides, axes, k);
        y.as<T>()[to] = at < 0 ? T() : x.as<const T>()[from + at];
      });
      return Status::kOk;
    });
  }
  if (dtype_is_float(x.dtype)) {
    return dispatch_float(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      for_each_place(ctx, [&](const Axis* axes, int64_t from, int64_t to) {
        const auto read = [&](int64_t i) { return static_cast<double>(static_cast<compute_t<T>>(x.as<const T>()[i])); };
        y.as<T>()[to] = T(static_cast<compute_t<T>>(gather(read, from, strides, axes, k)));
      });
      return Status::kOk;
    });
  }
  const bool pairs = x.dtype == DType::kC64 || x.dtype == DType::kC128;
  const DType part = x.dtype == DType::kC64 ? DType::kF32 : x.dtype == DType::kC128 ? DType::kF64 : x.dtype;
  const int64_t parts = pairs ? 2 : 1;
  for_each_place(ctx, [&](const Axis* axes, int64_t from, int64_t to) {
    for (int64_t p = 0; p < parts; ++p) {
      const auto read = [&](int64_t i) { return read_real(part, x.data, i * parts + p); };
      write_number(part, y.data, to * parts + p, gather(read, from, strides, axes, k));
    }
  });
  return Status::kOk;
}

Status run_affine(const KernelContext& ctx) {
  const bool corners = ctx.attrs<attrs::AffineGrid>().align_corners();
  const Tensor& theta = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const int k = static_cast<int>(theta.shape[1]);
  if (y.count() == 0) return Status::kOk;
  Shape extents;
  extents.rank = k + 1;  // batch first
  for (int i = 0; i <= k; ++i) extents[i] = y.shape[i];
  return dispatch_float(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = y.as<T>();
    int64_t at[kMaxRank] = {};
    do {
      for (int r = 0; r < k; ++r) {
        const T* row = theta.as<const T>() + (at[0] * k + r) * (k + 1);
        double sum = static_cast<double>(static_cast<compute_t<T>>(row[k]));
        for (int i = 0; i < k; ++i) {
          const double n = static_cast<double>(extents[k - i]), p = static_cast<double>(at[k - i]);
          const double v = corners ? (n > 1 ? 2 * p / (n - 1) - 1 : -1) : (2 * p + 1) / n - 1;
          sum += static_cast<double>(static_cast<compute_t<T>>(row[i])) * v;
        }
        *out++ = T(static_cast<compute_t<T>>(sum));
      }
    } while (next_index(extents, at));
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kGridSampleRef;
extern const RefKernel kAffineGridRef;
const RefKernel kGridSampleRef = {run_sample, nullptr};
const RefKernel kAffineGridRef = {run_affine, nullptr};

}  // namespace vireo
