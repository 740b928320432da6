// NCHWc forms mapped back: the block, channels without padding, weights in plain order, and every refusal. Filters are
// put in blocks here by the layout's definition. What mapped models compute is judged beside ONNX Runtime
// (tests/e2e/blocked_test.py).
#include "converter/onnx/blocked/nchwc.h"

#include <gtest/gtest.h>

#include "converter/ir/infer.h"
#include "converter/onnx/import.h"
#include "converter/testing/model_builder.h"

namespace vireo::importer::nchwc_test {
namespace {

using testing::add_body;
using testing::add_int;
using testing::GraphBuilder;
using testing::ModelBuilder;

constexpr char kDomain[] = "com.microsoft.nchwc";

int64_t rounded(int64_t n, int64_t block) { return (n + block - 1) / block * block; }

// No two elements of a filter are equal, none is 0.
float element(int64_t o, int64_t i, int64_t tap) { return static_cast<float>(1 + tap + 10 * i + 1000 * o); }

class NchwcTest : public ::testing::Test {
 protected:
  NchwcTest() {
    for (const char* domain : {"com.microsoft", kDomain}) {
      auto* row = m_.model.add_opset_import();
      row->set_domain(domain);
      row->set_version(1);
    }
  }

  // The filter [out, in, 1, taps], its inputs in blocks (OIHWBiBo) or not (OIHWBo), as the optimiser pads it.
  void filter(const std::string& name, int64_t block, int64_t out, int64_t in, int64_t taps, bool in_blocks) {
    const int64_t o_all = rounded(out, block), i_all = in_blocks ? rounded(in, block) : in;
    std::vector<float> values;
    const int64_t bi = in_blocks ? block : 1;
    for (int64_t ob = 0; ob < o_all; ob += block) {
      for (int64_t ib = 0; ib < i_all; ib += bi) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t i = ib; i < ib + bi; ++i) {
            for (int64_t o = ob; o < ob + block; ++o) values.push_back(o < out && i < in ? element(o, i, tap) : 0);
          }
        }
      }
    }
    m_.floats(name, {o_all, i_all, 1, taps}, values);
  }
  void bias(const std::string& name, int64_t block, int64_t out) {
    std::vector<float> values(static_cast<size_t>(rounded(out, block)));
    for (int64_t o = 0; o < out; ++o) values[static_cast<size_t>(o)] = static_cast<float>(o + 1);
    m_.floats(name, {rounded(out, block)}, values);
  }
  ::onnx::NodeProto* blocked(const std::string& op, const std::vector<std::string>& in, const std::string& out) {
    auto* n = m_.node(op, in, {out}, kDomain);
    n->set_name("node_" + out);
    return n;
  }
  ::onnx::NodeProto* reorder_output(const std::string& in, const std::string& out, int64_t channels) {
    auto* n = blocked("ReorderOutput", {in}, out);
    add_int(n, "channels", channels);
    return n;
  }
  static void text(::onnx::NodeProto* n, const char* name, const std::string& value) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(::onnx::AttributeProto::STRING);
    a->set_s(value);
  }
  static void integers(::onnx::NodeProto* n, const char* name, const std::vector<int64_t>& values) {
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(::onnx::AttributeProto::INTS);
    for (const int64_t v : values) a->add_ints(v);
  }

  bool run(int block = 0) {
    Diagnostics found;
    ::onnx::ModelProto model = m_.model;  // import takes it apart
    ConvertOptions options;
    options.nchwc_block = block;
    graph_ = import_model(model, "", options, Guess::kUsual, &found).graph;
    said_ = found.text();
    return graph_ != nullptr;
  }
  ::testing::AssertionResult refused(const std::vector<std::string>& words, int block = 0) {
    if (run(block)) return ::testing::AssertionFailure() << "converts";
    for (const std::string& word : words) {
      if (said_.find(word) == std::string::npos)
        return ::testing::AssertionFailure() << "no '" << word << "' in " << said_;
    }
    return ::testing::AssertionSuccess();
  }

  // "Conv[20,4,1,3] Relu": operators in their order, with the shapes of filters.
  std::string nodes() {
    std::string out;
    for (const ir::Node& n : graph_->nodes()) {
      out += (out.empty() ? "" : " ") + std::string(op_name(n.op));
      if (n.op == Op::kConv) out += graph_->dims().text(n.inputs[1]->type.shape);
    }
    return out;
  }
  std::string output_shape() { return graph_->dims().text(graph_->outputs()[0]->type.shape); }
  // Whether filters and biases hold what they were made of.
  ::testing::AssertionResult plain_weights() {
    for (const ir::Node& n : graph_->nodes()) {
      if (n.op != Op::kConv) continue;
      const ConstTensor& w = n.inputs[1]->constant->tensor;
      const Shape& s = w.type.shape;
      for (int64_t k = 0; k < w.count(); ++k) {
        const int64_t tap = k % s[3], i = k / s[3] % s[1], o = k / s[3] / s[1];
        if (w.as<float>()[k] == element(o, i, tap)) continue;
        return ::testing::AssertionFailure()
               << n.name << " " << o << " " << i << " " << tap << ": " << w.as<float>()[k];
      }
      if (n.in(2) == nullptr) continue;
      const ConstTensor& b = n.inputs[2]->constant->tensor;
      if (b.count() != s[0]) return ::testing::AssertionFailure() << n.name << ": a bias of " << b.count();
      for (int64_t o = 0; o < b.count(); ++o) {
        if (b.as<float>()[o] != static_cast<float>(o + 1)) return ::testing::AssertionFailure() << n.name << " " << o;
      }
    }
    return ::testing::AssertionSuccess();
  }

  ModelBuilder m_;
  std::unique_ptr<ir::Graph> graph_;
  std::string said_;
};

class NchwcBlock : public NchwcTest, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(, NchwcBlock, ::testing::Values(8, 16));  // AVX and AVX2; AVX-512

TEST_P(NchwcBlock, ConvolutionsOfPlainOfBlockedAndOfSingleChannels) {
  const int b = GetParam();
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w0", b, 20, 3, 2, false);
  filter("w1", b, 20, 1, 3, false);
  filter("w2", b, 12, 20, 2, true);
  filter("w3", b, 12, 12, 1, true);
  bias("b0", b, 20);
  bias("b2", b, 12);
  blocked("Conv", {"x", "w0", "b0"}, "c0");
  m_.node("Sigmoid", {"c0"}, {"s"});  // no longer 0 where it only pads
  add_int(blocked("Conv", {"s", "w1"}, "c1"), "group", rounded(20, b));
  blocked("Conv", {"c1", "w2", "b2"}, "c2");
  auto* last = blocked("Conv", {"c2", "w3", "", "c2"}, "c3");
  text(last, "activation", "Relu");
  reorder_output("c3", "y", 12);
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "Conv[20,3,1,2] Sigmoid Conv[20,1,1,3] Conv[12,20,1,2] Conv[12,12,1,1] Add Relu");
  EXPECT_EQ(output_shape(), "[1,12,6,2]");
  EXPECT_TRUE(plain_weights());
  EXPECT_TRUE(run(b)) << said_;
  if (b == 8) {
    EXPECT_TRUE(refused({"node_c", "Conv", "blocks of 16", "--nchwc-block"}, 16));
  }
}

// Nothing says 12 but the filter behind, which is 0 for the rest.
TEST_P(NchwcBlock, ChannelsBetweenConvolutionsAreThoseThatAreRead) {
  const int b = GetParam();
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w0", b, 13, 3, 2, false);
  filter("w1", b, 20, 12, 1, true);
  blocked("Conv", {"x", "w0"}, "c0");
  blocked("Conv", {"c0", "w1"}, "c1");
  reorder_output("c1", "y", 20);
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "Conv[12,3,1,2] Conv[20,12,1,1]");
  EXPECT_TRUE(plain_weights());
}

TEST_P(NchwcBlock, BlockIsToldByPaddingAlone) {
  const int b = GetParam();
  const int64_t channels = b == 8 ? 28 : 24;  // 32 with padding
  m_.input("x", {"1", std::to_string(channels), "6", "6"}).output("y");
  filter("w0", b, 32, channels, 2, true);
  blocked("ReorderInput", {"x"}, "r");
  blocked("Conv", {"r", "w0"}, "c0");
  reorder_output("c0", "y", 32);
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "Conv[32," + std::to_string(channels) + ",1,2]");
  EXPECT_TRUE(plain_weights());
}

TEST_P(NchwcBlock, BlockThatCannotBeToldIsAskedFor) {
  const int b = GetParam();
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w0", b, 32, 3, 2, false);
  filter("w1", b, 64, 32, 2, true);
  blocked("Conv", {"x", "w0"}, "c0");
  blocked("Conv", {"c0", "w1"}, "c1");
  reorder_output("c1", "y", 64);
  EXPECT_TRUE(refused({"\"node_c0\"", "Conv", "cannot be told", "--nchwc-block 16", "ORT_ENABLE_EXTENDED"}));
  EXPECT_EQ(said_.find("\"node_c1\""), std::string::npos) << said_;  // said once
  ASSERT_TRUE(run(b)) << said_;
  EXPECT_EQ(nodes(), "Conv[32,3,1,2] Conv[64,32,1,2]");
  EXPECT_TRUE(plain_weights());
  ASSERT_TRUE(run(24 - b)) << said_;
  EXPECT_FALSE(plain_weights());
}

// Where what is multiplied broadcasts, both are reshaped to what memory holds: a block is said there.
TEST_P(NchwcBlock, ScalesOfChannelsAreReshapedToBlocksAndBack) {
  const int b = GetParam();
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w0", b, 32, 3, 1, false);
  blocked("Conv", {"x", "w0"}, "c0");
  blocked("GlobalAveragePool", {"c0"}, "g");
  m_.ints("to", {5}, {0, 32 / b, 0, 0, b}).ints("from", {4}, {0, 32, 0, 0});
  m_.node("Reshape", {"c0", "to"}, {"c5"});
  m_.node("Reshape", {"g", "to"}, {"g5"});
  m_.node("Mul", {"c5", "g5"}, {"m5"});
  m_.node("Reshape", {"m5", "from"}, {"m"});
  reorder_output("m", "y", 32);
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "Conv[32,3,1,1] GlobalAveragePool Mul");
  EXPECT_TRUE(plain_weights());
  EXPECT_TRUE(refused({"Reshape", "blocks of " + std::to_string(b), "--nchwc-block"}, 24 - b));
}

TEST_F(NchwcTest, BlockThatCannotBeToldIsAskedForBehindAReorder) {
  m_.input("x", {"1", "32", "6", "6"}).output("y");
  filter("w", 16, 32, 32, 1, true);
  blocked("ReorderInput", {"x"}, "r");
  blocked("Conv", {"r", "w"}, "c");
  reorder_output("c", "y", 32);
  EXPECT_TRUE(refused({"Conv", "\"node_c\"", "cannot be told", "--nchwc-block 16"}));
  EXPECT_EQ(said_.find("ReorderInput node"), std::string::npos) << said_;
}

TEST_F(NchwcTest, RefusesOtherReshapes) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 32, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  auto* shape = m_.ints("to", {5}, {0, 8, 0, 0, 8}).proto()->mutable_initializer(1);
  m_.node("Reshape", {"c", "to"}, {"s"})->set_name("split");
  m_.node("Relu", {"s"}, {"y"});
  EXPECT_TRUE(refused({"Reshape", "\"split\"", "\"c\", which is in blocks", "ORT_ENABLE_EXTENDED"}, 8));
  shape->set_int64_data(1, 4);
  EXPECT_TRUE(refused({"Relu", "a result of the graph", "ORT_ENABLE_EXTENDED"}, 8));
  shape->set_int64_data(0, 1);
  EXPECT_TRUE(refused({"Reshape", "\"split\"", "\"c\", which is in blocks", "ORT_ENABLE_EXTENDED"}, 8));
}

TEST_P(NchwcBlock, GroupsAndConcat) {
  const int b = GetParam();
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w0", b, 64, 3, 1, false);
  filter("w1", b, 64, 32, 2, true);
  filter("w2", b, 5, 128, 1, true);
  blocked("Conv", {"x", "w0"}, "c0");
  add_int(blocked("Conv", {"c0", "w1"}, "c1"), "group", 2);
  auto* pads = blocked("MaxPool", {"c0"}, "p");
  integers(pads, "kernel_shape", {1, 2});
  add_int(m_.node("Concat", {"c1", "p"}, {"k"}), "axis", 1);
  blocked("Conv", {"k", "w2"}, "c2");
  reorder_output("c2", "y", 5);
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "Conv[64,3,1,1] Conv[64,32,1,2] MaxPool Concat Conv[5,128,1,1]");
  EXPECT_TRUE(plain_weights());
}

TEST_F(NchwcTest, ReordersOfChannelsLastAreTransposes) {
  m_.input("x", {"N", "6", "6", "12"}).output("y");
  filter("w", 8, 20, 12, 1, true);
  add_int(blocked("ReorderInput", {"x"}, "r"), "channels_last", 1);
  blocked("Conv", {"r", "w"}, "c");
  add_int(reorder_output("c", "y", 20), "channels_last", 1);
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "Transpose Conv[20,12,1,1] Transpose");
  EXPECT_EQ(output_shape(), "[N,6,6,20]");
}

TEST_F(NchwcTest, PoolsAndUpsampleWithoutConvolutionNeedNoBlock) {
  m_.input("x", {"1", "12", "6", "6"}).output("y");
  blocked("ReorderInput", {"x"}, "r");
  integers(blocked("AveragePool", {"r"}, "a"), "kernel_shape", {2, 2});
  integers(blocked("Upsample", {"a"}, "u"), "scales", {1, 1, 2, 3});
  m_.node("Mul", {"u", "two"}, {"m"});
  m_.floats("two", {1, 1, 1, 1}, {2});
  blocked("GlobalAveragePool", {"m"}, "g");
  blocked("GlobalMaxPool", {"m"}, "h");
  m_.node("Add", {"g", "h"}, {"s"});
  reorder_output("s", "y", 12);
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "AveragePool Resize Mul GlobalAveragePool GlobalMaxPool Add");
  EXPECT_EQ(output_shape(), "[1,12,1,1]");
}

// A ReorderOutput that takes fewer than another reader.
TEST_F(NchwcTest, FewerChannelsAreASlice) {
  m_.input("x", {"1", "3", "6", "6"}).output("y").output("z");
  filter("w", 8, 15, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  reorder_output("c", "y", 15);
  reorder_output("c", "z", 12);
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "Conv[15,3,1,1] Slice");
}

TEST_F(NchwcTest, FilterMayBeAConstantNodeBehindItsReader) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 12, 3, 1, false);
  blocked("Conv", {"x", "c_w"}, "c");
  reorder_output("c", "y", 12);
  auto* constant = m_.node("Constant", {}, {"c_w"});
  auto* a = constant->add_attribute();
  a->set_name("value");
  a->set_type(::onnx::AttributeProto::TENSOR);
  *a->mutable_t() = m_.proto()->initializer(0);
  m_.proto()->clear_initializer();
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "Conv[12,3,1,1]");
  EXPECT_TRUE(plain_weights());
}

// One filter for two convolutions, and a body of its own.
TEST_F(NchwcTest, BodiesHaveFormsOfTheirOwn) {
  m_.input("x", {"1", "3", "6", "6"}).input("take", {}, 9).output("y");
  filter("w", 8, 12, 3, 1, false);
  auto* n = m_.node("If", {"take"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder g = add_body(n, branch);
    g.output("out");
    g.node("Conv", {"x", "w"}, {"c"}, kDomain);
    add_int(g.node("ReorderOutput", {"c"}, {"out"}, kDomain), "channels", 12);
  }
  ASSERT_TRUE(run()) << said_;
  EXPECT_EQ(nodes(), "If");
}

// ---- refusals ----

TEST_F(NchwcTest, RefusesReadersThatDoNotKnowBlocks) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 12, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  m_.node("Softmax", {"c"}, {"y"})->set_name("soft");
  EXPECT_TRUE(refused({"Softmax", "\"soft\"", "\"c\", which is in blocks", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesBlocksAsAResult) {
  m_.input("x", {"1", "3", "6", "6"}).output("c");
  filter("w", 8, 12, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  EXPECT_TRUE(refused({"Conv", "\"node_c\"", "a result of the graph", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesBlocksInABody) {
  m_.input("x", {"1", "3", "6", "6"}).input("take", {}, 9).output("y");
  filter("w", 8, 12, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  auto* n = m_.node("If", {"take"}, {"y"});
  n->set_name("choice");
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphBuilder g = add_body(n, branch);
    g.output("out");
    g.node("Relu", {"c"}, {"out"});
  }
  EXPECT_TRUE(refused({"If", "\"choice\"", "its body reads \"c\"", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesPlainInputs) {
  m_.input("x", {"1", "16", "6", "6"}).output("y");
  integers(blocked("MaxPool", {"x"}, "p"), "kernel_shape", {2, 2});
  reorder_output("p", "y", 16);
  EXPECT_TRUE(refused({"MaxPool", "\"node_p\"", "\"x\" is not in blocks", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesOtherAxesOfConcat) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 16, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  add_int(m_.node("Concat", {"c", "c"}, {"k"}), "axis", 2);
  reorder_output("k", "y", 16);
  EXPECT_TRUE(refused({"Concat", "along axis 2", "ORT_ENABLE_EXTENDED"}, 8));
}

// In memory [C/b, H, W, b], so the one row is not where broadcasting looks for it.
TEST_F(NchwcTest, RefusesBroadcastingOverHeightAndWidth) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 12, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  blocked("GlobalAveragePool", {"c"}, "g");
  m_.node("Mul", {"c", "g"}, {"m"})->set_name("scale");
  reorder_output("m", "y", 12);
  EXPECT_TRUE(refused({"Mul", "\"scale\"", "height or width", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesOperandsThatAreNotInBlocks) {
  m_.input("x", {"1", "3", "6", "6"}).input("z", {"1", "12", "6", "6"}).output("y");
  filter("w", 8, 12, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  m_.node("Add", {"c", "z"}, {"a"});
  reorder_output("a", "y", 12);
  EXPECT_TRUE(refused({"Add", "\"z\", which is not", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesSumsThatAreNotInBlocks) {
  m_.input("x", {"1", "3", "6", "6"}).input("z", {"1", "12", "6", "6"}).output("y");
  filter("w", 8, 12, 3, 1, false);
  blocked("Conv", {"x", "w", "", "z"}, "c");
  reorder_output("c", "y", 12);
  EXPECT_TRUE(refused({"Conv", "\"z\", which is added", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesFiltersThatAreComputed) {
  m_.input("x", {"1", "3", "6", "6"}).input("w", {"16", "3", "1", "1"}).output("y");
  blocked("Conv", {"x", "w"}, "c");
  reorder_output("c", "y", 12);
  EXPECT_TRUE(refused({"Conv", "\"node_c\"", "filter is not a constant", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesBiasesThatAreComputed) {
  m_.input("x", {"1", "3", "6", "6"}).input("b", {"16"}).output("y");
  filter("w", 8, 12, 3, 1, false);
  blocked("Conv", {"x", "w", "b"}, "c");
  reorder_output("c", "y", 12);
  EXPECT_TRUE(refused({"Conv", "bias is not a constant of 16", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesExtentsThatAreNoBlocks) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  m_.floats("w", {12, 3, 1, 1}, std::vector<float>(36, 1));
  blocked("Conv", {"x", "w"}, "c");
  reorder_output("c", "y", 12);
  EXPECT_TRUE(refused({"Conv", "[12,3,1,1]", "blocks of 8 or 16", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesChannelsThatAreNotRoundedUp) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 40, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  reorder_output("c", "y", 20);
  EXPECT_TRUE(refused({"ReorderOutput", "\"node_y\"", "20 of 40", "blocks of 8", "ORT_ENABLE_EXTENDED"}));
}

// Beyond the filter's end there is nothing to read.
TEST_F(NchwcTest, RefusesMoreChannelsThanThereAre) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 40, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  reorder_output("c", "y", 100000000);
  EXPECT_TRUE(refused({"ReorderOutput", "\"node_y\"", "100000000 of 40", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesOutputsOfOneName) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 40, 3, 1, false);
  filter("v", 8, 4000, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  blocked("Conv", {"x", "v"}, "c");
  reorder_output("c", "y", 40);
  EXPECT_TRUE(refused({"Conv", "\"node_c\"", "\"c\" is made by another node"}));
}

// The padding of the others must not be looked for in a filter that no block divides.
TEST_F(NchwcTest, RefusesOneFilterWhereTheOthersLeaveTheBlockOpen) {
  m_.input("x", {"1", "3", "6", "6"}).output("y").output("z");
  filter("w", 16, 32, 3, 1, false);
  m_.floats("v", {12, 3, 1, 1}, std::vector<float>(36));
  blocked("Conv", {"x", "w"}, "c");
  blocked("Conv", {"x", "v"}, "d");
  reorder_output("c", "y", 32);
  reorder_output("d", "z", 12);
  EXPECT_TRUE(refused({"Conv", "\"node_d\"", "[12,3,1,1]", "\"node_c\"", "cannot be told"}));
}

TEST_F(NchwcTest, RefusesDifferentChannelsInOneSum) {
  m_.input("x", {"1", "3", "6", "6"}).output("y");
  filter("w", 8, 40, 3, 1, false);
  filter("v", 8, 24, 3, 1, false);
  blocked("Conv", {"x", "w"}, "c");
  blocked("Conv", {"x", "v", "", "c"}, "d");
  reorder_output("d", "y", 24);
  EXPECT_TRUE(refused({"Conv", "\"node_d\"", "40", "24", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesInputsOfOtherChannels) {
  m_.input("x", {"1", "11", "6", "6"}).output("y");
  filter("w", 8, 12, 12, 1, true);
  blocked("ReorderInput", {"x"}, "r");
  blocked("Conv", {"r", "w"}, "c");
  reorder_output("c", "y", 12);
  EXPECT_TRUE(refused({"ReorderInput", "11 channels", "12 to 16", "ORT_ENABLE_EXTENDED"}, 8));
}

TEST_F(NchwcTest, RefusesOpenChannels) {
  m_.input("x", {"1", "C", "6", "6"}).output("y");
  blocked("ReorderInput", {"x"}, "r");
  reorder_output("r", "y", 12);
  EXPECT_TRUE(refused({"ReorderInput", "not known", "--shape"}));
}

TEST_F(NchwcTest, RefusesScalesAndModesOfUpsample) {
  m_.input("x", {"1", "12", "6", "6"}).output("y");
  blocked("ReorderInput", {"x"}, "r");
  auto* n = blocked("Upsample", {"r"}, "u");
  integers(n, "scales", {1, 2, 2, 2});
  reorder_output("u", "y", 12);
  EXPECT_TRUE(refused({"Upsample", "scales", "ORT_ENABLE_EXTENDED"}));
  n->mutable_attribute(0)->set_ints(1, 1);
  EXPECT_TRUE(run()) << said_;
  text(n, "mode", "cubic");
  EXPECT_TRUE(refused({"Upsample", "cubic", "ORT_ENABLE_EXTENDED"}));
}

TEST_F(NchwcTest, RefusesOperatorsThatItDoesNotKnow) {
  m_.input("x", {"1", "12", "6", "6"}).output("y");
  blocked("ReorderInput", {"x"}, "r");
  blocked("InstanceNormalization", {"r"}, "n");
  reorder_output("n", "y", 12);
  EXPECT_TRUE(refused({"InstanceNormalization", "ORT_ENABLE_EXTENDED"}));
}

}  // namespace
}  // namespace vireo::importer::nchwc_test
