// Products of few rows that share their input become one, whose result is split.
// Before   MatMul(x, a), MatMul(x, b)... each perhaps + bias         After  Split(MatMul(x, [a b ...]) + [bias ...])
// Fires    weights are constant matrices with rows, of one type, together at most kMostBytes; those with a bias of one
//          value a column and those without are merged apart; x has at most kFewRows rows: then reading x and starting
//          the product cost as much as the product, where the copies of Split are small. With more rows the copies cost
//          more than they save.
// Numerics none: each column is the same sum; a kernel may add it in another order.
// Bound    n products become one; one Split is added.        Idempotent.
#include "converter/passes/simplify/merge_shared_gemm.h"

#include <cstring>

#include "converter/passes/shared/match.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::passes {
namespace {

constexpr int64_t kFewRows = 16;
constexpr int64_t kMostBytes = int64_t{1} << 28;  // two copies are in memory while they are joined

struct Product {
  ir::Node* n = nullptr;
  ir::Node* sum = nullptr;  // the Add of its bias
  ir::ConstantPtr bias;
};

ir::ConstantPtr matrix_of(const ir::Node& n) {
  const ir::Value* w = n.in(1);
  const bool matrix = w != nullptr && w->constant != nullptr && w->type.shape.rank == 2;
  return matrix && w->type.shape[0] > 0 ? w->constant : nullptr;  // sums of nothing have no columns to lay side by side
}

Product product_of(ir::Node* n) {
  Product p;
  p.n = n;
  ir::Node* add = only_user(n->out());
  const ir::Value* b = add != nullptr && add->op == Op::kAdd ? other_input(*add, n->out()) : nullptr;
  if (b != nullptr && b->constant != nullptr && b->type.shape.rank == 1 && add->out()->type == n->out()->type &&
      b->type.shape[0] == n->in(1)->type.shape[1]) {
    p.sum = add;
    p.bias = b->constant;
  }
  return p;
}

// Columns side by side.
ir::ConstantPtr side_by_side(const std::vector<ir::ConstantPtr>& parts, int64_t rows) {
  int64_t columns = 0;
  for (const auto& c : parts) columns += c->tensor.count() / rows;
  const DType t = parts[0]->tensor.type.dtype;
  const int64_t size = dtype_bits(t) / 8;
  std::vector<uint8_t> bytes(static_cast<size_t>(rows * columns * size));
  uint8_t* to = bytes.data();
  for (int64_t r = 0; r < rows; ++r) {
    for (const auto& c : parts) {
      const auto run = static_cast<size_t>(c->tensor.count() / rows * size);
      std::memcpy(to, c->tensor.bytes.data() + static_cast<size_t>(r) * run, run);
      to += run;
    }
  }
  const bool matrix = parts[0]->tensor.type.shape.rank == 2;
  return ir::make_constant({t, matrix ? Shape{2, {rows, columns}} : Shape{1, {columns}}}, std::move(bytes));
}

const char* merge(ir::Graph& g, const std::vector<Product>& group) {
  const ir::Node& first = *group.front().n;
  const Shape& x = first.in(0)->type.shape;
  int64_t rows = 1, bytes = 0;
  for (int i = 0; i + 1 < x.rank; ++i) {
    if (is_symbolic(x[i])) return "the number of rows is not known";
    rows *= x[i];
  }
  if (rows > kFewRows) return "too many rows: the parts would be copied for longer than is saved";
  std::vector<ir::ConstantPtr> weights, biases;
  std::vector<int64_t> sizes;
  ir::Node* before = group.front().n;
  for (const Product& p : group) {
    weights.push_back(matrix_of(*p.n));
    if (p.bias != nullptr) biases.push_back(p.bias);
    sizes.push_back(p.n->in(1)->type.shape[1]);
    bytes += weights.back()->size_bytes();
  }
  if (bytes > kMostBytes) return "the weights are large";
  ir::Value* all = g.add_constant(first.in(1)->name, side_by_side(weights, first.in(1)->type.shape[0]));
  ir::Node* one = add_node(g, Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {first.in(0), all}, first, before);
  if (one == nullptr) return "the shapes do not fit";
  ir::Value* y = one->out();
  if (!biases.empty()) {
    ir::Value* b = g.add_constant("", side_by_side(biases, 1));
    y = add_node(g, Op::kAdd, group.front().sum->attrs, {y, b}, *group.front().sum, before)->out();
  }
  attrs::SplitT a;
  a.axis = -1;
  const Shape count = {1, {static_cast<Dim>(sizes.size())}};
  ir::Value* parts = g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, count, sizes));
  ir::Node* split = g.add_node(Op::kSplit, pack<attrs::Split>(a), {y, parts}, sizes.size(), before);
  split->name = first.name;
  std::string message;
  if (!ok(ir::infer_node(g, split, nullptr, &message))) {
    g.remove(split);
    return "the shapes do not fit";
  }
  for (size_t i = 0; i < group.size(); ++i) {
    ir::Node* last = group[i].sum != nullptr && !biases.empty() ? group[i].sum : group[i].n;
    split->out(i)->name = last->out()->name;
    g.replace_uses(last->out(), split->out(i));
    remove_unused(g, last);
  }
  return nullptr;
}

void run_merge_shared_gemm(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> nodes;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kMatMul && n.outputs.size() == 1 && matrix_of(n) != nullptr && n.in(0)->constant == nullptr)
      nodes.push_back(&n);
  }
  std::vector<bool> done(nodes.size(), false);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (done[i]) continue;
    std::vector<Product> group;
    for (size_t k = i; k < nodes.size(); ++k) {
      if (done[k] || nodes[k]->in(0) != nodes[i]->in(0)) continue;
      if (nodes[k]->in(1)->type.dtype != nodes[i]->in(1)->type.dtype) continue;
      if (group.empty() || nodes[k]->in(1)->type.shape[0] == nodes[i]->in(1)->type.shape[0]) {
        group.push_back(product_of(nodes[k]));
        done[k] = true;
      }
    }
    if (group.size() < 2) continue;
    // Those with a bias and those without, each for themselves: the epilogue takes an Add behind a product of its own
    // into it, and a second run of the pipeline would find the others alone.
    std::vector<Product> parts[2];
    for (const Product& p : group) parts[p.bias != nullptr].push_back(p);
    bool merged = false;
    const char* refused = "only some have a bias";
    ir::Node* const at = group.front().n;
    for (const std::vector<Product>& part : parts) {
      if (part.size() < 2) continue;
      refused = merge(g, part);
      if (refused == nullptr) log.changed();
      merged = merged || refused == nullptr;
    }
    if (!merged) log.reject(*at, refused);
  }
}

}  // namespace

const Pass kMergeSharedGemm = {"merge_shared_gemm", run_merge_shared_gemm};

}  // namespace vireo::passes
