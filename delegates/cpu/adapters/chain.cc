// Chains of elementwise functions, float32, perhaps with a reduction over the last axes at the end, or float16:
// composites whose body is nothing else, and a function of two float16 values by itself.
#include <new>

#include "delegates/cpu/activate_of.h"
#include "delegates/cpu/binary_function.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/chain/chain.h"
#include "delegates/cpu/reduction.h"
#include "sdk/composites/operand.h"

namespace vireo {
namespace {

using cpu::ChainF32;
using cpu::ChainStep;

struct State {
  ChainF32 chain;
  int rank = 0;  // of what the steps make
  composites::Operand sources[ChainF32::kMaxOperands];
};

// What the body's values are while it is read: where a step finds them, and how many steps still will.
class Reader {
 public:
  Reader(const CpuQuery& q, State* out) : q_(q), body_(q.body()), out_(*out) {}

  bool read() {
    const uint32_t count = body_.node_count();
    if (count < 2 || count > ChainF32::kMaxSteps || body_.output_count() != 1) return false;
    const vireo_graph_node end = body_.node(count - 1);
    const bool ends = cpu::is_reduction(static_cast<Op>(end.op));
    if (end.output_count != 1 || body_.output(0) != end.outputs[0] || end.input_count == 0) return false;
    whole_ = type_at(body_, ends ? end.inputs[0] : end.outputs[0]);
    out_.chain.halves = whole_.dtype == DType::kF16;
    if (whole_.dtype != DType::kF32 && (!out_.chain.halves || ends)) return false;
    out_.rank = whole_.shape.rank;
    const uint32_t steps = ends ? count - 1 : count;
    for (uint32_t n = 0; n < steps; ++n) {
      if (!step(n, n + 1 == steps)) return false;
    }
    return !ends || (end.inputs[0] == body_.node(steps - 1).outputs[0] && reduction(end));
  }

 private:
  struct Block {
    int32_t value = -1;
    uint32_t last = 0;  // node that reads it last
  };

  bool step(uint32_t n, bool last) {
    const vireo_graph_node node = body_.node(n);
    ChainStep& s = out_.chain.steps[n];
    if (node.output_count != 1) return false;
    if (type_at(body_, node.outputs[0]) != whole_) return false;
    s.binary = cpu::binary_function(static_cast<Op>(node.op), &s.op);
    if (!s.binary && !cpu::read_activation(body_, node, &s.act)) return false;
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
    const composites::Operand operand = composites::operand_of(q_, value);
    const TensorType& type = operand.type;
    if (!operand.given() || type.dtype != whole_.dtype || type.shape.rank > whole_.shape.rank) return false;
    if (out_.chain.operand_count == ChainF32::kMaxOperands) return false;
    operands_[out_.chain.operand_count] = value;
    out_.sources[out_.chain.operand_count] = operand;
    *out = static_cast<int16_t>(-1 - out_.chain.operand_count++);
    return true;
  }

  uint32_t last_reader(int32_t value) const {
    uint32_t last = 0;
    for (uint32_t n = 0; n < body_.node_count(); ++n) {
      const vireo_graph_node node = body_.node(n);
      for (uint32_t i = 0; i < node.input_count; ++i) last = node.inputs[i] == value ? n : last;
    }
    return last;
  }
  bool reduction(const vireo_graph_node& node) {
    cpu::Reduction r;
    vireo_graph_value axes = {};
    int64_t count = 0;
    if (node.input_count > 1 && node.inputs[1] >= 0) {
      axes = body_.value(node.inputs[1]);
      if (axes.dtype != VIREO_INT64 || axes.constant == nullptr || axes.rank != 1) return false;
      count = axes.max_dims[0];
    }
    if (!cpu::read_reduction(static_cast<Op>(node.op), node.attrs, whole_.shape.rank,
                             static_cast<const int64_t*>(axes.constant), count, &r)) {
      return false;
    }
    out_.chain.end = {whole_.shape.rank - r.first, r.kind, r.root};
    return r.last == whole_.shape.rank && q_.outputs[0].type.dtype == DType::kF32;
  }

  const CpuQuery& q_;
  const GraphReader body_;
  State& out_;
  TensorType whole_;  // what every step makes
  Block blocks_[ChainF32::kMaxSteps];
  int32_t operands_[ChainF32::kMaxOperands] = {};
};

// One function of two float16 values: a chain of one step.
bool read_one(const CpuQuery& q, State* out) {
  ChainStep& s = out->chain.steps[0];
  if (q.input_count != 2 || !cpu::binary_function(q.op, &s.op)) return false;
  for (int k = 0; k < 2; ++k) {
    if (q.inputs[k].type.dtype != DType::kF16) return false;
    out->sources[k].input = k;
  }
  s.binary = true;
  s.a = -1;
  s.b = -2;
  out->chain.step_count = 1;
  out->chain.operand_count = 2;
  out->chain.halves = true;
  return true;
}

bool read(const CpuQuery& q, State* out) {
  return q.op == Op::kComposite ? q.node.body != nullptr && Reader(q, out).read() : read_one(q, out);
}

void prepare(const CpuQuery& q, void* state) { (void)read(q, new (state) State()); }

int64_t scratch_bytes(const CpuQuery& q) {
  State s;
  return read(q, &s) ? static_cast<int64_t>(cpu::chain_f32_scratch_bytes(s.chain, q.slots)) : 0;
}

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  Tensor& y = *ctx.out(0);
  Shape whole = y.shape;
  if (s.chain.end.axes > 0) {
    whole.rank = s.rank;
    for (int i = 0; i < s.rank; ++i) whole[i] = 1;
    for (int k = 0; k < s.chain.operand_count; ++k) {
      const Shape& own = s.sources[k].shape(ctx);
      for (int i = s.rank - own.rank, j = 0; j < own.rank; ++i, ++j) whole[i] = whole[i] == 1 ? own[j] : whole[i];
    }
    if (product(whole, 0, s.rank - s.chain.end.axes) != y.count())
      return ctx.fail(Status::kInvalidArgument, "what a chain reduces has other axes than its result");
  }
  cpu::ChainOperand operands[ChainF32::kMaxOperands];
  for (int k = 0; k < s.chain.operand_count; ++k) {
    const Shape& own = s.sources[k].shape(ctx);
    operands[k].data = s.sources[k].data(ctx);
    int64_t step = 1;
    for (int i = whole.rank - 1, j = own.rank - 1; i >= 0; --i, --j) {
      operands[k].strides[i] = j < 0 || own[j] == 1 ? 0 : step;
      if (j >= 0 && own[j] != 1 && own[j] != whole[i])
        return ctx.fail(Status::kInvalidArgument, "operand {} of a chain does not broadcast to the result", k);
      if (j >= 0) step *= own[j];
    }
  }
  cpu::chain_f32(s.chain, whole.rank, whole.dims, operands, y.data, ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kChain = {"chain_f32", sizeof(State), scratch_bytes, prepare, run};
constexpr CpuKernel kHalves = {"chain_f16", sizeof(State), scratch_bytes, prepare, run};
constexpr CpuKernel kReduced = {"chain_reduce_f32", sizeof(State), scratch_bytes, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  State s;
  *reason = q.op == Op::kComposite
                ? "its body is not a chain of elementwise float32 functions, reduced over its last axes or not"
                : "tuned for float32 and float16";
  if (q.output_count != 1 || !read(q, &s)) return nullptr;
  *reason = "";
  if (s.chain.halves) return &kHalves;
  return s.chain.end.axes > 0 ? &kReduced : &kChain;
}

}  // namespace

extern const CpuOp kCpuOp_chain;
const CpuOp kCpuOp_chain = {"chain", choose};

}  // namespace vireo
