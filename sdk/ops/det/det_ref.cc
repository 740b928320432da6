#include "sdk/base/sizes.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

// `m`: [n, n], destroyed.
double determinant(double* m, int64_t n) {
  double det = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r) {
      const double a = m[r * n + c], b = m[pivot * n + c];
      if ((a < 0 ? -a : a) > (b < 0 ? -b : b)) pivot = r;
    }
    if (pivot != c) {
      det = -det;
      for (int64_t k = c; k < n; ++k) {
        const double t = m[c * n + k];
        m[c * n + k] = m[pivot * n + k];
        m[pivot * n + k] = t;
      }
    }
    const double p = m[c * n + c];
    det *= p;
    if (p == 0) return 0;
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = m[r * n + c] / p;
      for (int64_t k = c + 1; k < n; ++k) m[r * n + k] -= factor * m[c * n + k];
    }
  }
  return det;
}

Status run_det(const KernelContext& ctx) {
  const Shape& s = ctx.in(0)->shape;
  const int64_t n = s[s.rank - 1];
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    ctx.parallel.for_range(product(s, 0, s.rank - 2), 1, [&](int64_t begin, int64_t end, int32_t slot) {
      double* m = reinterpret_cast<double*>(ctx.scratch.data()) + slot * n * n;
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t k = 0; k < n * n; ++k) m[k] = to_sum<double>(ctx.in(0)->as<const T>()[i * n * n + k]);
        ctx.out(0)->as<T>()[i] = from_sum<T>(determinant(m, n));
      }
    });
    return Status::kOk;
  });
}

int64_t scratch_bytes(const KernelQuery& query) {
  const Shape& s = query.inputs[0].shape;
  if (s.rank < 2) return -1;
  return size_product(size_product(s[s.rank - 1], s[s.rank - 2]), int64_t{8} * query.slots);
}

}  // namespace

extern const RefKernel kDetRef;
const RefKernel kDetRef = {run_det, scratch_bytes};

}  // namespace vireo
