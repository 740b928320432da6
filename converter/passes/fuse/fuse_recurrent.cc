// Before   x -> Cast to bfloat16 -> Cast to float32 -> LSTM (Casts of constant bfloat16 W and R to float32, ...) -> y,
//          y_h, y_c, of which any may be missing
// After    one composite with these as its body, "lstm_bf16"
// Fires    the Casts are the LSTM's alone.        Idempotent: bodies are not entered.
// Numerics none: the body is the meaning.
//
// A kernel reads the weights in bfloat16, once a step; nodes of their own would widen them to float32 for each run.
#include "converter/passes/fuse/fuse_recurrent.h"

#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/match.h"

namespace vireo::passes {
namespace {

// The Cast that makes input `i` for `n` alone from a value of this type; null: there is none.
ir::Node* cast_into(const ir::Node& n, size_t i, DType from) {
  ir::Node* cast = maker(n.in(i), Op::kCast);
  return cast != nullptr && cast->in(0)->type.dtype == from && only_user(cast->out()) == &n ? cast : nullptr;
}

std::vector<ir::Node*> chain_of(ir::Node& n) {
  ir::Node *wide = cast_into(n, 0, DType::kBF16), *w = cast_into(n, 1, DType::kBF16),
           *r = cast_into(n, 2, DType::kBF16);
  ir::Node* narrow = wide == nullptr ? nullptr : cast_into(*wide, 0, DType::kF32);
  if (narrow == nullptr || w == nullptr || r == nullptr) return {};
  if (w->in(0)->constant == nullptr || r->in(0)->constant == nullptr) return {};
  return {narrow, wide, w, r, &n};
}

void run_fuse_recurrent(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> found;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kLSTM && n.in(0)->type.dtype == DType::kF32) found.push_back(&n);
  }
  for (ir::Node* n : found) {
    const std::vector<ir::Node*> chain = chain_of(*n);
    if (chain.empty()) continue;
    make_composite(g, chain, composites::kLstmBf16);
    log.changed();
  }
}

}  // namespace

const Pass kFuseRecurrent = {"fuse_recurrent", run_fuse_recurrent};

}  // namespace vireo::passes
