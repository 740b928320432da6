#include "sdk/ops/kernel.h"
#include "sdk/ops/one_hot/one_hot_generated.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// -1: no class
int64_t class_of(const Tensor& indices, int64_t at, int64_t depth) {
  int64_t c = 0;
  if (dtype_is_float(indices.dtype)) {
    const double v = read_real(indices.dtype, indices.data, at);
    if (!(v > -9e15 && v < 9e15)) return -1;
    c = static_cast<int64_t>(v);
  } else {
    c = read_integer(indices.dtype, indices.data, at);
  }
  if (c < 0) c += depth;
  return c >= 0 && c < depth ? c : -1;
}

Status run_one_hot(const KernelContext& ctx) {
  const Tensor& indices = *ctx.in(0);
  const Tensor& values = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  const int axis = normalize_axis(ctx.attrs<attrs::OneHot>().axis(), y.shape.rank);
  const int64_t outer = product(y.shape, 0, axis), depth = y.shape[axis];
  const int64_t inner = product(y.shape, axis + 1, y.shape.rank);
  return dispatch_size(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T off = values.as<const T>()[0], on = values.as<const T>()[1];
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t c = class_of(indices, o * inner + i, depth);
        for (int64_t k = 0; k < depth; ++k) y.as<T>()[(o * depth + k) * inner + i] = k == c ? on : off;
      }
    }
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kOneHotRef;
const RefKernel kOneHotRef = {run_one_hot, nullptr};

}  // namespace vireo
