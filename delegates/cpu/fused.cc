#include "delegates/cpu/fused.h"

#include <math.h>

#include "sdk/base/half.h"
#include "sdk/ops/bound_infer.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/value_reader.h"

namespace vireo::cpu {
GraphReader body_of(const NodeView& q) { return q.op == Op::kComposite ? q.body() : GraphReader(*q.host, q.graph); }

Operand operand_of(const NodeView& q, int32_t number) {
  Operand o;
  if (number < 0) return o;
  const GraphReader body = body_of(q);
  const vireo_graph_value value = body.value(number);
  o.type = type_of(value);
  if (q.op != Op::kComposite) {  // its own inputs
    for (uint32_t i = 0; i < q.node.input_count; ++i) {
      if (q.node.inputs[i] != number) continue;
      o.input = static_cast<int32_t>(i);
      o.constant = q.inputs[i].constant;
      return o;
    }
    return o;
  }
  o.input = body.input_of(number, q.input_count);
  if (o.input >= 0) {
    o.constant = q.inputs[o.input].constant;
    return o;
  }
  o.constant = value.constant;
  if (o.constant == nullptr) o.type = TensorType{};
  return o;
}

namespace {

// A float constant of one element; `otherwise` when the value is absent.
bool scalar(const GraphReader& graph, const vireo_graph_node& n, uint32_t input, float otherwise, float* out) {
  *out = otherwise;
  if (input >= n.input_count || n.inputs[input] < 0) return true;
  const vireo_graph_value v = graph.value(n.inputs[input]);
  if (v.constant != nullptr && v.dtype == VIREO_FLOAT16 && v.constant_size == sizeof(uint16_t)) {
    *out = f16_to_f32(read_element<uint16_t>(v.constant, 0));
    return true;
  }
  if (v.constant == nullptr || v.dtype != VIREO_FLOAT32 || v.constant_size != sizeof(float)) return false;
  *out = read_element<float>(v.constant, 0);
  return true;
}

// One value a channel: every extent is 1 but that of the channel's axis.
bool is_bias(const TensorType& b, const TensorType& y, int channel_axis) {
  const int axis = channel_axis < 0 ? channel_axis + y.shape.rank : channel_axis;
  if (b.dtype != y.dtype || b.shape.rank > y.shape.rank) return false;
  const int lead = y.shape.rank - b.shape.rank;
  if (axis < lead) return false;
  for (int i = 0; i < b.shape.rank; ++i) {
    if (b.shape[i] != (i + lead == axis ? y.shape[axis] : 1)) return false;
  }
  return true;
}

}  // namespace

bool read_activation(const GraphReader& graph, const vireo_graph_node& n, Activate* out) {
  const auto set = [&](Activation kind, float a = 0, float b = 0) {
    *out = {kind, a, b};
    return true;
  };
  switch (static_cast<Op>(n.op)) {
    case Op::kRelu:
      return set(Activation::kRelu);
    case Op::kSigmoid:
      return set(Activation::kSigmoid);
    case Op::kTanh:
      return set(Activation::kTanh);
    case Op::kHardSwish:
      return set(Activation::kHardSwish);
    case Op::kSoftplus:
      return set(Activation::kSoftplus);
    case Op::kMish:
      return set(Activation::kMish);
    case Op::kExp:
      return set(Activation::kExp);
    case Op::kLog:
      return set(Activation::kLog);
    case Op::kSqrt:
      return set(Activation::kSqrt);
    case Op::kErf:
      return set(Activation::kErf);
    case Op::kAbs:
      return set(Activation::kAbs);
    case Op::kNeg:
      return set(Activation::kNeg);
    case Op::kFloor:
      return set(Activation::kFloor);
    case Op::kCeil:
      return set(Activation::kCeil);
    case Op::kRound:
      return set(Activation::kRound);
    case Op::kLeakyRelu:
      return set(Activation::kLeakyRelu, ::flatbuffers::GetRoot<attrs::LeakyRelu>(n.attrs)->alpha());
    case Op::kSwish:
      return set(Activation::kSilu, ::flatbuffers::GetRoot<attrs::Swish>(n.attrs)->alpha());
    case Op::kHardSigmoid: {
      const auto* a = ::flatbuffers::GetRoot<attrs::HardSigmoid>(n.attrs);
      return set(Activation::kHardSigmoid, a->alpha(), a->beta());
    }
    case Op::kGelu: {
      const bool tanh_form = ::flatbuffers::GetRoot<attrs::Gelu>(n.attrs)->form() == attrs::GeluForm::Tanh;
      return set(tanh_form ? Activation::kGeluTanh : Activation::kGelu);
    }
    case Op::kElu: {
      const auto* a = ::flatbuffers::GetRoot<attrs::Elu>(n.attrs);
      if (a->divisor() == 1) return set(Activation::kSelu, a->alpha(), a->gamma());
      if (a->gamma() == 1 && a->divisor() == a->alpha()) return set(Activation::kCelu, a->alpha());
      return false;
    }
    case Op::kClip: {
      float low = 0, high = 0;
      if (!scalar(graph, n, 1, -INFINITY, &low) || !scalar(graph, n, 2, INFINITY, &high)) return false;
      return set(Activation::kClip, low, high);
    }
    default:
      return false;
  }
}

namespace {

// The operator and its operands. `body` is the node's graph, or the composite's.
bool read_core(const NodeView& q, const GraphReader& body, const vireo_graph_node& core, Fused* out) {
  out->core = static_cast<Op>(core.op);
  out->attrs = core.attrs;
  out->attrs_size = core.attrs_size;
  if (core.input_count > kMaxCoreInputs || core.output_count != 1) return false;
  for (uint32_t i = 0; i < core.input_count; ++i) out->inputs[i] = operand_of(q, core.inputs[i]);
  out->input_count = core.input_count;
  out->core_type = type_at(body, core.outputs[0]);
  return true;
}

bool all_given(const vireo_graph_node& core, const Fused& f) {
  for (uint32_t i = 0; i < core.input_count; ++i) {
    if (core.inputs[i] >= 0 && !f.inputs[i].given()) return false;
  }
  return true;
}

// What follows the product, from node `first` of the body on. `halves`: Casts may widen what is added and narrow the
// result.
bool read_tail(const NodeView& q, const GraphReader& body, const vireo_graph_node& core, uint32_t first,
               int channel_axis, bool halves, Fused* out, const char** reason) {
  int32_t at = core.outputs[0], widened = -1, narrow = -1;  // of the last Cast: what it made, and of what
  const uint32_t count = body.node_count();
  // The other operand of an Add or Mul; of the result's type where it is widened from bfloat16.
  const auto other_of = [&](int32_t number, bool* whole) {
    const bool cast = number >= 0 && number == widened;
    const Operand o = operand_of(q, cast ? narrow : number);
    *whole = o.type == out->core_type || (cast && o.type == TensorType{DType::kBF16, out->core_type.shape});
    return o;
  };
  for (uint32_t n = first; n < count; ++n) {
    const vireo_graph_node node = body.node(n);
    if (node.output_count != 1 || node.input_count < 1) return false;
    if (static_cast<Op>(node.op) == Op::kCast && halves && node.input_count == 1) {
      const DType from = type_at(body, node.inputs[0]).dtype, to = type_at(body, node.outputs[0]).dtype;
      if (node.inputs[0] == at) {
        if (n + 1 != count || to != DType::kBF16) return false;
        out->half = true;
        at = node.outputs[0];
      } else {
        if (widened >= 0 || from != DType::kBF16 || to != DType::kF32) return false;
        widened = node.outputs[0];
        narrow = node.inputs[0];
      }
      continue;
    }
    if (static_cast<Op>(node.op) == Op::kAdd && node.input_count == 2) {
      const bool left = node.inputs[0] == at;
      bool whole = false;
      const Operand other = other_of(node.inputs[left ? 1 : 0], &whole);
      if ((!left && node.inputs[1] != at) || !other.given()) return false;
      const bool own_bias = out->input_count > 2 && out->inputs[2].given();
      const bool active = out->act.kind != Activation::kNone || out->slope.given();
      const bool plain = !active && !out->residual.given();
      if (plain && !own_bias && !out->bias.given() && other.is_static(q) &&
          is_bias(other.type, out->core_type, channel_axis)) {
        out->bias = other;
      } else if (!out->residual.given() && whole) {
        out->residual = other;
        out->residual_last = active;
      } else {
        return false;
      }
      at = node.outputs[0];
      continue;
    }
    if (static_cast<Op>(node.op) == Op::kMul && node.input_count == 2 && node.inputs[0] != node.inputs[1]) {
      const bool left = node.inputs[0] == at;
      bool whole = false;
      const Operand other = other_of(node.inputs[left ? 1 : 0], &whole);
      if ((!left && node.inputs[1] != at) || !whole || out->residual.given()) return false;
      out->residual = other;
      out->residual_times = true;
      at = node.outputs[0];
      continue;
    }
    if (out->residual_last || out->residual_times || out->slope.given()) return false;
    if (out->act.kind != Activation::kNone || node.inputs[0] != at) return false;
    if (static_cast<Op>(node.op) == Op::kPRelu && node.input_count == 2) {
      float slope = 0;
      at = node.outputs[0];
      if (scalar(body, node, 1, 0, &slope)) {
        out->act = {Activation::kLeakyRelu, slope, 0};
        continue;
      }
      out->slope = operand_of(q, node.inputs[1]);
      if (!out->slope.given() || !out->slope.is_static(q) || !is_bias(out->slope.type, out->core_type, channel_axis))
        return false;
      continue;
    }
    // x * sigmoid(x), in two nodes.
    if (static_cast<Op>(node.op) == Op::kSigmoid && n + 1 < count) {
      const vireo_graph_node next = body.node(n + 1);
      const bool product = static_cast<Op>(next.op) == Op::kMul && next.input_count == 2 && next.output_count == 1;
      const int32_t s = node.outputs[0];
      if (product && ((next.inputs[0] == at && next.inputs[1] == s) || (next.inputs[0] == s && next.inputs[1] == at))) {
        out->act = {Activation::kSilu, 1, 0};
        at = next.outputs[0];
        ++n;
        continue;
      }
    }
    if (!read_activation(body, node, &out->act)) return false;
    at = node.outputs[0];
  }
  if (body.output_count() != 1 || body.output(0) != at) return false;
  out->varies = first < count && !q.is_static();
  *reason = "";
  return true;
}

}  // namespace

bool is_cast(const NodeView& q, const vireo_graph_node& n, int32_t from, DType to) {
  return static_cast<Op>(n.op) == Op::kCast && n.input_count == 1 && n.output_count == 1 && n.inputs[0] == from &&
         type_at(q.body(), n.outputs[0]).dtype == to;
}

bool read_fused(const NodeView& q, int channel_axis, Fused* out, const char** reason) {
  const GraphReader body = body_of(q);
  const vireo_graph_node core = q.op == Op::kComposite ? body.node(0) : q.node;
  *reason = "the fused body has another form";
  if (!read_core(q, body, core, out) || !all_given(core, *out)) return false;
  return q.op != Op::kComposite || read_tail(q, body, core, 1, channel_axis, false, out, reason);
}

bool read_fused_bf16(const NodeView& q, int channel_axis, Fused* out, const char** reason) {
  *reason = "the fused body has another form";
  if (q.op != Op::kComposite) return false;
  const GraphReader body = q.body();
  if (body.node_count() < 3) return false;
  // In this order alone: a body that began with the Cast of x would let y lie on x.
  const vireo_graph_node weights = body.node(0);
  vireo_graph_node wide = body.node(1);
  if (weights.input_count != 1 || wide.input_count != 1) return false;
  const int32_t x = wide.inputs[0];
  uint32_t at = 2;  // the product
  if (type_at(body, x).dtype != DType::kBF16) {
    const vireo_graph_node narrow = wide;
    wide = body.node(at++);
    if (!is_cast(q, narrow, x, DType::kBF16) || !is_cast(q, wide, narrow.outputs[0], DType::kF32)) return false;
  }
  const vireo_graph_node core = body.node(at);
  if (!is_cast(q, wide, wide.inputs[0], DType::kF32) || core.input_count < 2) return false;
  if (!is_cast(q, weights, weights.inputs[0], DType::kF32)) return false;
  if (core.inputs[0] != wide.outputs[0] || core.inputs[1] != weights.outputs[0] || !read_core(q, body, core, out))
    return false;
  out->inputs[0] = operand_of(q, x);
  out->inputs[1] = operand_of(q, weights.inputs[0]);
  const DType from = out->inputs[0].type.dtype;
  const bool types = (from == DType::kF32 || from == DType::kBF16) && out->inputs[1].type.dtype == DType::kBF16 &&
                     out->inputs[1].fixed(q) != nullptr && out->core_type.dtype == DType::kF32;
  return types && all_given(core, *out) && read_tail(q, body, core, at + 1, channel_axis, true, out, reason);
}

bool read_fused_f16(const NodeView& q, int channel_axis, Fused* out, const char** reason) {
  const auto fits = [&](DType type) {
    return out->inputs[0].type.dtype == type && out->inputs[1].type.dtype == DType::kF16 &&
           out->core_type.dtype == type && out->inputs[1].fixed(q) != nullptr;
  };
  const bool composite = q.op == Op::kComposite;
  const GraphReader body = body_of(q);
  const vireo_graph_node weights = composite ? body.node(0) : q.node;
  if (!composite || weights.input_count == 0 || !is_cast(q, weights, weights.inputs[0], DType::kF32))
    return read_fused(q, channel_axis, out, reason) && out->input_count >= 2 && fits(DType::kF16);
  *reason = "the fused body has another form";
  if (body.node_count() < 2) return false;
  const vireo_graph_node core = body.node(1);
  if (core.input_count < 2 || core.inputs[1] != weights.outputs[0] || !read_core(q, body, core, out)) return false;
  out->inputs[1] = operand_of(q, weights.inputs[0]);
  return fits(DType::kF32) && all_given(core, *out) && read_tail(q, body, core, 2, channel_axis, false, out, reason);
}

bool read_fused_codes(const NodeView& q, int channel_axis, Fused* out, CodedOperand* coded, const char** reason) {
  *reason = "the fused body has another form";
  if (q.op != Op::kComposite) return false;
  const GraphReader body = q.body();
  if (body.node_count() < 2) return false;
  const vireo_graph_node wide = body.node(0), core = body.node(1);
  if (static_cast<Op>(wide.op) != Op::kDequantizeLinear || wide.input_count < 2 || wide.output_count != 1) return false;
  if (core.input_count < 2 || core.inputs[1] != wide.outputs[0] || !read_core(q, body, core, out)) return false;
  const auto& a = *::flatbuffers::GetRoot<attrs::DequantizeLinear>(wide.attrs);
  out->inputs[1] = operand_of(q, wide.inputs[0]);
  coded->scale = operand_of(q, wide.inputs[1]);
  if (wide.input_count > 2) coded->zero = operand_of(q, wide.inputs[2]);
  coded->axis = a.axis();
  coded->block = a.block_size();
  const bool zero = wide.input_count > 2 && wide.inputs[2] >= 0;
  const bool constant = out->inputs[1].fixed(q) != nullptr && coded->scale.fixed(q) != nullptr &&
                        (!zero || coded->zero.fixed(q) != nullptr);
  const bool types = out->inputs[0].type.dtype == DType::kF32 && coded->scale.type.dtype == DType::kF32 &&
                     type_at(body, wide.outputs[0]).dtype == DType::kF32 && out->core_type.dtype == DType::kF32;
  return constant && types && all_given(core, *out) && read_tail(q, body, core, 2, channel_axis, false, out, reason);
}

bool read_int_fused(const NodeView& q, IntFused* out, const char** reason) {
  *out = IntFused();
  *reason = "the fused body has another form";
  if (q.op != Op::kComposite) {
    out->attrs = q.node.attrs;
    out->attrs_size = q.node.attrs_size;
    if (q.input_count > 3 && q.inputs[3].type.dtype != DType::kNone) out->bias = 3;
    return true;
  }
  const GraphReader body = q.body();
  if (body.node_count() != 2 || body.output_count() != 1) return false;
  const vireo_graph_node core = body.node(0), step = body.node(1);
  if (core.input_count < 3 || core.input_count > 4 || core.output_count != 1 || step.output_count != 1) return false;
  for (uint32_t i = 0; i < 3; ++i) {
    if (operand_of(q, core.inputs[i]).input != static_cast<int32_t>(i)) return false;
  }
  out->attrs = core.attrs;
  out->attrs_size = core.attrs_size;
  out->varies = !q.is_static();
  if (core.input_count > 3 && core.inputs[3] >= 0) {
    out->bias = operand_of(q, core.inputs[3]).input;
    if (out->bias < 0) return false;
  }
  const TensorType y = type_at(body, core.outputs[0]);
  const int32_t codes = core.outputs[0];
  out->step = static_cast<Op>(step.op);
  out->step_attrs = step.attrs;
  if (body.output(0) != step.outputs[0]) return false;
  if (out->step == Op::kIntAdd && step.input_count == 2) {
    out->second = step.inputs[1] == codes;
    const int32_t number = step.inputs[out->second ? 0 : 1];
    const Operand other = operand_of(q, number);
    if (number == codes || step.inputs[out->second ? 1 : 0] != codes) return false;
    if (other.input < 0 || !(other.type.shape == y.shape)) return false;
    out->operands[0] = other.input;
  } else if (out->step == Op::kIntAffine && step.input_count >= 2 && step.inputs[0] == codes) {
    for (uint32_t i = 1; i < step.input_count && i < 4; ++i) {
      if (step.inputs[i] < 0) continue;
      const Operand factor = operand_of(q, step.inputs[i]);
      const Shape& s = factor.type.shape;
      out->per_column = product(s, 0, s.rank) != 1;
      if (factor.input < 0 || !factor.is_static(q)) return false;
      if (out->per_column && !is_bias(factor.type, {DType::kF32, y.shape}, -1)) return false;
      out->operands[i - 1] = factor.input;
    }
  } else {
    return false;
  }
  *reason = "";
  return true;
}

bool has_shape_of_output(const KernelContext& ctx, Op op, Span<const uint8_t> attrs, const TensorType* inputs,
                         uint32_t count) {
  const OpRow* row = find_op(op);
  TensorType y;
  BoundInfer<kMaxCoreInputs> infer(attrs);
  for (uint32_t i = 0; i < count; ++i) infer.add_input(&inputs[i], nullptr);
  infer.add_output(&y);
  return row != nullptr && ok(row->def->infer(infer)) && y.shape == ctx.out(0)->shape;
}

bool fits(const KernelContext& ctx, const Fused& f) {
  const Shape& y = ctx.out(0)->shape;
  if (f.residual.given() && f.residual.input >= 0 && !(f.residual.shape(ctx) == y)) return false;
  if (!f.varies) return true;
  TensorType inputs[kMaxCoreInputs];
  for (uint32_t i = 0; i < f.input_count; ++i) {
    // Without the Casts in front of it.
    if (f.inputs[i].given()) inputs[i] = {f.core_type.dtype, f.inputs[i].shape(ctx)};
  }
  return has_shape_of_output(ctx, f.core, {f.attrs, f.attrs_size}, inputs, f.input_count);
}

bool fits(const KernelContext& ctx, Op core, const IntFused& f) {
  if (f.step == Op::kIntAdd && !(ctx.required(static_cast<size_t>(f.operands[0])).shape == ctx.out(0)->shape))
    return false;
  if (!f.varies) return true;
  TensorType inputs[kMaxCoreInputs];
  for (size_t i = 0; i < 3; ++i) inputs[i] = ctx.required(i);
  if (f.bias >= 0) inputs[3] = ctx.required(static_cast<size_t>(f.bias));
  return has_shape_of_output(ctx, core, {f.attrs, f.attrs_size}, inputs, f.bias >= 0 ? 4 : 3);
}

}  // namespace vireo::cpu
