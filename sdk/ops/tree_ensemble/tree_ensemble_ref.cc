#include "sdk/ops/tree_ensemble/tree_ensemble.h"

#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/tree_ensemble/finish.h"

namespace vireo {
namespace {

using Attrs = attrs::TreeEnsemble;

bool goes_true(const Attrs& a, uint32_t node, double x) {
  if (a.missing_true() != nullptr && a.missing_true()->Get(node) != 0 && x != x) return true;
  const double t =
      a.thresholds_f64() != nullptr ? a.thresholds_f64()->Get(node) : static_cast<double>(a.thresholds()->Get(node));
  switch (static_cast<attrs::TreeMode>(a.modes()->Get(node))) {
    case attrs::TreeMode::Leq:
      return x <= t;
    case attrs::TreeMode::Lt:
      return x < t;
    case attrs::TreeMode::Gte:
      return x >= t;
    case attrs::TreeMode::Gt:
      return x > t;
    case attrs::TreeMode::Eq:
      return x == t;
    case attrs::TreeMode::Neq:
      return x != t;
    case attrs::TreeMode::Member:
      break;
  }
  for (uint32_t k = a.member_begin()->Get(node); k < a.member_begin()->Get(node + 1); ++k) {
    if (x == a.members()->Get(k)) return true;
  }
  return false;
}

// The leaf that a row at `row` leads to.
using FindLeaf = uint32_t (*)(const Attrs& a, uint32_t reference, const void* row);
template <class T>
uint32_t find_leaf(const Attrs& a, uint32_t reference, const void* row) {
  const T* x = static_cast<const T*>(row);
  while ((reference & kTreeLeaf) == 0) {
    const double v = static_cast<double>(static_cast<compute_t<T>>(x[a.features()->Get(reference)]));
    reference = (goes_true(a, reference, v) ? a.true_children() : a.false_children())->Get(reference);
  }
  return reference & ~kTreeLeaf;
}

// The scores of one row, before the transform.
void score_row(const Attrs& a, FindLeaf find, const void* row, const TreeVotes& votes) {
  const uint32_t trees = a.roots() == nullptr ? 0 : a.roots()->size();
  votes.begin();
  for (uint32_t t = 0; t < trees; ++t) {
    const uint32_t leaf = find(a, a.roots()->Get(t), row);
    for (uint32_t v = a.leaf_begin()->Get(leaf); v < a.leaf_begin()->Get(leaf + 1); ++v) {
      votes.add(a.aggregate(), a.vote_targets()->Get(v),
                a.vote_weights_f64() != nullptr ? a.vote_weights_f64()->Get(v)
                                                : static_cast<double>(a.vote_weights()->Get(v)));
    }
  }
  votes.end(trees);
}

using Finish = void (*)(const KernelContext& ctx, int64_t row, const TreeVotes& votes);
void for_samples(const KernelContext& ctx, FindLeaf find, Finish finish) {
  const Attrs& a = ctx.attrs<Attrs>();
  const Tensor& x = *ctx.in(0);
  const int64_t columns = x.shape[x.shape.rank - 1], rows = x.shape.rank == 2 ? x.shape[0] : 1;
  const auto trees = static_cast<int64_t>(a.roots() == nullptr ? 0 : a.roots()->size());
  const int64_t grain = trees >= 4096 ? 1 : 4096 / (trees + 1) + 1;  // about 4096 walks of some tens of ns
  ctx.parallel.for_range(rows, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    const TreeVotes votes =
        tree_votes_at(a, ctx.scratch.data() + static_cast<uint64_t>(slot) * tree_votes_bytes(a.targets()));
    for (int64_t row = begin; row < end; ++row) {
      score_row(a, find, x.as<const uint8_t>() + row * columns * (dtype_bits(x.dtype) / 8), votes);
      finish(ctx, row, votes);
    }
  });
}

template <Finish kFinish>
Status run(const KernelContext& ctx) {
  FindLeaf find = nullptr;
  switch (ctx.in(0)->dtype) {
    case DType::kF32:
      find = find_leaf<float>;
      break;
    case DType::kF64:
      find = find_leaf<double>;
      break;
    case DType::kF16:
      find = find_leaf<F16>;
      break;
    case DType::kI32:
      find = find_leaf<int32_t>;
      break;
    case DType::kI64:
      find = find_leaf<int64_t>;
      break;
    default:
      return Status::kUnsupported;
  }
  for_samples(ctx, find, kFinish);
  return Status::kOk;
}

int64_t scratch(const KernelQuery& query) {
  return static_cast<int64_t>(tree_votes_bytes(query.attrs<Attrs>().targets()) * static_cast<uint64_t>(query.slots));
}

}  // namespace

extern const RefKernel kTreeEnsembleRef;
const RefKernel kTreeEnsembleRef = {run<put_tree_scores>, scratch};
extern const RefKernel kTreeEnsembleRegressorRef;
const RefKernel kTreeEnsembleRegressorRef = {run<put_tree_scores>, scratch};
extern const RefKernel kTreeEnsembleClassifierRef;
const RefKernel kTreeEnsembleClassifierRef = {run<put_tree_class>, scratch};

}  // namespace vireo
