// Why codes are left to cpu: for each operator that XNNPACK has and the delegate does not take, the first case found in
// which XNNPACK's own operator, told the same scales, gives other codes than the reference. Each test prints its case
// and fails if there is none any more: then the rule is to be looked at again.
#include <xnnpack.h>

#include <cstdio>

#include "delegates/xnnpack/testing.h"
#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_resize/int_resize_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/view.h"

namespace vireo::xnnpack {
namespace {

using testing::tensor;

constexpr uint32_t kNone = XNN_INVALID_VALUE_ID;

// A subgraph whose first values are given at the run.
class Direct {
 public:
  Direct() { EXPECT_EQ(xnn_create_subgraph(4, 0, &graph_), xnn_status_success); }
  ~Direct() { (void)xnn_delete_subgraph(graph_); }
  Direct(const Direct&) = delete;
  Direct& operator=(const Direct&) = delete;

  xnn_subgraph_t graph() const { return graph_; }
  uint32_t codes(const std::vector<size_t>& dims, int32_t zero, float scale, bool output = false) {
    uint32_t id = kNone;
    EXPECT_EQ(xnn_define_quantized_tensor_value(graph_, xnn_datatype_qint8, zero, scale, dims.size(), dims.data(),
                                                nullptr, next_++, flags(output), &id),
              xnn_status_success);
    return id;
  }
  uint32_t reals(const std::vector<size_t>& dims, bool output = false) {
    uint32_t id = kNone;
    EXPECT_EQ(xnn_define_tensor_value(graph_, xnn_datatype_fp32, dims.size(), dims.data(), nullptr, next_++,
                                      flags(output), &id),
              xnn_status_success);
    return id;
  }
  void run(const std::vector<void*>& data) {
    xnn_runtime_t runtime = nullptr;
    ASSERT_EQ(xnn_create_runtime_v3(graph_, nullptr, nullptr, 0, &runtime), xnn_status_success);
    std::vector<xnn_external_value> values;
    for (uint32_t i = 0; i < data.size(); ++i) values.push_back({i, data[i]});
    ASSERT_EQ(xnn_reshape_runtime(runtime), xnn_status_success);
    ASSERT_EQ(xnn_setup_runtime_v2(runtime, values.size(), values.data()), xnn_status_success);
    ASSERT_EQ(xnn_invoke_runtime(runtime), xnn_status_success);
    (void)xnn_delete_runtime(runtime);
  }

 private:
  static uint32_t flags(bool output) { return output ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : XNN_VALUE_FLAG_EXTERNAL_INPUT; }
  xnn_subgraph_t graph_ = nullptr;
  uint32_t next_ = 0;
};

template <class T>
struct Padded : std::vector<T> {  // XNNPACK reads behind its operands
  explicit Padded(size_t n) : std::vector<T>(n + XNN_EXTRA_BYTES) {}
};

using Differences = testing::DelegateTest;

TestTensor codes_of(const Padded<int8_t>& v, const std::vector<int64_t>& dims) {
  const auto count = static_cast<size_t>(element_count(make_shape(dims)));
  return tensor<int8_t>(DType::kI8, dims, std::vector<int8_t>(v.begin(), v.begin() + static_cast<ptrdiff_t>(count)));
}

// All pairs of codes under `op`; how many give other codes than the reference, and the first of them printed.
int different_pairs(xnn_binary_operator op, float a_scale, float b_scale, Op reference_op,
                    const std::vector<uint8_t>& attrs, const char* name) {
  constexpr size_t kPairs = 65536;
  Padded<int8_t> a(kPairs), b(kPairs), y(kPairs);
  for (size_t i = 0; i < kPairs; ++i) {
    a[i] = static_cast<int8_t>(i & 255);
    b[i] = static_cast<int8_t>(i >> 8);
  }
  Direct d;
  const uint32_t ia = d.codes({kPairs}, 0, a_scale), ib = d.codes({kPairs}, 0, b_scale);
  const uint32_t iy = d.codes({kPairs}, 0, 1, true);
  EXPECT_EQ(xnn_define_binary(d.graph(), op, nullptr, ia, ib, iy, 0), xnn_status_success);
  d.run({a.data(), b.data(), y.data()});
  OpTest reference(reference_op, attrs);
  reference.input(codes_of(a, {kPairs})).input(codes_of(b, {kPairs}));
  EXPECT_EQ(reference.run(), Status::kOk) << reference.message();
  const std::vector<int8_t> want = reference.y().as<int8_t>();
  int different = 0;
  for (size_t i = 0; i < kPairs; ++i) {
    if (y[i] == want[i]) continue;
    if (different++ == 0)
      std::printf("%s of one element: a = %d, b = %d, multipliers %g, %g: %d, XNNPACK gives %d\n", name, a[i], b[i],
                  static_cast<double>(a_scale), static_cast<double>(b_scale), want[i], y[i]);
  }
  return different;
}

TEST_F(Differences, Sum) {
  attrs::IntAddT t;
  t.a_multiplier = t.b_multiplier = 0.5f;
  t.low = -128;
  EXPECT_GT(different_pairs(xnn_binary_add, 0.5f, 0.5f, Op::kIntAdd, pack<attrs::IntAdd>(t), "IntAdd"), 0);
}

// In fixed point on Arm alone; elsewhere the delegate takes it.
TEST_F(Differences, Product) {
  int different = 0;
  for (const float m : {0.5f, 0.125f, 0x1.8p-7f, 0.1f}) {
    attrs::IntMulT t;
    t.multiplier = m;
    t.low = -128;
    different += different_pairs(xnn_binary_multiply, m, 1, Op::kIntMul, pack<attrs::IntMul>(t), "IntMul");
  }
#if defined(__arm__) || defined(__aarch64__)
  EXPECT_GT(different, 0);
#else
  EXPECT_EQ(different, 0);
#endif
}

// A mean whose multiplier no scale of XNNPACK's meets: it rounds scale / n in two steps.
TEST_F(Differences, Mean) {
  constexpr int64_t n = 49;
  const float share = 1.0f / static_cast<float>(n);
  int missed = 0;
  float m = 0;
  for (float at = 0x1.8p-6f; missed == 0 && at < 0x1.801p-6f; at = std::nextafter(at, 1.0f)) {
    bool met = false;
    float s = at * static_cast<float>(n);
    for (int i = 0; i < 16; ++i) s = std::nextafter(s, 0.0f);
    for (int i = 0; i < 33; ++i, s = std::nextafter(s, 8.0f)) met = met || s * share == at;
    if (met) continue;
    ++missed;
    m = at;
  }
  ASSERT_EQ(missed, 1);
  std::printf("IntAveragePool over %d pixels: no scale s has s * (1 / %d) = %a in float32\n", static_cast<int>(n),
              static_cast<int>(n), static_cast<double>(m));
}

// 2 x 2 to 4 x 4. XNNPACK's weights are integers like IntResize's, but it rounds halves up.
TEST_F(Differences, Resize) {
  int different = 0;
  for (int top = -4; top < 4 && different == 0; ++top) {
    Padded<int8_t> x(4), y(16);
    x[0] = static_cast<int8_t>(top);
    Direct d;
    const uint32_t in = d.codes({1, 2, 2, 1}, 0, 1), out = d.codes({1, 4, 4, 1}, 0, 1, true);
    ASSERT_EQ(xnn_define_static_resize_bilinear_2d(d.graph(), 4, 4, in, out, 0), xnn_status_success);
    d.run({x.data(), y.data()});
    attrs::IntResizeT t;
    t.axes = {1, 2};
    t.low = -128;
    t.multiplier = 0x1p-4f;
    const TestTensor places = tensor<int32_t>(DType::kI32, {4, 2}, {0, 0, 0, 1, 0, 1, 1, 1});
    const TestTensor weights = tensor<int32_t>(DType::kI32, {4, 2}, {4, 0, 3, 1, 1, 3, 0, 4});
    OpTest reference(Op::kIntResize, pack<attrs::IntResize>(t));
    reference.input(codes_of(x, {1, 2, 2, 1})).input(places).input(weights).input(places).input(weights);
    ASSERT_EQ(reference.run(), Status::kOk) << reference.message();
    const std::vector<int8_t> want = reference.y().as<int8_t>();
    for (size_t i = 0; i < want.size() && different == 0; ++i) {
      if (y[i] == want[i]) continue;
      ++different;
      std::printf("IntResize of [%d, 0; 0, 0] to 4 x 4: element %d is %d, XNNPACK gives %d\n", top, static_cast<int>(i),
                  want[i], y[i]);
    }
  }
  EXPECT_EQ(different, 1);
}

// x / s against x * (1 / s).
TEST_F(Differences, Quantization) {
  int different = 0;
  for (int k = 3; k < 200 && different == 0; k += 2) {
    const float scale = static_cast<float>(k) * 0x1p-7f;
    constexpr int kCount = 200;
    Padded<float> x(kCount);
    Padded<int8_t> y(kCount);
    for (int i = 0; i < kCount; ++i) {
      x[static_cast<size_t>(i)] = (static_cast<float>(i - 100) + 0.5f) * scale;
    }
    Direct d;
    const uint32_t in = d.reals({kCount}), out = d.codes({kCount}, 0, scale, true);
    ASSERT_EQ(xnn_define_unary(d.graph(), xnn_unary_convert, nullptr, in, out, 0), xnn_status_success);
    d.run({x.data(), y.data()});
    OpTest reference(Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(attrs::QuantizeLinearT{}));
    reference.input<float>({kCount}, std::vector<float>(x.begin(), x.begin() + kCount)).input<float>({}, {scale});
    reference.input<int8_t>({}, {0});
    ASSERT_EQ(reference.run(), Status::kOk) << reference.message();
    const std::vector<int8_t> want = reference.y().as<int8_t>();
    for (size_t i = 0; i < want.size() && different == 0; ++i) {
      if (y[i] == want[i]) continue;
      ++different;
      std::printf("QuantizeLinear of one element: %a by %a is %d, XNNPACK gives %d\n", static_cast<double>(x[i]),
                  static_cast<double>(scale), want[i], y[i]);
    }
  }
  EXPECT_EQ(different, 1);
}

// Two rows of one element times 1. ONNX has one scale for the tensor, XNNPACK one a row.
TEST_F(Differences, DynamicQuantization) {
  Padded<float> x(2), y(2);
  x[0] = 1;
  x[1] = 0.3f;
  const int8_t w = 127;
  const float w_scale = 1.0f / 127;
  Direct d;
  const uint32_t in = d.reals({2, 1}), out = d.reals({2, 1}, true);
  const size_t dims[] = {2, 1}, filter_dims[] = {1, 1};
  uint32_t codes = kNone, filter = kNone;
  ASSERT_EQ(xnn_define_dynamically_quantized_tensor_value(d.graph(), xnn_datatype_qdint8, 2, 1, dims, kNone, 0, &codes),
            xnn_status_success);
  ASSERT_EQ(xnn_define_channelwise_quantized_tensor_value(d.graph(), xnn_datatype_qcint8, &w_scale, 2, 0, filter_dims,
                                                          &w, kNone, 0, &filter),
            xnn_status_success);
  ASSERT_EQ(xnn_define_unary(d.graph(), xnn_unary_convert, nullptr, in, codes, 0), xnn_status_success);
  ASSERT_EQ(xnn_define_fully_connected(d.graph(), -INFINITY, INFINITY, codes, filter, kNone, out, 0),
            xnn_status_success);
  d.run({x.data(), y.data()});
  OpTest quantize(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}));
  quantize.input<float>({2, 1}, {x[0], x[1]}).outputs(3);
  ASSERT_EQ(quantize.run(), Status::kOk) << quantize.message();
  const float scale = quantize.y(1).as<float>()[0];
  const int code = quantize.y(0).as<uint8_t>()[1] - quantize.y(2).as<uint8_t>()[0];
  const float want = static_cast<float>(code) * scale * (127 * w_scale);
  std::printf("DynamicQuantizeLinear and MatMulInteger of [1; 0.3]: %g in the second row, XNNPACK gives %g\n",
              static_cast<double>(want), static_cast<double>(y[1]));
  EXPECT_GT(std::abs(want - y[1]), 1e-4f);
}

// Weights in blocks of 32 with a scale each. XNNPACK's one kernel for them quantizes each row of x, and holds scales in
// bfloat16: either changes the result.
float blocked_product(const Padded<float>& x, float scale) {
  constexpr size_t kBlock = 32;
  Padded<float> y(1);
  Padded<uint8_t> codes(kBlock / 2);
  for (size_t i = 0; i < kBlock / 2; ++i) codes[i] = 0x99;  // 1 above 8
  Padded<uint16_t> scales(1);
  scales[0] = f32_to_bf16(scale);
  Direct d;
  const uint32_t in = d.reals({1, kBlock}), out = d.reals({1, 1}, true);
  const size_t dims[] = {1, kBlock};
  uint32_t rounded = kNone, filter = kNone;
  EXPECT_EQ(
      xnn_define_dynamically_quantized_tensor_value(d.graph(), xnn_datatype_qdint8, 2, 1, dims, kNone, 0, &rounded),
      xnn_status_success);
  EXPECT_EQ(xnn_define_blockwise_quantized_tensor_value(d.graph(), xnn_datatype_qbint4, 8, scales.data(), 2, 0, kBlock,
                                                        dims, codes.data(), kNone, 0, &filter),
            xnn_status_success);
  EXPECT_EQ(xnn_define_unary(d.graph(), xnn_unary_convert, nullptr, in, rounded, 0), xnn_status_success);
  EXPECT_EQ(xnn_define_fully_connected(d.graph(), -INFINITY, INFINITY, rounded, filter, kNone, out, 0),
            xnn_status_success);
  d.run({const_cast<float*>(x.data()), y.data()});
  return y[0];
}

TEST_F(Differences, BlocksOfWeights) {
  Padded<float> x(32);
  x[0] = 1;
  const float scale = 1 + 0x1p-8f;  // between two of bfloat16
  const float by_scale = blocked_product(x, scale);
  x[1] = 0.001f;
  const float by_x = blocked_product(x, 1);
  std::printf("Weights of 1 in a block, scale 1 + 2^-8, x = 1: %a, XNNPACK gives %a\n", static_cast<double>(scale),
              static_cast<double>(by_scale));
  std::printf("Weights of 1 in a block, scale 1, x = [1, 0.001]: 1.001, XNNPACK gives %g\n", static_cast<double>(by_x));
  EXPECT_GT(std::abs(by_scale - scale), 0x1p-10f);
  EXPECT_GT(std::abs(by_x - 1.001f), 0x1p-11f);
}

}  // namespace
}  // namespace vireo::xnnpack
