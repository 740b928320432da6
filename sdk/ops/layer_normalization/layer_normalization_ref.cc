#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/shared/value_writer.h"

namespace vireo {
namespace {

// A parameter that broadcasts to x.
struct Parameter {
  const Tensor* t;
  const Shape& x;
  bool periodic;  // its dimensions are the last of x: element i of x meets element i % count

  Parameter(const Tensor* tensor, const Shape& shape) : t(tensor), x(shape), periodic(true) {
    const int rank = t == nullptr ? 0 : t->shape.rank;
    int first = 0;
    while (first < rank && t->shape[first] == 1) ++first;
    for (int i = first; i < rank; ++i) periodic = periodic && t->shape[i] == x[x.rank - rank + i];
  }
  double at(int64_t i) const {
    if (periodic) return read_real(t->dtype, t->data, i % t->count());
    int64_t offset = 0, step = 1;
    for (int d = t->shape.rank - 1, e = x.rank - 1; d >= 0; --d, --e) {
      if (t->shape[d] != 1) offset += i % x[e] * step;
      step *= t->shape[d];
      i /= x[e];
    }
    return read_real(t->dtype, t->data, offset);
  }
};

template <class T>
void normalize(const KernelContext& ctx, int axis, float epsilon, bool centre) {
  using A = accumulate_t<T>;
  const Tensor& y = *ctx.out(0);
  const Shape& s = ctx.in(0)->shape;
  const T* x = ctx.in(0)->as<const T>();
  const Parameter scale(ctx.in(1), s), bias(ctx.in(2), s);
  const int64_t rows = product(s, 0, axis), count = product(s, axis, s.rank);
  ctx.parallel.for_range(rows, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row * count;
      A mean = 0, squares = 0;
      if (centre) {
        for (int64_t k = 0; k < count; ++k) mean += to_sum<A>(x[first + k]);
        mean /= static_cast<A>(count);
      }
      for (int64_t k = 0; k < count; ++k) {
        const A d = to_sum<A>(x[first + k]) - mean;
        squares += d * d;
      }
      const A inverse = 1 / static_cast<A>(sqrt(squares / static_cast<A>(count) + static_cast<A>(epsilon)));
      for (int64_t k = 0; k < count; ++k) {
        A v = (to_sum<A>(x[first + k]) - mean) * inverse * static_cast<A>(scale.at(first + k));
        if (bias.t != nullptr) v += static_cast<A>(bias.at(first + k));
        write_real(y, first + k, static_cast<double>(v));
      }
      if (ctx.out(1) != nullptr) write_real(*ctx.out(1), row, static_cast<double>(mean));
      if (ctx.out(2) != nullptr) write_real(*ctx.out(2), row, static_cast<double>(inverse));
    }
  });
}

Status run_layer(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::LayerNormalization>();
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    normalize<decltype(tag)>(ctx, normalize_axis(a.axis(), ctx.in(0)->shape.rank), a.epsilon(), true);
    return Status::kOk;
  });
}

Status run_rms(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::RMSNormalization>();
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    normalize<decltype(tag)>(ctx, normalize_axis(a.axis(), ctx.in(0)->shape.rank), a.epsilon(), false);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kLayerNormalizationRef;
const RefKernel kLayerNormalizationRef = {run_layer, nullptr};
extern const RefKernel kRMSNormalizationRef;
const RefKernel kRMSNormalizationRef = {run_rms, nullptr};

}  // namespace vireo
