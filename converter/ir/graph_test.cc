#include "converter/ir/graph.h"

#include <gtest/gtest.h>

#include "converter/ir/interpret.h"
#include "converter/ir/text.h"

namespace vireo::ir::graph_test {
namespace {

std::unique_ptr<Graph> parse(const std::string& text) {
  std::string error;
  auto g = parse_graph(text, &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

TEST(Graph, UsesFollowEveryChange) {
  auto g = parse("input %x f32[4]\n%a = Relu(%x)\n%b = Add(%a, %a)\n%c = Add(%b, %a)\n");
  Value* a = g->nodes().front().out();
  EXPECT_EQ(a->uses.size(), 3u);
  g->replace_uses(a, g->inputs()[0]);
  EXPECT_TRUE(a->unused());
  EXPECT_EQ(g->inputs()[0]->uses.size(), 4u);
  g->remove(&g->nodes().front());
  EXPECT_EQ(g->validate(), "");
  EXPECT_EQ(count_nodes(*g), 2u);
}

TEST(Graph, OutputsAreUses) {
  auto g = parse("input %x f32[4]\n%a = Relu(%x)\n%b = Exp(%a)\noutput %a, %b, %a\n");
  Value* a = g->nodes().front().out();
  EXPECT_EQ(a->output_uses, 2u);
  EXPECT_FALSE(a->one_use());
  g->replace_uses(a, g->inputs()[0]);
  EXPECT_EQ(g->outputs()[0], g->inputs()[0]);
  EXPECT_EQ(g->output_names()[0], "a");
  EXPECT_EQ(g->validate(), "");
}

TEST(Graph, ValidateSeesOrderBroken) {
  auto g = parse("input %x f32[4]\n%a = Relu(%x)\n%b = Exp(%a)\n");
  g->move_before(&g->nodes().back(), &g->nodes().front());
  EXPECT_NE(g->validate(), "");
}

TEST(Graph, CloneIsDeepAndSharesConstants) {
  auto g = parse("input %x f32[4]\n%a = Add(%x, c[4])\n%b = Relu(%a)\n");
  auto copy = g->clone();
  EXPECT_EQ(copy->validate(), "");
  EXPECT_EQ(print_graph(*g), print_graph(*copy));
  EXPECT_EQ(g->nodes().front().in(1)->constant, copy->nodes().front().in(1)->constant);
  copy->remove_output(0);
  copy->remove(&copy->nodes().back());
  EXPECT_EQ(count_nodes(*g), 2u);
}

TEST(Graph, ShapesOfShapesAreExpressions) {
  auto g = parse(R"(
    input %x f32[N,S,64]
    %shape = Shape(%x)
    %n = Gather(%shape, i64[1]{0})
    %s = Gather(%shape, i64[1]{1})
    %rows = Mul(%n, %s)
    %to = Concat(%rows, i64[2]{4,16}) {axis:0}
    %y = Reshape(%x, %to)
    %half = Div(%s, i64[1]{2})
    %z = Slice(%x, i64[1]{0}, %half, i64[1]{1})
  )");
  const DimTable& d = g->dims();
  EXPECT_EQ(d.text(g->outputs()[0]->type.shape), "[N*S,4,16]");
  EXPECT_EQ(d.text(g->outputs()[1]->type.shape[0]), "N");
  EXPECT_EQ(d.text(g->outputs()[1]->type.shape[2]), "64");
}

TEST(Interpret, RunsReferenceKernels) {
  auto g = parse("input %x f32[3]\n%a = Mul(%x, f32[1]{2})\n%y = Relu(%a)\n");
  std::vector<ConstantPtr> out;
  std::string error;
  Shape three;
  three.rank = 1;
  three[0] = 3;
  ASSERT_TRUE(interpret(*g, {make_constant_of<float>(DType::kF32, three, {-1, 0.5f, 3})}, &out, &error)) << error;
  EXPECT_EQ(out[0]->tensor.as<float>()[0], 0.0f);
  EXPECT_EQ(out[0]->tensor.as<float>()[1], 1.0f);
  EXPECT_EQ(out[0]->tensor.as<float>()[2], 6.0f);
}

}  // namespace
}  // namespace vireo::ir::graph_test
