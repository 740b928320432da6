// Whole conversions, read back with the generated code as any reader would.
#include "converter/convert.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "converter/emit/integer_only.h"
#include "converter/testing/model_builder.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "sdk/ops/op.h"

namespace vireo::convert_test {
namespace {

using testing::add_body;
using testing::Folder;
using testing::GraphBuilder;
using testing::ModelBuilder;

struct Converted {
  FileBytes file;
  FileHeader header;
  ConvertReport report;
  const fb::Model* model = nullptr;

  const fb::Subgraph& graph(uint32_t i = 0) const { return *model->subgraphs()->Get(i); }
  std::vector<std::string> ops(uint32_t i = 0) const {
    std::vector<std::string> out;
    for (const fb::Node* n : *graph(i).nodes()) out.push_back(op_name(static_cast<Op>(n->op())));
    return out;
  }
};

// Converts and checks what every file must fulfil.
// Without fuse_chain: what these tests look at are the elementwise nodes of small models, one by one.
void convert(const ModelBuilder& m, Converted* out, ConvertOptions options = {}, const std::string& path = "") {
  options.skip.emplace_back("fuse_chain");
  Folder folder;
  Diagnostics d;
  const std::string file = path.empty() ? folder.write("m.onnx", m.bytes()) : path;
  ASSERT_TRUE(convert_to_memory(file, options, &out->file, &d, &out->report)) << d.text();
  Error error;
  ASSERT_EQ(read_header({out->file.data(), out->file.size()}, out->file.size(), &out->header, &error), Status::kOk)
      << error.message;
  ASSERT_EQ(check_hashes({out->file.data(), out->file.size()}, out->header, &error), Status::kOk) << error.message;
  const uint8_t* bytes = out->file.data() + out->header.model_offset;
  flatbuffers::Verifier verifier(bytes, out->header.model_size);
  ASSERT_TRUE(fb::VerifyModelBuffer(verifier));
  out->model = fb::GetModel(bytes);
  ASSERT_NE(out->model->plans(), nullptr);
  ASSERT_EQ(out->model->plans()->size(), 1u);
  for (const fb::Subgraph* g : *out->model->subgraphs()) {
    for (const fb::Node* n : *g->nodes()) {
      const OpRow* row = find_op(static_cast<Op>(n->op()));
      ASSERT_NE(row, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(n->attrs()->data()) % 8, 0u);
      EXPECT_TRUE(row->def->verify({n->attrs()->data(), n->attrs()->size()}));
    }
  }
}

using Ops = std::vector<std::string>;

TEST(Convert, SaysWhichNodesKeepItFromBeingIntegerOnly) {
  const auto fill = [](ModelBuilder& m, const char* last) {
    m.input("x", {"2", "3"}).output("y").floats("s", {}, {0.25f});
    m.node("QuantizeLinear", {"x", "s"}, {"q"});
    m.node("DequantizeLinear", {"q", "s"}, {"d"});
    m.node("Sigmoid", {"d"}, {"f"});
    m.node("QuantizeLinear", {"f", "s"}, {"p"});
    m.node("DequantizeLinear", {"p", "s"}, {"e"});
    m.node(last, {"e"}, {"y"});
  };
  ModelBuilder good, bad;
  fill(good, "Identity");
  fill(bad, "Exp");
  Converted whole;
  convert(good, &whole);
  EXPECT_EQ(whole.ops(), (Ops{"QuantizeLinear", "IntTable", "DequantizeLinear"}));
  EXPECT_TRUE(whole.model->integer_only());
  EXPECT_TRUE(emit::float_nodes(*whole.model).empty());
  Converted broken;
  convert(bad, &broken);
  EXPECT_FALSE(broken.model->integer_only());
  Ops names;
  for (const fb::Node* n : emit::float_nodes(*broken.model)) names.push_back(op_name(static_cast<Op>(n->op())));
  EXPECT_EQ(names, (Ops{"DequantizeLinear", "Exp"}));
  Converted composite;  // one node, not its body's three
  ModelBuilder m;
  m.input("x", {"2", "3"}).output("y").floats("w", {3, 4}, std::vector<float>(12, 0.5f)).floats("b", {4}, {1, 2, 3, 4});
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("Add", {"h", "b"}, {"y"});
  convert(m, &composite);
  EXPECT_EQ(emit::float_nodes(*composite.model).size(), 1u);
}

TEST(Convert, SmallModel) {
  ModelBuilder m;
  m.input("x", {"N", "3"}).output("y").floats("w", {3, 4}, std::vector<float>(12, 0.5f)).floats("b", {4}, {1, 2, 3, 4});
  m.node("MatMul", {"x", "w"}, {"h"})->set_name("mm");
  m.node("Add", {"h", "b"}, {"y"});
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.ops(), Ops{"Composite"});
  EXPECT_EQ(c.ops(1), (Ops{"MatMul", "Add"}));
  EXPECT_EQ(c.model->signatures()->Get(0)->inputs()->Get(0)->name()->str(), "x");
  EXPECT_EQ(c.model->signatures()->Get(0)->outputs()->Get(0)->name()->str(), "y");
  EXPECT_FALSE(c.report.planned);
  EXPECT_EQ(c.report.open_dimensions, std::vector<std::string>{"N"});
  EXPECT_EQ(c.model->provenance()->opset()->Get(0)->str(), "ai.onnx 17");

  ConvertOptions bounded;
  bounded.shapes = {{"x", {{1, 8}, {3, 3}}}};
  Converted b;
  convert(m, &b, bounded);
  EXPECT_TRUE(b.report.planned);
  EXPECT_EQ(b.report.arena_bytes, b.report.arena_lower_bound);
  EXPECT_EQ(b.model->exprs()->Get(0)->hi(), 8);
  EXPECT_EQ(b.report.inputs[0].type, "float32[N=1..8,3]");

  ConvertOptions fixed;
  fixed.shapes = {{"x", {{5, 5}, {3, 3}}}};
  Converted f;
  convert(m, &f, fixed);
  EXPECT_EQ(f.report.inputs[0].type, "float32[5,3]");
}

// An extent that a Reshape holds is a number in the file, and bounds may name it as long as they allow it.
TEST(Convert, HeldExtents) {
  ModelBuilder m;
  m.input("x", {"b", "6"}).input("mask", {"b", "1", "1"}).output("y").ints("shape", {3}, {1, 2, 3});
  m.node("Reshape", {"x", "shape"}, {"r"})->set_name("heads");
  m.node("Mul", {"r", "mask"}, {"y"});
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.report.inputs[0].type, "float32[1,6]");
  EXPECT_EQ(c.report.inputs[1].type, "float32[1,1,1]");
  EXPECT_EQ(c.report.open_dimensions, std::vector<std::string>());
  EXPECT_TRUE(c.report.planned);

  Folder folder;
  const std::string file = folder.write("m.onnx", m.bytes());
  const auto said = [&](const BoundOption& bound) {
    ConvertOptions options;
    options.bounds = {bound};
    FileBytes out;
    Diagnostics d;
    convert_to_memory(file, options, &out, &d, nullptr);
    return d.text();
  };
  const std::string fits = said({"b", 1, 8}), other = said({"b", 2, 8});
  EXPECT_NE(fits.find("Reshape node \"heads\" takes nothing but 1: the file has 1"), std::string::npos) << fits;
  EXPECT_EQ(fits.find("error"), std::string::npos) << fits;
  EXPECT_NE(other.find("other extents than 1, and Reshape node \"heads\" takes nothing else"), std::string::npos)
      << other;
}

TEST(Convert, IsDeterministic) {
  ModelBuilder m;
  m.input("x", {"N", "3"}).output("y").output("z").floats("w", {3, 3}, std::vector<float>(9, 0.5f));
  for (int i = 0; i < 8; ++i) m.node("MatMul", {"x", "w"}, {"h" + std::to_string(i)});
  m.node("Add", {"h0", "h7"}, {"y"});
  m.node("Relu", {"h3"}, {"z"});
  Converted a, b;
  convert(m, &a);
  convert(m, &b);
  ASSERT_EQ(a.file.size(), b.file.size());
  EXPECT_EQ(memcmp(a.file.data(), b.file.data(), a.file.size()), 0);
}

TEST(Convert, OutputsThatAreInputsConstantsOrTwice) {
  ModelBuilder m;
  m.input("x", {"2"}).output("same").output("c").output("y").output("again").floats("c", {2}, {1, 2});
  m.node("Identity", {"x"}, {"same"});
  m.node("Relu", {"x"}, {"y"});
  m.node("Identity", {"y"}, {"again"});
  Converted c;
  convert(m, &c);
  std::set<uint32_t> outputs;
  for (const uint32_t o : *c.graph().outputs()) {
    EXPECT_TRUE(outputs.insert(o).second);
    EXPECT_EQ(c.graph().tensors()->Get(o)->segment(), -1);
    EXPECT_NE(o, c.graph().inputs()->Get(0));
  }
  EXPECT_EQ(c.model->signatures()->Get(0)->outputs()->Get(3)->name()->str(), "again");
}

TEST(Convert, PlaceholdersAreNoNames) {
  ModelBuilder m;
  m.input("x", {"?", "?", "None", "None", "", "N", "N"}).output("y");
  m.node("Relu", {"x"}, {"y"});
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.report.open_dimensions, (std::vector<std::string>{"x.0", "x.1", "x.2", "x.3", "x.4", "N"}));
}

// Squeeze without axes: an extent that is not known goes when the declared output can mean nothing else.
TEST(Convert, SqueezeWithoutAxesFollowsTheDeclaredRank) {
  for (const bool scalar : {false, true}) {
    ModelBuilder m;
    m.input("x", {"N", "1", "3"});
    testing::set_type(m.proto()->add_output(), "y", scalar ? testing::Dims{"3"} : testing::Dims{"N", "3"}, 1);
    m.node("Squeeze", {"x"}, {"z"});
    m.node("Relu", {"z"}, {"y"});
    Converted c;
    convert(m, &c);
    EXPECT_EQ(c.graph().tensors()->Get(c.graph().outputs()->Get(0))->dims()->size(), scalar ? 1u : 2u);
  }
}

TEST(Convert, NodesInAnyOrderAndWithoutNames) {
  ModelBuilder m;
  m.input("x", {"2"}).output("y");
  m.node("Exp", {"b"}, {"y"});
  m.node("Sqrt", {"a"}, {"b"});
  m.node("Relu", {"x"}, {"a"});
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.ops(), (Ops{"Relu", "Sqrt", "Exp"}));
}

TEST(Convert, InitialisersThatAreInputsAndSparseOnes) {
  ModelBuilder m;
  m.input("x", {"2"}).input("w", {"2"}).output("y").floats("w", {2}, {3, 4});
  auto* s = m.model.mutable_graph()->add_sparse_initializer();
  s->add_dims(2);
  s->mutable_values()->set_name("s");
  s->mutable_values()->set_data_type(1);
  s->mutable_values()->add_dims(1);
  s->mutable_values()->add_float_data(7);
  s->mutable_indices()->set_data_type(7);
  s->mutable_indices()->add_dims(1);
  s->mutable_indices()->add_int64_data(1);
  m.node("Add", {"x", "w"}, {"a"});
  m.node("Mul", {"a", "s"}, {"y"});
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.graph().inputs()->size(), 1u);
  const fb::Tensor* sparse =
      c.graph().tensors()->Get(static_cast<uint32_t>(c.graph().nodes()->Get(1)->inputs()->Get(1)));
  const uint8_t* at =
      c.file.data() + c.model->segments()->Get(static_cast<uint32_t>(sparse->segment()))->offset() + sparse->offset();
  float values[2];
  memcpy(values, at, sizeof(values));
  EXPECT_EQ(values[0], 0.0f);
  EXPECT_EQ(values[1], 7.0f);
}

TEST(Convert, EqualConstantsAreStoredOnce) {
  ModelBuilder m;
  m.input("x", {"1", "256"}).output("y").floats("a", {256, 256}, std::vector<float>(65536, 0.5f));
  m.floats("b", {256, 256}, std::vector<float>(65536, 0.5f));
  m.node("MatMul", {"x", "a"}, {"h"});
  m.node("Relu", {"h"}, {"r"});
  m.node("MatMul", {"r", "b"}, {"y"});
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.report.constant_bytes, 65536u * 4);
  EXPECT_EQ(c.model->segments()->size(), 1u);
}

TEST(Convert, FunctionsAreInlinedWithTheirAttributes) {
  ModelBuilder m;
  auto* import = m.model.add_opset_import();
  import->set_domain("f");
  import->set_version(1);
  m.input("x", {"2", "3"}).output("y");
  auto* call = m.node("Norm", {"x"}, {"y"}, "f");
  call->set_name("call");
  testing::add_int(call, "which", 0);
  auto* f = m.model.add_functions();
  f->set_name("Norm");
  f->set_domain("f");
  f->add_input("a");
  f->add_output("b");
  f->add_attribute("which");
  auto* opset = f->add_opset_import();
  opset->set_domain("");
  opset->set_version(17);
  auto* n = f->add_node();
  n->set_op_type("Softmax");
  n->set_name("inner");
  n->add_input("a");
  n->add_output("b");
  auto* a = n->add_attribute();
  a->set_name("axis");
  a->set_ref_attr_name("which");
  a->set_type(::onnx::AttributeProto::INT);
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.ops(), Ops{"Softmax"});
  EXPECT_EQ(c.graph().nodes()->Get(0)->name()->str(), "call/inner");
}

void branch(::onnx::NodeProto* node, const char* attribute, const char* op) {
  GraphBuilder g = add_body(node, attribute);
  g.output("out");
  g.node(op, {"x"}, {"out"});
}

TEST(Convert, IfWithKnownConditionTakesItsBranch) {
  ModelBuilder m;
  m.input("x", {"2", "3"}).output("y").ints("two", {}, {2});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"rows"});
  m.ints("zero", {}, {0});
  m.node("Equal", {"rows", "two"}, {"cond"});
  auto* n = m.node("If", {"cond"}, {"y"});
  branch(n, "then_branch", "Relu");
  branch(n, "else_branch", "Exp");
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.ops(), Ops{"Relu"});
}

// The branches differ in rank, and which is taken hangs on the extent "N" of x.
TEST(Convert, IfThatSizesDecideNamesTheOption) {
  ModelBuilder m;
  m.input("x", {"N", "3"}).input("z", {"4"}).output("y").ints("two", {}, {2}).ints("zero", {}, {0});
  m.node("Shape", {"x"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"rows"});
  m.node("Equal", {"rows", "two"}, {"cond"});
  auto* n = m.node("If", {"cond"}, {"y"});
  branch(n, "then_branch", "Relu");
  GraphBuilder other = add_body(n, "else_branch");
  other.output("out");
  other.node("Neg", {"z"}, {"out"});
  Folder folder;
  const std::string path = folder.write("m.onnx", m.bytes());
  Diagnostics d;
  FileBytes bytes;
  EXPECT_FALSE(convert_to_memory(path, {}, &bytes, &d, nullptr));
  EXPECT_NE(d.text().find("convert with --shape x=N,3, numbers in place"), std::string::npos) << d.text();
  ConvertOptions options;
  options.shapes = {{"x", {{2, 2}, {3, 3}}}};
  Converted c;
  convert(m, &c, options);
  EXPECT_EQ(c.ops(), Ops{"Relu"});
}

// x.squeeze(1) as exporters write it when they do not know the extent: if it is 1 Squeeze, else x as it is. Taken to be
// 1, unless the declared outputs want the other.
TEST(Convert, SqueezeIfOneIsASqueeze) {
  for (const bool one : {true, false}) {
    ModelBuilder m;
    m.input("x", {"2", "N", "3"}).ints("index", {}, {1}).ints("one", {}, {1}).ints("axes", {1}, {1});
    testing::set_type(m.proto()->add_output(), "y", one ? testing::Dims{"2", "3"} : testing::Dims{"2", "N", "3"}, 1);
    m.node("Shape", {"x"}, {"s"});
    m.node("Gather", {"s", "index"}, {"extent"});
    m.node("Equal", {"extent", "one"}, {"cond"});
    auto* n = m.node("If", {"cond"}, {"h"});
    GraphBuilder squeeze = add_body(n, "then_branch");
    squeeze.output("out");
    squeeze.node("Squeeze", {"x", "axes"}, {"out"});
    branch(n, "else_branch", "Identity");
    m.node("Relu", {"h"}, {"y"});
    Converted c;
    convert(m, &c);
    EXPECT_EQ(c.ops(), one ? (Ops{"Squeeze", "Relu"}) : Ops{"Relu"});
  }
}

// A branch of a lone constant has neither inputs nor anything but what gives that constant out.
TEST(Convert, ListsOfBodiesMayBeEmptyButAreThere) {
  ModelBuilder m;
  m.input("cond", {}, 9).output("y");
  auto* n = m.node("If", {"cond"}, {"y"});
  for (const char* attribute : {"then_branch", "else_branch"}) {
    GraphBuilder g = add_body(n, attribute);
    g.output("out").floats("out", {2}, {1, 2});
  }
  Converted c;
  convert(m, &c);
  ASSERT_EQ(c.model->subgraphs()->size(), 3u);
  for (uint32_t i = 1; i < 3; ++i) {
    ASSERT_NE(c.graph(i).inputs(), nullptr);
    EXPECT_EQ(c.graph(i).inputs()->size(), 0u);
  }
}

// The Identity goes; the value that bore the name "hidden" is the output now.
TEST(Convert, OutputsKeepTheirNames) {
  ModelBuilder m;
  m.input("x", {"2"}).output("y").output("again");
  m.node("Relu", {"x"}, {"hidden"});
  m.node("Identity", {"hidden"}, {"y"});
  m.node("Identity", {"hidden"}, {"again"});
  Converted c;
  convert(m, &c);
  ASSERT_EQ(c.graph().outputs()->size(), 2u);
  EXPECT_EQ(c.graph().tensors()->Get(c.graph().outputs()->Get(0))->name()->str(), "y");
  EXPECT_EQ(c.graph().tensors()->Get(c.graph().outputs()->Get(1))->name()->str(), "again");
}

// What a trip makes lies in the body's own memory, inputs do not.
TEST(Convert, OutputsOfLoopBodiesHaveAPlace) {
  ModelBuilder m;
  m.input("x", {"3"}).output("y").ints("trips", {}, {5});
  auto* n = m.node("Loop", {"trips", "", "x"}, {"y"});
  GraphBuilder g = add_body(n, "body");
  g.input("i", {}, 7).input("go", {}, 9).input("state", {"3"}).output("again").output("next");
  g.node("Identity", {"go"}, {"again"});
  g.node("Relu", {"state"}, {"next"});
  Converted c;
  convert(m, &c);
  const fb::SubgraphPlan* plan = c.model->plans()->Get(0)->subgraphs()->Get(1);
  for (const uint32_t t : *c.graph(1).inputs()) EXPECT_EQ(plan->offsets()->Get(t), UINT64_MAX);
  for (const uint32_t t : *c.graph(1).outputs()) EXPECT_LT(plan->offsets()->Get(t), plan->bytes());
}

// YOLO's C2f: what is split and what is made of it lie side by side, where the last Concat wants them.
TEST(Convert, PartsLieInTheirWhole) {
  ModelBuilder m;
  m.input("x", {"1", "8", "4", "4"}).output("y").ints("half", {2}, {4, 4});
  m.node("Sin", {"x"}, {"h"});
  testing::add_int(m.node("Split", {"h", "half"}, {"a", "b"}), "axis", 1);
  m.node("Cos", {"b"}, {"c"});
  testing::add_int(m.node("Concat", {"a", "b", "c", "x"}, {"all"}), "axis", 1);
  m.node("Sin", {"all"}, {"y"});
  Converted c;
  convert(m, &c);
  ASSERT_EQ(c.ops(), (Ops{"Sin", "Split", "Cos", "Concat", "Sin"}));
  const auto& offsets = *c.model->plans()->Get(0)->subgraphs()->Get(0)->offsets();
  const auto at = [&](uint32_t node, uint32_t output) {
    return offsets.Get(static_cast<uint32_t>(c.graph().nodes()->Get(node)->outputs()->Get(output)));
  };
  EXPECT_EQ(at(1, 0), at(0, 0));
  EXPECT_EQ(at(1, 1), at(0, 0) + 256);
  EXPECT_EQ(at(2, 0), at(0, 0) + 512);
  EXPECT_EQ(at(3, 0), at(0, 0));
  EXPECT_EQ(c.report.copies_saved, 5u);
  EXPECT_EQ(c.report.copies_saved_bytes, 5 * 256u);
  EXPECT_EQ(c.report.copies_left_bytes, 512u);
  ASSERT_EQ(c.report.copies_left.size(), 1u);
  EXPECT_EQ(c.report.copies_left[0].first, "an input, which the caller may bind");
}

TEST(Convert, IfTakesWhatItsBranchesUse) {
  ModelBuilder m;
  m.input("x", {"2"}).input("z", {"2"}).input("cond", {}, 9).output("y");
  auto* n = m.node("If", {"cond"}, {"y"});
  branch(n, "then_branch", "Relu");
  GraphBuilder other = add_body(n, "else_branch");
  other.output("out");
  other.node("Add", {"z", "x"}, {"out"});
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.ops(), Ops{"If"});
  const fb::Node* node = c.graph().nodes()->Get(0);
  EXPECT_EQ(node->inputs()->size(), 3u);  // cond, x, z
  ASSERT_EQ(node->subgraphs()->size(), 2u);
  for (const uint32_t s : *node->subgraphs()) EXPECT_EQ(c.graph(s).inputs()->size(), 2u);
  EXPECT_TRUE(c.report.planned);
}

TEST(Convert, LoopStatesMayGrow) {
  ModelBuilder m;
  m.input("x", {"1", "3"}).output("y").output("all").ints("trips", {}, {5});
  auto* n = m.node("Loop", {"trips", "", "x"}, {"y", "all"});
  GraphBuilder body = add_body(n, "body");
  body.input("i", {}, 7).input("c", {}, 9).input("state", {"", "3"}).output("c_out").output("next").output("scan");
  body.node("Identity", {"c"}, {"c_out"});
  auto* cat = body.node("Concat", {"state", "x"}, {"next"});
  testing::add_int(cat, "axis", 0);
  body.node("Relu", {"x"}, {"scan"});
  Converted c;
  convert(m, &c);
  EXPECT_EQ(c.ops(), Ops{"Loop"});
  EXPECT_TRUE(c.report.planned);  // 1 row and 5 trips of one more: at most 6
  ASSERT_EQ(c.report.outputs.size(), 2u);
  EXPECT_EQ(c.report.outputs[1].type, "float32[5,1,3]");
  const fb::Node* node = c.graph().nodes()->Get(0);
  EXPECT_EQ(node->inputs()->Get(1), -1);
  EXPECT_EQ(node->inputs()->size(), 4u);  // trips, no condition, the state, x
}

// The first trip, which makes a matrix of it, stands in front of the loop if it is sure to be made.
TEST(Convert, LoopStatesMayBeginAsPlaceholders) {
  for (const bool sure : {true, false}) {
    ModelBuilder m;
    m.input("x", {"2", "3"}).input("go", {}, 9).output("y").ints("trips", {}, {5}).floats("h", {}, {0.5f});
    GraphBuilder body = add_body(m.node("Loop", {"trips", sure ? "" : "go", "h"}, {"y"}), "body");
    body.input("i", {}, 7).input("c", {}, 9).input("state", {}).output("c_out").output("next");
    body.node("Identity", {"c"}, {"c_out"});
    body.node("Add", {"state", "x"}, {"next"});
    if (sure) {
      Converted c;
      convert(m, &c);
      EXPECT_EQ(c.ops(), (Ops{"Add", "Loop"}));
    } else {
      Folder folder;
      FileBytes bytes;
      Diagnostics d;
      EXPECT_FALSE(convert_to_memory(folder.write("m.onnx", m.bytes()), {}, &bytes, &d, nullptr));
      EXPECT_NE(d.text().find("type and rank of a loop's state must not change"), std::string::npos) << d.text();
    }
  }
}

TEST(Convert, CarriesTestsAndStates) {
  ModelBuilder m;
  m.input("x", {"2"}).input("h", {"2"}).output("y").output("h_out");
  m.node("Add", {"x", "h"}, {"h_out"});
  m.node("Relu", {"h_out"}, {"y"});
  ConvertOptions o;
  o.states = {{"h_out", "h"}};
  o.io = {{"x", "audio", "", "", "none", -1, 1, {}, {}, 16000}};
  TestCaseOption t;
  HostTensor v;
  v.dtype = DType::kF32;
  v.dims = {2};
  v.bytes.assign(8, 0);
  t.inputs = {v, v};
  t.outputs = {{v, {2}, 1, 1e-5f, 1e-4f}, {v, {2}, 1, 1e-5f, 1e-4f}};
  o.tests = {t};
  Converted c;
  convert(m, &c, o);
  const fb::Signature* s = c.model->signatures()->Get(0);
  EXPECT_EQ(s->inputs()->Get(0)->sample_rate(), 16000u);
  EXPECT_EQ(s->states()->Get(0)->input(), 1u);
  EXPECT_EQ(s->states()->Get(0)->output(), 1u);
  ASSERT_EQ(c.model->tests()->size(), 1u);
  EXPECT_EQ(c.model->tests()->Get(0)->outputs()->size(), 2u);
}

// Weights beside the model are never held in memory. The file is a hole that takes no disk; larger ones behave the
// same, this size keeps the test short.
TEST(Convert, ExternalDataIsStreamed) {
  Folder folder;
  const int64_t rows = 1 << 13, cols = 6 << 10, tensors = 2;  // 192 MiB each
  ModelBuilder m;
  m.input("x", {"1", std::to_string(rows)}).output("y0").output("y1");
  for (int64_t i = 0; i < tensors; ++i) {
    auto* t = m.model.mutable_graph()->add_initializer();
    t->set_name("w" + std::to_string(i));
    t->set_data_type(1);
    t->add_dims(rows);
    t->add_dims(cols);
    t->set_data_location(::onnx::TensorProto::EXTERNAL);
    for (const auto& [k, v] : {std::pair<std::string, std::string>{"location", "weights.bin"},
                               {"offset", std::to_string(i * rows * cols * 4)},
                               {"length", std::to_string(rows * cols * 4)}}) {
      auto* e = t->add_external_data();
      e->set_key(k);
      e->set_value(v);
    }
    m.node("MatMul", {"x", "w" + std::to_string(i)}, {"y" + std::to_string(i)});
  }
  const std::string weights = folder.write("weights.bin", "x");
  ASSERT_EQ(truncate(weights.c_str(), rows * cols * 4 * tensors), 0);
  // A different last byte: the two tensors are two contents.
  std::ofstream(weights, std::ios::in | std::ios::out | std::ios::binary).seekp(rows * cols * 4 * tensors - 1).put('y');
  const std::string path = folder.write("m.onnx", m.bytes());
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  Diagnostics d;
  ConvertReport report;
  ASSERT_TRUE(check_model(path, {}, &d, &report)) << d.text();
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(report.constant_bytes, static_cast<uint64_t>(rows * cols * 4 * tensors));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 48 << 10) << "KiB more than before";
}

// Texts have no bytes that could be laid channels last: what holds a constant of them stays as it is.
TEST(Convert, TextsBetweenTransposesStay) {
  for (const char* op : {"Concat", "Equal"}) {
    const bool joins = op == std::string("Concat");
    testing::ModelBuilder m;
    m.input("x", {"1", "64", "64", "4"}, ::onnx::TensorProto::STRING).output("y");
    auto* t = m.proto()->add_initializer();
    t->set_name("t");
    t->set_data_type(::onnx::TensorProto::STRING);
    for (const int64_t d : {1, joins ? 2 : 4, 64, 64}) t->add_dims(d);
    for (int i = 0; i < (joins ? 2 : 4) * 64 * 64; ++i) t->add_string_data(std::to_string(i));
    const auto turn = [](::onnx::NodeProto* n, const std::vector<int64_t>& perm) {
      auto* a = n->add_attribute();
      a->set_name("perm");
      a->set_type(::onnx::AttributeProto::INTS);
      for (const int64_t p : perm) a->add_ints(p);
    };
    turn(m.node("Transpose", {"x"}, {"a"}), {0, 3, 1, 2});
    auto* n = m.node(op, {"a", "t"}, {"b"});
    if (joins) testing::add_int(n, "axis", 1);
    turn(m.node("Transpose", {"b"}, {"y"}), {0, 2, 3, 1});
    testing::Folder folder;
    Diagnostics diagnostics;
    FileBytes file;
    EXPECT_TRUE(convert_to_memory(folder.write("m.onnx", m.bytes()), {}, &file, &diagnostics, nullptr))
        << diagnostics.text();
  }
}

TEST(ShapeOptions, NamesAreReadBesideNumbersAndBounds) {
  ShapeOption option;
  std::string error;
  ASSERT_TRUE(parse_shape_option("x=batch,3,1..8", &option, &error)) << error;
  ASSERT_EQ(option.dims.size(), 3u);
  EXPECT_EQ(option.dims[0].name, "batch");
  EXPECT_EQ(option.dims[1].lo, 3);
  EXPECT_EQ(option.dims[2].hi, 8);
  for (const char* wrong : {"x=3n", "x=,3", "x=1..n", "x=-1"})
    EXPECT_FALSE(parse_shape_option(wrong, &option, &error)) << wrong;
}

TEST(BoundOptions, AtMostOrARange) {
  BoundOption bound;
  ASSERT_TRUE(parse_bound_option("it.size=8", &bound));
  EXPECT_EQ(bound.dimension, "it.size");
  EXPECT_EQ(bound.lo, 0);
  EXPECT_EQ(bound.hi, 8);
  ASSERT_TRUE(parse_bound_option("n=2..8", &bound));
  EXPECT_EQ(bound.lo, 2);
  for (const char* wrong : {"n", "n=", "n=8,8", "n=m", "n=8..2"})
    EXPECT_FALSE(parse_bound_option(wrong, &bound)) << wrong;
}

}  // namespace
}  // namespace vireo::convert_test
