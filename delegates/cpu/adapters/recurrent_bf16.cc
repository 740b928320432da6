// LSTM whose x and weights go through bfloat16: a composite that quant/schemes/bf16 made. Both products read weights in
// bfloat16; bias, sums, h and c are float32. Where the host keeps nothing packed, a run packs the recurrence's weights.
#include <new>

#include "delegates/cpu/kernels/gemm_bf16/gemm_bf16.h"
#include "delegates/cpu/packed.h"
#include "delegates/cpu/recurrent_cell.h"

namespace vireo {
namespace {

using composites::match_recurrent_bf16;
using cpu::Cell;
using cpu::CellSizes;

constexpr int64_t kGates = 4;
constexpr int64_t kPanelColumns = 32;  // of layout 5

CellSizes sizes_of(const CpuQuery& q, const Cell& cell) {
  return {true, q.inputs[cell.in[0]].type.shape, q.inputs[cell.in[2]].type.shape, cell.attrs->batch_first()};
}

// Packed constants: R, and W as one matrix of all directions' columns, of which each begins with a panel.
enum Constant : uint32_t { kRecurrence, kInput };
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  Cell cell;
  if (index > kInput || !match_recurrent_bf16(q, &cell)) return false;
  const CellSizes s = sizes_of(q, cell);
  const int64_t directions = recurrent_directions(*cell.attrs), columns = directions * s.row();
  const void* const weights = q.inputs[cell.in[index == kRecurrence ? 2 : 1]].constant;
  auto* panels = static_cast<uint16_t*>(to);
  if (index == kInput) {
    if (directions > 1 && s.row() % kPanelColumns != 0) return false;
    const size_t bytes = static_cast<size_t>(cpu::bf16_packed_elements(columns, s.inputs)) * sizeof(uint16_t);
    if (!cpu::offer_packed(weights, kPackedBf16, {columns, s.inputs, 0, 1}, bytes, out)) return false;
    if (to != nullptr)
      cpu::pack_bf16(cpu::Columns16::matrix(weights, columns, s.inputs, true), columns, s.inputs, parallel, panels);
    return true;
  }
  const int64_t elements = cpu::packed_gates_bf16(kGates, s.hidden);
  const size_t bytes = static_cast<size_t>(directions * elements) * sizeof(uint16_t);
  if (!cpu::offer_packed(weights, kPackedGatesBf16, {s.hidden, kGates, directions, 0}, bytes, out)) return false;
  for (int64_t d = 0; to != nullptr && d < directions; ++d) {
    cpu::pack_gates_bf16(kGates, s.hidden, static_cast<const uint16_t*>(weights) + d * s.row() * s.hidden, parallel,
                         panels + d * elements);
  }
  return true;
}

struct State {
  Cell cell;
  const uint16_t* r = nullptr;  // packed; null: by each run
  const uint16_t* w = nullptr;  // packed; null: W is read as it lies
};
void prepare(const CpuQuery& q, void* state) {
  auto* const s = new (state) State();
  (void)match_recurrent_bf16(q, &s->cell);
  s->r = static_cast<const uint16_t*>(cpu::packed_at(q, pack, kRecurrence));
  s->w = static_cast<const uint16_t*>(cpu::packed_at(q, pack, kInput));
}

// Panels of R that a run packs, in front of what the input's product needs.
size_t panels_bytes(const CellSizes& s, bool packed) {
  if (packed) return 0;
  return (static_cast<size_t>(cpu::packed_gates_bf16(kGates, s.hidden)) * sizeof(uint16_t) + 63) & ~size_t{63};
}
size_t own_bytes(const CellSizes& s, int32_t slots, bool r_packed, bool w_packed) {
  return panels_bytes(s, r_packed) + cpu::gemm_bf16_scratch_bytes(s.rows(), s.row(), s.inputs, slots, w_packed);
}

// The Kind of recurrent_cell.h.
struct Bf16 {
  static constexpr bool kLstm = true;
  const State& state;
  const uint16_t *w, *r;  // as they lie

  size_t own_bytes(const CellSizes& s, int32_t slots) const {
    return ::vireo::own_bytes(s, slots, state.r != nullptr, state.w != nullptr);
  }
  void bind(const CellSizes& s, int64_t dir, void* own, const Parallel& parallel, cpu::RecurrentStepF32* step) const {
    if (state.r != nullptr) {
      step->packed_bf16 = state.r + dir * cpu::packed_gates_bf16(kGates, s.hidden);
      return;
    }
    cpu::pack_gates_bf16(kGates, s.hidden, r + dir * s.row() * s.hidden, parallel, static_cast<uint16_t*>(own));
    step->packed_bf16 = static_cast<const uint16_t*>(own);
  }
  void input(const CellSizes& s, int64_t dir, int64_t rows, const float* x, const float* bias, float* y, void* own,
             const Parallel& parallel) const {
    cpu::GemmBf16 g;
    g.m = rows;
    g.n = g.ldc = s.row();
    g.k = g.lda = s.inputs;
    g.b = cpu::Columns16::matrix(w + dir * s.row() * s.inputs, g.n, g.k, true);
    if (state.w != nullptr) g.packed = state.w + dir * cpu::bf16_packed_elements(g.n, g.k);
    g.epilogue.col_bias = bias;
    cpu::Bf16Operands o;
    o.a = x;
    o.c = y;
    cpu::gemm_bf16(g, o, parallel, static_cast<char*>(own) + panels_bytes(s, state.r != nullptr));
  }
};

int64_t scratch_bytes(const CpuQuery& q) {
  Cell cell;
  if (!match_recurrent_bf16(q, &cell)) return 0;
  CellSizes s = sizes_of(q, cell);
  if (!q.is_static()) s.bound_blocks();
  const bool r = cpu::will_be_packed(q, pack, kRecurrence), w = cpu::will_be_packed(q, pack, kInput);
  return cpu::cell_scratch_bytes(*cell.attrs, s, q.slots, [&](int32_t slots) { return own_bytes(s, slots, r, w); });
}

Status run(const KernelContext& ctx, const void* kept) {
  const auto& state = *static_cast<const State*>(kept);
  const Cell& cell = state.cell;
  const Tensor &w = *cell.in_of(ctx, 1), &r = *cell.in_of(ctx, 2);
  const CellSizes s(true, cell.in_of(ctx, 0)->shape, r.shape, cell.attrs->batch_first());
  VIREO_TRY(cpu::check_batch(ctx, *cell.attrs, s));
  cpu::run_directions(ctx, cell, Bf16{state, w.as<const uint16_t>(), r.as<const uint16_t>()}, s);
  return Status::kOk;
}

constexpr CpuKernel kLstm = {"lstm_bf16", sizeof(State), scratch_bytes, prepare, run, pack};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  Cell cell;
  *reason = "";  // another body is another kernel's
  return match_recurrent_bf16(q, &cell) && cpu::takes_cell(q, cell, true, reason) ? &kLstm : nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_recurrent_bf16;
const CpuOp kCpuOp_recurrent_bf16 = {"recurrent_bf16", choose};

}  // namespace vireo
