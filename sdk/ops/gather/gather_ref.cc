#include "sdk/ops/gather/gather.h"

#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

Status run_gather(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& indices = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  const int axis = normalize_axis(ctx.attrs<attrs::Gather>().axis(), x.shape.rank);
  const int64_t d = x.shape[axis], n = indices.count();
  VIREO_TRY(check_indices(ctx, indices, &d, 1));
  // Box [outer, inner] once an index.
  Shape box;
  box.rank = 2;
  box[0] = product(x.shape, 0, axis);
  box[1] = product(x.shape, axis + 1, x.shape.rank);
  StridedView from, to;
  from.strides[0] = d * box[1];
  to.strides[0] = n * box[1];
  from.strides[1] = to.strides[1] = 1;
  for (int64_t k = 0; k < n; ++k) {
    from.offset = read_index(indices, k, d) * box[1];
    to.offset = k * box[1];
    copy_strided(x.dtype, box, x.data, from, y.data, to);
  }
  return Status::kOk;
}

Status run_elements(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& indices = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  const int axis = normalize_axis(ctx.attrs<attrs::GatherElements>().axis(), x.shape.rank);
  const int64_t d = x.shape[axis], n = indices.count();
  VIREO_TRY(check_indices(ctx, indices, &d, 1));
  if (n == 0) return Status::kOk;
  const StridedView dense = dense_view(x.shape);
  int64_t at[kMaxRank] = {};
  StridedView from, to;
  for (int64_t k = 0; k < n; ++k) {
    from.offset = 0;
    for (int i = 0; i < x.shape.rank; ++i) {
      from.offset += dense.strides[i] * (i == axis ? read_index(indices, k, d) : at[i]);
    }
    to.offset = k;
    copy_strided(x.dtype, Shape{}, x.data, from, y.data, to);
    next_index(indices.shape, at);
  }
  return Status::kOk;
}

Status run_nd(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& indices = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  const int batch = ctx.attrs<attrs::GatherND>().batch_dims();
  const int64_t depth = indices.shape[indices.shape.rank - 1];
  VIREO_TRY(check_indices(ctx, indices, &x.shape.dims[batch], depth));
  const StridedView dense = dense_view(x.shape);
  const int first = batch + static_cast<int>(depth);
  Shape block;
  block.rank = 1;
  block[0] = product(x.shape, first, x.shape.rank);
  const int64_t batches = product(x.shape, 0, batch);
  const int64_t tuples = product(indices.shape, batch, indices.shape.rank - 1);
  const int64_t batch_size = product(x.shape, batch, x.shape.rank);
  StridedView from, to;
  from.strides[0] = to.strides[0] = 1;
  for (int64_t t = 0; t < batches * tuples; ++t) {
    from.offset = t / tuples * batch_size;
    for (int64_t j = 0; j < depth; ++j) {
      const int axis = batch + static_cast<int>(j);
      from.offset += dense.strides[axis] * read_index(indices, t * depth + j, x.shape[axis]);
    }
    to.offset = t * block[0];
    copy_strided(x.dtype, block, x.data, from, y.data, to);
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kGatherRef;
extern const RefKernel kGatherElementsRef;
extern const RefKernel kGatherNDRef;
const RefKernel kGatherRef = {run_gather, nullptr};
const RefKernel kGatherElementsRef = {run_elements, nullptr};
const RefKernel kGatherNDRef = {run_nd, nullptr};

}  // namespace vireo
