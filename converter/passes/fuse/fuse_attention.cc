// Before   q, k, v -> Cast to bfloat16 -> Attention(mask) -> Cast to float32
// or       k, v in bfloat16, float16 or int8 -> Cast to float32 | DequantizeLinear -> Attention(q, ., ., mask), float32
// After    one composite with these as its body; the Casts of k, v and y may be missing in the first form. The second
//          begins with a Cast of q to float32, which it is: so its result may lie on q (composites.def).
// Fires    the Casts and DequantizeLinears are the Attention's alone, which has no cached keys and y alone, of q's
//          shape; k and v of one type; one scale for all or one a row (rank 4, blocks of the last axis), no zero
//          points. Idempotent: bodies are not entered.
// Numerics none: the body is the meaning.
//
// A kernel rounds or widens operands where it reads or packs them; nodes of their own would write and read each once
// more, which for a decoder's cache is several times what its smaller type saved.
#include "converter/passes/fuse/fuse_attention.h"

#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/view.h"

namespace vireo::passes {
namespace {

// The Cast of a float32 value that makes input `i` for `n` alone; null: there is none.
ir::Node* cast_into(const ir::Node& n, size_t i) {
  ir::Node* cast = maker(n.in(i), Op::kCast);
  return cast != nullptr && cast->in(0)->type.dtype == DType::kF32 && only_user(cast->out()) == &n ? cast : nullptr;
}

const char* chain_of(ir::Node& n, std::vector<ir::Node*>* chain) {
  ir::Node* first = cast_into(n, 0);
  if (first == nullptr) return "its queries have no Cast of their own";
  if (n.outputs.size() != 1 || n.in(4) != nullptr) return "it has cached keys";
  if (!(n.out()->type.shape == n.in(0)->type.shape)) return "its values are not of the keys' size";
  chain->push_back(first);
  for (const size_t i : {1, 2}) {
    if (ir::Node* cast = cast_into(n, i); cast != nullptr) chain->push_back(cast);
  }
  chain->push_back(&n);
  ir::Node* last = only_user(n.out());
  if (last != nullptr && last->op == Op::kCast && last->out()->type.dtype == DType::kF32) chain->push_back(last);
  return nullptr;
}

bool is_one_a_row(const ir::Node& n) {
  const auto& a = n.attributes<attrs::DequantizeLinear>();
  const Shape &x = n.in(0)->type.shape, &scale = n.in(1)->type.shape;
  if (n.in(2) != nullptr || n.in(0)->type.dtype != DType::kI8 || n.in(1)->type.dtype != DType::kF32) return false;
  if (a.block_size() == 0) return scale.is_static() && element_count(scale) == 1;
  return x.rank == 4 && (a.axis() == 3 || a.axis() == -1) && a.block_size() == x[3];
}

// The node that widens input `i` for `n` alone; null: there is none.
ir::Node* widens_queries(const ir::Node& n, size_t i) {
  ir::Node* wide = n.in(i)->producer;
  if (wide == nullptr || only_user(wide->out()) != &n) return nullptr;
  if (wide->op == Op::kDequantizeLinear) return is_one_a_row(*wide) ? wide : nullptr;
  const DType from = wide->op == Op::kCast ? wide->in(0)->type.dtype : DType::kNone;
  return from == DType::kBF16 || from == DType::kF16 ? wide : nullptr;
}

// Null with no `chain`: not its case.
const char* cached_chain_of(ir::Node& n, std::vector<ir::Node*>* chain) {
  ir::Node *k = widens_queries(n, 1), *v = widens_queries(n, 2);
  if (k == nullptr || v == nullptr) return nullptr;
  if (k->in(0)->type.dtype != v->in(0)->type.dtype) return "keys and values are of two types";
  if (n.outputs.size() != 1 || n.in(4) != nullptr) return "it has cached keys";
  if (!(n.out()->type.shape == n.in(0)->type.shape)) return "its values are not of the keys' size";
  *chain = {k, v, &n};
  return nullptr;
}

void run_fuse_attention(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> found;
  for (ir::Node& n : g.nodes()) {
    const DType type = n.op == Op::kAttention ? n.in(0)->type.dtype : DType::kNone;
    if (type == DType::kBF16 || type == DType::kF32) found.push_back(&n);
  }
  for (ir::Node* n : found) {
    const bool narrow = n->in(0)->type.dtype == DType::kBF16;
    std::vector<ir::Node*> chain;
    const char* reason = narrow ? chain_of(*n, &chain) : cached_chain_of(*n, &chain);
    if (reason != nullptr) log.reject(*n, reason);
    if (reason != nullptr || chain.empty()) continue;
    make_composite(g, chain, narrow ? composites::kAttentionBf16 : composites::kAttentionCached);
    log.changed();
  }
}

}  // namespace

const Pass kFuseAttention = {"fuse_attention", run_fuse_attention};

}  // namespace vireo::passes
