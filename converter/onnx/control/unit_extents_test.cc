// If whose branches differ in rank, Scan of opset 8, and Reshape to a shape of a length that only a run knows.
#include <gtest/gtest.h>

#include "converter/onnx/import.h"
#include "converter/testing/model_builder.h"

namespace vireo::importer::unit_extents_test {
namespace {

using testing::add_body;
using testing::add_int;
using testing::Dims;
using testing::GraphBuilder;
using testing::ModelBuilder;

struct Imported {
  explicit Imported(ModelBuilder& m) : model(import_model(m.model, "", {}, Guess::kUsual, &diagnostics)) {}
  int count(Op op) const {
    int n = 0;
    for (const ir::Node& node : model.graph->nodes()) n += node.op == op;
    return n;
  }
  Diagnostics diagnostics;
  ImportedModel model;
};

// h is a scalar in one branch and has one element in the other; `cond` is an input.
void add_if(ModelBuilder& m) {
  m.input("cond", {}, 9).input("x", {"4"}).input("scalar", {}).input("single", {"1"});
  ::onnx::NodeProto* n = m.node("If", {"cond"}, {"h"});
  for (const bool then : {true, false}) {
    GraphBuilder g = add_body(n, then ? "then_branch" : "else_branch");
    g.output("out");
    g.node("Neg", {then ? "scalar" : "single"}, {"out"});
  }
}

TEST(UnitExtents, BroadcastingReadsBothBranchesAlike) {
  ModelBuilder m;
  add_if(m);
  m.node("Exp", {"h"}, {"e"});
  m.node("Mul", {"x", "e"}, {"y"});
  m.output("y");
  const Imported i(m);
  ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
  ASSERT_EQ(i.count(Op::kIf), 1);
  for (const ir::Node& node : i.model.graph->nodes()) {
    if (node.op == Op::kIf) {
      EXPECT_EQ(node.outputs[0]->type.shape.rank, 1);
    }
  }
}

TEST(UnitExtents, ReadersThatTellTheRankRefuse) {
  for (const char* reader : {"Shape", "Relu", "Add"}) {
    ModelBuilder m;
    add_if(m);
    if (reader == std::string("Add")) {
      m.node(reader, {"h", "scalar"}, {"y"});  // its rank is that of h
    } else {
      m.node(reader, {"h"}, {"y"});
    }
    m.output("y");
    const Imported i(m);
    EXPECT_EQ(i.model.graph, nullptr) << reader;
    EXPECT_NE(i.diagnostics.text().find("float32[] in one branch and float32[1] in the other"), std::string::npos)
        << i.diagnostics.text();
  }
}

::onnx::NodeProto* add_old_scan(ModelBuilder& m, const std::string& lengths) {
  m.input("first", {"2", "3"}).input("x", {"2", "5", "3"});
  if (!lengths.empty()) m.input(lengths, {"2"}, 7);
  ::onnx::NodeProto* n = m.node("Scan", {lengths, "first", "x"}, {"last", "sums"});
  add_int(n, "num_scan_inputs", 1);
  GraphBuilder body = add_body(n, "body");
  body.input("sum", {"3"}).input("next", {"3"}).output("total").output("out");
  body.node("Add", {"sum", "next"}, {"total"});
  body.node("Identity", {"total"}, {"out"});
  m.output("last").output("sums");
  return n;
}

// A slice of five 4-bit numbers may begin inside a byte: the Scan sees int8, the model still gives int4.
TEST(PackedScan, SlicesAndStacksWholeBytes) {
  constexpr int kInt4 = 22;
  ModelBuilder m(21);
  m.input("first", {"5"}, kInt4).input("x", {"3", "5"}, kInt4);
  ::onnx::NodeProto* n = m.node("Scan", {"first", "x"}, {"last", "all"});
  add_int(n, "num_scan_inputs", 1);
  GraphBuilder body = add_body(n, "body");
  body.input("state", {"5"}, kInt4).input("row", {"5"}, kInt4).output("next").output("kept");
  body.node("Identity", {"row"}, {"next"});
  body.node("Identity", {"state"}, {"kept"});
  m.output("last").output("all");
  const Imported i(m);
  ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
  for (const ir::Node& node : i.model.graph->nodes()) {
    if (node.op != Op::kScan) continue;
    EXPECT_EQ(node.inputs[0]->type.dtype, DType::kI4);
    EXPECT_EQ(node.inputs[1]->type.dtype, DType::kI8);
    EXPECT_EQ(node.outputs[1]->type.dtype, DType::kI8);
    EXPECT_EQ(node.bodies[0]->validate(), "");
  }
  EXPECT_EQ(i.count(Op::kScan), 1);
  EXPECT_EQ(i.model.graph->outputs()[0]->type.dtype, DType::kI4);
  EXPECT_EQ(i.model.graph->outputs()[1]->type.dtype, DType::kI4);
}

TEST(OldScan, IsAScanOverTheBatchOfScans) {
  ModelBuilder m(8);
  add_old_scan(m, "");
  const Imported i(m);
  ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
  ASSERT_EQ(i.count(Op::kScan), 1);
  const std::vector<ir::Value*>& out = i.model.graph->outputs();
  ASSERT_EQ(out[0]->type.shape.rank, 2);
  ASSERT_EQ(out[1]->type.shape.rank, 3);
  const Dim wanted[3] = {2, 5, 3};
  for (int d = 0; d < 3; ++d) EXPECT_EQ(out[1]->type.shape[d], wanted[d]);
}

TEST(OldScan, RefusesLengthsOfSequences) {
  ModelBuilder m(8);
  add_old_scan(m, "lengths");
  const Imported i(m);
  EXPECT_EQ(i.model.graph, nullptr);
  EXPECT_NE(i.diagnostics.text().find("sequence_lens"), std::string::npos) << i.diagnostics.text();
}

// The list of extents is cut out of another by an input, so nobody knows its length here.
void add_open_reshape(ModelBuilder& m) {
  m.input("x", {"2", "6"}).input("list", {"5"}, 7).input("end", {"1"}, 7).ints("zero", {1}, {0});
  m.node("Slice", {"list", "zero", "end"}, {"shape"});
  m.node("Reshape", {"x", "shape"}, {"h"});
}

TEST(OpenRank, IsWhatTheReaderAsksFor) {
  ModelBuilder m;
  add_open_reshape(m);
  ::onnx::AttributeProto* a = m.node("Transpose", {"h"}, {"y"})->add_attribute();
  a->set_name("perm");
  a->set_type(::onnx::AttributeProto::INTS);
  for (const int axis : {2, 0, 1}) a->add_ints(axis);
  m.output("y");
  const Imported i(m);
  ASSERT_NE(i.model.graph, nullptr) << i.diagnostics.text();
  EXPECT_EQ(i.model.graph->outputs()[0]->type.shape.rank, 3);
  EXPECT_EQ(i.count(Op::kReshape), 2);  // the one of the list is what a run checks
}

TEST(OpenRank, ThatNobodySaysIsRefused) {
  ModelBuilder m;
  add_open_reshape(m);
  m.node("Relu", {"h"}, {"y"});
  m.output("y");
  const Imported i(m);
  EXPECT_EQ(i.model.graph, nullptr);
  EXPECT_NE(i.diagnostics.text().find("the number of dimensions is not known"), std::string::npos)
      << i.diagnostics.text();
}

}  // namespace
}  // namespace vireo::importer::unit_extents_test
