#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/broadcast.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

template <class T>
void where(const Broadcast& walk, const uint8_t* condition, const T* x, const T* z, T* y) {
  const int64_t sc = walk.step(0), sx = walk.step(1), sz = walk.step(2), row = walk.row();
  for (int64_t r = 0; r < walk.rows(); ++r) {
    const uint8_t* c = condition + walk.offset(0, r);
    const T* px = x + walk.offset(1, r);
    const T* pz = z + walk.offset(2, r);
    for (int64_t i = 0; i < row; ++i) y[r * row + i] = c[i * sc] != 0 ? px[i * sx] : pz[i * sz];
  }
}

Status run_where(const KernelContext& ctx) {
  const Tensor &c = *ctx.in(0), &x = *ctx.in(1), &z = *ctx.in(2);
  const Shape* shapes[] = {&c.shape, &x.shape, &z.shape};
  const Broadcast walk(ctx.out(0)->shape, shapes, 3);
  return dispatch_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    where(walk, c.as<const uint8_t>(), x.as<const T>(), z.as<const T>(), ctx.out(0)->as<T>());
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kWhereRef;
const RefKernel kWhereRef = {run_where, nullptr};

}  // namespace vireo
