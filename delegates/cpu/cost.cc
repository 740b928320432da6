#include "delegates/cpu/cost.h"

#include <algorithm>

#include "sdk/ops/traits.h"

namespace vireo {
namespace {

// Of one thread, a nanosecond.
constexpr double kMacs = 40, kIntegerMacs = 120, kBytes = 16;
constexpr double kReferenceMacs = 0.5, kReferenceBytes = 2;
constexpr double kCall = 150;  // and what a node takes that does nothing

double count(const GraphValue& v) {
  return v.type.dtype == DType::kNone ? 0 : static_cast<double>(product(v.type.shape, 0, v.type.shape.rank));
}

double bytes(const GraphValue& v) {
  return v.type.dtype == DType::kNone ? 0 : static_cast<double>(std::max<int64_t>(tensor_bytes(v.type), 0));
}

double extent(const GraphValue& v, int axis) {
  const int rank = v.type.shape.rank, i = axis < 0 ? rank + axis : axis;
  return v.type.dtype == DType::kNone || i < 0 || i >= rank ? 1 : static_cast<double>(v.type.shape[i]);
}

// One filter for each output: all but its first extent.
double conv_macs(const GraphValue& w, const GraphValue& y) { return count(y) * count(w) / std::max(extent(w, 0), 1.0); }

// [.., M, K] x [.., K, N], either of them transposed.
double product_macs(const GraphValue& a, const GraphValue& y) { return count(a) * extent(y, -1); }

// Multiplications of a node; 0 of one that only walks over its operands, -1 where nobody has said.
double macs(const CpuQuery& q, bool* integer) {
  const GraphValue &a = q.inputs[0], &y = q.outputs[0];
  switch (q.op) {
    case Op::kConv:
      return conv_macs(q.inputs[1], y);
    case Op::kConvInteger:
    case Op::kIntConv:
      *integer = true;
      return conv_macs(q.inputs[1], y);
    case Op::kConvTranspose:
      return conv_macs(q.inputs[1], a);
    case Op::kMatMulInteger:
    case Op::kIntGemm:
      *integer = true;
      return product_macs(a, y);
    case Op::kGemm:
    case Op::kMatMul:
      return product_macs(a, y);
    case Op::kLSTM:
    case Op::kGRU:
    case Op::kRNN:
      return (count(q.inputs[1]) + count(q.inputs[2])) * extent(a, 0) * extent(a, 1);
    default:
      break;
  }
  if (is_elementwise(q.op)) return 0;
  switch (q.op) {
    case Op::kSoftmax:
    case Op::kReduceSum:
    case Op::kReduceMean:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kReshape:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
    case Op::kFlatten:
    case Op::kTranspose:
    case Op::kConcat:
    case Op::kSplit:
    case Op::kSlice:
    case Op::kExpand:
    case Op::kPad:
    case Op::kDepthToSpace:
    case Op::kSpaceToDepth:
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
    case Op::kBatchNormalization:
    case Op::kLayerNormalization:
    case Op::kRMSNormalization:
    case Op::kGroupNormalization:
    case Op::kQuantizeLinear:
    case Op::kDequantizeLinear:
    case Op::kIntTable:
      return 0;
    case Op::kMaxPool:
    case Op::kAveragePool:
      return 4 * count(a);  // most windows overlap
    case Op::kResize:
      return 4 * count(y);
    default:
      return -1;
  }
}

// The bodies of composites have at most a few nodes, and none of these is a composite.
double body_macs(const CpuQuery& q, bool* integer) {
  if (q.op != Op::kComposite) return macs(q, integer);
  if (q.node.body == nullptr) return -1;
  double sum = 0;
  const uint32_t nodes = q.host->node_count(q.node.body);
  for (uint32_t n = 0; n < nodes; ++n) {
    CpuQuery inner;
    if (!view_node(*q.host, q.node.body, n, &inner)) return -1;
    const double of_node = macs(inner, integer);
    if (of_node < 0) return -1;
    sum += of_node;
  }
  return sum;
}

}  // namespace

double cost_ns(const CpuQuery& q, bool tuned) {
  if (!q.is_static() || q.node.input_count > kMaxNodeArgs || q.node.output_count > kMaxNodeArgs) return 0;
  bool integer = false;
  const double m = body_macs(q, &integer);
  if (m < 0) return 0;
  double moved = 0;
  for (uint32_t i = 0; i < q.input_count; ++i) moved += bytes(q.inputs[i]);
  for (uint32_t o = 0; o < q.output_count; ++o) moved += bytes(q.outputs[o]);
  if (!tuned) return kCall + std::max(m / kReferenceMacs, moved / kReferenceBytes);
  return kCall + std::max(m / (integer ? kIntegerMacs : kMacs), moved / kBytes);
}

}  // namespace vireo
