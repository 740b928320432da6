// Matrices that codes and scales of blocks stand for.
#include "delegates/gpu/lower/work.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

// The node that made the elements of `v`, behind those that only say otherwise where they lie.
const Node* source_of(const Lowering& l, int v) {
  const Node* n = l.maker(v);
  while (n != nullptr && (n->op == VIREO_OP_TRANSPOSE || n->op == VIREO_OP_RESHAPE)) n = l.maker(n->inputs[0]);
  return n;
}

// Numbers that are constants, perhaps of a narrower type.
int constant_of(const Lowering& l, int v) {
  if (l.value(v).constant != nullptr) return v;
  const Node* const n = l.maker(v);
  if (n == nullptr || n->op != VIREO_OP_CAST || l.value(n->inputs[0]).constant == nullptr) return -1;
  const DType from = l.value(n->inputs[0]).dtype, to = l.value(v).dtype;
  return is_real(from) && is_real(to) && dtype_bits(from) <= dtype_bits(to) ? n->inputs[0] : -1;
}

}  // namespace

CodedWeights coded_weights(Lowering& l, int v, int64_t k, int64_t n, bool by_rows) {
  if (!l.target().shuffles || l.target().open) return {};
  const Node* const node = source_of(l, v);
  if (node == nullptr || node->op != VIREO_OP_DEQUANTIZE_LINEAR) return {};
  const auto& a = node->attrs<attrs::DequantizeLinear>();
  CodedWeights out;
  if (node->input(2) >= 0 && !one_code(l.value(node->inputs[2]), &out.zero)) return {};
  const int codes = node->inputs[0], scales = constant_of(l, node->inputs[1]);
  if (scales < 0 || l.value(codes).constant == nullptr || l.value(codes).count() != k * n || l.value(codes).rank() != 2)
    return {};
  const Datum &c = l.value(codes), &s = l.value(scales);
  const size_t along_k = by_rows ? 1 : 0, axis = axis_of(a.axis(), 2);
  if (c.dims[along_k] != k || !dtype_is_integer(c.dtype) || (dtype_bits(c.dtype) != 4 && dtype_bits(c.dtype) != 8))
    return {};
  if (a.block_size() > 0 && axis == along_k && k % a.block_size() == 0 && s.rank() == 2) {
    out.block = a.block_size();
  } else if (a.block_size() == 0 && axis != along_k && s.count() == n) {
    out.block = k;  // one scale a column
  } else {
    return {};
  }
  const int64_t blocks = k / out.block;
  if (s.count() != n * blocks) return {};
  out.dtype = c.dtype;
  out.scale_dtype = s.dtype;
  out.codes = by_rows ? l.laid(codes).memory : l.turned(codes, k, n);
  out.scales = by_rows || blocks == 1 ? l.laid(scales).memory : l.turned(scales, blocks, n);
  return out.codes < 0 || out.scales < 0 ? CodedWeights() : out;
}

}  // namespace vireo::gpu
