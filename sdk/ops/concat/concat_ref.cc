#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

Status run_concat(const KernelContext& ctx) {
  Tensor& y = *ctx.out(0);
  const int axis = normalize_axis(ctx.attrs<attrs::Concat>().axis(), y.shape.rank);
  StridedView to = dense_view(y.shape);
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    const Tensor& x = *ctx.in(i);
    copy_strided(x.dtype, x.shape, x.data, dense_view(x.shape), y.data, to, ctx.parallel);
    to.offset += x.shape[axis] * to.strides[axis];
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kConcatRef;
const RefKernel kConcatRef = {run_concat, nullptr};

}  // namespace vireo
