#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/loss/loss_generated.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

template <class T>
Status loss(const KernelContext& ctx, bool softmax) {
  using C = compute_t<T>;
  const auto& a = ctx.attrs<attrs::Loss>();
  const Tensor &x = *ctx.in(0), &target = *ctx.in(1);
  const Tensor* weight = ctx.in(2);
  Tensor *y = ctx.out(0), *log_prob = ctx.out(1);
  const int64_t batch = x.shape[0], classes = x.shape[1], inner = product(x.shape, 2, x.shape.rank);
  for (int64_t i = 0; i < batch * inner; ++i) {
    const int64_t t = read_integer(target.dtype, target.data, i);
    if ((t >= 0 && t < classes) || (a.ignore() && t == a.ignore_index())) continue;
    return ctx.fail(Status::kInvalidArgument, "target {} is {}, wanted 0 to {}", i, t, classes - 1);
  }
  double sum = 0, counted = 0;
  for (int64_t i = 0; i < batch * inner; ++i) {
    const int64_t base = i / inner * classes * inner + i % inner;
    const auto score = [&](int64_t c) { return static_cast<C>(x.as<const T>()[base + c * inner]); };
    C log_total = 0;  // of the exponentials, where the scores are not log-probabilities yet
    if (softmax) {
      C top = static_cast<C>(-INFINITY), total = 0;
      for (int64_t c = 0; c < classes; ++c) top = score(c) > top ? score(c) : top;
      for (int64_t c = 0; c < classes; ++c) total += static_cast<C>(exp(score(c) - top));
      log_total = top + static_cast<C>(log(total));
    }
    for (int64_t c = 0; log_prob != nullptr && c < classes; ++c) {
      log_prob->as<T>()[base + c * inner] = T(score(c) - log_total);
    }
    const int64_t t = read_integer(target.dtype, target.data, i);
    const bool ignored = a.ignore() && t == a.ignore_index();
    const C w = ignored ? C(0) : (weight == nullptr ? C(1) : static_cast<C>(weight->as<const T>()[t]));
    const C one = ignored ? C(0) : -w * (score(t) - log_total);
    if (a.reduction() == attrs::LossReduction::None && y != nullptr) y->as<T>()[i] = T(one);
    sum += static_cast<double>(one);
    counted += static_cast<double>(w);
  }
  if (y != nullptr && a.reduction() == attrs::LossReduction::Sum) y->as<T>()[0] = T(static_cast<C>(sum));
  if (y != nullptr && a.reduction() == attrs::LossReduction::Mean) y->as<T>()[0] = T(static_cast<C>(sum / counted));
  return Status::kOk;
}

Status run_likelihood(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) { return loss<decltype(tag)>(ctx, /*softmax=*/false); });
}
Status run_entropy(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) { return loss<decltype(tag)>(ctx, /*softmax=*/true); });
}

}  // namespace

extern const RefKernel kNegativeLogLikelihoodLossRef;
const RefKernel kNegativeLogLikelihoodLossRef = {run_likelihood, nullptr};
extern const RefKernel kSoftmaxCrossEntropyLossRef;
const RefKernel kSoftmaxCrossEntropyLossRef = {run_entropy, nullptr};

}  // namespace vireo
