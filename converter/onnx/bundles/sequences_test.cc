// Sequences and optionals taken apart into tensors. What is constant folds, so answers can be read off; what only a run
// knows is judged by the graph's outputs here, and by ONNX's own cases (tests/conformance.py) for its values.
#include <gtest/gtest.h>

#include "converter/ir/infer.h"
#include "converter/onnx/import.h"

namespace vireo::importer::sequences_test {
namespace {

class SequencesTest : public ::testing::Test {
 protected:
  SequencesTest() {
    m_.set_ir_version(10);
    m_.add_opset_import()->set_version(21);
  }

  ::onnx::GraphProto& graph() { return *m_.mutable_graph(); }
  ::onnx::NodeProto* node(const char* op, const std::vector<std::string>& in, const std::string& out) {
    ::onnx::NodeProto* n = graph().add_node();
    n->set_op_type(op);
    for (const std::string& name : in) n->add_input(name);
    n->add_output(out);
    return n;
  }
  void constant(const std::string& name, const std::vector<int64_t>& values, bool scalar = false) {
    ::onnx::TensorProto* t = graph().add_initializer();
    t->set_name(name);
    t->set_data_type(::onnx::TensorProto::INT64);
    if (!scalar) t->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t v : values) t->add_int64_data(v);
  }
  void input(const std::string& name, const std::vector<int64_t>& dims, int type = ::onnx::TensorProto::INT64) {
    ::onnx::ValueInfoProto* info = graph().add_input();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    info->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const int64_t d : dims)
      info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
  }
  void sequence_input(const std::string& name) {
    ::onnx::ValueInfoProto* info = graph().add_input();
    info->set_name(name);
    info->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
        ::onnx::TensorProto::FLOAT);
  }
  bool run(const std::string& output) {
    graph().add_output()->set_name(output);
    Diagnostics found;
    graph_ = import_model(m_, "", options_, Guess::kUsual, &found).graph;
    said_ = found.text();
    return graph_ != nullptr;
  }
  std::vector<int64_t> values(size_t output) {
    ir::ConstantFinder finder;
    const ir::ConstantPtr c = finder.find(graph_->outputs()[output]);
    if (c == nullptr) return {-999};
    return {c->tensor.as<int64_t>(), c->tensor.as<int64_t>() + c->tensor.count()};
  }
  // s = [1], [2, 3], [4, 5, 6]
  void three() {
    constant("a", {1});
    constant("b", {2, 3});
    constant("c", {4, 5, 6});
    node("SequenceConstruct", {"a", "b", "c"}, "s");
  }

  ::onnx::ModelProto m_;
  ConvertOptions options_;
  std::unique_ptr<ir::Graph> graph_;
  std::string said_;
};

TEST_F(SequencesTest, ElementsAreOutputsEachOfItsOwnShape) {
  three();
  ASSERT_TRUE(run("s")) << said_;
  EXPECT_EQ(graph_->output_names(), (std::vector<std::string>{"s.0", "s.1", "s.2"}));
  EXPECT_EQ(values(1), (std::vector<int64_t>{2, 3}));
}

TEST_F(SequencesTest, PositionsCountFromEitherEnd) {
  three();
  constant("last", {-1}, true);
  constant("before_last", {-2}, true);
  constant("d", {7});
  node("SequenceErase", {"s", "before_last"}, "erased");        // [1], [4, 5, 6]
  node("SequenceInsert", {"erased", "d", "last"}, "inserted");  // [1], [7], [4, 5, 6]
  node("SequenceErase", {"inserted"}, "shorter");               // [1], [7]
  node("ConcatFromSequence", {"shorter"}, "y")->add_attribute()->set_name("axis");
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(values(0), (std::vector<int64_t>{1, 7}));
}

TEST_F(SequencesTest, LengthAndElementAreKnown) {
  three();
  node("SequenceLength", {"s"}, "n");
  constant("last", {-1}, true);
  node("SequenceAt", {"s", "last"}, "y");
  graph().add_output()->set_name("n");
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(values(0), (std::vector<int64_t>{3}));
  EXPECT_EQ(values(1), (std::vector<int64_t>{4, 5, 6}));
}

TEST_F(SequencesTest, PositionOutsideIsRefused) {
  for (const int64_t at : {int64_t{3}, int64_t{-4}}) {
    m_.clear_graph();
    three();
    constant("at", {at}, true);
    node("SequenceAt", {"s", "at"}, "y");
    EXPECT_FALSE(run("y"));
    EXPECT_NE(said_.find("position is " + std::to_string(at)), std::string::npos) << said_;
  }
}

TEST_F(SequencesTest, PositionOfARunChoosesAmongAll) {
  input("at", {});
  three();
  constant("d", {8, 9});
  node("SequenceInsert", {"s", "d", "at"}, "y");
  ASSERT_TRUE(run("y")) << said_;
  ASSERT_EQ(graph_->output_names(), (std::vector<std::string>{"y.0", "y.1", "y.2", "y.3"}));
  // The first is s[0] or d: one element, or two.
  const Interval extent = graph_->dims().interval(graph_->outputs()[0]->type.shape[0]);
  EXPECT_EQ(extent.hi, 2);
}

TEST_F(SequencesTest, ElementsOfAnInputAreDeclared) {
  sequence_input("x");
  node("SequenceLength", {"x"}, "n");
  EXPECT_FALSE(run("n"));
  EXPECT_NE(said_.find("--elements x=3"), std::string::npos) << said_;
  graph().clear_output();
  options_.elements = {{"x", 2}};
  options_.shapes = {{"x.0", {{4, 4}}}, {"x.1", {{5, 5}, {6, 6}}}};
  ASSERT_TRUE(run("n")) << said_;
  ASSERT_EQ(graph_->inputs().size(), 2u);
  EXPECT_EQ(graph_->inputs()[1]->name, "x.1");
  EXPECT_EQ(graph_->dims().text(graph_->inputs()[1]->type.shape), "[5,6]");
  EXPECT_EQ(values(0), (std::vector<int64_t>{2}));
}

TEST_F(SequencesTest, SplitsAtMostIntoWhatIsThere) {
  input("x", {5});
  input("size", {});
  node("SplitToSequence", {"x", "size"}, "y");
  ASSERT_TRUE(run("y")) << said_;
  ASSERT_EQ(graph_->outputs().size(), 6u);  // five of one element at most, and how many there are
  EXPECT_EQ(graph_->output_names()[5], "y.length");
}

// An extent that a run brings: as many parts as its bound allows, and how many there are.
TEST_F(SequencesTest, SplitsAnOpenExtentUpToItsBound) {
  input("x", {5});
  node("SplitToSequence", {"x"}, "y");
  options_.shapes = {{"x", {{1, 6}}}};
  ASSERT_TRUE(run("y")) << said_;
  ASSERT_EQ(graph_->outputs().size(), 7u);
  EXPECT_EQ(graph_->output_names()[6], "y.length");
}

// A split over an extent without any bound, and what can be made of it.
class OpenSequenceTest : public SequencesTest {
 protected:
  void split(bool keep) {
    m_.clear_graph();
    input("x", {1, 3});
    graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(
        "n");
    attribute(node("SplitToSequence", {"x"}, "s"), "keepdims", keep ? 1 : 0);
  }
  static void attribute(::onnx::NodeProto* n, const char* name, int64_t value) {
    ::onnx::AttributeProto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(::onnx::AttributeProto::INT);
    a->set_i(value);
  }
  void join(int axis, bool fresh) {
    ::onnx::NodeProto* n = node("ConcatFromSequence", {"s"}, "y");
    attribute(n, "axis", axis);
    attribute(n, "new_axis", fresh ? 1 : 0);
  }
  std::string shape() const { return graph_->dims().text(graph_->outputs()[0]->type.shape); }
};

TEST_F(OpenSequenceTest, JoinedAgainItIsWhatWasSplit) {
  for (const bool keep : {false, true}) {
    split(keep);
    join(0, !keep);
    ASSERT_TRUE(run("y")) << said_;
    EXPECT_EQ(graph_->outputs()[0], graph_->inputs()[0]);
  }
  split(false);
  join(-1, true);
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(shape(), "[3,n]");
}

TEST_F(OpenSequenceTest, HasALengthAndElements) {
  split(false);
  node("SequenceLength", {"s"}, "y");
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(graph_->outputs()[0]->contents.value().size(), 1u);
  EXPECT_EQ(graph_->dims().text(graph_->outputs()[0]->contents.value()[0]), "n");
  for (const bool keep : {false, true}) {
    split(keep);
    constant("last", {-1}, true);
    node("SequenceAt", {"s", "last"}, "y");
    ASSERT_TRUE(run("y")) << said_;
    EXPECT_EQ(shape(), keep ? "[1,3]" : "[3]");
  }
}

TEST_F(OpenSequenceTest, WhatNeedsTheElementsIsRefused) {
  const auto refused = [&](const std::string& output) {
    EXPECT_FALSE(run(output));
    EXPECT_NE(said_.find("how many parts there are at most must be known"), std::string::npos) << said_;
    EXPECT_NE(said_.find("--elements s=8"), std::string::npos) << said_;
  };
  split(true);
  refused("s");
  split(true);
  node("SequenceErase", {"s"}, "y");
  refused("y");
  split(true);
  join(1, false);
  refused("y");
}

// As many elements as --elements says at most: the joined ones behind the length are cut off.
TEST_F(OpenSequenceTest, BoundedElementsAreJoinedUpToTheLength) {
  split(true);
  options_.elements = {{"s", 4}};
  constant("first", {0}, true);
  node("SequenceErase", {"s", "first"}, "shorter");
  attribute(node("ConcatFromSequence", {"shorter"}, "y"), "axis", 1);
  EXPECT_FALSE(run("y"));  // of one row each, or none
  EXPECT_NE(said_.find("--shape"), std::string::npos) << said_;
  split(false);
  constant("first", {0}, true);
  node("SequenceErase", {"s", "first"}, "shorter");
  ::onnx::NodeProto* n = node("ConcatFromSequence", {"shorter"}, "y");
  attribute(n, "axis", 0);
  attribute(n, "new_axis", 1);
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(graph_->outputs()[0]->type.shape.rank, 2);
}

TEST_F(SequencesTest, EmptyOptionalHoldsNothing) {
  node("Optional", {}, "o");
  node("OptionalHasElement", {"o"}, "y");
  ASSERT_TRUE(run("y")) << said_;
  ir::ConstantFinder finder;
  EXPECT_EQ(*finder.find(graph_->outputs()[0])->tensor.as<uint8_t>(), 0);
  m_.clear_graph();
  node("Optional", {}, "o");
  node("OptionalGetElement", {"o"}, "y");
  EXPECT_FALSE(run("y"));
  EXPECT_NE(said_.find("is empty"), std::string::npos) << said_;
}

TEST_F(SequencesTest, OtherOperatorsWantTensors) {
  three();
  node("Neg", {"s"}, "y");
  EXPECT_FALSE(run("y"));
  EXPECT_NE(said_.find("wanted a tensor"), std::string::npos) << said_;
}

TEST_F(SequencesTest, APositionIsATensor) {
  for (const char* op : {"SequenceAt", "SequenceErase"}) {
    m_.clear_graph();
    three();
    node(op, {"s", "s"}, "y");
    EXPECT_FALSE(run("y")) << op;
    EXPECT_NE(said_.find("is a sequence, wanted a tensor"), std::string::npos) << op << ": " << said_;
  }
  m_.clear_graph();
  three();
  node("SequenceInsert", {"s", "a", "s"}, "y");
  EXPECT_FALSE(run("y"));
  EXPECT_NE(said_.find("is a sequence, wanted a tensor"), std::string::npos) << said_;
}

// A loop that appends its iteration number to a sequence.
TEST_F(SequencesTest, LoopIsUnrolledAsFarAsItGoes) {
  const auto loop = [&](bool counted) {
    m_.clear_graph();
    counted ? constant("trips", {3}, true) : input("trips", {});
    node("SequenceEmpty", {}, "s");
    ::onnx::NodeProto* n = node("Loop", {"trips", "", "s"}, "y");
    ::onnx::AttributeProto* a = n->add_attribute();
    a->set_name("body");
    a->set_type(::onnx::AttributeProto::GRAPH);
    ::onnx::GraphProto* body = a->mutable_g();
    for (const char* name : {"i", "go", "state"}) body->add_input()->set_name(name);
    ::onnx::NodeProto* insert = body->add_node();
    insert->set_op_type("SequenceInsert");
    insert->add_input("state");
    insert->add_input("i");
    insert->add_output("longer");
    for (const char* name : {"go", "longer"}) body->add_output()->set_name(name);
    body->mutable_output(1)->mutable_type()->mutable_sequence_type();
  };
  loop(true);
  ASSERT_TRUE(run("y")) << said_;
  ASSERT_EQ(graph_->output_names(), (std::vector<std::string>{"y.0", "y.1", "y.2"}));
  EXPECT_EQ(values(2), (std::vector<int64_t>{2}));

  loop(false);
  EXPECT_FALSE(run("y"));
  EXPECT_NE(said_.find("--elements y=8"), std::string::npos) << said_;
  loop(false);
  options_.elements = {{"y", 4}};
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(graph_->output_names(), (std::vector<std::string>{"y.0", "y.1", "y.2", "y.3", "y.length"}));
}

}  // namespace
}  // namespace vireo::importer::sequences_test
