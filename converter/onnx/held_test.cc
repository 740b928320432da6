// Open extents of inputs that a Reshape to a constant shape holds to one number.
#include "converter/onnx/held.h"

#include <gtest/gtest.h>

#include "converter/onnx/import.h"
#include "converter/testing/model_builder.h"

namespace vireo::importer::held_test {
namespace {

using testing::add_body;
using testing::ModelBuilder;

struct Imported {
  explicit Imported(ModelBuilder& m, const std::map<std::string, int64_t>& known = {})
      : model(import_model(m.model, "", {}, Guess::kUsual, &diagnostics, known)) {}
  std::string held() const {
    std::string out;
    for (const HeldExtent& h : model.held) out += h.name + "=" + std::to_string(h.extent) + " by " + h.node + ";";
    return out;
  }
  Diagnostics diagnostics;
  ImportedModel model;
};

// Relu(x), as `shape`.
void reshaped(ModelBuilder& m, const std::vector<std::string>& x, const std::vector<int64_t>& shape,
              const std::string& y = "y") {
  m.input("x", x);
  m.node("Relu", {"x"}, {"r"});
  m.ints("shape", {static_cast<int64_t>(shape.size())}, shape);
  m.node("Reshape", {"r", "shape"}, {y});
}

TEST(Held, AnExtentThatAReshapeAllowsAlone) {
  ModelBuilder m;
  reshaped(m, {"b", "6"}, {1, 2, 3});
  m.output("y");
  const Imported i(m);
  ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
  EXPECT_EQ(i.held(), "b=1 by y;");
}

TEST(Held, IsTheExtentOfTheInputThen) {
  ModelBuilder m;
  reshaped(m, {"b", "6"}, {4, 3});
  m.output("y");
  const Imported i(m, {{"b", 2}});
  ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
  EXPECT_EQ(i.model.graph->inputs()[0]->type.shape[0], 2);
  EXPECT_EQ(i.held(), "");
}

TEST(Held, NotWhereTheReshapeLeavesItOpen) {
  const std::vector<std::vector<int64_t>> shapes = {{-1, 2, 3}, {0, 2, 3}, {2, -1}};
  for (const std::vector<int64_t>& shape : shapes) {
    ModelBuilder m;
    reshaped(m, {"b", "6"}, shape);
    m.output("y");
    EXPECT_EQ(Imported(m).held(), "") << shape[0];
  }
}

TEST(Held, NotWhereTwoExtentsShareTheNumber) {
  ModelBuilder m;
  reshaped(m, {"b", "n"}, {1, 6});
  m.output("y");
  EXPECT_EQ(Imported(m).held(), "");
}

// Runs fail for every extent, or for all but those that the Reshape would have to have.
TEST(Held, NotWhereNoExtentFits) {
  ModelBuilder m;
  reshaped(m, {"b", "6"}, {1, 4});
  m.output("y");
  EXPECT_EQ(Imported(m).held(), "");
}

// As exporters write attention: heads take what a batch has more, and the product behind them does not.
TEST(Held, AnExtentThatAProductAllowsAlone) {
  for (const int squares : {1, 2}) {
    ModelBuilder m;
    reshaped(m, {"b", "5", "6"}, {1, 5, -1}, "wide");
    if (squares == 2) {  // [b, 1, 1] + [1, 5, 6 b] is [b, 5, 6 b]
      m.input("mask", {"b", "1", "1"});
      m.node("Add", {"wide", "mask"}, {"sum"});
      m.node("Reshape", {"sum", "shape"}, {"last"});
    }
    m.floats("w", {6, 2}, std::vector<float>(12));
    m.node("MatMul", {squares == 2 ? "last" : "wide", "w"}, {"y"});
    m.output("y");
    const Imported i(m);
    ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
    EXPECT_EQ(i.held(), "b=1 by y;");
  }
}

// [1, 6 b, 5, 4] by [1, 6, 4, 5]; and [b, 5, 4] by [6, 4, 5], where b may also be 1.
TEST(Held, AnExtentThatMatricesDoNotBroadcastOver) {
  for (const bool heads : {true, false}) {
    ModelBuilder m;
    reshaped(m, {"b", "120"}, heads ? std::vector<int64_t>{1, -1, 5, 4} : std::vector<int64_t>{-1, 30, 4}, "many");
    m.floats("k", heads ? std::vector<int64_t>{1, 6, 4, 5} : std::vector<int64_t>{6, 4, 5}, std::vector<float>(120));
    m.node("MatMul", {"many", "k"}, {"y"});
    m.output("y");
    const Imported i(m);
    ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
    EXPECT_EQ(i.held(), heads ? "b=1 by y;" : "");
  }
}

TEST(Held, NotWhereARootIsNoNumber) {
  ModelBuilder m;
  m.input("x", {"b", "b"});
  m.ints("shape", {1}, {8});
  m.node("Reshape", {"x", "shape"}, {"y"});
  m.output("y");
  EXPECT_EQ(Imported(m).held(), "");
}

TEST(Held, NotByWhatNoOutputNeeds) {
  ModelBuilder m;
  reshaped(m, {"b", "6"}, {1, 2, 3}, "unused");
  m.output("r");
  EXPECT_EQ(Imported(m).held(), "");
}

TEST(Held, NotByWhatABranchMayLeaveOut) {
  ModelBuilder m;
  m.input("x", {"b", "6"}).input("c", {}, ::onnx::TensorProto::BOOL);
  m.ints("shape", {2}, {1, 6}).ints("open", {2}, {-1, 6});
  auto* node = m.node("If", {"c"}, {"y"});
  for (const auto& [branch, shape] : {std::pair("then_branch", "shape"), std::pair("else_branch", "open")}) {
    testing::GraphBuilder body = add_body(node, branch);
    body.node("Reshape", {"x", shape}, {branch});
    body.output(branch);
  }
  m.output("y");
  const Imported i(m);
  ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
  EXPECT_EQ(i.held(), "");
}

}  // namespace
}  // namespace vireo::importer::held_test
