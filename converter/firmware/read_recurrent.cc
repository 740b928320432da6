#include "sdk/ops/recurrent/recurrent.h"

#include "converter/firmware/read_lowered.h"
#include "delegates/mcu/kernels/moves.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/nodes/serve.h"

namespace vireo::firmware {
namespace {

using Kind = attrs::RecurrentActivation;

std::string why_not(const Lower& n, bool rnn, int64_t steps, int64_t batch) {
  const auto& a = n.q.attrs<attrs::Recurrent>();
  bool usual = has_usual_functions(n.q.op == Op::kLSTM, a);
  if (rnn) {
    usual = true;
    for (unsigned i = 0; a.activations() != nullptr && i < a.activations()->size(); ++i)
      usual = usual && static_cast<Kind>(a.activations()->Get(i)) == Kind::Tanh;
  }
  if (!usual) return "kernels for microcontrollers take the usual functions, it has others";
  if (a.clip() != 0 || a.input_forget()) return "it clips, or its forget gate is that of its input";
  if (a.state_scale() > 0) return "its state goes through codes of 8 bits";
  if (n.is_present(7)) return "it has peepholes";
  if (n.is_present(4)) {
    if (!n.is_known(4)) return "lengths of its sequences are not constant";
    for (int64_t b = 0; b < batch; ++b) {
      if (n.number(4, b) != steps) return "its sequences have different lengths";
    }
  }
  return "";
}

}  // namespace

std::string read_recurrent(Lower& n) {
  const bool lstm = n.q.op == Op::kLSTM, rnn = n.q.op == Op::kRNN;
  if ((!lstm && !rnn && n.q.op != Op::kGRU) || !n.in_reals() || n.type(0) != DType::kF32) return kUnknownNode;
  for (uint32_t i = 0; i < n.q.input_count; ++i) {
    if (n.is_present(i) && !mcu::is_small(n.q.inputs[i])) return kSizes;
  }
  const auto& a = n.q.attrs<attrs::Recurrent>();
  const Shape &x = n.shape(0), &recurrence = n.shape(2);
  const int64_t steps = x[a.batch_first() ? 1 : 0], batch = x[a.batch_first() ? 0 : 1], inputs = x[2];
  const int64_t d = recurrent_directions(a), h = recurrence[2], gates = recurrence[1] / h;
  std::string reason = why_not(n, rnn, steps, batch);
  if (!reason.empty()) return reason;
  vireo_mcu_recurrent r = {};
  r.cell = lstm ? VIREO_MCU_LSTM : rnn ? VIREO_MCU_RNN : VIREO_MCU_GRU;
  r.directions = small(d), r.batch = small(batch), r.steps = small(steps), r.inputs = small(inputs),
  r.hidden = small(h);
  const bool first = a.batch_first();
  r.x_step = small(first ? inputs : batch * inputs), r.x_batch = small(first ? steps * inputs : inputs);
  r.y_step = small(first ? d * h : d * batch * h), r.y_batch = small(first ? steps * d * h : h);
  r.y_direction = small(first ? h : batch * h);
  r.state_batch = small(first ? d * h : h), r.state_direction = small(first ? h : batch * h);
  r.first_reversed = a.direction() == attrs::RecurrentDirection::Reverse ? 1 : 0;
  r.has_bias = n.is_present(3) ? 1 : 0;
  r.reset_last = a.linear_before_reset() ? 1 : 0;
  // Weights of a direction behind one another.
  const int64_t parts[] = {gates * h * inputs, gates * h * h, r.has_bias != 0 ? 2 * gates * h : 0};
  const uint32_t count = r.has_bias != 0 ? 3 : 2;
  int32_t weights = kNothing;
  if (n.is_known(1) && n.is_known(2) && n.is_known(3)) {
    std::vector<float> all;
    for (int64_t i = 0; i < d; ++i) {
      for (uint32_t p = 0; p < count; ++p) {
        const float* const from = n.q.inputs[p + 1].as<float>() + i * parts[p];
        all.insert(all.end(), from, from + parts[p]);
      }
    }
    weights = n.constant(all);
  } else {
    vireo_mcu_join j = {};
    std::vector<int32_t> operands, read;
    j.rows = small(d), j.count = small(count);
    int64_t bytes = 0;
    for (uint32_t p = 0; p < count; ++p) {
      j.bytes[p] = small(parts[p] * 4);
      bytes += d * parts[p] * 4;
      operands.push_back(n.x(p + 1));
    }
    read = operands;
    operands.resize(VIREO_MCU_JOINED, kNothing);
    weights = n.value(bytes);
    operands.push_back(weights);
    n.put(k_join, j, std::move(operands), std::move(read), weights);
  }
  // States are the results themselves, or parts of one value.
  const int64_t states = d * batch * h;
  const bool direct = !lstm && n.result(1) != kNothing;
  const int32_t state = direct ? n.result(1) : n.value((lstm ? 2 : 1) * states * 4);
  const int32_t first_h = n.is_present(5) ? n.x(5) : kNothing, first_c = n.is_present(6) ? n.x(6) : kNothing;
  Call& call = n.put(k_recurrent, r, {n.x(), weights, first_h, first_c, n.result(0), state, kScratch},
                     {n.x(), weights, first_h, first_c}, state);
  if (n.result(0) != kNothing) call.outputs.push_back(n.result(0));
  call.scratch_bytes = vireo_mcu_recurrent_scratch(&r);
  call.products = static_cast<uint64_t>(d * batch * steps * (parts[0] + parts[1]));
  for (uint32_t o = 1; o < 3 && !direct; ++o) {
    if (n.result(o) == kNothing) continue;
    Shape box;
    StridedView view;
    box.rank = 1, box[0] = states, view.strides[0] = 1, view.offset = (o - 1) * states;
    reason = n.move(state, n.result(o), DType::kF32, box, view);
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace vireo::firmware
