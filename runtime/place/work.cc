#include "runtime/place/work.h"

namespace vireo {
namespace {

class Reader {
 public:
  explicit Reader(const vireo_host& host) : host_(host) {}

  // kNone for an absent value.
  TensorType type(const vireo_graph* graph, const int32_t* numbers, uint32_t count, uint32_t i) const {
    TensorType type;
    vireo_graph_value v = {};
    v.struct_size = sizeof(v);
    if (i >= count || numbers[i] < 0 || host_.value(graph, static_cast<uint32_t>(numbers[i]), &v) != VIREO_OK)
      return type;
    type.dtype = static_cast<DType>(v.dtype);
    type.shape.rank = v.rank;
    for (int32_t d = 0; d < v.rank; ++d) type.shape[d] = v.max_dims[d];
    return type;
  }
  bool node(const vireo_graph* graph, uint32_t index, vireo_graph_node* out) const {
    *out = {};
    out->struct_size = sizeof(*out);
    return host_.node(graph, index, out) == VIREO_OK;
  }
  uint64_t constant_bytes(const vireo_graph* graph) const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < host_.value_count(graph); ++i) {
      vireo_graph_value v = {};
      v.struct_size = sizeof(v);
      if (host_.value(graph, i, &v) == VIREO_OK && v.constant != nullptr) sum += v.constant_size;
    }
    return sum;
  }
  uint32_t node_count(const vireo_graph* graph) const { return host_.node_count(graph); }

 private:
  const vireo_host& host_;
};

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

uint64_t operations_of(const Reader& read, const vireo_graph* graph, const vireo_graph_node& n) {
  const auto op = static_cast<Op>(n.op);
  const auto in = [&](uint32_t i) { return read.type(graph, n.inputs, n.input_count, i); };
  const TensorType y = read.type(graph, n.outputs, n.output_count, 0);
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

NodeWork node_work(const vireo_host& host, const vireo_graph* graph, uint32_t index) {
  const Reader read(host);
  NodeWork work;
  vireo_graph_node n;
  if (!read.node(graph, index, &n)) return work;
  const auto op = static_cast<Op>(n.op);
  work.kind = kind_of(read.type(graph, n.inputs, n.input_count, 0).dtype);
  uint64_t written = 0;
  for (uint32_t o = 0; o < n.output_count; ++o) written += bytes_of(read.type(graph, n.outputs, n.output_count, o));
  work.bytes = written;
  for (uint32_t i = 0; i < n.input_count; ++i) {
    const uint64_t bytes = bytes_of(read.type(graph, n.inputs, n.input_count, i));
    work.bytes += i == 0 && picks(op) && bytes > written ? written : bytes;
  }
  if (is_view(op)) work.bytes = 0;
  if (n.body == nullptr) {
    work.operations = operations_of(read, graph, n);
    return work;
  }
  work.bytes += read.constant_bytes(n.body);
  uint64_t most = 0;
  for (uint32_t i = 0; i < read.node_count(n.body); ++i) {
    vireo_graph_node inner;
    if (!read.node(n.body, i, &inner)) continue;
    const uint64_t operations = operations_of(read, n.body, inner);
    work.operations += operations;
    if (operations <= most) continue;
    most = operations;
    work.kind = kind_of(read.type(n.body, inner.inputs, inner.input_count, 0).dtype);
  }
  return work;
}

}  // namespace vireo
