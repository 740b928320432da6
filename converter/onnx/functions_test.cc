// Constants inside functions that are called with and without their optional inputs.
#include <gtest/gtest.h>

#include "converter/onnx/import.h"
#include "converter/testing/model_builder.h"

namespace vireo::importer {
namespace {

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
  const ImportedModel imported = import_model(m.model, "", {}, {}, Guess::kUsual, &found);
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

}  // namespace
}  // namespace vireo::importer
