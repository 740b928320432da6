// Before   x -> IntConv | IntGemm -> IntAdd(residual) | IntAffine
// After    one composite with these two as its body
// Fires    codes have 8 bits; the product's have one consumer, its weights no zero points; a convolution has one group;
//          the residual has the shape of the result, and the sums are long: the end of a short one waits for the
//          residual's rows, a pass over the codes does not; factors are constant, one for all or one a channel, which
//          is the last axis, and there are rows enough to share them. Idempotent: bodies are not entered.
// Numerics none: the body is the meaning, and the codes between are rounded as they were.
#include "converter/passes/fuse/fuse_codes.h"

#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/int_conv/int_conv_generated.h"

namespace vireo::passes {
namespace {

bool is_byte(const ir::Value* v) { return dtype_bits(v->type.dtype) == 8; }

// Why `n` ends in its own codes; null: it need not.
const char* why_not(const ir::Node& n) {
  if (!is_byte(n.in(0)) || !is_byte(n.out())) return "its codes have 16 bits";
  if (n.inputs.size() > 4 && n.inputs[4] != nullptr) return "its weights have zero points";
  if (n.op == Op::kIntConv && n.attributes<attrs::IntConv>().group() != 1) return "it is in groups";
  return nullptr;
}

bool is_last(const ir::Node& product) {
  return product.op == Op::kIntGemm || product.attributes<attrs::IntConv>().layout() != 0;
}

// One value for all or one for each index of the last axis.
bool is_per_column(const ir::Value& v, const Shape& y) {
  const Shape& s = v.type.shape;
  if (v.constant == nullptr || s.rank > y.rank) return false;
  for (int i = 0; i < s.rank; ++i) {
    if (s[i] != 1 && (i != s.rank - 1 || s[i] != y[y.rank - 1])) return false;
  }
  return true;
}

// On a core with matrix tiles a residual of 256 products costs 1.1 to 1.4 times as much in the end as behind it, one of
// 512 and 960 0.93 to 1.0 times; without tiles neither matters. One row of factors takes twice the product's time.
constexpr int64_t kLongSum = 512, kFewestRows = 16;

// Products of one sum.
int64_t depth_of(const ir::Node& product) {
  const Shape& w = product.in(1)->type.shape;
  if (product.op == Op::kIntGemm) return w.rank > 1 ? w[w.rank - 2] : w[0];
  int64_t depth = 1;
  for (int i = 1; i < w.rank; ++i) depth *= w[i];
  return depth;
}

bool has_few_rows(const Shape& y) {
  if (y.rank == 0) return true;
  const int64_t all = element_count(y);  // -1 where extents are open
  return all >= 0 && all < kFewestRows * y[y.rank - 1];
}

const char* why_not_with(const ir::Node& product, const ir::Node& step) {
  const ir::Value* codes = product.out();
  if (codes == nullptr) return "nothing reads it";
  if (!is_byte(step.out())) return "what follows has codes of 16 bits";
  if (step.op == Op::kIntAdd) {
    const ir::Value* other = other_input(step, codes);
    if (other == nullptr || other == codes) return "it is added to itself";
    if (!is_byte(other)) return "what is added has codes of 16 bits";
    if (other->type.shape != codes->type.shape) return "what is added is repeated";
    return depth_of(product) >= kLongSum ? nullptr : "its sums are short";
  }
  if (step.in(0) != codes) return "its codes are a factor";
  for (size_t i = 1; i < step.inputs.size(); ++i) {
    if (step.in(i) == nullptr) continue;
    const bool one = step.in(i)->constant != nullptr && element_count(step.in(i)->type.shape) == 1;
    if (!one && (!is_last(product) || !is_per_column(*step.in(i), codes->type.shape)))
      return "factors do not lie along its columns";
  }
  return has_few_rows(codes->type.shape) ? "it has few rows" : nullptr;
}

void run_fuse_codes(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kIntConv || n.op == Op::kIntGemm) products.push_back(&n);
  }
  // The last product first: of two that meet in one IntAdd, the later takes it, and the earlier is its residual, ready
  // in time.
  for (size_t i = products.size(); i-- > 0;) {
    ir::Node& product = *products[i];
    ir::Node* step = only_user(product.out());
    if (step == nullptr || (step->op != Op::kIntAdd && step->op != Op::kIntAffine)) continue;
    const char* why = why_not(product);
    if (why == nullptr) why = why_not_with(product, *step);
    if (why != nullptr) {
      log.reject(product, why);
      continue;
    }
    make_composite(g, {&product, step}, product.op == Op::kIntConv ? composites::kIntConv : composites::kIntGemm);
    log.changed();
  }
}

}  // namespace

const Pass kFuseCodes = {"fuse_codes", run_fuse_codes};

}  // namespace vireo::passes
