#include "converter/report/recorder.h"

#include <gtest/gtest.h>

#include "converter/ir/infer.h"
#include "converter/ir/text.h"

namespace vireo::report::recorder_test {
namespace {

// Runs the passes of these names over a graph and tells what is known of its nodes, each as "kind < kin by passes".
// Nodes of graphs that are parsed have no names: they are named after their results.
class Recorded {
 public:
  Recorded(const std::string& text, const std::vector<std::string>& names) {
    std::string error;
    graph = ir::parse_graph(text, &error);
    EXPECT_NE(graph, nullptr) << error;
    for (ir::Node& n : graph->nodes()) n.name = n.out()->name;
    std::vector<const passes::Pass*> list;
    for (const std::string& name : names) list.push_back(passes::find_pass(name));
    Recorder recorder;
    Diagnostics diagnostics;
    ConvertReport report;
    EXPECT_TRUE(passes::run_passes(*graph, list, &recorder, &diagnostics, &report)) << diagnostics.text();
    after = side_of(*graph);
    before = recorder.finish(&after);
  }

  std::string of(const std::string& result) const {
    for (const SideNode& n : after.nodes) {
      if (n.graph != 0 || after.values[static_cast<size_t>(n.outputs[0])].name != result) continue;
      std::string out = n.kind + " <";
      for (const int32_t k : n.kin) out += " " + before.nodes[static_cast<size_t>(k)].name;
      for (const std::string& p : n.passes) out += " by " + p;
      return out;
    }
    return "not there";
  }
  std::string fate(const std::string& name) const {
    for (const SideNode& n : before.nodes) {
      if (n.name == name) return n.fate;
    }
    return "not there";
  }

  std::unique_ptr<ir::Graph> graph;
  Side before, after;
};

TEST(Recorder, AFusedNodeComesFromItsParts) {
  const Recorded r(R"(
    input %x f32[1,8,6,6]
    %a = Conv(%x, w[8,8,3,3])
    %b = Relu(%a)
    %c = Conv(%b, v[8,8,3,3])
    %d = Relu(%c)
    output %d
  )",
                   {"fuse_epilogue"});
  EXPECT_EQ(r.of("b"), "conv < a b by fuse_epilogue");
  EXPECT_EQ(r.of("d"), "conv < c d by fuse_epilogue");
  EXPECT_EQ(r.before.nodes[0].kin, std::vector<int32_t>{0});
}

TEST(Recorder, WhatIsFoldedIntoANodeIsItsKin) {
  const Recorded r(R"(
    input %x f32[1,3,8,8]
    %a = Conv(%x, w[8,3,3,3], b[8])
    %y = BatchNormalization(%a, g[8], h[8], m[8], v[8])
    %z = Tanh(%y)
    output %z
  )",
                   {"fold_batch_norm", "dead_code"});
  EXPECT_EQ(r.after.nodes.size(), 2u);
  EXPECT_EQ(r.before.nodes[1].kin, std::vector<int32_t>{0});
  EXPECT_EQ(r.before.nodes[0].kin, std::vector<int32_t>{0});
  EXPECT_EQ(r.of("z"), "Tanh < z");
}

TEST(Recorder, WhatNobodyUsesIsSaidSo) {
  const Recorded r(R"(
    input %x f32[4]
    %a = Relu(%x)
    %b = Tanh(%x)
    output %a
  )",
                   {"dead_code"});
  EXPECT_EQ(r.fate("b"), "dead_code: nothing used its result");
  EXPECT_EQ(r.of("a"), "Relu < a");
}

TEST(Recorder, WhatIsMergedNamesWhoStands) {
  const Recorded r(R"(
    input %x f32[4]
    %a = Relu(%x)
    %b = Relu(%x)
    %c = Add(%a, %b)
    %d = Tanh(%c)
    output %d
  )",
                   {"merge_equal"});
  EXPECT_EQ(r.fate("b"), "merge_equal: readers take \"a\" instead");
}

TEST(Recorder, WhatBecomesAConstantIsSaidSo) {
  const Recorded r(R"(
    input %x f32[4]
    %a = Tanh(f32[4]{1,2,3,4})
    %b = Add(%x, %a)
    output %b
  )",
                   {"fold_constants", "dead_code"});
  EXPECT_EQ(r.fate("a"), "fold_constants: its result is a constant now");
}

// A pass of its own: writes each Relu anew as a Clip, without a name for the result.
void rewrite_relus(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it++;
    if (n.op != Op::kRelu) continue;
    ir::Node* made = g.add_node(Op::kTanh, {n.attrs}, {n.in(0)}, 1, &n);
    made->name = n.name;
    std::string message;
    ASSERT_TRUE(ok(ir::infer_node(g, made, nullptr, &message))) << message;
    g.replace_uses(n.out(), made->out());
    g.remove(&n);
    log.changed();
  }
}

// Two in a row: results without names must not be taken for each other.
TEST(Recorder, ResultsWithoutNamesAreToldApart) {
  std::string error;
  const auto g = ir::parse_graph("input %x f32[4]\n%a = Relu(%x)\n%b = Relu(%a)\n%c = Exp(%b)\noutput %c", &error);
  ASSERT_NE(g, nullptr) << error;
  for (ir::Node& n : g->nodes()) n.name = "node " + n.out()->name;
  const passes::Pass pass = {"rewrite_relus", rewrite_relus};
  Recorder recorder;
  Diagnostics diagnostics;
  ConvertReport report;
  ASSERT_TRUE(passes::run_passes(*g, {&pass}, &recorder, &diagnostics, &report)) << diagnostics.text();
  Side after = side_of(*g);
  const Side before = recorder.finish(&after);
  ASSERT_EQ(after.nodes.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(after.nodes[i].kin, std::vector<int32_t>{static_cast<int32_t>(i)}) << i;
  for (const SideNode& n : before.nodes) EXPECT_EQ(n.fate, "");
}

}  // namespace
}  // namespace vireo::report::recorder_test
