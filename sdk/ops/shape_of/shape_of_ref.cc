#include "sdk/ops/kernel.h"
#include "sdk/ops/shape_of/shape_of.h"
#include "sdk/ops/shape_of/shape_of_generated.h"

namespace vireo {
namespace {

Status run_shape(const KernelContext& ctx) {
  const Shape& s = ctx.in(0)->shape;
  const auto& a = ctx.attrs<attrs::Shape>();
  const int end = clamp_to_rank(a.end(), s.rank);
  int64_t* y = ctx.out(0)->as<int64_t>();
  for (int i = clamp_to_rank(a.start(), s.rank); i < end; ++i) *y++ = s[i];
  return Status::kOk;
}

Status run_size(const KernelContext& ctx) {
  *ctx.out(0)->as<int64_t>() = ctx.in(0)->count();
  return Status::kOk;
}

}  // namespace

extern const RefKernel kShapeRef;
extern const RefKernel kSizeRef;
const RefKernel kShapeRef = {run_shape, nullptr};
const RefKernel kSizeRef = {run_size, nullptr};

}  // namespace vireo
