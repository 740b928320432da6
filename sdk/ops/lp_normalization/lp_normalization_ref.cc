#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/lp_normalization/lp_normalization_generated.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

template <class T>
void normalize(const T* x, T* y, int64_t outer, int64_t axis, int64_t inner, bool squares) {
  using A = accumulate_t<T>;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t base = o * axis * inner + i;
      A norm = 0;
      for (int64_t k = 0; k < axis; ++k) {
        const A v = to_sum<A>(x[base + k * inner]);
        norm += squares ? v * v : (v < 0 ? -v : v);
      }
      if (squares) norm = static_cast<A>(sqrt(norm));
      for (int64_t k = 0; k < axis; ++k) {
        y[base + k * inner] = from_sum<T>(norm == 0 ? A{0} : to_sum<A>(x[base + k * inner]) / norm);
      }
    }
  }
}

Status run_lp_normalization(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::LpNormalization>();
  const Shape& s = ctx.in(0)->shape;
  const int axis = normalize_axis(a.axis(), s.rank);
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    normalize(ctx.in(0)->as<const T>(), ctx.out(0)->as<T>(), product(s, 0, axis), s[axis], product(s, axis + 1, s.rank),
              a.p() == 2);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kLpNormalizationRef;
const RefKernel kLpNormalizationRef = {run_lp_normalization, nullptr};

}  // namespace vireo
