// Weights by row of a gate; x and the state in codes, the gates in float. |h| <= 1 from a state within these bounds.
#include "sdk/ops/quant_rule.h"
#include "sdk/ops/recurrent/recurrent.h"

namespace vireo {

QuantRule recurrent_quant(const QuantView& n) {
  if (n.op == Op::kRNN) return quant_stays("there is no integer form of RNN");
  const bool lstm = n.op == Op::kLSTM;
  const auto& a = n.attrs<attrs::Recurrent>();
  if (!n.has(1) || !n.inputs[1].constant || !n.has(2) || !n.inputs[2].constant)
    return quant_stays("its weights are computed");
  if (!has_usual_functions(lstm, a) || a.clip() != 0 || a.input_forget() || n.has(7))
    return quant_stays("it has other functions, clip, peepholes or coupled gates");
  if (n.has(4)) return quant_stays("its sequences have lengths of their own");
  if (a.batch_first() && n.inputs[0].type.shape[0] != 1) return quant_stays("its batches come first");
  QuantRule r = quant_kind(QuantKind::kCell);
  r.bounded = true;
  r.low = -1;
  r.high = 1;
  return r;
}

}  // namespace vireo
