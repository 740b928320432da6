#include <string.h>

#include "sdk/ops/col2im/col2im_generated.h"
#include "sdk/ops/dispatch.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/strided.h"
#include "sdk/ops/value_reader.h"

namespace vireo {
namespace {

struct Geometry {
  Shape image, block, count;  // count: blocks on each axis
  int64_t dilation[kMaxRank], stride[kMaxRank], pad[kMaxRank];
};

Geometry read_geometry(const attrs::Col2Im& a, const Shape& y, const Tensor& block) {
  Geometry g;
  const int k = y.rank - 2;
  g.image.rank = g.block.rank = g.count.rank = k;
  for (int i = 0; i < k; ++i) {
    const unsigned u = static_cast<unsigned>(i);
    g.image[i] = y[i + 2];
    g.block[i] = read_integer(block.dtype, block.data, i);
    g.dilation[i] = a.dilations() == nullptr ? 1 : a.dilations()->Get(u);
    g.stride[i] = a.strides() == nullptr ? 1 : a.strides()->Get(u);
    g.pad[i] = a.pads() == nullptr ? 0 : a.pads()->Get(u);
    const int64_t after = a.pads() == nullptr ? 0 : a.pads()->Get(u + static_cast<unsigned>(k));
    const int64_t rest = g.image[i] + g.pad[i] + after - g.dilation[i] * (g.block[i] - 1) - 1;
    g.count[i] = rest < 0 ? 0 : rest / g.stride[i] + 1;
  }
  return g;
}

// One channel: columns [block, count] into `image`, which is 0.
template <class T>
void add_columns(const T* columns, const Geometry& g, T* image) {
  const StridedView dense = dense_view(g.image);
  if (product(g.count, 0, g.count.rank) == 0) return;
  int64_t in_block[kMaxRank] = {};
  do {
    int64_t at[kMaxRank] = {};
    do {
      int64_t to = 0;
      bool inside = true;
      for (int i = 0; i < g.image.rank; ++i) {
        const int64_t p = at[i] * g.stride[i] - g.pad[i] + in_block[i] * g.dilation[i];
        inside = inside && p >= 0 && p < g.image[i];
        to += p * dense.strides[i];
      }
      if (inside) image[to] = T(static_cast<compute_t<T>>(image[to]) + static_cast<compute_t<T>>(*columns));
      ++columns;
    } while (next_index(g.count, at));
  } while (next_index(g.block, in_block));
}

Status run(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const Geometry g = read_geometry(ctx.attrs<attrs::Col2Im>(), y.shape, *ctx.in(2));
  const int64_t planes = y.shape[0] * y.shape[1];
  const int64_t size = product(g.image, 0, g.image.rank);
  const int64_t columns = product(g.block, 0, g.block.rank) * product(g.count, 0, g.count.rank);
  return dispatch_float(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (y.count() > 0) memset(y.data, 0, static_cast<size_t>(y.count()) * sizeof(T));
    for (int64_t p = 0; p < planes; ++p) add_columns(x.as<const T>() + p * columns, g, y.as<T>() + p * size);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kCol2ImRef;
const RefKernel kCol2ImRef = {run, nullptr};

}  // namespace vireo
