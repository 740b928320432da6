// What the exporter writes, read as protobuf, and imported again.
#include "converter/export/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "converter/ir/text.h"
#include "converter/onnx/import.h"
#include "converter/onnx/load.h"
#include "converter/passes/pipeline.h"
#include "converter/testing/model_builder.h"

namespace vireo::exporter::export_test {
namespace {

using testing::add_body;
using testing::Folder;
using testing::GraphBuilder;
using testing::ModelBuilder;

std::unique_ptr<ir::Graph> import(const std::string& path) {
  Diagnostics d;
  ::onnx::ModelProto model;
  std::string hash;
  EXPECT_TRUE(importer::load_model(path, &model, &hash, &d)) << d.text();
  auto imported = importer::import_model(model, path, {}, importer::Guess::kUsual, &d);
  EXPECT_NE(imported.graph, nullptr) << d.text();
  return std::move(imported.graph);
}

std::unique_ptr<ir::Graph> parse(const std::string& text) {
  std::string error;
  auto g = ir::parse_graph(text, &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

::onnx::ModelProto write(const ir::Graph& g) {
  ::onnx::ModelProto model;
  std::vector<ir::ConstantPtr> constants;
  Diagnostics d;
  EXPECT_TRUE(build_model(g, &model, &constants, &d)) << d.text();
  EXPECT_EQ(static_cast<int>(constants.size()), model.graph().initializer_size());
  return model;
}

// Operators, how they are wired and what bodies they own: all but names, which grow a prefix with each import.
std::string skeleton(const ir::Graph& g) {
  std::map<const ir::Value*, size_t> numbers{{nullptr, 0}};
  const auto number = [&](const ir::Value* v) {
    const size_t next = numbers.size();
    return std::to_string(numbers.emplace(v, next).first->second) + " ";
  };
  std::string out;
  for (const ir::Value* v : g.inputs()) out += number(v);
  for (const ir::Node& n : g.nodes()) {
    out += std::string("\n") + op_name(n.op) + " ";
    for (const ir::Value* v : n.inputs) out += number(v);
    out += "-> ";
    for (const ir::Value* v : n.outputs) out += number(v);
    for (const auto& body : n.bodies) out += "{" + skeleton(*body) + "}";
  }
  out += "\n";
  for (const ir::Value* v : g.outputs()) out += number(v);
  return out;
}

TEST(Export, KeepsNamesTypesAndSymbols) {
  const auto g = parse(
      "input %x f32[N,3]\ninput %n i64[2]\n%a = Relu(%x)\n%y = Cast(%n) {to:1}\noutput %a\noutput %y\noutput %x\n");
  const ::onnx::ModelProto m = write(*g);
  ASSERT_EQ(m.graph().input_size(), 2);
  EXPECT_EQ(m.graph().input(0).name(), "x");
  EXPECT_EQ(m.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(m.graph().input(0).type().tensor_type().shape().dim(1).dim_value(), 3);
  EXPECT_EQ(m.graph().input(1).type().tensor_type().elem_type(), 7);
  // The third output is an input: a copy, because its name is taken.
  ASSERT_EQ(m.graph().output_size(), 3);
  EXPECT_EQ(m.graph().output(0).name(), "a");
  EXPECT_EQ(m.graph().node(2).op_type(), "Identity");
  EXPECT_EQ(m.opset_import(0).version(), 21);
}

TEST(Export, EqualFusedNodesAreOneFunction) {
  const auto g = parse(
      "input %x f32[1,4,5,5]\n%a = Conv(%x, v[4,4,3,3], b[4]) {pads:[1,1,1,1]}\n%r = Relu(%a)\n"
      "%c = Conv(%r, w[4,4,3,3], c[4]) {pads:[1,1,1,1]}\n%y = Relu(%c)\n");
  Diagnostics d;
  ConvertReport report;
  ASSERT_TRUE(passes::run_pipeline(*g, {}, nullptr, &d, &report)) << d.text();
  const ::onnx::ModelProto m = write(*g);
  ASSERT_EQ(m.functions_size(), 1);
  ASSERT_EQ(m.graph().node_size(), 2);
  EXPECT_EQ(m.graph().node(0).domain(), "vireo");
  EXPECT_EQ(m.graph().node(0).op_type(), m.graph().node(1).op_type());
  EXPECT_EQ(m.functions(0).node_size(), 2);
  EXPECT_EQ(m.functions(0).opset_import_size(), m.opset_import_size());
}

TEST(Export, OperatorsOfOurOwnAreFunctions) {
  const auto g = parse("input %x i8[2,3]\n%y = IntTable(%x, t:u8[256])\n");
  const ::onnx::ModelProto m = write(*g);
  ASSERT_EQ(m.functions_size(), 1);
  EXPECT_EQ(m.functions(0).name(), "IntTable");
  EXPECT_EQ(m.functions(0).domain(), "vireo");
  for (const auto& n : m.functions(0).node()) EXPECT_EQ(n.domain(), "");
}

TEST(Export, OneContentIsOneInitializer) {
  const auto g = parse("input %x f32[2,4]\n%a = MatMul(%x, w[4,4])\n%b = MatMul(%a, w[4,4])\n%y = Add(%b, w[4])\n");
  EXPECT_EQ(write(*g).graph().initializer_size(), 2);
}

TEST(Export, NamesTheNodeThatHasNoSpelling) {
  const auto g = parse(
      "input %x f32[1,1,4,4]\ninput %s f32[4]\n%y = Resize(%x, _, %s) {mode:nearest, coordinate:asymmetric, "
      "nearest:by_scale}\n");
  Folder folder;
  Diagnostics d;
  EXPECT_FALSE(export_onnx(*g, folder.at("out.onnx"), &d));
  EXPECT_NE(d.text().find("VC0403"), std::string::npos) << d.text();
  EXPECT_NE(d.text().find("\"y\""), std::string::npos) << d.text();
  EXPECT_NE(d.text().find("help"), std::string::npos) << d.text();
  EXPECT_EQ(folder.files(), 0u);
}

// What a branch and a loop take from outside is captured by name, and comes back the same.
TEST(Export, BodiesCaptureByName) {
  ModelBuilder m;
  m.input("x", {"2", "3"}).input("c", {}, 9).input("n", {}, 7).output("y").output("z");
  m.node("Relu", {"x"}, {"h"});
  auto* branch = m.node("If", {"c"}, {"y"});
  add_body(branch, "then_branch").output("t").node("Add", {"h", "x"}, {"t"});
  add_body(branch, "else_branch").output("e").node("Neg", {"h"}, {"e"});
  auto* loop = m.node("Loop", {"n", "", "x"}, {"z"});
  GraphBuilder body = add_body(loop, "body");
  body.input("i", {}, 7).input("k", {}, 9).input("s", {"2", "3"}).output("k2").output("s2");
  body.node("Identity", {"k"}, {"k2"});
  body.node("Mul", {"s", "h"}, {"s2"});
  Folder folder;
  const auto g = import(folder.write("m.onnx", m.bytes()));
  const ::onnx::ModelProto out = write(*g);
  bool captured = false;
  for (const auto& n : out.graph().node()) {
    if (n.op_type() != "If" && n.op_type() != "Loop") continue;
    EXPECT_EQ(n.input_size(), n.op_type() == "If" ? 1 : 3);
    for (const auto& a : n.attribute()) {
      for (const auto& inner : a.g().node())
        captured = captured || std::count(inner.input().begin(), inner.input().end(), "h") != 0;
    }
  }
  EXPECT_TRUE(captured);
  Diagnostics d;
  ASSERT_TRUE(export_onnx(*g, folder.at("again.onnx"), &d)) << d.text();
  const auto again = import(folder.at("again.onnx"));
  EXPECT_EQ(skeleton(*again), skeleton(*g));
}

// The parts behind the last one that is wanted are parts all the same.
TEST(Export, SplitNamesAllItsParts) {
  ModelBuilder m(18);
  m.input("x", {"6"}).output("a").output("b");
  testing::add_int(m.node("Split", {"x"}, {"a", "b", ""}), "num_outputs", 3);
  Folder folder;
  const ::onnx::ModelProto out = write(*import(folder.write("m.onnx", m.bytes())));
  ASSERT_EQ(out.graph().node_size(), 1);
  ASSERT_EQ(out.graph().node(0).output_size(), 3);
  EXPECT_FALSE(out.graph().node(0).output(2).empty());
}

// Each node's children are one node, so that there are 2^40 paths to the leaf.
TEST(Export, TreesThatShareTheirNodesAreNotListedWithoutEnd) {
  std::string zeros, children;
  for (int i = 0; i < 40; ++i) {
    zeros += i == 0 ? "0" : ",0";
    children += (i == 0 ? "" : ",") + std::to_string(i == 39 ? int64_t{1} << 31 : i + 1);
  }
  const auto g = parse("input %x f32[1,1]\n%y = TreeEnsembleRegressor(%x) {targets:1, roots:[0], features:[" + zeros +
                       "], modes:[" + zeros + "], thresholds:[" + zeros + "], true_children:[" + children +
                       "], false_children:[" + children + "], leaf_begin:[0,1], vote_targets:[0], vote_weights:[1]}\n");
  ASSERT_NE(g, nullptr);
  ::onnx::ModelProto model;
  std::vector<ir::ConstantPtr> constants;
  Diagnostics d;
  EXPECT_FALSE(build_model(*g, &model, &constants, &d));
  EXPECT_NE(d.text().find("share so many nodes"), std::string::npos) << d.text();
}

TEST(Export, LargeConstantsGoIntoAFileOfTheirOwn) {
  const auto g = parse("input %x f32[1,64]\n%a = MatMul(%x, w[64,64])\n%y = Add(%a, b[64])\n");
  Folder folder;
  Diagnostics d;
  ASSERT_TRUE(export_onnx(*g, folder.at("m.onnx"), &d, /*inline_bytes=*/1000)) << d.text();
  EXPECT_EQ(folder.files(), 2u);
  EXPECT_EQ(std::filesystem::file_size(folder.at("m.onnx.data")), 64u * 64 * 4);
  EXPECT_LT(std::filesystem::file_size(folder.at("m.onnx")), 2000u);
  const auto again = import(folder.at("m.onnx"));
  const ir::Node& product = again->nodes().front();
  EXPECT_TRUE(ir::same_content(*product.in(1)->constant, *g->nodes().front().in(1)->constant));
}

// The example of onnx.proto's packing: x0 | (x1 & 3) << 6, x1 >> 2 | (x2 & 15) << 4, x2 >> 4 | x3 << 2, and a last
// group of one element.
TEST(Export, SixBitFloatsArePackedInRawDataAlone) {
  const std::vector<uint8_t> codes = {0x01, 0x02, 0x03, 0x3F, 0x20};
  const std::string packed = "\x81\x30\xFC\x20";
  for (const int type : {::onnx::TensorProto::FLOAT6E2M3, ::onnx::TensorProto::FLOAT6E3M2}) {
    for (const bool raw : {false, true}) {
      ModelBuilder m(28);
      m.input("s", {}).output("y");
      auto* t = m.model.mutable_graph()->add_initializer();
      t->set_name("w");
      t->set_data_type(type);
      t->add_dims(5);
      for (const uint8_t code : codes) {
        if (!raw) t->add_int32_data(code);
      }
      if (raw) t->set_raw_data(packed);
      m.node("DequantizeLinear", {"w", "s"}, {"y"});
      Folder folder;
      const auto g = import(folder.write("m.onnx", m.bytes()));
      const ConstTensor& w = g->nodes().front().in(0)->constant->tensor;
      EXPECT_EQ(static_cast<int>(w.type.dtype), type);
      EXPECT_EQ(std::vector<uint8_t>(w.bytes.begin(), w.bytes.end()), codes);
      Diagnostics d;
      ASSERT_TRUE(export_onnx(*g, folder.at("out.onnx"), &d)) << d.text();
      ::onnx::ModelProto out;
      std::string hash;
      ASSERT_TRUE(importer::load_model(folder.at("out.onnx"), &out, &hash, &d)) << d.text();
      EXPECT_EQ(out.graph().initializer(0).data_type(), type);
      EXPECT_EQ(out.graph().initializer(0).raw_data(), packed);
      EXPECT_EQ(out.ir_version(), 14);
      EXPECT_EQ(out.opset_import(0).version(), 28);
    }
  }
}

TEST(Export, SixBitFloatsArePackedInAFileOfTheirOwn) {
  ModelBuilder m(28);
  m.input("s", {}).output("y");
  auto* t = m.model.mutable_graph()->add_initializer();
  t->set_name("w");
  t->set_data_type(::onnx::TensorProto::FLOAT6E3M2);
  t->add_dims(2001);
  for (int i = 0; i < 2001; ++i) t->add_int32_data(i * 37 % 64);
  m.node("DequantizeLinear", {"w", "s"}, {"y"});
  Folder folder;
  const auto g = import(folder.write("m.onnx", m.bytes()));
  Diagnostics d;
  ASSERT_TRUE(export_onnx(*g, folder.at("out.onnx"), &d, /*inline_bytes=*/1000)) << d.text();
  EXPECT_EQ(std::filesystem::file_size(folder.at("out.onnx.data")), 1501u);  // 2001 * 6 bits
  const auto again = import(folder.at("out.onnx"));
  EXPECT_TRUE(ir::same_content(*again->nodes().front().in(0)->constant, *g->nodes().front().in(0)->constant));
}

TEST(Export, WritesNothingWhereItCannot) {
  const auto g = parse("input %x f32[2]\n%y = Relu(%x)\n");
  Folder folder;
  std::filesystem::create_directory(folder.at("taken"));
  Diagnostics d;
  EXPECT_FALSE(export_onnx(*g, folder.at("taken"), &d));
  EXPECT_FALSE(export_onnx(*g, folder.at("missing/m.onnx"), &d));
  EXPECT_EQ(d.error_count(), 2u);
  EXPECT_EQ(folder.files(), 1u);
}

}  // namespace
}  // namespace vireo::exporter::export_test
