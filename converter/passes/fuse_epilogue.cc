// Before   x -> Conv | ConvTranspose | Gemm | MatMul -> Add(bias) -> Add(residual) -> activation -> Add(residual) |
//          Mul(factor)
// After    one composite with that chain as its body; each part but the first may be missing, one residual or factor
//          at most
// Fires    every value inside has one consumer; floating point; the bias is constant, one value a channel, and comes
//          first; the residual or factor has the result's own type; a Clip's bounds are constant; a PRelu's slopes are,
//          one a channel or one for all.        Idempotent: bodies are not entered.
// Numerics none: the body is the meaning, in the same order of operations.
//
// Where the product's operands go through bfloat16 (quant/schemes/bf16), the three Casts in front of it are part of the
// chain, and of that hint ("conv_bf16"); so is the one Cast of float16 weights (quant/schemes/fp16, "conv_f16"). So is
// the DequantizeLinear of constant weights ("matmul_codes"); products that share one get each their own.
//
// The hint names the first operator ("conv", "gemm"...); a device that knows it still reads the body. Weights stay
// inputs of the node, so that they are planned, shared and packed as any other constant; numbers (a Clip's bounds, a
// PRelu's one slope) go into the body.
#include "converter/passes/fuse_epilogue.h"

#include "converter/passes/composite.h"
#include "converter/passes/match.h"

namespace vireo::passes {
namespace {

const char* hint_of(const ir::Node& n) {
  switch (n.op) {
    case Op::kConv:
      return "conv";
    case Op::kGemm:
      return "gemm";
    case Op::kMatMul:
      return "matmul";
    default:
      return std::string(op_name(n.op)) == "ConvTranspose" ? "conv_transpose" : nullptr;
  }
}

// The Casts of x to bfloat16 and back, and that of constant weights from bfloat16, or that of constant weights from
// float16 by itself, when they are the product's alone.
std::vector<ir::Node*> casts_of(const ir::Node& core) {
  if (core.op != Op::kConv && core.op != Op::kGemm && core.op != Op::kMatMul) return {};
  ir::Node *wide = maker(core.in(0), Op::kCast), *weights = maker(core.in(1), Op::kCast);
  if (weights != nullptr && weights->in(0)->type.dtype == DType::kF16 && weights->in(0)->constant != nullptr &&
      core.out()->type.dtype == DType::kF32 && only_user(weights->out()) == &core && core.in(0) != weights->out()) {
    return {weights};
  }
  ir::Node* narrow = wide == nullptr ? nullptr : maker(wide->in(0), Op::kCast);
  if (narrow == nullptr || weights == nullptr || narrow->out()->type.dtype != DType::kBF16) return {};
  if (weights->in(0)->type.dtype != DType::kBF16 || weights->in(0)->constant == nullptr) return {};
  if (only_user(narrow->out()) != wide || only_user(wide->out()) != &core || only_user(weights->out()) != &core)
    return {};
  // The weights' first: what a body's first node can do in place, the composite is taken to do (composite_inplace), and
  // a product reads x to its end.
  return {weights, narrow, wide};
}

const char* f16_hint_of(const ir::Node& n) {
  return n.op == Op::kConv ? "conv_f16" : n.op == Op::kGemm ? "gemm_f16" : "matmul_f16";
}
const char* bf16_hint_of(const ir::Node& n) {
  return n.op == Op::kConv ? "conv_bf16" : n.op == Op::kGemm ? "gemm_bf16" : "matmul_bf16";
}

// The DequantizeLinear that makes the weights of a Gemm or MatMul from constants; null: there is none.
ir::Node* codes_of(const ir::Node& core) {
  if (core.op != Op::kGemm && core.op != Op::kMatMul) return nullptr;
  ir::Node* wide = maker(core.in(1), Op::kDequantizeLinear);
  if (wide == nullptr || core.in(0) == wide->out() || core.in(2) == wide->out()) return nullptr;
  for (const ir::Value* v : wide->inputs) {
    if (v != nullptr && v->constant == nullptr) return nullptr;
  }
  return wide;
}

// `wide` for `core` alone.
ir::Node* own_codes(ir::Graph& g, ir::Node* wide, ir::Node& core) {
  if (only_user(wide->out()) == &core) return wide;
  ir::Node* copy = g.add_node(wide->op, wide->attrs, wide->inputs, 1, &core);
  copy->name = wide->name;
  copy->version = wide->version;
  copy->out()->name = wide->out()->name;
  copy->out()->type = wide->out()->type;
  g.set_input(&core, 1, copy->out());
  return copy;
}

bool is_activation(const ir::Node& n) {
  switch (n.op) {
    case Op::kRelu:
    case Op::kLeakyRelu:
    case Op::kElu:
    case Op::kSigmoid:
    case Op::kHardSigmoid:
    case Op::kHardSwish:
    case Op::kTanh:
    case Op::kSwish:
    case Op::kGelu:
    case Op::kSoftplus:
    case Op::kMish:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kExp:
    case Op::kSqrt:
      return true;
    case Op::kClip: {
      double bound = 0;
      return (n.in(1) == nullptr || is_scalar(n.in(1), &bound)) && (n.in(2) == nullptr || is_scalar(n.in(2), &bound));
    }
    default:
      return false;
  }
}

// One value a channel: all extents are 1 but the channel's.
bool is_bias(const ir::Value& b, const Shape& y, int axis) {
  if (b.constant == nullptr || b.type.shape.rank > y.rank) return false;
  const int lead = y.rank - b.type.shape.rank;
  if (axis < lead) return false;
  for (int i = 0; i < b.type.shape.rank; ++i) {
    if (b.type.shape[i] != (i + lead == axis ? y[axis] : 1)) return false;
  }
  return true;
}

bool is_slope(const ir::Value& s, const TensorType& y, int axis) {
  double one = 0;
  return s.type.dtype == y.dtype && (is_scalar(&s, &one) || is_bias(s, y.shape, axis));
}

// The chain behind `core`, in order; `log` hears why it ends where a longer one was in sight.
std::vector<ir::Node*> chain_of(ir::Node& core, PassLog& log) {
  std::vector<ir::Node*> chain{&core};
  const TensorType type = core.out()->type;
  const bool spatial = core.op != Op::kGemm && core.op != Op::kMatMul;
  const int axis = spatial ? 1 : type.shape.rank - 1;
  bool bias = core.in(2) != nullptr, residual = false, activation = false;
  for (;;) {
    const ir::Value* at = chain.back()->out();
    ir::Node* next = only_user(at);
    if (next == nullptr) {
      if (at->uses.size() > 1 && (maker(at, core.op) != nullptr)) {
        for (const ir::Use& u : at->uses) {
          if (is_activation(*u.node)) {
            log.reject(core, std::to_string(at->uses.size()) + " consumers");
            break;
          }
        }
      }
      return chain;
    }
    if (next->outputs.size() != 1 || next->out()->type != type) return chain;
    if (next->op == Op::kAdd) {
      const ir::Value* other = other_input(*next, at);
      if (other == nullptr) return chain;
      if (!bias && !residual && !activation && is_bias(*other, type.shape, axis)) {
        bias = true;
      } else if (!residual && other->type == type) {
        residual = true;
      } else {
        return chain;
      }
    } else if (next->op == Op::kMul) {
      // silu(x W) * (x V): the later product takes the Mul, whichever it is.
      const ir::Value* other = other_input(*next, at);
      if (residual || other == nullptr || other == at || !(other->type == type)) return chain;
      residual = activation = true;
    } else if (!activation && next->in(0) == at &&
               (is_activation(*next) || (next->op == Op::kPRelu && is_slope(*next->in(1), type, axis)))) {
      activation = true;
    } else {
      return chain;
    }
    chain.push_back(next);
  }
}

// Numbers are read with the body.
bool is_number(const ir::Node& n, size_t input) {
  double one = 0;
  return input > 0 && (n.op == Op::kClip || (n.op == Op::kPRelu && is_scalar(n.in(input), &one)));
}

void run(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> cores;
  for (ir::Node& n : g.nodes()) {
    if (hint_of(n) != nullptr && n.outputs.size() == 1 && dtype_is_float(n.out()->type.dtype)) cores.push_back(&n);
  }
  // The last product first: of two that meet in one Add, the later takes it, and the earlier is its residual, ready in
  // time.
  for (size_t i = cores.size(); i-- > 0;) {
    std::vector<ir::Node*> chain = chain_of(*cores[i], log);
    const std::vector<ir::Node*> casts = casts_of(*cores[i]);
    const char* hint = casts.empty()       ? hint_of(*cores[i])
                       : casts.size() == 1 ? f16_hint_of(*cores[i])
                                           : bf16_hint_of(*cores[i]);
    chain.insert(chain.begin(), casts.begin(), casts.end());
    if (ir::Node* wide = codes_of(*cores[i]); wide != nullptr) {
      chain.insert(chain.begin(), own_codes(g, wide, *cores[i]));
      hint = cores[i]->op == Op::kGemm ? "gemm_codes" : "matmul_codes";
    }
    if (chain.size() < 2) continue;
    make_composite(g, chain, hint, is_number);
    log.changed();
  }
}

}  // namespace

const Pass kFuseEpilogue = {"fuse_epilogue", run};

}  // namespace vireo::passes
