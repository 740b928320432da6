// The layer or RMS normalisation in a composite's body: what its kernels read of it.
#ifndef VIREO_DELEGATES_CPU_NORM_FORM_H_
#define VIREO_DELEGATES_CPU_NORM_FORM_H_

#include "delegates/cpu/fused.h"
#include "delegates/cpu/kernels/norm/norm.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"

namespace vireo::cpu {

struct NormForm {
  Operand scale, shift;
  int axis = 0;
  float epsilon = 0;
  bool rms = false;

  // `x`: what is normalised, as it is in this run.
  NormF32 shape(const KernelContext& ctx, const Shape& x) const {
    NormF32 n;
    n.rows = product(x, 0, axis);
    n.size = n.period = product(x, axis, x.rank);
    n.epsilon = epsilon;
    n.rms = rms;
    n.scale = scale.f32(ctx);
    n.shift = shift.given() ? shift.f32(ctx) : nullptr;
    return n;
  }
};

// A parameter of one float32 for each normalised element, on both sides for sure.
inline bool covers(const CpuQuery& q, const Operand& p, const Shape& x, int axis) {
  bool good = p.type.dtype == DType::kF32 && p.is_static(q) && p.type.shape.rank == x.rank - axis;
  for (int i = axis; good && i < x.rank; ++i) good = p.type.shape[i - axis] == x[i];
  return good;
}

// False where `node` is another operator, tells of its rows, or has other parameters. `x`: the shape of its operand.
inline bool read_norm(const CpuQuery& q, const vireo_graph_node& node, const Shape& x, NormForm* out) {
  out->rms = static_cast<Op>(node.op) == Op::kRMSNormalization;
  if (!out->rms && static_cast<Op>(node.op) != Op::kLayerNormalization) return false;
  if (node.input_count < 2 || node.output_count < 1) return false;
  for (uint32_t o = 1; o < node.output_count; ++o) {
    if (node.outputs[o] >= 0) return false;
  }
  int axis = 0;
  if (out->rms) {
    const auto& a = *::flatbuffers::GetRoot<attrs::RMSNormalization>(node.attrs);
    axis = a.axis();
    out->epsilon = a.epsilon();
  } else {
    const auto& a = *::flatbuffers::GetRoot<attrs::LayerNormalization>(node.attrs);
    axis = a.axis();
    out->epsilon = a.epsilon();
  }
  out->axis = normalize_axis(axis, x.rank);
  out->scale = operand_of(q, node.inputs[1]);
  if (!covers(q, out->scale, x, out->axis)) return false;
  if (node.input_count < 3 || node.inputs[2] < 0) return true;
  out->shift = operand_of(q, node.inputs[2]);
  return covers(q, out->shift, x, out->axis);
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_NORM_FORM_H_
