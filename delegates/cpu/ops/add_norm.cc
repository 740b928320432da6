// A sum and the layer or RMS normalisation of it, float32: the composite "add_norm".
#include <new>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/norm_form.h"

namespace vireo {
namespace {

struct State {
  int32_t x = -1, residual = -1;  // inputs of the composite
  cpu::NormForm norm;
};

bool read(const CpuQuery& q, State* s) {
  const GraphReader body = q.body();
  if (q.node.body == nullptr || body.node_count() != 2 || q.output_count < 1 || q.output_count > 2 ||
      body.output_count() != q.output_count) {
    return false;
  }
  const vireo_graph_node add = body.node(0), norm = body.node(1);
  if (static_cast<Op>(add.op) != Op::kAdd || add.input_count != 2 || add.output_count != 1) return false;
  if (norm.output_count < 1 || norm.input_count < 1 || norm.inputs[0] != add.outputs[0]) return false;
  if (body.output(0) != norm.outputs[0]) return false;
  if (q.output_count == 2 && body.output(1) != add.outputs[0]) return false;
  const TensorType& y = q.outputs[0].type;
  const auto whole = [&](int32_t i) {
    return i >= 0 && static_cast<uint32_t>(i) < q.input_count && q.inputs[i].type == y && y.dtype == DType::kF32;
  };
  s->x = cpu::operand_of(q, add.inputs[0]).input;
  s->residual = cpu::operand_of(q, add.inputs[1]).input;
  return whole(s->x) && whole(s->residual) && cpu::read_norm(q, norm, y.shape, &s->norm);
}

void prepare(const CpuQuery& q, void* state) { (void)read(q, new (state) State()); }

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  const Tensor& x = ctx.required(static_cast<size_t>(s.x));
  const Tensor& residual = ctx.required(static_cast<size_t>(s.residual));
  if (!(residual.shape == x.shape))
    return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
  cpu::NormF32 n = s.norm.shape(ctx, x.shape);
  n.residual = residual.as<const float>();
  if (ctx.outputs.size() > 1 && ctx.out(1) != nullptr) n.sum = ctx.out(1)->as<float>();
  cpu::norm_f32(n, x.as<const float>(), ctx.out(0)->as<float>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kLayer = {"add_layer_norm_f32", sizeof(State), nullptr, prepare, run};
constexpr CpuKernel kRms = {"add_rms_norm_f32", sizeof(State), nullptr, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  State s;
  *reason = "its body is not a float32 sum and its normalisation";
  if (!read(q, &s)) return nullptr;
  *reason = "";
  return s.norm.rms ? &kRms : &kLayer;
}

}  // namespace

extern const CpuOp kCpuOp_add_norm;
const CpuOp kCpuOp_add_norm = {"add_norm", choose};

}  // namespace vireo
