// IntResize: tables of places and weights come as inputs, and may be anything a file holds.
#include "sdk/ops/int_resize/int_resize.h"

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/resize_i8/resize_i8.h"
#include "delegates/cpu/requantize_of.h"

namespace vireo {
namespace {

static_assert(kMaxRank <= cpu::kMostResizeAxes && kMaxIntResizeOuter <= cpu::kMostResizeLines);

// Which of the operator's axes is `axis`, or -1.
int table_of(const attrs::IntResize& a, int axis) {
  for (unsigned k = 0; k < a.axes()->size(); ++k) {
    if (a.axes()->Get(k) == axis) return static_cast<int>(k);
  }
  return -1;
}

int64_t scratch_bytes(const CpuQuery& q) {
  const Shape &x = q.inputs[0].type.shape, &y = q.outputs[0].type.shape;
  const int table = table_of(q.attrs<attrs::IntResize>(), x.rank - 1);
  const int64_t taps = table < 0 ? 0 : q.inputs[1 + 2 * table].type.shape[1];
  return static_cast<int64_t>(cpu::resize_i8_scratch_bytes(x[x.rank - 1], y[y.rank - 1], taps, q.slots));
}

Status run(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::IntResize>();
  const Tensor &x = *ctx.in(0), &y = *ctx.out(0);
  cpu::ResizeI8 s;
  s.rank = x.shape.rank;
  for (int k = 0; k < s.rank; ++k) {
    s.axes[k].in = x.shape[k];
    s.axes[k].out = y.shape[k];
    const int table = table_of(a, k);
    if (table < 0) continue;
    const Tensor &places = ctx.required(1 + 2 * table), &weights = ctx.required(2 + 2 * table);
    s.axes[k].taps = places.shape[1];
    s.axes[k].places = places.as<const int32_t>();
    s.axes[k].weights = weights.as<const int32_t>();
    for (int64_t i = 0; i < places.count(); ++i) {
      if (s.axes[k].places[i] < 0 || s.axes[k].places[i] >= x.shape[k]) {
        return ctx.fail(Status::kInvalidModel, "place {} of axis {} is {}, outside of {}", i, k, s.axes[k].places[i],
                        x.shape[k]);
      }
    }
  }
  if (y.count() == 0) return Status::kOk;
  s.x_signed = x.dtype == DType::kI8;
  s.x_zero = a.x_zero();
  s.multiplier = a.multiplier();
  s.finish = cpu::requantize_of(a);
  cpu::resize_i8(s, x.as<const uint8_t>(), ctx.out(0)->as<uint8_t>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kResize = {"resize_codes", 0, scratch_bytes, nullptr, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "a scalar has no axis";
  return q.inputs[0].type.shape.rank >= 1 ? &kResize : nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_int_resize;
const CpuOp kCpuOp_int_resize = {"int_resize", choose};

}  // namespace vireo
