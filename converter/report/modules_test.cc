#include "converter/report/modules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "converter/report/side.h"

namespace vireo::report::modules_test {
namespace {

// Nodes in a chain, each making the value of its own number; value 1000 comes in, the last one goes out.
Side chain(const std::vector<std::string>& names) {
  Side side;
  side.graphs.push_back({"g", -1, "", {1000}, {static_cast<int32_t>(names.size()) - 1}, {}});
  side.values.resize(1001);
  for (size_t i = 0; i < names.size(); ++i) {
    SideNode n;
    n.op = n.kind = "Relu";
    n.name = names[i];
    n.module = module_of(n.name);
    n.inputs = {i == 0 ? 1000 : static_cast<int32_t>(i) - 1};
    n.outputs = {static_cast<int32_t>(i)};
    side.nodes.push_back(n);
    side.graphs[0].nodes.push_back(static_cast<int32_t>(i));
  }
  return side;
}

TEST(Modules, NamesAsExportersWriteThem) {
  EXPECT_EQ(module_of("/encoder/layer.0/attention/Add_1"), "encoder/layer.0/attention");
  EXPECT_EQ(module_of("StatefulPartitionedCall/model/conv1/Conv2D"), "StatefulPartitionedCall/model/conv1");
  EXPECT_EQ(module_of("layer1.0.conv1.Conv"), "layer1/0/conv1");
  EXPECT_EQ(module_of("Conv_17"), "");
  EXPECT_EQ(module_of("//a///b"), "a");
  EXPECT_EQ(module_of(""), "");
  EXPECT_EQ(module_of("/"), "");
  EXPECT_EQ(name_within("/encoder/layer.0/Add", "encoder"), "layer.0/Add");
  EXPECT_EQ(name_within("layer1.0.conv1.Conv", "layer1/0"), "conv1.Conv");
  EXPECT_EQ(name_within("encoders/Add", "encoder"), "encoders/Add");
  EXPECT_EQ(name_within("encoder", "encoder"), "encoder");
  EXPECT_EQ(common_module("a/b/c", "a/bc"), "a");
}

TEST(Modules, BoxesFollowTheNames) {
  // The box of everything, boxes of one node and boxes of one box are none.
  const Side side = chain({"/m/stem/Conv", "/m/block/0/Conv", "/m/block/0/Relu", "/m/block/1/Conv", "/m/block/1/Relu",
                           "/m/tail/deep/A", "/m/tail/deep/B"});
  const std::vector<Box> boxes = boxes_of(side, side.graphs[0]);
  ASSERT_EQ(boxes.size(), 5u);
  EXPECT_EQ(boxes[0].items, (std::vector<int32_t>{0, -1, -2}));
  EXPECT_EQ(boxes[0].path, "m");
  EXPECT_EQ(boxes[1].name, "block");
  EXPECT_EQ(boxes[1].items, (std::vector<int32_t>{-3, -4}));
  EXPECT_EQ(boxes[1].nodes, 4);
  EXPECT_EQ(boxes[2].name, "tail/deep");
  EXPECT_EQ(boxes[2].items, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(boxes[3].name, "block.0");
  EXPECT_EQ(boxes[4].parent, 1);
  EXPECT_EQ(boxes[4].path, "m/block/1");
}

TEST(Modules, LinesCrossBordersOnce) {
  const Side side = chain({"/a/x", "/a/y", "/b/x", "/b/y"});
  const std::vector<Box> boxes = boxes_of(side, side.graphs[0]);
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(boxes[1].ins, std::vector<int32_t>{1000});
  EXPECT_EQ(boxes[1].outs, std::vector<int32_t>{1});
  EXPECT_EQ(boxes[2].ins, std::vector<int32_t>{1});
  // Outside: input to a, a to b, b to the output. Inside each: in, between, out.
  for (const Box& box : boxes) ASSERT_EQ(box.lines.size(), 3u);
  EXPECT_EQ(boxes[0].lines[0].from, 0);
  EXPECT_EQ(boxes[0].lines[0].values, std::vector<int32_t>{1000});
  const auto between = std::find_if(boxes[0].lines.begin(), boxes[0].lines.end(),
                                    [](const BoxLine& l) { return l.from == 1 && l.to == 2; });
  ASSERT_NE(between, boxes[0].lines.end());
  EXPECT_EQ(between->values, std::vector<int32_t>{1});
}

TEST(Modules, LongListsBecomeSections) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("Relu_" + std::to_string(i));
  const Side side = chain(names);
  const std::vector<Box> boxes = boxes_of(side, side.graphs[0]);
  EXPECT_EQ(boxes[0].nodes, 1000);
  size_t nodes = 0;
  for (const Box& box : boxes) {
    EXPECT_LE(box.items.size(), kMostItems);
    EXPECT_EQ(std::count_if(box.lines.begin(), box.lines.end(), [](const BoxLine& l) { return l.from >= l.to; }), 0);
    for (const int32_t item : box.items) nodes += item >= 0 ? 1 : 0;
  }
  EXPECT_EQ(nodes, 1000u);
  EXPECT_EQ(boxes[1].name.find("Relu_0 … Relu_"), 0u);
}

TEST(Modules, SectionsAreCutWhereFewLinesCross) {
  // Blocks of 20 nodes; inside of one the first node's value is read to its end.
  std::vector<std::string> names(240);
  for (size_t i = 0; i < names.size(); ++i) names[i] = "n" + std::to_string(i);
  Side side = chain(names);
  for (int32_t i = 0; i < 240; ++i) {
    if (i % 20 != 0) side.nodes[static_cast<size_t>(i)].inputs.push_back(i / 20 * 20);
  }
  for (const Box& box : boxes_of(side, side.graphs[0])) {
    if (box.parent == 0) {
      EXPECT_EQ(box.ins.size(), 1u) << box.name;
    }
  }
}

TEST(Modules, HostileNamesAreBounded) {
  std::string deep;
  for (int i = 0; i < 120; ++i) deep += "a/";
  const Side side = chain({deep + "x", deep + "y", deep + deep + "z", "/", "..", ""});
  const std::vector<Box> boxes = boxes_of(side, side.graphs[0]);
  EXPECT_EQ(boxes[0].nodes, 6);
  EXPECT_LE(boxes.size(), 3u);
}

TEST(Modules, AnEmptyGraph) {
  Side side;
  side.graphs.push_back({"g", -1, "", {0}, {0}, {}});
  side.values.resize(1);
  const std::vector<Box> boxes = boxes_of(side, side.graphs[0]);
  ASSERT_EQ(boxes.size(), 1u);
  ASSERT_EQ(boxes[0].lines.size(), 1u);
  EXPECT_EQ(boxes[0].lines[0].to, 1);
}

}  // namespace
}  // namespace vireo::report::modules_test
