#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/import_testing.h"

namespace vireo::tree_ensemble_onnx_test {
namespace {

using Integers = std::vector<int64_t>;
using Floats = std::vector<float>;
using Words = std::vector<std::string>;

// Two trees of one node and two leaves; the second one's nodes are listed child first but for its root.
ImportTest listed(const std::string& op, const std::string& votes) {
  ImportTest t(op, 3, "ai.onnx.ml");
  t.attr("nodes_treeids", Integers{0, 0, 0, 1, 1, 1}).attr("nodes_nodeids", Integers{0, 1, 2, 5, 9, 7});
  t.attr("nodes_featureids", Integers{0, 0, 0, 1, 0, 0}).attr("nodes_values", Floats{0, 0, 0, 1, 0, 0});
  t.attr("nodes_modes", Words{"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"});
  t.attr("nodes_truenodeids", Integers{1, 0, 0, 7, 0, 0}).attr("nodes_falsenodeids", Integers{2, 0, 0, 9, 0, 0});
  t.attr(votes + "_treeids", Integers{0, 0, 1, 1, 1}).attr(votes + "_nodeids", Integers{1, 2, 7, 9, 9});
  return t;
}

TEST(TreeEnsembleImport, RegressorOfListedNodes) {
  ImportTest t = listed("TreeEnsembleRegressor", "target");
  t.attr("target_ids", Integers{0, 0, 1, 0, 1}).attr("target_weights", Floats{1, 2, 4, 8, 16}).attr("n_targets", 2);
  t.attr("base_values", Floats{100, 200}).input<float>({2, 2}, {-1, 2, 1, 0});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{101, 204, 110, 216}));
}

TEST(TreeEnsembleImport, DoublesAreKept) {
  const double fine = 1 + 1e-12;  // float32 cannot tell it from 1
  ImportTest t("TreeEnsembleRegressor", 3, "ai.onnx.ml");
  t.attr("nodes_treeids", Integers{0, 0, 0})
      .attr("nodes_nodeids", Integers{0, 1, 2})
      .attr("nodes_featureids", Integers{0, 0, 0});
  t.attr("nodes_values_as_tensor", ImportTest::tensor<double>({3}, {fine, 0, 0}));
  t.attr("nodes_modes", Words{"BRANCH_LT", "LEAF", "LEAF"});
  t.attr("nodes_truenodeids", Integers{1, 0, 0}).attr("nodes_falsenodeids", Integers{2, 0, 0});
  t.attr("target_treeids", Integers{0, 0}).attr("target_nodeids", Integers{1, 2}).attr("target_ids", Integers{0, 0});
  t.attr("target_weights", Floats{1, 2}).attr("n_targets", 1).input<double>({2, 1}, {1, fine});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{1, 2}));
}

TEST(TreeEnsembleImport, ClassifierWithOneVotingClass) {
  ImportTest t = listed("TreeEnsembleClassifier", "class");
  t.attr("class_ids", Integers(5, 0)).attr("class_weights", Floats{0.25f, 0.5f, 0.25f, 0.25f, 0}).outputs(2);
  t.attr("classlabels_strings", Words{"no", "yes"}).input<float>({2, 2}, {-1, 2, 1, 0});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).strings, (Words{"no", "yes"}));  // 0.5 is not above a half
  EXPECT_EQ(t.y(1).as<float>(), (Floats{0.5f, 0.5f, 0.25f, 0.75f}));
}

TEST(TreeEnsembleImport, IndexedNodesWithSets) {  // ai.onnx.ml 5: node 0 tests a set, node 1 a threshold
  ImportTest t("TreeEnsemble", 5, "ai.onnx.ml");
  t.attr("n_targets", 1).attr("tree_roots", Integers{1}).attr("nodes_featureids", Integers{0, 0});
  t.attr("nodes_modes", ImportTest::tensor<uint8_t>({2}, {6, 3}))
      .attr("nodes_splits", ImportTest::tensor<float>({2}, {0, 10}));
  t.attr("nodes_truenodeids", Integers{0, 2}).attr("nodes_falsenodeids", Integers{1, 0});
  t.attr("nodes_trueleafs", Integers{1, 1}).attr("nodes_falseleafs", Integers{1, 0});
  t.attr("membership_values", ImportTest::tensor<float>({3}, {3, 4, NAN}));
  t.attr("leaf_targetids", Integers{0, 0, 0}).attr("leaf_weights", ImportTest::tensor<float>({3}, {1, 2, 4}));
  t.input<float>({3, 1}, {11, 4, 5});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{4, 1, 2}));
}

TEST(TreeEnsembleImport, RefusesCyclesAndLooseEnds) {
  ImportTest cycle = listed("TreeEnsembleRegressor", "target");
  cycle.attr("target_ids", Integers{0, 0, 0, 0, 0}).attr("target_weights", Floats(5, 1));
  cycle.attr("nodes_truenodeids", Integers{0, 0, 0, 7, 0, 0}).input<float>({1, 2}, {0, 0});
  EXPECT_EQ(cycle.run(), Status::kInvalidModel);
  EXPECT_NE(cycle.message().find("leads back"), std::string::npos) << cycle.message();
  ImportTest loose = listed("TreeEnsembleRegressor", "target");
  loose.attr("target_ids", Integers{0, 0, 0, 0, 0}).attr("target_weights", Floats(5, 1));
  loose.attr("nodes_truenodeids", Integers{3, 0, 0, 7, 0, 0}).input<float>({1, 2}, {0, 0});
  EXPECT_EQ(loose.run(), Status::kInvalidModel);
  ImportTest target = listed("TreeEnsembleRegressor", "target");
  target.attr("target_ids", Integers{0, 0, 0, 0, 1}).attr("target_weights", Floats(5, 1)).input<float>({1, 2}, {0, 0});
  EXPECT_EQ(target.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::tree_ensemble_onnx_test
