// A transposed convolution of stride 1 is a convolution.
// Before   ConvTranspose(x, w[C, O / G, k...], b) {dilations d, pads p}
// After    Conv(x, w'[O, C / G, k...], b) {dilations d, pads d (k - 1) - p}      w'[o, c, t] = w[c, o, k - 1 - t]
// Fires    filters are constant and finite, for the padding multiplies them; pads are numbers of at most d (k - 1); no
//          output_padding and output_shape; the output, which the convolution's windows count, is not half as large
//          again as the input, whose pixels the transposed one multiplies.
// Numerics none but the order of each sum.
// Bound    a node stays one, of an operator with more kernels.        Idempotent.
#include "converter/passes/simplify/turn_transposed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "converter/passes/shared/match.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose_generated.h"

namespace vireo::passes {
namespace {

// [C, O / G, taps] -> [O, C / G, taps from the last to the first].
std::vector<uint8_t> turned(const ir::Constant& w, const Shape& from, int64_t groups) {
  const auto row = static_cast<size_t>(dtype_bits(w.tensor.type.dtype) / 8);
  const int64_t taps = product(from, 2, from.rank), own = from[0] / groups, outputs = from[1];
  std::vector<uint8_t> bytes(w.tensor.bytes.size());
  uint8_t* to = bytes.data();
  for (int64_t o = 0; o < groups * outputs; ++o) {
    for (int64_t c = 0; c < own; ++c) {
      const int64_t at = ((o / outputs * own + c) * outputs + o % outputs) * taps;
      for (int64_t t = taps; t-- > 0; to += row)
        std::memcpy(to, w.tensor.bytes.data() + static_cast<size_t>(at + t) * row, row);
    }
  }
  return bytes;
}

bool all_are(const std::vector<int32_t>& list, int32_t value) {
  return std::all_of(list.begin(), list.end(), [value](int32_t v) { return v == value; });
}

void turn(ir::Graph& g, ir::Node& n, PassLog& log) {
  attrs::ConvTransposeT t;
  n.attributes<attrs::ConvTranspose>().UnPackTo(&t);
  const ir::Value* w = n.in(1);
  const Shape& shape = w->type.shape;
  if (!all_are(t.strides, 1)) return;
  if (w->constant == nullptr) return log.reject(n, "weights are not constant");
  if (dtype_bits(w->type.dtype) < 8 || !dtype_is_float(w->type.dtype) || product(shape, 0, shape.rank) == 0) return;
  if (t.auto_pad != 0 || !t.output_shape.empty() || !all_are(t.output_padding, 0))
    return log.reject(n, "the output's extents are given");
  const std::vector<double> values = reals(*w->constant);
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
    return log.reject(n, "a weight is not finite");
  attrs::ConvT a;
  a.dilations = t.dilations;
  a.layout = t.layout;
  a.group = t.group;
  const auto spatial = static_cast<size_t>(shape.rank - 2);
  double growth = 1;
  for (size_t i = 0; i < 2 * spatial; ++i) {
    const size_t axis = i % spatial;
    const int64_t reach = (shape[static_cast<int>(axis) + 2] - 1) * (t.dilations.empty() ? 1 : t.dilations[axis]);
    const int64_t pad = reach - (t.pads.empty() ? 0 : t.pads[i]);
    if (pad < 0 || pad > INT32_MAX) return log.reject(n, "it crops more than its windows reach");
    a.pads.push_back(static_cast<int32_t>(pad));
    const int at = static_cast<int>(axis) + (t.layout == 1 ? 1 : 2);
    const Dim in = n.in(0)->type.shape[at], out = n.out()->type.shape[at];
    if (i < spatial && !is_symbolic(in) && !is_symbolic(out))
      growth *= static_cast<double>(out) / static_cast<double>(in);
  }
  if (!(growth <= 1.5)) return log.reject(n, "its output is larger than its input");
  Shape to = shape;
  to[0] = shape[1] * t.group;
  to[1] = shape[0] / t.group;
  std::vector<ir::Value*> inputs = n.inputs;
  inputs[1] = g.add_constant(w->name, ir::make_constant({w->type.dtype, to}, turned(*w->constant, shape, t.group)));
  ir::Node* one = add_node(g, Op::kConv, pack<attrs::Conv>(a), std::move(inputs), n, &n);
  if (one == nullptr || one->out()->type != n.out()->type) return log.reject(n, "the shapes do not fit");
  one->out()->name = n.out()->name;
  g.replace_uses(n.out(), one->out());
  log.changed();
}

void run_turn_transposed(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it++;
    if (n.op != Op::kConvTranspose || n.outputs.size() != 1) continue;
    turn(g, n, log);
    if (n.out()->unused()) g.remove(&n);
  }
}

}  // namespace

const Pass kTurnTransposed = {"turn_transposed", run_turn_transposed};

}  // namespace vireo::passes
