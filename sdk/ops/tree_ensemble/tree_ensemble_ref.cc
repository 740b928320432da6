#include "sdk/ops/tree_ensemble/tree_ensemble.h"

#include <math.h>

#include "sdk/base/checked.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/tree_ensemble/scores.h"

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

// The scores of one row, before the transform. `voted`: targets that some leaf voted for.
void score_row(const Attrs& a, FindLeaf find, const void* row, double* score, uint8_t* voted) {
  const uint32_t targets = a.targets(), trees = a.roots() == nullptr ? 0 : a.roots()->size();
  for (uint32_t k = 0; k < targets; ++k) {
    score[k] = 0;
    voted[k] = 0;
  }
  for (uint32_t t = 0; t < trees; ++t) {
    const uint32_t leaf = find(a, a.roots()->Get(t), row);
    for (uint32_t v = a.leaf_begin()->Get(leaf); v < a.leaf_begin()->Get(leaf + 1); ++v) {
      const uint32_t k = a.vote_targets()->Get(v);
      const double w = a.vote_weights_f64() != nullptr ? a.vote_weights_f64()->Get(v)
                                                       : static_cast<double>(a.vote_weights()->Get(v));
      switch (a.aggregate()) {
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
  }
  for (uint32_t k = 0; k < targets; ++k) {
    if (a.aggregate() == attrs::TreeAggregate::Average && trees > 0) score[k] /= trees;
    if (a.base_values() != nullptr) score[k] += a.base_values()->Get(k);
  }
}

// Writes the final scores in place and returns the class's index.
uint32_t classify(const Attrs& a, double* score, const uint8_t* voted) {
  if (a.binary() == attrs::TreeBinary::No) {
    uint32_t best = 0;
    for (uint32_t k = 1; k < a.targets(); ++k) best = score[k] > score[best] ? k : best;
    transform_scores(a.transform(), score, a.targets());
    return best;
  }
  const bool complement = a.binary() == attrs::TreeBinary::Complement;
  const double p = voted[1] != 0 ? score[1] : score[0];
  score[1] = p;
  score[0] = complement && a.transform() != attrs::TreeTransform::Logistic ? 1 - p : -p;
  // Softmax would normalise twice what is normalised already.
  if (a.transform() == attrs::TreeTransform::Logistic || a.transform() == attrs::TreeTransform::Probit) {
    transform_scores(a.transform(), score, 2);
  }
  return p > (complement ? 0.5 : 0.0) ? 1 : 0;
}

// Of one thread: a double and a flag for each target, 64-byte aligned parts.
uint64_t slot_bytes(uint32_t targets) { return align_up(static_cast<uint64_t>(targets) * 9, 64); }

// `finish(row, scores, voted)` for each row.
template <class F>
void for_samples(const KernelContext& ctx, FindLeaf find, const F& finish) {
  const Attrs& a = ctx.attrs<Attrs>();
  const Tensor& x = *ctx.in(0);
  const int64_t columns = x.shape[x.shape.rank - 1], rows = x.shape.rank == 2 ? x.shape[0] : 1;
  const auto trees = static_cast<int64_t>(a.roots() == nullptr ? 0 : a.roots()->size());
  const int64_t grain = trees >= 4096 ? 1 : 4096 / (trees + 1) + 1;  // about 4096 walks of some tens of ns
  ctx.parallel.for_range(rows, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    uint8_t* memory = ctx.scratch.data() + static_cast<uint64_t>(slot) * slot_bytes(a.targets());
    double* score = reinterpret_cast<double*>(memory);
    uint8_t* voted = memory + static_cast<uint64_t>(a.targets()) * sizeof(double);
    for (int64_t row = begin; row < end; ++row) {
      score_row(a, find, x.as<const uint8_t>() + row * columns * (dtype_bits(x.dtype) / 8), score, voted);
      finish(row, score, voted);
    }
  });
}

template <class F>
Status dispatch_input(const KernelContext& ctx, const F& finish) {
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
  for_samples(ctx, find, finish);
  return Status::kOk;
}

Status run_scores(const KernelContext& ctx) {
  const Attrs& a = ctx.attrs<Attrs>();
  Tensor& y = *ctx.out(0);
  return dispatch_input(ctx, [&](int64_t row, double* score, const uint8_t*) {
    transform_scores(a.transform(), score, a.targets());
    for (uint32_t k = 0; k < a.targets(); ++k) {
      const int64_t i = row * a.targets() + k;
      switch (y.dtype) {
        case DType::kF64:
          y.as<double>()[i] = score[k];
          break;
        case DType::kF16:
          y.as<F16>()[i] = F16(static_cast<float>(score[k]));
          break;
        default:
          y.as<float>()[i] = static_cast<float>(score[k]);
          break;
      }
    }
  });
}

Status run_classifier(const KernelContext& ctx) {
  const Attrs& a = ctx.attrs<Attrs>();
  Tensor *label = ctx.out(0), *scores = ctx.out(1);
  return dispatch_input(ctx, [&](int64_t row, double* score, const uint8_t* voted) {
    const uint32_t best = classify(a, score, voted);
    if (label != nullptr && a.labels_strings() != nullptr) {
      const ::flatbuffers::String* s = a.labels_strings()->Get(best);
      label->as<StringRef>()[row] = {s->c_str(), s->size()};
    } else if (label != nullptr) {
      label->as<int64_t>()[row] = a.labels_integers()->Get(best);
    }
    for (uint32_t k = 0; scores != nullptr && k < a.targets(); ++k) {
      scores->as<float>()[row * a.targets() + k] = static_cast<float>(score[k]);
    }
  });
}

int64_t scratch(const KernelQuery& query) {
  return static_cast<int64_t>(slot_bytes(query.attrs<Attrs>().targets()) * static_cast<uint64_t>(query.slots));
}

}  // namespace

extern const RefKernel kTreeEnsembleRef;
const RefKernel kTreeEnsembleRef = {run_scores, scratch};
extern const RefKernel kTreeEnsembleRegressorRef;
const RefKernel kTreeEnsembleRegressorRef = {run_scores, scratch};
extern const RefKernel kTreeEnsembleClassifierRef;
const RefKernel kTreeEnsembleClassifierRef = {run_classifier, scratch};

}  // namespace vireo
