// Constants inside functions that are called with and without their optional inputs.
#include <gtest/gtest.h>

#include "converter/onnx/import.h"
#include "converter/testing/model_builder.h"

namespace vireo::importer::functions_test {
namespace {

using testing::add_body;
using testing::add_int;
using testing::GraphBuilder;
using testing::ModelBuilder;

// y = Clip(x, low) + value: `low` may be left out.
void add_function(ModelBuilder* m, const std::string& name, float value) {
  auto* f = m->model.add_functions();
  f->set_name(name);
  f->set_domain("f");
  for (const char* input : {"x", "low"}) f->add_input(input);
  f->add_output("y");
  auto* opset = f->add_opset_import();
  opset->set_domain("");
  opset->set_version(17);
  auto* constant = f->add_node();
  constant->set_op_type("Constant");
  constant->add_output("c");
  auto* a = constant->add_attribute();
  a->set_name("value");
  a->set_type(::onnx::AttributeProto::TENSOR);
  a->mutable_t()->set_data_type(1);
  a->mutable_t()->set_raw_data(&value, sizeof(value));
  auto* clip = f->add_node();
  clip->set_op_type("Clip");
  for (const char* input : {"x", "low"}) clip->add_input(input);
  clip->add_output("clipped");
  auto* add = f->add_node();
  add->set_op_type("Add");
  for (const char* input : {"clipped", "c"}) add->add_input(input);
  add->add_output("y");
}

// What the calls add, in their order; empty when the model is refused.
std::vector<float> added(ModelBuilder& m, std::string* said) {
  auto* row = m.model.add_opset_import();
  row->set_domain("f");
  row->set_version(1);
  Diagnostics found;
  const ImportedModel imported = import_model(m.model, "", {}, Guess::kUsual, &found);
  *said = found.text();
  std::vector<float> out;
  if (imported.graph == nullptr) return out;
  for (const ir::Node& n : imported.graph->nodes()) {
    if (n.op == Op::kAdd) out.push_back(n.inputs[1]->constant->tensor.as<float>()[0]);
  }
  return out;
}

TEST(Functions, EachHasItsOwnConstantsWhereInputsAreLeftOut) {
  ModelBuilder m;
  m.input("x0", {"2"}).output("x8");
  std::vector<float> wanted;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "f" + std::to_string(i);
    wanted.push_back(static_cast<float>(i));
    add_function(&m, name, wanted.back());
    m.node(name, {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)}, "f");
  }
  std::string said;
  EXPECT_EQ(added(m, &said), wanted) << said;
}

TEST(Functions, OneIsCalledWithAnInputAndThenWithout) {
  ModelBuilder m;
  m.input("x", {"2"}).output("z").floats("low", {}, {0});
  add_function(&m, "f", 3);
  m.node("f", {"x", "low"}, {"y"}, "f");
  m.node("f", {"y"}, {"y2"}, "f");
  m.node("f", {"y2", "low"}, {"z"}, "f");
  std::string said;
  EXPECT_EQ(added(m, &said), (std::vector<float>{3, 3, 3})) << said;
}

// A function of one node, whose bodies the caller fills.
::onnx::NodeProto* add_function_of(ModelBuilder* m, int opset, const std::string& op,
                                   const std::vector<std::string>& inputs, const std::vector<std::string>& reads) {
  auto* row = m->model.add_opset_import();
  row->set_domain("f");
  row->set_version(1);
  auto* f = m->model.add_functions();
  f->set_name("f");
  f->set_domain("f");
  for (const std::string& name : inputs) f->add_input(name);
  f->add_output("y");
  f->add_opset_import()->set_version(opset);
  auto* n = f->add_node();
  n->set_op_type(op);
  for (const std::string& name : reads) n->add_input(name);
  n->add_output("y");
  return n;
}

// Its lists are taken out of a node of the model, not out of one that the next call reads again.
TEST(Functions, ATreeIsCalledTwice) {
  ModelBuilder m;
  m.input("x", {"3", "2"}).output("y").output("z");
  ::onnx::NodeProto* n = add_function_of(&m, 17, "TreeEnsembleRegressor", {"x"}, {"x"});
  n->set_domain("ai.onnx.ml");
  auto* row = m.model.mutable_functions(0)->add_opset_import();
  row->set_domain("ai.onnx.ml");
  row->set_version(3);
  const auto list = [&](const char* name, ::onnx::AttributeProto::AttributeType type) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(type);
    return a;
  };
  const auto ints = [&](const char* name, const std::vector<int64_t>& values) {
    auto* a = list(name, ::onnx::AttributeProto::INTS);
    for (const int64_t v : values) a->add_ints(v);
  };
  ints("nodes_treeids", {0, 0, 0});
  ints("nodes_nodeids", {0, 1, 2});
  ints("nodes_featureids", {1, 0, 0});
  ints("nodes_truenodeids", {1, 0, 0});
  ints("nodes_falsenodeids", {2, 0, 0});
  ints("target_treeids", {0, 0});
  ints("target_nodeids", {1, 2});
  ints("target_ids", {0, 0});
  auto* modes = list("nodes_modes", ::onnx::AttributeProto::STRINGS);
  for (const char* mode : {"BRANCH_LEQ", "LEAF", "LEAF"}) modes->add_strings(mode);
  auto* values = list("nodes_values", ::onnx::AttributeProto::FLOATS);
  for (const float v : {0.5f, 0.0f, 0.0f}) values->add_floats(v);
  auto* weights = list("target_weights", ::onnx::AttributeProto::FLOATS);
  for (const float v : {1.0f, 2.0f}) weights->add_floats(v);
  for (const char* y : {"y", "z"}) m.node("f", {"x"}, {y}, "f");
  Diagnostics found;
  const ImportedModel imported = import_model(m.model, "", {}, Guess::kUsual, &found);
  ASSERT_NE(imported.graph, nullptr) << found.text();
  std::vector<std::vector<uint8_t>> attrs;
  for (const ir::Node& node : imported.graph->nodes()) attrs.push_back(node.attrs);
  ASSERT_EQ(attrs.size(), 2u);
  EXPECT_EQ(attrs[0], attrs[1]);
}

// One branch reads `low`, the other has a value of that name of its own.
TEST(Functions, InputsThatAreLeftOutAreAbsentInBodies) {
  ModelBuilder m;
  ::onnx::NodeProto* n = add_function_of(&m, 17, "If", {"c", "x", "low"}, {"c"});
  add_body(n, "then_branch").output("t").node("Clip", {"x", "low"}, {"t"});
  GraphBuilder other = add_body(n, "else_branch");
  other.output("e").node("Neg", {"x"}, {"low"});
  other.node("Exp", {"low"}, {"e"});
  m.input("c", {}, 9).input("x", {"2"}).input("low", {}).output("a").output("b");
  m.node("f", {"c", "x"}, {"a"}, "f");
  m.node("f", {"c", "x", "low"}, {"b"}, "f");
  Diagnostics found;
  const ImportedModel imported = import_model(m.model, "", {}, Guess::kUsual, &found);
  ASSERT_NE(imported.graph, nullptr) << found.text();
  std::vector<size_t> reads;
  for (const ir::Node& node : imported.graph->nodes()) {
    ASSERT_EQ(node.op, Op::kIf);
    reads.push_back(node.bodies[0]->nodes().front().inputs.size());
    EXPECT_EQ(node.bodies[1]->nodes().size(), 2u);
  }
  EXPECT_EQ(reads, (std::vector<size_t>{1, 2}));
}

// The Scan of opset 8 is rewritten without its sequence_lens, which the call left out.
TEST(Functions, AnAbsentInputOfANodeThatIsRewritten) {
  ModelBuilder m(8);
  ::onnx::NodeProto* n = add_function_of(&m, 8, "Scan", {"x", "lens"}, {"lens", "x"});
  add_int(n, "num_scan_inputs", 1);
  GraphBuilder body = add_body(n, "body");
  body.input("in", {"3"}).output("out").node("Neg", {"in"}, {"out"});
  m.input("x", {"1", "2", "3"}).output("a").output("b");
  m.node("f", {"x"}, {"a"}, "f");
  m.node("f", {"x"}, {"b"}, "f");
  Diagnostics found;
  EXPECT_NE(import_model(m.model, "", {}, Guess::kUsual, &found).graph, nullptr) << found.text();
}

}  // namespace
}  // namespace vireo::importer::functions_test
