#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo {
namespace {

Status run_transpose(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const auto* perm = ctx.attrs<attrs::Transpose>().perm();
  const StridedView dense = dense_view(x.shape);
  StridedView from;
  for (int i = 0; i < x.shape.rank; ++i) {
    from.strides[i] = dense.strides[perm == nullptr ? x.shape.rank - 1 - i : perm->Get(static_cast<unsigned>(i))];
  }
  copy_strided(x.dtype, y.shape, x.data, from, y.data, dense_view(y.shape), ctx.parallel);
  return Status::kOk;
}

}  // namespace

extern const RefKernel kTransposeRef;
const RefKernel kTransposeRef = {run_transpose, nullptr};

}  // namespace vireo
