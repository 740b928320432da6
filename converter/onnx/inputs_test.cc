// Inputs whose dimensions --shape names, bounds or overrides.
#include <gtest/gtest.h>

#include "converter/onnx/import.h"
#include "converter/testing/model_builder.h"

namespace vireo::importer::inputs_test {
namespace {

using testing::ModelBuilder;

DimRange named(const std::string& name) { return {0, 0, name}; }

struct Imported {
  Imported(ModelBuilder& m, const std::vector<ShapeOption>& shapes)
      : graph(import_model(m.model, "", with(shapes), Guess::kUsual, &diagnostics).graph) {}
  static ConvertOptions with(const std::vector<ShapeOption>& shapes) {
    ConvertOptions options;
    options.shapes = shapes;
    return options;
  }
  std::string shape(size_t input) const { return graph->dims().text(graph->inputs()[input]->type.shape); }
  Diagnostics diagnostics;
  std::unique_ptr<ir::Graph> graph;
};

// Two inputs of one name that the graph does not tie together.
void two_of_one_name(ModelBuilder& m) {
  m.input("phones", {"N", "3"}).input("counts", {"N"});
  m.node("Relu", {"phones"}, {"a"});
  m.node("Relu", {"counts"}, {"b"});
  m.output("a");
  m.output("b");
}

TEST(ShapeOption, ANameGivesADimensionAnExtentOfItsOwn) {
  ModelBuilder m;
  two_of_one_name(m);
  const Imported i(m, {{"counts", {named("M")}}});
  ASSERT_NE(i.graph, nullptr) << i.diagnostics.text();
  EXPECT_EQ(i.shape(0), "[N,3]");
  EXPECT_EQ(i.shape(1), "[M]");
  EXPECT_TRUE(i.diagnostics.all().empty()) << i.diagnostics.text();
}

TEST(ShapeOption, OneNameTiesTwoDimensions) {
  ModelBuilder m;
  two_of_one_name(m);
  const Imported i(m, {{"phones", {named("k"), {3, 3}}}, {"counts", {named("k")}}});
  ASSERT_NE(i.graph, nullptr) << i.diagnostics.text();
  EXPECT_EQ(i.shape(0), "[k,3]");
  EXPECT_EQ(i.shape(1), "[k]");
}

TEST(ShapeOption, TwoExtentsOfOneNameSayHowToRename) {
  ModelBuilder m;
  two_of_one_name(m);
  const Imported i(m, {{"phones", {{6, 6}, {3, 3}}}, {"counts", {{4, 4}}}});
  EXPECT_EQ(i.graph, nullptr);
  EXPECT_NE(i.diagnostics.text().find("--shape counts=NAME"), std::string::npos) << i.diagnostics.text();
}

TEST(ShapeOption, OverridingADeclaredExtentWarns) {
  const std::vector<std::pair<DimRange, std::string>> cases = {{{8, 8}, "8"}, {{1, 8}, "1..8"}, {named("n"), "n"}};
  for (const auto& [given, text] : cases) {
    ModelBuilder m;
    m.input("x", {"1", "3"});
    m.node("Relu", {"x"}, {"y"});
    m.output("y");
    const Imported i(m, {{"x", {given, {3, 3}}}});
    ASSERT_NE(i.graph, nullptr) << i.diagnostics.text();
    ASSERT_EQ(i.diagnostics.all().size(), 1u) << i.diagnostics.text();
    const std::string& said = i.diagnostics.all()[0].what;
    for (const std::string& part : std::vector<std::string>{"dimension 0", "\"x\"", text, "declares as 1"})
      EXPECT_NE(said.find(part), std::string::npos) << said;
    EXPECT_EQ(is_symbolic(i.graph->inputs()[0]->type.shape[0]), text != "8");
  }
}

TEST(ShapeOption, NoElementsWarn) {
  for (const auto& [given, warnings] : std::vector<std::pair<DimRange, size_t>>{{{0, 0}, 1}, {{0, 8}, 0}}) {
    ModelBuilder m;
    two_of_one_name(m);
    const Imported i(m, {{"phones", {given, {3, 3}}}});
    ASSERT_NE(i.graph, nullptr) << i.diagnostics.text();
    ASSERT_EQ(i.diagnostics.all().size(), warnings) << i.diagnostics.text();
    EXPECT_EQ(i.diagnostics.text().find("has no elements") != std::string::npos, warnings != 0);
  }
}

TEST(ShapeOption, ADimensionIsNoInput) {
  ModelBuilder m;
  two_of_one_name(m);
  const Imported i(m, {{"N", {{1, 8}}}});
  EXPECT_EQ(i.graph, nullptr);
  EXPECT_NE(i.diagnostics.text().find("--bound N=1..8"), std::string::npos) << i.diagnostics.text();
}

}  // namespace
}  // namespace vireo::importer::inputs_test
