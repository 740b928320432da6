// What import assumes of open extents, or reads though the standard does not allow it, and what it says of that.
#include <gtest/gtest.h>

#include "converter/onnx/import.h"
#include "converter/testing/model_builder.h"

namespace vireo::importer::assumed_test {
namespace {

using testing::add_body;
using testing::GraphBuilder;
using testing::ModelBuilder;

struct Imported {
  explicit Imported(ModelBuilder& m, Guess guess = Guess::kUsual)
      : graph(import_model(m.model, "", {}, guess, &diagnostics).graph) {}
  const Shape& input() const { return graph->inputs()[0]->type.shape; }
  Interval extent(int axis) const { return graph->dims().interval(input()[axis]); }
  int rank() const { return graph->outputs()[0]->type.shape.rank; }
  std::string said() const { return diagnostics.text(); }
  Diagnostics diagnostics;
  std::unique_ptr<ir::Graph> graph;
};

// An output of which the file says nothing.
void open_output(ModelBuilder& m) {
  m.output("y");
  m.model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
}

void squeeze_all(ModelBuilder& m, const std::string& extent) {
  m.input("x", {extent, "1", "3"});
  m.node("Squeeze", {"x"}, {"y"});
  open_output(m);
}

TEST(Assumed, ASqueezeWithoutAxesKeepsOpenExtentsAndRefusesOnes) {
  ModelBuilder m(13);
  squeeze_all(m, "n");
  const Imported i(m);
  ASSERT_NE(i.graph, nullptr) << i.said();
  EXPECT_EQ(i.rank(), 2);
  EXPECT_EQ(i.extent(0).lo, 2);
  EXPECT_TRUE(i.extent(0).open());
  EXPECT_NE(i.said().find("Squeeze node \"y\""), std::string::npos) << i.said();
  EXPECT_NE(i.said().find("sessions refuse inputs that make n 1 or less"), std::string::npos) << i.said();
}

TEST(Assumed, ASqueezeWithoutAxesThatDropsOpenExtentsTakesNothingElse) {
  ModelBuilder m(13);
  squeeze_all(m, "n");
  const Imported i(m, Guess::kAllOnes);
  ASSERT_NE(i.graph, nullptr) << i.said();
  EXPECT_EQ(i.rank(), 1);
  EXPECT_EQ(i.extent(0).lo, 1);
  EXPECT_EQ(i.extent(0).hi, 1);
}

// Two of them agree: what the first one assumed is known to the second.
TEST(Assumed, IsKnownFromThenOn) {
  for (const Guess guess : {Guess::kUsual, Guess::kAllOnes}) {
    ModelBuilder m(13);
    m.input("x", {"n", "1", "3"});
    m.node("Squeeze", {"x"}, {"a"});
    m.node("Squeeze", {"x"}, {"b"});
    m.node("Add", {"a", "b"}, {"y"});
    open_output(m);
    const Imported i(m, guess);
    ASSERT_NE(i.graph, nullptr) << i.said();
    EXPECT_EQ(i.diagnostics.all().size(), 1u) << i.said();
  }
}

// If(n == 1) Squeeze(x) else x.
void squeeze_if_one(ModelBuilder& m) {
  m.input("x", {"n", "1", "3"});
  m.ints("zero", {1}, {0}).ints("one", {1}, {1});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"first"});
  m.node("Equal", {"first", "one"}, {"is_one"});
  ::onnx::NodeProto* n = m.node("If", {"is_one"}, {"y"});
  GraphBuilder then = add_body(n, "then_branch"), other = add_body(n, "else_branch");
  then.node("Squeeze", {"x", "zero"}, {"dropped"});
  then.output("dropped");
  other.node("Identity", {"x"}, {"kept"});
  other.output("kept");
  m.output("y");
}

TEST(Assumed, AnIfThatDropsAnExtentIfItIs1) {
  ModelBuilder m, other;
  squeeze_if_one(m);
  squeeze_if_one(other);
  const Imported one(m);
  ASSERT_NE(one.graph, nullptr) << one.said();
  EXPECT_EQ(one.rank(), 2);
  EXPECT_EQ(one.extent(0).hi, 1);
  EXPECT_NE(one.said().find("sessions refuse inputs that make n other than 1"), std::string::npos) << one.said();
  const Imported larger(other, Guess::kNoneOnes);
  ASSERT_NE(larger.graph, nullptr) << larger.said();
  EXPECT_EQ(larger.rank(), 3);
  EXPECT_EQ(larger.extent(0).lo, 2);
}

// If(which) { If(n == 1) Squeeze(x) else x } else { the same of every second row }, as models for two rates have it: a
// branch that does not run asks nothing of the inputs.
TEST(Assumed, ABranchThatMayNotRunNarrowsNothing) {
  ModelBuilder m(13);
  m.input("x", {"n", "1", "3"});
  m.input("which", {}, 9);
  m.ints("zero", {1}, {0}).ints("one", {1}, {1});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"first"});
  ::onnx::NodeProto* outer = m.node("If", {"which"}, {"y"});
  for (const int64_t step : {1, 2}) {
    GraphBuilder branch = add_body(outer, step == 1 ? "then_branch" : "else_branch");
    branch.ints("step", {1}, {step});
    branch.node("Slice", {"x", "zero", "first", "zero", "step"}, {"part"});
    branch.node("Shape", {"part"}, {"sizes"});
    branch.node("Gather", {"sizes", "zero"}, {"rows"});
    branch.node("Equal", {"rows", "one"}, {"is_one"});
    ::onnx::NodeProto* n = branch.node("If", {"is_one"}, {"inner"});
    GraphBuilder then = add_body(n, "then_branch"), other = add_body(n, "else_branch");
    then.node("Squeeze", {"part", "zero"}, {"dropped"});
    then.output("dropped");
    other.node("Identity", {"part"}, {"kept"});
    other.output("kept");
    branch.output("inner");
  }
  m.output("y");
  const Imported i(m);
  ASSERT_NE(i.graph, nullptr) << i.said();
  EXPECT_EQ(i.rank(), 2);
  EXPECT_EQ(i.extent(0).lo, 0);
  EXPECT_TRUE(i.extent(0).open());
  EXPECT_NE(i.said().find("a run that takes this branch fails unless n is 1"), std::string::npos) << i.said();
  EXPECT_NE(i.said().find("a run that takes this branch fails unless -floor((-n) / (2)) is 1"), std::string::npos)
      << i.said();
}

TEST(Assumed, OfAnExtentThatDataDecideNothingIsChecked) {
  ModelBuilder m(13);
  m.input("x", {"4"});
  m.node("NonZero", {"x"}, {"at"});
  m.node("Squeeze", {"at"}, {"y"});
  open_output(m);
  const Imported i(m);
  ASSERT_NE(i.graph, nullptr) << i.said();
  EXPECT_NE(i.said().find("nothing checks this of at.size"), std::string::npos) << i.said();
}

// Reshape(x [n, 3], [1, k]), whose output is declared as [n, k].
TEST(Assumed, AnOpenExtentThatConstantsFixIsSaid) {
  for (const bool fixed : {true, false}) {
    ModelBuilder m;
    m.input("x", {"n", "3"});
    m.ints("to", {2}, {fixed ? 1 : -1, 3});
    m.node("Reshape", {"x", "to"}, {"y"});
    testing::set_type(m.proto()->add_output(), "y", {"n", "3"}, 1);
    const Imported i(m);
    ASSERT_NE(i.graph, nullptr) << i.said();
    EXPECT_EQ(i.said().find("the model's own constants make it 1") != std::string::npos, fixed) << i.said();
  }
}

TEST(BeyondStandard, StftOfRank2Warns) {
  ModelBuilder m;
  m.input("x", {"b", "t"});
  m.ints("step", {1}, {8}).floats("window", {16}, std::vector<float>(16, 1));
  m.node("STFT", {"x", "step", "window"}, {"y"});
  m.output("y");
  const Imported i(m);
  ASSERT_NE(i.graph, nullptr) << i.said();
  ASSERT_EQ(i.diagnostics.all().size(), 1u) << i.said();
  EXPECT_EQ(i.diagnostics.all()[0].code, Code::kBeyondStandard);
  EXPECT_EQ(i.graph->dims().text(i.graph->outputs()[0]->type.shape), "[b,floor((t) / (8)) - 1,9,2]");
}

}  // namespace
}  // namespace vireo::importer::assumed_test
