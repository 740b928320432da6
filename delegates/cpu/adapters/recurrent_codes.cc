// LSTM and GRU whose products are of integers: composites that quant/int8 made. The input's part of a block of steps
// is one product of codes, the recurrence's one for each step; between them h goes through codes. Two directions run
// one after the other.
#include <new>

#include "delegates/cpu/gemm_i8_shape.h"
#include "delegates/cpu/kernels/gates_i8/gates_i8.h"
#include "delegates/cpu/recurrent_cell.h"
#include "sdk/base/requantize.h"

namespace vireo {
namespace {

using composites::FusedRecurrentCodes;
using composites::match_recurrent_codes;
using cpu::CellSizes;
using cpu::GatesI8;
using cpu::GemmI8;

constexpr int64_t kPanelColumns = 64;   // of layout 3
constexpr int64_t kMostDepth = 65'793;  // a sum of more products of 255 and 128 may leave int32

// Columns of the recurrence's products: of all gates, or of z and r in front of the candidate's.
struct Parts {
  int64_t first, second;  // second: 0 where there is one product
  Parts(bool lstm, const attrs::Recurrent& a, const CellSizes& s)
      : first(lstm || a.linear_before_reset() ? s.row() : 2 * s.hidden), second(s.row() - first) {}
};

CellSizes sizes_of(const CpuQuery& q, const FusedRecurrentCodes& cell) {
  return {cell.lstm, q.inputs[cell.in[0]].type.shape, q.inputs[cell.in[2]].type.shape, cell.attrs->batch_first()};
}

// y [rows, columns] = (x - zero) w^T, w [columns, depth] int8.
GemmI8 product_of(int64_t rows, int64_t columns, int64_t depth, bool is_signed, const uint8_t* zero) {
  GemmI8 g;
  g.m = rows;
  g.n = g.ldc = columns;
  g.k = g.lda = g.ldb = depth;
  g.trans_b = true;
  g.a_signed = is_signed;
  g.b_signed = true;
  g.a_zero = zero;
  return g;
}

// Packed constants: W, and R, each as one matrix of all directions' columns, of which every product begins with a
// panel. Where only one of them can be packed it is W, which is asked for first: the first refusal ends the list.
enum Constant : uint32_t { kInput, kRecurrence };
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  FusedRecurrentCodes cell;
  if (index > kRecurrence || !match_recurrent_codes(q, &cell)) return false;
  const CellSizes s = sizes_of(q, cell);
  const int64_t directions = recurrent_directions(*cell.attrs), columns = directions * s.row();
  const bool recurrence = index == kRecurrence;
  const Parts parts(cell.lstm, *cell.attrs, s);
  const bool apart = directions > 1 && s.row() % kPanelColumns != 0;
  if (apart || (recurrence && parts.second != 0 && parts.first % kPanelColumns != 0)) return false;
  const GemmI8 g = product_of(1, columns, recurrence ? s.hidden : s.inputs,
                              !recurrence && q.inputs[cell.in[0]].type.dtype == DType::kI8, nullptr);
  const size_t bytes = columns > 0 ? cpu::gemm_i8_packed_bytes(g) : 0;
  const void* const weights = q.inputs[cell.in[recurrence ? 2 : 1]].constant;
  if (!cpu::offer_packed(weights, kPackedI8, {g.n, g.k, 0, cpu::signs_of(g)}, bytes, out)) return false;
  if (to != nullptr) cpu::pack_gemm_i8(g, weights, parallel, to);
  return true;
}

// What one direction needs: sums of a block of steps, sums of one step, h before and after a step where nobody wants
// the sequence, c or z, the codes of h, and what the products need.
struct Room {
  size_t step, h, c, codes, own, total;
  Room(const CellSizes& s, size_t own_bytes) {
    const auto bytes = [](int64_t n, size_t each) {
      return (static_cast<size_t>(n < 0 ? 0 : n) * each + 63) & ~size_t{63};
    };
    const int64_t state = s.batch * s.hidden;
    step = bytes(s.rows() * s.row(), sizeof(int32_t));
    h = step + bytes(s.batch * s.row(), sizeof(int32_t));
    c = h + 2 * bytes(state, sizeof(float));
    codes = c + bytes(state, sizeof(float));
    own = codes + bytes(state, 1);
    total = own + ((own_bytes + 63) & ~size_t{63});
  }
};

size_t own_bytes(const CellSizes& s, const Parts& parts, int32_t slots) {
  size_t most = 0;
  for (const GemmI8& g : {product_of(s.rows(), s.row(), s.inputs, false, nullptr),
                          product_of(s.batch, parts.first, s.hidden, false, nullptr),
                          product_of(s.batch, parts.second, s.hidden, false, nullptr)}) {
    const size_t bytes = g.m > 0 && g.n > 0 ? cpu::gemm_i8_scratch_bytes(g, false, slots) : 0;
    if (bytes > most) most = bytes;
  }
  return most;
}

struct State {
  FusedRecurrentCodes cell;
  const uint8_t* r = nullptr;  // packed; null: R is read as it lies
  const uint8_t* w = nullptr;  // packed; null: W is read as it lies
};
void prepare(const CpuQuery& q, void* state) {
  auto* const s = new (state) State();
  (void)match_recurrent_codes(q, &s->cell);
  s->r = static_cast<const uint8_t*>(cpu::packed_at(q, pack, kRecurrence));
  s->w = static_cast<const uint8_t*>(cpu::packed_at(q, pack, kInput));
}

int64_t scratch_bytes(const CpuQuery& q) {
  FusedRecurrentCodes cell;
  if (!match_recurrent_codes(q, &cell)) return 0;
  CellSizes s = sizes_of(q, cell);
  if (!q.is_static()) s.bound_blocks();
  return static_cast<int64_t>(Room(s, own_bytes(s, Parts(cell.lstm, *cell.attrs, s), q.slots)).total);
}

class Direction {
 public:
  Direction(const KernelContext& ctx, const State& kept, const CellSizes& s, int64_t dir)
      : ctx_(ctx),
        kept_(kept),
        cell_(kept.cell),
        s_(s),
        parts_(kept.cell.lstm, *kept.cell.attrs, s),
        dir_(dir),
        directions_(recurrent_directions(*kept.cell.attrs)),
        room_(s, own_bytes(s, parts_, ctx.parallel.slots)) {
    gates_.batch = s.batch;
    gates_.hidden = s.hidden;
    gates_.x_scales = FusedRecurrentCodes::rows_of(given(cell_.w_scale), dir, s.row());
    gates_.h_scales = FusedRecurrentCodes::rows_of(given(cell_.r_scale), dir, s.row());
    gates_.x_scale = *given(cell_.x_scale).as<const float>();
    gates_.h_scale = cell_.attrs->state_scale();
    gates_.zero = cell_.attrs->state_zero();
    if (const Tensor* const bias = cell_.in_of(ctx, 3)) {
      gates_.x_bias = bias->as<const float>() + dir * 2 * s.row();
      gates_.h_bias = gates_.x_bias + s.row();
    }
    gates_.h_sums = at<int32_t>(room_.step);
    gates_.c = gates_.z = at<float>(room_.c);
    gates_.codes = at<uint8_t>(room_.codes);
    zero_ = static_cast<uint8_t>(gates_.zero);
    if (cell_.x_zero >= 0) x_zero_ = *given(cell_.x_zero).as<const uint8_t>();
  }

  void run() {
    const int64_t state = s_.batch * s_.hidden;
    float* const kept[2] = {at<float>(room_.h), at<float>(room_.h + (room_.c - room_.h) / 2)};
    cpu::load_state(cell_.in_of(ctx_, 5), dir_ * state, state, kept[0]);
    if (cell_.lstm) cpu::load_state(cell_.in_of(ctx_, 6), dir_ * state, state, gates_.c);
    for (int64_t k = 0; k < state; ++k) gates_.codes[k] = code_of(kept[0][k]);
    gates_.h = kept[0];
    Tensor* const y = cell_.out_of(ctx_, 0);
    const bool reverse = dir_ == 1 || cell_.attrs->direction() == attrs::RecurrentDirection::Reverse;
    for (int64_t t0 = 0; t0 < s_.steps; t0 += s_.block) {
      const int64_t count = s_.steps - t0 < s_.block ? s_.steps - t0 : s_.block;
      const int64_t first = reverse ? s_.steps - t0 - count : t0;
      add_input(first * s_.batch, count * s_.batch);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t step = reverse ? count - 1 - i : i;
        gates_.x_sums = at<int32_t>(0) + step * s_.batch * s_.row();
        gates_.y = y != nullptr ? y->as<float>() + ((first + step) * directions_ + dir_) * state
                                : kept[gates_.h == kept[0] ? 1 : 0];
        advance();
        gates_.h = gates_.y;
      }
    }
    cpu::store_state(gates_.h, state, dir_ * state, cell_.out_of(ctx_, 1));
    if (cell_.lstm) cpu::store_state(gates_.c, state, dir_ * state, cell_.out_of(ctx_, 2));
  }

 private:
  const Tensor& given(int32_t input) const { return ctx_.required(static_cast<size_t>(input)); }
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(ctx_.scratch.data() + offset);
  }
  uint8_t code_of(float h) const {
    return static_cast<uint8_t>(round_and_clamp(h * (1 / gates_.h_scale), gates_.zero, 0, 255));
  }

  void multiply(GemmI8 g, const void* a, const int8_t* w, const uint8_t* packed, int64_t column, int32_t* sums) const {
    if (packed != nullptr) g.packed = packed + column / kPanelColumns * (cpu::gemm_i8_packed_bytes(panel_of(g)));
    cpu::gemm_i8(g, a, w + column * g.k, sums, ctx_.parallel, at<void>(room_.own));
  }
  static GemmI8 panel_of(GemmI8 g) {
    g.n = kPanelColumns;
    return g;
  }

  // Sums of rows [first, first + rows) of x.
  void add_input(int64_t first, int64_t rows) const {
    const Tensor& x = *cell_.in_of(ctx_, 0);
    const GemmI8 g = product_of(rows, s_.row(), s_.inputs, x.dtype == DType::kI8, &x_zero_);
    multiply(g, x.as<const uint8_t>() + first * s_.inputs, cell_.in_of(ctx_, 1)->as<const int8_t>(), kept_.w,
             dir_ * s_.row(), at<int32_t>(0));
  }
  // Sums of columns [from, from + columns) of R.
  void add_recurrence(int64_t from, int64_t columns) const {
    multiply(product_of(s_.batch, columns, s_.hidden, false, &zero_), gates_.codes,
             cell_.in_of(ctx_, 2)->as<const int8_t>(), kept_.r, dir_ * s_.row() + from, at<int32_t>(room_.step));
  }

  void advance() const {
    add_recurrence(0, parts_.first);
    if (cell_.lstm) return cpu::lstm_gates_i8(gates_);
    if (parts_.second == 0) return cpu::gru_gates_i8(gates_);
    cpu::gru_reset_i8(gates_);
    add_recurrence(parts_.first, parts_.second);
    cpu::gru_candidate_i8(gates_);
  }

  const KernelContext& ctx_;
  const State& kept_;
  const FusedRecurrentCodes& cell_;
  const CellSizes& s_;
  const Parts parts_;
  const int64_t dir_, directions_;
  const Room room_;
  GatesI8 gates_;
  uint8_t zero_ = 0, x_zero_ = 0;  // of h's codes, of x's
};

Status run(const KernelContext& ctx, const void* kept) {
  const auto& state = *static_cast<const State*>(kept);
  const FusedRecurrentCodes& cell = state.cell;
  const CellSizes s(cell.lstm, cell.in_of(ctx, 0)->shape, cell.in_of(ctx, 2)->shape, cell.attrs->batch_first());
  VIREO_TRY(cpu::check_batch(ctx, *cell.attrs, s));
  if (s.batch == 0 || s.hidden == 0) return Status::kOk;  // all results are empty
  for (int64_t dir = 0; dir < recurrent_directions(*cell.attrs); ++dir) Direction(ctx, state, s, dir).run();
  return Status::kOk;
}

constexpr CpuKernel kLstm = {"lstm_i8", sizeof(State), scratch_bytes, prepare, run, pack};
constexpr CpuKernel kGru = {"gru_i8", sizeof(State), scratch_bytes, prepare, run, pack};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  FusedRecurrentCodes cell;
  *reason = "";  // another body is another kernel's
  if (!match_recurrent_codes(q, &cell)) return nullptr;
  if (!cpu::takes_form(q, cell, cell.lstm, reason)) return nullptr;
  *reason = "tuned for sums of at most 65793 products, which cannot leave int32";
  const CellSizes s = sizes_of(q, cell);
  if (s.inputs > kMostDepth || s.hidden > kMostDepth) return nullptr;
  *reason = "";
  return cell.lstm ? &kLstm : &kGru;
}

}  // namespace

extern const CpuOp kCpuOp_recurrent_codes;
const CpuOp kCpuOp_recurrent_codes = {"recurrent_codes", choose};

}  // namespace vireo
