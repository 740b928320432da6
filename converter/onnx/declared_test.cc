// What the importer knows of extents inside a model: from declarations, and from shape arithmetic over static shapes.
#include <gtest/gtest.h>

#include "converter/onnx/import.h"

namespace vireo::importer::declared_test {
namespace {

void add_value(::onnx::ValueInfoProto* info, const std::string& name, int type, const std::vector<int64_t>& dims) {
  info->set_name(name);
  auto* t = info->mutable_type()->mutable_tensor_type();
  t->set_elem_type(type);
  t->mutable_shape();
  for (const int64_t d : dims) t->mutable_shape()->add_dim()->set_dim_value(d);
}

::onnx::NodeProto* add_node(::onnx::ModelProto* m, const char* op, const std::vector<std::string>& in,
                            const std::string& out) {
  ::onnx::NodeProto* n = m->mutable_graph()->add_node();
  n->set_op_type(op);
  for (const std::string& name : in) n->add_input(name);
  n->add_output(out);
  return n;
}

::onnx::ModelProto new_model() {
  ::onnx::ModelProto m;
  m.set_ir_version(10);
  auto* opset = m.add_opset_import();
  opset->set_version(21);
  return m;
}

// y = Reshape(x [2, 3], shape), where the shape is an input.
::onnx::ModelProto open_reshape(const std::vector<int64_t>& declared) {
  ::onnx::ModelProto m = new_model();
  add_value(m.mutable_graph()->add_input(), "x", 1, {2, 3});
  add_value(m.mutable_graph()->add_input(), "shape", 7, {2});
  add_node(&m, "Reshape", {"x", "shape"}, "y");
  add_value(m.mutable_graph()->add_output(), "y", 1, declared);
  return m;
}

Shape output_shape(::onnx::ModelProto m, const std::vector<ShapeOption>& shapes = {}) {
  Diagnostics diagnostics;
  ConvertOptions options;
  options.shapes = shapes;
  const ImportedModel model = import_model(m, "", options, Guess::kUsual, &diagnostics);
  EXPECT_NE(model.graph, nullptr);
  return model.graph == nullptr ? Shape{} : model.graph->outputs()[0]->type.shape;
}

TEST(Declared, StandsInForAnOpenExtent) {
  const Shape y = output_shape(open_reshape({3, 2}));
  ASSERT_EQ(y.rank, 2);
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], 2);
}

TEST(Declared, OfAnotherRankOrBesideShapeOptionsIsNotBelieved) {
  EXPECT_FALSE(output_shape(open_reshape({6})).is_static());
  ShapeOption option;
  option.input = "x";
  option.dims = {{2, 2}, {3, 3}};
  EXPECT_FALSE(output_shape(open_reshape({3, 2}), {option}).is_static());
}

// The Transpose tells the image's rank, and nothing tells its extents.
TEST(Declared, ARankThatOnlyAReaderTellsHasNoExtents) {
  ::onnx::ModelProto m = new_model();
  add_value(m.mutable_graph()->add_input(), "stream", 2, {100});
  add_node(&m, "ImageDecoder", {"stream"}, "image");
  auto* perm = add_node(&m, "Transpose", {"image"}, "y")->add_attribute();
  perm->set_name("perm");
  perm->set_type(::onnx::AttributeProto::INTS);
  for (const int64_t axis : {2, 0, 1}) perm->add_ints(axis);
  auto* y = m.mutable_graph()->add_output();
  y->set_name("y");
  y->mutable_type()->mutable_tensor_type()->set_elem_type(2);
  EXPECT_EQ(output_shape(m).rank, 3);
}

TEST(Declared, DoesNotOverruleWhatIsInferred) {
  ::onnx::ModelProto m = new_model();
  add_value(m.mutable_graph()->add_input(), "x", 1, {2, 3});
  add_node(&m, "Identity", {"x"}, "y");
  add_value(m.mutable_graph()->add_output(), "y", 1, {7, 7});
  const Shape y = output_shape(m);
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], 3);
}

// Relu(x [2, 3]), whose output is declared so; what is said of it.
std::string said_of_output(int type, const std::vector<int64_t>& dims) {
  ::onnx::ModelProto m = new_model();
  add_value(m.mutable_graph()->add_input(), "x", 1, {2, 3});
  add_node(&m, "Relu", {"x"}, "y");
  add_value(m.mutable_graph()->add_output(), "y", type, dims);
  Diagnostics diagnostics;
  EXPECT_NE(import_model(m, "", {}, Guess::kUsual, &diagnostics).graph, nullptr);
  for (const Diagnostic& d : diagnostics.all()) EXPECT_EQ(d.code, Code::kDeclaredOtherwise) << d.what;
  return diagnostics.all().empty() ? std::string() : diagnostics.all()[0].what;
}

TEST(Declared, OutputsOfAnotherTypeThanTheirNodesMake) {
  EXPECT_EQ(said_of_output(11, {2, 3}), "output \"y\" is declared as float64, and its node makes float32[2,3]");
  EXPECT_EQ(said_of_output(1, {2, 3, 1}), "output \"y\" is declared as 3 dimensions, and its node makes float32[2,3]");
  EXPECT_EQ(said_of_output(7, {6}),
            "output \"y\" is declared as int64 of 1 dimension, and its node makes float32[2,3]");
  EXPECT_EQ(said_of_output(1, {2, 3}), "");
  EXPECT_EQ(said_of_output(0, {}), "") << "no type";
  EXPECT_EQ(said_of_output(1, {}), "") << "as those write it who do not know the rank";
}

TEST(Declared, ValuesInsideOfAnotherTypeThanTheirNodesMake) {
  const auto said = [](const std::vector<int>& types) {
    ::onnx::ModelProto m = new_model();
    std::string last = "x";
    add_value(m.mutable_graph()->add_input(), last, 1, {2});
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string name = "t" + std::to_string(i);
      add_node(&m, "Relu", {last}, name);
      add_value(m.mutable_graph()->add_value_info(), name, types[i], {2});
      last = name;
    }
    add_value(m.mutable_graph()->add_output(), last, 1, {2});
    Diagnostics diagnostics;
    EXPECT_NE(import_model(m, "", {}, Guess::kUsual, &diagnostics).graph, nullptr);
    EXPECT_LE(diagnostics.all().size(), 1u) << diagnostics.text();
    return diagnostics.all().empty() ? std::string() : diagnostics.all()[0].what;
  };
  EXPECT_EQ(said({1, 1, 0}), "");
  EXPECT_EQ(said({1, 7}), "value \"t1\" is declared as int64, and its node makes float32[2]");
  EXPECT_EQ(said({7, 1, 11, 6}), "value \"t0\" is declared as int64, and its node makes float32[2]; so are 2 others");
}

TEST(Declared, OutputsThatAreListedAgain) {
  ::onnx::ModelProto m = new_model();
  add_value(m.mutable_graph()->add_input(), "x", 1, {2, 3});
  add_node(&m, "Relu", {"x"}, "y");
  add_node(&m, "Neg", {"x"}, "y.2");
  for (const char* name : {"y", "y", "y.2", "y"}) add_value(m.mutable_graph()->add_output(), name, 1, {2, 3});
  Diagnostics diagnostics;
  const ImportedModel model = import_model(m, "", {}, Guess::kUsual, &diagnostics);
  ASSERT_NE(model.graph, nullptr) << diagnostics.text();
  EXPECT_EQ(model.graph->output_names(), (std::vector<std::string>{"y", "y.3", "y.2", "y.4"}));
  EXPECT_EQ(model.graph->outputs()[0], model.graph->outputs()[1]);
  EXPECT_NE(model.graph->outputs()[0], model.graph->outputs()[2]);
  ASSERT_EQ(diagnostics.all().size(), 2u);
  EXPECT_EQ(diagnostics.all()[0].what, "output \"y\" is listed more than once: this one becomes \"y.3\"");
}

// The root of an element count, by way of floats: no rule for symbols follows it, constants do.
TEST(Contents, NumbersFoldThroughAnyOperator) {
  ::onnx::ModelProto m = new_model();
  add_value(m.mutable_graph()->add_input(), "x", 1, {4, 4});
  add_node(&m, "Size", {"x"}, "size");
  auto* to_float = add_node(&m, "Cast", {"size"}, "real")->add_attribute();
  to_float->set_name("to");
  to_float->set_type(::onnx::AttributeProto::INT);
  to_float->set_i(1);
  add_node(&m, "Sqrt", {"real"}, "root");
  auto* to_int = add_node(&m, "Cast", {"root"}, "side")->add_attribute();
  to_int->set_name("to");
  to_int->set_type(::onnx::AttributeProto::INT);
  to_int->set_i(7);
  auto* zero = m.mutable_graph()->add_initializer();
  zero->set_name("zero");
  zero->set_data_type(7);
  zero->add_dims(1);
  zero->add_int64_data(0);
  add_node(&m, "Unsqueeze", {"side", "zero"}, "shape");
  add_node(&m, "ConstantOfShape", {"shape"}, "y");
  auto* y = m.mutable_graph()->add_output();
  y->set_name("y");
  y->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  const Shape s = output_shape(m);
  ASSERT_EQ(s.rank, 1);
  EXPECT_EQ(s[0], 4);
}

}  // namespace
}  // namespace vireo::importer::declared_test
