#include "c_api/src/node_cost.h"

#include <algorithm>

#include "runtime/place/work.h"

namespace vireo {
namespace {

// Steps stand in the order of what is told of them, and what is told of a step's bodies comes behind the step's own.
const Step* find_step(const Frame& frame, uint32_t info, const Frame** in) {
  const Step* const end = frame.steps + frame.step_count;
  const Step* const behind = std::upper_bound<const Step*>(
      frame.steps, end, info, [](uint32_t wanted, const Step& s) { return wanted < s.info; });
  if (behind == frame.steps) return nullptr;
  const Step& step = behind[-1];
  *in = &frame;
  if (info - step.info < step.nodes) return &step;
  for (const Frame* body : step.bodies) {
    const Step* const found = body != nullptr && step.kind != Step::kPart ? find_step(*body, info, in) : nullptr;
    if (found != nullptr) return found;
  }
  return nullptr;
}

uint64_t count_of(const TensorType& type) {
  const int64_t n = element_count(type.shape);
  return n > 0 ? static_cast<uint64_t>(n) : 0;
}

// Of one node of `graph` at its declared shapes; where the result's is open, `whole` stands for it.
uint64_t declared_operations(const fb::Subgraph& graph, const fb::Node& node, const TensorType& whole) {
  const Op op = static_cast<Op>(node.op());
  const uint32_t b = second_operand(op);
  if (node.inputs()->size() <= b || node.outputs()->size() == 0 || node.inputs()->Get(0) < 0 ||
      node.inputs()->Get(b) < 0 || node.outputs()->Get(0) < 0)
    return 0;
  const auto type = [&graph](int32_t t) { return type_of(*graph.tensors()->Get(static_cast<uint32_t>(t))); };
  const TensorType y = type(node.outputs()->Get(0));
  return 2 * product_terms(op, type(node.inputs()->Get(0)).shape, type(node.inputs()->Get(b)).shape) *
         count_of(y.shape.is_static() ? y : whole);
}

// What a composite's body adds: its own constants, and its products. Its other tensors are not there while a device
// runs it whole.
void add_body(const Program& program, const fb::Node& node, const TensorType& whole, NodeCost* cost) {
  const fb::Subgraph& body = program.subgraph(node.subgraphs()->Get(0));
  for (const fb::Tensor* t : *body.tensors()) {
    if (t->segment() >= 0) cost->bytes += t->size();
  }
  for (const fb::Node* n : *body.nodes()) cost->operations += declared_operations(body, *n, whole);
}

// Of a node in a part, whose values may not be here: at the declared shapes, what is open being 1.
NodeCost declared_cost(const Program& program, const fb::Subgraph& graph, const fb::Node& node) {
  NodeCost cost;
  for (const auto* list : {node.inputs(), node.outputs()}) {
    for (const int32_t t : *list) {
      const int64_t bytes = t < 0 ? 0 : tensor_bytes(type_of(*graph.tensors()->Get(static_cast<uint32_t>(t))));
      cost.bytes += bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
    }
  }
  if (static_cast<Op>(node.op()) == Op::kComposite) {
    add_body(program, node, TensorType{}, &cost);
  } else {
    cost.operations = declared_operations(graph, node, TensorType{});
  }
  return cost;
}

}  // namespace

NodeCost node_cost(const vireo_session& session, uint32_t index) {
  NodeCost cost;
  const Frame* frame = nullptr;
  const Step* const step = find_step(session.main, index, &frame);
  if (step == nullptr || step->kind != Step::kPart) return cost;
  if (step->away.device != nullptr)
    return declared_cost(session.model->program, *frame->graph, *session.nodes.infos[index].node);
  for (uint32_t i = 0; i < uint32_t{step->input_count} + step->output_count; ++i) {
    const int64_t bytes = step->args[i] == nullptr ? 0 : tensor_bytes(*step->args[i]);
    cost.bytes += bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
  }
  const auto sums = [&](Op op, const TensorType& a, const TensorType& b, const TensorType& y) {
    cost.operations += 2 * product_terms(op, a.shape, b.shape) * count_of(y);
  };
  const fb::Node& node = *session.nodes.infos[index].node;
  const Op op = static_cast<Op>(node.op());
  const Tensor* const first = step->output_count == 0 ? nullptr : step->args[step->input_count];
  if (first == nullptr) return cost;
  if (op != Op::kComposite) {
    const uint32_t b = second_operand(op);
    if (step->input_count > b && step->args[0] != nullptr && step->args[b] != nullptr)
      sums(op, *step->args[0], *step->args[b], *first);
    return cost;
  }
  add_body(session.model->program, node, *first, &cost);
  return cost;
}

}  // namespace vireo
