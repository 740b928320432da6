// LSTM and GRU with their usual functions, float32: the input's part of a block of steps is one matrix product, the
// recurrence's one for each step. Where the host keeps packed constants, a step is one pass over the packed gates, and
// two directions run beside each other.
#include <string.h>

#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/packed.h"
#include "delegates/cpu/recurrent_cell.h"

namespace vireo {
namespace {

using cpu::Activate;
using cpu::Cell;
using cpu::GemmF32;
using Sizes = cpu::CellSizes;

// y [rows, columns] = x [rows, depth] w^T + bias + residual
GemmF32 product_of(int64_t rows, int64_t columns, int64_t depth, const float* bias, const float* residual) {
  GemmF32 g;
  g.m = rows;
  g.n = g.ldc = columns;
  g.k = g.lda = g.ldb = depth;
  g.trans_b = true;
  g.epilogue.col_bias = bias;
  g.epilogue.residual = residual;
  g.epilogue.residual_stride = columns;
  return g;
}

// What the input's products need. A shorter one may be cut otherwise, and then needs more.
size_t input_bytes(const Sizes& s, int32_t slots, cpu::Sizes exact) {
  const auto bytes = [&](int64_t rows) {
    return cpu::gemm_f32_scratch_bytes(product_of(rows, s.row(), s.inputs, nullptr, nullptr), slots, exact);
  };
  const size_t full = bytes(s.rows()), last = bytes(s.last_rows());
  return full > last ? full : last;
}

// The scratch memory: sums of a block of steps, sums of one step, h, c (or the candidate's own sums), biases, the
// products' own.
struct Room {
  size_t block, step, h, c, bias, total;
  Room(const Sizes& s, int32_t slots, cpu::Sizes exact) {
    const auto floats = [](int64_t n) {
      return (static_cast<size_t>(n < 0 ? 0 : n) * sizeof(float) + 63) & ~size_t{63};
    };
    block = floats(s.rows() * s.row());
    step = floats(s.batch * s.row());
    h = floats(s.batch * s.hidden);
    c = floats(s.batch * s.hidden);
    bias = floats(2 * s.row());
    size_t own = input_bytes(s, slots, exact);
    for (const GemmF32& g : {product_of(s.batch, s.row(), s.hidden, nullptr, nullptr),
                             product_of(s.batch, s.hidden, s.hidden, nullptr, nullptr),
                             product_of(s.batch, 2 * s.hidden, s.hidden, nullptr, nullptr)}) {
      const size_t bytes = cpu::gemm_f32_scratch_bytes(g, slots, exact);
      if (bytes > own) own = bytes;
    }
    total = block + step + h + c + bias + own;
  }
};

// Of one direction: a panel's floats do not depend on how many rows it is for.
int64_t packed_input_floats(const Sizes& s) {
  return cpu::gemm_f32_packed_floats(product_of(cpu::kCellBlockRows, s.row(), s.inputs, nullptr, nullptr));
}

// Packed constants: R, and W where its product has rows enough. W as the filters of a grouped convolution over one
// pixel, which is what it is: a direction's gates are a group's columns.
enum Constant : uint32_t { kRecurrence, kInput };
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  if (index > kInput) return false;
  const auto& a = q.attrs<attrs::Recurrent>();
  const Sizes s(q.op == Op::kLSTM, q.inputs[0].type.shape, q.inputs[2].type.shape, a.batch_first());
  const int64_t directions = recurrent_directions(a);
  const GraphValue& weights = q.inputs[index == kRecurrence ? 2 : 1];
  const GemmF32 input = product_of(s.rows(), s.row(), s.inputs, nullptr, nullptr);
  if (index == kInput && cpu::gemm_f32_packed_floats(input) == 0) return false;
  const int64_t floats = index == kRecurrence ? cpu::packed_gates_floats(s.gates, s.hidden) : packed_input_floats(s);
  const size_t bytes = static_cast<size_t>(directions * floats) * sizeof(float);
  const bool offered =
      index == kRecurrence
          ? cpu::offer_packed(weights.constant, kPackedGatesF32, {s.hidden, s.gates, directions, 0}, bytes, out)
          : cpu::offer_packed(weights.constant, kPackedConvNhwcF32, {directions * s.row(), directions, s.inputs, 1},
                              bytes, out);
  if (!offered || to == nullptr) return offered;
  const auto* from = static_cast<const float*>(weights.constant);
  auto* panels = static_cast<float*>(to);
  for (int64_t d = 0; d < directions; ++d, panels += floats) {
    if (index == kRecurrence) {
      cpu::pack_gates_f32(s.gates, s.hidden, from + d * s.row() * s.hidden, parallel, panels);
    } else {
      cpu::pack_gemm_f32(input, from + d * s.row() * s.inputs, parallel, panels);
    }
  }
  return true;
}

struct Packed {
  const float* r = nullptr;
  const float* w = nullptr;  // null: W is read as it lies
};
void prepare(const CpuQuery& q, void* state) {
  auto* const packed = new (state) Packed();
  packed->r = static_cast<const float*>(cpu::packed_at(q, pack, kRecurrence));
  if (packed->r != nullptr) packed->w = static_cast<const float*>(cpu::packed_at(q, pack, kInput));
}

// The Kind of recurrent_cell.h.
template <bool kIsLstm>
struct Float32 {
  static constexpr bool kLstm = kIsLstm;
  const Packed& packed;
  const float* w;  // as it lies

  size_t own_bytes(const Sizes& s, int32_t slots) const {
    return packed.w != nullptr ? 0 : input_bytes(s, slots, cpu::Sizes::kFixed);
  }
  void bind(const Sizes& s, int64_t dir, void*, const Parallel&, cpu::RecurrentStepF32* step) const {
    step->packed = packed.r + dir * cpu::packed_gates_floats(s.gates, s.hidden);
  }
  void input(const Sizes& s, int64_t dir, int64_t rows, const float* x, const float* bias, float* y, void* own,
             const Parallel& parallel) const {
    GemmF32 g = product_of(rows, s.row(), s.inputs, bias, nullptr);
    if (packed.w != nullptr) g.packed = packed.w + dir * packed_input_floats(s);
    cpu::gemm_f32(g, x, w + dir * s.row() * s.inputs, y, parallel, own);
  }
};

int64_t scratch_bytes(const CpuQuery& q) {
  const auto& a = q.attrs<attrs::Recurrent>();
  Sizes s(q.op == Op::kLSTM, q.inputs[0].type.shape, q.inputs[2].type.shape, a.batch_first());
  const cpu::Sizes exact = q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds;
  if (!q.is_static()) s.bound_blocks();
  if (!cpu::will_be_packed(q, pack, kRecurrence)) return static_cast<int64_t>(Room(s, q.slots, exact).total);
  const bool packed = cpu::will_be_packed(q, pack, kInput);
  return cpu::cell_scratch_bytes(a, s, q.slots,
                                 [&](int32_t slots) { return packed ? size_t{0} : input_bytes(s, slots, exact); });
}

void apply(cpu::Activation kind, float* x, int64_t count) {
  Activate f;
  f.kind = kind;
  cpu::activate_f32(x, x, count, f, Parallel{});
}

// One step: `sums` holds x W^T + b + h R^T, in the order i o f c.
void lstm_step(const Sizes& s, float* sums, float* h, float* c) {
  const int64_t n = s.hidden;
  for (int64_t b = 0; b < s.batch; ++b, sums += 4 * n, h += n, c += n) {
    apply(cpu::Activation::kSigmoid, sums, 3 * n);
    apply(cpu::Activation::kTanh, sums + 3 * n, n);
    for (int64_t k = 0; k < n; ++k) c[k] = sums[2 * n + k] * c[k] + sums[k] * sums[3 * n + k];
    memcpy(h, c, static_cast<size_t>(n) * sizeof(float));
    apply(cpu::Activation::kTanh, h, n);
    for (int64_t k = 0; k < n; ++k) h[k] *= sums[n + k];
  }
}

struct Direction {
  const float *w, *r, *bias;  // bias: of the input, then of the recurrence; null: none
  float *h, *c;
};

// The candidate of a GRU waits for the reset gate: its own product follows that of the two gates. `sums` holds
// x W^T + b, in the order z r h; `step`: the gates [batch, 2 n], then the candidate [batch, n].
void gru_step(const KernelContext& ctx, const Sizes& s, bool linear_before_reset, const Direction& d, const float* sums,
              float* step, void* own) {
  const int64_t n = s.hidden;
  const float* const bias = d.bias == nullptr ? nullptr : d.bias + 3 * n;
  GemmF32 gates = product_of(s.batch, 2 * n, n, bias, sums);
  gates.epilogue.residual_stride = 3 * n;
  cpu::gemm_f32(gates, d.h, d.r, step, ctx.parallel, own);
  apply(cpu::Activation::kSigmoid, step, s.batch * 2 * n);
  float* const candidate = step + s.batch * 2 * n;
  const float* from = d.h;
  if (!linear_before_reset) {
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t k = 0; k < n; ++k) d.c[b * n + k] = step[b * 2 * n + n + k] * d.h[b * n + k];
    }
    from = d.c;
  }
  cpu::gemm_f32(product_of(s.batch, n, n, bias == nullptr ? nullptr : bias + 2 * n, nullptr), from, d.r + 2 * n * n,
                candidate, ctx.parallel, own);
  for (int64_t b = 0; b < s.batch; ++b) {
    const float* const reset = step + b * 2 * n + n;
    for (int64_t k = 0; k < n; ++k) {
      float& v = candidate[b * n + k];
      v = (linear_before_reset ? v * reset[k] : v) + sums[b * 3 * n + 2 * n + k];
    }
  }
  apply(cpu::Activation::kTanh, candidate, s.batch * n);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t k = 0; k < n; ++k) {
      const float z = step[b * 2 * n + k];
      d.h[b * n + k] = (1 - z) * candidate[b * n + k] + z * d.h[b * n + k];
    }
  }
}

template <bool kLstm>
Status run(const KernelContext& ctx, const void* kept) {
  const auto& a = ctx.attrs<attrs::Recurrent>();
  const Tensor& x = *ctx.in(0);
  const Sizes s(kLstm, x.shape, ctx.in(2)->shape, a.batch_first());
  VIREO_TRY(cpu::check_batch(ctx, a, s));
  const auto& packed = *static_cast<const Packed*>(kept);
  if (packed.r != nullptr) {
    cpu::run_directions(ctx, Cell{&a}, Float32<kLstm>{packed, ctx.in(1)->as<const float>()}, s);
    return Status::kOk;
  }
  const Room room(s, ctx.parallel.slots, cpu::Sizes::kFixed);
  char* const memory = reinterpret_cast<char*>(ctx.scratch.data());
  float* const block = reinterpret_cast<float*>(memory);
  float* const step = reinterpret_cast<float*>(memory + room.block);
  Direction d;
  d.h = reinterpret_cast<float*>(memory + room.block + room.step);
  d.c = reinterpret_cast<float*>(memory + room.block + room.step + room.h);
  float* const both = reinterpret_cast<float*>(memory + room.block + room.step + room.h + room.c);
  void* const own = memory + room.block + room.step + room.h + room.c + room.bias;
  const int64_t directions = recurrent_directions(a), n = s.hidden, state = s.batch * n;
  for (int64_t dir = 0; dir < directions; ++dir) {
    d.w = ctx.in(1)->as<const float>() + dir * s.row() * s.inputs;
    d.r = ctx.in(2)->as<const float>() + dir * s.row() * n;
    d.bias = ctx.in(3) == nullptr ? nullptr : ctx.in(3)->as<const float>() + dir * 2 * s.row();
    const float* bias = d.bias;
    if (kLstm && bias != nullptr) {  // both are added to the same sums
      for (int64_t k = 0; k < s.row(); ++k) both[k] = d.bias[k] + d.bias[s.row() + k];
      bias = both;
    }
    cpu::load_state(ctx.in(5), dir * state, state, d.h);
    if (kLstm) cpu::load_state(ctx.in(6), dir * state, state, d.c);
    const bool reverse = dir == 1 || a.direction() == attrs::RecurrentDirection::Reverse;
    for (int64_t t0 = 0; t0 < s.steps; t0 += s.block) {
      const int64_t count = s.steps - t0 < s.block ? s.steps - t0 : s.block;
      const int64_t first = reverse ? s.steps - t0 - count : t0;
      cpu::gemm_f32(product_of(count * s.batch, s.row(), s.inputs, bias, nullptr),
                    x.as<const float>() + first * s.batch * s.inputs, d.w, block, ctx.parallel, own);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = reverse ? count - 1 - i : i;
        float* const sums = block + at * s.batch * s.row();
        if (kLstm) {
          cpu::gemm_f32(product_of(s.batch, s.row(), n, nullptr, sums), d.h, d.r, step, ctx.parallel, own);
          lstm_step(s, step, d.h, d.c);
        } else {
          gru_step(ctx, s, a.linear_before_reset(), d, sums, step, own);
        }
        cpu::store_state(d.h, state, ((first + at) * directions + dir) * state, ctx.out(0));
      }
    }
    cpu::store_state(d.h, state, dir * state, ctx.out(1));
    if (kLstm) cpu::store_state(d.c, state, dir * state, ctx.out(2));
  }
  return Status::kOk;
}

constexpr CpuKernel kLstm = {"lstm_f32", sizeof(Packed), scratch_bytes, prepare, run<true>, pack};
constexpr CpuKernel kGru = {"gru_f32", sizeof(Packed), scratch_bytes, prepare, run<false>, pack};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const bool lstm = q.op == Op::kLSTM;
  if (!cpu::takes_cell(q, Cell{&q.attrs<attrs::Recurrent>()}, lstm, reason)) return nullptr;
  return lstm ? &kLstm : &kGru;
}

}  // namespace

extern const CpuOp kCpuOp_recurrent;
const CpuOp kCpuOp_recurrent = {"recurrent", choose};

}  // namespace vireo
