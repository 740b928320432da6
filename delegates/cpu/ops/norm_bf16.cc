// A layer or RMS normalisation whose result is rounded to bfloat16: the composite "norm_bf16".
#include <new>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/norm_form.h"

namespace vireo {
namespace {

struct State {
  int32_t x = -1;  // input of the composite
  cpu::NormForm norm;
};

bool read(const CpuQuery& q, State* s) {
  const GraphReader body = q.body();
  if (q.node.body == nullptr || body.node_count() != 2 || q.output_count != 1) return false;
  const vireo_graph_node norm = body.node(0), last = body.node(1);
  if (norm.input_count < 1 || norm.output_count < 1 || !cpu::is_cast(q, last, norm.outputs[0], DType::kBF16))
    return false;
  if (body.output_count() != 1 || body.output(0) != last.outputs[0]) return false;
  const cpu::Operand x = cpu::operand_of(q, norm.inputs[0]);
  s->x = x.input;
  return x.input >= 0 && x.type.dtype == DType::kF32 && cpu::read_norm(q, norm, x.type.shape, &s->norm);
}

void prepare(const CpuQuery& q, void* state) { (void)read(q, new (state) State()); }

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  const Tensor& x = ctx.required(static_cast<size_t>(s.x));
  cpu::norm_bf16(s.norm.shape(ctx, x.shape), x.as<const float>(), ctx.out(0)->as<uint16_t>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kLayer = {"layer_norm_bf16", sizeof(State), nullptr, prepare, run};
constexpr CpuKernel kRms = {"rms_norm_bf16", sizeof(State), nullptr, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  State s;
  *reason = "its body is not a float32 normalisation that is rounded to bfloat16";
  if (!read(q, &s)) return nullptr;
  *reason = "";
  return s.norm.rms ? &kRms : &kLayer;
}

}  // namespace

extern const CpuOp kCpuOp_norm_bf16;
const CpuOp kCpuOp_norm_bf16 = {"norm_bf16", choose};

}  // namespace vireo
