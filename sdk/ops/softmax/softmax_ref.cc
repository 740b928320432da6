#include <math.h>

#include "sdk/ops/dispatch.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/softmax/softmax.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo {
namespace {

template <class T>
void softmax(const T* x, T* y, int64_t outer, int64_t axis, int64_t inner) {
  using C = compute_t<T>;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t base = o * axis * inner + i;
      C m = static_cast<C>(-INFINITY);
      for (int64_t k = 0; k < axis; ++k) {
        const C v = static_cast<C>(x[base + k * inner]);
        m = v > m ? v : m;
      }
      C sum = 0;
      for (int64_t k = 0; k < axis; ++k) sum += static_cast<C>(exp(static_cast<C>(x[base + k * inner]) - m));
      for (int64_t k = 0; k < axis; ++k) {
        y[base + k * inner] = T(static_cast<C>(exp(static_cast<C>(x[base + k * inner]) - m)) / sum);
      }
    }
  }
}

Status run(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Shape& s = x.shape;
  const int axis = normalize_axis(ctx.attrs<attrs::Softmax>().axis(), s.rank);
  return dispatch_float(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    softmax(x.as<const T>(), ctx.out(0)->as<T>(), product(s, 0, axis), s[axis], product(s, axis + 1, s.rank));
    return Status::kOk;
  });
}

}  // namespace

void softmax_f32_ref(const float* x, float* y, int64_t outer, int64_t axis, int64_t inner) {
  softmax(x, y, outer, axis, inner);
}

extern const RefKernel kSoftmaxRef;
const RefKernel kSoftmaxRef = {run, nullptr};

}  // namespace vireo
