// What the pass manager promises about every pass.
#include "converter/passes/pipeline.h"

#include <gtest/gtest.h>

#include "converter/ir/text.h"

namespace vireo::passes::pipeline_test {
namespace {

std::unique_ptr<ir::Graph> graph(const char* text) {
  std::string error;
  auto g = ir::parse_graph(text, &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

constexpr char kText[] = R"(
  input %x f32[2,3]
  %a = Identity(%x)
  %y = Relu(%a)
  %z = Identity(%y)
  output %y
  output %z
)";

// Runs one pass that breaks the graph; returns what the manager says.
std::string broken_by(const Pass& pass) {
  const auto g = graph(kText);
  Diagnostics diagnostics;
  ConvertReport report;
  EXPECT_FALSE(run_passes(*g, {&pass}, nullptr, &diagnostics, &report));
  EXPECT_EQ(diagnostics.all().size(), 1u);
  return diagnostics.text();
}

TEST(Pipeline, KeepsNamesOfInputsAndOutputs) {
  const auto g = graph(kText);
  Diagnostics diagnostics;
  ConvertReport report;
  ASSERT_TRUE(run_pipeline(*g, {}, nullptr, &diagnostics, &report)) << diagnostics.text();
  EXPECT_EQ(g->nodes().size(), 1u);  // both Identities are gone
  EXPECT_EQ(g->output_names(), (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(g->inputs()[0]->name, "x");
}

// Both results are quantized alike; only once that is one node does the product, or the pool, have a single user.
TEST(Pipeline, QuantizedPassesSeeWhatMergingLeaves) {
  for (const char* text : {R"(
         input %x f32[2,3]
         input %z f32[3,2]
         %q = QuantizeLinear(%x, f32[]{0.125}, u8[]{128})
         %p = QuantizeLinear(%z, f32[]{0.125}, i8[]{-1})
         %d = DequantizeLinear(%q, f32[]{0.125}, u8[]{128})
         %e = DequantizeLinear(%p, f32[]{0.125}, i8[]{-1})
         %c = MatMul(%d, %e)
         %y = QuantizeLinear(%c, f32[]{0.5}, i8[]{0})
         %r = Reshape(%c, i64[3]{0,0,-1})
         %s = QuantizeLinear(%r, f32[]{0.5}, i8[]{0})
       )",
                           R"(
         input %x f32[1,2,4,4]
         %m = MaxPool(%x) {kernel_shape:[2,2], strides:[2,2]}
         %t = Transpose(%m) {perm:[0,2,3,1]}
         %y = QuantizeLinear(%m, f32[]{0.25}, i8[]{-3})
         %z = QuantizeLinear(%t, f32[]{0.25}, i8[]{-3})
       )"}) {
    const auto g = graph(text);
    Diagnostics diagnostics;
    ConvertReport report, again;
    ASSERT_TRUE(run_pipeline(*g, {}, nullptr, &diagnostics, &report)) << diagnostics.text();
    ASSERT_TRUE(run_pipeline(*g, {}, nullptr, &diagnostics, &again)) << diagnostics.text();
    for (const PassLog& p : again.passes) EXPECT_EQ(p.changes, 0u) << p.name << "\n" << ir::print_graph(*g);
  }
}

TEST(Pipeline, StopsAPassThatRenamesAnOutput) {
  const Pass pass = {"rename", [](ir::Graph& g, PassLog& log) {
                       ir::Value* v = g.outputs()[1];
                       g.remove_output(1);
                       g.add_output(v, "other");
                       log.changed();
                     }};
  const std::string said = broken_by(pass);
  EXPECT_NE(said.find("after pass rename"), std::string::npos) << said;
  EXPECT_NE(said.find("\"y\", \"other\", they were \"y\", \"z\""), std::string::npos) << said;
}

TEST(Pipeline, StopsAPassThatRenamesAnInput) {
  const Pass pass = {"rename", [](ir::Graph& g, PassLog&) { g.inputs()[0]->name = "other"; }};
  const std::string said = broken_by(pass);
  EXPECT_NE(said.find("inputs are \"other\", they were \"x\""), std::string::npos) << said;
}

TEST(Pipeline, StopsAPassThatChangesAType) {
  const Pass pass = {"retype", [](ir::Graph& g, PassLog&) { g.outputs()[0]->type.dtype = DType::kF16; }};
  const std::string said = broken_by(pass);
  EXPECT_NE(said.find("output \"y\" is float16, it was float32"), std::string::npos) << said;
}

// Passes that never find an end.
void swap_operands(ir::Graph& g, PassLog& log) {
  for (ir::Node& n : g.nodes()) {
    if (n.op != Op::kAdd) continue;
    ir::Value *a = n.in(0), *b = n.in(1);
    g.set_input(&n, 0, b);
    g.set_input(&n, 1, a);
    log.changed();
  }
}
void say_changed(ir::Graph&, PassLog& log) { log.changed(3); }
void do_nothing(ir::Graph&, PassLog&) {}
const Pass kSwaps = {"swaps", swap_operands}, kSays = {"says", say_changed}, kQuiet = {"quiet", do_nothing};

Diagnostics rounds(const std::vector<const Pass*>& quantized, const std::vector<const Pass*>& repeated) {
  Diagnostics diagnostics;
  ConvertReport report;
  const auto g = graph("input %x f32[3]\ninput %z f32[3]\n%y = Add(%x, %z)\noutput %y\n");
  if (g != nullptr) {
    EXPECT_TRUE(run_rounds(*g, quantized, repeated, 4, &diagnostics, &report));
  }
  return diagnostics;
}

TEST(Pipeline, SaysThatARoundLeftTheMeasureAsItWas) {
  const Diagnostics d = rounds({&kSays}, {&kQuiet, &kSwaps});
  ASSERT_FALSE(d.all().empty());
  EXPECT_FALSE(d.failed());
  EXPECT_EQ(d.all()[0].code, Code::kRoundsEnded);
  EXPECT_NE(d.all()[0].what.find("swaps 1"), std::string::npos) << d.text();
  EXPECT_EQ(d.all()[0].what.find("quiet"), std::string::npos) << d.text();
}

TEST(Pipeline, SaysThatItsRoundsCameToTheirEnd) {
  const Diagnostics d = rounds({&kQuiet, &kSays}, {&kQuiet});
  ASSERT_EQ(d.all().size(), 1u) << d.text();
  EXPECT_EQ(d.all()[0].code, Code::kRoundsEnded);
  EXPECT_NE(d.all()[0].what.find("after 4 rounds"), std::string::npos) << d.text();
  EXPECT_NE(d.all()[0].what.find("says 3"), std::string::npos) << d.text();
}

TEST(Pipeline, SaysNothingWhereARoundChangesNothing) { EXPECT_TRUE(rounds({&kQuiet}, {&kSwaps}).all().empty()); }

// Counts its visits, and may give up.
class Marking final : public Stage {
 public:
  explicit Marking(bool fails) : fails_(fails) {}
  StagePlace place() const override { return StagePlace::kBeforeQuantized; }
  const std::string& name() const override { return name_; }
  const std::string& title() const override { return name_; }
  const char* unit() const override { return "values"; }
  double check_atol() const override { return 0; }
  bool visits_bodies() const override { return false; }
  void run(ir::Graph& g, PassLog& log) override {
    ++visits;
    nodes = g.nodes().size();
    if (fails_) log.failure = "it cannot", log.failure_help = "do otherwise";
  }
  size_t visits = 0, nodes = 0;

 private:
  const bool fails_;
  const std::string name_ = "marking";
};

constexpr char kQuantized[] = R"(
  input %x f32[2,3]
  %a = Identity(%x)
  %q = QuantizeLinear(%a, f32[]{0.125}, u8[]{128})
  %d = DequantizeLinear(%q, f32[]{0.125}, u8[]{128})
  %r = Tanh(%d)
  %y = QuantizeLinear(%r, f32[]{0.5}, u8[]{128})
  output %y
)";

// Repeated passes are through, and nothing is folded yet.
TEST(Pipeline, StagesStandBeforeTheQuantizedPasses) {
  const auto g = graph(kQuantized);
  const auto stage = std::make_shared<Marking>(false);
  ConvertOptions options;
  options.stages = {stage};
  Diagnostics diagnostics;
  ConvertReport report;
  ASSERT_TRUE(run_pipeline(*g, options, nullptr, &diagnostics, &report)) << diagnostics.text();
  EXPECT_EQ(stage->visits, 1u);
  EXPECT_EQ(stage->nodes, 4u);  // without the Identity
  EXPECT_EQ(g->nodes().size(), 2u);
}

TEST(Pipeline, AStageThatGivesUpEndsTheConversion) {
  const auto g = graph(kQuantized);
  ConvertOptions options;
  options.stages = {std::make_shared<Marking>(true)};
  Diagnostics diagnostics;
  ConvertReport report;
  EXPECT_FALSE(run_pipeline(*g, options, nullptr, &diagnostics, &report));
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].code, Code::kCannotQuantize);
  EXPECT_NE(diagnostics.text().find("it cannot"), std::string::npos);
}

}  // namespace
}  // namespace vireo::passes::pipeline_test
