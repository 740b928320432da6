#include "converter/passes/simplify/inline_branches.h"

#include <gtest/gtest.h>

#include "converter/ir/text.h"
#include "converter/passes/pipeline.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::passes::inline_branches_test {
namespace {

std::unique_ptr<ir::Graph> parse(const char* text) {
  std::string error;
  auto g = ir::parse_graph(text, &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

// y = If(cond, x) {then, else} in front of the node that makes `before`, whose first operand becomes y.
ir::Node* add_if(ir::Graph* g, ir::Value* cond, ir::Value* x, const char* then_text, const char* else_text,
                 const TensorType& type, ir::Node* before) {
  ir::Node* n = g->add_node(Op::kIf, pack<attrs::If>(attrs::IfT{}), {cond, x}, 1, before);
  n->name = "choice";
  n->bodies.push_back(parse(then_text));
  n->bodies.push_back(parse(else_text));
  n->outputs[0]->type = type;
  n->outputs[0]->name = "y";
  g->set_input(before, 0, n->outputs[0]);
  return n;
}

constexpr char kMain[] = R"(
  input %x f32[2,3]
  %z = Neg(%x)
  output %z
)";
constexpr char kThen[] = R"(
  input %x f32[2,3]
  %a = Relu(%x)
  %b = Transpose(%a) {perm:[1,0]}
  output %b
)";
constexpr char kElse[] = R"(
  input %x f32[2,3]
  %a = Exp(%x)
  output %a
)";

ir::ConstantPtr truth(bool value) {
  std::string error;
  return ir::parse_constant(value ? "bool[]{1}" : "bool[]{0}", &error);
}

TensorType open_type(ir::Graph* g) {
  TensorType type{DType::kF32, Shape{2, {0, 0}}};
  type.shape[0] = g->dims().symbol("rows");
  type.shape[1] = g->dims().symbol("columns");
  return type;
}

TEST(InlineBranches, TakesTheBranchAndRefinesTypes) {
  for (const bool condition : {true, false}) {
    const auto g = parse(kMain);
    ir::Node* last = &g->nodes().back();
    last->outputs[0]->type = open_type(g.get());
    add_if(g.get(), g->add_constant("cond", truth(condition)), g->inputs()[0], kThen, kElse, open_type(g.get()), last);
    ASSERT_EQ(g->validate(), "");
    PassLog log;
    kInlineBranches.run(*g, log);
    ASSERT_EQ(g->validate(), "");
    EXPECT_EQ(log.changes, 1u);
    ASSERT_EQ(g->nodes().size(), condition ? 3u : 2u) << ir::print_graph(*g);
    EXPECT_EQ(g->nodes().front().op, condition ? Op::kRelu : Op::kExp);
    EXPECT_EQ(last->in(0)->name, "y");
    EXPECT_EQ(last->out()->type.shape, condition ? (Shape{2, {3, 2}}) : (Shape{2, {2, 3}}));
    PassLog again;
    kInlineBranches.run(*g, again);
    EXPECT_EQ(again.changes, 0u);
  }
}

TEST(InlineBranches, ABranchMayGiveBackWhatItGot) {
  const auto g = parse(kMain);
  add_if(g.get(), g->add_constant("cond", truth(false)), g->inputs()[0], kThen, "input %x f32[2,3]\noutput %x\n",
         open_type(g.get()), &g->nodes().back());
  PassLog log;
  kInlineBranches.run(*g, log);
  ASSERT_EQ(g->validate(), "");
  EXPECT_EQ(g->nodes().size(), 1u);
  EXPECT_EQ(g->nodes().back().in(0), g->inputs()[0]);
}

TEST(InlineBranches, OpenConditionsStay) {
  const auto g = parse(kMain);
  ir::Value* cond = g->add_input("cond", {DType::kBool, {}});
  add_if(g.get(), cond, g->inputs()[0], kThen, kElse, open_type(g.get()), &g->nodes().back());
  const std::string before = ir::print_graph(*g);
  PassLog log;
  kInlineBranches.run(*g, log);
  EXPECT_EQ(log.changes, 0u);
  EXPECT_EQ(ir::print_graph(*g), before);
}

// The condition is constant once Not(true) is folded, and so is the inner one that it brings.
TEST(InlineBranches, PipelineFoldsTheConditionFirst) {
  const auto g = parse(R"(
    input %x f32[2,3]
    %c = Not(bool[]{1})
    %z = Neg(%x)
    output %z
  )");
  ir::Value* cond = g->nodes().front().out();
  cond->contents.reset();
  ir::Node* outer = add_if(g.get(), cond, g->inputs()[0], kThen, R"(
    input %x f32[2,3]
    %d = Not(bool[]{0})
    %b = Identity(%x)
    output %b
  )",
                           open_type(g.get()), &g->nodes().back());
  ir::Graph& branch = *outer->bodies[1];
  ir::Value* inner_cond = branch.nodes().front().out();
  inner_cond->contents.reset();
  add_if(&branch, inner_cond, branch.inputs()[0], kElse, kThen, open_type(g.get()), &branch.nodes().back());
  ASSERT_EQ(g->validate(), "");
  Diagnostics diagnostics;
  ConvertReport report;
  ConvertOptions options;
  options.skip = {"fuse_chain"};  // which makes one node of what is left
  ASSERT_TRUE(run_pipeline(*g, options, nullptr, &diagnostics, &report)) << diagnostics.text();
  ASSERT_EQ(g->nodes().size(), 2u) << ir::print_graph(*g);
  EXPECT_EQ(g->nodes().front().op, Op::kExp);
  EXPECT_EQ(g->outputs()[0]->type.shape, (Shape{2, {2, 3}}));
}

}  // namespace
}  // namespace vireo::passes::inline_branches_test
