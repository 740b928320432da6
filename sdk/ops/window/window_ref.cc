#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/window/window_generated.h"

namespace vireo {
namespace {

constexpr double kPi = 3.14159265358979323846;

Status store(Tensor* y, int64_t i, double v) {
  return dispatch_number(y->dtype, [&](auto tag) {
    using T = decltype(tag);
    y->as<T>()[i] = T(static_cast<compute_t<T>>(v));
    return Status::kOk;
  });
}

// w[n] = c0 - c1 cos(2 pi n / N) + c2 cos(4 pi n / N)
Status run_window(const KernelContext& ctx, double c0, double c1, double c2) {
  Tensor& y = *ctx.out(0);
  const int64_t size = y.shape[0], period = ctx.attrs<attrs::Window>().periodic() ? size : size - 1;
  for (int64_t n = 0; n < size; ++n) {
    // A symmetric window of one sample is its middle.
    const double angle = period == 0 ? kPi : 2 * kPi * static_cast<double>(n) / static_cast<double>(period);
    const double w = c0 - c1 * cos(angle) + c2 * cos(2 * angle);
    // The coefficients' own rounding leaves the middle a little below 1, which as an integer would be 0.
    VIREO_TRY(store(&y, n, fabs(w - round(w)) < 1e-14 ? round(w) : w));
  }
  return Status::kOk;
}
Status run_hann(const KernelContext& ctx) { return run_window(ctx, 0.5, 0.5, 0); }
Status run_hamming(const KernelContext& ctx) { return run_window(ctx, 25.0 / 46, 21.0 / 46, 0); }
Status run_blackman(const KernelContext& ctx) { return run_window(ctx, 0.42, 0.5, 0.08); }

double to_mel(double hertz) { return 2595 * log10(1 + hertz / 700); }
double to_hertz(double mel) { return 700 * (pow(10, mel / 2595) - 1); }

// Column m is a triangle over the spectrum's bins from point m over m + 1, its peak of 1, to m + 2. The points are
// equally spaced on the mel scale: (upper - lower) / (bins + 2) apart, as ONNX's reference has it.
Status run_mel(const KernelContext& ctx) {
  const auto integer = [&](size_t i) { return read_integer(ctx.in(i)->dtype, ctx.in(i)->data, 0); };
  Tensor& y = *ctx.out(0);
  const int64_t bins = y.shape[0], count = y.shape[1], length = integer(1), rate = integer(2);
  const double low = to_mel(read_real(ctx.in(3)->dtype, ctx.in(3)->data, 0));
  const double high = to_mel(read_real(ctx.in(4)->dtype, ctx.in(4)->data, 0));
  const double step = (high - low) / static_cast<double>(count + 2);
  if (rate < 1) return ctx.fail(Status::kInvalidArgument, "the sample rate is {}", rate);
  const auto point = [&](int64_t m) {
    return floor(static_cast<double>(length + 1) * to_hertz(low + static_cast<double>(m) * step) /
                 static_cast<double>(rate));
  };
  // Points ascend: the first and the last bound them all. Written so that a NaN fails.
  if (!(point(0) >= 0 && step >= 0 && point(count + 1) <= static_cast<double>(bins))) {
    return ctx.fail(Status::kInvalidArgument, "the edges must ascend and lie between 0 Hz and half the sample rate");
  }
  for (int64_t i = 0, n = y.count(); i < n; ++i) VIREO_TRY(store(&y, i, 0));
  for (int64_t m = 0; m < count; ++m) {
    const auto left = static_cast<int64_t>(point(m)), middle = static_cast<int64_t>(point(m + 1)),
               right = static_cast<int64_t>(point(m + 2));
    for (int64_t j = left; j < right; ++j) {
      const double up = static_cast<double>(j - left) / static_cast<double>(middle - left);
      const double down = static_cast<double>(right - j) / static_cast<double>(right - middle);
      VIREO_TRY(store(&y, j * count + m, j < middle ? up : down));
    }
    if (middle < bins) VIREO_TRY(store(&y, middle * count + m, 1));
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kHannWindowRef;
const RefKernel kHannWindowRef = {run_hann, nullptr};
extern const RefKernel kHammingWindowRef;
const RefKernel kHammingWindowRef = {run_hamming, nullptr};
extern const RefKernel kBlackmanWindowRef;
const RefKernel kBlackmanWindowRef = {run_blackman, nullptr};
extern const RefKernel kMelWeightMatrixRef;
const RefKernel kMelWeightMatrixRef = {run_mel, nullptr};

}  // namespace vireo
