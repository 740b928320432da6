#include "sdk/ops/max_unpool/max_unpool.h"

#include <string.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

Status run_max_unpool(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::MaxUnpool>();
  const Tensor& x = *ctx.in(0);
  const int64_t* indices = ctx.in(1)->as<const int64_t>();
  Tensor& y = *ctx.out(0);
  Shape natural = x.shape;
  for (int i = 2; i < natural.rank; ++i) {
    natural[i] = (x.shape[i] - 1) * unpool_stride(a, i - 2) + unpool_rest(a, i - 2);
  }
  const int64_t n = x.count(), size = element_count(natural);
  for (int64_t k = 0; k < n; ++k) {
    if (indices[k] >= 0 && indices[k] < size) continue;
    return ctx.fail(Status::kInvalidArgument, "MaxUnpool: index {} (element {}) is outside [0,{})", indices[k], k,
                    size);
  }
  const int64_t bytes = tensor_bytes({y.dtype, y.shape});
  if (bytes > 0) memset(y.data, 0, static_cast<size_t>(bytes));
  const StridedView dense = dense_view(y.shape);
  for (int64_t k = 0; k < n; ++k) {
    StridedView from, to;
    from.offset = k;
    int64_t left = indices[k];
    bool inside = true;
    for (int i = natural.rank - 1; i >= 0; --i) {
      const int64_t at = left % natural[i];
      left /= natural[i];
      inside = inside && at < y.shape[i];
      to.offset += at * dense.strides[i];
    }
    if (inside) copy_strided(x.dtype, Shape{}, x.data, from, y.data, to);
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kMaxUnpoolRef;
const RefKernel kMaxUnpoolRef = {run_max_unpool, nullptr};

}  // namespace vireo
