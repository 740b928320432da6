// Models of one node (ensembles of trees, linear models, support vector machines) against the reference kernels.
#include <cmath>

#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/ml_linear/ml_linear_generated.h"
#include "sdk/ops/tree_ensemble/tree_ensemble.h"
#include "sdk/ops/tree_ensemble/tree_ensemble_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

// Forests of random trees, whose rows go alone and in eights: the reference's bits.
TEST(CpuModels, Trees) {
  std::mt19937 rng(3);
  for (const Op op : {Op::kTreeEnsembleRegressor, Op::kTreeEnsembleClassifier}) {
    for (const auto how : {attrs::TreeAggregate::Sum, attrs::TreeAggregate::Average, attrs::TreeAggregate::Max}) {
      for (const uint8_t mode : {0, 1, 2, 3}) {
        attrs::TreeEnsembleT t;
        t.targets = 3;
        t.aggregate = how;
        t.base_values = {0.5, -0.25, 0.125};
        t.transform = mode == 0 ? attrs::TreeTransform::Softmax : attrs::TreeTransform::None;
        t.leaf_begin = {0};
        for (int tree = 0; tree < 21; ++tree) {
          t.roots.push_back(static_cast<uint32_t>(t.features.size()));
          const auto first = static_cast<uint32_t>(t.features.size());
          const uint32_t nodes = 1 + rng() % 30;
          for (uint32_t i = 0; i < nodes; ++i) {
            t.features.push_back(rng() % 5);
            t.modes.push_back(mode);
            t.thresholds.push_back(static_cast<float>(rng() % 9) / 4 - 1);
            t.missing_true.push_back(static_cast<uint8_t>(rng() % 2));
            for (auto* const side : {&t.true_children, &t.false_children}) {
              const uint32_t child = 2 * i + (side == &t.true_children ? 1 : 2);
              if (child < nodes) {
                side->push_back(first + child);
                continue;
              }
              side->push_back(kTreeLeaf | static_cast<uint32_t>(t.leaf_begin.size() - 1));
              for (uint32_t k = 0; k < 1 + rng() % 2; ++k) {
                t.vote_targets.push_back(rng() % 3);
                t.vote_weights.push_back(static_cast<float>(rng() % 100) / 7);
              }
              t.leaf_begin.push_back(static_cast<uint32_t>(t.vote_targets.size()));
            }
          }
        }
        const bool classifies = op == Op::kTreeEnsembleClassifier;
        if (classifies) t.labels_integers = {7, 8, 9};
        Values v(mode);
        for (const int64_t rows : {1, 7, 8, 29}) {
          TestTensor x = v.reals({rows, 5}, -1.5f, 1.5f);
          const float nan = NAN;
          std::memcpy(x.bytes.data(), &nan, sizeof nan);
          for (const int32_t slots : {1, 3})
            Case(op, pack<attrs::TreeEnsemble>(t), {x}, classifies ? 2 : 1).expect_same_bits("trees_f32", slots);
        }
      }
    }
  }
}

// Sums of small multiples of 1/8 are exact in any order: the reference's bits. Rows go by fours and alone.
TEST(CpuModels, LinearModelsAndSupportVectors) {
  std::mt19937 rng(5);
  const auto eighths = [&](size_t count) {
    std::vector<float> v(count);
    for (float& f : v) f = static_cast<float>(rng() % 41) / 8 - 2.5f;
    return v;
  };
  for (const size_t features : {1, 19, 70}) {
    for (const int64_t rows : {1, 4, 11}) {
      for (const DType type : {DType::kF32, DType::kI32}) {
        Values v(7);
        TestTensor x = v.integers({rows, static_cast<int64_t>(features)}, 9);
        if (type == DType::kF32) {
          const std::vector<float> values = eighths(static_cast<size_t>(rows) * features);
          x.type.dtype = type;
          std::memcpy(x.bytes.data(), values.data(), x.bytes.size());
        }
        const auto check = [&](Op op, const std::vector<uint8_t>& bytes, int outputs) {
          for (const int32_t slots : {1, 3}) Case(op, bytes, {x}, outputs).expect_same_bits("row_sums_f64", slots);
        };
        for (const uint32_t vectors : {1u, 3u}) {
          attrs::LinearT a;
          a.rows = vectors;
          a.coefficients = eighths(vectors * features);
          a.intercepts = eighths(vectors);
          a.transform = attrs::TreeTransform::Softmax;
          check(Op::kLinearRegressor, pack<attrs::Linear>(a), 1);
          a.labels_integers = {5, 6};
          if (vectors == 3) a.labels_integers.push_back(4);
          check(Op::kLinearClassifier, pack<attrs::Linear>(a), 2);
        }
        for (const auto kernel :
             {attrs::SvmKernel::Linear, attrs::SvmKernel::Poly, attrs::SvmKernel::Rbf, attrs::SvmKernel::Sigmoid}) {
          attrs::SvmT a;
          a.kernel = kernel;
          a.gamma = 0.01f;
          a.degree = rows == 4 ? 2.5f : 3;
          a.coef0 = 30;
          a.vectors = 9;
          a.supports = eighths(9 * features);
          a.coefficients = eighths(9);
          a.rho = {0.5f};
          check(Op::kSVMRegressor, pack<attrs::Svm>(a), 1);
          a.coefficients = eighths(18);
          a.rho = {0.5f, 0.25f, -1};
          a.vectors_per_class = {2, 4, 3};
          a.labels_integers = {1, 2, 3};
          check(Op::kSVMClassifier, pack<attrs::Svm>(a), 2);
        }
        attrs::SvmT a;
        a.coefficients = eighths(2 * features);
        a.rho = {0.5f};
        a.labels_integers = {1, 2};
        check(Op::kSVMClassifier, pack<attrs::Svm>(a), 2);
      }
    }
  }
}

}  // namespace
}  // namespace vireo
