#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/lrn/lrn_generated.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

template <class T>
void lrn(const KernelContext& ctx) {
  using A = accumulate_t<T>;
  const auto& a = ctx.attrs<attrs::LRN>();
  const Shape& s = ctx.in(0)->shape;
  const T* x = ctx.in(0)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  const int axis = a.layout() != 0 ? s.rank - 1 : 1;
  const int64_t outer = product(s, 0, axis), channels = s[axis], inner = product(s, axis + 1, s.rank);
  const int64_t before = (a.size() - 1) / 2, after = a.size() / 2;
  const A share = static_cast<A>(a.alpha()) / static_cast<A>(a.size());
  ctx.parallel.for_range(outer * channels, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t c = row % channels;
      const int64_t low = c - before < 0 ? 0 : c - before, high = c + after >= channels ? channels - 1 : c + after;
      for (int64_t k = 0; k < inner; ++k) {
        A sum = 0;
        for (int64_t i = low; i <= high; ++i) {
          const A v = to_sum<A>(x[(row - c + i) * inner + k]);
          sum += v * v;
        }
        const A base = static_cast<A>(a.bias()) + share * sum;
        y[row * inner + k] =
            from_sum<T>(to_sum<A>(x[row * inner + k]) / static_cast<A>(pow(base, static_cast<A>(a.beta()))));
      }
    }
  });
}

Status run_lrn(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    lrn<decltype(tag)>(ctx);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kLRNRef;
const RefKernel kLRNRef = {run_lrn, nullptr};

}  // namespace vireo
