// Before   y = Identity(x) | Cast to x's type | Transpose that moves nothing | a view of x's own shape | x * 1 | x / 1
// |
//              x - 0 | x + -0 | Concat of one | Expand, Tile, Slice, Pad that keep all         After  y is x
// Before   y = Transpose(Transpose(x))                After  y = Transpose(x) by the composed permutation
// Before   y = view(view(x)), shape static but for one extent          After  y = Reshape(x, constant)
// Fires    always where the shape says so (proven equal). x + 0 of floats stays: it turns -0 into +0.
//          Idempotent: a node is compared with what its input has become.
// Numerics none.
#include "converter/passes/simplify/eliminate_no_ops.h"

#include <cmath>

#include "converter/passes/shared/match.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::passes {
namespace {

bool is_view(Op op) { return op == Op::kReshape || op == Op::kSqueeze || op == Op::kUnsqueeze || op == Op::kFlatten; }

// Every element of the constant is `number` (for floats: the same bits, so that 0 and -0 differ).
bool all(const ir::Value* v, double number, bool negative_zero = false) {
  if (v == nullptr || v->constant == nullptr || dtype_bits(v->type.dtype) < 8 || v->type.dtype == DType::kString)
    return false;
  const ConstTensor& t = v->constant->tensor;
  if (dtype_is_float(t.type.dtype) && dtype_bits(t.type.dtype) < 16) return false;
  const int64_t n = t.count();
  if (n > 65536) return false;
  for (int64_t i = 0; i < n; ++i) {
    const double x = read_real(t.type.dtype, t.bytes.data(), i);
    if (x != number || (dtype_is_float(t.type.dtype) && number == 0 && std::signbit(x) != negative_zero)) return false;
  }
  return n > 0;
}

bool moves_nothing(const std::vector<int>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int>(i)) return false;
  }
  return true;
}

// What the node's output equals, or null.
ir::Value* same_as(const ir::Node& n) {
  ir::Value* x = n.in(0);
  ir::Value* y = n.out(0);
  if (x == nullptr || y == nullptr) return nullptr;
  const bool same_type = x->type == y->type;
  switch (n.op) {
    case Op::kIdentity:
      return x;
    case Op::kCast:
    case Op::kExpand:
    case Op::kTile:
    case Op::kReshape:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
    case Op::kFlatten:
      return same_type ? x : nullptr;
    case Op::kConcat:
      return n.inputs.size() == 1 ? x : nullptr;
    case Op::kTranspose:
      return moves_nothing(permutation(n)) ? x : nullptr;
    case Op::kSlice:
      return same_type && (n.in(4) == nullptr || all(n.in(4), 1)) ? x : nullptr;
    case Op::kMul:
      if (same_type && all(n.in(1), 1)) return x;
      return n.in(1) != nullptr && n.in(1)->type == y->type && all(x, 1) ? n.in(1) : nullptr;
    case Op::kDiv:
      return same_type && all(n.in(1), 1) ? x : nullptr;
    case Op::kSub:
      return same_type && all(n.in(1), 0) ? x : nullptr;
    case Op::kAdd: {
      const bool negative = dtype_is_float(y->type.dtype);
      if (same_type && all(n.in(1), 0, negative)) return x;
      return n.in(1) != nullptr && n.in(1)->type == y->type && all(x, 0, negative) ? n.in(1) : nullptr;
    }
    case Op::kPad:
      return same_type && all(n.in(1), 0) ? x : nullptr;
    default:
      return nullptr;
  }
}

// Why a node with a neutral operand is something else than its input; null: it has none.
const char* almost(const ir::Node& n) {
  if (n.op != Op::kAdd && n.op != Op::kSub && n.op != Op::kMul && n.op != Op::kDiv) return nullptr;
  const bool product = n.op == Op::kMul || n.op == Op::kDiv;
  const bool commutes = n.op == Op::kMul || n.op == Op::kAdd;
  for (size_t i = commutes ? 0 : 1; i < 2; ++i) {
    const ir::Value *neutral = n.in(i), *x = n.in(1 - i);
    if (n.op == Op::kAdd && dtype_is_float(n.out()->type.dtype) && all(neutral, 0)) return "it turns -0 into 0";
    const bool minus = n.op == Op::kAdd && dtype_is_float(n.out()->type.dtype);
    if (x != nullptr && x->type != n.out()->type && all(neutral, product ? 1 : 0, minus))
      return "a neutral operand makes it larger";
  }
  return nullptr;
}

// Transpose(Transpose(x, p), q): output dimension i is dimension p[q[i]] of x.
bool compose_transposes(ir::Graph& g, ir::Node& n) {
  const ir::Node* inner = n.op == Op::kTranspose ? maker(n.in(0), Op::kTranspose) : nullptr;
  if (inner == nullptr) return false;
  const std::vector<int> p = permutation(*inner), q = permutation(n);
  std::vector<int> both;
  for (const int i : q) both.push_back(p[static_cast<size_t>(i)]);
  ir::Node* one = add_transpose(g, inner->in(0), both, n, &n);
  if (one == nullptr) return false;
  one->out()->name = n.out()->name;
  g.replace_uses(n.out(), one->out());
  g.remove(&n);
  return true;
}

bool compose_views(ir::Graph& g, ir::Node& n, PassLog& log) {
  if (!is_view(n.op) || n.in(0)->producer == nullptr || !is_view(n.in(0)->producer->op)) return false;
  ir::Node* one = add_reshape(g, n.in(0)->producer->in(0), n.out()->type.shape, n, &n);
  if (one == nullptr) {
    log.reject(n, "no constant shape says both");
    return false;
  }
  one->out()->name = n.out()->name;
  one->out()->contents = n.out()->contents;
  g.replace_uses(n.out(), one->out());
  g.remove(&n);
  return true;
}

void run_eliminate_no_ops(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it++;
    if (n.outputs.empty() || n.out(0) == nullptr || n.out(0)->unused()) continue;
    ir::Value* x = same_as(n);
    if (x != nullptr) {
      g.replace_uses(n.out(0), x);
      g.remove(&n);
      log.changed();
    } else if (const char* refused = almost(n)) {
      log.reject(n, refused);
    } else if (compose_transposes(g, n) || compose_views(g, n, log)) {
      log.changed();
      --it;  // the node that came instead may be a no-op itself
    }
  }
}

}  // namespace

const Pass kEliminateNoOps = {"eliminate_no_ops", run_eliminate_no_ops};

}  // namespace vireo::passes
