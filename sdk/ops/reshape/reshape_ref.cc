#include <string.h>

#include "sdk/ops/kernel.h"

namespace vireo {
namespace {

Status run_reshape(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const int64_t bytes = tensor_bytes({x.dtype, x.shape});
  if (y.data != x.data && bytes > 0) memmove(y.data, x.data, static_cast<size_t>(bytes));
  return Status::kOk;
}

}  // namespace

extern const RefKernel kReshapeRef;
extern const RefKernel kSqueezeRef;
extern const RefKernel kUnsqueezeRef;
extern const RefKernel kFlattenRef;
const RefKernel kReshapeRef = {run_reshape, nullptr};
const RefKernel kSqueezeRef = {run_reshape, nullptr};
const RefKernel kUnsqueezeRef = {run_reshape, nullptr};
const RefKernel kFlattenRef = {run_reshape, nullptr};

}  // namespace vireo
