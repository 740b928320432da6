// A product with a vector becomes a product with a matrix of one row or one column: kernels, composites and devices
// know matrices.
// Before   f(MatMul(x, b)), x [K]                   After  Reshape(f(MatMul(Reshape(x, [1, K]), b)))
//          f(MatMul(w, x)), x [K], w constant              Reshape(f(MatMul(Reshape(x, [1, K]), Transpose(w))))
//          f(MatMul(a, x)), x [K], a computed              Reshape(f(MatMul(a, Reshape(x, [K, 1]))))
// Fires    always. f are the elementwise nodes that follow with one use each, whose other operands are constants of
//          one value a column; a row of biases then lies along the product's row, where the epilogue finds it.
// Cost     none: views move nothing, and a constant is transposed once.
// Numerics none, but for a product's order of addition, which the kernel chooses.
// Bound    one MatMul of a vector less; adds views, so it stands outside of the repeated passes.  Idempotent.
#include "converter/passes/simplify/lift_vectors.h"

#include <algorithm>

#include "converter/passes/shared/match.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/traits.h"

namespace vireo::passes {
namespace {

bool is_vector(const ir::Value* v) { return v->type.shape.rank == 1; }

// `n` works on the product's rows as it does on its vectors: everything but `moved` is constant, one value a column
// (one for all where `numbers`, since columns are what the view behind takes away).
bool follows(const ir::Node& n, const ir::Value* moved, bool numbers) {
  if (!is_elementwise(n.op) || n.outputs.size() != 1 || !n.bodies.empty()) return false;
  const bool same = std::all_of(n.inputs.begin(), n.inputs.end(), [&](const ir::Value* v) {
    if (v == nullptr || v == moved) return true;
    const Shape& s = v->type.shape;
    return v->constant != nullptr && s.rank <= 1 && (!numbers || element_count(s) == 1);
  });
  return same && n.out()->type.shape == moved->type.shape && std::count(n.inputs.begin(), n.inputs.end(), moved) == 1;
}

// The nodes behind the product that can stand in front of the view.
std::vector<ir::Node*> tail_of(const ir::Node& product, bool numbers) {
  std::vector<ir::Node*> tail;
  for (const ir::Value* v = product.out(); v->type.shape.rank > 0;) {
    ir::Node* n = only_user(v);
    if (n == nullptr || !follows(*n, v, numbers)) break;
    tail.push_back(n);
    v = n->out();
  }
  return tail;
}

// The vector stands on the right, and the matrix on the left cannot change sides.
bool is_column(const ir::Node& n) {
  return is_vector(n.in(1)) && (is_vector(n.in(0)) || n.in(0)->constant == nullptr || n.in(0)->type.shape.rank != 2);
}

struct Operands {
  ir::Value *a, *b;
};

// Null where a shape function refuses.
Operands lift(ir::Graph& g, const ir::Node& n, bool column, ir::Node* before) {
  ir::Value *a = n.in(0), *b = n.in(1);
  const auto matrix = [&](ir::Value* v, bool one_column) -> ir::Value* {
    const Dim k = v->type.shape[0];
    const Shape shape = one_column ? Shape{2, {k, 1}} : Shape{2, {1, k}};
    const ir::Node* made = add_reshape(g, v, shape, n, before);
    return made == nullptr ? nullptr : made->out();
  };
  if (is_vector(b) && !column) {
    const ir::Node* turned = add_transpose(g, a, {1, 0}, n, before);
    return {matrix(b, false), turned == nullptr ? nullptr : turned->out()};
  }
  return {is_vector(a) ? matrix(a, false) : a, column ? matrix(b, true) : b};
}

// False where a shape function refuses.
bool rewrite_lift_vectors(ir::Graph& g, ir::Node* n) {
  const bool column = is_column(*n);
  const std::vector<ir::Node*> tail = tail_of(*n, column);
  ir::Node* end = tail.empty() ? n : tail.back();
  const Operands lifted = lift(g, *n, column, end);
  if (lifted.a == nullptr || lifted.b == nullptr) return false;
  const ir::Node* made = add_node(g, Op::kMatMul, n->attrs, {lifted.a, lifted.b}, *n, end);
  ir::Value* stands_for = n->out();
  for (const ir::Node* f : tail) {
    if (made == nullptr) return false;
    std::vector<ir::Value*> inputs = f->inputs;
    std::replace(inputs.begin(), inputs.end(), stands_for, made->out());
    made = add_node(g, f->op, f->attrs, std::move(inputs), *f, end);
    stands_for = f->out();
  }
  if (made != nullptr) made = add_reshape(g, made->out(), end->out()->type.shape, *end, end);
  if (made == nullptr) return false;
  made->out()->name = end->out()->name;
  g.replace_uses(end->out(), made->out());
  remove_unused(g, end);
  return true;
}

void run_lift_vectors(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kMatMul && (is_vector(n.in(0)) || is_vector(n.in(1)))) products.push_back(&n);
  }
  for (ir::Node* n : products) {
    if (rewrite_lift_vectors(g, n)) {
      log.changed();
    } else {
      log.reject(*n, "a shape function refuses the product of matrices");
    }
  }
}

}  // namespace

const Pass kLiftVectors = {"lift_vectors", run_lift_vectors};

}  // namespace vireo::passes
