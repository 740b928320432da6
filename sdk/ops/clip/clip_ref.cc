#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

template <class T>
void clip(const T* x, const T* low, const T* high, T* y, int64_t n) {
  using C = compute_t<T>;
  for (int64_t i = 0; i < n; ++i) {
    C v = static_cast<C>(x[i]);
    if (low != nullptr && v < static_cast<C>(*low)) v = static_cast<C>(*low);
    if (high != nullptr && v > static_cast<C>(*high)) v = static_cast<C>(*high);
    y[i] = T(v);
  }
}

Status run_clip(const KernelContext& ctx) {
  const Tensor &x = *ctx.in(0), *low = ctx.in(1), *high = ctx.in(2);
  return dispatch_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    clip(x.as<const T>(), low == nullptr ? nullptr : low->as<const T>(),
         high == nullptr ? nullptr : high->as<const T>(), ctx.out(0)->as<T>(), x.count());
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kClipRef;
const RefKernel kClipRef = {run_clip, nullptr};

}  // namespace vireo
