#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/taps.h"

namespace vireo {
namespace {

Geometry geometry(const attrs::Pool& a, const Shape& x, const Shape& y) {
  Window w = read_window(x.rank, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  for (int i = 0; i < w.spatial; ++i) w.kernel[i] = a.kernel_shape()->Get(static_cast<unsigned>(i));
  return make_geometry(w, x, y);
}

// Calls tap(offset in x, position) for each tap of the window at `o` that lies inside the input. Returns how many taps
// lie inside the padded input: up to 2^93, exact up to 2^53.
template <class Tap>
double for_each_tap(const Geometry& g, const int64_t* o, const Tap& tap) {
  const Taps d = taps_of(g, 0, o[0]), h = taps_of(g, 1, o[1]), w = taps_of(g, 2, o[2]);
  int64_t i[3];
  for (int64_t kd = d.begin; kd < d.end; ++kd) {
    i[0] = d.first + kd * g.dilation[0];
    for (int64_t kh = h.begin; kh < h.end; ++kh) {
      i[1] = h.first + kh * g.dilation[1];
      for (int64_t kw = w.begin; kw < w.end; ++kw) {
        i[2] = w.first + kw * g.dilation[2];
        tap(i[0] * g.x.step[0] + i[1] * g.x.step[1] + i[2] * g.x.step[2], i);
      }
    }
  }
  return static_cast<double>(d.padded) * static_cast<double>(h.padded) * static_cast<double>(w.padded);
}

// Calls f(plane = n * C + c, offset of the plane in x, position, offset in y) for each output.
template <class F>
void for_each_window(const Parallel& parallel, const Geometry& g, const F& f) {
  parallel.for_range(g.batch * g.channels_in, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t n = plane / g.channels_in, c = plane % g.channels_in;
      int64_t o[3];
      for (o[0] = 0; o[0] < g.out[0]; ++o[0]) {
        for (o[1] = 0; o[1] < g.out[1]; ++o[1]) {
          for (o[2] = 0; o[2] < g.out[2]; ++o[2]) {
            f(plane, n * g.x.batch + c * g.x.channel, o,
              n * g.y.batch + c * g.y.channel + o[0] * g.y.step[0] + o[1] * g.y.step[1] + o[2] * g.y.step[2]);
          }
        }
      }
    }
  });
}

// The smallest value: what a window without any tap inside the input yields.
template <class T>
compute_t<T> lowest() {
  if constexpr (static_cast<compute_t<T>>(0.5f) != 0) {
    return static_cast<compute_t<T>>(-INFINITY);
  } else {
    return static_cast<T>(-1) < static_cast<T>(0) ? static_cast<T>(-128) : static_cast<T>(0);
  }
}

template <class T>
void max_pool(const KernelContext& ctx, const Geometry& g, bool column_major) {
  const T* x = ctx.in(0)->as<const T>();
  Tensor* y = ctx.out(0);
  Tensor* indices = ctx.out(1);
  const int64_t area = g.in[0] * g.in[1] * g.in[2];
  for_each_window(ctx.parallel, g, [&](int64_t plane, int64_t base, const int64_t* o, int64_t at) {
    compute_t<T> best = lowest<T>();
    int64_t where = 0;
    bool first = true;
    for_each_tap(g, o, [&](int64_t offset, const int64_t* i) {
      const compute_t<T> v = static_cast<compute_t<T>>(x[base + offset]);
      if (!first && !(v > best) && (v == v || best != best)) return;  // NaN wins, the first of them
      first = false;
      best = v;
      where = column_major ? (i[2] * g.in[1] + i[1]) * g.in[0] + i[0] : (i[0] * g.in[1] + i[1]) * g.in[2] + i[2];
    });
    if (y != nullptr) y->as<T>()[at] = T(best);
    if (indices != nullptr) indices->as<int64_t>()[at] = plane * area + where;
  });
}

Status run_max(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const auto& a = ctx.attrs<attrs::Pool>();
  const Tensor* any = ctx.out(0) != nullptr ? ctx.out(0) : ctx.out(1);
  if (any == nullptr) return Status::kOk;
  const Geometry g = geometry(a, x.shape, any->shape);
  if (x.dtype == DType::kI8) {
    max_pool<int8_t>(ctx, g, a.column_major());
    return Status::kOk;
  }
  if (x.dtype == DType::kU8) {
    max_pool<uint8_t>(ctx, g, a.column_major());
    return Status::kOk;
  }
  return dispatch_float(x.dtype, [&](auto tag) {
    max_pool<decltype(tag)>(ctx, g, a.column_major());
    return Status::kOk;
  });
}

Status run_average(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const auto& a = ctx.attrs<attrs::Pool>();
  const Geometry g = geometry(a, x.shape, y.shape);
  return dispatch_float(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = accumulate_t<T>;
    for_each_window(ctx.parallel, g, [&](int64_t, int64_t base, const int64_t* o, int64_t at) {
      A sum = 0;
      double inside = 0;
      const double padded = for_each_tap(g, o, [&](int64_t offset, const int64_t*) {
        sum += to_sum<A>(x.as<const T>()[base + offset]);
        ++inside;
      });
      y.as<T>()[at] = from_sum<T>(sum / static_cast<A>(a.count_include_pad() ? padded : inside));
    });
    return Status::kOk;
  });
}

Status run_lp(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const auto& a = ctx.attrs<attrs::Pool>();
  const Geometry g = geometry(a, x.shape, y.shape);
  return dispatch_float(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = accumulate_t<T>;
    const A p = static_cast<A>(a.p());
    for_each_window(ctx.parallel, g, [&](int64_t, int64_t base, const int64_t* o, int64_t at) {
      A sum = 0;
      for_each_tap(g, o, [&](int64_t offset, const int64_t*) {
        const A v = to_sum<A>(x.as<const T>()[base + offset]);
        sum += static_cast<A>(pow(v < 0 ? -v : v, p));
      });
      y.as<T>()[at] = from_sum<T>(static_cast<A>(pow(sum, 1 / p)));
    });
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kMaxPoolRef;
const RefKernel kMaxPoolRef = {run_max, nullptr};
extern const RefKernel kAveragePoolRef;
const RefKernel kAveragePoolRef = {run_average, nullptr};
extern const RefKernel kLpPoolRef;
const RefKernel kLpPoolRef = {run_lp, nullptr};

}  // namespace vireo
