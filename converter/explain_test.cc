// Every way a node can be refused: the refusal names opset, types and shapes, and its node alone is refused the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"

namespace vireo::explain_test {
namespace {

using testing::add_body;
using testing::add_int;
using testing::Folder;
using testing::GraphBuilder;
using testing::ModelBuilder;

struct Explained {
  Diagnostics diagnostics;
  std::vector<::onnx::ModelProto> alone;  // as written, in the order of the files' names
  std::string text() const { return diagnostics.text(); }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Converts, wants `code` of `op` first, and wants the file of it to be refused by the same words.
void explain(const ModelBuilder& m, Code code, const std::string& op, Explained* out, ConvertOptions options = {}) {
  Folder folder;
  ASSERT_FALSE(check_model(folder.write("model.onnx", m.bytes()), options, &out->diagnostics, nullptr));
  ASSERT_TRUE(explain_refusals(folder.at("alone"), &out->diagnostics)) << out->text();
  ASSERT_FALSE(out->diagnostics.all().empty());
  const Diagnostic& first = out->diagnostics.all()[0];
  EXPECT_EQ(first.code, code) << out->text();
  EXPECT_EQ(first.op, op) << out->text();
  EXPECT_TRUE(has(out->text(), "note: opset ")) << out->text();
  EXPECT_FALSE(has(out->text(), "not refused for this by itself")) << out->text();
  std::vector<std::string> files;
  for (const auto& e : std::filesystem::directory_iterator(folder.at("alone"))) files.push_back(e.path().string());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << out->text();
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    ::onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(bytes)) << file;
    EXPECT_EQ(model.graph().node_size(), 1) << file;
    EXPECT_LT(bytes.size(), size_t{1} << 18) << file;
    if (out->alone.empty() && first.reproducer_options.empty()) {
      Diagnostics again;
      EXPECT_FALSE(check_model(file, {}, &again, nullptr)) << file;
      ASSERT_FALSE(again.all().empty());
      EXPECT_EQ(again.all()[0].code, code) << again.text();
      // An unknown operator's says how many nodes use it.
      if (code != Code::kUnknownOperator) {
        EXPECT_EQ(again.all()[0].what, first.what);
      }
    }
    out->alone.push_back(std::move(model));
  }
}

TEST(Explain, UnknownOperator) {  // VC0204, named once for all its nodes, with the first of them
  ModelBuilder m;
  m.input("x", {"2", "N"}).floats("w", {2}, {1, 2}).output("y");
  m.node("Exp", {"x"}, {"a"});
  add_int(m.node("Swirl", {"a", "w"}, {"b"}, "org.example"), "turns", 3);
  m.node("Swirl", {"b", "w"}, {"y"}, "org.example");
  auto* import = m.model.add_opset_import();
  import->set_domain("org.example");
  import->set_version(4);
  Explained e;
  explain(m, Code::kUnknownOperator, "", &e);
  ASSERT_EQ(e.alone.size(), 1u) << e.text();
  EXPECT_TRUE(has(e.text(), "used by 2 nodes")) << e.text();
  EXPECT_TRUE(has(e.text(), "opset 4 of org.example; it reads \"a\" float32[2,N], \"w\" constant float32[2]"))
      << e.text();
  const auto& graph = e.alone[0].graph();
  EXPECT_EQ(graph.node(0).attribute(0).i(), 3);
  ASSERT_EQ(graph.input_size(), 1);
  EXPECT_EQ(graph.input(0).type().tensor_type().shape().dim(1).dim_param(), "N");
  ASSERT_EQ(graph.initializer_size(), 1);
  EXPECT_EQ(graph.initializer(0).raw_data().size(), 8u);
}

TEST(Explain, DomainThatIsNotImported) {  // VC0205
  ModelBuilder m;
  m.input("x", {"2", "3"}).output("y");
  m.node("FastGelu", {"x"}, {"y"}, "com.microsoft");
  Explained e;
  explain(m, Code::kUnknownDomain, "FastGelu", &e);
  EXPECT_TRUE(has(e.text(), "not imported")) << e.text();
}

TEST(Explain, MissingValue) {  // VC0202
  ModelBuilder m;
  m.input("x", {"2", "3"}).output("y");
  m.node("Add", {"x", "lost"}, {"y"});
  Explained e;
  explain(m, Code::kMissingValue, "Add", &e);
}

TEST(Explain, FunctionThatCallsItself) {  // VC0206
  ModelBuilder m;
  m.input("x", {"2"}).output("y");
  m.node("F", {"x"}, {"y"}, "own");
  auto* f = m.model.add_functions();
  f->set_name("F");
  f->set_domain("own");
  f->add_input("a");
  f->add_output("b");
  for (const char* domain : {"", "own"}) {
    for (auto* row : {f->add_opset_import(), m.model.add_opset_import()}) {
      row->set_domain(domain);
      row->set_version(17);
    }
  }
  auto* n = f->add_node();
  n->set_op_type("F");
  n->set_domain("own");
  n->add_input("a");
  n->add_output("b");
  Explained e;
  explain(m, Code::kBadFunction, "F", &e);
  ASSERT_EQ(e.alone.size(), 1u);
  EXPECT_EQ(e.alone[0].functions_size(), 1);
}

TEST(Explain, BadNodeWithLargeWeights) {  // VC0207; 4 MiB of weights become zeros that take no room
  ModelBuilder m;
  m.input("x", {"1", "3", "8", "8"}).output("y");
  m.floats("w", {1024, 4, 16, 16}, std::vector<float>(size_t{1024} * 4 * 256, 0.5f));
  m.node("Conv", {"x", "w"}, {"y"})->set_name("stem/conv");
  Explained e;
  explain(m, Code::kBadNode, "Conv", &e);
  EXPECT_TRUE(has(e.text(), "\"x\" float32[1,3,8,8], \"w\" constant float32[1024,4,16,16]")) << e.text();
  ASSERT_EQ(e.alone.size(), 1u);
  EXPECT_EQ(e.alone[0].graph().sparse_initializer_size(), 1);
  EXPECT_EQ(e.alone[0].graph().node(0).name(), "stem/conv");
}

TEST(Explain, AttributeOfAnotherType) {  // VC0213
  ModelBuilder m;
  m.input("x", {"2", "3"}).output("y");
  auto* a = m.node("Softmax", {"x"}, {"y"})->add_attribute();
  a->set_name("axis");
  a->set_type(::onnx::AttributeProto::STRING);
  a->set_s("last");
  Explained e;
  explain(m, Code::kBadAttribute, "Softmax", &e);
}

TEST(Explain, BranchesThatDiffer) {  // VC0212; a value from around the branches comes along
  ModelBuilder m;
  m.input("x", {"2", "3"}).input("c", {}, 9).output("y");
  m.node("Exp", {"x"}, {"e"});
  auto* n = m.node("If", {"c"}, {"y"});
  GraphBuilder then_branch = add_body(n, "then_branch");
  then_branch.node("Neg", {"e"}, {"p"});
  then_branch.output("p");
  GraphBuilder else_branch = add_body(n, "else_branch");
  else_branch.node("ReduceSum", {"e"}, {"q"});
  else_branch.output("q");
  add_int(else_branch.proto()->mutable_node(0), "keepdims", 0);
  Explained e;
  explain(m, Code::kBranchMismatch, "If", &e);
  ASSERT_EQ(e.alone.size(), 1u);
  EXPECT_EQ(e.alone[0].graph().input_size(), 2);
}

TEST(Explain, UnsupportedNodeTellsWhatConverts) {  // VC0208; the axes would have to be known
  ModelBuilder m(18);
  m.input("x", {"2", "3"}).input("split", {"2"}, 7).output("y");
  m.node("SplitToSequence", {"x", "split"}, {"s"});
  m.node("ConcatFromSequence", {"s"}, {"y"});
  add_int(m.proto()->mutable_node(1), "axis", 0);
  m.node("Expand", {"x", "shape"}, {"z"});
  m.input("shape", {"N"}, 7).output("z");
  Explained e;
  Folder folder;
  ASSERT_FALSE(check_model(folder.write("m.onnx", m.bytes()), {}, &e.diagnostics, nullptr));
  ASSERT_TRUE(explain_refusals("", &e.diagnostics));
  EXPECT_TRUE(has(e.text(), "the number of dimensions is not known")) << e.text();
  EXPECT_TRUE(has(e.text(), "fix the shapes of the model's inputs with --shape")) << e.text();
  EXPECT_EQ(folder.files(), 1u);  // nothing is written unless asked
}

TEST(Explain, TwoOutputsOfOneName) {  // VC0201
  ModelBuilder m;
  m.input("x", {"2", "3"}).output("y");
  m.node("Split", {"x"}, {"y", "y"});
  Explained e;
  explain(m, Code::kDuplicateName, "Split", &e);
}

// What is behind a failed node is looked at where the file says what the value would have been, else counted.
TEST(Explain, EveryGapAtOnce) {
  for (const bool declared : {true, false}) {
    ModelBuilder m;
    m.input("x", {"1", "3", "8", "8"}).output("y");
    m.floats("w", {2, 4, 1, 1}, std::vector<float>(8, 1.0f)).floats("v", {2, 5, 1, 1}, std::vector<float>(10, 1.0f));
    m.node("Conv", {"x", "w"}, {"a"})->set_name("first");
    m.node("Conv", {"a", "v"}, {"b"})->set_name("second");
    m.node("Relu", {"b"}, {"y"});
    if (declared) testing::set_type(m.proto()->add_value_info(), "a", {"1", "2", "8", "8"}, 1);
    Folder folder;
    Diagnostics d;
    ConvertReport report;
    ASSERT_FALSE(check_model(folder.write("m.onnx", m.bytes()), {}, &d, &report));
    EXPECT_EQ(d.all().size(), declared ? 2u : 1u) << d.text();
    EXPECT_EQ(report.nodes_passed_over, declared ? 1u : 2u);
  }
}

// A type that would be taken is proposed for the operand that is wrong, with the numbers that it has.
TEST(Explain, ProposesTypesThatKeepTheNumbers) {
  const auto help_of = [](const ModelBuilder& m) {
    Folder folder;
    Diagnostics d;
    EXPECT_FALSE(check_model(folder.write("m.onnx", m.bytes()), {}, &d, nullptr));
    EXPECT_TRUE(explain_refusals("", &d));
    return d.all().empty() ? std::string() : d.all()[0].help;
  };
  ModelBuilder add;  // the constant is an integer
  add.input("x", {"2", "3"}).ints("k", {}, {2}).output("y");
  add.node("Add", {"x", "k"}, {"y"});
  EXPECT_EQ(help_of(add), "with \"k\" of float32 this node converts: store it as float32");
  ModelBuilder gather;  // the indices are real
  gather.input("x", {"3", "4"}).floats("i", {1}, {1}).output("y");
  gather.node("Gather", {"x", "i"}, {"y"});
  EXPECT_EQ(help_of(gather), "with \"i\" of int64 this node converts: store it as int64");
  ModelBuilder half;  // no integer is 1.5
  half.input("x", {"3", "4"}).floats("i", {1}, {1.5f}).output("y");
  half.node("Gather", {"x", "i"}, {"y"});
  EXPECT_EQ(help_of(half), "");
  ModelBuilder both;  // two inputs: the integer one gets the Cast
  both.input("x", {"2", "3"}).input("k", {"2", "3"}, 7).output("y");
  both.node("Add", {"x", "k"}, {"y"});
  EXPECT_EQ(help_of(both), "with \"k\" of float32 this node converts: put a Cast before it to float32");
  ModelBuilder negative;  // no type makes -5 an extent
  negative.ints("s", {1}, {-5}).output("y");
  negative.node("ConstantOfShape", {"s"}, {"y"});
  EXPECT_EQ(help_of(negative), "");
}

}  // namespace
}  // namespace vireo::explain_test
