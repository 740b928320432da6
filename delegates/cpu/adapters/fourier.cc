// DFT and STFT, float32, of up to 8192 points.
#include "delegates/cpu/kernels/fourier/fourier.h"

#include <stdint.h>

#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

constexpr int64_t kMostPoints = 8193;  // 2 bins - 1 of 8192; a vector's lanes of longer lines leave the caches

// Points of a transform at the bounds of extents: the axis of DFT may be known in the run only.
int64_t most_points(const CpuQuery& q) {
  const auto& a = q.attrs<attrs::Fourier>();
  const Shape& y = q.outputs[0].type.shape;
  int64_t bins = 1;
  if (q.op == Op::kSTFT) {
    bins = y[2];
  } else {
    for (int i = 0; i < y.rank - 1; ++i) bins = y[i] > bins ? y[i] : bins;
  }
  if (bins > kMostPoints) return bins;
  return a.onesided() && !a.inverse() ? 2 * bins - 1 : bins;
}
int64_t scratch_bytes(const CpuQuery& q) {
  const int64_t n = most_points(q);
  return n < 1 ? 0 : static_cast<int64_t>(cpu::fourier_scratch_bytes(n, q.slots));
}

int64_t integer_at(const Tensor* t) { return read_integer(t->dtype, t->data, 0); }

// Sizes that only the run knew, and sums of no samples.
bool fits(const KernelContext& ctx, const cpu::FourierF32& s) {
  return s.n > 0 && s.n <= kMostPoints && ctx.in(0)->count() <= INT32_MAX &&
         cpu::fourier_scratch_bytes(s.n, ctx.parallel.slots) <= ctx.scratch.size();
}
Status transform(const KernelContext& ctx, const cpu::FourierF32& s) {
  cpu::fourier_f32(s, ctx.in(0)->as<const float>(), ctx.out(0)->as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

Status run_dft(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::Fourier>();
  const Shape &x = ctx.in(0)->shape, &y = ctx.out(0)->shape;
  const int last = x.rank - 1;
  const int axis = ctx.in(2) == nullptr ? last - 1 : normalize_axis(integer_at(ctx.in(2)), x.rank);
  const int64_t have = x[axis];
  cpu::FourierF32 s;
  s.inverse = a.inverse();
  s.mirrored = a.inverse() && a.onesided();
  s.n = ctx.in(1) != nullptr ? integer_at(ctx.in(1)) : s.mirrored ? 2 * (have - 1) : have;
  if (!fits(ctx, s)) return find_ref(Op::kDFT)->run(ctx);
  const int64_t bins = s.mirrored ? s.n / 2 + 1 : s.n;
  s.given = have < bins ? have : bins;
  s.made = y[axis];
  s.x_parts = static_cast<int>(x[last]);
  s.y_parts = static_cast<int>(y[last]);
  s.outer = product(x, 0, axis);
  s.inner = product(x, axis + 1, last);
  s.x_inner = s.x_parts;
  s.x_step = s.inner * s.x_parts;
  s.x_outer = have * s.x_step;
  s.y_inner = s.y_parts;
  s.y_step = s.inner * s.y_parts;
  s.y_outer = s.made * s.y_step;
  return transform(ctx, s);
}

Status run_stft(const KernelContext& ctx, const void*) {
  const Tensor *const window = ctx.in(2), *const length = ctx.in(3);
  const Shape &x = ctx.in(0)->shape, &y = ctx.out(0)->shape;
  cpu::FourierF32 s;
  s.n = window != nullptr ? window->shape[0] : length != nullptr ? integer_at(length) : x[1];
  if (!fits(ctx, s)) return find_ref(Op::kSTFT)->run(ctx);
  s.window = window == nullptr ? nullptr : window->as<const float>();
  s.given = s.n;
  s.made = y[2];
  s.x_parts = static_cast<int>(x[2]);
  s.outer = x[0];
  s.inner = y[1];
  s.x_step = s.x_parts;
  s.x_inner = integer_at(ctx.in(1)) * s.x_parts;
  s.x_outer = x[1] * s.x_parts;
  s.y_step = 2;
  s.y_inner = s.made * 2;
  s.y_outer = s.inner * s.y_inner;
  return transform(ctx, s);
}

constexpr CpuKernel kDft = {"dft_f32", 0, scratch_bytes, nullptr, run_dft};
constexpr CpuKernel kStft = {"stft_f32", 0, scratch_bytes, nullptr, run_stft};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for float32, of up to 8192 points";
  if (q.inputs[0].type.dtype != DType::kF32 || most_points(q) > kMostPoints) return nullptr;
  *reason = "";
  return q.op == Op::kDFT ? &kDft : &kStft;
}

}  // namespace

extern const CpuOp kCpuOp_fourier;
const CpuOp kCpuOp_fourier = {"fourier", choose};

}  // namespace vireo
