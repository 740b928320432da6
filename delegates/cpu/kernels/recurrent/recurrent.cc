#include "delegates/cpu/kernels/recurrent/recurrent.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/recurrent/recurrent.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/bf16-inl.h"
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

// A row of a panel: float32, or bfloat16 of two k.
template <class T>
constexpr int kTogether = sizeof(float) / sizeof(T);

HWY_INLINE void load_weights(const float* from, VF (&w)[1]) { w[0] = hn::LoadU(DF(), from); }
HWY_INLINE void load_weights(const uint16_t* from, VF (&w)[2]) {
  const DF d;
  const hn::RebindToUnsigned<DF> du;
  const auto words = pairs_at(from);
  w[0] = hn::BitCast(d, hn::ShiftLeft<16>(words));
  w[1] = hn::BitCast(d, hn::And(words, hn::Set(du, 0xFFFF0000u)));
}

// Some units of some batches: gates [0, kGates) of `panel`, whose rows are `panel_row` elements.
template <int kRows, int kGates>
struct Gates {
  VF sum[kRows][kGates];

  // sum += h R^T. One row alone has several sums a gate: eight chains cover the latency of two FMA ports.
  template <class T>
  HWY_INLINE void add_recurrence(const T* panel, int64_t panel_row, const float* h, int64_t hidden) {
    const DF d;
    constexpr int kChains = kRows > 1 ? 1 : kGates > 2 ? 2 : 4;
    constexpr int kMany = kTogether<T>, kSteps = kMany > kChains ? kMany : kChains;
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
    for (; k + kSteps <= hidden; k += kSteps) {
      VIREO_UNROLL
      for (int s = 0; s < kSteps; s += kMany, panel += panel_row) {
        VIREO_UNROLL
        for (int g = 0; g < kGates; ++g) {
          VF w[kMany];
          load_weights(panel + g * kGateUnits * kMany, w);
          VIREO_UNROLL
          for (int t = 0; t < kMany; ++t) {
            VIREO_UNROLL
            for (int r = 0; r < kRows; ++r) {
              VF& to = part[r][(s + t) % kChains][g];
              to = hn::MulAdd(hn::Set(d, h[r * hidden + k + s + t]), w[t], to);
            }
          }
        }
      }
    }
    for (; k < hidden; ++k, panel += panel_row) {  // less than a row of bfloat16 is its first half
      VIREO_UNROLL
      for (int g = 0; g < kGates; ++g) {
        VF w[kMany];
        load_weights(panel + g * kGateUnits * kMany, w);
        VIREO_UNROLL
        for (int r = 0; r < kRows; ++r) part[r][0][g] = hn::MulAdd(hn::Set(d, h[r * hidden + k]), w[0], part[r][0][g]);
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
template <class T, class F>
HWY_INLINE void for_parts(const RecurrentStepF32& s, const T* packed, int64_t panel_size, int64_t begin, int64_t end,
                          const F& f) {
  for (int64_t p = begin; p < end; ++p) {
    const T* const panel = packed + p * panel_size;
    for (int64_t at = 0; at < kGateUnits; at += kLanes) {
      const int64_t unit = p * kGateUnits + at, rest = s.hidden - unit;
      if (rest <= 0) break;
      const size_t lanes = static_cast<size_t>(rest < kLanes ? rest : kLanes);
      int64_t row = 0;
      const T* const from = panel + at * kTogether<T>;
      for (; row + kMostRows <= s.batch; row += kMostRows) f.template run<kMostRows>(from, unit, lanes, row);
      for (; row < s.batch; ++row) f.template run<1>(from, unit, lanes, row);
    }
  }
}

// c and y of some units from `at` on. One for all that sums gates: its functions are most of the code.
HWY_NOINLINE void end_lstm(const RecurrentStepF32& s, VF in, VF out, VF forget, VF candidate, int64_t at,
                           size_t lanes) {
  const DF d;
  const VF kept = hn::Mul(sigmoid_f32(d, in), tanh_f32(d, candidate));
  const VF c = hn::MulAdd(sigmoid_f32(d, forget), hn::LoadN(d, s.c + at, lanes), kept);
  hn::StoreN(c, d, s.c + at, lanes);
  hn::StoreN(hn::Mul(sigmoid_f32(d, out), tanh_f32(d, c)), d, s.y + at, lanes);
}

struct Lstm {
  const RecurrentStepF32& s;

  template <int kRows, class T>
  HWY_INLINE void run(const T* panel, int64_t unit, size_t lanes, int64_t row) const {
    const DF d;
    const int64_t n = s.hidden;
    Gates<kRows, 4> gates;
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      VIREO_UNROLL
      for (int g = 0; g < 4; ++g) gates.sum[r][g] = hn::LoadN(d, s.sums + ((row + r) * 4 + g) * n + unit, lanes);
    }
    gates.add_recurrence(panel, 4 * kGateUnits * kTogether<T>, s.h + row * n, n);
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      end_lstm(s, gates.sum[r][0], gates.sum[r][1], gates.sum[r][2], gates.sum[r][3], (row + r) * n + unit, lanes);
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

void lstm_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(s, s.packed, gate_panel_floats(4, s.hidden), begin, end, Lstm{s});
}
void lstm_bf16_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(s, s.packed_bf16, gate_panel_bf16(4, s.hidden), begin, end, Lstm{s});
}
void gru_linear_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(s, s.packed, gate_panel_floats(3, s.hidden), begin, end, GruLinear{{s}});
}
void gru_gates_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(s, s.packed, gate_panel_floats(3, s.hidden), begin, end, GruGates{{s}});
}
void gru_candidate_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(s, s.packed, gate_panel_floats(3, s.hidden), begin, end, GruCandidate{{s}});
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(lstm_panels);
HWY_EXPORT(lstm_bf16_panels);
HWY_EXPORT(gru_linear_panels);
HWY_EXPORT(gru_gates_panels);
HWY_EXPORT(gru_candidate_panels);

namespace {
constexpr int64_t kGrainMacs = 1 << 17;  // bound by memory: some 5 us, and every step waits for all threads

template <class F>
void for_panels(const RecurrentStepF32& s, int64_t gates, const Parallel& parallel, const F& f) {
  const int64_t macs = s.batch * s.hidden * gates * kGateUnits;  // of a panel
  parallel.for_range(gate_panels(s.hidden), 1 + kGrainMacs / (macs + 1),
                     [&](int64_t begin, int64_t end, int32_t) { f(s, begin, end); });
}

// kMany: k that stand side by side for each unit.
template <int kMany, class T>
void pack_gates(int64_t gates, int64_t hidden, const T* r, const Parallel& parallel, T* packed) {
  const int64_t depth = (hidden + kMany - 1) / kMany * kMany;
  parallel.for_range(gate_panels(hidden), 4, [&](int64_t begin, int64_t end, int32_t) {
    T* to = packed + begin * kGateUnits * gates * depth;
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t k0 = 0; k0 < hidden; k0 += kMany) {
        for (int64_t g = 0; g < gates; ++g) {
          for (int64_t u = p * kGateUnits; u < (p + 1) * kGateUnits; ++u) {
            for (int64_t k = k0; k < k0 + kMany; ++k)
              *to++ = u < hidden && k < hidden ? r[(g * hidden + u) * hidden + k] : T(0);
          }
        }
      }
    }
  });
}
}  // namespace

void pack_gates_f32(int64_t gates, int64_t hidden, const float* r, const Parallel& parallel, float* packed) {
  pack_gates<1>(gates, hidden, r, parallel, packed);
}

void pack_gates_bf16(int64_t gates, int64_t hidden, const uint16_t* r, const Parallel& parallel, uint16_t* packed) {
  pack_gates<2>(gates, hidden, r, parallel, packed);
}

void lstm_step_f32(const RecurrentStepF32& step, const Parallel& parallel) {
  for_panels(step, 4, parallel,
             step.packed_bf16 != nullptr ? HWY_DYNAMIC_POINTER(lstm_bf16_panels) : HWY_DYNAMIC_POINTER(lstm_panels));
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
