#include "delegates/cpu/kernels/recurrent/recurrent.h"

#include <type_traits>

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

// Batches that share a pass over the weights: four gates each, and four vectors of weights. kManyRows and more, or
// numbers that are no whole passes, go by tiles of kTallest batches and two vectors, whose weights stay in the
// first-level cache while all batches pass.
#if VIREO_32_REGISTERS
constexpr int kMostRows = 4, kManyRows = 16, kTallest = 8;
#else
constexpr int kMostRows = 2, kManyRows = 3, kTallest = 6;
#endif
// Vectors of each gate that one batch alone has in hand: whole lines of weights.
constexpr int kAloneParts = kLanes < kGateUnits ? 2 : 1;
constexpr int kRoomRows = 4 * kTallest;  // batches whose gates of a panel are in hand

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

// Weights that come from beyond the core's own cache are fetched before they are read: no prefetcher crosses a page.
template <class T>
constexpr int64_t kAhead = 4096 / sizeof(T);

// Some units of some batches: kParts vectors of each gate in [0, kOfUnit) of `panel`, whose rows are `panel_row`
// elements.
template <int kRows, int kOfUnit, int kParts>
struct Gates {
  static constexpr int kGates = kOfUnit * kParts;
  VF sum[kRows][kGates];

  static constexpr int64_t at(int g) { return g / kParts * kGateUnits + g % kParts * kLanes; }

  // sum += h R^T. One row alone has several sums a gate: eight chains cover the latency of two FMA ports.
  template <class T>
  HWY_INLINE void add_recurrence(const T* panel, int64_t panel_row, const float* h, int64_t hidden) {
    const DF d;
    constexpr int kChains = kRows > 1 || kGates >= 8 ? 1 : kGates > 2 ? 2 : 4;
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
          load_weights(panel + at(g) * kMany, w);
          if (g % kParts == 0) __builtin_prefetch(panel + at(g) * kMany + kAhead<T>);
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
        load_weights(panel + at(g) * kMany, w);
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

// sums [kRows, step] += h R^T for kVectors vectors of a panel's rows.
template <int kRows, int kVectors, class T>
HWY_NOINLINE void tile(const T* panel, int64_t panel_row, const float* h, int64_t hidden, float* sums, int64_t step) {
  const DF d;
  constexpr int kMany = kTogether<T>;
  VF acc[kRows][kVectors];
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::LoadU(d, sums + r * step + v * kLanes);
  }
  for (int64_t k = 0; k < hidden; k += kMany, panel += panel_row) {
    VF w[kVectors][kMany];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) load_weights(panel + v * kLanes * kMany, w[v]);
    VIREO_UNROLL
    for (int t = 0; t < kMany; ++t) {
      if (t > 0 && k + t >= hidden) break;  // less than a row of bfloat16 is its first half
      VIREO_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const VF a = hn::Set(d, h[r * hidden + k + t]);
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(a, w[v][t], acc[r][v]);
      }
    }
  }
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[r][v], d, sums + r * step + v * kLanes);
  }
}
template <class T>
using TileKernel = void (*)(const T*, int64_t, const float*, int64_t, float*, int64_t);
template <class T, int kVectors>
constexpr TileKernel<T> kTiles[] = {
    nullptr,
    tile<1, kVectors, T>,
    tile<2, kVectors, T>,
    tile<3, kVectors, T>,
    tile<4, kVectors, T>,
    tile<5, kVectors, T>,
    tile<6, kVectors, T>,
#if VIREO_32_REGISTERS
    tile<7, kVectors, T>,
    tile<8, kVectors, T>,
#endif
};

// sums [rows, columns] += h R^T for as many columns of a panel. Batches are cut evenly.
template <int64_t kColumns, class T>
void add_rows(const T* panel, int64_t panel_row, const float* h, int64_t hidden, int64_t rows, float* sums) {
  constexpr int64_t columns = kColumns;
  const int64_t blocks = (rows + kTallest - 1) / kTallest;
  for (int64_t column = 0; column < columns; column += 2 * kLanes) {
    // An odd vector is left where a vector has the units of a gate, and gates are odd.
    constexpr int kOdd = kColumns % (2 * kLanes) == 0 ? 2 : 1;
    const auto& tiles = columns - column > kLanes ? kTiles<T, 2> : kTiles<T, kOdd>;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t row = rows * block / blocks, high = rows * (block + 1) / blocks - row;
      tiles[high](panel + column * kTogether<T>, panel_row, h + row * hidden, hidden, sums + row * columns + column,
                  columns);
    }
  }
}

// Runs a cell over the panels [begin, end) of its gates. A cell says what sums begin with (`begin`: of `lanes` units
// from `unit` on), what they are multiplied with (`h`), and what becomes of them (`end`).
inline size_t lanes_at(const RecurrentStepF32& s, int64_t unit) {
  const int64_t rest = s.hidden - unit;
  return static_cast<size_t>(rest < 0 ? 0 : rest < kLanes ? rest : kLanes);
}
template <int kRows, int kParts, class Cell, class T>
HWY_INLINE void run_part(const Cell& cell, const T* panel, int64_t panel_row, int64_t unit, int64_t row) {
  Gates<kRows, Cell::kGates, kParts> gates;
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int g = 0; g < Cell::kGates * kParts; ++g) {
      const int64_t first = unit + g % kParts * kLanes;
      const size_t lanes = lanes_at(cell.s, first);
      gates.sum[r][g] = lanes == 0 ? hn::Zero(DF()) : cell.begin(row + r, g / kParts, first, lanes);
    }
  }
  gates.add_recurrence(panel, panel_row, cell.h() + row * cell.s.hidden, cell.s.hidden);
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int part = 0; part < kParts; ++part) {
      const size_t lanes = lanes_at(cell.s, unit + part * kLanes);
      VF sum[Cell::kGates];
      VIREO_UNROLL
      for (int g = 0; g < Cell::kGates; ++g) sum[g] = gates.sum[r][g * kParts + part];
      if (lanes > 0) cell.end(row + r, unit + part * kLanes, lanes, sum);
    }
  }
}

template <class Cell, class T>
HWY_INLINE void for_parts(const Cell& cell, const T* packed, int64_t panel_size, int64_t begin, int64_t end) {
  const DF d;
  const RecurrentStepF32& s = cell.s;
  constexpr int64_t kPanelRow = Cell::kPanelGates * kGateUnits * kTogether<T>;
  constexpr int64_t kColumns = Cell::kGates * kGateUnits;
  const bool by_tiles = s.batch >= kManyRows || (s.batch > 3 && s.batch % kMostRows != 0);
  for (int64_t p = begin; p < end; ++p) {
    const T* const panel = packed + p * panel_size + Cell::kFirst * kGateUnits * kTogether<T>;
    if (by_tiles) {
      HWY_ALIGN float room[kRoomRows * kColumns];
      for (int64_t row = 0; row < s.batch; row += kRoomRows) {
        const int64_t rows = s.batch - row < kRoomRows ? s.batch - row : kRoomRows;
        const auto for_vectors = [&](const auto& f) {
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t at = 0; at < kGateUnits; at += kLanes) {
              const int64_t unit = p * kGateUnits + at;
              f(row + r, unit, lanes_at(s, unit), room + r * kColumns + at);
            }
          }
        };
        for_vectors([&](int64_t batch, int64_t unit, size_t lanes, float* to) {
          for (int g = 0; g < Cell::kGates; ++g)
            hn::Store(lanes == 0 ? hn::Zero(d) : cell.begin(batch, g, unit, lanes), d, to + g * kGateUnits);
        });
        add_rows<kColumns>(panel, kPanelRow, cell.h() + row * s.hidden, s.hidden, rows, room);
        for_vectors([&](int64_t batch, int64_t unit, size_t lanes, const float* from) {
          VF sum[Cell::kGates];
          for (int g = 0; g < Cell::kGates; ++g) sum[g] = hn::Load(d, from + g * kGateUnits);
          if (lanes > 0) cell.end(batch, unit, lanes, sum);
        });
      }
      continue;
    }
    const auto pass = [&](auto rows, auto parts) {
      for (int64_t at = 0; at < kGateUnits && p * kGateUnits + at < s.hidden; at += parts * kLanes) {
        for (int64_t row = 0; row < s.batch; row += rows)
          run_part<rows, parts>(cell, panel + at * kTogether<T>, kPanelRow, p * kGateUnits + at, row);
      }
    };
    if (s.batch == 1) {
      pass(std::integral_constant<int, 1>(), std::integral_constant<int, kAloneParts>());
    } else if (s.batch == 2) {
      pass(std::integral_constant<int, 2>(), std::integral_constant<int, 1>());
    } else if (s.batch == 3) {  // with 32 registers; a tile of 3 has too few sums to hide their latency
      pass(std::integral_constant<int, (kMostRows > 3 ? 3 : 1)>(), std::integral_constant<int, 1>());
    } else {
      pass(std::integral_constant<int, kMostRows>(), std::integral_constant<int, 1>());
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
  static constexpr int kGates = 4, kPanelGates = 4, kFirst = 0;
  const RecurrentStepF32& s;

  const float* h() const { return s.h; }
  HWY_INLINE VF begin(int64_t row, int g, int64_t unit, size_t lanes) const {
    return hn::LoadN(DF(), s.sums + (row * 4 + g) * s.hidden + unit, lanes);
  }
  HWY_INLINE void end(int64_t row, int64_t unit, size_t lanes, const VF (&sum)[4]) const {
    end_lstm(s, sum[0], sum[1], sum[2], sum[3], row * s.hidden + unit, lanes);
  }
};

// (1 - z) h' + z h
HWY_INLINE VF mixed(VF z, VF candidate, VF h) { return hn::MulAdd(z, h, hn::NegMulAdd(z, candidate, candidate)); }

// y of some units from `at` on; the candidate's sum is inside + reset * product. One for each cell, as end_lstm.
HWY_NOINLINE void end_gru_linear(const RecurrentStepF32& s, VF update, VF reset, VF product, VF inside, int64_t at,
                                 size_t lanes) {
  const DF d;
  const VF candidate = tanh_f32(d, hn::MulAdd(sigmoid_f32(d, reset), product, inside));
  hn::StoreN(mixed(sigmoid_f32(d, update), candidate, hn::LoadN(d, s.h + at, lanes)), d, s.y + at, lanes);
}
// z and r h.
HWY_NOINLINE void end_gru_gates(const RecurrentStepF32& s, VF update, VF reset, int64_t at, size_t lanes) {
  const DF d;
  hn::StoreN(sigmoid_f32(d, update), d, s.room + at, lanes);
  hn::StoreN(hn::Mul(sigmoid_f32(d, reset), hn::LoadN(d, s.h + at, lanes)), d, s.room + s.batch * s.hidden + at, lanes);
}
HWY_NOINLINE void end_gru_candidate(const RecurrentStepF32& s, VF sum, int64_t at, size_t lanes) {
  const DF d;
  const VF candidate = tanh_f32(d, sum);
  hn::StoreN(mixed(hn::LoadN(d, s.room + at, lanes), candidate, hn::LoadN(d, s.h + at, lanes)), d, s.y + at, lanes);
}

struct Gru {
  static constexpr int kPanelGates = 3;
  const RecurrentStepF32& s;

  HWY_INLINE VF bias(int g, int64_t unit, size_t lanes) const {
    const DF d;
    return s.bias == nullptr ? hn::Zero(d) : hn::LoadN(d, s.bias + g * s.hidden + unit, lanes);
  }
  HWY_INLINE VF outer(int64_t row, int g, int64_t unit, size_t lanes) const {
    return hn::LoadN(DF(), s.sums + (row * 3 + g) * s.hidden + unit, lanes);
  }
};

// The reset gate behind the candidate's product: one pass.
struct GruLinear : Gru {
  static constexpr int kGates = 3, kFirst = 0;
  const float* h() const { return s.h; }
  HWY_INLINE VF begin(int64_t row, int g, int64_t unit, size_t lanes) const {
    const VF own = bias(g, unit, lanes);
    return g == 2 ? own : hn::Add(outer(row, g, unit, lanes), own);
  }
  HWY_INLINE void end(int64_t row, int64_t unit, size_t lanes, const VF (&sum)[3]) const {
    end_gru_linear(s, sum[0], sum[1], sum[2], outer(row, 2, unit, lanes), row * s.hidden + unit, lanes);
  }
};

// The reset gate in front of it: z and r h for all units, then the candidate.
struct GruGates : Gru {
  static constexpr int kGates = 2, kFirst = 0;
  const float* h() const { return s.h; }
  HWY_INLINE VF begin(int64_t row, int g, int64_t unit, size_t lanes) const {
    return hn::Add(outer(row, g, unit, lanes), bias(g, unit, lanes));
  }
  HWY_INLINE void end(int64_t row, int64_t unit, size_t lanes, const VF (&sum)[2]) const {
    end_gru_gates(s, sum[0], sum[1], row * s.hidden + unit, lanes);
  }
};
struct GruCandidate : Gru {
  static constexpr int kGates = 1, kFirst = 2;
  const float* h() const { return s.room + s.batch * s.hidden; }
  HWY_INLINE VF begin(int64_t row, int, int64_t unit, size_t lanes) const {
    return hn::Add(outer(row, 2, unit, lanes), bias(2, unit, lanes));
  }
  HWY_INLINE void end(int64_t row, int64_t unit, size_t lanes, const VF (&sum)[1]) const {
    end_gru_candidate(s, sum[0], row * s.hidden + unit, lanes);
  }
};

void lstm_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(Lstm{s}, s.packed, gate_panel_floats(4, s.hidden), begin, end);
}
void lstm_bf16_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(Lstm{s}, s.packed_bf16, gate_panel_bf16(4, s.hidden), begin, end);
}
void gru_linear_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(GruLinear{{s}}, s.packed, gate_panel_floats(3, s.hidden), begin, end);
}
void gru_gates_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(GruGates{{s}}, s.packed, gate_panel_floats(3, s.hidden), begin, end);
}
void gru_candidate_panels(const RecurrentStepF32& s, int64_t begin, int64_t end) {
  for_parts(GruCandidate{{s}}, s.packed, gate_panel_floats(3, s.hidden), begin, end);
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
