#include "c_api/src/node_cost.h"

#include "runtime/place/work.h"

namespace vireo {
namespace {

const Step* find_step(const Frame& frame, uint32_t info) {
  for (uint32_t i = 0; i < frame.step_count; ++i) {
    const Step& step = frame.steps[i];
    if (step.info == info) return &step;
    for (const Frame* body : step.bodies) {
      const Step* const found = body != nullptr && step.kind != Step::kPart ? find_step(*body, info) : nullptr;
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

uint64_t count_of(const TensorType& type) {
  const int64_t n = element_count(type.shape);
  return n > 0 ? static_cast<uint64_t>(n) : 0;
}

}  // namespace

NodeCost node_cost(const vireo_session& session, uint32_t index) {
  NodeCost cost;
  const Step* const step = find_step(session.main, index);
  if (step == nullptr || step->kind != Step::kPart) return cost;
  for (uint32_t i = 0; i < uint32_t{step->input_count} + step->output_count; ++i) {
    const int64_t bytes = step->args[i] == nullptr ? 0 : tensor_bytes(*step->args[i]);
    cost.bytes += bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
  }
  const auto sums = [&](Op op, const TensorType& a, const TensorType& b, const TensorType& y) {
    cost.operations += 2 * product_terms(op, a.shape, b.shape) * count_of(y);
  };
  const fb::Node& node = *session.infos[index].node;
  const Op op = static_cast<Op>(node.op());
  const Tensor* const first = step->output_count == 0 ? nullptr : step->args[step->input_count];
  if (first == nullptr) return cost;
  if (op != Op::kComposite) {
    const uint32_t b = second_operand(op);
    if (step->input_count > b && step->args[0] != nullptr && step->args[b] != nullptr)
      sums(op, *step->args[0], *step->args[b], *first);
    return cost;
  }
  // The body's own tensors are not there while a device runs the composite whole: their declared shapes, or the
  // composite's first output where those are open.
  const fb::Subgraph& body = session.model->program.subgraph(node.subgraphs()->Get(0));
  for (const fb::Tensor* t : *body.tensors()) {
    if (t->segment() >= 0) cost.bytes += t->size();
  }
  for (const fb::Node* n : *body.nodes()) {
    const Op inner = static_cast<Op>(n->op());
    const uint32_t b = second_operand(inner);
    if (n->inputs()->size() <= b || n->outputs()->size() == 0 || n->inputs()->Get(0) < 0 || n->inputs()->Get(b) < 0 ||
        n->outputs()->Get(0) < 0)
      continue;
    const auto type = [&](int32_t t) { return type_of(*body.tensors()->Get(static_cast<uint32_t>(t))); };
    const TensorType y = type(n->outputs()->Get(0));
    sums(inner, type(n->inputs()->Get(0)), type(n->inputs()->Get(b)), y.shape.is_static() ? y : *first);
  }
  return cost;
}

}  // namespace vireo
