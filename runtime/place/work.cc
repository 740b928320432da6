#include "runtime/place/work.h"

#include "sdk/graph/node_view.h"

namespace vireo {
namespace {

// Of entry `i` of a node's list; kNone for an absent value.
TensorType listed_type(const GraphReader& graph, const int32_t* numbers, uint32_t count, uint32_t i) {
  return i < count ? type_at(graph, numbers[i]) : TensorType{};
}

uint64_t constant_bytes(const GraphReader& graph) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < graph.value_count(); ++i) {
    const vireo_graph_value v = graph.value(static_cast<int32_t>(i));
    if (v.constant != nullptr) sum += v.constant_size;
  }
  return sum;
}

uint64_t count_of(const TensorType& type) {
  const int64_t n = type.dtype == DType::kNone ? 0 : element_count(type.shape);
  return n > 0 ? static_cast<uint64_t>(n) : 0;
}

uint64_t bytes_of(const TensorType& type) {
  const int64_t n = type.dtype == DType::kNone ? 0 : tensor_bytes(type);
  return n > 0 ? static_cast<uint64_t>(n) : 0;
}

WorkKind kind_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return WorkKind::kHalf;
    case DType::kI8:
    case DType::kU8:
      return WorkKind::kByte;
    default:
      return WorkKind::kFull;
  }
}

// Rows of the first operand's matrix, for what has a sum a row: the last but one extent.
uint64_t rows_of(const Shape& s) { return s.rank >= 2 && s[s.rank - 2] > 0 ? static_cast<uint64_t>(s[s.rank - 2]) : 1; }

uint64_t operations_of(const GraphReader& graph, const vireo_graph_node& n) {
  const auto op = static_cast<Op>(n.op);
  const auto in = [&](uint32_t i) { return listed_type(graph, n.inputs, n.input_count, i); };
  const TensorType y = listed_type(graph, n.outputs, n.output_count, 0);
  switch (op) {
    case Op::kConvTranspose:  // weights [C, O / groups, window...]: a product a weight for each element that goes in
      return 2 * count_of(in(0)) * product_terms(Op::kConv, in(0).shape, in(1).shape);
    case Op::kDeformConv:
      return 2 * count_of(y) * product_terms(Op::kConv, in(0).shape, in(1).shape);
    case Op::kLSTM:
    case Op::kGRU:
    case Op::kRNN: {  // each step of each sequence by all weights, [direction, gates x hidden, input or hidden]
      const Shape x = in(0).shape;
      const uint64_t steps = x.rank == 3 && x[0] > 0 && x[1] > 0 ? static_cast<uint64_t>(x[0] * x[1]) : 1;
      return 2 * steps * (count_of(in(1)) + count_of(in(2)));
    }
    case Op::kAttention:  // each element of a query by all keys, each of the result by all values
      return 2 * (count_of(in(0)) + count_of(y)) * rows_of(in(1).shape);
    default: {
      const uint32_t b = second_operand(op);
      if (n.input_count <= b || in(0).dtype == DType::kNone || in(b).dtype == DType::kNone) return 0;
      return 2 * product_terms(op, in(0).shape, in(b).shape) * count_of(y);
    }
  }
}

// Reads of its first operand no more than it writes: rows of an embedding's table.
bool picks(Op op) { return op == Op::kGather || op == Op::kGatherElements || op == Op::kGatherND || op == Op::kSlice; }

bool is_view(Op op) {
  const OpRow* const row = find_op(op);
  return row != nullptr && (row->def->flags & OpDef::kView) != 0;
}

}  // namespace

NodeWork node_work(const vireo_host& host, const vireo_graph* shown, uint32_t index) {
  const GraphReader graph(host, shown);
  NodeWork work;
  vireo_graph_node n;
  if (!graph.read_node(index, &n)) return work;
  const auto op = static_cast<Op>(n.op);
  work.kind = kind_of(listed_type(graph, n.inputs, n.input_count, 0).dtype);
  uint64_t written = 0;
  for (uint32_t o = 0; o < n.output_count; ++o) written += bytes_of(listed_type(graph, n.outputs, n.output_count, o));
  work.bytes = written;
  for (uint32_t i = 0; i < n.input_count; ++i) {
    const uint64_t bytes = bytes_of(listed_type(graph, n.inputs, n.input_count, i));
    work.bytes += i == 0 && picks(op) && bytes > written ? written : bytes;
  }
  if (is_view(op)) work.bytes = 0;
  if (n.body == nullptr) {
    work.operations = operations_of(graph, n);
    return work;
  }
  const GraphReader body(host, n.body);
  work.bytes += constant_bytes(body);
  uint64_t most = 0;
  for (uint32_t i = 0; i < body.node_count(); ++i) {
    vireo_graph_node inner;
    if (!body.read_node(i, &inner)) continue;
    const uint64_t operations = operations_of(body, inner);
    work.operations += operations;
    if (operations <= most) continue;
    most = operations;
    work.kind = kind_of(listed_type(body, inner.inputs, inner.input_count, 0).dtype);
  }
  return work;
}

}  // namespace vireo
