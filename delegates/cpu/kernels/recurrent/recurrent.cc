#include "delegates/cpu/kernels/recurrent/recurrent.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/recurrent/recurrent.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::CappedTag<float, 16>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// Batches that share a pass over the weights: four gates each, and four vectors of weights.
#if VIREO_32_REGISTERS
constexpr int kMostRows = 4;
#else
constexpr int kMostRows = 2;
#endif

// Some units of some batches: gates [0, kGates) of `panel`, whose rows are `panel_row` floats.
template <int kRows, int kGates>
struct Gates {
  VF sum[kRows][kGates];

  // sum += h R^T. One row alone has several sums a gate: eight chains cover the latency of two FMA ports.
  HWY_INLINE void add_recurrence(const float* panel, int64_t panel_row, const float* h, int64_t hidden) {
    const DF d;
    constexpr int kChains = kRows > 1 ? 1 : kGates > 2 ? 2 : 4;
    VF part[kRows][kChains][kGates];
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      VIREO_UNROLL
      for (int g = 0; g < kGates; ++g) {
        part[r][0][g] = sum[r][g];
        VIREO_UNROLL
        for (int c = 1; c < kChains; ++c) part[r][c][g] = hn::Zero(d);
      }
    }
    int64_t k = 0;
    for (; k + kChains <= hidden; k += kChains) {
      VIREO_UNROLL
      for (int c = 0; c < kChains; ++c, panel += panel_row) {
        VIREO_UNROLL
        for (int g = 0; g < kGates; ++g) {
          const VF w = hn::LoadU(d, panel + g * kGateUnits);
          VIREO_UNROLL
          for (int r = 0; r < kRows; ++r)
            part[r][c][g] = hn::MulAdd(hn::Set(d, h[r * hidden + k + c]), w, part[r][c][g]);
        }
      }
    }
    for (; k < hidden; ++k, panel += panel_row) {
      VIREO_UNROLL
      for (int g = 0; g < kGates; ++g) {
        const VF w = hn::LoadU(d, panel + g * kGateUnits);
        VIREO_UNROLL
        for (int r = 0; r < kRows; ++r) part[r][0][g] = hn::MulAdd(hn::Set(d, h[r * hidden + k]), w, part[r][0][g]);
      }
    }
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      VIREO_UNROLL
      for (int g = 0; g < kGates; ++g) {
        VF all = part[r][0][g];
        VIREO_UNROLL
        for (int c = 1; c < kChains; ++c) all = hn::Add(all, part[r][c][g]);
        sum[r][g] = all;
      }
    }
  }
};

// Calls f.template operator()<rows>(panel, unit, lanes, row) for parts of the panels [begin, end): `lanes` units from
// `unit` on, whose weights begin at `panel`, and `rows` batches from `row` on.
template <class F>
HWY_INLINE void for_parts(const RecurrentStepF32& s, int64_t gates, int64_t begin, int64_t end, const F& f) {
  for (int64_t p = begin; p < end; ++p) {
    const float* const panel = s.packed + p * kGateUnits * gates * s.hidden;
    for (int64_t at = 0; at < kGateUnits; at += kLanes) {
      const int64_t unit = p * kGateUnits + at, rest = s.hidden - unit;
      if (rest <= 0) break;
      const size_t lanes = static_cast<size_t>(rest < kLanes ? rest : kLanes);
      int64_t row = 0;
      for (; row + kMostRows <= s.batch; row += kMostRows) f.template run<kMostRows>(panel + at, unit, lanes, row);
      for (; row < s.batch; ++row) f.template run<1>(panel + at, unit, lanes, row);
    }
  }
}

struct Lstm {
  const RecurrentStepF32& s;

  template <int kRows>
  HWY_INLINE void run(const float* panel, int64_t unit, size_t lanes, int64_t row) const {
    const DF d;
    const int64_t n = s.hidden;
    Gates<kRows, 4> gates;
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      VIREO_UNROLL
      for (int g = 0; g < 4; ++g) gates.sum[r][g] = hn::LoadN(d, s.sums + ((row + r) * 4 + g) * n + unit, lanes);
    }
    gates.add_recurrence(panel, 4 * kGateUnits, s.h + row * n, n);
    for (int r = 0; r < kRows; ++r) {
      float* const cell = s.c + (row + r) * n + unit;
      const VF in = sigmoid_f32(d, gates.sum[r][0]), forget = sigmoid_f32(d, gates.sum[r][2]);
      const VF c = hn::MulAdd(forget, hn::LoadN(d, cell, lanes), hn::Mul(in, tanh_f32(d, gates.sum[r][3])));
      hn::StoreN(c, d, cell, lanes);
      hn::StoreN(hn::Mul(sigmoid_f32(d, gates.sum[r][1]), tanh_f32(d, c)), d, s.y + (row + r) * n + unit, lanes);
    }
  }
};

// (1 - z) h' + z h
HWY_INLINE VF mixed(VF z, VF candidate, VF h) { return hn::MulAdd(z, h, hn::NegMulAdd(z, candidate, candidate)); }

struct Gru {
  const RecurrentStepF32& s;

  HWY_INLINE VF bias(int64_t at, size_t lanes) const {
    const DF d;
    return s.bias == nullptr ? hn::Zero(d) : hn::LoadN(d, s.bias + at, lanes);
  }
};

// The reset gate behind the candidate's product: one pass.
struct GruLinear : Gru {
  template <int kRows>
  HWY_INLINE void run(const float* panel, int64_t unit, size_t lanes, int64_t row) const {
    const DF d;
    const int64_t n = s.hidden;
    Gates<kRows, 3> gates;
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float* const from = s.sums + (row + r) * 3 * n + unit;
      gates.sum[r][0] = hn::Add(hn::LoadN(d, from, lanes), bias(unit, lanes));
      gates.sum[r][1] = hn::Add(hn::LoadN(d, from + n, lanes), bias(n + unit, lanes));
      gates.sum[r][2] = bias(2 * n + unit, lanes);
    }
    gates.add_recurrence(panel, 3 * kGateUnits, s.h + row * n, n);
    for (int r = 0; r < kRows; ++r) {
      const int64_t at = (row + r) * n + unit;
      const VF outer = hn::LoadN(d, s.sums + (row + r) * 3 * n + 2 * n + unit, lanes);
      const VF reset = sigmoid_f32(d, gates.sum[r][1]);
      const VF candidate = tanh_f32(d, hn::MulAdd(reset, gates.sum[r][2], outer));
      hn::StoreN(mixed(sigmoid_f32(d, gates.sum[r][0]), candidate, hn::LoadN(d, s.h + at, lanes)), d, s.y + at, lanes);
    }
  }
};

// The reset gate in front of it: z and r h for all units, then the candidate.
struct GruGates : Gru {
  template <int kRows>
  HWY_INLINE void run(const float* panel, int64_t unit, size_t lanes, int64_t row) const {
    const DF d;
    const int64_t n = s.hidden;
    Gates<kRows, 2> gates;
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float* const from = s.sums + (row + r) * 3 * n + unit;
      gates.sum[r][0] = hn::Add(hn::LoadN(d, from, lanes), bias(unit, lanes));
      gates.sum[r][1] = hn::Add(hn::LoadN(d, from + n, lanes), bias(n + unit, lanes));
    }
    gates.add_recurrence(panel, 3 * kGateUnits, s.h + row * n, n);
    for (int r = 0; r < kRows; ++r) {
      const int64_t at = (row + r) * n + unit;
      hn::StoreN(sigmoid_f32(d, gates.sum[r][0]), d, s.room + at, lanes);
      const VF reset = sigmoid_f32(d, gates.sum[r][1]);
      hn::StoreN(hn::Mul(reset, hn::LoadN(d, s.h + at, lanes)), d, s.room + s.batch * n + at, lanes);
    }
  }
};
struct GruCandidate : Gru {
  template <int kRows>
  HWY_INLINE void run(const float* panel, int64_t unit, size_t lanes, int64_t row) const {
    const DF d;
    const int64_t n = s.hidden;
    Gates<kRows, 1> gates;
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float* const from = s.sums + (row + r) * 3 * n + 2 * n + unit;
      gates.sum[r][0] = hn::Add(hn::LoadN(d, from, lanes), bias(2 * n + unit, lanes));
    }
    gates.add_recurrence(panel + 2 * kGateUnits, 3 * kGateUnits, s.room + (s.batch + row) * n, n);
    for (int r = 0; r < kRows; ++r) {
      const int64_t at = (row + r) * n + unit;
      const VF candidate = tanh_f32(d, gates.sum[r][0]);
      hn::StoreN(mixed(hn::LoadN(d, s.room + at, lanes), candidate, hn::LoadN(d, s.h + at, lanes)), d, s.y + at, lanes);
    }
  }
};

void lstm_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) { for_parts(s, 4, begin, end, Lstm{s}); }
void gru_linear_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(s, 3, begin, end, GruLinear{{s}});
}
void gru_gates_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(s, 3, begin, end, GruGates{{s}});
}
void gru_candidate_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(s, 3, begin, end, GruCandidate{{s}});
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(lstm_panels);
HWY_EXPORT(gru_linear_panels);
HWY_EXPORT(gru_gates_panels);
HWY_EXPORT(gru_candidate_panels);

namespace {
constexpr int64_t kGrainMacs = 1 << 17;  // bound by memory: some 5 us, and every step waits for all threads

int64_t panels_of(int64_t hidden) { return (hidden + kGateUnits - 1) / kGateUnits; }

template <class F>
void for_panels(const RecurrentStepF32& s, int64_t gates, const Parallel& parallel, const F& f) {
  const int64_t macs = s.batch * s.hidden * gates * kGateUnits;  // of a panel
  parallel.for_range(panels_of(s.hidden), 1 + kGrainMacs / (macs + 1),
                     [&](int64_t begin, int64_t end, int32_t) { f(s, begin, end); });
}
}  // namespace

void pack_gates_f32(int64_t gates, int64_t hidden, const float* r, const Parallel& parallel, float* packed) {
  parallel.for_range(panels_of(hidden), 4, [&](int64_t begin, int64_t end, int32_t) {
    float* to = packed + begin * kGateUnits * gates * hidden;
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t k = 0; k < hidden; ++k) {
        for (int64_t g = 0; g < gates; ++g) {
          for (int64_t u = p * kGateUnits; u < (p + 1) * kGateUnits; ++u)
            *to++ = u < hidden ? r[(g * hidden + u) * hidden + k] : 0;
        }
      }
    }
  });
}

void lstm_step_f32(const RecurrentStepF32& step, const Parallel& parallel) {
  for_panels(step, 4, parallel, HWY_DYNAMIC_POINTER(lstm_panels));
}

void gru_step_f32(const RecurrentStepF32& step, const Parallel& parallel) {
  if (step.linear_before_reset) {
    for_panels(step, 3, parallel, HWY_DYNAMIC_POINTER(gru_linear_panels));
    return;
  }
  for_panels(step, 2, parallel, HWY_DYNAMIC_POINTER(gru_gates_panels));
  for_panels(step, 1, parallel, HWY_DYNAMIC_POINTER(gru_candidate_panels));
}
}  // namespace vireo::cpu
#endif
