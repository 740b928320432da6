#include "sdk/ops/random/random.h"

#include "sdk/ops/kernel.h"
#include "sdk/ops/random/random_generated.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// The seed's stream, or the session's, which moves on when the kernel is done.
class Draws {
 public:
  explicit Draws(const KernelContext& ctx)
      : session_(ctx.attrs<attrs::Random>().seeded() ? nullptr : ctx.random), stream_(start(ctx)) {}
  ~Draws() {
    if (session_ != nullptr) *session_ = stream_.state();
  }
  Draws(const Draws&) = delete;
  Draws& operator=(const Draws&) = delete;
  double uniform() { return stream_.uniform(); }
  double normal() { return stream_.normal(); }

 private:
  static uint64_t start(const KernelContext& ctx) {
    const auto& a = ctx.attrs<attrs::Random>();
    if (a.seeded()) return random_start(a.seed());
    return ctx.random == nullptr ? 0 : *ctx.random;
  }
  uint64_t* session_;
  RandomStream stream_;
};

Status run_uniform(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Random>();
  const double low = static_cast<double>(a.low()), width = static_cast<double>(a.high()) - low;
  Tensor& y = *ctx.out(0);
  Draws draws(ctx);
  return dispatch_float(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0, n = y.count(); i < n; ++i) {
      y.as<T>()[i] = T(static_cast<compute_t<T>>(low + width * draws.uniform()));
    }
    return Status::kOk;
  });
}

Status run_normal(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Random>();
  const double mean = static_cast<double>(a.mean()), scale = static_cast<double>(a.scale());
  Tensor& y = *ctx.out(0);
  Draws draws(ctx);
  return dispatch_float(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0, n = y.count(); i < n; ++i) {
      y.as<T>()[i] = T(static_cast<compute_t<T>>(mean + scale * draws.normal()));
    }
    return Status::kOk;
  });
}

Status run_bernoulli(const KernelContext& ctx) {
  const Tensor& p = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  Draws draws(ctx);
  return dispatch_number(y.dtype == DType::kBool ? DType::kU8 : y.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0, n = y.count(); i < n; ++i) {
      const bool one = draws.uniform() < read_real(p.dtype, p.data, i);
      y.as<T>()[i] = T(static_cast<compute_t<T>>(one ? 1 : 0));
    }
    return Status::kOk;
  });
}

Status run_multinomial(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const int64_t classes = x.shape[1], samples = y.shape[1];
  Draws draws(ctx);
  for (int64_t b = 0; b < x.shape[0] && samples > 0; ++b) {
    const auto logarithm = [&](int64_t k) { return read_real(x.dtype, x.data, b * classes + k); };
    double top = -INFINITY, total = 0;
    for (int64_t k = 0; k < classes; ++k) top = logarithm(k) > top ? logarithm(k) : top;
    for (int64_t k = 0; k < classes; ++k) total += exp(logarithm(k) - top);
    if (!(total > 0) || isinf(total)) {  // no class, all of them -inf, an infinity or a NaN among them
      return ctx.fail(Status::kInvalidArgument,
                      "row {} gives no class a probability: logarithms must be finite or -inf", b);
    }
    for (int64_t s = 0; s < samples; ++s) {
      double left = draws.uniform() * total;
      int64_t chosen = 0;
      for (int64_t k = 0; k < classes; ++k) {
        const double weight = exp(logarithm(k) - top);
        if (weight > 0) chosen = k;  // where rounding leaves a rest, the last possible class takes it
        if (left < weight) break;
        left -= weight;
      }
      const int64_t i = b * samples + s;
      if (y.dtype == DType::kI32) {
        y.as<int32_t>()[i] = static_cast<int32_t>(chosen);
      } else {
        y.as<int64_t>()[i] = chosen;
      }
    }
  }
  return Status::kOk;
}

}  // namespace

#define VIREO_RANDOM_REF(name, run)    \
  extern const RefKernel k##name##Ref; \
  const RefKernel k##name##Ref = {run, nullptr};
VIREO_RANDOM_REF(RandomNormal, run_normal)
VIREO_RANDOM_REF(RandomNormalLike, run_normal)
VIREO_RANDOM_REF(RandomUniform, run_uniform)
VIREO_RANDOM_REF(RandomUniformLike, run_uniform)
VIREO_RANDOM_REF(Bernoulli, run_bernoulli)
VIREO_RANDOM_REF(Multinomial, run_multinomial)
#undef VIREO_RANDOM_REF

}  // namespace vireo
