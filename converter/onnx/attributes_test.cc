#include "converter/onnx/attributes.h"

#include <gtest/gtest.h>

#include <functional>

#include "converter/onnx/import.h"
#include "converter/testing/model_builder.h"
#include "sdk/ops/view.h"

namespace vireo::importer::attributes_test {
namespace {

using testing::add_body;
using testing::add_int;
using testing::add_ints;
using testing::GraphBuilder;
using testing::ModelBuilder;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void add_float(::onnx::NodeProto* node, const std::string& name, float v) {
  auto* a = node->add_attribute();
  a->set_name(name);
  a->set_type(::onnx::AttributeProto::FLOAT);
  a->set_f(v);
}

// What is said of an import, whose errors must all be of attributes; empty when the model is taken.
std::string refused(ModelBuilder& m) {
  Diagnostics found;
  const ImportedModel imported = import_model(m.model, "", {}, Guess::kUsual, &found);
  EXPECT_EQ(imported.graph == nullptr, found.failed());
  for (const Diagnostic& d : found.all()) {
    if (d.severity == Severity::kWarning) continue;
    EXPECT_EQ(d.code, Code::kBadAttribute) << d.what;
  }
  return found.text();
}

// Of one node x -> y, with its attributes set by `set`.
std::string refused(const std::string& op, int opset, const std::vector<std::string>& inputs,
                    const std::function<void(::onnx::NodeProto*)>& set, const std::string& domain = "") {
  ModelBuilder m(opset);
  m.input("x", {"1", "2", "4", "4"}).floats("w", {2, 2, 3, 3}, std::vector<float>(36, 1)).output("y");
  m.ints("axes", {1}, {1}).floats("scales", {4}, {1, 1, 2, 2}).floats("c", {2}, {1, 1}).input("a", {"2", "2"});
  if (!domain.empty()) {
    auto* row = m.model.add_opset_import();
    row->set_domain(domain);
    row->set_version(1);
  }
  set(m.node(op, inputs, {"y"}, domain));
  return refused(m);
}

std::function<void(::onnx::NodeProto*)> ints(const std::string& name, const std::vector<int64_t>& values) {
  return [=](::onnx::NodeProto* n) { add_ints(n, name, values); };
}
std::function<void(::onnx::NodeProto*)> integer(const std::string& name, int64_t value) {
  return [=](::onnx::NodeProto* n) { add_int(n, name, value); };
}
std::function<void(::onnx::NodeProto*)> real(const std::string& name, float value) {
  return [=](::onnx::NodeProto* n) { add_float(n, name, value); };
}

TEST(Attributes, EveryImporterHasARow) {
  for (const OnnxImport* i : onnx_imports()) {
    if (std::string(i->op_type) == "ReduceNorm") continue;  // ours alone, refused by its importer
    EXPECT_NE(operator_attributes(i->domain, i->op_type), nullptr) << i->domain << " " << i->op_type;
  }
  EXPECT_EQ(operator_attributes("", "NoSuchThing"), nullptr);
  EXPECT_EQ(operator_attributes("com.microsoft", "Conv"), nullptr);
}

TEST(Attributes, VersionsThatHaveThem) {
  const auto in = [](const char* op, int version, const char* name) {
    return has_attribute(*operator_attributes("", op), version, name);
  };
  EXPECT_TRUE(in("Clip", 10, "max"));
  EXPECT_FALSE(in("Clip", 11, "max"));
  EXPECT_TRUE(in("Relu", 5, "consumed_inputs"));
  EXPECT_FALSE(in("Relu", 6, "consumed_inputs"));
  EXPECT_TRUE(in("Pad", 1, "paddings"));
  EXPECT_FALSE(in("Pad", 1, "pads"));
  EXPECT_TRUE(in("Pad", 2, "pads"));
  EXPECT_FALSE(in("Pad", 11, "pads"));
  EXPECT_FALSE(in("Shape", 13, "start"));
  EXPECT_TRUE(in("Shape", 28, "start"));
  EXPECT_TRUE(in("LayerNormalization", 12, "stash_type")) << "older than the operator";
  EXPECT_FALSE(in("Conv", 11, "pad"));
  EXPECT_FALSE(in("Conv", 11, "")) << "no name is no attribute";
  EXPECT_FALSE(in("Conv", 11, "pads strides"));
}

TEST(Attributes, WhatBecameAnInput) {
  const std::string text = refused("Clip", 11, {"x"}, real("max", 1));
  EXPECT_TRUE(has(text, "has an attribute max, which Clip does not have in opset 11")) << text;
  EXPECT_TRUE(
      has(text, "since opset 11 it is the input max: give it as one, or export the model with opset 10 or older"))
      << text;
  EXPECT_EQ(refused("Clip", 10, {"x"}, real("max", 1)), "");
  EXPECT_TRUE(has(refused("ReduceSum", 13, {"x"}, ints("axes", {1})), "since opset 13 it is the input axes"));
  EXPECT_EQ(refused("ReduceSum", 12, {"x"}, ints("axes", {1})), "");
  EXPECT_EQ(refused("ReduceSum", 13, {"x", "axes"}, integer("keepdims", 0)), "");
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceL2"}) {
    EXPECT_TRUE(has(refused(op, 18, {"x"}, ints("axes", {1})), "since opset 18 it is the input axes")) << op;
    EXPECT_EQ(refused(op, 17, {"x"}, ints("axes", {1})), "") << op;
  }
  EXPECT_TRUE(has(refused("Squeeze", 13, {"x"}, ints("axes", {0})), "the input axes"));
  EXPECT_TRUE(has(refused("Pad", 11, {"x", "axes"}, real("value", 1)), "the input constant_value"));
}

TEST(Attributes, WhatAVersionDoesNotHave) {
  EXPECT_TRUE(has(refused("BatchNormalization", 9, {"x", "c", "c", "c", "c"}, integer("spatial", 1)),
                  "opset 8 was the last that had it"));
  EXPECT_TRUE(has(refused("ReduceMax", 17, {"x"}, integer("noop_with_empty_axes", 1)), "it is there since opset 18"));
  EXPECT_EQ(refused("ReduceMax", 18, {"x"}, integer("noop_with_empty_axes", 1)), "");
}

TEST(Attributes, NamesThatAreNearlyRight) {
  EXPECT_TRUE(has(refused("Conv", 13, {"x", "w"}, ints("pad", {1, 1, 1, 1})), "write pads"));
  EXPECT_TRUE(has(refused("Conv", 13, {"x", "w"}, ints("stride", {2, 2})), "write strides"));
  EXPECT_TRUE(has(refused("Conv", 13, {"x", "w"}, ints("dilation", {2, 2})), "write dilations"));
  EXPECT_TRUE(has(refused("Gemm", 13, {"a", "a"}, integer("transb", 1)), "write transB"));
  EXPECT_TRUE(has(refused("Softmax", 13, {"x"}, integer("axes", 1)), "write axis"));
  const std::string resize = refused("Resize", 13, {"x", "", "scales"}, integer("align_corners", 1));
  EXPECT_TRUE(has(resize, "the attributes are: coordinate_transformation_mode")) << resize;
  EXPECT_FALSE(has(resize, "antialias")) << "which comes with opset 18: " << resize;
  EXPECT_TRUE(has(refused("Relu", 13, {"x"}, integer("foo", 1)), "has no attributes"));
}

TEST(Attributes, OfOtherDomains) {
  EXPECT_EQ(refused("QuickGelu", 13, {"x"}, real("alpha", 1), "com.microsoft"), "");
  const std::string text = refused("QuickGelu", 13, {"x"}, real("beta", 1), "com.microsoft");
  EXPECT_TRUE(has(text, "which QuickGelu does not have in version 1 of com.microsoft")) << text;
  EXPECT_TRUE(has(refused("Normalizer", 13, {"a"}, integer("axis", 1), "ai.onnx.ml"), "version 1 of ai.onnx.ml"));
}

TEST(Attributes, EachIsThereOnce) {
  const auto twice = [](::onnx::NodeProto* n) {
    for (const float alpha : {0.1f, 0.5f, 0.9f}) add_float(n, "alpha", alpha);
  };
  const std::string text = refused("LeakyRelu", 13, {"x"}, twice);
  EXPECT_TRUE(has(text, "has the attribute alpha more than once")) << text;
  EXPECT_EQ(text.find("more than once"), text.rfind("more than once")) << text;
}

TEST(Attributes, AllOfANodeAreTold) {
  const std::string text = refused("Conv", 13, {"x", "w"}, [](::onnx::NodeProto* n) {
    add_ints(n, "pad", {1, 1, 1, 1});
    add_ints(n, "stride", {2, 2});
  });
  EXPECT_TRUE(has(text, "write pads") && has(text, "write strides")) << text;
}

TEST(Attributes, InternalNamesAreLeftAlone) { EXPECT_EQ(refused("Relu", 13, {"x"}, integer("__origin", 1)), ""); }

TEST(Attributes, OfConstantsAndInBodies) {
  ModelBuilder m;
  m.input("x", {"2"}).input("c", {}, 9).output("y");
  auto* n = m.node("If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder body = add_body(n, branch);
    body.output(std::string("out_") + branch);
    add_float(body.node("Elu", {"x"}, {std::string("out_") + branch}), branch[0] == 't' ? "alpha" : "gamma", 1);
  }
  EXPECT_TRUE(has(refused(m), "gamma, which Elu does not have"));

  ModelBuilder old(11);
  old.input("x", {}).output("y");
  add_float(old.node("Constant", {}, {"k"}), "value_float", 1);
  old.node("Add", {"x", "k"}, {"y"});
  EXPECT_TRUE(has(refused(old), "it is there since opset 12"));

  ModelBuilder loop;
  loop.input("x", {"2"}).input("c", {}, 9).output("y");
  add_int(loop.node("If", {"c"}, {"y"}), "axis", 1);
  EXPECT_TRUE(has(refused(loop), "axis, which If does not have"));
}

// The Scan of opset 8 is rewritten in place, and met again where its function is called a second time.
TEST(Attributes, OfScansThatWereRewritten) {
  const auto scan = [](const char* attribute) {
    ModelBuilder m(8);
    auto* row = m.model.add_opset_import();
    row->set_domain("f");
    row->set_version(1);
    m.input("x", {"1", "3", "2"}).output("y");
    m.node("Positive", {"x"}, {"h"}, "f");
    m.node("Positive", {"h"}, {"y"}, "f");
    auto* f = m.model.add_functions();
    f->set_name("Positive");
    f->set_domain("f");
    f->add_input("a");
    f->add_output("b");
    auto* opset = f->add_opset_import();
    opset->set_domain("");
    opset->set_version(8);
    auto* n = f->add_node();
    n->set_op_type("Scan");
    n->add_input("");
    n->add_input("a");
    n->add_output("b");
    add_int(n, "num_scan_inputs", 1);
    add_ints(n, attribute, {0});
    GraphBuilder body = add_body(n, "body");
    body.input("slice", {"2"}).output("out");
    body.node("Relu", {"slice"}, {"out"});
    return refused(m);
  };
  EXPECT_EQ(scan("directions"), "");
  EXPECT_TRUE(has(scan("scan_input_axes"), "it is there since opset 9"));
}

TEST(Attributes, OfFunctions) {
  const auto call = [](const char* attribute) {
    ModelBuilder m;
    auto* row = m.model.add_opset_import();
    row->set_domain("f");
    row->set_version(1);
    m.input("x", {"2"}).output("y");
    add_float(m.node("Softened", {"x"}, {"y"}, "f"), attribute, 0.5f);
    auto* f = m.model.add_functions();
    f->set_name("Softened");
    f->set_domain("f");
    f->add_input("a");
    f->add_output("b");
    f->add_attribute("slope");
    auto* with_default = f->add_attribute_proto();
    with_default->set_name("other");
    with_default->set_type(::onnx::AttributeProto::FLOAT);
    auto* opset = f->add_opset_import();
    opset->set_domain("");
    opset->set_version(17);
    auto* n = f->add_node();
    n->set_op_type("LeakyRelu");
    n->add_input("a");
    n->add_output("b");
    auto* a = n->add_attribute();
    a->set_name("alpha");
    a->set_type(::onnx::AttributeProto::FLOAT);
    a->set_ref_attr_name("slope");
    return refused(m);
  };
  EXPECT_EQ(call("slope"), "");
  EXPECT_EQ(call("other"), "");
  const std::string text = call("alpha");
  EXPECT_TRUE(has(text, "has an attribute alpha, which function Softened does not declare")) << text;
}

}  // namespace
}  // namespace vireo::importer::attributes_test
