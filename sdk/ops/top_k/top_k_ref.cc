#include "sdk/base/sizes.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/sort.h"
#include "sdk/ops/top_k/top_k_generated.h"

namespace vireo {
namespace {

// One line of d elements `stride` apart, k results as far apart.
template <class T>
void top_k(const T* x, T* values, int64_t* indices, int64_t d, int64_t k, int64_t stride, bool largest,
           int64_t* order) {
  for (int64_t i = 0; i < d; ++i) order[i] = i;
  heap_sort(order, d, [&](int64_t p, int64_t q) {
    const T a = x[p * stride], b = x[q * stride];
    if (largest ? total_less(b, a) : total_less(a, b)) return true;
    if (largest ? total_less(a, b) : total_less(b, a)) return false;
    return p < q;
  });
  for (int64_t i = 0; i < k; ++i) {
    if (values != nullptr) values[i * stride] = x[order[i] * stride];
    if (indices != nullptr) indices[i * stride] = order[i];
  }
}

Status run_top_k(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor* values = ctx.out(0);
  Tensor* indices = ctx.out(1);
  const auto& a = ctx.attrs<attrs::TopK>();
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const int64_t d = x.shape[axis], k = (values != nullptr ? values : indices)->shape[axis];
  const int64_t outer = product(x.shape, 0, axis), inner = product(x.shape, axis + 1, x.shape.rank);
  int64_t* order = reinterpret_cast<int64_t*>(ctx.scratch.data());
  const Status s = dispatch_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t line = 0; line < outer * inner; ++line) {
      const int64_t o = line / inner, i = line % inner;
      top_k(x.as<const T>() + o * d * inner + i, values == nullptr ? nullptr : values->as<T>() + o * k * inner + i,
            indices == nullptr ? nullptr : indices->as<int64_t>() + o * k * inner + i, d, k, inner, a.largest(), order);
    }
    return Status::kOk;
  });
  return ok(s) ? s : ctx.fail(s, "TopK of {}", dtype_name(x.dtype));
}

int64_t scratch_bytes(const KernelQuery& query) {
  const Shape& x = query.inputs[0].shape;
  const int axis = normalize_axis(query.attrs<attrs::TopK>().axis(), x.rank);
  return axis < 0 ? -1 : size_product(x[axis], sizeof(int64_t));
}

}  // namespace

extern const RefKernel kTopKRef;
const RefKernel kTopKRef = {run_top_k, scratch_bytes};

}  // namespace vireo
