// Chains of elementwise functions, float32: composites whose body is nothing else.
#include <new>

#include "delegates/cpu/binary_function.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/fused.h"
#include "delegates/cpu/kernels/chain/chain.h"

namespace vireo {
namespace {

using cpu::ChainF32;
using cpu::ChainStep;

// An operand's elements: an input of the node, or a constant of the body.
struct Source {
  int32_t input = -1;
  const void* constant = nullptr;
  Shape shape;  // of a constant
};

struct State {
  ChainF32 chain;
  Source sources[ChainF32::kMaxOperands];
};

// What the body's values are while it is read: where a step finds them, and how many steps still will.
class Reader {
 public:
  Reader(const CpuQuery& q, State* out) : q_(q), host_(*q.host), body_(q.node.body), out_(*out) {}

  bool read() {
    const uint32_t count = host_.node_count(body_);
    if (count < 2 || count > ChainF32::kMaxSteps || host_.output_count(body_) != 1) return false;
    for (uint32_t n = 0; n < count; ++n) {
      if (!step(n, n + 1 == count)) return false;
    }
    return true;
  }

 private:
  struct Block {
    int32_t value = -1;
    uint32_t last = 0;  // node that reads it last
  };

  bool step(uint32_t n, bool last) {
    const vireo_graph_node node = node_at(n);
    ChainStep& s = out_.chain.steps[n];
    if (node.output_count != 1 || (last && host_.output(body_, 0) != node.outputs[0])) return false;
    const vireo_graph_value made = value_at(node.outputs[0]);
    if (made.dtype != VIREO_FLOAT32 || !of_the_result(made)) return false;
    s.binary = cpu::binary_function(static_cast<Op>(node.op), &s.op);
    if (!s.binary && !cpu::read_activation(host_, body_, node, &s.act)) return false;
    if (s.binary && node.input_count != 2) return false;
    if (!source(node.inputs[0], &s.a) || (s.binary && !source(node.inputs[1], &s.b))) return false;
    out_.chain.step_count = static_cast<int>(n) + 1;
    // A block that this step reads last may be the one it fills.
    for (Block& b : blocks_) {
      if (b.value >= 0 && b.last <= n) b.value = -1;
    }
    if (last) return true;
    for (int i = 0; i < ChainF32::kMaxSteps; ++i) {
      if (blocks_[i].value >= 0) continue;
      blocks_[i] = {node.outputs[0], last_reader(node.outputs[0])};
      s.y = static_cast<int16_t>(i);
      if (out_.chain.blocks <= i) out_.chain.blocks = i + 1;
      return true;
    }
    return false;
  }

  bool source(int32_t value, int16_t* out) {
    for (int i = 0; i < ChainF32::kMaxSteps; ++i) {
      if (blocks_[i].value != value) continue;
      *out = static_cast<int16_t>(i);
      return true;
    }
    for (int k = 0; k < out_.chain.operand_count; ++k) {
      if (operands_[k] != value) continue;
      *out = static_cast<int16_t>(-1 - k);
      return true;
    }
    const vireo_graph_value v = value_at(value);
    if (value < 0 || v.dtype != VIREO_FLOAT32 || out_.chain.operand_count == ChainF32::kMaxOperands) return false;
    Source s;
    for (uint32_t i = 0; i < host_.input_count(body_); ++i) {
      if (host_.input(body_, i) == value) s.input = static_cast<int32_t>(i);
    }
    if (s.input < 0) {
      s.constant = v.constant;
      if (s.constant == nullptr) return false;
      s.shape.rank = v.rank;
      for (int i = 0; i < v.rank; ++i) s.shape[i] = v.max_dims[i];
    }
    operands_[out_.chain.operand_count] = value;
    out_.sources[out_.chain.operand_count] = s;
    *out = static_cast<int16_t>(-1 - out_.chain.operand_count++);
    return true;
  }

  uint32_t last_reader(int32_t value) const {
    uint32_t last = 0;
    for (uint32_t n = 0; n < host_.node_count(body_); ++n) {
      const vireo_graph_node node = node_at(n);
      for (uint32_t i = 0; i < node.input_count; ++i) last = node.inputs[i] == value ? n : last;
    }
    return last;
  }
  bool of_the_result(const vireo_graph_value& v) const {
    const Shape& y = q_.outputs[0].type.shape;
    bool same = v.rank == y.rank;
    for (int i = 0; same && i < y.rank; ++i) same = v.max_dims[i] == y[i];
    return same;
  }
  vireo_graph_node node_at(uint32_t n) const {
    vireo_graph_node node = {};
    node.struct_size = sizeof(node);
    (void)host_.node(body_, n, &node);
    return node;
  }
  vireo_graph_value value_at(int32_t number) const {
    vireo_graph_value v = {};
    v.struct_size = sizeof(v);
    if (number >= 0) (void)host_.value(body_, static_cast<uint32_t>(number), &v);
    return v;
  }

  const CpuQuery& q_;
  const vireo_host& host_;
  const vireo_graph* body_;
  State& out_;
  Block blocks_[ChainF32::kMaxSteps];
  int32_t operands_[ChainF32::kMaxOperands] = {};
};

void prepare(const CpuQuery& q, void* state) {
  auto* s = new (state) State();
  (void)Reader(q, s).read();
}

int64_t scratch_bytes(const CpuQuery& q) {
  State s;
  return Reader(q, &s).read() ? static_cast<int64_t>(cpu::chain_f32_scratch_bytes(s.chain, q.slots)) : 0;
}

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  Tensor& y = *ctx.out(0);
  cpu::ChainOperand operands[ChainF32::kMaxOperands];
  for (int k = 0; k < s.chain.operand_count; ++k) {
    const Source& source = s.sources[k];
    const Shape& own = source.input < 0 ? source.shape : ctx.required(static_cast<size_t>(source.input)).shape;
    operands[k].data = source.input < 0 ? static_cast<const float*>(source.constant)
                                        : ctx.required(static_cast<size_t>(source.input)).as<const float>();
    int64_t step = 1;
    for (int i = y.shape.rank - 1, j = own.rank - 1; i >= 0; --i, --j) {
      operands[k].strides[i] = j < 0 || own[j] == 1 ? 0 : step;
      if (j >= 0 && own[j] != 1 && own[j] != y.shape[i])
        return ctx.fail(Status::kInvalidArgument, "operand {} of a chain does not broadcast to the result", k);
      if (j >= 0) step *= own[j];
    }
  }
  cpu::chain_f32(s.chain, y.shape.rank, y.shape.dims, operands, y.as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kChain = {"chain_f32", sizeof(State), scratch_bytes, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  State s;
  *reason = "its body is not a chain of elementwise float32 functions";
  if (q.node.body == nullptr || q.output_count != 1 || !Reader(q, &s).read()) return nullptr;
  *reason = "";
  return &kChain;
}

constexpr Op kOps[] = {Op::kComposite};

}  // namespace

extern const CpuOp kCpuOp_chain;
const CpuOp kCpuOp_chain = {"chain", choose, Span<const Op>(kOps)};

}  // namespace vireo
