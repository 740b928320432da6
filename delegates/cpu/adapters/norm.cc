// Layer, RMS, group and instance normalisation, and batch normalisation at inference, float32.
#include <math.h>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/norm/norm.h"
#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"

namespace vireo {
namespace {

// A parameter with one value for each normalised element.
bool covers(const TensorType& p, const Shape& x, int axis) {
  if (p.dtype != DType::kF32) return false;
  int first = 0;
  while (first < p.shape.rank && p.shape[first] == 1 && p.shape.rank - first > x.rank - axis) ++first;
  if (p.shape.rank - first != x.rank - axis) return false;
  for (int i = axis; i < x.rank; ++i) {
    if (p.shape[first + i - axis] != x[i]) return false;
  }
  return true;
}

template <bool kRms>
Status run_rows(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  int axis = 0;
  cpu::NormF32 s;
  if constexpr (kRms) {
    axis = normalize_axis(ctx.attrs<attrs::RMSNormalization>().axis(), x.shape.rank);
    s.epsilon = ctx.attrs<attrs::RMSNormalization>().epsilon();
  } else {
    axis = normalize_axis(ctx.attrs<attrs::LayerNormalization>().axis(), x.shape.rank);
    s.epsilon = ctx.attrs<attrs::LayerNormalization>().epsilon();
    s.mean = ctx.out(1) != nullptr ? ctx.out(1)->as<float>() : nullptr;
    s.inverse = ctx.out(2) != nullptr ? ctx.out(2)->as<float>() : nullptr;
    s.shift = ctx.in(2) != nullptr ? ctx.in(2)->as<const float>() : nullptr;
  }
  s.rms = kRms;
  s.rows = product(x.shape, 0, axis);
  s.size = s.period = product(x.shape, axis, x.shape.rank);
  s.scale = ctx.in(1)->as<const float>();
  cpu::norm_f32(s, x.as<const float>(), ctx.out(0)->as<float>(), ctx.parallel);
  return Status::kOk;
}

Status run_group(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  const auto& a = ctx.attrs<attrs::GroupNormalization>();
  const int64_t channels = x.shape[1], groups = a.num_groups() == 0 ? channels : a.num_groups();
  cpu::NormF32 s;
  s.epsilon = a.epsilon();
  s.rows = x.shape[0] * groups;
  s.inner = product(x.shape, 2, x.shape.rank);
  s.size = groups == 0 ? 0 : channels / groups * s.inner;
  s.period = channels;
  s.scale = ctx.in(1)->as<const float>();
  s.shift = ctx.in(2)->as<const float>();
  cpu::norm_f32(s, x.as<const float>(), ctx.out(0)->as<float>(), ctx.parallel);
  return Status::kOk;
}

int64_t batch_scratch(const CpuQuery& q) { return 2 * q.inputs[0].type.shape[1] * static_cast<int64_t>(sizeof(float)); }

// y = x * scale + shift, folded per run: statistics may be inputs.
Status run_batch(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  const int64_t channels = x.shape[1];
  const float epsilon = ctx.attrs<attrs::BatchNormalization>().epsilon();
  const float *gamma = ctx.in(1)->as<const float>(), *beta = ctx.in(2)->as<const float>();
  const float *mean = ctx.in(3)->as<const float>(), *variance = ctx.in(4)->as<const float>();
  float* const scale = reinterpret_cast<float*>(ctx.scratch.data());
  float* const shift = scale + channels;
  for (int64_t c = 0; c < channels; ++c) {
    scale[c] = gamma[c] / sqrtf(variance[c] + epsilon);
    shift[c] = beta[c] - mean[c] * scale[c];
  }
  cpu::channel_affine_f32(x.as<const float>(), ctx.out(0)->as<float>(), x.shape[0], channels,
                          product(x.shape, 2, x.shape.rank), scale, shift, ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kLayer = {"layer_norm_f32", 0, nullptr, nullptr, run_rows<false>};
constexpr CpuKernel kRms = {"rms_norm_f32", 0, nullptr, nullptr, run_rows<true>};
constexpr CpuKernel kGroup = {"group_norm_f32_nchw", 0, nullptr, nullptr, run_group};
constexpr CpuKernel kBatch = {"batch_norm_f32_nchw", 0, batch_scratch, nullptr, run_batch};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const Shape& x = q.inputs[0].type.shape;
  *reason = "tuned for float32 alone";
  for (uint32_t i = 0; i < q.input_count; ++i) {
    const DType t = q.inputs[i].type.dtype;
    if (t != DType::kF32 && t != DType::kNone) return nullptr;
  }
  for (uint32_t o = 0; o < q.output_count; ++o) {
    const DType t = q.outputs[o].type.dtype;
    if (t != DType::kF32 && t != DType::kNone) return nullptr;
  }
  if (q.op == Op::kLayerNormalization || q.op == Op::kRMSNormalization) {
    *reason = "tuned for a scale and a bias with one value for each normalised element";
    const bool layer = q.op == Op::kLayerNormalization;
    const int axis = normalize_axis(
        layer ? q.attrs<attrs::LayerNormalization>().axis() : q.attrs<attrs::RMSNormalization>().axis(), x.rank);
    for (uint32_t i = 1; i < q.input_count && i < 3; ++i) {
      if (i == 1 || q.inputs[i].type.dtype != DType::kNone) {
        // Static on both sides, or bounds might agree where shapes do not.
        if (!q.inputs[i].is_static || !covers(q.inputs[i].type, x, axis)) return nullptr;
      }
    }
    *reason = "";
    return layer ? &kLayer : &kRms;
  }
  *reason = "tuned for channels first and one value a channel";
  if (q.op == Op::kGroupNormalization) {
    if (q.attrs<attrs::GroupNormalization>().layout() != 0 || !q.inputs[1].is_static || !q.inputs[2].is_static)
      return nullptr;
    for (int i = 1; i < 3; ++i) {
      if (q.inputs[i].type.shape[0] != x[1]) return nullptr;
    }
    *reason = "";
    return &kGroup;
  }
  const auto& a = q.attrs<attrs::BatchNormalization>();
  if (a.training_mode() || a.layout() != 0 || x.rank < 2 || q.inputs[1].type.shape.rank != 1) return nullptr;
  *reason = "";
  return &kBatch;
}

}  // namespace

extern const CpuOp kCpuOp_norm;
const CpuOp kCpuOp_norm = {"norm", choose};

}  // namespace vireo
