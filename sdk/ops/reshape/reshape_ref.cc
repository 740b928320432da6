#include <string.h>

#include "sdk/ops/kernel.h"

namespace vireo {
namespace {

Status run(const KernelContext& ctx) {
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
const RefKernel kReshapeRef = {run, nullptr};
const RefKernel kSqueezeRef = {run, nullptr};
const RefKernel kUnsqueezeRef = {run, nullptr};
const RefKernel kFlattenRef = {run, nullptr};

}  // namespace vireo
