// If, Loop and Scan. A body becomes a graph of its own; what it uses from outside is handed in behind the operator's
// own inputs (sdk/ops/control/control.fbs states the calling convention). An If whose condition is known here is
// replaced by the branch that is taken.
#include <algorithm>
#include <utility>

#include "converter/onnx/importer.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::importer {

::onnx::GraphProto* graph_attribute(::onnx::NodeProto& node, const char* name) {
  for (auto& a : *node.mutable_attribute()) {
    if (a.name() == name && a.has_g()) return a.mutable_g();
  }
  return nullptr;
}

int known_bool(ir::ConstantFinder& finder, const ir::Value* v) {
  std::vector<Dim> elements;
  if (!ir::known_elements(v, &finder, &elements) || elements.size() != 1 || is_symbolic(elements[0])) return -1;
  return elements[0] != 0 ? 1 : 0;
}

namespace {

std::vector<int64_t> ints_attribute(const ::onnx::NodeProto& node, const Scope& scope, const char* name) {
  const ::onnx::AttributeProto* a = find_attribute(node, scope, name);
  if (a == nullptr) return {};
  return {a->ints().begin(), a->ints().end()};
}

bool makes_bundles(const ::onnx::GraphProto& g) {
  return std::any_of(g.output().begin(), g.output().end(), [](const ::onnx::ValueInfoProto& info) {
    return info.type().has_sequence_type() || info.type().has_optional_type();
  });
}

bool makes_text(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes()) {
    const RefKernel* kernel = find_ref(n.op);
    const ir::Value* y = n.outputs.empty() ? nullptr : n.outputs[0];
    if (kernel != nullptr && kernel->text_bytes != nullptr && y != nullptr && y->type.dtype == DType::kString)
      return true;
    for (const auto& body : n.bodies) {
      if (makes_text(*body)) return true;
    }
  }
  return false;
}

// A node writes the text that it makes where its last run wrote (sdk/ops/shared/text.h): strings must not outlive
// their trip.
bool keeps_text(const ir::Graph& body) {
  const auto& outputs = body.outputs();
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const ir::Value* v) { return v->type.dtype == DType::kString; }) &&
         makes_text(body);
}
constexpr const char* kKeepsText = "makes strings and hands strings on to the next trip or out of it";
constexpr const char* kKeepsTextHelp = "make the strings before or after it, as one tensor";

bool is_scalar(const TensorType& t, DType dtype) {
  return t.dtype == dtype && (t.shape.rank == 0 || (t.shape.rank == 1 && t.shape[0] == 1));
}

// Slices of packed types start inside a byte: they are cut out and stacked as whole bytes that hold the same values.
DType whole_bytes(DType t) {
  if (dtype_bits(t) >= 8) return t;
  return dtype_is_float(t) ? DType::kF32 : dtype_is_signed(t) ? DType::kI8 : DType::kU8;
}

// `v` as type `to`; `v` itself where it is of that type.
ir::Value* cast_to(ir::Graph& g, ir::Value* v, DType to, ir::Node* before = nullptr) {
  if (v->type.dtype == to) return v;
  attrs::CastT a;
  a.to = static_cast<uint8_t>(to);
  ir::Node* n = g.add_node(Op::kCast, pack<attrs::Cast>(a), {v}, 1, before);
  n->outputs[0]->type = {to, v->type.shape};
  return n->outputs[0];
}

// Input `i` of a body comes as whole bytes.
void take_whole_bytes(ir::Graph& body, size_t i) {
  ir::Value* v = body.inputs()[i];
  const DType packed = v->type.dtype, whole = whole_bytes(packed);
  if (whole == packed) return;
  v->type.dtype = whole;
  ir::Value* inner = cast_to(body, v, packed, body.nodes().empty() ? nullptr : &body.nodes().front());
  body.replace_uses(v, inner);
  body.set_input(inner->producer, 0, v);
}

// The type of `length` slices, a body's output each, stacked along a new axis 0. False: `message` tells why not.
bool stack_slices(const ir::DimTable& dims, const TensorType& slice, Dim length, TensorType* out,
                  std::string* message) {
  if (slice.shape.rank == kMaxRank) {
    *message = "a scanned output would have more than 8 dimensions";
    return false;
  }
  *out = {whole_bytes(slice.dtype), {}};
  out->shape.rank = slice.shape.rank + 1;
  out->shape[0] = length;
  for (int d = 0; d < slice.shape.rank; ++d) out->shape[d + 1] = slice.shape[d];
  return ir::check_type(dims, *out, message);
}

// Output `o` of a body leaves it as whole bytes.
void give_whole_bytes(ir::Graph& body, size_t o) {
  ir::Value* v = body.outputs()[o];
  body.set_output(o, cast_to(body, v, whole_bytes(v->type.dtype)));
}

}  // namespace

struct Importer::Body {
  std::unique_ptr<ir::Graph> graph;
  std::vector<ir::Value*> outer;  // what the captured inputs are outside, in the order of the graph's further inputs
};

bool Importer::import_body(Scope& scope, const ::onnx::NodeProto& node, ::onnx::GraphProto& proto,
                           const std::vector<TensorType>& inputs, Body* body) {
  if (body->graph != nullptr) {  // its values go now
    finder_.forget();
    forget_lifted(*body->graph);
  }
  body->graph = std::make_unique<ir::Graph>(dims_);
  body->graph->name = proto.name();
  body->outer.clear();
  if (scope.depth >= 32) {
    record(&node, &scope, Code::kBadNode, "control flow is nested more than 32 deep");
    return false;
  }
  Scope inner;
  inner.graph = body->graph.get();
  inner.outer = &scope;
  inner.opsets = scope.opsets;
  inner.arguments = scope.arguments;
  inner.prefix = node_name(node, &scope) + "/";
  inner.depth = scope.depth + 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = proto.input(static_cast<int>(i)).name();
    inner.names[name] = body->graph->add_input(name, inputs[i]);
  }
  const size_t errors = diagnostics_->error_count();
  add_initializers(inner, proto);
  import_nodes(inner, *proto.mutable_node(), result_names(proto));
  for (const auto& info : proto.output()) {
    ir::Value* v = lookup(inner, info.name());
    if (v == nullptr) {
      record(&node, &scope, Code::kMissingValue,
             "nothing makes the output \"" + info.name() + "\" of its body \"" + proto.name() + "\"");
    }
    if (v == nullptr || v == &poison_) return false;
    if (const WideTensor* w = wides_.find(v)) {
      wides_.refuse(scope, node, "the output \"" + info.name() + "\" of its body", *w);
      return false;
    }
    if (bundle(v) != nullptr) {
      record(&node, &scope, Code::kUnsupportedNode,
             "the output \"" + info.name() + "\" of its body is " + kind(*bundle(v)) + ", and is not declared as one",
             bundle(v)->map ? "control flow hands on no maps: make tensors of them inside"
                            : "declare the type of the body's output");
      return false;
    }
    body->graph->add_output(v, info.name());
  }
  for (const auto& [outer, value] : inner.captured) body->outer.push_back(outer);
  return diagnostics_->error_count() == errors;
}

// ---- If ----

bool Importer::inline_graph(Scope& scope, const ::onnx::NodeProto& node, ::onnx::GraphProto& body,
                            const std::string& prefix, const std::vector<ir::Value*>& inputs,
                            std::vector<ir::Value*>* outputs) {
  if (scope.depth >= 64) {
    record(&node, &scope, Code::kBadNode, "control flow is nested more than 64 deep");
    return false;
  }
  Scope inner;
  inner.graph = scope.graph;
  inner.outer = &scope;
  inner.opsets = scope.opsets;
  inner.arguments = scope.arguments;
  inner.prefix = prefix;
  inner.depth = scope.depth + 1;
  for (size_t i = 0; i < inputs.size(); ++i) inner.names[body.input(static_cast<int>(i)).name()] = inputs[i];
  add_initializers(inner, body);
  import_nodes(inner, *body.mutable_node(), result_names(body));
  outputs->clear();
  for (const auto& output : body.output()) {
    ir::Value* v = lookup(inner, output.name());
    if (v == nullptr) {
      record(&node, &scope, Code::kMissingValue, "nothing makes the output \"" + output.name() + "\" of its branch");
      v = &poison_;
    }
    outputs->push_back(v);
  }
  return true;
}

bool Importer::inline_branch(Scope& scope, ::onnx::NodeProto& node, ::onnx::GraphProto& branch) {
  std::vector<ir::Value*> outputs;
  if (!inline_graph(scope, node, branch, scope.prefix, {}, &outputs)) return false;
  for (int i = 0; i < node.output_size(); ++i) bind(scope, node, node.output(i), outputs[static_cast<size_t>(i)]);
  return true;
}

// How exporters write x.squeeze(axis) when they do not know the extent: if it equals 1 Squeeze(x, axis), else x. The
// index of the branch that squeezes; -1: something else.
int Importer::squeezing_branch(const ir::Value& cond, Scope& scope, ::onnx::GraphProto* const branches[2],
                               Dim* squeezed) {
  const ir::Node* equal = cond.producer;
  if (equal != nullptr && equal->op == Op::kCast) equal = equal->in(0)->producer;
  if (equal == nullptr || equal->op != Op::kEqual) return -1;
  // One side is an extent, the other the constant 1.
  Dim& extent = *squeezed = 1;
  for (int i = 0; i < 2; ++i) {
    const ir::Value* v = equal->in(i);
    const ir::ConstantPtr c = finder_.find(v);
    if (c != nullptr && c->tensor.type.dtype == DType::kI64 && c->tensor.count() == 1) {
      if (*c->tensor.as<int64_t>() != 1) return -1;
    } else if (v->contents && v->contents->size() == 1) {
      extent = (*v->contents)[0];
    }
  }
  if (!is_symbolic(extent)) return -1;
  for (int s = 0; s < 2; ++s) {
    // One Squeeze of a value from outside, by constant axes...
    const ::onnx::NodeProto* squeeze = nullptr;
    for (const auto& n : branches[s]->node()) {
      if (n.op_type() == "Constant") continue;
      if (n.op_type() != "Squeeze" || squeeze != nullptr || n.input_size() == 0) return -1;
      squeeze = &n;
    }
    const ::onnx::GraphProto& rest = *branches[1 - s];
    if (squeeze == nullptr) continue;
    // ... and the same value as it is.
    const bool identity = rest.node_size() == 1 && rest.node(0).op_type() == "Identity" &&
                          rest.node(0).input_size() == 1 && rest.node(0).output_size() == 1 &&
                          rest.node(0).output(0) == rest.output(0).name();
    const std::string& same = identity ? rest.node(0).input(0) : rest.output(0).name();
    const ir::Value* x = lookup(scope, squeeze->input(0));
    if ((!identity && rest.node_size() != 0) || same != squeeze->input(0) || x == nullptr) return -1;
    const Shape& shape = x->type.shape;
    return std::find(shape.dims, shape.dims + shape.rank, extent) == shape.dims + shape.rank ? -1 : s;
  }
  return -1;
}

void Importer::import_if(Scope& scope, ::onnx::NodeProto& node) {
  ::onnx::GraphProto* branches[2] = {graph_attribute(node, "then_branch"), graph_attribute(node, "else_branch")};
  ir::Value* cond = node.input_size() == 1 ? lookup(scope, node.input(0)) : nullptr;
  const int count = node.output_size();
  const auto refuse = [&](const std::string& wrong) {
    record(&node, &scope, Code::kBadNode, wrong);
    bind_failed(scope, node);
  };
  if (cond == nullptr || cond->type.dtype != DType::kBool) return refuse("wants one bool as its condition");
  if (branches[0] == nullptr || branches[1] == nullptr) return refuse("wants a then_branch and an else_branch");
  if (branches[0]->output_size() != count || branches[1]->output_size() != count) {
    return refuse("has " + std::to_string(count) + " outputs, its branches have " +
                  std::to_string(branches[0]->output_size()) + " and " + std::to_string(branches[1]->output_size()));
  }
  const int taken = known_bool(finder_, cond);
  if (taken >= 0) {
    if (!inline_branch(scope, node, *branches[taken == 1 ? 0 : 1])) bind_failed(scope, node);
    return;
  }
  if (makes_bundles(*branches[0]) || makes_bundles(*branches[1])) return choose_branch(scope, node, cond, branches);
  Dim extent = 1;
  const int squeezes = count == 1 ? squeezing_branch(*cond, scope, branches, &extent) : -1;
  if (squeezes >= 0) {
    const bool one = guess_ != Guess::kNoneOnes;
    assume_extents(node, scope, {extent}, one,
                   std::string("drops an extent if it is 1: it is taken to be ") + (one ? "1" : "larger and stays"),
                   shape_advice(scope, cond));
    if (!inline_branch(scope, node, *branches[one ? squeezes : 1 - squeezes])) bind_failed(scope, node);
    return;
  }
  Body bodies[2];
  const bool both[2] = {import_body(scope, node, *branches[0], {}, &bodies[0]),
                        import_body(scope, node, *branches[1], {}, &bodies[1])};
  if (!both[0] || !both[1]) return bind_failed(scope, node);

  // Both branches get the same further inputs in the same order.
  std::vector<ir::Value*> inputs{cond};
  for (const Body& b : bodies) {
    for (ir::Value* v : b.outer) {
      if (std::find(inputs.begin() + 1, inputs.end(), v) == inputs.end()) inputs.push_back(v);
    }
  }
  for (Body& b : bodies) {
    const std::vector<ir::Value*> own = b.graph->inputs();
    std::vector<ir::Value*> ordered;
    for (size_t i = 1; i < inputs.size(); ++i) {
      const auto at = std::find(b.outer.begin(), b.outer.end(), inputs[i]);
      ordered.push_back(at != b.outer.end() ? own[static_cast<size_t>(at - b.outer.begin())]
                                            : b.graph->add_input(inputs[i]->name, inputs[i]->type));
    }
    b.graph->order_inputs(std::move(ordered));
  }
  std::vector<TensorType> types;
  std::map<int, Diagnostic> lifted;
  for (int i = 0; i < count; ++i) {
    Diagnostic differ;
    differ.code = Code::kBranchMismatch;
    differ.op = node.op_type();
    differ.node = node_name(node, &scope);
    {
      const TensorType& a = bodies[0].graph->outputs()[static_cast<size_t>(i)]->type;
      const TensorType& b = bodies[1].graph->outputs()[static_cast<size_t>(i)]->type;
      differ.what = "output " + std::to_string(i) + " is " + dtype_name(a.dtype) + dims_->text(a.shape) +
                    " in one branch and " + dtype_name(b.dtype) + dims_->text(b.shape) +
                    " in the other, and which is taken is not known here";
    }
    if (bodies[0].graph->outputs()[static_cast<size_t>(i)]->type.shape.rank !=
        bodies[1].graph->outputs()[static_cast<size_t>(i)]->type.shape.rank)
      describe(node, scope, &differ);
    const bool lifts = lift_rank(bodies[0].graph.get(), bodies[1].graph.get(), static_cast<size_t>(i));
    const TensorType a = bodies[0].graph->outputs()[static_cast<size_t>(i)]->type;
    const TensorType b = bodies[1].graph->outputs()[static_cast<size_t>(i)]->type;
    const bool mismatch = a.dtype != b.dtype || a.shape.rank != b.shape.rank;
    if (lifts || mismatch) differ.help = shape_advice(scope, cond);  // walks the graph
    if (lifts) lifted[i] = differ;
    if (mismatch) {
      if (a.shape.rank == b.shape.rank) describe(node, scope, &differ);
      diagnostics_->add(std::move(differ));
      return bind_failed(scope, node);
    }
    TensorType t = a;
    for (int d = 0; d < t.shape.rank; ++d) {
      if (a.shape[d] != b.shape[d]) {
        t.shape[d] = dims_->fresh_bounded(node_name(node, &scope) + ".size", dims_->max(a.shape[d], b.shape[d]));
      }
    }
    types.push_back(t);
  }
  ir::Node* n = scope.graph->add_node(Op::kIf, pack<attrs::If>(attrs::IfT{}), std::move(inputs), types.size());
  n->name = node_name(node, &scope);
  for (Body& b : bodies) n->bodies.push_back(std::move(b.graph));
  for (size_t i = 0; i < types.size(); ++i) {
    n->outputs[i]->type = types[i];
    bind(scope, node, node.output(static_cast<int>(i)), n->outputs[i]);
  }
  for (auto& [i, differ] : lifted) lifted_[n->outputs[static_cast<size_t>(i)]] = std::move(differ);
}

// ---- Loop ----

void Importer::import_loop(Scope& scope, ::onnx::NodeProto& node) {
  ::onnx::GraphProto* proto = graph_attribute(node, "body");
  const int carried = node.input_size() - 2;
  const int outputs = node.output_size();
  const auto refuse = [&](Code code, const std::string& what, const std::string& help) {
    record(&node, &scope, code, what, help);
    bind_failed(scope, node);
  };
  if (proto == nullptr || carried < 0 || proto->input_size() != carried + 2 || proto->output_size() < carried + 1 ||
      outputs > proto->output_size() - 1) {
    return refuse(Code::kBadNode,
                  "its body's inputs must be (iteration, condition, states...) and its outputs (condition, states..., "
                  "scanned...), as many as the node has",
                  "");
  }
  ir::Value* trips = node.input(0).empty() ? nullptr : lookup(scope, node.input(0));
  ir::Value* cond = node.input(1).empty() ? nullptr : lookup(scope, node.input(1));
  if ((trips != nullptr && !is_scalar(trips->type, DType::kI64)) ||
      (cond != nullptr && !is_scalar(cond->type, DType::kBool))) {
    return refuse(Code::kBadNode, "wants an int64 scalar as trip count and a bool scalar as condition", "");
  }
  std::vector<ir::Value*> states;
  std::vector<TensorType> types{{DType::kI64, {}}, {DType::kBool, {}}};
  for (int i = 0; i < carried; ++i) {
    const std::string& name = node.input(i + 2);
    if (name.empty()) return refuse(Code::kBadNode, "its state " + std::to_string(i) + " has no initial value", "");
    states.push_back(lookup(scope, name));
    if (bundle(states.back()) != nullptr) return unroll_loop(scope, node, *proto);
    types.push_back(states.back()->type);
  }
  if (makes_bundles(*proto)) return unroll_loop(scope, node, *proto);
  const std::vector<TensorType> initial = types;
  const std::string base = node_name(node, &scope);

  // The most trips; a number that large means "until the condition says so".
  std::vector<Dim> elements;
  bool counted = ir::known_elements(trips, &finder_, &elements) && elements.size() == 1;
  if (counted && !is_symbolic(elements[0]) && elements[0] > INT32_MAX) counted = false;
  const Dim most = counted ? dims_->max(elements[0], 0) : 0;

  // A state may change its shape from trip to trip: dimensions that the body does not keep become symbols, until the
  // body fits itself. Each round widens at least one dimension, so this ends.
  Body body;
  std::map<std::pair<int, int>, bool> widened;  // (state, dimension) -> its symbol has its final bound
  for (bool again = true; again;) {
    again = false;
    if (!import_body(scope, node, *proto, types, &body)) return bind_failed(scope, node);
    for (int i = 0; i < carried; ++i) {
      const TensorType& in = types[static_cast<size_t>(i) + 2];
      const TensorType& out = body.graph->outputs()[static_cast<size_t>(i) + 1]->type;
      if (in.dtype != out.dtype || in.shape.rank != out.shape.rank) {
        return refuse(Code::kBranchMismatch,
                      "state " + std::to_string(i) + " goes into a trip as " + dtype_name(in.dtype) +
                          dims_->text(in.shape) + " and comes out as " + dtype_name(out.dtype) + dims_->text(out.shape),
                      "type and rank of a loop's state must not change");
      }
      for (int d = 0; d < in.shape.rank; ++d) {
        if (in.shape[d] == out.shape[d] || widened.count({i, d}) != 0) continue;
        widened[{i, d}] = false;
        types[static_cast<size_t>(i) + 2].shape[d] = dims_->fresh(base + ".state" + std::to_string(i) + ".size");
        again = true;
      }
    }
    if (again || !counted) continue;
    // A dimension that grows by the same amount each trip is bounded by the trip count.
    for (auto& [key, final] : widened) {
      if (final) continue;
      final = true;
      const auto [i, d] = key;
      const size_t state = static_cast<size_t>(i) + 2;
      const Dim grows = dims_->sub(body.graph->outputs()[state - 1]->type.shape[d], types[state].shape[d]);
      uint32_t symbol = 0;
      if (!dims_->is_symbol(types[state].shape[d], &symbol)) continue;
      bool depends = false;  // on the widened symbol itself, or on what is made inside
      for (const auto& [m, c] : dims_->polynomial(grows)) {
        for (const uint32_t atom : m) depends = depends || atom >= symbol;
      }
      if (depends) continue;
      const Dim start = initial[state].shape[d];
      const Dim end = dims_->add(start, dims_->mul(most, dims_->max(grows, 0)));
      types[state].shape[d] = dims_->fresh_bounded(base + ".state" + std::to_string(i) + ".size", end);
      again = true;
    }
  }

  if (keeps_text(*body.graph)) return refuse(Code::kUnsupportedNode, kKeepsText, kKeepsTextHelp);

  // Exact when nothing can end the loop early.
  const ir::Value* cond_out = body.graph->outputs()[0];
  while (cond_out->producer != nullptr && cond_out->producer->op == Op::kIdentity) cond_out = cond_out->producer->in(0);
  const bool steady = (cond == nullptr || known_bool(finder_, cond) == 1) &&
                      (cond_out == body.graph->inputs()[1] || known_bool(finder_, cond_out) == 1);
  const Dim count = !counted ? dims_->fresh(base + ".trips")
                    : steady ? most
                             : dims_->fresh_bounded(base + ".trips", most);
  const Interval range = dims_->interval(count);
  attrs::LoopT a;
  a.carried = static_cast<uint32_t>(carried);
  a.scanned = static_cast<uint32_t>(proto->output_size() - 1 - carried);
  a.max_trips = range.open() ? -1 : range.hi;

  std::vector<ir::Value*> inputs{trips, cond};
  inputs.insert(inputs.end(), states.begin(), states.end());
  inputs.insert(inputs.end(), body.outer.begin(), body.outer.end());
  std::vector<TensorType> results;
  std::string message;
  for (int i = 0; i < proto->output_size() - 1; ++i) {
    const TensorType& out = body.graph->outputs()[static_cast<size_t>(i) + 1]->type;
    if (i < carried) {
      results.push_back(types[static_cast<size_t>(i) + 2]);
      continue;
    }
    if (!stack_slices(*dims_, out, count, &results.emplace_back(), &message))
      return refuse(Code::kUnsupportedNode, message, "");
  }
  std::vector<DType> packed;  // of the results
  for (size_t i = 0; i < results.size(); ++i) {
    packed.push_back(body.graph->outputs()[i + 1]->type.dtype);
    if (static_cast<int>(i) >= carried) give_whole_bytes(*body.graph, i + 1);
  }
  ir::Node* n = scope.graph->add_node(Op::kLoop, pack<attrs::Loop>(a), std::move(inputs), results.size());
  n->name = base;
  n->bodies.push_back(std::move(body.graph));
  for (size_t i = 0; i < results.size(); ++i) {
    n->outputs[i]->type = results[i];
    if (static_cast<int>(i) >= outputs) continue;
    bind(scope, node, node.output(static_cast<int>(i)), cast_to(*scope.graph, n->outputs[i], packed[i]));
  }
}

// ---- Scan ----

// `v` with its axis `from` at `to`: a Scan in the graph slices and stacks along axis 0 alone.
ir::Value* Importer::move_axis(Scope& scope, const ::onnx::NodeProto& node, ir::Value* v, int from, int to) {
  if (from == to) return v;
  attrs::TransposeT a;
  for (int i = 0; i < v->type.shape.rank; ++i) {
    if (i != from) a.perm.push_back(i);
  }
  a.perm.insert(a.perm.begin() + to, from);
  ir::Node* n = scope.graph->add_node(Op::kTranspose, pack<attrs::Transpose>(a), {v}, 1);
  n->name = node_name(node, &scope);
  std::string message;
  if (!ok(ir::infer_node(*scope.graph, n, &finder_, &message))) record(&node, &scope, Code::kBadNode, message);
  return n->outputs[0];
}

void Importer::import_scan(Scope& scope, ::onnx::NodeProto& node) {
  const auto refuse = [&](Code code, const std::string& what, const std::string& help) {
    record(&node, &scope, code, what, help);
    bind_failed(scope, node);
  };
  if (scope.opsets[""] < 9 && !without_batch_axis(scope, node)) return bind_failed(scope, node);
  ::onnx::GraphProto* proto = graph_attribute(node, "body");
  const ::onnx::AttributeProto* number = find_attribute(node, scope, "num_scan_inputs");
  const int scanned = number == nullptr ? 0 : static_cast<int>(std::min<int64_t>(number->i(), INT32_MAX));
  const int carried = node.input_size() - scanned;
  if (proto == nullptr || scanned < 1 || carried < 0 || proto->input_size() != node.input_size() ||
      proto->output_size() < carried || node.output_size() > proto->output_size()) {
    return refuse(
        Code::kBadNode,
        "its body's inputs must be (states..., slices...) and its outputs (states..., scanned...), as many as "
        "the node has, with at least one scanned input",
        "");
  }
  const int made = proto->output_size() - carried;
  const std::vector<int64_t> in_axes = ints_attribute(node, scope, "scan_input_axes");
  const std::vector<int64_t> in_reverse = ints_attribute(node, scope, "scan_input_directions");
  const std::vector<int64_t> out_axes = ints_attribute(node, scope, "scan_output_axes");
  const std::vector<int64_t> out_reverse = ints_attribute(node, scope, "scan_output_directions");
  const auto fits = [](const std::vector<int64_t>& list, int n) {
    return list.empty() || list.size() == static_cast<size_t>(n);
  };
  if (!fits(in_axes, scanned) || !fits(in_reverse, scanned) || !fits(out_axes, made) || !fits(out_reverse, made)) {
    return refuse(Code::kBadNode, "its axes and directions must be one for each scanned input or output", "");
  }
  attrs::ScanT a;
  a.carried = static_cast<uint32_t>(carried);
  a.scanned_in = static_cast<uint32_t>(scanned);
  std::vector<TensorType> types;
  std::vector<ir::Value*> inputs;
  Dim length = 0;
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) return refuse(Code::kBadNode, "its input " + std::to_string(i) + " is missing", "");
    ir::Value* v = lookup(scope, node.input(i));
    if (bundle(v) != nullptr)
      return refuse(Code::kUnsupportedNode, "its input \"" + node.input(i) + "\" is " + kind(*bundle(v)), "");
    inputs.push_back(v);
    TensorType t = v->type;
    if (i >= carried) {
      const size_t k = static_cast<size_t>(i - carried);
      const int axis = normalize_axis(in_axes.empty() ? 0 : in_axes[k], t.shape.rank);
      if (axis < 0)
        return refuse(Code::kBadNode, "the axis of scanned input " + std::to_string(k) + " is outside its rank", "");
      const Dim d = t.shape[axis];
      if (k == 0 || is_symbolic(length)) {
        length = d;
      } else if (d != length && !is_symbolic(d)) {
        return refuse(Code::kBadNode,
                      "scanned inputs have different lengths: " + dims_->text(length) + " and " + dims_->text(d), "");
      }
      for (int j = axis; j + 1 < t.shape.rank; ++j) t.shape[j] = t.shape[j + 1];
      --t.shape.rank;
      inputs.back() = move_axis(scope, node, cast_to(*scope.graph, v, whole_bytes(t.dtype)), axis, 0);
      a.in_axes.push_back(0);
      a.in_reverse.push_back(!in_reverse.empty() && in_reverse[k] != 0);
    }
    types.push_back(t);
  }
  Body body;
  if (!import_body(scope, node, *proto, types, &body)) return bind_failed(scope, node);
  if (keeps_text(*body.graph)) return refuse(Code::kUnsupportedNode, kKeepsText, kKeepsTextHelp);
  for (size_t i = static_cast<size_t>(carried); i < types.size(); ++i) take_whole_bytes(*body.graph, i);
  std::vector<TensorType> results;
  std::vector<int> made_axes;
  std::vector<DType> packed;  // of the results
  for (int i = 0; i < proto->output_size(); ++i) {
    const TensorType& t = body.graph->outputs()[static_cast<size_t>(i)]->type;
    packed.push_back(t.dtype);
    if (i < carried) {
      const TensorType& in = types[static_cast<size_t>(i)];
      bool same = in.dtype == t.dtype && in.shape.rank == t.shape.rank;
      for (int d = 0; same && d < t.shape.rank; ++d)
        same = in.shape[d] == t.shape[d] || is_symbolic(in.shape[d]) || is_symbolic(t.shape[d]);
      if (!same) {
        return refuse(Code::kBranchMismatch,
                      "state " + std::to_string(i) + " goes into a step as " + dtype_name(in.dtype) +
                          dims_->text(in.shape) + " and comes out as " + dtype_name(t.dtype) + dims_->text(t.shape),
                      "type and shape of a scan's state must not change");
      }
      results.push_back(in);
      continue;
    }
    const size_t k = static_cast<size_t>(i - carried);
    std::string message;
    if (!stack_slices(*dims_, t, length, &results.emplace_back(), &message))
      return refuse(Code::kUnsupportedNode, message, "");
    const int axis = normalize_axis(out_axes.empty() ? 0 : out_axes[k], t.shape.rank + 1);
    if (axis < 0)
      return refuse(Code::kBadNode, "the axis of scanned output " + std::to_string(k) + " is outside its rank", "");
    give_whole_bytes(*body.graph, static_cast<size_t>(i));
    made_axes.push_back(axis);
    a.out_axes.push_back(0);
    a.out_reverse.push_back(!out_reverse.empty() && out_reverse[k] != 0);
  }
  inputs.insert(inputs.end(), body.outer.begin(), body.outer.end());
  ir::Node* n = scope.graph->add_node(Op::kScan, pack<attrs::Scan>(a), std::move(inputs), results.size());
  n->name = node_name(node, &scope);
  n->bodies.push_back(std::move(body.graph));
  for (size_t i = 0; i < results.size(); ++i) {
    ir::Value* v = n->outputs[i];
    v->type = results[i];
    if (static_cast<int>(i) >= node.output_size()) continue;
    if (static_cast<int>(i) >= carried) v = move_axis(scope, node, v, 0, made_axes[i - static_cast<size_t>(carried)]);
    bind(scope, node, node.output(static_cast<int>(i)), cast_to(*scope.graph, v, packed[i]));
  }
}

}  // namespace vireo::importer
