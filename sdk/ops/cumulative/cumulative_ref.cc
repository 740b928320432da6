#include <type_traits>

#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/dispatch.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/value_reader.h"

namespace vireo {
namespace {

// `n` elements, `step` apart (negative: backwards). y may be x.
template <bool kProduct, class T>
void line(const T* x, T* y, int64_t n, int64_t step, bool exclusive) {
  using Total = std::conditional_t<std::is_integral<T>::value, uint64_t, double>;
  using C = std::conditional_t<std::is_integral<T>::value, uint64_t, compute_t<T>>;
  Total total = kProduct ? 1 : 0;
  for (int64_t k = 0; k < n; ++k) {
    const Total before = total;
    const Total v = static_cast<Total>(static_cast<C>(x[k * step]));
    total = kProduct ? total * v : total + v;
    y[k * step] = T(static_cast<C>(exclusive ? before : total));
  }
}

template <bool kProduct>
Status run(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Cumulative>();
  const Tensor &x = *ctx.in(0), &which = *ctx.in(1);
  const int64_t given = read_integer(which.dtype, which.data, 0);
  const int axis = normalize_axis(given, x.shape.rank);
  if (axis < 0) {
    return ctx.fail(Status::kInvalidArgument, "axis {} is outside [-{},{})", given, x.shape.rank, x.shape.rank);
  }
  const int64_t outer = product(x.shape, 0, axis), n = x.shape[axis], inner = product(x.shape, axis + 1, x.shape.rank);
  const int64_t first = a.reverse() ? (n - 1) * inner : 0, step = a.reverse() ? -inner : inner;
  const auto all = [&](auto tag) {
    using T = decltype(tag);
    const T* px = x.as<const T>();
    T* py = ctx.out(0)->as<T>();
    for (int64_t o = 0; n > 0 && o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t at = o * n * inner + i + first;
        line<kProduct>(px + at, py + at, n, step, a.exclusive());
      }
    }
    return Status::kOk;
  };
  switch (x.dtype) {  // integers by size: the low bits of a sum or product are those of the operands
    case DType::kI32:
    case DType::kU32:
      return all(uint32_t{});
    case DType::kI64:
    case DType::kU64:
      return all(uint64_t{});
    default:
      return dispatch_float(x.dtype, all);
  }
}

}  // namespace

extern const RefKernel kCumSumRef;
extern const RefKernel kCumProdRef;

const RefKernel kCumSumRef = {run<false>, nullptr};
const RefKernel kCumProdRef = {run<true>, nullptr};

}  // namespace vireo
