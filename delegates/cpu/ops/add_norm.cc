// A sum and the layer or RMS normalisation of it, float32: the composite "add_norm".
#include <new>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/norm/norm.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"

namespace vireo {
namespace {

struct State {
  int32_t x = -1, residual = -1, scale = -1, shift = -1;  // inputs of the composite
  int axis = 0;
  float epsilon = 0;
  bool rms = false;
};

vireo_graph_node node_at(const CpuQuery& q, uint32_t n) {
  vireo_graph_node node = {};
  node.struct_size = sizeof(node);
  (void)q.host->node(q.node.body, n, &node);
  return node;
}

// The composite's input that the body's value is; -1: it is none.
int32_t input_of(const CpuQuery& q, const vireo_graph_node& node, uint32_t i) {
  for (uint32_t k = 0; i < node.input_count && k < q.host->input_count(q.node.body); ++k) {
    if (q.host->input(q.node.body, k) == node.inputs[i]) return static_cast<int32_t>(k);
  }
  return -1;
}

// A parameter of one value for each normalised element, on both sides for sure.
bool covers(const CpuQuery& q, int32_t input, const Shape& x, int axis) {
  if (input < 0 || static_cast<uint32_t>(input) >= q.input_count) return false;
  const CpuValue& p = q.inputs[input];
  bool good = p.is_static && p.type.dtype == DType::kF32 && p.type.shape.rank == x.rank - axis;
  for (int i = axis; good && i < x.rank; ++i) good = p.type.shape[i - axis] == x[i];
  return good;
}

bool read(const CpuQuery& q, State* s) {
  const vireo_graph* body = q.node.body;
  if (body == nullptr || q.host->node_count(body) != 2 || q.output_count < 1 || q.output_count > 2 ||
      q.host->output_count(body) != q.output_count) {
    return false;
  }
  const vireo_graph_node add = node_at(q, 0), norm = node_at(q, 1);
  s->rms = static_cast<Op>(norm.op) == Op::kRMSNormalization;
  if (static_cast<Op>(add.op) != Op::kAdd || add.input_count != 2 || add.output_count != 1) return false;
  if (!s->rms && static_cast<Op>(norm.op) != Op::kLayerNormalization) return false;
  if (norm.output_count < 1 || norm.input_count < 2 || norm.inputs[0] != add.outputs[0]) return false;
  for (uint32_t o = 1; o < norm.output_count; ++o) {
    if (norm.outputs[o] >= 0) return false;
  }
  if (q.host->output(body, 0) != norm.outputs[0]) return false;
  if (q.output_count == 2 && q.host->output(body, 1) != add.outputs[0]) return false;
  const TensorType& y = q.outputs[0].type;
  const auto whole = [&](int32_t i) {
    return i >= 0 && static_cast<uint32_t>(i) < q.input_count && q.inputs[i].type == y && y.dtype == DType::kF32;
  };
  s->x = input_of(q, add, 0);
  s->residual = input_of(q, add, 1);
  if (!whole(s->x) || !whole(s->residual)) return false;
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
  s->axis = normalize_axis(axis, y.shape.rank);
  s->scale = input_of(q, norm, 1);
  if (!covers(q, s->scale, y.shape, s->axis)) return false;
  if (norm.input_count < 3 || norm.inputs[2] < 0) return true;
  s->shift = input_of(q, norm, 2);
  return covers(q, s->shift, y.shape, s->axis);
}

void prepare(const CpuQuery& q, void* state) { (void)read(q, new (state) State()); }

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  const Tensor& x = ctx.required(static_cast<size_t>(s.x));
  const Tensor& residual = ctx.required(static_cast<size_t>(s.residual));
  const auto parameter = [&](int32_t i) {
    return i < 0 ? nullptr : ctx.required(static_cast<size_t>(i)).as<const float>();
  };
  if (!(residual.shape == x.shape))
    return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
  cpu::NormF32 n;
  n.rows = product(x.shape, 0, s.axis);
  n.size = n.period = product(x.shape, s.axis, x.shape.rank);
  n.epsilon = s.epsilon;
  n.rms = s.rms;
  n.scale = parameter(s.scale);
  n.shift = parameter(s.shift);
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
  return s.rms ? &kRms : &kLayer;
}

constexpr Op kOps[] = {Op::kComposite};

}  // namespace

extern const CpuOp kCpuOp_add_norm;
const CpuOp kCpuOp_add_norm = {"add_norm", choose, Span<const Op>(kOps)};

}  // namespace vireo
