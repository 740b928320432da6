// Recurrent cells with their usual functions whose gates are packed: which nodes that is, and the walk of one direction
// over its steps. How weights are stored is described by a `Kind`:
//   kLstm                                           or GRU
//   own_bytes(sizes, slots)                         what its products need
//   bind(sizes, dir, own, parallel, step)           the recurrence's weights of a direction
//   input(sizes, dir, rows, x, bias, y, own, parallel)
//                                                   y [rows, gates H] = x W^T + bias; `rows` are at most a block's
#ifndef VIREO_DELEGATES_CPU_RECURRENT_CELL_H_
#define VIREO_DELEGATES_CPU_RECURRENT_CELL_H_

#include <string.h>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/gemm/gemm.h"
#include "delegates/cpu/kernels/recurrent/recurrent.h"
#include "sdk/composites/recurrent/recurrent.h"
#include "sdk/ops/recurrent/recurrent.h"

namespace vireo::cpu {

constexpr int64_t kCellBlockRows = 64;       // steps times batches of the input's product: enough to fill its tiles
constexpr int64_t kCellGrainMacs = 1 << 18;  // of a direction: several times what waking a thread costs

using Cell = composites::FusedRecurrent;  // of a plain node, or in a body

struct CellSizes {
  int64_t steps, batch, inputs, hidden, gates, block;  // block: steps at once
  CellSizes(bool lstm, const Shape& x, const Shape& r, bool batch_first)
      : steps(x[batch_first ? 1 : 0]), batch(x[batch_first ? 0 : 1]), inputs(x[2]), hidden(r[2]), gates(lstm ? 4 : 3) {
    block = batch < 1 ? 1 : (kCellBlockRows + batch - 1) / batch;
    if (block > steps) block = steps;
  }
  int64_t row() const { return gates * hidden; }
  int64_t rows() const { return block * batch; }                               // of a block's product
  int64_t last_rows() const { return block > 0 ? steps % block * batch : 0; }  // of a shorter one behind it
  // Where extents vary: fewer batches make longer blocks, whose rows stay below this.
  void bound_blocks() {
    block = 1;
    batch += kCellBlockRows;
  }
};

// What a direction needs: sums of a block of steps, its bias, h before and after a step where nobody wants the
// sequence, c, what a GRU's gates hand on, and what the input's product needs.
struct CellRoom {
  size_t bias, h, c, gates, own, total;
  CellRoom(const CellSizes& s, size_t own_bytes) {
    const auto floats = [](int64_t n) {
      return (static_cast<size_t>(n < 0 ? 0 : n) * sizeof(float) + 63) & ~size_t{63};
    };
    const int64_t state = s.batch * s.hidden;
    bias = floats(s.rows() * s.row());
    h = bias + floats(s.row());
    c = h + 2 * floats(state);
    gates = c + floats(state);
    own = gates + floats(2 * state);
    total = own + ((own_bytes + 63) & ~size_t{63});
  }
};

// Two directions on two threads; more than two would find more to do inside a large step.
inline bool directions_apart(const attrs::Recurrent& a, int32_t slots) {
  return recurrent_directions(a) == 2 && slots >= 2;
}

// own_bytes(slots): what the Kind's products need at the upper bounds.
template <class F>
int64_t cell_scratch_bytes(const attrs::Recurrent& a, const CellSizes& s, int32_t slots, const F& own_bytes) {
  const bool apart = directions_apart(a, slots);
  const size_t one = CellRoom(s, own_bytes(apart ? 1 : slots)).total;
  return static_cast<int64_t>(apart ? 2 * one : one);
}

inline void load_state(const Tensor* from, int64_t at, int64_t count, float* to) {
  if (from == nullptr) {
    memset(to, 0, static_cast<size_t>(count) * sizeof(float));
  } else {
    memcpy(to, from->as<const float>() + at, static_cast<size_t>(count) * sizeof(float));
  }
}
inline void store_state(const float* from, int64_t count, int64_t at, Tensor* to) {
  if (to != nullptr) memcpy(to->as<float>() + at, from, static_cast<size_t>(count) * sizeof(float));
}

template <class Kind>
void run_direction(const KernelContext& ctx, const Cell& cell, const Kind& kind, const CellSizes& s, int64_t dir,
                   char* memory, const Parallel& parallel) {
  const attrs::Recurrent& a = *cell.attrs;
  const CellRoom room(s, kind.own_bytes(s, parallel.slots));
  const int64_t directions = recurrent_directions(a), n = s.hidden, state = s.batch * n;
  float* const block = reinterpret_cast<float*>(memory);
  float* const both = reinterpret_cast<float*>(memory + room.bias);
  float* const kept[2] = {reinterpret_cast<float*>(memory + room.h),
                          reinterpret_cast<float*>(memory + room.h + (room.c - room.h) / 2)};
  RecurrentStepF32 step;
  step.batch = s.batch;
  step.hidden = n;
  step.c = reinterpret_cast<float*>(memory + room.c);
  step.room = reinterpret_cast<float*>(memory + room.gates);
  step.linear_before_reset = a.linear_before_reset();
  kind.bind(s, dir, memory + room.own, parallel, &step);
  const Tensor* const given = cell.in_of(ctx, 3);
  const float* bias = given == nullptr ? nullptr : given->as<const float>() + dir * 2 * s.row();
  if (bias != nullptr && Kind::kLstm) {  // both are added to the same sums
    for (int64_t k = 0; k < s.row(); ++k) both[k] = bias[k] + bias[s.row() + k];
    bias = both;
  } else if (bias != nullptr) {
    step.bias = bias + s.row();
  }
  load_state(cell.in_of(ctx, 5), dir * state, state, kept[0]);
  if (Kind::kLstm) load_state(cell.in_of(ctx, 6), dir * state, state, step.c);
  step.h = kept[0];
  const bool reverse = dir == 1 || a.direction() == attrs::RecurrentDirection::Reverse;
  const float* const x = cell.in_of(ctx, 0)->as<const float>();
  Tensor* const y = cell.out_of(ctx, 0);
  for (int64_t t0 = 0; t0 < s.steps; t0 += s.block) {
    const int64_t count = s.steps - t0 < s.block ? s.steps - t0 : s.block;
    const int64_t first = reverse ? s.steps - t0 - count : t0;
    kind.input(s, dir, count * s.batch, x + first * s.batch * s.inputs, bias, block, memory + room.own, parallel);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = reverse ? count - 1 - i : i;
      step.sums = block + at * s.batch * s.row();
      step.y =
          y != nullptr ? y->as<float>() + ((first + at) * directions + dir) * state : kept[step.h == kept[0] ? 1 : 0];
      if constexpr (Kind::kLstm) {
        lstm_step_f32(step, parallel);
      } else {
        gru_step_f32(step, parallel);
      }
      step.h = step.y;
    }
  }
  store_state(step.h, state, dir * state, cell.out_of(ctx, 1));
  if (Kind::kLstm) store_state(step.c, state, dir * state, cell.out_of(ctx, 2));
}

template <class Kind>
void run_directions(const KernelContext& ctx, const Cell& cell, const Kind& kind, const CellSizes& s) {
  char* const memory = reinterpret_cast<char*>(ctx.scratch.data());
  const int64_t directions = recurrent_directions(*cell.attrs);
  if (!directions_apart(*cell.attrs, ctx.parallel.slots)) {
    for (int64_t dir = 0; dir < directions; ++dir) run_direction(ctx, cell, kind, s, dir, memory, ctx.parallel);
    return;
  }
  const size_t one = CellRoom(s, kind.own_bytes(s, 1)).total;
  const int64_t macs = s.steps * s.batch * s.row() * (s.inputs + s.hidden);
  ctx.parallel.for_range(2, macs < kCellGrainMacs ? 2 : 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t dir = begin; dir < end; ++dir)
      run_direction(ctx, cell, kind, s, dir, memory + static_cast<size_t>(dir) * one, Parallel{});
  });
}

// What prepare could not know of batches that vary.
inline Status check_batch(const KernelContext& ctx, const attrs::Recurrent& a, const CellSizes& s) {
  if (!a.batch_first() || s.batch == 1) return Status::kOk;
  return ctx.fail(Status::kUnsupported, "LSTM, GRU: a batch of {} first, prepared for 1", s.batch);
}

// No lengths, or such that are all the whole sequence.
inline bool whole_sequences(const CpuQuery& q, const Cell& cell, int64_t steps) {
  const GraphValue* const lens = cell.in_of(q, 4);
  if (lens == nullptr) return true;
  if (lens->constant == nullptr || !cell.in_of(q, 0)->is_static) return false;
  for (int64_t b = 0; b < product(lens->type.shape, 0, lens->type.shape.rank); ++b) {
    if (lens->as<int32_t>()[b] != steps) return false;
  }
  return true;
}

// Whatever x and the weights are stored in.
inline bool takes_form(const CpuQuery& q, const Cell& cell, bool lstm, const char** reason) {
  const attrs::Recurrent& a = *cell.attrs;
  const GraphValue& x = *cell.in_of(q, 0);
  *reason = "tuned for sigmoid and tanh without clip, peepholes and coupled gates";
  if (!has_usual_functions(lstm, a) || a.clip() != 0 || a.input_forget() || (lstm && cell.in_of(q, 7) != nullptr))
    return false;
  *reason = "tuned for sequences of one length, time first or one batch";
  if (a.batch_first() && (x.type.shape[0] != 1 || !x.is_static)) return false;
  if (!whole_sequences(q, cell, x.type.shape[a.batch_first() ? 1 : 0])) return false;
  *reason = "";
  return true;
}

inline bool takes_cell(const CpuQuery& q, const Cell& cell, bool lstm, const char** reason) {
  *reason = "tuned for float32 alone";
  if (cell.in_of(q, 0)->type.dtype != DType::kF32) return false;
  *reason = "tuned for a state in codes with weights and x in codes";
  return cell.attrs->state_scale() == 0 && takes_form(q, cell, lstm, reason);
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_RECURRENT_CELL_H_
