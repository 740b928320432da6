#include "delegates/cpu/kernels/gates_i8/gates_i8.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/gates_i8/gates_i8.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::CappedTag<float, 16>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// Products and sums stand apart: a fused one would round once less.
HWY_INLINE VF product_and_sum(VF a, VF b, VF c) { return hn::Add(hn::Mul(a, b), c); }

// Coefficients: our own weighted least squares (Lawson iteration) of tanh in double, rounded to float.
HWY_INLINE VF tanh_apart(VF v) {
  const DF d;
  const VF t = clip(d, v, hn::Set(d, -7.0f), hn::Set(d, 7.0f));
  const VF s = hn::Mul(t, t);
  VF p = product_and_sum(s, hn::Set(d, 3.930034836e-06f), hn::Set(d, 2.277005930e-03f));
  p = product_and_sum(p, s, hn::Set(d, 1.230221167e-01f));
  p = product_and_sum(p, s, hn::Set(d, 9.999957085e-01f));
  VF q = product_and_sum(s, hn::Set(d, 1.423520444e-04f), hn::Set(d, 2.107228152e-02f));
  q = product_and_sum(q, s, hn::Set(d, 4.563406408e-01f));
  q = product_and_sum(q, s, hn::Set(d, 1.0f));
  return divide(d, hn::Mul(t, p), q);
}
HWY_INLINE VF sigmoid_apart(VF v) {
  const VF half = hn::Set(DF(), 0.5f);
  return product_and_sum(tanh_apart(hn::Mul(v, half)), half, half);
}

// Some units of one row of the batch: gates are H apart, in rows of `gates` H.
struct Units {
  const GatesI8& g;
  int64_t unit;
  size_t lanes;

  HWY_INLINE VF real(const int32_t* sums, int64_t at, const float* scales, float scale, const float* bias,
                     int64_t gate) const {
    const DF d;
    const hn::RebindToSigned<DF> di;
    const int64_t of = gate * g.hidden + unit;
    const VF sum = hn::ConvertTo(d, hn::LoadN(di, sums + at, lanes));
    const VF v = hn::Mul(sum, hn::Mul(hn::Set(d, scale), hn::LoadN(d, scales + of, lanes)));
    return bias == nullptr ? v : hn::Add(v, hn::LoadN(d, bias + of, lanes));
  }
  HWY_INLINE VF of_x(int64_t row, int64_t gates, int64_t gate) const {
    return real(g.x_sums, (row * gates + gate) * g.hidden + unit, g.x_scales, g.x_scale, g.x_bias, gate);
  }
  // `in_row` of `row_gates`: where the sum stands, which of gate `gate` is.
  HWY_INLINE VF of_h(int64_t row, int64_t row_gates, int64_t in_row, int64_t gate) const {
    return real(g.h_sums, (row * row_gates + in_row) * g.hidden + unit, g.h_scales, g.h_scale, g.h_bias, gate);
  }
  HWY_INLINE VF load(const float* from, int64_t row) const {
    return hn::LoadN(DF(), from + row * g.hidden + unit, lanes);
  }
  HWY_INLINE void store(VF v, float* to, int64_t row) const { hn::StoreN(v, DF(), to + row * g.hidden + unit, lanes); }
  // round_and_clamp of sdk/base/requantize.h: at 1.5 * 2^23 the last bit is worth 1.
  HWY_INLINE void store_codes(VF v, int64_t row) const {
    const DF d;
    const hn::RebindToSigned<DF> di;
    const hn::Rebind<uint8_t, DF> du;
    const VF low = hn::Set(d, static_cast<float>(-g.zero)), high = hn::Set(d, static_cast<float>(255 - g.zero));
    const VF scaled = hn::Mul(v, hn::Set(d, 1 / g.h_scale));
    const VF within = hn::IfThenElse(hn::Gt(scaled, low), hn::IfThenElse(hn::Lt(scaled, high), scaled, high), low);
    const VF magic = hn::Set(d, 12582912.0f);
    const auto code =
        hn::Add(hn::Sub(hn::BitCast(di, hn::Add(within, magic)), hn::BitCast(di, magic)), hn::Set(di, g.zero));
    hn::StoreN(hn::DemoteTo(du, code), du, g.codes + row * g.hidden + unit, lanes);
  }
  // (1 - z) candidate + z h
  HWY_INLINE void end_gru(VF z, VF candidate, int64_t row) const {
    const VF rest = hn::Mul(hn::Sub(hn::Set(DF(), 1.0f), z), candidate);
    const VF y = hn::Add(rest, hn::Mul(z, load(g.h, row)));
    store(y, g.y, row);
    store_codes(y, row);
  }
};

template <class F>
HWY_INLINE void for_units(const GatesI8& g, const F& f) {
  for (int64_t row = 0; row < g.batch; ++row) {
    for (int64_t unit = 0; unit < g.hidden; unit += kLanes) {
      const int64_t rest = g.hidden - unit;
      f(Units{g, unit, static_cast<size_t>(rest < kLanes ? rest : kLanes)}, row);
    }
  }
}

void lstm(const GatesI8& g) {
  for_units(g, [&](const Units& u, int64_t row) HWY_ATTR {
    const auto sum = [&](int64_t gate) HWY_ATTR { return hn::Add(u.of_x(row, 4, gate), u.of_h(row, 4, gate, gate)); };
    const VF kept = hn::Mul(sigmoid_apart(sum(2)), u.load(g.c, row));
    const VF c = hn::Add(kept, hn::Mul(sigmoid_apart(sum(0)), tanh_apart(sum(3))));
    const VF y = hn::Mul(sigmoid_apart(sum(1)), tanh_apart(c));
    u.store(c, g.c, row);
    u.store(y, g.y, row);
    u.store_codes(y, row);
  });
}

void gru(const GatesI8& g) {
  for_units(g, [&](const Units& u, int64_t row) HWY_ATTR {
    const VF z = sigmoid_apart(hn::Add(u.of_x(row, 3, 0), u.of_h(row, 3, 0, 0)));
    const VF r = sigmoid_apart(hn::Add(u.of_x(row, 3, 1), u.of_h(row, 3, 1, 1)));
    const VF inner = hn::Mul(r, u.of_h(row, 3, 2, 2));
    u.end_gru(z, tanh_apart(hn::Add(u.of_x(row, 3, 2), inner)), row);
  });
}

void gru_reset(const GatesI8& g) {
  for_units(g, [&](const Units& u, int64_t row) HWY_ATTR {
    const VF r = sigmoid_apart(hn::Add(u.of_x(row, 3, 1), u.of_h(row, 2, 1, 1)));
    u.store(sigmoid_apart(hn::Add(u.of_x(row, 3, 0), u.of_h(row, 2, 0, 0))), g.z, row);
    u.store_codes(hn::Mul(r, u.load(g.h, row)), row);
  });
}

void gru_candidate(const GatesI8& g) {
  for_units(g, [&](const Units& u, int64_t row) HWY_ATTR {
    u.end_gru(u.load(g.z, row), tanh_apart(hn::Add(u.of_x(row, 3, 2), u.of_h(row, 1, 0, 2))), row);
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(lstm);
HWY_EXPORT(gru);
HWY_EXPORT(gru_reset);
HWY_EXPORT(gru_candidate);

void lstm_gates_i8(const GatesI8& g) { HWY_DYNAMIC_DISPATCH(lstm)(g); }
void gru_gates_i8(const GatesI8& g) { HWY_DYNAMIC_DISPATCH(gru)(g); }
void gru_reset_i8(const GatesI8& g) { HWY_DYNAMIC_DISPATCH(gru_reset)(g); }
void gru_candidate_i8(const GatesI8& g) { HWY_DYNAMIC_DISPATCH(gru_candidate)(g); }
}  // namespace vireo::cpu
#endif
