// --check on passes that are wrong on purpose: the pass is named, and the node whose value differs first.
#include "converter/check.h"

#include <gtest/gtest.h>

#include "converter/cli/session_evaluator.h"
#include "converter/ir/text.h"

namespace vireo::check_test {
namespace {

constexpr char kGraph[] = R"(
  input %x f32[2,3]
  %a = Neg(%x)
  %b = Exp(%a)
  %c = Add(%b, %x)
  output %c
)";

void exp_becomes_abs(ir::Graph& g, PassLog& log) {
  for (ir::Node& n : g.nodes()) {
    if (n.op != Op::kExp) continue;
    n.op = Op::kAbs;
    log.changed();
  }
}
constexpr passes::Pass kWrong = {"exp_becomes_abs", exp_becomes_abs};

// x + y is y + x.
void swap_operands(ir::Graph& g, PassLog& log) {
  for (ir::Node& n : g.nodes()) {
    if (n.op != Op::kAdd) continue;
    ir::Value* first = n.inputs[0];
    g.set_input(&n, 0, n.inputs[1]);
    g.set_input(&n, 1, first);
    log.changed();
  }
}
constexpr passes::Pass kRight = {"swap_operands", swap_operands};

struct Checked {
  bool good = false;
  Diagnostics diagnostics;
  ConvertReport report;
};

void check(const std::string& text, const std::vector<const passes::Pass*>& list, Checked* out) {
  std::string error;
  const auto g = ir::parse_graph(text, &error);
  ASSERT_NE(g, nullptr) << error;
  cli::SessionEvaluator evaluator;
  ConvertOptions options;
  options.check = &evaluator;
  PassChecker checker(options, &out->diagnostics);
  out->good = passes::run_passes(*g, list, &checker, &out->diagnostics, &out->report);
}

TEST(PassChecker, BlamesPassAndNode) {
  Checked c;
  check(kGraph, {&kRight, &kWrong, &kRight}, &c);
  EXPECT_FALSE(c.good);
  ASSERT_EQ(c.diagnostics.all().size(), 1u) << c.diagnostics.text();
  const Diagnostic& d = c.diagnostics.all()[0];
  EXPECT_EQ(d.code, Code::kCheckFailed);
  EXPECT_NE(d.what.find("exp_becomes_abs"), std::string::npos) << d.what;
  EXPECT_NE(d.what.find("\"c\""), std::string::npos) << d.what;
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_NE(d.notes[0].find("\"b\", made by Abs node \"b\""), std::string::npos) << d.notes[0];
}

TEST(PassChecker, PassesThatKeepTheMeaningPass) {
  Checked c;
  check(kGraph, {&kRight, &kRight}, &c);
  EXPECT_TRUE(c.good) << c.diagnostics.text();
  ASSERT_EQ(c.report.passes.size(), 1u);  // one entry a pass
  EXPECT_TRUE(c.report.passes[0].checked);
  EXPECT_EQ(c.report.passes[0].changes, 2u);
}

// One code in place of its neighbour is what sums in another order may make; two are not.
void next_code(ir::Graph& g, PassLog& log, float by) {
  for (ir::Node& n : g.nodes()) {
    if (n.op != Op::kQuantizeLinear || n.in(0)->producer == nullptr) continue;
    const ir::ConstantPtr step = ir::make_constant_of<float>(DType::kF32, {}, {by});
    ir::Node* add = g.add_node(Op::kAdd, {n.in(0)->producer->attrs}, {n.in(0), g.add_constant("step", step)}, 1, &n);
    add->out()->type = n.in(0)->type;
    g.set_input(&n, 0, add->out());
    log.changed();
  }
}
constexpr passes::Pass kOneCode = {"one_code", [](ir::Graph& g, PassLog& log) { next_code(g, log, 0.1f); }};
constexpr passes::Pass kThreeCodes = {"three_codes", [](ir::Graph& g, PassLog& log) { next_code(g, log, 0.3f); }};

TEST(PassChecker, CodesMayBeOneApart) {
  const std::string graph = R"(
    input %x f32[2,3]
    %a = Add(%x, %x)
    %q = QuantizeLinear(%a, f32[]{0.1}, i8[]{3})
    output %q
  )";
  Checked one, three;
  check(graph, {&kOneCode}, &one);
  EXPECT_TRUE(one.good) << one.diagnostics.text();
  check(graph, {&kThreeCodes}, &three);
  EXPECT_FALSE(three.good);
}

// What steers a graph gets numbers that its operators take.
TEST(PassChecker, MakesInputsThatTheGraphTakes) {
  for (const char* graph : {
           "input %x f32[6,4]\ninput %s i64[1]\n%a = Abs(%x)\n%y = Slice(%a, i64[1]{0}, i64[1]{4}, i64[1]{0}, %s)\n"
           "output %y\n",
           "input %x f32[6,4]\ninput %i i64[2]\n%a = Abs(%x)\n%y = Gather(%a, %i)\noutput %y\n",
           "input %x f32[1,4]\ninput %i i64[2]\n%a = Abs(%x)\n%y = Gather(%a, %i)\noutput %y\n",
           "input %x f32[6,4]\ninput %s i64[2]\n%a = Abs(%x)\n%y = Expand(%a, %s)\noutput %y\n",
           "input %x i64[6]\ninput %d i64[6]\n%y = Div(%x, %d)\noutput %y\n",
       }) {
    Checked c;
    check(graph, {&kRight}, &c);
    EXPECT_TRUE(c.good) << graph << c.diagnostics.text();
  }
}

// A difference that chance makes is nobody's fault, and does not hide one that is.
TEST(PassChecker, RandomValuesAreNotCompared) {
  const std::string drawn = "\n  %r = RandomUniformLike(%x)\n  %s = Neg(%r)\n";
  const std::string graph = kGraph;
  const size_t at = graph.find("\n  output");
  Checked c;
  check(graph.substr(0, at) + drawn + "  output %s\n  output %c\n", {&kWrong}, &c);
  EXPECT_FALSE(c.good);
  ASSERT_EQ(c.diagnostics.all().size(), 1u) << c.diagnostics.text();
  EXPECT_NE(c.diagnostics.all()[0].what.find("output \"c\""), std::string::npos) << c.diagnostics.text();
  ASSERT_EQ(c.diagnostics.all()[0].notes.size(), 1u);
  EXPECT_NE(c.diagnostics.all()[0].notes[0].find("\"b\""), std::string::npos) << c.diagnostics.text();
}

}  // namespace
}  // namespace vireo::check_test
