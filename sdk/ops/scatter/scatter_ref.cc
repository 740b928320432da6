#include <string.h>

#include <type_traits>

#include "sdk/ops/gather/gather.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/scatter/scatter_generated.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

using Reduction = attrs::ScatterReduction;

void copy_data(const Tensor& x, Tensor& y) {
  const int64_t bytes = tensor_bytes({x.dtype, x.shape});
  if (y.data != x.data && bytes > 0) memcpy(y.data, x.data, static_cast<size_t>(bytes));
}

// Integers wrap around; NaN wins a comparison.
template <class T>
T reduce(Reduction r, T a, T b) {
  // uint64_t arithmetic has the low bits of every narrower one, signed or not.
  using C = std::conditional_t<std::is_integral<T>::value, uint64_t, compute_t<T>>;
  switch (r) {
    case Reduction::add:
      return static_cast<T>(static_cast<C>(a) + static_cast<C>(b));
    case Reduction::mul:
      return static_cast<T>(static_cast<C>(a) * static_cast<C>(b));
    case Reduction::min:
      return b < a || b != b ? b : a;
    case Reduction::max:
      return b > a || b != b ? b : a;
    default:
      return b;
  }
}

// dst[to + i] = reduce(dst[to + i], src[from + i]) for i < n.
using Apply = void (*)(Reduction r, const void* src, int64_t from, void* dst, int64_t to, int64_t n);

template <class T>
void apply(Reduction r, const void* src, int64_t from, void* dst, int64_t to, int64_t n) {
  const T* u = static_cast<const T*>(src) + from;
  T* y = static_cast<T*>(dst) + to;
  for (int64_t i = 0; i < n; ++i) y[i] = reduce<T>(r, y[i], u[i]);
}

template <class T>
void replace(Reduction, const void* src, int64_t from, void* dst, int64_t to, int64_t n) {
  memcpy(static_cast<T*>(dst) + to, static_cast<const T*>(src) + from, static_cast<size_t>(n) * sizeof(T));
}

Status find_apply(const KernelContext& ctx, DType t, Reduction* r, Apply* out) {
  if (t == DType::kBool) {  // of 0 and 1 the larger is their sum, the smaller their product
    if (*r == Reduction::add) *r = Reduction::max;
    if (*r == Reduction::mul) *r = Reduction::min;
    t = DType::kU8;
  }
  const Status s = *r == Reduction::none ? dispatch_size(t,
                                                         [&](auto tag) {
                                                           *out = replace<decltype(tag)>;
                                                           return Status::kOk;
                                                         })
                                         : dispatch_number(t, [&](auto tag) {
                                             *out = apply<decltype(tag)>;
                                             return Status::kOk;
                                           });
  return ok(s) ? s : ctx.fail(s, "scatter into {}", dtype_name(t));
}

Status run_elements(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& indices = *ctx.in(1);
  const Tensor& updates = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  const auto& a = ctx.attrs<attrs::ScatterElements>();
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const int64_t d = x.shape[axis], n = indices.count();
  Reduction r = a.reduction();
  Apply apply_one = nullptr;
  VIREO_TRY(find_apply(ctx, x.dtype, &r, &apply_one));
  VIREO_TRY(check_indices(ctx, indices, &d, 1));
  copy_data(x, y);
  const StridedView dense = dense_view(x.shape);
  int64_t at[kMaxRank] = {};
  for (int64_t k = 0; k < n; ++k) {
    int64_t to = 0;
    for (int i = 0; i < x.shape.rank; ++i) to += dense.strides[i] * (i == axis ? read_index(indices, k, d) : at[i]);
    apply_one(r, updates.data, k, y.data, to, 1);
    next_index(indices.shape, at);
  }
  return Status::kOk;
}

Status run_nd(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& indices = *ctx.in(1);
  const Tensor& updates = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  Reduction r = ctx.attrs<attrs::ScatterND>().reduction();
  Apply apply_block = nullptr;
  VIREO_TRY(find_apply(ctx, x.dtype, &r, &apply_block));
  const int64_t depth = indices.shape[indices.shape.rank - 1];
  VIREO_TRY(check_indices(ctx, indices, x.shape.dims, depth));
  copy_data(x, y);
  const StridedView dense = dense_view(x.shape);
  const int64_t block = product(x.shape, static_cast<int>(depth), x.shape.rank);
  const int64_t tuples = product(indices.shape, 0, indices.shape.rank - 1);
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t to = 0;
    for (int64_t j = 0; j < depth; ++j) {
      const int i = static_cast<int>(j);
      to += dense.strides[i] * read_index(indices, t * depth + j, x.shape[i]);
    }
    apply_block(r, updates.data, t * block, y.data, to, block);
  }
  return Status::kOk;
}

Status run_tensor(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& update = *ctx.in(1);
  const Tensor* write = ctx.in(2);
  Tensor& y = *ctx.out(0);
  const auto& a = ctx.attrs<attrs::TensorScatter>();
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const int64_t d = x.shape[axis], n = update.shape[axis];
  const int64_t batch = x.shape[0];
  const auto first = [&](int64_t b) { return write == nullptr ? 0 : read_integer(write->dtype, write->data, b); };
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t w = first(b);
    if (w >= 0 && (a.circular() || w <= d - n)) continue;
    return ctx.fail(Status::kInvalidArgument, "TensorScatter: {} elements at position {} of {}", n, w, d);
  }
  copy_data(x, y);
  StridedView from = dense_view(update.shape), to = dense_view(x.shape);
  Shape slice = update.shape;
  slice[0] = slice[axis] = 1;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t w = first(b);
    for (int64_t t = 0; t < n; ++t) {
      const int64_t place = a.circular() ? (w % d + t) % d : w + t;
      from.offset = b * from.strides[0] + t * from.strides[axis];
      to.offset = b * to.strides[0] + place * to.strides[axis];
      copy_strided(x.dtype, slice, update.data, from, y.data, to);
    }
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kScatterElementsRef;
extern const RefKernel kScatterNDRef;
extern const RefKernel kTensorScatterRef;
const RefKernel kScatterElementsRef = {run_elements, nullptr};
const RefKernel kScatterNDRef = {run_nd, nullptr};
const RefKernel kTensorScatterRef = {run_tensor, nullptr};

}  // namespace vireo
