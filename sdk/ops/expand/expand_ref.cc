#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

Status run_expand(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const StridedView dense = dense_view(x.shape);
  StridedView from;
  const int shift = y.shape.rank - x.shape.rank;
  for (int i = 0; i < x.shape.rank; ++i) from.strides[i + shift] = x.shape[i] == 1 ? 0 : dense.strides[i];
  copy_strided(x.dtype, y.shape, x.data, from, y.data, dense_view(y.shape), ctx.parallel);
  return Status::kOk;
}

Status run_tile(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const StridedView from = dense_view(x.shape);
  StridedView to = dense_view(y.shape);
  Shape repeats;
  repeats.rank = x.shape.rank;
  for (int i = 0; i < x.shape.rank; ++i) {
    if (y.shape[i] == 0) return Status::kOk;
    repeats[i] = y.shape[i] / x.shape[i];
  }
  int64_t copy[kMaxRank] = {};
  do {
    to.offset = 0;
    for (int i = 0; i < x.shape.rank; ++i) to.offset += copy[i] * x.shape[i] * to.strides[i];
    copy_strided(x.dtype, x.shape, x.data, from, y.data, to);
  } while (next_index(repeats, copy));
  return Status::kOk;
}

}  // namespace

extern const RefKernel kExpandRef;
extern const RefKernel kTileRef;
const RefKernel kExpandRef = {run_expand, nullptr};
const RefKernel kTileRef = {run_tile, nullptr};

}  // namespace vireo
