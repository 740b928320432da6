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
// the DequantizeLinear of constant weights ("matmul_codes"), with the Cast of its float16 scales in front of it and a
// Transpose of the matrix behind it; products that share these get each their own.
//
// The hint names the first operator ("conv", "gemm"...); a device that knows it still reads the body. Weights stay
// inputs of the node, so that they are planned, shared and packed as any other constant; numbers (a Clip's bounds, a
// PRelu's one slope) go into the body.
#include "converter/passes/fuse/fuse_epilogue.h"

#include <algorithm>

#include "converter/passes/layout/layout_roles.h"
#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/match.h"
#include "sdk/composites/function.h"
#include "sdk/composites/operand.h"

namespace vireo::passes {
namespace {

using composites::Form;
using composites::Stored;

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
  return {narrow, wide, weights};
}

// What makes the weights of a Gemm or MatMul from constants, in order: the Cast of float16 scales, the
// DequantizeLinear, a Transpose of the matrix; the first and the last may be missing. Empty for other weights.
std::vector<ir::Node*> codes_of(const ir::Node& core) {
  if (core.op != Op::kGemm && core.op != Op::kMatMul) return {};
  ir::Node *turn = maker(core.in(1), Op::kTranspose),
           *wide = maker(turn == nullptr ? core.in(1) : turn->in(0), Op::kDequantizeLinear);
  if (wide == nullptr || core.in(0) == core.in(1) || core.in(2) == core.in(1)) return {};
  if (turn != nullptr && core.in(1)->type.shape.rank != 2) return {};
  std::vector<ir::Node*> out;
  if (ir::Node* cast = maker(wide->in(1), Op::kCast); cast != nullptr && cast->in(0)->type.dtype == DType::kF16)
    out.push_back(cast);
  const ir::Value* const scales = out.empty() ? wide->in(1) : out[0]->in(0);
  for (const ir::Value* v :
       {static_cast<const ir::Value*>(wide->in(0)), scales, static_cast<const ir::Value*>(wide->in(2))}) {
    if (v != nullptr && v->constant == nullptr) return {};
  }
  out.push_back(wide);
  if (turn != nullptr) out.push_back(turn);
  return out;
}

// `nodes`, each read by the next and the last by `core`, for `core` alone: copies from the first on that others read.
void own_codes(ir::Graph& g, ir::Node& core, std::vector<ir::Node*>* nodes) {
  const bool own = std::all_of(nodes->begin(), nodes->end(), [](const ir::Node* n) { return n->out()->one_use(); });
  if (own) return;
  ir::Value* made = nullptr;
  for (ir::Node*& n : *nodes) {
    std::vector<ir::Value*> inputs = n->inputs;
    if (made != nullptr) inputs[n->op == Op::kDequantizeLinear ? 1 : 0] = made;
    ir::Node* copy = g.add_node(n->op, n->attrs, std::move(inputs), 1, &core);
    copy->name = n->name;
    copy->version = n->version;
    copy->out()->name = n->out()->name;
    copy->out()->type = n->out()->type;
    made = copy->out();
    n = copy;
  }
  g.set_input(&core, 1, made);
}

bool is_activation(const ir::Node& n) {
  double bound = 0;
  if (n.op == Op::kClip)
    return (n.in(1) == nullptr || is_scalar(n.in(1), &bound)) && (n.in(2) == nullptr || is_scalar(n.in(2), &bound));
  return (composites::function_uses(n.op) & composites::kEndsProduct) != 0;
}

// One value a channel, in every run the same.
bool is_bias(const ir::Value& b, const Shape& y, int axis) {
  return b.constant != nullptr && composites::is_one_a_channel(b.type.shape, y, axis);
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
  const int axis = spatial && !is_channels_last(core) ? 1 : type.shape.rank - 1;
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

void run_fuse_epilogue(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> cores;
  for (ir::Node& n : g.nodes()) {
    const bool product = composites::find_composite(Form::kEpilogue, n.op, Stored::kPlain) != nullptr;
    if (product && n.outputs.size() == 1 && dtype_is_float(n.out()->type.dtype)) cores.push_back(&n);
  }
  // The last product first: of two that meet in one Add, the later takes it, and the earlier is its residual, ready in
  // time.
  for (size_t i = cores.size(); i-- > 0;) {
    std::vector<ir::Node*> chain = chain_of(*cores[i], log);
    const std::vector<ir::Node*> casts = casts_of(*cores[i]);
    Stored stored = casts.empty() ? Stored::kPlain : casts.size() == 1 ? Stored::kF16 : Stored::kBf16;
    chain.insert(chain.begin(), casts.begin(), casts.end());
    if (std::vector<ir::Node*> codes = codes_of(*cores[i]); !codes.empty()) {
      own_codes(g, *cores[i], &codes);
      chain.insert(chain.begin(), codes.begin(), codes.end());
      stored = Stored::kCodes;
    }
    if (chain.size() < 2) continue;
    make_composite(g, chain, *composites::find_composite(Form::kEpilogue, cores[i]->op, stored), is_number);
    log.changed();
  }
}

}  // namespace

const Pass kFuseEpilogue = {"fuse_epilogue", run_fuse_epilogue};

}  // namespace vireo::passes
