// LSTM, GRU and RNN: what the weights make of the inputs is one product over all steps, the rest walks through them.
#include "delegates/gpu/templates/recurrent.h"

#include "delegates/gpu/lower/indexed_chain.h"
#include "sdk/ops/recurrent/recurrent.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

class Lowered {
 public:
  explicit Lowered(Lowering& l)
      : l_(l),
        a_(l.node().attrs<attrs::Recurrent>()),
        cell_(l.node().op == VIREO_OP_LSTM  ? Cell::kLstm
              : l.node().op == VIREO_OP_GRU ? Cell::kGru
                                            : Cell::kRnn),
        gates_(cell_ == Cell::kLstm  ? 4
               : cell_ == Cell::kGru ? 3
                                     : 1) {}

  std::string run() {
    for (size_t i = 0; i < 3; ++i) {
      if (!l_.has(i)) return "an operand is left out";
    }
    if (!is_real(l_.in(0).dtype)) return std::string("a recurrent operator of ") + dtype_name(l_.in(0).dtype);
    p_.cell = cell_;
    p_.dtype = l_.in(0).dtype;
    p_.directions = recurrent_directions(a_);
    p_.hidden = l_.in(2).dims[2];
    p_.steps = l_.in(0).dims[a_.batch_first() ? 1 : 0];
    p_.batch = l_.in(0).dims[a_.batch_first() ? 0 : 1];
    p_.reverse = a_.direction() == attrs::RecurrentDirection::Reverse;
    p_.input_forget = a_.input_forget();
    p_.linear_before_reset = a_.linear_before_reset();
    p_.clip = a_.clip();
    p_.state_scale = a_.state_scale();
    p_.state_zero = a_.state_zero();
    if (std::string why = set_functions(); !why.empty()) return why;
    multiply_inputs();
    set_operands();
    set_results();
    Work& w = l_.push(p_);
    w.operands = operands_;
    w.writes = writes_;
    return "";
  }

 private:
  std::string set_functions() {
    const uint32_t each = cell_ == Cell::kLstm ? 3 : cell_ == Cell::kGru ? 2 : 1;
    const auto applied = [&](uint32_t i) -> RecurrentProblem::Applied {
      if (a_.activations() == nullptr)
        return {i % each == 0 && cell_ != Cell::kRnn ? Activation::kSigmoid : Activation::kTanh};
      return {static_cast<Activation>(a_.activations()->Get(i)), a_.alpha()->Get(i), a_.beta()->Get(i)};
    };
    for (uint32_t i = 0; i < each; ++i) {
      p_.functions[i] = applied(i);
      if (p_.directions == 1) continue;
      const RecurrentProblem::Applied other = applied(each + i);
      if (other.kind != p_.functions[i].kind || other.alpha != p_.functions[i].alpha ||
          other.beta != p_.functions[i].beta)
        return "directions with different functions";
    }
    return "";
  }

  // W x and its bias, for all steps, batches and directions.
  void multiply_inputs() {
    const int64_t rows = gates_ * p_.hidden, inputs = l_.in(0).dims[2], steps = p_.steps, batch = p_.batch;
    const Laid x = l_.dense(l_.node().inputs[0]), w = l_.laid(l_.node().inputs[1]);
    ProductProblem product;
    product.batch = {p_.directions};
    product.m = steps * batch;
    product.n = rows;
    product.k = inputs;
    product.x = {p_.dtype, x.offset, {0}, inputs, 1};
    product.w = {l_.in(1).dtype, w.offset, {w.strides[0]}, w.strides[2], w.strides[1]};
    bool turned = false;
    const Laid kept = l_.weights(l_.node().inputs[1], w, 1, 1, true, &product.w.dtype, &turned);
    ExpressionBuilder b(&product.epilogue);
    int sum = b.given(kReal);
    std::vector<int> reads;
    if (l_.has(3)) {
      const Laid at = l_.laid(l_.node().inputs[3]);
      View view;
      view.offset = at.offset;
      view.strides = {at.strides[0], 0, at.strides[1]};
      int bias = b.input(l_.in(3).dtype, view);
      reads.push_back(at.memory);
      if (l_.in(3).dtype != kReal) bias = b.function(Function::kCast, kReal, bias);
      sum = b.function(Function::kAdd, kReal, sum, bias);
    }
    const int made = l_.make_memory(static_cast<uint64_t>(steps * batch * p_.directions * rows) * sizeof(float));
    View to;
    to.strides = {rows, p_.directions * rows, 1};
    b.output(sum, to);
    Work& work = l_.push(std::move(product));
    work.operands = {x.memory, kept.memory};
    work.reads = std::move(reads);
    work.writes = {made};
    const int64_t row = p_.directions * rows;
    p_.sums.strides = {a_.batch_first() ? row : batch * row, a_.batch_first() ? steps * row : row, rows, 1};
    operands_ = {made};
  }

  // A state: [directions, batch, hidden].
  View state(const Laid& at) const {
    View view = view_of(at);
    if (a_.batch_first()) std::swap(view.strides[0], view.strides[1]);
    return view;
  }

  void set_operands() {
    const int64_t rows = gates_ * p_.hidden;
    const Laid at = l_.laid(l_.node().inputs[2]);
    p_.r = view_of(at);
    p_.r_dtype = l_.in(2).dtype;
    // Lanes next to each other have rows next to each other.
    bool turned = false;
    operands_.push_back(l_.weights(l_.node().inputs[2], at, rows, p_.hidden, true, &p_.r_dtype, &turned).memory);
    if (turned) p_.r.strides = {rows * p_.hidden, 1, rows};
    const auto operand = [this](size_t i, View* view) {
      if (!l_.has(i)) return false;
      const Laid from = l_.laid(l_.node().inputs[i]);
      *view = view_of(from);
      operands_.push_back(from.memory);
      return true;
    };
    if (operand(3, &p_.b)) p_.b.offset += rows * p_.b.strides[1];
    if (l_.has(4)) {
      p_.lengths.strides = {1};
      operands_.push_back(checked_lengths());
    }
    if (operand(5, &p_.h)) p_.h = state(l_.laid(l_.node().inputs[5]));
    if (cell_ != Cell::kLstm) return;
    if (operand(6, &p_.c)) p_.c = state(l_.laid(l_.node().inputs[6]));
    (void)operand(7, &p_.p);
  }

  // Lengths below 0 or above the steps are errors of the run.
  int checked_lengths() {
    IndexedChain chain(l_, {p_.batch});
    const int given = chain.input(l_.node().inputs[4], view_of(l_.laid(l_.node().inputs[4])));
    const int memory = l_.make_memory(static_cast<uint64_t>(p_.batch) * sizeof(int32_t));
    View to;
    to.strides = {1};
    chain.b.output(chain.count(given, DType::kI32, p_.steps + 1), to);
    chain.push({memory});
    return memory;
  }

  void set_results() {
    const auto result = [this](size_t o, View* view) {
      if (l_.node().output(o) < 0) return false;
      const Laid to = l_.make(l_.node().outputs[o]);
      writes_.push_back(to.memory);
      *view = view_of(to);
      return true;
    };
    if (result(0, &p_.y) && a_.batch_first()) {
      const Extents s = p_.y.strides;
      p_.y.strides = {s[1], s[2], s[0], s[3]};
    }
    if (result(1, &p_.y_h) && a_.batch_first()) std::swap(p_.y_h.strides[0], p_.y_h.strides[1]);
    if (cell_ == Cell::kLstm && result(2, &p_.y_c) && a_.batch_first()) std::swap(p_.y_c.strides[0], p_.y_c.strides[1]);
  }

  Lowering& l_;
  const attrs::Recurrent& a_;
  const Cell cell_;
  const int64_t gates_;
  RecurrentProblem p_;
  std::vector<int> operands_, writes_;
};

}  // namespace

std::string lower_recurrent(Lowering& l) { return Lowered(l).run(); }

}  // namespace vireo::gpu
