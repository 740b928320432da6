// Views that other optimisers put around a product, so that it may be a Gemm, go.
// Before   Reshape(Gemm(Reshape(x, [rows, K]), w, b), [..., N]), x = [..., K]        After  MatMul(x, w) + b
//          and with any other shape behind                                          After  Reshape(MatMul(x, w) + b)
//          or, where x has other columns, [..., K / D, D]                           After  MatMul(Reshape(x), w) + b
// Fires    alpha and beta are 1, x is not transposed, w is no transposed matrix or a constant; b has one value a
// column;
//          the product is used by that view alone; the view in front keeps K, or the one behind N;
//          products alone use the rows.
// Cost     none: a product with a matrix runs over rows whatever their shape. Without the views the epilogue sees what
//          follows the product.
// Numerics none.
// Bound    one Gemm less; runs once, for MatMul and Add count as two nodes until the epilogue joins them.  Idempotent.
#include "converter/passes/simplify/unflatten_gemm.h"

#include "converter/passes/shared/match.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"

namespace vireo::passes {
namespace {

// The view around the product `n`; null where it is not between two.
ir::Node* view_behind(const ir::Node& n) {
  if (maker(n.in(0), Op::kReshape) == nullptr) return nullptr;
  ir::Node* behind = only_user(n.out());
  return behind != nullptr && behind->op == Op::kReshape && behind->in(0) == n.out() ? behind : nullptr;
}

bool has_columns(const ir::Value* v, Dim columns) {
  const Shape& s = v->type.shape;
  return s.rank >= 2 && s[s.rank - 1] == columns;
}

const char* refuse(const ir::Node& n, const ir::Node& behind) {
  const auto& a = n.attributes<attrs::Gemm>();
  // Else the view stays, with a user less: what counts users could then find something to do in a second run.
  bool alone = n.in(0)->output_uses == 0;
  for (const ir::Use& u : n.in(0)->uses) alone = alone && u.node->op == Op::kGemm;
  if (!alone) return "its rows are used elsewhere";
  if (!has_columns(n.in(0)->producer->in(0), n.in(0)->type.shape[1]) &&
      !has_columns(behind.out(), n.out()->type.shape[1])) {
    return "neither view keeps its columns";
  }
  if (a.trans_a() || a.alpha() != 1 || (n.in(2) != nullptr && a.beta() != 1)) return "it is turned or has a factor";
  if (a.trans_b() && n.in(1)->constant == nullptr) return "its second operand is turned and not constant";
  if (n.in(2) == nullptr) return nullptr;
  const Shape& b = n.in(2)->type.shape;
  const bool columns = b.rank <= 2 && (b.rank < 2 || b[0] == 1);
  return columns ? nullptr : "its bias differs from row to row";
}

// False where a shape function refuses.
bool rewrite_unflatten_gemm(ir::Graph& g, ir::Node* n, ir::Node* behind) {
  ir::Value *x = n->in(0)->producer->in(0), *w = n->in(1);
  if (!has_columns(x, n->in(0)->type.shape[1])) {
    Shape rows = behind->out()->type.shape;
    rows[rows.rank - 1] = n->in(0)->type.shape[1];
    const ir::Node* front = add_reshape(g, x, rows, *n->in(0)->producer, behind);
    if (front == nullptr) return false;
    x = front->out();
  }
  if (n->attributes<attrs::Gemm>().trans_b()) w = add_transpose(g, w, {1, 0}, *n, behind)->out();
  ir::Node* last = add_node(g, Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {x, w}, *n, behind);
  if (last != nullptr && n->in(2) != nullptr)
    last = add_node(g, Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {last->out(), n->in(2)}, *n, behind);
  if (last != nullptr && last->out()->type != behind->out()->type)
    last = add_reshape(g, last->out(), behind->out()->type.shape, *behind, behind);
  if (last == nullptr) return false;
  last->out()->name = behind->out()->name;
  g.replace_uses(behind->out(), last->out());
  remove_unused(g, behind);
  return true;
}

void run_unflatten_gemm(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kGemm) products.push_back(&n);
  }
  for (ir::Node* n : products) {
    ir::Node* behind = view_behind(*n);
    if (behind == nullptr) continue;
    if (const char* why = refuse(*n, *behind)) {
      log.reject(*n, why);
    } else if (rewrite_unflatten_gemm(g, n, behind)) {
      log.changed();
    } else {
      log.reject(*n, "the shape behind does not follow from the rows");
    }
  }
}

}  // namespace

const Pass kUnflattenGemm = {"unflatten_gemm", run_unflatten_gemm};

}  // namespace vireo::passes
