// Integer products and convolutions by a matrix unit have the bytes that others have, on host lanes: the unit
// multiplies codes as they are, and the bias makes up for zero points.
#include <gtest/gtest.h>

#include <deque>

#include "delegates/gpu/lower/lanes_testing.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu::lower_codes_test {
namespace {

Target with_code_unit() {
  Target t = with_unit();
  t.storage8 = t.shuffles = true;
  t.units = {{16, 16, 16, true}};
  t.code_unit = {16, 16, 32, true};
  return t;
}

// A node with its constants: x, w, multiplier, bias or none, zero point of w.
struct Net {
  Network network;
  std::deque<Bytes> constants;
  std::vector<uint8_t> attributes;

  int value(DType dtype, const Extents& dims, Bytes constant = {}) {
    Datum d;
    d.dtype = dtype;
    d.dims = dims;
    if (!constant.empty()) {
      constants.push_back(std::move(constant));
      d.constant = constants.back().data();
      d.constant_bytes = constants.back().size();
    }
    network.values.push_back(d);
    return static_cast<int>(network.values.size()) - 1;
  }
  template <class Make>
  void node(uint16_t op, const Make& make, const std::vector<int>& inputs, int output) {
    ::flatbuffers::FlatBufferBuilder b;
    b.Finish(make(b));
    attributes.assign(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
    Node n;
    n.op = op;
    n.attributes = attributes.data();
    n.inputs = inputs;
    n.outputs = {output};
    network.nodes.push_back(n);
    network.sources = 1;
  }
};

Bytes bytes_of(int64_t count, uint32_t seed) {
  std::mt19937 g(seed);
  Bytes out(static_cast<size_t>(count));
  for (uint8_t& b : out) b = static_cast<uint8_t>(g() >> 9);
  return out;
}
Bytes multipliers(int64_t count) {
  Bytes out;
  for (int64_t i = 0; i < count; ++i) {
    const float v = 0.0005f + 0.00001f * static_cast<float>(i);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&v);
    out.insert(out.end(), bytes, bytes + sizeof(v));
  }
  return out;
}
Bytes biases(int64_t count) {
  Bytes out;
  for (int64_t i = 0; i < count; ++i) {
    const auto v = static_cast<int32_t>(i * 1717 - 9000);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&v);
    out.insert(out.end(), bytes, bytes + sizeof(v));
  }
  return out;
}

// What the weights' memory holds.
Bytes kept(const Net& net, const Memory& m) {
  const Datum& d = net.network.values[static_cast<size_t>(m.value)];
  Bytes out(d.constant, d.constant + d.constant_bytes);
  if (m.form.channels == 0) return out;
  const size_t channels = m.form.channels, taps = m.form.taps, each = channels * taps;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = d.constant[i / each * each + i % channels * taps + i % each / channels];
  return out;
}

// The output's bytes, and how the work was done.
Bytes run(const Net& net, const Target& target, bool* by_unit) {
  Lowering l(net.network, target);
  const Node& node = net.network.nodes[0];
  l.set_border({node.inputs[0]}, {node.outputs[0]});
  EXPECT_EQ(l.add(node), "");
  EXPECT_EQ(l.finish(), "");
  *by_unit = dispatch_of(l.works[0].problem, target).program.unit.codes;
  std::vector<Bytes> memories;
  size_t output = 0;
  for (size_t i = 0; i < l.memories.size(); ++i) {
    const Memory& m = l.memories[i];
    Bytes content(m.bytes, 0xA5);
    if (m.where == Where::kInput) content = bytes_of(static_cast<int64_t>(m.bytes), 9);
    if (m.where == Where::kData) content = m.content;
    if (m.where == Where::kWeights) content = kept(net, m);
    if (m.where == Where::kOutput) output = i;
    memories.push_back(content);
  }
  return run_works(l, memories)[output];
}

void expect_same(const Net& net, bool unit) {
  bool by_unit = false, without = true;
  Target none = with_code_unit(), copies = none;
  none.code_unit = {};
  const Bytes wanted = run(net, none, &without);
  copies.stage_bytes = 96u << 10;
  for (const Target& target : {with_code_unit(), copies}) {
    const Bytes got = run(net, target, &by_unit);
    EXPECT_FALSE(without);
    EXPECT_EQ(by_unit, unit);
    EXPECT_TRUE(got == wanted);
  }
}

enum class Bias { kNone, kOne, kEach };

Net gemm(DType x, int64_t k, int64_t n, Bias bias, int32_t w_zero = 0) {
  Net net;
  const int y = net.value(DType::kI8, {2, 20, n});
  const int a = net.value(x, {2, 20, k}), w = net.value(DType::kI8, {k, n}, bytes_of(k * n, 3));
  const int scale = net.value(DType::kF32, {n}, multipliers(n));
  const int b = bias == Bias::kNone  ? -1
                : bias == Bias::kOne ? net.value(DType::kI32, {}, biases(1))
                                     : net.value(DType::kI32, {n}, biases(n));
  const int zero = w_zero == 0 ? -1 : net.value(DType::kI8, {}, {static_cast<uint8_t>(w_zero)});
  net.node(
      VIREO_OP_INT_GEMM,
      [](auto& f) {
        attrs::IntGemmBuilder g(f);
        g.add_a_zero(-11);
        g.add_y_zero(5);
        g.add_low(-128);
        g.add_output_dtype(static_cast<uint8_t>(DType::kI8));
        return g.Finish();
      },
      {a, w, scale, b, zero}, y);
  return net;
}

TEST(LowerCodes, Products) {
  expect_same(gemm(DType::kI8, 64, 24, Bias::kEach), true);
  expect_same(gemm(DType::kU8, 37, 18, Bias::kNone), true);
  expect_same(gemm(DType::kI8, 96, 40, Bias::kOne), true);
  expect_same(gemm(DType::kI8, 64, 24, Bias::kEach, 3), false);  // each weight less its zero point
}

Net convolution(int64_t channels, int64_t outputs, int64_t groups, bool channels_last) {
  Net net;
  const int64_t c = channels * groups, o = outputs * groups;
  const auto image = [&](int64_t count) { return channels_last ? Extents{1, 7, 6, count} : Extents{1, count, 7, 6}; };
  const int y = net.value(DType::kU8, image(o)), x = net.value(DType::kU8, image(c));
  const int w = net.value(DType::kI8, {o, channels, 3, 3}, bytes_of(o * channels * 9, 4));
  const int scale = net.value(DType::kF32, {o}, multipliers(o)), bias = net.value(DType::kI32, {o}, biases(o));
  net.node(
      VIREO_OP_INT_CONV,
      [&](auto& f) {
        const auto pads = f.CreateVector(std::vector<int32_t>{1, 1, 1, 1});
        attrs::IntConvBuilder conv(f);
        conv.add_pads(pads);
        conv.add_layout(channels_last ? 1 : 0);
        conv.add_group(static_cast<int32_t>(groups));
        conv.add_x_zero(113);
        conv.add_y_zero(9);
        conv.add_high(255);
        conv.add_output_dtype(static_cast<uint8_t>(DType::kU8));
        return conv.Finish();
      },
      {x, w, scale, bias, -1}, y);
  return net;
}

TEST(LowerCodes, Convolutions) {
  expect_same(convolution(16, 24, 1, true), true);
  expect_same(convolution(32, 16, 2, true), true);
  expect_same(convolution(3, 20, 1, true), true);
  expect_same(convolution(12, 16, 1, false), true);
}

}  // namespace
}  // namespace vireo::gpu::lower_codes_test
