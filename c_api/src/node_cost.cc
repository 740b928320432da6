#include "c_api/src/node_cost.h"

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

// Terms of one element's sum, from the operands' shapes; 0 for what is neither product nor convolution. Symbolic
// extents stand for 1.
uint64_t terms(Op op, const TensorType& a, const TensorType& b) {
  const auto extent = [](const TensorType& t, int axis) {
    const int at = axis < 0 ? t.shape.rank + axis : axis;
    return at < 0 || at >= t.shape.rank || t.shape[at] < 1 ? uint64_t{1} : static_cast<uint64_t>(t.shape[at]);
  };
  switch (op) {
    case Op::kConv:
    case Op::kConvInteger:
    case Op::kQLinearConv:
    case Op::kIntConv: {  // weights [O, C / groups, window...]
      uint64_t n = 1;
      for (int i = 1; i < b.shape.rank; ++i) n *= extent(b, i);
      return n;
    }
    case Op::kGemm:  // either operand may be transposed; A mostly is not
      return extent(a, 1) == extent(b, 0) || extent(a, 1) == extent(b, 1) ? extent(a, 1) : extent(a, 0);
    case Op::kMatMul:
    case Op::kMatMulInteger:
    case Op::kQLinearMatMul:
    case Op::kIntGemm:
      return extent(a, -1);
    default:
      return 0;
  }
}

// Where the second operand stands: quantized ones have scale and zero point between.
uint32_t second_operand(Op op) { return op == Op::kQLinearConv || op == Op::kQLinearMatMul ? 3 : 1; }

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
    cost.operations += 2 * terms(op, a, b) * count_of(y);
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
