// Tree ensembles over float32 rows whose nodes all ask the same question: the reference's bits.
#include "delegates/cpu/kernels/trees/trees.h"

#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/tree_ensemble/finish.h"
#include "sdk/ops/tree_ensemble/tree_ensemble.h"

namespace vireo {
namespace {

using Attrs = attrs::TreeEnsemble;
using cpu::kTreeWalks;
constexpr int64_t kGrainWalks = 1024;  // of some 10 ns
static_assert(kTreeLeaf == cpu::kTreeLeafMark, "a leaf is a leaf");

template <class V>
auto data_of(const V* v) {
  return v == nullptr ? nullptr : v->data();
}

int64_t scratch_bytes(const CpuQuery& q) {
  return static_cast<int64_t>(tree_votes_bytes(q.attrs<Attrs>().targets())) * kTreeWalks * q.slots;
}

using Finish = void (*)(const KernelContext& ctx, int64_t row, const TreeVotes& votes);
template <Finish kFinish>
Status run(const KernelContext& ctx, const void*) {
  const Attrs& a = ctx.attrs<Attrs>();
  const Tensor& x = *ctx.in(0);
  const int64_t columns = x.shape[x.shape.rank - 1], rows = x.shape.rank == 2 ? x.shape[0] : 1;
  const uint32_t count = a.roots() == nullptr ? 0 : a.roots()->size();
  const uint32_t* const roots = data_of(a.roots());
  cpu::TreesF32 trees;
  trees.test = a.modes() == nullptr || a.modes()->size() == 0 ? cpu::TreeTest::kLeq
                                                              : static_cast<cpu::TreeTest>(a.modes()->Get(0));
  trees.features = data_of(a.features());
  trees.thresholds = data_of(a.thresholds());
  trees.yes = data_of(a.true_children());
  trees.no = data_of(a.false_children());
  trees.missing_yes = data_of(a.missing_true());
  const uint32_t *const leaf_begin = a.leaf_begin()->data(), *const targets = data_of(a.vote_targets());
  const float* const weights = data_of(a.vote_weights());
  const double* const weights_f64 = data_of(a.vote_weights_f64());
  const attrs::TreeAggregate how = a.aggregate();
  const bool sums = how == attrs::TreeAggregate::Sum || how == attrs::TreeAggregate::Average;
  const auto vote = [&](const TreeVotes& votes, uint32_t leaf) {
    for (uint32_t v = leaf_begin[leaf]; v < leaf_begin[leaf + 1]; ++v) {
      const double w = weights_f64 != nullptr ? weights_f64[v] : static_cast<double>(weights[v]);
      if (!sums) {
        votes.add(how, targets[v], w);
        continue;
      }
      votes.score[targets[v]] += w;
      votes.voted[targets[v]] = 1;
    }
  };
  const uint64_t bytes = tree_votes_bytes(a.targets());
  const int64_t grain = kGrainWalks / (int64_t{count} + 1) + 1;
  ctx.parallel.for_range(rows, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    uint8_t* const memory = ctx.scratch.data() + static_cast<uint64_t>(slot) * bytes * kTreeWalks;
    const auto votes_of = [&](int64_t i) { return tree_votes_at(a, memory + static_cast<uint64_t>(i) * bytes); };
    cpu::TreeWalk walks[kTreeWalks];
    uint32_t leaves[kTreeWalks];
    for (int64_t row = begin; row < end;) {
      // Rows that go down one tree side by side, or one row that goes down several trees.
      const int64_t together = end - row < kTreeWalks ? 1 : kTreeWalks;
      const uint32_t at_once = together == 1 ? kTreeWalks : 1;
      const float* const first = x.as<const float>() + row * columns;
      for (int64_t i = 0; i < together; ++i) votes_of(i).begin();
      for (uint32_t t = 0; t < count; t += at_once) {
        const auto many = static_cast<int>(count - t < at_once ? count - t : at_once) * static_cast<int>(together);
        for (int i = 0; i < many; ++i)
          walks[i] = together == 1 ? cpu::TreeWalk{roots[t + static_cast<uint32_t>(i)], first}
                                   : cpu::TreeWalk{roots[t], first + i * columns};
        cpu::tree_leaves_f32(trees, walks, many, leaves);
        for (int i = 0; i < many; ++i) vote(votes_of(together == 1 ? 0 : i), leaves[i]);
      }
      for (int64_t i = 0; i < together; ++i, ++row) {
        votes_of(i).end(count);
        kFinish(ctx, row, votes_of(i));
      }
    }
  });
  return Status::kOk;
}

constexpr CpuKernel kScores = {"trees_f32", 0, scratch_bytes, nullptr, run<put_tree_scores>};
constexpr CpuKernel kClass = {"trees_f32", 0, scratch_bytes, nullptr, run<put_tree_class>};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const auto& a = q.attrs<Attrs>();
  *reason = "tuned for float32 rows and thresholds";
  if (q.inputs[0].type.dtype != DType::kF32 || a.thresholds_f64() != nullptr) return nullptr;
  *reason = "tuned for trees whose nodes all compare alike";
  for (uint32_t i = 0; a.modes() != nullptr && i < a.modes()->size(); ++i) {
    const uint8_t mode = a.modes()->Get(i);
    if (mode != a.modes()->Get(0) || mode > static_cast<uint8_t>(attrs::TreeMode::Gt)) return nullptr;
  }
  *reason = "";
  return q.op == Op::kTreeEnsembleClassifier ? &kClass : &kScores;
}

}  // namespace

extern const CpuOp kCpuOp_trees;
const CpuOp kCpuOp_trees = {"trees", choose};

}  // namespace vireo
