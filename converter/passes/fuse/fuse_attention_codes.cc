// Before   IntGemm(q, k) -> IntSoftmax -> IntGemm(., v), and the Transposes of q, k, v and of the result
// After    one composite with these as its body
// Fires    codes have 8 bits; both right operands are computed; one multiplier for all columns, no bias; the Softmax is
//          one of the last axis; leading extents are the same; what is inside has one consumer. A Transpose goes along
//          where it leaves rows in one piece. Idempotent: bodies are not entered.
// Numerics none: the body is the meaning.
//
// Scores and their shares of a few rows stay in the cache, and each head is read where it lies among the others.
#include "converter/passes/fuse/fuse_attention_codes.h"

#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/match.h"
#include "sdk/composites/attention/codes_attention.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"

namespace vireo::passes {
namespace {

bool holds_bytes(const ir::Value* v) { return v->type.dtype == DType::kI8 || v->type.dtype == DType::kU8; }

const char* fault_of(const ir::Node& product) {
  for (const size_t i : {0, 1}) {
    if (!holds_bytes(product.in(i))) return "its codes have 16 bits";
  }
  if (!holds_bytes(product.out())) return "its codes have 16 bits";
  if (product.in(1)->constant != nullptr) return "its right operand is constant";
  if (product.in(3) != nullptr) return "its product has a bias";
  for (const size_t i : {2, 4}) {
    if (product.in(i) != nullptr && element_count(product.in(i)->type.shape) != 1)
      return "its product has numbers of its own for each column";
  }
  return nullptr;
}

// The Transpose that makes `v` for its product alone and moves its axes so that `axis` stays the last; else null.
ir::Node* moved_operand(const ir::Value* v, int axis) {
  ir::Node* n = maker(v, Op::kTranspose);
  const int rank = v->type.shape.rank;
  return n != nullptr && v->one_use() && permutation(*n)[static_cast<size_t>(axis)] == rank - 1 ? n : nullptr;
}

bool same_leading_extents(const Shape& a, const Shape& b) {
  if (a.rank != b.rank || a.rank < 2 || a.rank > composites::kMostAttentionAxes) return false;
  for (int i = 0; i + 2 < a.rank; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

const char* attention_nodes(ir::Node& softmax, std::vector<ir::Node*>* nodes) {
  ir::Node *scores = maker(softmax.in(0), Op::kIntGemm), *product = only_user(softmax.out());
  if (scores == nullptr || product == nullptr || product->op != Op::kIntGemm || product->in(0) != softmax.out())
    return "it does not stand between two products";
  if (only_user(scores->out()) != &softmax) return "its scores have other consumers";
  for (const ir::Node* n : {scores, product}) {
    if (const char* why = fault_of(*n); why != nullptr) return why;
  }
  const Shape& shape = scores->in(0)->type.shape;
  const int rank = shape.rank, axis = softmax.attributes<attrs::IntSoftmax>().axis();
  if (axis != -1 && axis != rank - 1) return "it is one of another axis than the last";
  if (!same_leading_extents(shape, scores->in(1)->type.shape) ||
      !same_leading_extents(shape, product->in(1)->type.shape))
    return "its operands are repeated";
  if (ir::Node* q = moved_operand(scores->in(0), rank - 1); q != nullptr) nodes->push_back(q);
  ir::Node* k = moved_operand(scores->in(1), rank - 1);
  if (k == nullptr) k = moved_operand(scores->in(1), rank - 2);
  if (k != nullptr) nodes->push_back(k);
  if (ir::Node* v = moved_operand(product->in(1), rank - 1); v != nullptr) nodes->push_back(v);
  nodes->insert(nodes->end(), {scores, &softmax, product});
  ir::Node* after = only_user(product->out());
  if (after != nullptr && after->op == Op::kTranspose && permutation(*after).back() == rank - 1)
    nodes->push_back(after);
  return nullptr;
}

void run_fuse_attention_codes(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> found;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kIntSoftmax) found.push_back(&n);
  }
  for (ir::Node* n : found) {
    std::vector<ir::Node*> nodes;
    const char* why = attention_nodes(*n, &nodes);
    if (why != nullptr) {
      log.reject(*n, why);
      continue;
    }
    const std::string name = only_user(n->out())->name;  // of the product that makes the result
    make_composite(g, nodes, composites::kAttentionCodes)->name = name;
    log.changed();
  }
}

}  // namespace

const Pass kFuseAttentionCodes = {"fuse_attention_codes", run_fuse_attention_codes};

}  // namespace vireo::passes
