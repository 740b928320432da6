#include "sdk/ops/tree_ensemble/tree_ensemble.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/testing.h"
#include "sdk/ops/tree_ensemble/scores.h"
#include "sdk/ops/view.h"

namespace vireo::tree_ensemble_test {
namespace {

using Table = attrs::TreeEnsembleT;
using Floats = std::vector<float>;

std::vector<uint8_t> bytes(const Table& t) { return pack<attrs::TreeEnsemble>(t); }

// ai.onnx.ml 5, example tree_ensemble_single_tree: two thresholds on column 0, one on column 1.
Table single_tree() {
  Table t;
  t.targets = 2;
  t.roots = {0};
  t.features = {0, 0, 0};
  t.modes = {0, 0, 0};
  t.thresholds = {3.14f, 1.2f, 4.2f};
  t.true_children = {1, kTreeLeaf | 0, kTreeLeaf | 2};
  t.false_children = {2, kTreeLeaf | 1, kTreeLeaf | 3};
  t.leaf_begin = {0, 1, 2, 3, 4};
  t.vote_targets = {0, 1, 0, 1};
  t.vote_weights = {5.23f, 12.12f, -12.23f, 7.21f};
  return t;
}

TEST(TreeEnsemble, SingleTree) {
  OpTest t(Op::kTreeEnsemble, bytes(single_tree()));
  t.input<double>({3, 2}, {1.2, 3.4, -0.12, 1.66, 4.14, 1.77});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto y = t.y().as<double>();
  const std::vector<double> want = {5.23, 0, 5.23, 0, 0 - 12.23, 0};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-6) << i;
}

TEST(TreeEnsemble, SetMembership) {
  Table t = single_tree();
  t.modes = {static_cast<uint8_t>(attrs::TreeMode::Member), 0, 0};
  t.member_begin = {0, 2, 2, 2};
  t.members = {1, 7};
  OpTest run(Op::kTreeEnsemble, bytes(t));
  run.input<float>({3, 1}, {7, 1, 2});
  ASSERT_EQ(run.run(), Status::kOk) << run.message();
  EXPECT_EQ(run.y().as<float>(), (Floats{0, 12.12f, 5.23f, 0, -12.23f, 0}));
}

// One node, x <= 0, over two leaves; a tree each for every list of votes.
Table stumps(const std::vector<Floats>& yes, const std::vector<Floats>& no, uint32_t targets) {
  Table t;
  t.targets = targets;
  t.leaf_begin = {0};
  for (size_t i = 0; i < yes.size(); ++i) {
    t.roots.push_back(static_cast<uint32_t>(i));
    t.features.push_back(0);
    t.modes.push_back(0);
    t.thresholds.push_back(0);
    t.true_children.push_back(kTreeLeaf | static_cast<uint32_t>(2 * i));
    t.false_children.push_back(kTreeLeaf | static_cast<uint32_t>(2 * i + 1));
    for (const Floats* side : {&yes[i], &no[i]}) {
      for (size_t k = 0; k < side->size(); ++k) {
        t.vote_targets.push_back(static_cast<uint32_t>(k));
        t.vote_weights.push_back((*side)[k]);
      }
      t.leaf_begin.push_back(static_cast<uint32_t>(t.vote_targets.size()));
    }
  }
  return t;
}

TEST(TreeEnsembleRegressor, Aggregates) {
  const struct {
    attrs::TreeAggregate how;
    Floats want;
  } kCases[] = {{attrs::TreeAggregate::Sum, {10 + 6, 20 + 9}},
                {attrs::TreeAggregate::Average, {10 + 2, 20 + 3}},
                {attrs::TreeAggregate::Min, {10 + 1, 20 + 2}},
                {attrs::TreeAggregate::Max, {10 + 3, 20 + 4}}};
  for (const auto& c : kCases) {
    Table t = stumps({{3, 4}, {1, 2}, {2, 3}}, {{0}, {0}, {0}}, 2);
    t.aggregate = c.how;
    t.base_values = {10, 20};
    OpTest run(Op::kTreeEnsembleRegressor, bytes(t));
    run.input<int64_t>({1, 1}, {-1});
    ASSERT_EQ(run.run(), Status::kOk) << run.message();
    EXPECT_EQ(run.y().as<float>(), c.want);
  }
}

TEST(TreeEnsembleRegressor, MissingValues) {
  for (const bool tracks : {false, true}) {
    Table t = stumps({{1}}, {{2}}, 1);
    if (tracks) t.missing_true = {1};
    OpTest run(Op::kTreeEnsembleRegressor, bytes(t));
    run.input<float>({2, 1}, {NAN, -1});
    ASSERT_EQ(run.run(), Status::kOk) << run.message();
    EXPECT_EQ(run.y().as<float>(), (Floats{tracks ? 1.0f : 2.0f, 1}));
  }
}

TEST(TreeEnsembleClassifier, TopClassOfThree) {
  Table t = stumps({{0.25f, 0.5f, 0.25f}}, {{1, 1, 0}}, 3);
  t.labels_strings = {"a", "b", "c"};
  OpTest run(Op::kTreeEnsembleClassifier, bytes(t));
  run.input<float>({2, 1}, {-1, 1}).outputs(2).slots(2);
  ASSERT_EQ(run.run(), Status::kOk) << run.message();
  EXPECT_EQ(run.y(0).strings, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(run.y(1).as<float>(), (Floats{0.25f, 0.5f, 0.25f, 1, 1, 0}));
}

// Expected numbers: ONNX Runtime 1.31 on a stump whose leaves vote for class 0 alone.
TEST(TreeEnsembleClassifier, TwoClassesOfWhichOneVotes) {
  using attrs::TreeBinary;
  using attrs::TreeTransform;
  const struct {
    TreeBinary binary;
    TreeTransform transform;
    float p;
    int64_t label;
    Floats scores;
  } kCases[] = {{TreeBinary::Complement, TreeTransform::None, 0.7f, 20, {0.3f, 0.7f}},
                {TreeBinary::Complement, TreeTransform::None, 0.3f, 10, {0.7f, 0.3f}},
                {TreeBinary::Complement, TreeTransform::Logistic, 0.7f, 20, {0.33181226f, 0.66818774f}},
                {TreeBinary::Complement, TreeTransform::Softmax, 0.7f, 20, {0.3f, 0.7f}},
                {TreeBinary::Negation, TreeTransform::None, -0.7f, 10, {0.7f, -0.7f}},
                {TreeBinary::Negation, TreeTransform::Logistic, -0.7f, 10, {0.66818774f, 0.33181226f}}};
  for (const auto& c : kCases) {
    Table t = stumps({{c.p}}, {{c.p}}, 2);
    t.labels_integers = {10, 20};
    t.binary = c.binary;
    t.transform = c.transform;
    OpTest run(Op::kTreeEnsembleClassifier, bytes(t));
    run.input<float>({1, 1}, {0}).outputs(2);
    ASSERT_EQ(run.run(), Status::kOk) << run.message();
    EXPECT_EQ(run.y(0).as<int64_t>()[0], c.label);
    EXPECT_NEAR(run.y(1).as<float>()[0], c.scores[0], 1e-6f);
    EXPECT_NEAR(run.y(1).as<float>()[1], c.scores[1], 1e-6f);
  }
}

TEST(TreeScores, Transforms) {
  double s[] = {1, 0, -1};
  transform_scores(attrs::TreeTransform::SoftmaxZero, s, 3);
  EXPECT_NEAR(s[0], std::exp(2) / (1 + std::exp(2)), 1e-12);
  EXPECT_EQ(s[1], 0);
  for (double p : {0.001, 0.3, 0.5, 0.975}) {
    EXPECT_NEAR(0.5 * std::erfc(-probit(p) / std::sqrt(2.0)), p, 1e-12);  // the cumulative function undoes it
  }
  EXPECT_EQ(probit(0), -INFINITY);
  EXPECT_TRUE(std::isnan(probit(1.5)));
}

TEST(TreeEnsemble, VerifyRefusesWhatSteersAstray) {
  const auto verifies = [](const Table& t) {
    const std::vector<uint8_t> b = bytes(t);
    return find_op(Op::kTreeEnsemble)->def->verify(Span<const uint8_t>(b.data(), b.size()));
  };
  const Table good = single_tree();
  EXPECT_TRUE(verifies(good));
  using Edit = void (*)(Table&);
  const Edit kEdits[] = {
      [](Table& t) { t.roots[0] = 3; },                      // no such node
      [](Table& t) { t.true_children[1] = kTreeLeaf | 4; },  // no such leaf
      [](Table& t) { t.true_children[1] = 0; },              // back to the root
      [](Table& t) { t.true_children[1] = 1; },              // to itself
      [](Table& t) { t.false_children.pop_back(); },
      [](Table& t) { t.thresholds.pop_back(); },
      [](Table& t) { t.modes[2] = 7; },
      [](Table& t) { t.modes[2] = 6; },  // a set, but none is given
      [](Table& t) { t.vote_targets[0] = 2; },
      [](Table& t) { t.vote_weights.pop_back(); },
      [](Table& t) { t.leaf_begin[4] = 5; },
      [](Table& t) {
        t.leaf_begin = {0, 2, 1, 3, 4};
      },
      [](Table& t) { t.base_values = {1}; },
      [](Table& t) { t.targets = 0; },
      [](Table& t) { t.missing_true = {1}; },
  };
  for (size_t i = 0; i < std::size(kEdits); ++i) {
    Table t = good;
    kEdits[i](t);
    EXPECT_FALSE(verifies(t)) << i;
  }
}

TEST(TreeEnsemble, RefusesMissingColumns) {
  Table t = single_tree();
  t.features[2] = 1;
  OpTest run(Op::kTreeEnsemble, bytes(t));
  run.input<float>({1, 1}, {0});
  EXPECT_EQ(run.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::tree_ensemble_test
