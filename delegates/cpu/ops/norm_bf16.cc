// A layer or RMS normalisation whose result is rounded to bfloat16: the composite "norm_bf16".
#include <new>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/fused.h"
#include "delegates/cpu/kernels/norm/norm.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"

namespace vireo {
namespace {

struct State {
  cpu::Operand x, scale, shift;
  int axis = 0;
  float epsilon = 0;
  bool rms = false;
};

// One value for each normalised element, on both sides for sure.
bool covers(const CpuQuery& q, const cpu::Operand& p, const Shape& x, int axis) {
  bool good = p.type.dtype == DType::kF32 && p.is_static(q) && p.type.shape.rank == x.rank - axis;
  for (int i = axis; good && i < x.rank; ++i) good = p.type.shape[i - axis] == x[i];
  return good;
}

bool read(const CpuQuery& q, State* s) {
  const vireo_graph* const body = q.node.body;
  if (body == nullptr || q.host->node_count(body) != 2 || q.output_count != 1) return false;
  const vireo_graph_node norm = cpu::node_at(*q.host, body, 0), last = cpu::node_at(*q.host, body, 1);
  s->rms = static_cast<Op>(norm.op) == Op::kRMSNormalization;
  if (!s->rms && static_cast<Op>(norm.op) != Op::kLayerNormalization) return false;
  if (norm.input_count < 2 || norm.output_count < 1 || !cpu::is_cast(q, last, norm.outputs[0], DType::kBF16))
    return false;
  for (uint32_t o = 1; o < norm.output_count; ++o) {
    if (norm.outputs[o] >= 0) return false;
  }
  if (q.host->output_count(body) != 1 || q.host->output(body, 0) != last.outputs[0]) return false;
  s->x = cpu::operand_of(q, body, norm.inputs[0]);
  s->scale = cpu::operand_of(q, body, norm.inputs[1]);
  if (s->x.input < 0 || s->x.type.dtype != DType::kF32) return false;
  int axis = 0;
  if (s->rms) {
    const auto& a = *::flatbuffers::GetRoot<attrs::RMSNormalization>(norm.attrs);
    axis = a.axis();
    s->epsilon = a.epsilon();
  } else {
    const auto& a = *::flatbuffers::GetRoot<attrs::LayerNormalization>(norm.attrs);
    axis = a.axis();
    s->epsilon = a.epsilon();
  }
  const Shape& x = s->x.type.shape;
  s->axis = normalize_axis(axis, x.rank);
  if (!covers(q, s->scale, x, s->axis)) return false;
  if (norm.input_count < 3 || norm.inputs[2] < 0) return true;
  s->shift = cpu::operand_of(q, body, norm.inputs[2]);
  return covers(q, s->shift, x, s->axis);
}

void prepare(const CpuQuery& q, void* state) { (void)read(q, new (state) State()); }

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  const Tensor& x = ctx.required(static_cast<size_t>(s.x.input));
  cpu::NormF32 n;
  n.rows = product(x.shape, 0, s.axis);
  n.size = n.period = product(x.shape, s.axis, x.shape.rank);
  n.epsilon = s.epsilon;
  n.rms = s.rms;
  n.scale = s.scale.f32(ctx);
  n.shift = s.shift.given() ? s.shift.f32(ctx) : nullptr;
  cpu::norm_bf16(n, x.as<const float>(), ctx.out(0)->as<uint16_t>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kLayer = {"layer_norm_bf16", sizeof(State), nullptr, prepare, run};
constexpr CpuKernel kRms = {"rms_norm_bf16", sizeof(State), nullptr, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  State s;
  *reason = "its body is not a float32 normalisation that is rounded to bfloat16";
  if (!read(q, &s)) return nullptr;
  *reason = "";
  return s.rms ? &kRms : &kLayer;
}

constexpr Op kOps[] = {Op::kComposite};

}  // namespace

extern const CpuOp kCpuOp_norm_bf16;
const CpuOp kCpuOp_norm_bf16 = {"norm_bf16", choose, Span<const Op>(kOps)};

}  // namespace vireo
