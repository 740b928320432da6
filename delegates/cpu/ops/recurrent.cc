// LSTM and GRU with their usual functions, float32: the input's part of a block of steps is one matrix product, the
// recurrence's one for each step. Where the host keeps packed constants, a step is one pass over the packed gates, and
// two directions run beside each other.
#include <string.h>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/gemm/gemm.h"
#include "delegates/cpu/kernels/recurrent/recurrent.h"
#include "delegates/cpu/packed.h"
#include "sdk/ops/recurrent/recurrent.h"

namespace vireo {
namespace {

using cpu::Activate;
using cpu::GemmF32;

constexpr int64_t kBlockRows = 64;       // steps times batches of the input's product: enough to fill its tiles
constexpr int64_t kGrainMacs = 1 << 18;  // of a direction: several times what waking a thread costs

struct Sizes {
  int64_t steps, batch, inputs, hidden, gates, block;  // block: steps at once
  Sizes(Op op, const Shape& x, const Shape& r, bool batch_first)
      : steps(x[batch_first ? 1 : 0]),
        batch(x[batch_first ? 0 : 1]),
        inputs(x[2]),
        hidden(r[2]),
        gates(op == Op::kLSTM ? 4 : 3) {
    block = batch < 1 ? 1 : (kBlockRows + batch - 1) / batch;
    if (block > steps) block = steps;
  }
  int64_t row() const { return gates * hidden; }
  int64_t rows() const { return block * batch; }                               // of a block's product
  int64_t last_rows() const { return block > 0 ? steps % block * batch : 0; }  // of a shorter one behind it
};

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
  return cpu::gemm_f32_packed_floats(product_of(kBlockRows, s.row(), s.inputs, nullptr, nullptr));
}

// Packed constants: R, and W where its product has rows enough. W as the filters of a grouped convolution over one
// pixel, which is what it is: a direction's gates are a group's columns.
enum Constant : uint32_t { kRecurrence, kInput };
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  if (index > kInput) return false;
  const auto& a = q.attrs<attrs::Recurrent>();
  const Sizes s(q.op, q.inputs[0].type.shape, q.inputs[2].type.shape, a.batch_first());
  const int64_t directions = recurrent_directions(a);
  const CpuValue& weights = q.inputs[index == kRecurrence ? 2 : 1];
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

// What a direction needs whose gates are packed: sums of a block of steps, its bias, h before and after a step where
// nobody wants the sequence, c, what a GRU's gates hand on, and what the input's product needs.
struct PackedRoom {
  size_t bias, h, c, gates, own, total;
  PackedRoom(const Sizes& s, int32_t slots, cpu::Sizes exact, bool input_packed) {
    const auto floats = [](int64_t n) {
      return (static_cast<size_t>(n < 0 ? 0 : n) * sizeof(float) + 63) & ~size_t{63};
    };
    const int64_t state = s.batch * s.hidden;
    bias = floats(s.rows() * s.row());
    h = bias + floats(s.row());
    c = h + 2 * floats(state);
    gates = c + floats(state);
    own = gates + floats(2 * state);
    total = own + (input_packed ? 0 : (input_bytes(s, slots, exact) + 63) & ~size_t{63});
  }
};

// Two directions on two threads; more than two would find more to do inside a large step.
bool directions_apart(const attrs::Recurrent& a, int32_t slots) { return recurrent_directions(a) == 2 && slots >= 2; }

int64_t scratch_bytes(const CpuQuery& q) {
  const auto& a = q.attrs<attrs::Recurrent>();
  Sizes s(q.op, q.inputs[0].type.shape, q.inputs[2].type.shape, a.batch_first());
  const cpu::Sizes exact = q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds;
  if (!q.is_static()) {
    // Fewer batches make longer blocks: rows stay below this.
    s.block = 1;
    const int64_t batch = s.batch;
    s.batch = batch + kBlockRows;
  }
  if (!cpu::will_be_packed(q, pack, kRecurrence)) return static_cast<int64_t>(Room(s, q.slots, exact).total);
  const bool apart = directions_apart(a, q.slots);
  const size_t one = PackedRoom(s, apart ? 1 : q.slots, exact, cpu::will_be_packed(q, pack, kInput)).total;
  return static_cast<int64_t>(apart ? 2 * one : one);
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

void load(const Tensor* from, int64_t at, int64_t count, float* to) {
  if (from == nullptr) {
    memset(to, 0, static_cast<size_t>(count) * sizeof(float));
  } else {
    memcpy(to, from->as<const float>() + at, static_cast<size_t>(count) * sizeof(float));
  }
}
void store(const float* from, int64_t count, int64_t at, Tensor* to) {
  if (to != nullptr) memcpy(to->as<float>() + at, from, static_cast<size_t>(count) * sizeof(float));
}

// One direction with packed gates.
template <bool kLstm>
void run_direction(const KernelContext& ctx, const Packed& packed, const Sizes& s, int64_t dir, char* memory,
                   const Parallel& parallel) {
  const auto& a = ctx.attrs<attrs::Recurrent>();
  const PackedRoom room(s, parallel.slots, cpu::Sizes::kFixed, packed.w != nullptr);
  const int64_t directions = recurrent_directions(a), n = s.hidden, state = s.batch * n;
  float* const block = reinterpret_cast<float*>(memory);
  float* const both = reinterpret_cast<float*>(memory + room.bias);
  float* const kept[2] = {reinterpret_cast<float*>(memory + room.h),
                          reinterpret_cast<float*>(memory + room.h + (room.c - room.h) / 2)};
  cpu::RecurrentStepF32 step;
  step.batch = s.batch;
  step.hidden = n;
  step.packed = packed.r + dir * cpu::packed_gates_floats(s.gates, n);
  step.c = reinterpret_cast<float*>(memory + room.c);
  step.room = reinterpret_cast<float*>(memory + room.gates);
  step.linear_before_reset = a.linear_before_reset();
  const float* bias = ctx.in(3) == nullptr ? nullptr : ctx.in(3)->as<const float>() + dir * 2 * s.row();
  if (bias != nullptr && kLstm) {  // both are added to the same sums
    for (int64_t k = 0; k < s.row(); ++k) both[k] = bias[k] + bias[s.row() + k];
    bias = both;
  } else if (bias != nullptr) {
    step.bias = bias + s.row();
  }
  load(ctx.in(5), dir * state, state, kept[0]);
  if (kLstm) load(ctx.in(6), dir * state, state, step.c);
  step.h = kept[0];
  const bool reverse = dir == 1 || a.direction() == attrs::RecurrentDirection::Reverse;
  const auto& x = ctx.required(0);
  Tensor* const y = ctx.out(0);
  for (int64_t t0 = 0; t0 < s.steps; t0 += s.block) {
    const int64_t count = s.steps - t0 < s.block ? s.steps - t0 : s.block;
    const int64_t first = reverse ? s.steps - t0 - count : t0;
    GemmF32 input = product_of(count * s.batch, s.row(), s.inputs, bias, nullptr);
    if (packed.w != nullptr) input.packed = packed.w + dir * packed_input_floats(s);
    cpu::gemm_f32(input, x.as<const float>() + first * s.batch * s.inputs,
                  ctx.required(1).as<const float>() + dir * s.row() * s.inputs, block, parallel, memory + room.own);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = reverse ? count - 1 - i : i;
      step.sums = block + at * s.batch * s.row();
      step.y =
          y != nullptr ? y->as<float>() + ((first + at) * directions + dir) * state : kept[step.h == kept[0] ? 1 : 0];
      if constexpr (kLstm) {
        cpu::lstm_step_f32(step, parallel);
      } else {
        cpu::gru_step_f32(step, parallel);
      }
      step.h = step.y;
    }
  }
  store(step.h, state, dir * state, ctx.out(1));
  if (kLstm) store(step.c, state, dir * state, ctx.out(2));
}

template <bool kLstm>
void run_packed(const KernelContext& ctx, const Packed& packed, const Sizes& s) {
  const auto& a = ctx.attrs<attrs::Recurrent>();
  char* const memory = reinterpret_cast<char*>(ctx.scratch.data());
  const int64_t directions = recurrent_directions(a);
  if (!directions_apart(a, ctx.parallel.slots)) {
    for (int64_t dir = 0; dir < directions; ++dir) run_direction<kLstm>(ctx, packed, s, dir, memory, ctx.parallel);
    return;
  }
  const size_t one = PackedRoom(s, 1, cpu::Sizes::kFixed, packed.w != nullptr).total;
  const int64_t macs = s.steps * s.batch * s.row() * (s.inputs + s.hidden);
  ctx.parallel.for_range(2, macs < kGrainMacs ? 2 : 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t dir = begin; dir < end; ++dir)
      run_direction<kLstm>(ctx, packed, s, dir, memory + static_cast<size_t>(dir) * one, Parallel{});
  });
}

template <bool kLstm>
Status run(const KernelContext& ctx, const void* kept) {
  const auto& a = ctx.attrs<attrs::Recurrent>();
  const Tensor& x = *ctx.in(0);
  const Sizes s(kLstm ? Op::kLSTM : Op::kGRU, x.shape, ctx.in(2)->shape, a.batch_first());
  if (a.batch_first() && s.batch != 1)
    return ctx.fail(Status::kUnsupported, "LSTM, GRU: a batch of {} first, prepared for 1", s.batch);
  const auto& packed = *static_cast<const Packed*>(kept);
  if (packed.r != nullptr) {
    run_packed<kLstm>(ctx, packed, s);
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
    load(ctx.in(5), dir * state, state, d.h);
    if (kLstm) load(ctx.in(6), dir * state, state, d.c);
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
        store(d.h, state, ((first + at) * directions + dir) * state, ctx.out(0));
      }
    }
    store(d.h, state, dir * state, ctx.out(1));
    if (kLstm) store(d.c, state, dir * state, ctx.out(2));
  }
  return Status::kOk;
}

constexpr CpuKernel kLstm = {"lstm_f32", sizeof(Packed), scratch_bytes, prepare, run<true>, pack};
constexpr CpuKernel kGru = {"gru_f32", sizeof(Packed), scratch_bytes, prepare, run<false>, pack};

bool given(const CpuQuery& q, uint32_t i) { return i < q.input_count && q.inputs[i].type.dtype != DType::kNone; }

bool usual_functions(Op op, const attrs::Recurrent& a) {
  using Kind = attrs::RecurrentActivation;
  if (a.activations() == nullptr) return true;
  const unsigned period = op == Op::kLSTM ? 3 : 2;
  for (unsigned i = 0; i < a.activations()->size(); ++i) {
    if (static_cast<Kind>(a.activations()->Get(i)) != (i % period == 0 ? Kind::Sigmoid : Kind::Tanh)) return false;
  }
  return true;
}

// Lengths that are all the whole sequence.
bool whole_sequences(const CpuQuery& q, int64_t steps) {
  if (!given(q, 4)) return true;
  if (q.inputs[4].constant == nullptr || !q.inputs[0].is_static) return false;
  for (int64_t b = 0; b < product(q.inputs[4].type.shape, 0, q.inputs[4].type.shape.rank); ++b) {
    if (q.inputs[4].as<int32_t>()[b] != steps) return false;
  }
  return true;
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const auto& a = q.attrs<attrs::Recurrent>();
  const TensorType& x = q.inputs[0].type;
  *reason = "tuned for float32 alone";
  if (x.dtype != DType::kF32) return nullptr;
  *reason = "tuned for sigmoid and tanh without clip, peepholes and coupled gates";
  if (!usual_functions(q.op, a) || a.clip() != 0 || a.input_forget() || (q.op == Op::kLSTM && given(q, 7)))
    return nullptr;
  *reason = "tuned for sequences of one length, time first or one batch";
  if (a.batch_first() && (x.shape[0] != 1 || !q.inputs[0].is_static)) return nullptr;
  if (!whole_sequences(q, x.shape[a.batch_first() ? 1 : 0])) return nullptr;
  *reason = "";
  return q.op == Op::kLSTM ? &kLstm : &kGru;
}

constexpr Op kOps[] = {Op::kLSTM, Op::kGRU};

}  // namespace

extern const CpuOp kCpuOp_recurrent;
const CpuOp kCpuOp_recurrent = {"recurrent", choose, Span<const Op>(kOps)};

}  // namespace vireo
