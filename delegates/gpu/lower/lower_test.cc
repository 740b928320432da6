// What becomes of nodes: how many launches, over which memory, in which order. That they compute right is shown where
// there is a device (delegates/vulkan).
#include "delegates/gpu/lower/lower.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <set>

#include "delegates/conformance/test_graph.h"
#include "delegates/gpu/lower/made_before.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/recurrent/recurrent_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/scatter/scatter_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::gpu::lower_test {
namespace {

Target device() {
  Target t;
  t.bindings = 16;
  t.int64 = t.storage8 = t.storage16 = true;
  return t;
}

Target with_unit() {
  Target t = device();
  t.subgroup = 32;
  t.workgroup = t.workgroup_x = 1024;
  t.shared_bytes = 49152;
  t.float16 = true;
  t.units = {{16, 16, 16}};
  t.half_products = true;
  return t;
}

template <class Make>
std::vector<uint8_t> attributes(const Make& make) {
  ::flatbuffers::FlatBufferBuilder b;
  b.Finish(make(b));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}
std::vector<uint8_t> none() {
  return attributes([](auto& b) { return attrs::CreateUnary(b); });
}

// A graph of which all nodes are one part.
class Net {
 public:
  int32_t input(const std::vector<int64_t>& dims, DType dtype = DType::kF32) {
    inputs_.push_back(add(dims, dtype));
    return inputs_.back();
  }
  template <class T>
  int32_t constant(const std::vector<int64_t>& dims, const std::vector<T>& values) {
    kept_.emplace_back(values.size() * sizeof(T) / 8 + 1);
    std::memcpy(kept_.back().data(), values.data(), values.size() * sizeof(T));
    const int32_t v = add(dims, DTypeOf<T>::value);
    graph_.values.back().constant = kept_.back().data();
    graph_.values.back().constant_size = values.size() * sizeof(T);
    return v;
  }
  int32_t node(Op op, const std::vector<uint8_t>& attrs, const std::vector<int32_t>& inputs,
               const std::vector<int64_t>& dims, DType dtype = DType::kF32) {
    TestNode n;
    n.name = "node " + std::to_string(graph_.nodes.size());
    n.op = static_cast<uint16_t>(op);
    n.attrs.assign(attrs.size() / 8 + 1, 0);
    n.attrs_size = attrs.size();
    std::memcpy(n.attrs.data(), attrs.data(), attrs.size());
    n.inputs = inputs;
    n.outputs = {add(dims, dtype)};
    graph_.nodes.push_back(std::move(n));
    return graph_.nodes.back().outputs[0];
  }
  int32_t unary(Op op, int32_t x) {
    return node(op, none(), {x}, dims(x), graph_.values[static_cast<size_t>(x)].type.dtype);
  }
  int32_t binary(Op op, int32_t a, int32_t b) { return node(op, none(), {a, b}, dims(a)); }
  int32_t transpose(int32_t x) {
    std::vector<int64_t> turned(dims(x));
    std::reverse(turned.begin(), turned.end());
    return node(Op::kTranspose, attributes([](auto& b) { return attrs::CreateTranspose(b); }), {x}, turned);
  }
  TestValue& value(int32_t v) { return graph_.values[static_cast<size_t>(v)]; }
  TestNode& last() { return graph_.nodes.back(); }

  Refusal lower(const std::vector<int32_t>& outputs, Schedule* out, const Target& target = device(),
                MadeBefore* made = nullptr) const {
    std::vector<uint32_t> nodes(graph_.nodes.size());
    for (size_t k = 0; k < nodes.size(); ++k) nodes[k] = static_cast<uint32_t>(k);
    return lower_part(target, test_host(), &graph_, part_of(nodes, outputs), out, made);
  }
  Refusal lower_run(const std::vector<int32_t>& outputs, const std::vector<const void*>& contents, Schedule* out,
                    const Target& target = device(), MadeBefore* made = nullptr) const {
    std::vector<uint32_t> nodes(graph_.nodes.size());
    for (size_t k = 0; k < nodes.size(); ++k) nodes[k] = static_cast<uint32_t>(k);
    return gpu::lower_run(target, test_host(), &graph_, part_of(nodes, outputs), contents.data(), out, made);
  }
  // The schedule, which is one that load() takes.
  Schedule schedule(const std::vector<int32_t>& outputs) const {
    Schedule s, read;
    const Refusal r = lower(outputs, &s);
    EXPECT_EQ(r.why, "");
    const std::vector<uint8_t> bytes = write_schedule(s);
    std::vector<uint64_t> aligned(bytes.size() / 8 + 1);
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    EXPECT_STREQ(read_schedule(aligned.data(), bytes.size(), device(), &read), "");
    EXPECT_EQ(read, s);
    return s;
  }
  std::string why(uint32_t node, const Target& target = device()) const {
    const char* kernel = nullptr;
    std::string why = refusal(target, test_host(), &graph_, node, &kernel);
    EXPECT_EQ(why.empty(), kernel != nullptr);
    return why;
  }
  std::string kernel(uint32_t node) const {
    const char* kernel = "";
    EXPECT_EQ(refusal(device(), test_host(), &graph_, node, &kernel), "");
    return kernel;
  }

 private:
  vireo_part part_of(const std::vector<uint32_t>& nodes, const std::vector<int32_t>& outputs) const {
    vireo_part part = VIREO_PART_INIT;
    part.nodes = nodes.data();
    part.node_count = static_cast<uint32_t>(nodes.size());
    part.inputs = inputs_.data();
    part.input_count = static_cast<uint32_t>(inputs_.size());
    part.outputs = outputs.data();
    part.output_count = static_cast<uint32_t>(outputs.size());
    return part;
  }
  std::vector<int64_t> dims(int32_t v) const {
    const Shape& s = graph_.values[static_cast<size_t>(v)].type.shape;
    return {s.dims, s.dims + s.rank};
  }
  int32_t add(const std::vector<int64_t>& dims, DType dtype) {
    TestValue v;
    v.type = {dtype, make_shape(dims)};
    graph_.values.push_back(v);
    return static_cast<int32_t>(graph_.values.size()) - 1;
  }

  vireo_graph graph_;
  std::vector<int32_t> inputs_;
  std::deque<std::vector<uint64_t>> kept_;
};

TEST(GpuLower, ElementwiseNodesAreOneLaunch) {
  Net net;
  const int32_t x = net.input({4, 6}), z = net.input({4, 6});
  const int32_t a = net.unary(Op::kRelu, x);
  const int32_t b = net.binary(Op::kMul, a, z);
  const int32_t y = net.unary(Op::kNeg, b);
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.steps.size(), 1u);
  EXPECT_EQ(s.inner_bytes, 0u);
  EXPECT_EQ(s.steps[0].bindings.size(), 3u);
  EXPECT_FALSE(s.steps[0].barrier);
  EXPECT_EQ(net.kernel(0), "chain");
}

TEST(GpuLower, WhatLeavesThePartIsWrittenAndReadOn) {
  Net net;
  const int32_t x = net.input({8});
  const int32_t a = net.unary(Op::kRelu, x);
  const int32_t y = net.unary(Op::kNeg, a);
  const Schedule s = net.schedule({y, a});
  ASSERT_EQ(s.steps.size(), 1u);
  ASSERT_EQ(s.steps[0].bindings.size(), 3u);
  EXPECT_EQ(s.outputs, (std::vector<uint64_t>{32, 32}));
}

TEST(GpuLower, ViewsCostNothingUntilTheyAreRead) {
  Net net;
  const int32_t x = net.input({2, 3, 5});
  const int32_t y = net.unary(Op::kRelu, net.transpose(net.transpose(x)));
  EXPECT_EQ(net.schedule({y}).steps.size(), 1u);
  EXPECT_EQ(net.kernel(0), "chain");  // by itself it is a copy
}

// A value that two views and a border share is written there once.
TEST(GpuLower, OutputsThatAreViewsAreCopied) {
  Net net;
  const int32_t x = net.input({2, 3});
  const int32_t y = net.transpose(x);
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.steps.size(), 1u);
  EXPECT_EQ(s.steps[0].bindings[1].where, Where::kOutput);
}

TEST(GpuLower, PiecesOfOneValueDoNotWaitForEachOther) {
  Net net;
  const int32_t a = net.input({2, 64}), b = net.input({2, 64});
  const auto axis = attributes([](auto& f) { return attrs::CreateConcat(f, 0); });
  const int32_t joined = net.node(Op::kConcat, axis, {a, b}, {4, 64});
  const int32_t y = net.unary(Op::kExp, net.transpose(joined));
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.steps.size(), 3u);
  EXPECT_FALSE(s.steps[1].barrier);
  EXPECT_TRUE(s.steps[2].barrier);
  EXPECT_EQ(s.inner_bytes, 1024u);
}

// The tail of a product is its epilogue, whatever the converter made of it: bias, activation, residual.
TEST(GpuLower, ATailBelongsToItsProduct) {
  Net net;
  const int32_t x = net.input({5, 8}), residual = net.input({5, 4});
  const int32_t w = net.constant<float>({8, 4}, std::vector<float>(32, 0.5f));
  const int32_t bias = net.constant<float>({4}, {1, 2, 3, 4});
  const int32_t product = net.node(Op::kMatMul, none(), {x, w}, {5, 4});
  const int32_t biased = net.binary(Op::kAdd, product, bias);
  const int32_t y = net.binary(Op::kAdd, net.unary(Op::kRelu, biased), residual);
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.steps.size(), 1u);
  EXPECT_EQ(s.steps[0].bindings.size(), 5u);
  EXPECT_EQ(net.kernel(0), "product");
}

// Dimensions of a convolution's result are cut into groups and channels in its own space.
TEST(GpuLower, ATailBelongsToItsConvolution) {
  Net net;
  const int32_t x = net.input({1, 4, 6, 6}), residual = net.input({1, 8, 6, 6});
  const int32_t w = net.constant<float>({8, 2, 1, 1}, std::vector<float>(16, 0.5f));
  const auto grouped = attributes([](auto& b) {
    attrs::ConvBuilder conv(b);
    conv.add_group(2);
    return conv.Finish();
  });
  const int32_t image = net.node(Op::kConv, grouped, {x, w}, {1, 8, 6, 6});
  const int32_t y = net.binary(Op::kMul, net.unary(Op::kRelu, image), residual);
  EXPECT_EQ(net.schedule({y}).steps.size(), 1u);
  EXPECT_EQ(net.kernel(0), "convolution");
}

// In whatever order a reader goes: each element has one place in both.
TEST(GpuLower, AReaderInAnotherOrderJoins) {
  Net net;
  const int32_t x = net.input({4, 6}), z = net.input({6, 4});
  const int32_t y = net.binary(Op::kAdd, net.transpose(net.unary(Op::kExp, x)), z);
  EXPECT_EQ(net.schedule({y}).steps.size(), 1u);
}

TEST(GpuLower, AReaderThatRepeatsElementsStaysBehind) {
  Net net;
  const int32_t x = net.input({4}), z = net.input({4, 4});
  const int32_t y = net.binary(Op::kAdd, z, net.unary(Op::kExp, x));
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.steps.size(), 2u);
  EXPECT_TRUE(s.steps[1].barrier);
}

// Memory that nobody needs any more is taken again, and then waited for.
TEST(GpuLower, InnerValuesShareMemory) {
  Net net;
  const auto softmax = attributes([](auto& b) { return attrs::CreateSoftmax(b); });
  int32_t v = net.input({64, 64});
  for (int k = 0; k < 6; ++k) v = net.node(Op::kSoftmax, softmax, {v}, {64, 64});
  const Schedule s = net.schedule({v});
  EXPECT_EQ(s.steps.size(), 6u);
  EXPECT_EQ(s.inner_bytes, 2u * 64 * 64 * 4);
  for (size_t k = 1; k < s.steps.size(); ++k) EXPECT_TRUE(s.steps[k].barrier) << k;
}

TEST(GpuLower, AttentionIsThreeLaunches) {
  Net net;
  const int32_t q = net.input({1, 4, 8, 16}), k = net.input({1, 2, 8, 16}), v = net.input({1, 2, 8, 16});
  const auto causal = attributes([](auto& b) {
    attrs::AttentionBuilder attention(b);
    attention.add_causal(true);
    return attention.Finish();
  });
  const int32_t y = net.node(Op::kAttention, causal, {q, k, v}, {1, 4, 8, 16});
  EXPECT_EQ(net.schedule({y}).steps.size(), 3u);
  Schedule one;
  EXPECT_EQ(net.lower({y}, &one, with_unit()).why, "");
  ASSERT_EQ(one.steps.size(), 1u) << "where products of halves are taken";
  EXPECT_EQ(one.steps[0].bindings.size(), 4u);
  Target exact = with_unit();
  exact.half_products = false;
  EXPECT_EQ(net.lower({y}, &one, exact).why, "");
  EXPECT_EQ(one.steps.size(), 3u);
}

// All steps are one launch, which follows the product of the inputs. It writes the wanted outputs only, and checks
// lengths that a run brings.
TEST(GpuLower, ARecurrenceIsAProductAndAWalk) {
  Net net;
  const int32_t x = net.input({5, 2, 3});
  const int32_t w = net.constant<float>({1, 16, 3}, std::vector<float>(48, 0.1f));
  const int32_t r = net.constant<float>({1, 16, 4}, std::vector<float>(64, 0.1f));
  const int32_t b = net.constant<float>({1, 32}, std::vector<float>(32, 0.1f));
  const auto attrs = attributes([](auto& f) { return attrs::CreateRecurrent(f); });
  const int32_t last = net.node(Op::kLSTM, attrs, {x, w, r, b}, {1, 2, 4});
  net.last().outputs = {-1, last};
  const Schedule s = net.schedule({last});
  ASSERT_EQ(s.steps.size(), 2u);
  EXPECT_EQ(s.steps[1].bindings.size(), 4u);  // sums, r, its bias, the state
  EXPECT_TRUE(s.steps[1].barrier);
  EXPECT_EQ(s.errors, 0u);
  EXPECT_EQ(net.kernel(0), "recurrent");
  net.last().inputs.push_back(net.input({2}, DType::kI32));
  const Schedule with = net.schedule({last});
  EXPECT_EQ(with.steps.size(), 3u);
  EXPECT_EQ(with.errors, 1u);
}

// The tensor is copied, then updated where the copy lies: each waits for the one before. Constant indices that never
// meet need no look in a run.
TEST(GpuLower, UpdatesFollowTheCopyAndEachOther) {
  Net net;
  const int32_t x = net.input({8, 6}), u = net.input({2, 6});
  const int32_t rows = net.constant<int64_t>({2, 1}, {7, -7});
  const auto attrs = attributes([](auto& f) { return attrs::CreateScatterND(f); });
  const int32_t once = net.node(Op::kScatterND, attrs, {x, rows, u}, {8, 6});
  const int32_t y = net.node(Op::kScatterND, attrs, {once, net.input({2, 1}, DType::kI64), u}, {8, 6});
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.steps.size(), 4u);
  for (size_t k = 1; k < 4; ++k) EXPECT_TRUE(s.steps[k].barrier) << "step " << k;
  EXPECT_EQ(s.steps[1].bindings.size(), 3u);
  EXPECT_EQ(s.steps[3].bindings.size(), 4u) << "the second one reports";
  EXPECT_EQ(s.steps[2].bindings[1].where, Where::kOutput);
  EXPECT_EQ(s.steps[3].bindings[2].where, Where::kOutput);
  EXPECT_EQ(net.kernel(0), "scatter");
}

// Sums of codes are a depthwise convolution by ones, as long as one multiplier serves all places.
TEST(GpuLower, AnIntegerPoolHasOneMultiplier) {
  Net net;
  const int32_t x = net.input({1, 8, 4, 4}, DType::kU8);
  const int32_t m = net.constant<float>({5}, {0, 1, 0.5f, 0.3f, 0.25f});
  const auto pool = [](const std::vector<int32_t>& pads) {
    return attributes([&pads](auto& f) {
      const std::vector<int32_t> two = {2, 2};
      const auto kernel = f.CreateVector(two), strides = f.CreateVector(two), around = f.CreateVector(pads);
      attrs::IntAveragePoolBuilder b(f);
      b.add_kernel_shape(kernel);
      b.add_strides(strides);
      b.add_pads(around);
      b.add_high(255);
      b.add_output_dtype(static_cast<uint8_t>(DType::kU8));
      return b.Finish();
    });
  };
  const int32_t y = net.node(Op::kIntAveragePool, pool({0, 0, 0, 0}), {x, m}, {1, 8, 2, 2}, DType::kU8);
  EXPECT_EQ(net.schedule({y}).steps.size(), 1u);
  EXPECT_EQ(net.kernel(0), "depthwise");
  (void)net.node(Op::kIntAveragePool, pool({1, 1, 1, 1}), {x, m}, {1, 8, 3, 3}, DType::kU8);
  EXPECT_NE(net.why(1).find("different numbers"), std::string::npos);
}

TEST(GpuLower, ASplitMayLeaveAnOutput) {
  Net net;
  const int32_t x = net.input({6, 2});
  const int32_t sizes = net.constant<int64_t>({3}, {1, 2, 3});
  const int32_t y =
      net.node(Op::kSplit, attributes([](auto& f) { return attrs::CreateSplit(f, 0); }), {x, sizes}, {3, 2});
  net.last().outputs = {-1, -1, y};
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.steps.size(), 1u);
  EXPECT_EQ(std::count(s.steps[0].push.begin(), s.steps[0].push.end(), 6u), 2) << "elements, and where they begin";
}

TEST(GpuLower, EqualKernelsAreThereOnce) {
  Net net;
  const int32_t x = net.input({16}), z = net.input({16});
  const Schedule s = net.schedule({net.unary(Op::kExp, x), net.unary(Op::kExp, z)});
  EXPECT_EQ(s.steps.size(), 2u);
  EXPECT_EQ(s.kernels.size(), 1u);
}

TEST(GpuLower, ConstantsAreNamedByTheirNumber) {
  Net net;
  const int32_t x = net.input({2, 4});
  const int32_t w = net.constant<float>({4}, {1, 2, 3, 4}), one = net.constant<float>({}, {1});
  const int32_t y = net.binary(Op::kAdd, net.binary(Op::kMul, x, w), one);
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.weights.size(), 1u);  // a number is a part of the code
  EXPECT_EQ(s.weights[0], (Weight{16, -1, w}));
}

TEST(GpuLower, TheSamePartGivesTheSameBytes) {
  Net net;
  const int32_t x = net.input({3, 7});
  const int32_t y = net.transpose(net.unary(Op::kSigmoid, x));
  EXPECT_EQ(write_schedule(net.schedule({y})), write_schedule(net.schedule({y})));
}

// Shares of the depth, and a launch that adds them up and goes on with what followed.
TEST(GpuLower, DeepProductsOfFewTilesAreSplit) {
  Net net;
  const int32_t x = net.input({1, 512, 7, 7}), z = net.input({1, 64, 7, 7});
  const int32_t w = net.constant<float>({64, 512, 3, 3}, std::vector<float>(64 * 512 * 9));
  const auto attrs = attributes([](auto& b) {
    const auto pads = b.CreateVector(std::vector<int32_t>{1, 1, 1, 1});
    attrs::ConvBuilder conv(b);
    conv.add_pads(pads);
    return conv.Finish();
  });
  const int32_t y = net.unary(Op::kRelu, net.binary(Op::kAdd, net.node(Op::kConv, attrs, {x, w}, {1, 64, 7, 7}), z));
  const Schedule s = net.schedule({y});
  ASSERT_EQ(s.steps.size(), 2u);
  EXPECT_EQ(s.steps[0].groups[2], 32u) << "shares";
  EXPECT_TRUE(s.steps[1].barrier);
  EXPECT_EQ(s.steps[1].bindings.size(), 3u) << "one buffer has the sums of all shares";
  EXPECT_EQ(s.inner_bytes, place_up(32 * 64 * 49 * 4));
}

// A matrix unit fills a device with smaller tiles, and only great depths are worth a launch that adds up.
TEST(GpuLower, AUnitSplitsOnlyGreatDepths) {
  for (const auto& [depth, steps] : {std::pair{512, 1u}, std::pair{2048, 2u}}) {
    Net net;
    const int32_t x = net.input({128, depth}), w = net.input({depth, 128});
    Schedule s;
    EXPECT_EQ(net.lower({net.node(Op::kMatMul, none(), {x, w}, {128, 128})}, &s, with_unit()).why, "");
    EXPECT_EQ(s.steps.size(), steps) << depth;
    EXPECT_EQ(s.steps[0].groups[2], steps == 2 ? 8u : 1u);
  }
}

// Channels are neighbours in weights where they are in images, and halves where products are of halves.
TEST(GpuLower, WeightsAreKeptAsKernelsReadThem) {
  Net net;
  const int32_t x = net.input({1, 6, 6, 4});
  const int32_t w = net.constant<float>({8, 4, 3, 3}, std::vector<float>(8 * 36, 0.5f));
  const auto attrs = attributes([](auto& b) {
    const auto pads = b.CreateVector(std::vector<int32_t>{1, 1, 1, 1});
    attrs::ConvBuilder conv(b);
    conv.add_pads(pads);
    conv.add_layout(1);
    return conv.Finish();
  });
  const int32_t y = net.node(Op::kConv, attrs, {x, w}, {1, 6, 6, 8});
  const Schedule plain = net.schedule({y});
  ASSERT_EQ(plain.weights.size(), 1u);
  EXPECT_EQ(plain.weights[0], (Weight{8 * 36 * 4, -1, w, 4, 9, 4, false}));
  Schedule halves;
  EXPECT_EQ(net.lower({y}, &halves, with_unit()).why, "");
  ASSERT_EQ(halves.weights.size(), 1u);
  EXPECT_EQ(halves.weights[0], (Weight{8 * 36 * 2, -1, w, 4, 9, 4, true}));
  Net matrices;
  const int32_t a = matrices.input({20, 16});
  const int32_t c = matrices.constant<float>({16, 24}, std::vector<float>(16 * 24, 1));
  EXPECT_EQ(matrices.lower({matrices.node(Op::kMatMul, none(), {a, c}, {20, 24})}, &halves, with_unit()).why, "");
  EXPECT_EQ(halves.weights[0], (Weight{16 * 24 * 2, -1, c, 0, 0, 4, true}));
  // Where a unit reads tiles, a matrix lies along the depth, unless some rows read it; for few rows it always does.
  Target tiles = with_unit();
  tiles.tile_unit = true;
  for (const int64_t rows : {40, 20, 4}) {
    Net net_of;
    const int32_t x_of = net_of.input({rows, 16}), w_of = net_of.constant<float>({16, 24}, std::vector<float>(384, 1));
    EXPECT_EQ(net_of.lower({net_of.node(Op::kMatMul, none(), {x_of, w_of}, {rows, 24})}, &halves, tiles).why, "");
    const bool turned = rows != 20;
    EXPECT_EQ(halves.weights[0], (Weight{384 * 2, -1, w_of, turned ? 16u : 0u, turned ? 24u : 0u, 4, true}));
  }
}

std::vector<uint8_t> reduce() {
  return attributes([](auto& b) { return attrs::CreateReduce(b); });
}

// What transformers are made of, over a batch and a sequence: products with weights and with what was made, a norm's
// parts, a softmax, attention.
struct Layer {
  Net net;
  std::vector<int32_t> outputs;

  Layer(int64_t batch, int64_t sequence, bool open) {
    const auto made = [&](int32_t v) {
      net.value(v).varies = open;
      return v;
    };
    const std::vector<int64_t> wide = {batch, sequence, 64};
    const auto product = [&](int32_t x, int64_t k, int64_t n) {
      const int32_t w = net.constant<float>({k, n}, std::vector<float>(static_cast<size_t>(k * n), 1));
      return made(net.node(Op::kMatMul, none(), {x, w}, {batch, sequence, n}));
    };
    const int32_t x = made(net.input(wide));
    const int32_t up = made(net.unary(Op::kExp, product(x, 64, 1024)));
    const int32_t y = made(net.binary(Op::kAdd, product(up, 1024, 64), x));
    const auto softmax = attributes([](auto& b) { return attrs::CreateSoftmax(b); });
    outputs.push_back(made(net.node(Op::kSoftmax, softmax, {y}, wide)));
    const std::vector<int64_t> head = {batch, 4, sequence, 16}, square = {batch, 4, sequence, sequence};
    const int32_t q = made(net.input(head)), k = made(net.input(head)), v = made(net.input(head));
    const auto plain = attributes([](auto& b) { return attrs::AttentionBuilder(b).Finish(); });
    outputs.push_back(made(net.node(Op::kAttention, plain, {q, k, v}, head)));
    const int32_t turned = made(net.input({batch, 4, 16, sequence}));
    const int32_t scores = made(net.node(Op::kMatMul, none(), {q, turned}, square));
    const int32_t shares = made(net.node(Op::kSoftmax, softmax, {scores}, square));
    outputs.push_back(made(net.node(Op::kMatMul, none(), {shares, v}, head)));
    codes(made, head, square);
  }
  // The same of codes.
  template <class Made>
  void codes(const Made& made, const std::vector<int64_t>& head, const std::vector<int64_t>& square) {
    const std::vector<int64_t> turned = {head[0], head[1], head[3], head[2]};
    const int32_t q = made(net.input(head, DType::kU8)), k = made(net.input(turned, DType::kU8));
    const int32_t v = made(net.input(head, DType::kU8)), multiplier = net.constant<float>({1}, {0.01f});
    const int32_t table = net.constant<int32_t>({256}, std::vector<int32_t>(256, 1 << 20));
    const auto product = attributes([](auto& b) {
      attrs::IntGemmBuilder g(b);
      g.add_a_zero(120);
      g.add_high(255);
      g.add_output_dtype(static_cast<uint8_t>(DType::kU8));
      return g.Finish();
    });
    const auto softmax = attributes(
        [](auto& b) { return attrs::CreateIntSoftmax(b, -1, 255, 0, 0, 255, static_cast<uint8_t>(DType::kU8)); });
    const int32_t scores = made(net.node(Op::kIntGemm, product, {q, k, multiplier}, square, DType::kU8));
    const int32_t shares = made(net.node(Op::kIntSoftmax, softmax, {scores, table}, square, DType::kU8));
    outputs.push_back(made(net.node(Op::kIntGemm, product, {shares, v, multiplier}, head, DType::kU8)));
  }
};

// Extents within the bounds take kernels that were made for the bounds.
TEST(GpuLower, OtherExtentsHaveKernelsAlready) {
  Target plain;  // 32 words of push constants
  plain.bindings = 16;
  Target lanes = with_unit();  // which know their matrices
  lanes.units = {{16, 16, 16, true}};
  lanes.shuffles = true;
  for (Target target : {plain, device(), with_unit(), lanes}) {
    target.storage8 = true;
    Schedule bounds;
    const Layer most(4, 300, true);
    MadeBefore made;
    ASSERT_EQ(most.net.lower(most.outputs, &bounds, target, &made).why, "");
    ASSERT_TRUE(bounds.open);
    const size_t printed = made.kernels.count();
    EXPECT_EQ(printed, bounds.kernels.size());
    std::set<std::vector<uint32_t>> printed_words;
    for (const Kernel& k : bounds.kernels) printed_words.insert(k.words);
    for (const int64_t batch : {1, 2, 3, 4}) {
      for (const int64_t sequence : {2, 5, 16, 17, 31, 64, 100, 128, 129, 200, 256, 299, 300}) {
        const Layer layer(batch, sequence, false);
        Schedule run;
        ASSERT_EQ(layer.net.lower_run(layer.outputs, std::vector<const void*>(8, nullptr), &run, target).why, "");
        EXPECT_LE(run.inner_bytes, bounds.inner_bytes);
        Schedule again;
        ASSERT_EQ(layer.net.lower_run(layer.outputs, std::vector<const void*>(8, nullptr), &again, target, &made).why,
                  "");
        EXPECT_TRUE(again == run);
        EXPECT_EQ(made.kernels.count(), printed) << "nothing is printed anew";
        Schedule known;
        ASSERT_EQ(layer.net.lower_run(layer.outputs, std::vector<const void*>(8, nullptr), &known, target, &made).why,
                  "");
        EXPECT_TRUE(known == run) << "from problems that were met before";
        for (const Kernel& k : run.kernels)
          EXPECT_EQ(printed_words.count(k.words), 1u) << k.name << ", batch " << batch << ", sequence " << sequence;
      }
    }
  }
}

// Axes that a run brings: a part by itself, of which only sizes are known. A run has the launches.
TEST(GpuLower, ContentsThatSteerComeWithARun) {
  Net net;
  const int32_t x = net.input({4, 6}), axes = net.input({1}, DType::kI64);
  const int32_t y = net.node(Op::kReduceSum, reduce(), {x, axes}, {4, 1});
  const Schedule bounds = net.schedule({y});
  EXPECT_TRUE(bounds.open);
  EXPECT_TRUE(bounds.steps.empty());
  Schedule run;
  const int64_t last = 1;
  EXPECT_EQ(net.lower_run({y}, {nullptr, &last}, &run).why, "");
  EXPECT_EQ(run.steps.size(), 1u);
  EXPECT_LE(run.inner_bytes, bounds.inner_bytes);
  EXPECT_NE(net.lower_run({y}, {nullptr, nullptr}, &run).why, "") << "contents that are not at hand";
  const int32_t z = net.unary(Op::kRelu, y);
  EXPECT_NE(net.lower({z}, &run).why.find("steer"), std::string::npos);
}

// A list that the part makes itself is seen by nobody.
TEST(GpuLower, ContentsThatAPartMakesAreLeft) {
  Net net;
  const int32_t x = net.input({4, 6}), raw = net.input({1}, DType::kI64);
  const int32_t axes = net.unary(Op::kNeg, raw);
  const int32_t y = net.node(Op::kReduceSum, reduce(), {x, axes}, {4, 1});
  Schedule s;
  EXPECT_NE(net.lower({y}, &s).why.find("does not see"), std::string::npos);
}

TEST(GpuLower, SaysWhyANodeIsLeft) {
  Net net;
  const int32_t x = net.input({4}), counts = net.input({4}, DType::kI32), texts = net.input({4}, DType::kString);
  (void)net.unary(Op::kRelu, x);
  EXPECT_EQ(net.why(0), "");
  (void)net.unary(Op::kIdentity, texts);
  EXPECT_EQ(net.why(1), "no kernel for string");
  (void)net.node(Op::kDiv, none(), {counts, counts}, {4}, DType::kI32);
  EXPECT_EQ(net.why(2), "");
  const int32_t divisors = net.constant<int32_t>({4}, {1, 2, -3, 4});
  (void)net.node(Op::kDiv, none(), {counts, divisors}, {4}, DType::kI32);
  EXPECT_EQ(net.why(3), "");
  (void)net.unary(Op::kDet, x);
  EXPECT_NE(net.why(4).find("no kernel"), std::string::npos);
  Target small = device();
  small.buffer_bytes = 8;
  EXPECT_NE(net.why(0, small).find("16 bytes"), std::string::npos);
  small = device();
  small.bindings = 1;
  EXPECT_NE(net.why(0, small).find("tensors at once"), std::string::npos);
  net.last().outputs[0] = -1;
  EXPECT_NE(net.why(4), "");
}

TEST(GpuLower, NamesTheNodeOfARefusedPart) {
  Net net;
  const int32_t x = net.input({4});
  const int32_t y = net.unary(Op::kDet, net.unary(Op::kRelu, x));
  Schedule s;
  const Refusal r = net.lower({y}, &s);
  ASSERT_NE(r.node, nullptr);
  EXPECT_STREQ(r.node, "node 1");
}

}  // namespace
}  // namespace vireo::gpu::lower_test
