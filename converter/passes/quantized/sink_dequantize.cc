// Data moves as codes, not as floats.
// Before   DequantizeLinear -> Reshape | Transpose | Slice | Gather | MaxPool | Resize nearest | Pad with 0 | ...
// After    the same movement of the codes -> DequantizeLinear
// Before   the same movement -> QuantizeLinear
// After    QuantizeLinear -> movement of the codes
// Before   DequantizeLinear of each operand, one scale and zero point -> Concat
// After    Concat of the codes -> DequantizeLinear
// Before   QuantizeLinear of a constant; a movement of constant codes
// After    a constant
// Fires    one scale, positive (a Transpose takes scales of channels along); codes of 8 or 16 bits; the moved
//          value has one consumer in the second form. Idempotent.
// Numerics none: both are functions of one element, and rising ones, so that a maximum commutes with them as well.
#include "converter/passes/quantized/sink_dequantize.h"

#include "converter/passes/shared/quantized.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/traits.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::passes {
namespace {

bool holds_padding_alone(const attrs::Pool& a) {
  const unsigned spatial = a.kernel_shape()->size();
  for (unsigned i = 0; a.auto_pad() == 0 && a.pads() != nullptr && i < a.pads()->size(); ++i) {
    const unsigned d = i % spatial;
    const bool dilated = a.dilations() != nullptr && a.dilations()->size() == spatial;
    if (a.pads()->Get(i) > (a.kernel_shape()->Get(d) - 1) * (dilated ? a.dilations()->Get(d) : 1)) return true;
  }
  return false;
}

// Output elements are elements of input 0, or their maximum. `why` says what stands in the way of one that looks like
// it.
bool moves_data(const ir::Node& n, std::string* why) {
  if (moves_elements(n.op)) return n.outputs.size() == 1 && (n.def().flags & OpDef::kDataDependent) == 0;
  switch (n.op) {
    case Op::kMaxPool:
      if (n.out(1) != nullptr) {
        *why = "the places of the maxima are wanted";
        return false;
      }
      if (holds_padding_alone(n.attributes<attrs::Pool>())) {
        *why = "a window may hold padding alone, whose maximum no code is";
        return false;
      }
      return true;
    case Op::kResize: {
      const auto& a = n.attributes<attrs::Resize>();
      if (a.mode() == attrs::ResizeMode::nearest && a.coordinate() != attrs::ResizeCoordinate::tf_crop_and_resize)
        return true;
      *why = "it interpolates";
      return false;
    }
    case Op::kPad: {
      double value = 0;
      if (n.attributes<attrs::Pad>().mode() != attrs::PadMode::constant || n.in(2) == nullptr ||
          (is_scalar(n.in(2), &value) && value == 0))
        return true;
      *why = "it pads with something else than 0";
      return false;
    }
    default:
      return false;
  }
}

ir::Value* zero_constant(ir::Graph& g, const Scale& s) {
  Shape scalar;
  return g.add_constant("pad_zero", code_constant(s.dtype, scalar, {s.zero()}));
}

// `n` with other data; null when the shape function refuses.
ir::Node* move(ir::Graph& g, const ir::Node& n, ir::Value* data, const Scale& s, ir::Node* before) {
  std::vector<ir::Value*> inputs = n.inputs;
  inputs[0] = data;
  if (n.op == Op::kPad && n.attributes<attrs::Pad>().mode() == attrs::PadMode::constant) {
    while (inputs.size() < 3) inputs.push_back(nullptr);
    inputs[2] = zero_constant(g, s);
  }
  ir::Node* moved = add_node(g, n.op, n.attrs, std::move(inputs), n, before);
  if (moved == nullptr) return nullptr;
  moved->version = n.version;
  return moved;
}

bool same_type(const TensorType& a, const TensorType& b) { return a == b; }

// A Transpose carries a scale of channels along: the new axis is where the old one went.
bool follow_axis(const ir::Node& n, const Scale& s, int* axis) {
  *axis = s.axis;
  if (s.per_tensor()) return true;
  if (n.op != Op::kTranspose) return false;
  const auto* perm = n.attributes<attrs::Transpose>().perm();
  const int rank = n.in(0)->type.shape.rank;
  for (int i = 0; i < rank; ++i) {
    const int from = perm == nullptr ? rank - 1 - i : perm->Get(static_cast<unsigned>(i));
    if (from == s.axis) *axis = i;
  }
  return true;
}

bool sink(ir::Graph& g, ir::Node& n, PassLog& log) {
  ir::Node* dq = maker(n.in(0), Op::kDequantizeLinear);
  std::string why;
  Scale s;
  if (dq == nullptr) return false;
  if (!moves_data(n, &why)) {
    if (!why.empty()) log.reject(n, why);
    return false;
  }
  int axis = 0;
  if (!read_scale(*dq, &s, &why)) {
    log.reject(n, why);
    return false;
  }
  if (!is_code(s.dtype)) return false;
  if (!follow_axis(n, s, &axis)) {
    log.reject(n, "moves codes that have a scale for each index of axis " + std::to_string(s.axis));
    return false;
  }
  ir::Node* moved = move(g, n, dq->in(0), s, &n);
  if (moved == nullptr) {
    log.reject(n, "its shape function refuses the codes");
    return false;
  }
  ir::Value* codes = moved->out();
  codes->name = n.out()->name + "_codes";
  auto attributes = std::unique_ptr<attrs::DequantizeLinearT>(dq->attributes<attrs::DequantizeLinear>().UnPack());
  attributes->axis = axis;
  std::vector<ir::Value*> inputs = dq->inputs;
  inputs[0] = codes;
  ir::Node* after = add_node(g, Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(*attributes), inputs, *dq, &n);
  if (after == nullptr || !same_type(after->out()->type, n.out()->type)) {
    if (after != nullptr) g.remove(after);
    g.remove(moved);
    return false;
  }
  after->out()->name = n.out()->name;
  g.replace_uses(n.out(), after->out());
  remove_unused(g, &n);
  return true;
}

bool hoist(ir::Graph& g, ir::Node& q, PassLog& log) {
  ir::Node* n = q.in(0)->producer;
  Scale s;
  std::string why;
  if (n == nullptr || !dtype_is_float(n->in(0) == nullptr ? DType::kNone : n->in(0)->type.dtype)) return false;
  if (!moves_data(*n, &why)) return false;
  if (only_user(n->out()) == nullptr) {
    log.reject(*n, std::to_string(n->out()->uses.size() + n->out()->output_uses) + " consumers");
    return false;
  }
  if (!read_scale(q, &s, &why) || !s.per_tensor() || !is_code(s.dtype)) return false;
  std::vector<ir::Value*> inputs = q.inputs;
  inputs[0] = n->in(0);
  ir::Node* first = add_node(g, Op::kQuantizeLinear, q.attrs, inputs, q, n);
  if (first == nullptr) return false;
  ir::Node* moved = move(g, *n, first->out(), s, n);
  if (moved == nullptr || !same_type(moved->out()->type, q.out()->type)) {
    if (moved != nullptr) g.remove(moved);
    g.remove(first);
    return false;
  }
  first->out()->name = q.out()->name + "_codes";
  moved->out()->name = q.out()->name;
  g.replace_uses(q.out(), moved->out());
  g.remove(&q);
  g.remove(n);
  return true;
}

bool join(ir::Graph& g, ir::Node& n) {
  std::vector<ir::Value*> codes;
  std::string why;
  Scale first;
  for (const ir::Value* v : n.inputs) {
    Scale s;
    ir::Value* c = codes_of(v, &s, &why);
    if (c == nullptr || (!codes.empty() && !(s == first))) return false;
    first = s;
    codes.push_back(c);
  }
  const ir::Node* dq = n.in(0)->producer;
  ir::Node* moved = add_node(g, n.op, n.attrs, codes, n, &n);
  if (moved == nullptr) return false;
  std::vector<ir::Value*> inputs = dq->inputs;
  inputs[0] = moved->out();
  ir::Node* after = add_node(g, Op::kDequantizeLinear, dq->attrs, inputs, *dq, &n);
  if (after == nullptr || !same_type(after->out()->type, n.out()->type)) {
    if (after != nullptr) g.remove(after);
    g.remove(moved);
    return false;
  }
  moved->out()->name = n.out()->name + "_codes";
  after->out()->name = n.out()->name;
  g.replace_uses(n.out(), after->out());
  remove_unused(g, &n);
  return true;
}

bool may_be_codes(const ir::Value& v) { return dtype_bits(v.type.dtype) == 8 || is_half_word(v.type.dtype); }

// Constant codes, made now: fold_constants has run, and keeps what quantizes.
bool fold(ir::Graph& g, ir::Node& n) {
  std::string why;
  if (n.outputs.size() != 1 || (n.op != Op::kQuantizeLinear && !moves_data(n, &why))) return false;
  if (n.op != Op::kQuantizeLinear && !may_be_codes(*n.out())) return false;
  std::vector<ir::ConstantPtr> inputs, results;
  int64_t bytes = 4096;
  for (const ir::Value* v : n.inputs) {
    if (v != nullptr && v->constant == nullptr) return false;
    inputs.push_back(v == nullptr ? nullptr : v->constant);
    if (v != nullptr) bytes += v->constant->size_bytes();
  }
  if (!ir::evaluate_node(n, inputs, bytes, &results, &why, &g.dims().budget())) return false;
  g.replace_uses(n.out(), g.add_constant(n.out()->name, results[0]));
  remove_unused(g, &n);
  return true;
}

void run_sink_dequantize(ir::Graph& g, PassLog& log) {
  // In the order of the graph: what one step sinks stands before what the next one looks at.
  std::vector<ir::Node*> order;
  for (ir::Node& n : g.nodes()) order.push_back(&n);
  for (ir::Node* n : order) {
    if (n->out() == nullptr || !n->bodies.empty() || n->out()->unused()) continue;
    if (n->op == Op::kQuantizeLinear) {
      if (fold(g, *n)) log.changed();
    } else if (n->op == Op::kConcat ? join(g, *n) : sink(g, *n, log)) {
      log.changed();
    }
  }
  // And back: a QuantizeLinear climbs over all movements before it.
  for (bool again = true; again;) {
    again = false;
    std::vector<ir::Node*> ends;
    for (ir::Node& n : g.nodes()) {
      if (n.op == Op::kQuantizeLinear) ends.push_back(&n);
    }
    for (ir::Node* q : ends) {
      if (!hoist(g, *q, log)) continue;
      log.changed();
      again = true;
    }
  }
  for (bool again = true; again;) {
    again = false;
    std::vector<ir::Node*> order_now;
    for (ir::Node& n : g.nodes()) order_now.push_back(&n);
    for (ir::Node* n : order_now) {
      if (n->op == Op::kQuantizeLinear || n->out() == nullptr || !n->bodies.empty() || n->out()->unused()) continue;
      if (may_be_codes(*n->out()) && fold(g, *n)) {
        log.changed();
        again = true;
      }
    }
  }
}

}  // namespace

const Pass kSinkDequantize = {"sink_dequantize", run_sink_dequantize};

}  // namespace vireo::passes
