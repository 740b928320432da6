// Integer products and convolutions by a matrix unit have the bytes that others have, on host lanes: the unit
// multiplies codes as they are, and the bias makes up for zero points. Softmaxes of codes, and attention made of them,
// have the bytes of sdk/ops/INTEGER.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "delegates/gpu/lower/lanes_testing.h"
#include "delegates/gpu/templates/space.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
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
  std::deque<Bytes> constants, attributes;

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
    attributes.emplace_back(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
    Node n;
    n.op = op;
    n.attributes = attributes.back().data();
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

// Of the inputs, which are given by their number.
Bytes input_bytes(uint32_t index, uint64_t count) { return bytes_of(static_cast<int64_t>(count), 9 + index); }

// The last node's bytes, and how the first work was done. `inputs` of the network, by default the first node's x.
Bytes run(const Net& net, const Target& target, bool* by_unit, std::vector<int> inputs = {}) {
  Lowering l(net.network, target);
  if (inputs.empty()) inputs = {net.network.nodes[0].inputs[0]};
  l.set_border(inputs, net.network.nodes.back().outputs);
  for (const Node& node : net.network.nodes) EXPECT_EQ(l.add(node), "");
  EXPECT_EQ(l.finish(), "");
  *by_unit = dispatch_of(l.works[0].problem, target).program.unit.codes;
  std::vector<Bytes> memories;
  size_t output = 0;
  for (size_t i = 0; i < l.memories.size(); ++i) {
    const Memory& m = l.memories[i];
    Bytes content(m.bytes, 0xA5);
    if (m.where == Where::kInput) content = input_bytes(m.index, m.bytes);
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

Bytes words(const std::vector<int32_t>& values) {
  const auto* const first = reinterpret_cast<const uint8_t*>(values.data());
  return {first, first + values.size() * sizeof(int32_t)};
}
// The entries of a softmax's table: exponentials of steps of `scale`.
std::vector<int32_t> exponentials(double scale) {
  std::vector<int32_t> out(256);
  for (size_t d = 0; d < out.size(); ++d)
    out[d] = static_cast<int32_t>(std::nearbyint(8388608 * std::exp(-scale * static_cast<double>(d))));
  return out;
}

// INTEGER.md, word by word.
uint8_t code_of(float v, int32_t zero, int32_t low, int32_t high) {
  const double y = std::nearbyint(static_cast<double>(v)) + zero;
  return static_cast<uint8_t>(static_cast<int32_t>(std::clamp<double>(y, low, high)));
}
int32_t value_of(DType t, uint8_t code) { return t == DType::kI8 ? static_cast<int8_t>(code) : code; }

struct Shares {
  DType x = DType::kU8, y = DType::kU8;
  float multiplier = 255;
  std::vector<int32_t> table;
  int32_t zero() const { return y == DType::kI8 ? -128 : 0; }
  int32_t high() const { return y == DType::kI8 ? 127 : 255; }

  // Codes of a line, and which of them are kept; {}: all.
  Bytes of(const Bytes& line, const std::vector<bool>& kept) const {
    const auto keeps = [&](size_t i) { return kept.empty() || kept[i]; };
    int32_t top = -129;
    for (size_t i = 0; i < line.size(); ++i) top = keeps(i) ? std::max(top, value_of(x, line[i])) : top;
    std::vector<int32_t> e(line.size());
    int64_t sum = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      e[i] = top == -129 ? table[0] : keeps(i) ? table[static_cast<size_t>(top - value_of(x, line[i]))] : 0;
      sum += e[i];
    }
    const float q = multiplier / static_cast<float>(sum);
    Bytes out;
    for (const int32_t number : e) out.push_back(code_of(static_cast<float>(number) * q, zero(), zero(), high()));
    return out;
  }
  void node(Net* net, int from, int entries, int kept, int axis, int to) const {
    net->node(
        VIREO_OP_INT_SOFTMAX,
        [&](auto& f) {
          return attrs::CreateIntSoftmax(f, axis, multiplier, zero(), zero(), high(), static_cast<uint8_t>(y));
        },
        kept < 0 ? std::vector<int>{from, entries} : std::vector<int>{from, entries, kept}, to);
  }
};

// A softmax along `axis`, with flags of `kept` dims or none, against the formula.
void expect_softmax(const Shares& shares, const Extents& dims, int axis, const Extents& kept) {
  Net net;
  const int x = net.value(shares.x, dims), y = net.value(shares.y, dims);
  const int table = net.value(DType::kI32, {256}, words(shares.table));
  Bytes flags;
  if (!kept.empty()) {
    flags = bytes_of(count_of(kept), 21);
    for (uint8_t& b : flags) b = b < 90 ? 1 : 0;
  }
  shares.node(&net, x, table, kept.empty() ? -1 : net.value(DType::kBool, kept, flags), axis, y);
  Target target = with_unit();
  target.storage8 = true;
  bool by_unit = true;
  const Bytes got = run(net, target, &by_unit);
  const Bytes codes = input_bytes(0, static_cast<uint64_t>(count_of(dims)));
  const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int>(dims.size()) : axis);
  const Extents strides = dense_strides(dims), of_kept = dense_strides(kept);
  const int64_t step = strides[at], length = dims[at];
  for (int64_t first = 0; first < count_of(dims); ++first) {
    if (first / step % length != 0) continue;
    Bytes line, found;
    std::vector<bool> keeps;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t place = first + i * step;
      line.push_back(codes[static_cast<size_t>(place)]);
      found.push_back(got[static_cast<size_t>(place)]);
      int64_t flag = 0;
      for (size_t d = 0; d < kept.size(); ++d) {
        const size_t axis_of_x = dims.size() - kept.size() + d;
        if (kept[d] != 1) flag += place / strides[axis_of_x] % dims[axis_of_x] * of_kept[d];
      }
      if (!kept.empty()) keeps.push_back(flags[static_cast<size_t>(flag)] != 0);
    }
    ASSERT_TRUE(found == shares.of(line, keeps)) << "line at " << first << " of " << length << ", axis " << axis;
  }
}

TEST(LowerCodes, Softmaxes) {
  Shares s;
  s.table = exponentials(0.05);
  expect_softmax(s, {2, 3, 5, 17}, -1, {});
  expect_softmax(s, {2, 3, 5, 17}, 1, {});
  expect_softmax(s, {197}, 0, {});
  s.x = s.y = DType::kI8;
  s.multiplier = 256;
  expect_softmax(s, {3, 7, 70}, 2, {7, 70});
  expect_softmax(s, {3, 7, 70}, 0, {3, 1, 1});
  expect_softmax(s, {9, 4}, 1, {9, 4});  // some rows keep nothing
  // Sums on both sides of 2^32, where they have more digits than a word: entries are near the greatest.
  s.multiplier = 7919.0f;
  s.table = exponentials(0.0005);
  for (const int64_t length : {511, 3001}) expect_softmax(s, {2, length}, 1, {});
  s.x = s.y = DType::kU8;
  for (int32_t& e : s.table) e = (1 << 24) - 1;
  expect_softmax(s, {2, 1027}, 1, {});
}

// Sums of more than 32 bits are rounded once. Entries lie one apart about a half of a code, so that a sum in the next
// float gives another code in every second row.
TEST(LowerCodes, SumsOfSoftmaxesRoundOnce) {
  constexpr int64_t kLength = 640;
  Shares s;
  s.multiplier = 100.5f * kLength;
  s.table.resize(256);
  for (int32_t d = 0; d < 256; ++d) s.table[static_cast<size_t>(d)] = (1 << 23) - d;
  expect_softmax(s, {400, kLength}, 1, {});
}

TEST(LowerCodes, SoftmaxesThatAreLeft) {
  const auto refusal = [](const std::vector<int32_t>& table, bool constant, int64_t length) {
    Net net;
    Shares s;
    const int x = net.value(s.x, {2, length}), y = net.value(s.y, {2, length});
    const int entries = constant ? net.value(DType::kI32, {256}, words(table)) : net.value(DType::kI32, {256});
    s.node(&net, x, entries, -1, 1, y);
    const Target target = with_unit();
    Lowering l(net.network, target);
    l.set_border(constant ? std::vector<int>{x} : std::vector<int>{x, entries}, {y});
    return l.add(net.network.nodes[0]);
  };
  const std::vector<int32_t> table = exponentials(0.05);
  std::vector<int32_t> negative = table, nothing = table;
  negative[200] = -1;
  nothing[0] = 0;
  EXPECT_EQ(refusal(table, true, 32767), "");
  EXPECT_NE(refusal(table, true, 32768).find("may be too large"), std::string::npos);
  EXPECT_NE(refusal(table, false, 8).find("comes with the data"), std::string::npos);
  EXPECT_NE(refusal(negative, true, 8).find("no exponential"), std::string::npos);
  EXPECT_NE(refusal(nothing, true, 8).find("no exponential"), std::string::npos);
}

struct Heads {
  int64_t heads = 1, queries = 1, keys = 1, head = 1, value = 1;
  DType q = DType::kU8, k = DType::kI8, v = DType::kU8;
  int32_t q_zero = 120, k_zero = 7, v_zero = 128;
  Extents kept;
};

// q [heads, queries, head], k [heads, head, keys], v [heads, keys, value], as attention_codes has them.
void expect_attention(const Heads& h) {
  Net net;
  const int q = net.value(h.q, {h.heads, h.queries, h.head}), k = net.value(h.k, {h.heads, h.head, h.keys}),
            v = net.value(h.v, {h.heads, h.keys, h.value});
  const Extents square = {h.heads, h.queries, h.keys};
  const int scores = net.value(DType::kU8, square), parts = net.value(DType::kU8, square);
  const int y = net.value(DType::kU8, {h.heads, h.queries, h.value});
  Shares shares;
  shares.table = exponentials(0.04);
  const float scale = 1.0f / (150.0f * static_cast<float>(h.head)), end = 0.004f;
  const auto real = [&](float f) {
    const auto* const first = reinterpret_cast<const uint8_t*>(&f);
    return net.value(DType::kF32, {1}, Bytes(first, first + sizeof(f)));
  };
  const auto product = [&](int32_t a_zero, DType w, int32_t w_zero, int32_t y_zero, float m, int a, int b, int to) {
    const int multiplier = real(m), zero = net.value(w, {1}, {static_cast<uint8_t>(w_zero)});
    net.node(
        VIREO_OP_INT_GEMM,
        [&](auto& f) {
          attrs::IntGemmBuilder g(f);
          g.add_a_zero(a_zero);
          g.add_y_zero(y_zero);
          g.add_low(0);
          g.add_high(255);
          g.add_output_dtype(static_cast<uint8_t>(DType::kU8));
          return g.Finish();
        },
        {a, b, multiplier, -1, zero}, to);
  };
  product(h.q_zero, h.k, h.k_zero, 100, scale, q, k, scores);
  Bytes flags;
  if (!h.kept.empty()) {
    flags = bytes_of(count_of(h.kept), 33);
    for (uint8_t& b : flags) b = b < 140 ? 1 : 0;
  }
  shares.node(&net, scores, net.value(DType::kI32, {256}, words(shares.table)),
              h.kept.empty() ? -1 : net.value(DType::kBool, h.kept, flags), -1, parts);
  product(0, h.v, h.v_zero, 5, end, parts, v, y);
  Target target = with_code_unit();
  bool by_unit = true;
  const Bytes got = run(net, target, &by_unit, {q, k, v});
  const Bytes qs = input_bytes(0, static_cast<uint64_t>(h.heads * h.queries * h.head)),
              ks = input_bytes(1, static_cast<uint64_t>(h.heads * h.head * h.keys)),
              vs = input_bytes(2, static_cast<uint64_t>(h.heads * h.keys * h.value));
  const auto at = [](const Bytes& from, DType t, int64_t i) { return value_of(t, from[static_cast<size_t>(i)]); };
  for (int64_t row = 0; row < h.heads * h.queries; ++row) {
    const int64_t head = row / h.queries, query = row % h.queries;
    Bytes line;
    std::vector<bool> keeps;
    for (int64_t key = 0; key < h.keys; ++key) {
      int32_t sum = 0;
      for (int64_t e = 0; e < h.head; ++e)
        sum +=
            (at(qs, h.q, row * h.head + e) - h.q_zero) * (at(ks, h.k, (head * h.head + e) * h.keys + key) - h.k_zero);
      line.push_back(code_of(static_cast<float>(sum) * scale, 100, 0, 255));
      if (!h.kept.empty())
        keeps.push_back(flags[static_cast<size_t>((h.kept[0] == 1 ? 0 : query * h.keys) + key)] != 0);
    }
    const Bytes part = shares.of(line, keeps);
    for (int64_t c = 0; c < h.value; ++c) {
      int32_t sum = 0;
      for (int64_t key = 0; key < h.keys; ++key)
        sum += part[static_cast<size_t>(key)] * (at(vs, h.v, (head * h.keys + key) * h.value + c) - h.v_zero);
      ASSERT_EQ(got[static_cast<size_t>(row * h.value + c)], code_of(static_cast<float>(sum) * end, 5, 0, 255))
          << "row " << row << ", column " << c;
    }
  }
}

TEST(LowerCodes, Attention) {
  std::mt19937 g(8);
  const auto upto = [&](int64_t n) { return static_cast<int64_t>(g() % static_cast<uint32_t>(n)) + 1; };
  for (int i = 0; i < 8; ++i) {
    Heads h;
    h.heads = upto(4);
    h.queries = upto(i % 3 == 0 ? 90 : 20);
    h.keys = upto(i % 4 == 0 ? 140 : 30);
    h.head = upto(i % 5 == 0 ? 80 : 20);
    h.value = upto(40);
    if (i % 2 == 1) std::swap(h.q, h.k), h.q_zero = -3, h.k_zero = 131;
    if (i % 3 == 2) h.v = DType::kI8, h.v_zero = -128;
    if (i % 4 == 3) h.kept = {i % 8 == 3 ? h.queries : 1, h.keys};
    expect_attention(h);
  }
}

}  // namespace
}  // namespace vireo::gpu::lower_codes_test
