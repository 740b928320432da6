#include "delegates/cpu/kernels/activation/activation.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/activation/activation.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// `rows` rows of `count` elements, `step` apart in x and in y.
struct Rows {
  int64_t rows, step, count;
};

// f is called on whole vectors; the last one of a row is padded with zeros, whose results are dropped. Rows of a block
// are done in one call: a function's constants take as long to load as a few vectors take to compute.
template <class F>
HWY_INLINE void map(const float* x, float* y, const Rows& n, const F& f) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < n.rows; ++r, x += n.step, y += n.step) {
    int64_t i = 0;
    for (; i + lanes <= n.count; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
    if (i < n.count) {
      const size_t rest = static_cast<size_t>(n.count - i);
      hn::StoreN(f(hn::LoadN(d, x + i, rest)), d, y + i, rest);
    }
  }
}

void activate_rows(const float* x, float* y, int64_t rows, int64_t step, int64_t count, const Activate& act) {
  const DF d;
  const Rows n{rows, step, count};
  const VF zero = hn::Zero(d), one = hn::Set(d, 1.0f), a = hn::Set(d, act.a), b = hn::Set(d, act.b);
  switch (act.kind) {
    case Activation::kNone:
      if (x != y) map(x, y, n, [](VF v) HWY_ATTR { return v; });
      return;
    case Activation::kRelu:
      return map(x, y, n, [=](VF v) HWY_ATTR { return at_least(DF(), v, zero); });
    case Activation::kClip:
      return map(x, y, n, [=](VF v) HWY_ATTR { return clip(DF(), v, a, b); });
    case Activation::kLeakyRelu:
      return map(x, y, n, [=](VF v) HWY_ATTR { return hn::IfThenElse(hn::Lt(v, zero), hn::Mul(v, a), v); });
    case Activation::kHardSigmoid:
      return map(x, y, n, [=](VF v) HWY_ATTR { return clip(DF(), hn::MulAdd(v, a, b), zero, one); });
    case Activation::kHardSwish:
      return map(x, y, n, [](VF v) HWY_ATTR { return hard_swish_f32(DF(), v); });
    case Activation::kSigmoid:
      return map(x, y, n, [](VF v) HWY_ATTR { return sigmoid_f32(DF(), v); });
    case Activation::kSilu:
      if (act.a == 1) return map(x, y, n, [](VF v) HWY_ATTR { return silu_f32(DF(), v); });
      return map(x, y, n, [=](VF v) HWY_ATTR { return swish_f32(DF(), v, a); });
    case Activation::kTanh:
      return map(x, y, n, [](VF v) HWY_ATTR { return tanh_f32(DF(), v); });
    case Activation::kGelu:
      return map(x, y, n, [](VF v) HWY_ATTR { return gelu_f32(DF(), v); });
    case Activation::kGeluTanh:
      return map(x, y, n, [](VF v) HWY_ATTR { return gelu_tanh_f32(DF(), v); });
    case Activation::kElu:
    case Activation::kSelu:
    case Activation::kCelu: {
      const bool celu = act.kind == Activation::kCelu;
      const VF inner = hn::Set(d, celu ? 1.0f / act.a : 1.0f);
      const VF outer = act.kind == Activation::kSelu ? b : one;
      return map(x, y, n, [=](VF v) HWY_ATTR {
        const VF e = hn::Sub(exp_f32(DF(), hn::Mul(v, inner)), one);
        return hn::Mul(outer, hn::IfThenElse(hn::Lt(v, zero), hn::Mul(a, e), v));
      });
    }
    case Activation::kSoftplus:
      return map(x, y, n, [](VF v) HWY_ATTR { return softplus_f32(DF(), v); });
    case Activation::kSoftsign:
      return map(x, y, n, [=](VF v) HWY_ATTR { return divide(DF(), v, hn::Add(one, hn::Abs(v))); });
    case Activation::kMish:
      return map(x, y, n, [](VF v) HWY_ATTR { return hn::Mul(v, tanh_f32(DF(), softplus_f32(DF(), v))); });
    case Activation::kThresholdedRelu:
      return map(x, y, n, [=](VF v) HWY_ATTR { return hn::IfThenElse(hn::Le(v, a), zero, v); });
    case Activation::kExp:
      return map(x, y, n, [](VF v) HWY_ATTR { return exp_f32(DF(), v); });
    case Activation::kLog:
      return map(x, y, n, [](VF v) HWY_ATTR { return log_f32(DF(), v); });
    case Activation::kSqrt:
      return map(x, y, n, [](VF v) HWY_ATTR { return square_root(DF(), v); });
    case Activation::kReciprocal:
      return map(x, y, n, [=](VF v) HWY_ATTR { return divide(DF(), one, v); });
    case Activation::kErf:
      return map(x, y, n, [](VF v) HWY_ATTR { return erf_f32(DF(), v); });
    case Activation::kAbs:
      return map(x, y, n, [](VF v) HWY_ATTR { return hn::Abs(v); });
    case Activation::kNeg:
      return map(x, y, n, [](VF v) HWY_ATTR { return hn::Neg(v); });
    case Activation::kFloor:
      return map(x, y, n, [](VF v) HWY_ATTR { return hn::Floor(v); });
    case Activation::kCeil:
      return map(x, y, n, [](VF v) HWY_ATTR { return hn::Ceil(v); });
    case Activation::kRound:
      return map(x, y, n, [](VF v) HWY_ATTR { return hn::Round(v); });
    case Activation::kSquare:
      return map(x, y, n, [](VF v) HWY_ATTR { return hn::Mul(v, v); });
    case Activation::kSin:
      return map(x, y, n, [](VF v) HWY_ATTR { return sine_f32<false>(DF(), v); });
    case Activation::kCos:
      return map(x, y, n, [](VF v) HWY_ATTR { return sine_f32<true>(DF(), v); });
  }
}

void finish_rows(float* y, int64_t step, int64_t rows, int64_t count, const RowFinish& finish, int64_t with_step) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (finish.scale != 1 || finish.row_bias != 0 || finish.col_bias != nullptr || finish.residual != nullptr) {
    const VF scale = hn::Set(d, finish.scale), bias = hn::Set(d, finish.row_bias);
    const VF residual_scale = hn::Set(d, finish.residual_scale);
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = y + r * step;
      for (int64_t i = 0; i < count; i += lanes) {
        const size_t n = static_cast<size_t>(count - i < lanes ? count - i : lanes);
        VF v = hn::MulAdd(hn::LoadN(d, row + i, n), scale, bias);
        if (finish.col_bias != nullptr) v = hn::Add(v, hn::LoadN(d, finish.col_bias + i, n));
        if (finish.residual != nullptr)
          v = hn::MulAdd(hn::LoadN(d, finish.residual + r * with_step + i, n), residual_scale, v);
        hn::StoreN(v, d, row + i, n);
      }
    }
  }
  const auto combine = [&](const float* with, int64_t from_step, const auto& f) HWY_ATTR {
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = y + r * step;
      for (int64_t i = 0; i < count; i += lanes) {
        const size_t n = static_cast<size_t>(count - i < lanes ? count - i : lanes);
        hn::StoreN(f(hn::LoadN(d, row + i, n), hn::LoadN(d, with + r * from_step + i, n)), d, row + i, n);
      }
    }
  };
  if (finish.slope == nullptr) {
    activate_rows(y, y, rows, step, count, finish.f);
  } else {
    combine(finish.slope, 0,
            [&](VF v, VF slope) HWY_ATTR { return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, slope), v); });
  }
  if (finish.late_residual != nullptr)
    combine(finish.late_residual, with_step, [](VF v, VF w) HWY_ATTR { return hn::Add(v, w); });
  if (finish.late_factor != nullptr)
    combine(finish.late_factor, with_step, [](VF v, VF w) HWY_ATTR { return hn::Mul(v, w); });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(activate_rows);
HWY_EXPORT(finish_rows);

void activate_f32(const float* x, float* y, int64_t count, const Activate& f, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(activate_rows);
  // 16384 elements take 2 us (a copy) to 30 us (tanh): about what waking a thread costs at the least.
  parallel.for_range(count, 16384,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(x + begin, y + begin, 1, 0, end - begin, f); });
}

void finish_row_f32(float* y, int64_t count, const RowFinish& finish) {
  HWY_DYNAMIC_DISPATCH(finish_rows)(y, 0, 1, count, finish, 0);
}

void finish_rows_f32(float* y, int64_t step, int64_t rows, int64_t count, const RowFinish& finish, int64_t with_step) {
  HWY_DYNAMIC_DISPATCH(finish_rows)(y, step, rows, count, finish, with_step);
}
}  // namespace vireo::cpu
#endif
