#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo {
namespace {

Status run_split(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Split>();
  const Tensor& x = *ctx.in(0);
  const Tensor* split = ctx.in(1);
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const int64_t d = x.shape[axis];
  const int64_t n = a.num_outputs() > 0 ? a.num_outputs() : static_cast<int64_t>(ctx.outputs.size());
  StridedView from = dense_view(x.shape);
  int64_t begin = 0;
  for (size_t o = 0; o < ctx.outputs.size(); ++o) {
    const int64_t even = (d + n - 1) / n, left = d - begin;
    const int64_t part = split != nullptr ? read_integer(split->dtype, split->data, static_cast<int64_t>(o))
                                          : (even < left ? even : left);
    if (ctx.out(o) != nullptr) {
      Tensor& y = *ctx.out(o);
      from.offset = begin * from.strides[axis];
      copy_strided(x.dtype, y.shape, x.data, from, y.data, dense_view(y.shape), ctx.parallel);
    }
    begin += part;
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kSplitRef;
const RefKernel kSplitRef = {run_split, nullptr};

}  // namespace vireo
