#include "delegates/cpu/kernels/eltwise/eltwise.h"

#include <math.h>

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/eltwise/eltwise.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/bf16-inl.h"
#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// One row of the output. Steps of a and b are 0 or 1 for vectors; other strides go element by element through the same
// f.
template <class F>
HWY_INLINE void row(const F& f, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
                    int64_t count) {
  const DF d;
  int64_t i = 0;
  if (a_step == 1 && b_step == 1) {
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
    if (i < count) {
      const size_t rest = static_cast<size_t>(count - i);
      hn::StoreN(f(hn::LoadN(d, a + i, rest), hn::LoadN(d, b + i, rest)), d, y + i, rest);
    }
  } else if (a_step == 1 && b_step == 0) {
    const VF bv = hn::Set(d, *b);
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(f(hn::LoadU(d, a + i), bv), d, y + i);
    if (i < count) {
      const size_t rest = static_cast<size_t>(count - i);
      hn::StoreN(f(hn::LoadN(d, a + i, rest), bv), d, y + i, rest);
    }
  } else if (a_step == 0 && b_step == 1) {
    const VF av = hn::Set(d, *a);
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(f(av, hn::LoadU(d, b + i)), d, y + i);
    if (i < count) {
      const size_t rest = static_cast<size_t>(count - i);
      hn::StoreN(f(av, hn::LoadN(d, b + i, rest)), d, y + i, rest);
    }
  } else {
    for (; i < count; ++i) y[i] = hn::GetLane(f(hn::Set(d, a[i * a_step]), hn::Set(d, b[i * b_step])));
  }
}

// Exponents that need no pow(). All agree with pow() on infinities and NaN; a^0.5 on -0 and -inf would not with sqrt
// alone.
HWY_INLINE bool short_power(const float* a, int64_t a_step, float exponent, float* y, int64_t count) {
  const VF zero = hn::Zero(DF()), inf = hn::Set(DF(), HUGE_VALF);
  if (a_step > 1) return false;
  if (exponent == 2) {
    row([](VF x, VF) HWY_ATTR { return hn::Mul(x, x); }, a, a_step, a, a_step, y, count);
  } else if (exponent == 3) {
    row([](VF x, VF) HWY_ATTR { return hn::Mul(hn::Mul(x, x), x); }, a, a_step, a, a_step, y, count);
  } else if (exponent == 1) {
    row([](VF x, VF) HWY_ATTR { return x; }, a, a_step, a, a_step, y, count);
  } else if (exponent == -1) {
    row([](VF x, VF) HWY_ATTR { return divide(DF(), hn::Set(DF(), 1.0f), x); }, a, a_step, a, a_step, y, count);
  } else if (exponent == 0.5f) {
    row(
        [=](VF x, VF) HWY_ATTR {
          const VF root = hn::Add(square_root(DF(), x), zero);  // -0 becomes 0
          return hn::IfThenElse(hn::Eq(x, hn::Neg(inf)), inf, root);
        },
        a, a_step, a, a_step, y, count);
  } else {
    return false;
  }
  return true;
}

void binary_row(Binary op, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t count) {
  const VF zero = hn::Zero(DF());
  switch (op) {
    case Binary::kAdd:
      return row([](VF p, VF q) HWY_ATTR { return hn::Add(p, q); }, a, a_step, b, b_step, y, count);
    case Binary::kSub:
      return row([](VF p, VF q) HWY_ATTR { return hn::Sub(p, q); }, a, a_step, b, b_step, y, count);
    case Binary::kMul:
      return row([](VF p, VF q) HWY_ATTR { return hn::Mul(p, q); }, a, a_step, b, b_step, y, count);
    case Binary::kDiv:
      return row([](VF p, VF q) HWY_ATTR { return divide(DF(), p, q); }, a, a_step, b, b_step, y, count);
    case Binary::kMin:
      return row([](VF p, VF q) HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Lt(p, q), hn::IsNaN(p)), p, q); }, a,
                 a_step, b, b_step, y, count);
    case Binary::kMax:
      return row([](VF p, VF q) HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Gt(p, q), hn::IsNaN(p)), p, q); }, a,
                 a_step, b, b_step, y, count);
    case Binary::kPrelu:
      return row([=](VF p, VF q) HWY_ATTR { return hn::IfThenElse(hn::Lt(p, zero), hn::Mul(p, q), p); }, a, a_step, b,
                 b_step, y, count);
    case Binary::kSquaredDifference:
      return row(
          [](VF p, VF q) HWY_ATTR {
            const VF difference = hn::Sub(p, q);
            return hn::Mul(difference, difference);
          },
          a, a_step, b, b_step, y, count);
    case Binary::kPow:
      if (b_step == 0 && short_power(a, a_step, *b, y, count)) return;
      for (int64_t i = 0; i < count; ++i) y[i] = powf(a[i * a_step], b[i * b_step]);
      return;
  }
}

void binary_range(const Broadcast& s, Binary op, const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  const int64_t a_step = s.a_strides[s.rank - 1], b_step = s.b_strides[s.rank - 1];
  for_each_row(s, begin, end, [&](int64_t at_a, int64_t at_b, int64_t at_y, int64_t count) {
    binary_row(op, a + at_a, a_step, b + at_b, b_step, y + at_y, count);
  });
}

void scale_row_bf16(const uint16_t* x, const uint16_t* scale, uint16_t* y, int64_t columns) {
  const hn::Rebind<uint16_t, DF> half;
  int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    const VF v = hn::Mul(widened(x + c), widened(scale + c));
    hn::StoreU(narrowed(v), half, y + c);
  }
  if (c < columns) {
    const size_t rest = static_cast<size_t>(columns - c);
    const VF v = hn::Mul(widened(x + c, rest), widened(scale + c, rest));
    hn::StoreN(narrowed(v), half, y + c, rest);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(binary_range);
HWY_EXPORT(scale_row_bf16);

Broadcast collapsed(const Broadcast& s) {
  Broadcast out;
  for (int i = 0; i < s.rank; ++i) {
    if (s.dims[i] == 1) continue;
    const int top = out.rank - 1;
    if (top >= 0 && out.a_strides[top] == s.a_strides[i] * s.dims[i] &&
        out.b_strides[top] == s.b_strides[i] * s.dims[i]) {
      out.dims[top] *= s.dims[i];
      out.a_strides[top] = s.a_strides[i];
      out.b_strides[top] = s.b_strides[i];
      continue;
    }
    out.dims[out.rank] = s.dims[i];
    out.a_strides[out.rank] = s.a_strides[i];
    out.b_strides[out.rank] = s.b_strides[i];
    ++out.rank;
  }
  if (out.rank == 0) {
    out.rank = 1;
    out.dims[0] = 1;
    out.a_strides[0] = out.b_strides[0] = 1;
  }
  return out;
}

void binary_f32(const BinaryF32& shape, const float* a, const float* b, float* y, const Parallel& parallel) {
  const Broadcast s = collapsed(shape);
  const Binary op = shape.op;
  const auto kernel = HWY_DYNAMIC_POINTER(binary_range);
  const int64_t grain = op == Binary::kPow ? 2048 : 32768;
  parallel.for_range(s.count(), grain,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, op, a, b, y, begin, end); });
}

void scale_rows_bf16(const uint16_t* x, const uint16_t* scale, uint16_t* y, int64_t images, int64_t rows,
                     int64_t columns, const Parallel& parallel) {
  if (rows <= 0 || columns <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(scale_row_bf16);
  parallel.for_range(images * rows, 65536 / columns + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t r = begin; r < end; ++r) kernel(x + r * columns, scale + r / rows * columns, y + r * columns, columns);
  });
}
}  // namespace vireo::cpu
#endif
