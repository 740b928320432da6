// Maps taken apart into keys and values: names, types, and every refusal. What the operators compute is judged beside
// ONNX Runtime (tests/e2e/maps_test.py).
#include <gtest/gtest.h>

#include "converter/ir/infer.h"
#include "converter/onnx/import.h"

namespace vireo::importer::maps_test {
namespace {

using Type = ::onnx::TensorProto;

class MapsTest : public ::testing::Test {
 protected:
  MapsTest() {
    m_.set_ir_version(10);
    m_.add_opset_import()->set_version(21);
    auto* ml = m_.add_opset_import();
    ml->set_domain("ai.onnx.ml");
    ml->set_version(1);
  }

  ::onnx::GraphProto& graph() { return *m_.mutable_graph(); }
  void map_input(const std::string& name, int key, int value) {
    ::onnx::ValueInfoProto* info = graph().add_input();
    info->set_name(name);
    info->mutable_type()->mutable_map_type()->set_key_type(key);
    info->mutable_type()->mutable_map_type()->mutable_value_type()->mutable_tensor_type()->set_elem_type(value);
  }
  void tensor_input(const std::string& name, const std::vector<int64_t>& dims, int type = Type::FLOAT) {
    ::onnx::ValueInfoProto* info = graph().add_input();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const int64_t d : dims) {
      if (d < 0) shape->add_dim()->set_dim_param("D" + std::to_string(-d));
      if (d >= 0) shape->add_dim()->set_dim_value(d);
    }
  }
  static ::onnx::NodeProto* add_node(::onnx::GraphProto* g, const char* op, const std::vector<std::string>& in,
                                     const std::string& out, const char* domain = "ai.onnx.ml") {
    ::onnx::NodeProto* n = g->add_node();
    n->set_op_type(op);
    n->set_domain(domain);
    for (const std::string& name : in) n->add_input(name);
    n->add_output(out);
    return n;
  }
  ::onnx::NodeProto* node(const char* op, const std::string& in, const std::string& out,
                          const char* domain = "ai.onnx.ml") {
    return add_node(&graph(), op, {in}, out, domain);
  }
  static void strings(::onnx::NodeProto* n, const char* name, const std::vector<std::string>& values) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& v : values) a->add_strings(v);
  }
  static void integers(::onnx::NodeProto* n, const char* name, const std::vector<int64_t>& values) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(::onnx::AttributeProto::INTS);
    for (const int64_t v : values) a->add_ints(v);
  }
  static void text(::onnx::NodeProto* n, const char* name, const std::string& value) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(::onnx::AttributeProto::STRING);
    a->set_s(value);
  }
  static void integer(::onnx::NodeProto* n, const char* name, int64_t value) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(::onnx::AttributeProto::INT);
    a->set_i(value);
  }

  bool run(const std::string& output) {
    graph().clear_output();
    graph().add_output()->set_name(output);
    Diagnostics found;
    graph_ = import_model(m_, "", options_, Guess::kUsual, &found).graph;
    said_ = found.text();
    return graph_ != nullptr;
  }
  // Whether it is refused with all of these words.
  ::testing::AssertionResult refused(const std::vector<std::string>& words, const std::string& output = "y") {
    if (run(output)) return ::testing::AssertionFailure() << "converts";
    for (const std::string& word : words) {
      if (said_.find(word) == std::string::npos)
        return ::testing::AssertionFailure() << "no '" << word << "' in " << said_;
    }
    return ::testing::AssertionSuccess();
  }
  std::string input_type(size_t i) {
    const ir::Value& v = *graph_->inputs()[i];
    return v.name + " " + dtype_name(v.type.dtype) + graph_->dims().text(v.type.shape);
  }
  std::string output_type(size_t i) {
    const ir::Value& v = *graph_->outputs()[i];
    return graph_->output_names()[i] + " " + dtype_name(v.type.dtype) + graph_->dims().text(v.type.shape);
  }

  ::onnx::ModelProto m_;
  ConvertOptions options_;
  std::unique_ptr<ir::Graph> graph_;
  std::string said_;
};

TEST_F(MapsTest, InputIsItsKeysAndItsValues) {
  map_input("x", Type::STRING, Type::DOUBLE);
  strings(node("DictVectorizer", "x", "y"), "string_vocabulary", {"b", "a", "c", "a"});
  ASSERT_TRUE(run("y")) << said_;
  ASSERT_EQ(graph_->inputs().size(), 2u);
  EXPECT_EQ(input_type(0), "x.keys string[x.size]");
  EXPECT_EQ(input_type(1), "x.values float64[x.size]");
  ASSERT_EQ(graph_->outputs().size(), 1u);
  EXPECT_EQ(output_type(0), "y float64[1,4]");
}

TEST_F(MapsTest, SizeIsBoundedByShapeOrElements) {
  map_input("x", Type::INT64, Type::FLOAT);
  node("CastMap", "x", "y");
  options_.elements = {{"x", 5}};
  ASSERT_TRUE(run("y")) << said_;
  const Dim size = graph_->inputs()[1]->type.shape[0];
  EXPECT_EQ(graph_->dims().interval(size).lo, 0);
  EXPECT_EQ(graph_->dims().interval(size).hi, 5);
  EXPECT_EQ(output_type(0), "y float32[1,x.size]");  // DENSE: as many as there are

  EXPECT_EQ(said_, "");
  options_.elements.push_back({"z", 5});
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_NE(said_.find("nothing asked for the elements of \"z\""), std::string::npos) << said_;
  options_.elements.pop_back();

  options_.shapes = {{"x.keys", {{1, 3}}}};
  EXPECT_TRUE(refused({"two extents", "\"x\"", "\"x.keys\""}));
  options_.elements.clear();
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(graph_->dims().interval(graph_->inputs()[1]->type.shape[0]).hi, 3);

  options_.shapes = {{"x", {{1, 3}}}};
  EXPECT_TRUE(refused({"its inputs are: x.keys, x.values"}));
  options_.shapes.clear();
  options_.elements = {{"x", -1}};
  EXPECT_TRUE(refused({"--elements says none of \"x\", which is a map", "--elements x=8"}));
}

TEST_F(MapsTest, OutputOfZipMapIsItsKeysAndItsValues) {
  tensor_input("x", {-1, 3});
  strings(node("ZipMap", "x", "y"), "classlabels_strings", {"cat", "dog", "bird"});
  ASSERT_TRUE(run("y")) << said_;
  ASSERT_EQ(graph_->outputs().size(), 2u);
  EXPECT_EQ(output_type(0), "y.keys string[3]");
  EXPECT_EQ(output_type(1), "y.values float32[D1,3]");
  EXPECT_EQ(graph_->outputs()[1], graph_->inputs()[0]);  // as they are
  ir::ConstantFinder finder;
  EXPECT_EQ(finder.find(graph_->outputs()[0])->tensor.strings, (std::vector<std::string>{"cat", "dog", "bird"}));
}

TEST_F(MapsTest, LastOfEqualLabelsCounts) {
  tensor_input("x", {4});
  integers(node("ZipMap", "x", "y"), "classlabels_int64s", {7, -1, 7, 5});
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(output_type(0), "y.keys int64[3]");
  EXPECT_EQ(output_type(1), "y.values float32[1,3]");
  ir::ConstantFinder finder;
  const int64_t* keys = finder.find(graph_->outputs()[0])->tensor.as<int64_t>();
  EXPECT_EQ((std::vector<int64_t>{keys, keys + 3}), (std::vector<int64_t>{-1, 7, 5}));
}

// A map that is handed through, and one that a branch reads.
TEST_F(MapsTest, MapsPassThroughAndIntoBodies) {
  map_input("x", Type::INT64, Type::FLOAT);
  node("Identity", "x", "z", "");
  tensor_input("which", {}, Type::BOOL);
  ::onnx::NodeProto* n = add_node(&graph(), "If", {"which"}, "y", "");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* a = n->add_attribute();
    a->set_name(branch);
    a->set_type(::onnx::AttributeProto::GRAPH);
    integers(add_node(a->mutable_g(), "DictVectorizer", {"z"}, branch), "int64_vocabulary",
             branch[0] == 't' ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{3, 4});
    a->mutable_g()->add_output()->set_name(branch);
  }
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(output_type(0), "y float32[1,2]");
  ASSERT_TRUE(run("z")) << said_;
  EXPECT_EQ(output_type(0), "z.keys int64[x.size]");
  EXPECT_EQ(output_type(1), "z.values float32[x.size]");
}

TEST_F(MapsTest, VocabularyMustBeOneAndFit) {
  const auto vectorizer = [&](int key) {
    m_.clear_graph();
    map_input("x", key, Type::FLOAT);
    return node("DictVectorizer", "x", "y");
  };
  vectorizer(Type::STRING);
  EXPECT_TRUE(refused({"DictVectorizer", "neither of string_vocabulary and int64_vocabulary"}));
  ::onnx::NodeProto* both = vectorizer(Type::STRING);
  strings(both, "string_vocabulary", {"a"});
  integers(both, "int64_vocabulary", {1});
  EXPECT_TRUE(refused({"both of string_vocabulary and int64_vocabulary are given", "the map's keys"}));
  integers(vectorizer(Type::STRING), "int64_vocabulary", {1});
  EXPECT_TRUE(refused({"int64_vocabulary is given for a map with string keys"}));
  strings(vectorizer(Type::INT32), "string_vocabulary", {"a"});
  EXPECT_TRUE(refused({"string_vocabulary is given for a map with int32 keys"}));
  strings(vectorizer(Type::INT64), "int64_vocabulary", {"a"});
  EXPECT_TRUE(refused({"int64_vocabulary is not a list of integers"}));
}

TEST_F(MapsTest, CastMapRefusesWhatIsNotDefined) {
  const auto cast = [&](int key = Type::INT64, int value = Type::FLOAT) {
    m_.clear_graph();
    map_input("x", key, value);
    return node("CastMap", "x", "y");
  };
  text(cast(), "cast_to", "TO_DOUBLE");
  EXPECT_TRUE(refused({"cast_to 'TO_DOUBLE' is not TO_FLOAT, TO_STRING or TO_INT64"}));
  text(cast(), "map_form", "LOOSE");
  EXPECT_TRUE(refused({"map_form 'LOOSE' is not DENSE or SPARSE"}));
  cast(Type::STRING);
  EXPECT_TRUE(refused({"string keys and float32 values, wanted int64 keys"}));
  cast(Type::INT64, Type::DOUBLE);
  EXPECT_TRUE(refused({"int64 keys and float64 values"}));
  for (const int64_t most : {int64_t{0}, int64_t{-3}, int64_t{1} << 31}) {
    ::onnx::NodeProto* n = cast();
    text(n, "map_form", "SPARSE");
    integer(n, "max_map", most);
    EXPECT_TRUE(refused({"max_map is " + std::to_string(most)}));
    n->mutable_attribute(0)->set_s("DENSE");  // which has no use for it
    EXPECT_TRUE(run("y")) << said_;
  }
}

TEST_F(MapsTest, ZipMapRefusesWhatDoesNotFit) {
  const auto zip = [&](const std::vector<int64_t>& dims, int type = Type::FLOAT) {
    m_.clear_graph();
    tensor_input("x", dims, type);
    return node("ZipMap", "x", "y");
  };
  zip({2, 3});
  EXPECT_TRUE(refused({"neither of classlabels_strings and classlabels_int64s"}));
  ::onnx::NodeProto* both = zip({2, 3});
  integers(both, "classlabels_int64s", {1, 2, 3});
  strings(both, "classlabels_strings", {"a", "b", "c"});
  EXPECT_TRUE(refused({"both of classlabels_strings and classlabels_int64s are given"}));
  integers(zip({2, 3}), "classlabels_int64s", {1, 2});
  EXPECT_TRUE(refused({"has 2 labels for an input of 3 columns"}));
  integers(zip({1, 2, 3}), "classlabels_int64s", {1, 2, 3});
  EXPECT_TRUE(refused({"of rank 3, wanted float of rank 1 or 2"}));
  integers(zip({2, 3}, Type::DOUBLE), "classlabels_int64s", {1, 2, 3});
  EXPECT_TRUE(refused({"its input is float64 of rank 2, wanted float"}));
  integers(zip({-1, -2}), "classlabels_int64s", {1, 2, 3});  // a run's reshape tells
  ASSERT_TRUE(run("y")) << said_;
  EXPECT_EQ(output_type(1), "y.values float32[D1,3]");
}

TEST_F(MapsTest, OtherOperatorsWantTensors) {
  map_input("x", Type::INT64, Type::FLOAT);
  node("Neg", "x", "y", "");
  EXPECT_TRUE(refused({"its input \"x\" is a map, wanted a tensor", "CastMap and DictVectorizer"}));
  m_.clear_graph();
  map_input("x", Type::INT64, Type::FLOAT);
  node("SequenceLength", "x", "y", "");
  EXPECT_TRUE(refused({"SequenceLength", "one of its inputs is a map"}));
  m_.clear_graph();
  tensor_input("x", {3});
  integers(node("DictVectorizer", "x", "y"), "int64_vocabulary", {1});
  EXPECT_TRUE(refused({"its input is a tensor, wanted a map"}));
  m_.clear_graph();
  tensor_input("x", {3});
  integers(node("ZipMap", "x", "z"), "classlabels_int64s", {1, 2, 3});
  node("CastMap", "z", "y");
  EXPECT_TRUE(refused({"its input is a sequence of maps, wanted a map"}));
  m_.clear_graph();
  map_input("x", Type::INT64, Type::FLOAT);
  integers(node("ZipMap", "x", "y"), "classlabels_int64s", {1});
  EXPECT_TRUE(refused({"ZipMap", "its input is a map, wanted a tensor"}));
}

TEST_F(MapsTest, InputsOfOtherKindsSayWhy) {
  map_input("x", Type::FLOAT, Type::FLOAT);
  node("CastMap", "x", "y");
  EXPECT_TRUE(refused({"this input is a map", "keys that are integers or strings"}));
  m_.clear_graph();
  map_input("x", Type::INT64, Type::FLOAT);
  graph()
      .mutable_input(0)
      ->mutable_type()
      ->mutable_map_type()
      ->mutable_value_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->add_dim()
      ->set_dim_value(3);
  node("CastMap", "x", "y");
  EXPECT_TRUE(refused({"this input is a map", "values that are scalars"}));
  m_.clear_graph();
  graph().add_input()->set_name("x");
  graph().mutable_input(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
  node("CastMap", "x", "y");
  options_.elements = {{"x", 2}};
  EXPECT_TRUE(refused({"this input is a sequence of maps", "an input of its own"}));
}

// Both branches give a map, of other labels each.
TEST_F(MapsTest, ABranchGivesNoMap) {
  tensor_input("which", {}, Type::BOOL);
  tensor_input("x", {2, 1});
  ::onnx::NodeProto* n = add_node(&graph(), "If", {"which"}, "y", "");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* a = n->add_attribute();
    a->set_name(branch);
    a->set_type(::onnx::AttributeProto::GRAPH);
    integers(add_node(a->mutable_g(), "ZipMap", {"x"}, branch), "classlabels_int64s", {branch[0]});
    a->mutable_g()->add_output()->set_name(branch);
    a->mutable_g()->mutable_output(0)->mutable_type()->mutable_sequence_type();
  }
  EXPECT_TRUE(refused({"If", "is one of two maps", "CastMap or DictVectorizer"}));
}

}  // namespace
}  // namespace vireo::importer::maps_test
