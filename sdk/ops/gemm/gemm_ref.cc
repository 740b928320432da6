#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/to_integer.h"

namespace vireo {
namespace {

// factor * sum; for integers by way of double, since the factor is one.
template <class T, class A>
A scaled(float factor, A sum) {
  if (factor == 1.0f) return sum;
  if constexpr (static_cast<A>(0.5f) != 0) {
    return static_cast<A>(factor) * sum;
  } else {
    return static_cast<A>(to_integer<T>(static_cast<double>(factor) * static_cast<double>(static_cast<T>(sum))));
  }
}

template <class T>
void gemm(const KernelContext& ctx) {
  using A = accumulate_t<T>;
  const auto& attr = ctx.attrs<attrs::Gemm>();
  const Shape& as = ctx.in(0)->shape;
  const Shape& bs = ctx.in(1)->shape;
  const T* a = ctx.in(0)->as<const T>();
  const T* b = ctx.in(1)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  const int64_t m_count = ctx.out(0)->shape[0], n_count = ctx.out(0)->shape[1], k_count = as[attr.trans_a() ? 0 : 1];
  const int64_t a_m = attr.trans_a() ? 1 : as[1], a_k = attr.trans_a() ? as[1] : 1;
  const int64_t b_n = attr.trans_b() ? bs[1] : 1, b_k = attr.trans_b() ? 1 : bs[1];
  const T* c = nullptr;
  int64_t c_m = 0, c_n = 0;
  if (ctx.in(2) != nullptr) {
    const Shape& cs = ctx.in(2)->shape;
    c = ctx.in(2)->as<const T>();
    if (cs.rank >= 1 && cs[cs.rank - 1] != 1) c_n = 1;
    if (cs.rank == 2 && cs[0] != 1) c_m = cs[1];
  }
  ctx.parallel.for_range(m_count, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t m = begin; m < end; ++m) {
      for (int64_t n = 0; n < n_count; ++n) {
        A sum = 0;
        for (int64_t k = 0; k < k_count; ++k) sum += to_sum<A>(a[m * a_m + k * a_k]) * to_sum<A>(b[k * b_k + n * b_n]);
        sum = scaled<T>(attr.alpha(), sum);
        if (c != nullptr) sum += scaled<T>(attr.beta(), to_sum<A>(c[m * c_m + n * c_n]));
        y[m * n_count + n] = from_sum<T>(sum);
      }
    }
  });
}

Status run_gemm(const KernelContext& ctx) {
  const auto typed = [&](auto tag) {
    gemm<decltype(tag)>(ctx);
    return Status::kOk;
  };
  switch (ctx.in(0)->dtype) {
    case DType::kI32:
      return typed(int32_t{});
    case DType::kU32:
      return typed(uint32_t{});
    case DType::kI64:
      return typed(int64_t{});
    case DType::kU64:
      return typed(uint64_t{});
    default:
      return dispatch_float(ctx.in(0)->dtype, typed);
  }
}

}  // namespace

extern const RefKernel kGemmRef;
const RefKernel kGemmRef = {run_gemm, nullptr};

}  // namespace vireo
