#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

// The box [n, depth, h, block row, w, block column]: strides on the deep side [n, channels, h, w], whose channel has
// the given strides for depth, row and column, and on the wide side [n, depth, h b, w b].
struct Blocks {
  Shape box;
  StridedView deep, wide;
};

Blocks blocks_of(const Shape& deep, int64_t b, bool depth_first) {
  const int64_t depth = deep[1] / (b * b), h = deep[2], w = deep[3], plane = h * w;
  const int64_t depth_step = depth_first ? b * b : 1, row_step = depth_first ? b : b * depth,
                column_step = depth_first ? 1 : depth;
  Blocks k;
  k.box.rank = 6;
  const int64_t box[6] = {deep[0], depth, h, b, w, b};
  const int64_t from[6] = {deep[1] * plane, depth_step * plane, w, row_step * plane, 1, column_step * plane};
  const int64_t to[6] = {deep[1] * plane, plane * b * b, b * w * b, w * b, b, 1};
  for (int i = 0; i < 6; ++i) {
    k.box[i] = box[i];
    k.deep.strides[i] = from[i];
    k.wide.strides[i] = to[i];
  }
  return k;
}

Status run_depth(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::DepthToSpace>();
  const Tensor& x = *ctx.in(0);
  const Blocks k = blocks_of(x.shape, a.blocksize(), a.mode() == attrs::DepthToSpaceMode::crd);
  copy_strided(x.dtype, k.box, x.data, k.deep, ctx.out(0)->data, k.wide, ctx.parallel);
  return Status::kOk;
}

Status run_space(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const auto& a = ctx.attrs<attrs::SpaceToDepth>();
  const Blocks k = blocks_of(y.shape, a.blocksize(), a.mode() == attrs::DepthToSpaceMode::crd);
  copy_strided(x.dtype, k.box, x.data, k.wide, y.data, k.deep, ctx.parallel);
  return Status::kOk;
}

}  // namespace

extern const RefKernel kDepthToSpaceRef;
extern const RefKernel kSpaceToDepthRef;
const RefKernel kDepthToSpaceRef = {run_depth, nullptr};
const RefKernel kSpaceToDepthRef = {run_space, nullptr};

}  // namespace vireo
