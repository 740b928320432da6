// What a row's votes become: the scores and the label that are given out.
#ifndef VIREO_SDK_OPS_TREE_ENSEMBLE_FINISH_H_
#define VIREO_SDK_OPS_TREE_ENSEMBLE_FINISH_H_

#include "sdk/base/checked.h"
#include "sdk/base/half.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/tree_ensemble/scores.h"

namespace vireo {

// The votes of a row. `voted`: targets that some leaf voted for.
struct TreeVotes {
  const attrs::TreeEnsemble& a;
  double* score;
  uint8_t* voted;

  void begin() const {
    for (uint32_t k = 0; k < a.targets(); ++k) {
      score[k] = 0;
      voted[k] = 0;
    }
  }
  void add(attrs::TreeAggregate how, uint32_t k, double w) const {
    switch (how) {
      case attrs::TreeAggregate::Min:
        score[k] = voted[k] == 0 || w < score[k] ? w : score[k];
        break;
      case attrs::TreeAggregate::Max:
        score[k] = voted[k] == 0 || w > score[k] ? w : score[k];
        break;
      case attrs::TreeAggregate::Sum:
      case attrs::TreeAggregate::Average:
        score[k] += w;
        break;
    }
    voted[k] = 1;
  }
  void end(uint32_t trees) const {
    for (uint32_t k = 0; k < a.targets(); ++k) {
      if (a.aggregate() == attrs::TreeAggregate::Average && trees > 0) score[k] /= trees;
      if (a.base_values() != nullptr) score[k] += a.base_values()->Get(k);
    }
  }
};

// Writes the final scores in place and returns the class's index.
inline uint32_t tree_class(const TreeVotes& v) {
  const attrs::TreeEnsemble& a = v.a;
  double* const score = v.score;
  if (a.binary() == attrs::TreeBinary::No) {
    uint32_t best = 0;
    for (uint32_t k = 1; k < a.targets(); ++k) best = score[k] > score[best] ? k : best;
    transform_scores(a.transform(), score, a.targets());
    return best;
  }
  const bool complement = a.binary() == attrs::TreeBinary::Complement;
  const double p = v.voted[1] != 0 ? score[1] : score[0];
  score[1] = p;
  score[0] = complement && a.transform() != attrs::TreeTransform::Logistic ? 1 - p : -p;
  // Softmax would normalise twice what is normalised already.
  if (a.transform() == attrs::TreeTransform::Logistic || a.transform() == attrs::TreeTransform::Probit) {
    transform_scores(a.transform(), score, 2);
  }
  return p > (complement ? 0.5 : 0.0) ? 1 : 0;
}

inline void put_tree_scores(const KernelContext& ctx, int64_t row, const TreeVotes& v) {
  Tensor& y = *ctx.out(0);
  const uint32_t targets = v.a.targets();
  transform_scores(v.a.transform(), v.score, targets);
  for (uint32_t k = 0; k < targets; ++k) {
    const int64_t i = row * targets + k;
    switch (y.dtype) {
      case DType::kF64:
        y.as<double>()[i] = v.score[k];
        break;
      case DType::kF16:
        y.as<F16>()[i] = F16(static_cast<float>(v.score[k]));
        break;
      default:
        y.as<float>()[i] = static_cast<float>(v.score[k]);
        break;
    }
  }
}

inline void put_tree_class(const KernelContext& ctx, int64_t row, const TreeVotes& v) {
  const attrs::TreeEnsemble& a = v.a;
  Tensor *label = ctx.out(0), *scores = ctx.out(1);
  const uint32_t best = tree_class(v);
  if (label != nullptr && a.labels_strings() != nullptr) {
    const ::flatbuffers::String* s = a.labels_strings()->Get(best);
    label->as<StringRef>()[row] = {s->c_str(), s->size()};
  } else if (label != nullptr) {
    label->as<int64_t>()[row] = a.labels_integers()->Get(best);
  }
  for (uint32_t k = 0; scores != nullptr && k < a.targets(); ++k)
    scores->as<float>()[row * a.targets() + k] = static_cast<float>(v.score[k]);
}

// Scratch of a row's votes: a double and a flag for each target, 64-byte aligned parts.
inline uint64_t tree_votes_bytes(uint32_t targets) { return align_up(static_cast<uint64_t>(targets) * 9, 64); }
inline TreeVotes tree_votes_at(const attrs::TreeEnsemble& a, uint8_t* memory) {
  return {a, reinterpret_cast<double*>(memory), memory + static_cast<uint64_t>(a.targets()) * sizeof(double)};
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_TREE_ENSEMBLE_FINISH_H_
