#include "sdk/ops/softmax/softmax.h"

#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo {
namespace {

template <class T>
compute_t<T> greatest(const T* x, int64_t axis, int64_t inner) {
  compute_t<T> m = static_cast<compute_t<T>>(-INFINITY);
  for (int64_t k = 0; k < axis; ++k) {
    const auto v = static_cast<compute_t<T>>(x[k * inner]);
    m = v > m ? v : m;
  }
  return m;
}

// One line of `axis` elements, `inner` apart.
struct Softmax {
  template <class T>
  static void line(const T* x, T* y, int64_t axis, int64_t inner) {
    using C = compute_t<T>;
    const C m = greatest(x, axis, inner);
    double sum = 0;
    for (int64_t k = 0; k < axis; ++k) sum += static_cast<double>(exp(static_cast<C>(x[k * inner]) - m));
    for (int64_t k = 0; k < axis; ++k) {
      y[k * inner] = T(static_cast<C>(exp(static_cast<C>(x[k * inner]) - m)) / static_cast<C>(sum));
    }
  }
};

struct LogSoftmax {
  template <class T>
  static void line(const T* x, T* y, int64_t axis, int64_t inner) {
    using C = compute_t<T>;
    const C m = greatest(x, axis, inner);
    double sum = 0;
    for (int64_t k = 0; k < axis; ++k) sum += static_cast<double>(exp(static_cast<C>(x[k * inner]) - m));
    const C shift = static_cast<C>(log(sum));
    for (int64_t k = 0; k < axis; ++k) y[k * inner] = T(static_cast<C>(x[k * inner]) - m - shift);
  }
};

struct Hardmax {
  template <class T>
  static void line(const T* x, T* y, int64_t axis, int64_t inner) {
    using C = compute_t<T>;
    const C m = greatest(x, axis, inner);
    bool found = false;
    for (int64_t k = 0; k < axis; ++k) {
      const bool first = !found && static_cast<C>(x[k * inner]) == m;
      found = found || first;
      y[k * inner] = T(first ? C(1) : C(0));
    }
  }
};

template <class F, class T>
void lines(const T* x, T* y, int64_t outer, int64_t axis, int64_t inner) {
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) F::line(x + o * axis * inner + i, y + o * axis * inner + i, axis, inner);
  }
}

template <class F>
Status run_softmax(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Shape& s = x.shape;
  const int axis = normalize_axis(ctx.attrs<attrs::Softmax>().axis(), s.rank);
  return dispatch_float(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    lines<F>(x.as<const T>(), ctx.out(0)->as<T>(), product(s, 0, axis), s[axis], product(s, axis + 1, s.rank));
    return Status::kOk;
  });
}

}  // namespace

void softmax_f32_ref(const float* x, float* y, int64_t outer, int64_t axis, int64_t inner) {
  lines<Softmax>(x, y, outer, axis, inner);
}

extern const RefKernel kSoftmaxRef;
extern const RefKernel kLogSoftmaxRef;
extern const RefKernel kHardmaxRef;

const RefKernel kSoftmaxRef = {run_softmax<Softmax>, nullptr};
const RefKernel kLogSoftmaxRef = {run_softmax<LogSoftmax>, nullptr};
const RefKernel kHardmaxRef = {run_softmax<Hardmax>, nullptr};

}  // namespace vireo
