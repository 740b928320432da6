#include "delegates/xnnpack/part.h"

#include "delegates/xnnpack/probe.h"
#include "delegates/xnnpack/shape_check.h"
#include "sdk/composites/operand.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::xnnpack {
namespace {

constexpr size_t kAlignment = 64;
size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A bias: constant, one value a channel, which lie along the last axis.
bool is_bias(const Value& b, const Value& y) {
  return b.constant != nullptr && b.type.dtype == y.type.dtype &&
         composites::is_one_a_channel(b.type.shape, y.type.shape, -1);
}

bool reads(const Node& n, const Value* v) {
  for (uint32_t i = 0; i < n.input_count; ++i) {
    if (n.inputs[i] == v) return true;
  }
  return false;
}

bool reads_constants_alone(const Node& n) {
  for (uint32_t i = 0; i < n.input_count; ++i) {
    if (n.inputs[i] != nullptr && n.inputs[i]->constant == nullptr) return false;
  }
  return true;
}

// Whether `codes` makes the weights of this product and nothing else: constants become codes that XNNPACK's kernels
// read.
bool takes_codes(const Node& product, const Node& codes) {
  if (product.op != Op::kMatMul && product.op != Op::kGemm) return false;
  const Value* const weights = codes.outputs[0];
  return codes.op == Op::kDequantizeLinear && reads_constants_alone(codes) && weights->readers == 1 &&
         product.in(1) == weights;
}

uint8_t type_bits(DType t) {
  switch (t) {
    case DType::kF32:
      return kFloat32;
    case DType::kF16:
      return kFloat16;
    case DType::kI8:
    case DType::kU8:
      return kBytes | kCodes;
    default:
      return 0;
  }
}

const char* why_not(uint8_t types) {
  if (types == kFloat32) return "not float32";
  return types == (kFloat32 | kFloat16) ? "neither float32 nor float16" : "XNNPACK has it for other types";
}

}  // namespace

bool Value::scalar(float* out) const {
  if (constant == nullptr || element_count(type.shape) != 1) return false;
  if (type.dtype != DType::kF32 && type.dtype != DType::kF16) return false;
  *out = static_cast<float>(read_real(type.dtype, constant, 0));
  return true;
}

Value* Part::value(const GraphReader& graph, int32_t number) {
  for (uint32_t i = 0; i < value_count_; ++i) {
    if (values_[i].number == number) return &values_[i];
  }
  vireo_graph_value info;
  if (value_count_ == kMaxValues || !graph.read_value(number, &info)) return nullptr;
  Value& v = values_[value_count_++];
  v.number = number;
  v.type = type_of(info);
  v.is_static = info.is_static != 0;
  v.constant = info.constant;
  if (v.constant != nullptr) v.place = Place::kConstant;
  varies_ = varies_ || (!v.is_static && v.constant == nullptr);
  return &v;
}

const char* Part::read_nodes(const GraphReader& graph, const vireo_graph_node* nodes, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) {
    const vireo_graph_node& from = nodes[n];
    Node& node = nodes_[node_count_++];
    node.op = static_cast<Op>(from.op);
    node.attrs = from.attrs;
    node.attrs_size = from.attrs_size;
    if (find_rule(node.op) == nullptr) return why_no_rule(node.op);
    if (from.input_count > kMaxArgs || from.output_count > kMaxArgs) return "it has too many inputs or outputs";
    node.input_count = from.input_count;
    node.output_count = from.output_count;
    for (uint32_t i = 0; i < from.input_count; ++i) {
      if (from.inputs[i] < 0) continue;
      node.inputs[i] = value(graph, from.inputs[i]);
      if (node.inputs[i] == nullptr) return "its body has too many values";
      ++node.inputs[i]->readers;
    }
    for (uint32_t o = 0; o < from.output_count; ++o) {
      if (from.outputs[o] < 0) continue;
      node.outputs[o] = value(graph, from.outputs[o]);
      if (node.outputs[o] == nullptr) return "its body has too many values";
    }
    if (node.output_count < 1 || node.outputs[0] == nullptr) return "nobody wants its output";
    for (uint32_t o = 1; o < node.output_count; ++o) {
      if (node.outputs[o] != nullptr) return "XNNPACK gives its first output alone";
    }
  }
  return "";
}

// An input of the graph, an output, or what the host may have left in the place of one. `number` is read by node
// `reader`, so whatever made it stands in front, mostly just in front. Where too much would have to be looked at it may
// be the caller's.
bool Part::may_be_callers(const GraphReader& graph, uint32_t reader, int32_t number) const {
  constexpr uint32_t kMostNodes = 4096, kMostOutputs = 64;
  const uint32_t outputs = graph.output_count();
  if (outputs > kMostOutputs) return true;
  const auto is_output = [&] {
    for (uint32_t o = 0; o < outputs; ++o) {
      if (graph.output(o) == number) return true;
    }
    return false;
  };
  if (is_output()) return true;
  for (uint32_t seen = 0, n = reader; n-- > 0 && seen < kMostNodes; ++seen) {
    vireo_graph_node node;
    if (!graph.read_node(n, &node)) return true;
    bool made = false;
    for (uint32_t o = 0; o < node.output_count; ++o) made = made || node.outputs[o] == number;
    if (!made) continue;
    switch (static_cast<Op>(node.op)) {
      case Op::kReshape:
      case Op::kSqueeze:
      case Op::kUnsqueeze:
      case Op::kFlatten:
      case Op::kIdentity:
      case Op::kSlice:
      case Op::kSplit:
      case Op::kGather:
        if (node.input_count == 0 || node.inputs[0] < 0) return true;
        number = node.inputs[0];  // made further in front
        if (is_output()) return true;
        break;
      case Op::kIf:
      case Op::kLoop:
      case Op::kScan:
        return true;
      default:
        return false;
    }
  }
  return true;
}

const char* Part::check() const {
  for (uint32_t i = 0; i < value_count_; ++i) {
    const Value& v = values_[i];
    const int64_t count = element_count(v.type.shape);
    if (count < 0 || tensor_bytes(v.type) < 0) return "its shapes do not agree";
    if (count == 0 && v.constant == nullptr) return "it has no elements";
  }
  for (uint32_t n = 0; n < node_count_; ++n) {
    const Node& node = nodes_[n];
    if (varies_ && !find_rule(node.op)->reshapes && !reads_constants_alone(node))
      return "its extents change between runs";
    const uint8_t types = find_rule(node.op)->types;
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const Value* const v = node.inputs[i];
      if (v != nullptr && v->constant == nullptr && (type_bits(v->type.dtype) & types) == 0) return why_not(types);
    }
    const DType made = node.outputs[0]->type.dtype;
    if ((type_bits(made) & types) == 0) return why_not(types);
    if (made == DType::kF16 && !kernels().half) return "XNNPACK has no float16 on this CPU";
    if (!shapes_agree(node)) return "its shapes do not agree, or follow from data";
  }
  return "";
}

// Relu, Clip and bias into the step before, where that one alone feeds them; weights' codes into their product.
void Part::fold() {
  bool folded[kMaxNodes] = {};
  const Node* codes[kMaxNodes] = {};
  for (uint32_t n = 0; n < node_count_; ++n) {
    for (uint32_t m = 0; m < n && codes[n] == nullptr; ++m) {
      if (!takes_codes(nodes_[n], nodes_[m])) continue;
      codes[n] = &nodes_[m];
      folded[m] = true;
    }
  }
  for (uint32_t n = 0; n < node_count_; ++n) {
    if (folded[n]) continue;
    Step s;
    s.node = &nodes_[n];
    s.out = nodes_[n].outputs[0];
    s.codes = codes[n];
    const Rule& rule = *find_rule(s.node->op);
    bool biased = rule.biased && s.node->in(2) == nullptr, clamps = rule.clamps;
    for (uint32_t m = n + 1; m < node_count_ && s.out->readers == 1 && (biased || clamps); ++m) {
      const Node& next = nodes_[m];
      if (folded[m] || !reads(next, s.out)) continue;
      float low = -INFINITY, high = INFINITY;
      if (biased && next.op == Op::kAdd && next.input_count == 2) {
        const Value* const other = next.inputs[next.inputs[0] == s.out ? 1 : 0];
        if (other == nullptr || !is_bias(*other, *s.out)) break;
        s.bias = other;
        biased = false;
      } else if (clamps && next.op == Op::kRelu) {
        s.low = 0;
        biased = clamps = false;
      } else if (clamps && next.op == Op::kClip && next.inputs[0] == s.out &&
                 (next.in(1) == nullptr || next.in(1)->scalar(&low)) &&
                 (next.in(2) == nullptr || next.in(2)->scalar(&high)) && low < high) {
        s.low = low;
        s.high = high;
        biased = clamps = false;
      } else {
        break;
      }
      s.out = next.outputs[0];
      folded[m] = true;
    }
    steps_[step_count_++] = s;
  }
}

// Results between the steps lie in scratch, or in the part's output where only elementwise steps follow.
void Part::place() {
  Value* output = nullptr;
  for (uint32_t i = 0; i < value_count_; ++i) {
    if (values_[i].place == Place::kOutput) output = &values_[i];
  }
  for (uint32_t s = 0; s < step_count_; ++s) {
    for (uint32_t i = 0; i < steps_[s].node->input_count; ++i) {
      if (steps_[s].node->inputs[i] != nullptr) steps_[s].node->inputs[i]->last_step = s;
    }
  }
  uint32_t in_place_from = step_count_;  // all steps after it are elementwise
  // Where extents vary, a value that is as large as the output at the bounds may be broadcast at a run.
  while (!varies_ && in_place_from > 0 && find_rule(steps_[in_place_from - 1].node->op)->elementwise) --in_place_from;
  const Value* holder = nullptr;  // of the output's memory
  const auto in_scratch = [&](Value* v) {
    v->place = Place::kScratch;
    v->offset = scratch_bytes_;
    scratch_bytes_ += aligned(v->bytes()) + kAlignment;  // XNNPACK reads a little past the end
  };
  for (uint32_t s = 0; s < step_count_; ++s) {
    Value& v = *steps_[s].out;
    if (find_rule(steps_[s].node->op)->spare) {
      steps_[s].spare.type = v.type;
      in_scratch(&steps_[s].spare);
    }
    if (v.place != Place::kNone) continue;
    const bool follows = s + 1 >= in_place_from && output_count_ == 1 && output != nullptr;
    if (follows && v.bytes() == output->bytes() && (holder == nullptr || holder->last_step <= s)) {
      v.place = Place::kOutput;
      v.index = output->index;
      holder = &v;
      continue;
    }
    in_scratch(&v);
  }
}

bool Part::set_shapes(const vireo_tensor* const* inputs, vireo_tensor* const* outputs, bool* changed) {
  const auto shape_of = [](const vireo_tensor& t) {
    Shape s;
    s.rank = t.rank;
    for (int i = 0; i < t.rank; ++i) s[i] = t.dims[i];
    return s;
  };
  *changed = false;
  for (uint32_t i = 0; i < value_count_; ++i) {
    Value& v = values_[i];
    if (v.place != Place::kInput) continue;
    const Shape now = shape_of(*inputs[v.index]);
    *changed = *changed || !(now == v.type.shape);
    v.type.shape = now;
  }
  for (uint32_t n = 0; n < node_count_ && *changed; ++n) {
    if (!infer_shapes(&nodes_[n])) return false;
  }
  for (uint32_t s = 0; s < step_count_ && *changed; ++s) steps_[s].spare.type = steps_[s].out->type;
  for (uint32_t i = 0; i < value_count_; ++i) {
    const Value& v = values_[i];
    if (v.number >= 0 && v.place == Place::kOutput && !(shape_of(*outputs[v.index]) == v.type.shape)) return false;
  }
  return true;
}

const char* Part::read(const vireo_host& host, const vireo_graph* shown, uint32_t index) {
  const GraphReader graph(host, shown);
  vireo_graph_node node;
  if (!graph.read_node(index, &node)) return "it cannot be read";
  op_ = static_cast<Op>(node.op);
  input_count_ = node.input_count;
  output_count_ = node.output_count;
  if (op_ != Op::kComposite) {
    if (const char* reason = read_nodes(graph, &node, 1); reason[0] != 0) return reason;
    for (uint32_t i = 0; i < node.input_count; ++i) {
      Value* const v = nodes_[0].inputs[i];
      if (v == nullptr || v->place != Place::kNone) continue;
      v->place = Place::kInput;
      v->index = i;
      v->from_caller = may_be_callers(graph, index, v->number);
    }
    nodes_[0].outputs[0]->place = Place::kOutput;
    ++nodes_[0].outputs[0]->readers;
  } else {
    const GraphReader body(host, node.body);
    vireo_graph_node inner[kMaxNodes];
    const uint32_t count = body.node_count();
    if (count == 0 || count > kMaxNodes) return "its body has too many nodes";
    for (uint32_t n = 0; n < count; ++n) {
      if (!body.read_node(n, &inner[n])) return "it cannot be read";
    }
    if (const char* reason = read_nodes(body, inner, count); reason[0] != 0) return reason;
    for (uint32_t i = 0; i < body.input_count() && i < node.input_count; ++i) {
      Value* const v = value(body, body.input(i));
      if (v == nullptr) return "its body has too many values";
      if (v->place != Place::kNone || node.inputs[i] < 0) continue;
      vireo_graph_value outer;
      if (!graph.read_value(node.inputs[i], &outer)) return "it cannot be read";
      v->constant = outer.constant;
      v->place = outer.constant != nullptr ? Place::kConstant : Place::kInput;
      v->index = i;
      v->from_caller = may_be_callers(graph, index, node.inputs[i]);
    }
    for (uint32_t o = 0; o < body.output_count() && o < node.output_count; ++o) {
      Value* const v = value(body, body.output(o));
      if (v == nullptr || v->place != Place::kNone) return "its body gives an input back";
      if (node.outputs[o] < 0) continue;
      v->place = Place::kOutput;
      v->index = o;
      ++v->readers;
    }
  }
  for (uint32_t n = 0; n < node_count_; ++n) {  // what has no place yet must be made by a node
    for (uint32_t i = 0; i < nodes_[n].input_count; ++i) {
      const Value* const v = nodes_[n].inputs[i];
      if (v == nullptr || v->place != Place::kNone) continue;
      bool made = false;
      for (uint32_t m = 0; m < n; ++m) made = made || nodes_[m].outputs[0] == v;
      if (!made) return "its body reads a value from elsewhere";
    }
  }
  if (const char* reason = check(); reason[0] != 0) return reason;
  fold();
  place();
  return "";
}

}  // namespace vireo::xnnpack
