// The kernels for microcontrollers beside the reference kernels, and their last step beside the float32 formula.
#define VIREO_TESTED_DELEGATE vireo_mcu_delegate
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "delegates/cpu/ops_testing.h"
#include "delegates/mcu/kernels/requantize.h"
#include "sdk/base/fnv.h"
#include "sdk/base/requantize.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/integer_golden_testing.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/window.h"

namespace vireo {
namespace {

// xorshift64*, Vigna 2016: faster than the kernels that it feeds.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u | 1) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Du;
  }
  int64_t upto(int64_t most) { return static_cast<int64_t>(next() >> 33) % most + 1; }
  bool coin() { return next() >> 63 != 0; }
  DType type() { return coin() ? DType::kI8 : DType::kU8; }
  int32_t code(DType t) {
    const int32_t least = t == DType::kI8 ? -128 : 0;
    const int64_t pick = upto(6);
    return pick == 1 ? least : pick == 2 ? least + 255 : least + static_cast<int32_t>(upto(256) - 1);
  }
  float real(float low, float high) { return low + (high - low) * static_cast<float>(next() >> 40) / 16777216.0f; }
  // The codes of y; every other time narrowed as by an activation.
  template <class T>
  void codes(T* a) {
    const DType t = type();
    a->output_dtype = static_cast<uint8_t>(t);
    a->y_zero = code(t);
    a->low = t == DType::kI8 ? -128 : 0;
    a->high = a->low + 255;
    if (coin()) {
      a->low += static_cast<int32_t>(upto(120));
      a->high -= static_cast<int32_t>(upto(120));
    }
  }

 private:
  uint64_t state_;
};

// ---- The last step

// VIREO_CASES in the environment: for a proof that takes longer.
int64_t cases() {
  const char* const text = std::getenv("VIREO_CASES");
  return text != nullptr ? std::atoll(text) : 2000000;
}

float real_of(uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

// Any positive normal number; mostly one that leaves the sums of a network within the codes.
uint32_t multiplier(Numbers* n) {
  const uint64_t r = n->next();
  uint32_t mantissa = static_cast<uint32_t>(r) & 0x7FFFFF;
  if (r >> 60 == 0) mantissa &= 0x700000;  // few digits: ties
  if (r >> 60 == 1) mantissa |= 0x7FFFFC;
  const uint32_t exponent =
      r >> 61 == 7 ? 1 + static_cast<uint32_t>(n->next() % 254) : 90 + static_cast<uint32_t>(r >> 32) % 45;
  return exponent << 23 | mantissa;
}

// Half of the sums are those whose results are nearest to a half; `span`: of results.
int64_t sum_near(Numbers* n, float m, int64_t most, int64_t span) {
  const uint64_t r = n->next();
  if ((r & 3) == 0) return static_cast<int64_t>(r) >> 32;
  if ((r & 3) == 1) return (static_cast<int64_t>(r) >> 32) >> (r >> 8 & 31);
  const double tie = static_cast<double>(n->upto(2 * span) - span) + 0.5, at = tie / static_cast<double>(m);
  if (!(std::abs(at) < static_cast<double>(most))) return static_cast<int64_t>(r) >> 40;
  return std::llround(at) + static_cast<int64_t>(r >> 40 & 3) - 2;
}

TEST(McuRequantize, SameAsTheFormulaOf8Bits) {
  Numbers n(1);
  int64_t differ = 0;
  const int64_t count = cases();
  for (int64_t i = 0; i < count; ++i) {
    const float m = real_of(multiplier(&n));
    const auto sum = static_cast<int32_t>(sum_near(&n, m, 2147483640, 512));
    const uint64_t r = n.next();
    const bool is_signed = (r & 1) != 0;
    vireo_mcu_codes c = {static_cast<int32_t>(r >> 8 & 255) - (is_signed ? 128 : 0), is_signed ? -128 : 0,
                         is_signed ? 127 : 255};
    if ((r & 6) == 0) c.low += static_cast<int32_t>(r >> 16 & 127), c.high -= static_cast<int32_t>(r >> 24 & 127);
    // The bound of sums of this size, or of larger ones.
    const uint32_t size = static_cast<uint32_t>(sum < 0 ? -int64_t{sum} : sum);
    const auto most = static_cast<uint32_t>(std::min<uint64_t>(size + ((r >> 32) >> (r >> 3 & 31)), 0xFFFFFFFFu));
    mcu_multiplier apart;
    mcu_make_ready(&apart, m, most, &c);
    const int32_t wanted = requantize(sum, m, c.zero, c.low, c.high);
    if (mcu_requantize(sum, m, &c) == wanted && mcu_requantize_by(sum, &apart, &c) == wanted) continue;
    if (++differ < 5)
      ADD_FAILURE() << sum << " * " << m << ": " << mcu_requantize(sum, m, &c) << ", zero point " << c.zero;
  }
  EXPECT_EQ(differ, 0);
  std::printf("%" PRId64 " sums to codes of 8 bits\n", count);
}

// Whatever the core: it has no other way.
TEST(McuRequantize, SameAsTheFormulaOf16Bits) {
  Numbers n(2);
  int64_t differ = 0;
  const int64_t count = cases();
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = multiplier(&n);
    const float m = real_of(bits);
    int64_t sum = sum_near(&n, m, int64_t{1} << 46, 131072);
    if (i % 8 == 0) sum = static_cast<int64_t>(n.next()) >> (1 + n.next() % 48);
    const bool is_signed = n.coin();
    const int32_t low = is_signed ? -32768 : 0, zero = low + static_cast<int32_t>(n.next() & 65535);
    const int32_t want = round_and_clamp(static_cast<float>(sum) * m, zero, low, low + 65535);
    const int64_t got = std::clamp<int64_t>(int64_t{vireo_mcu_scale(sum, bits)} + zero, low, low + 65535);
    if (got == want) continue;
    if (++differ < 5) ADD_FAILURE() << sum << " * " << m << ": " << got << ", wanted " << want;
  }
  EXPECT_EQ(differ, 0);
  std::printf("%" PRId64 " sums to codes of 16 bits\n", count);
}

#if !VIREO_MCU_FPU
uint32_t bits_of(float v) {
  uint32_t bits = 0;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}

// Every other quotient is next to a half; x also is infinite, subnormal, or 0.
TEST(McuRequantize, RealNumbersByIntegers) {
  Numbers n(3);
  const int64_t count = cases() / 4;
  int64_t differ = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t scale_bits = multiplier(&n);
    const float scale = real_of(scale_bits);
    const uint64_t r = n.next();
    float x = real_of(static_cast<uint32_t>(r));
    if ((r >> 32 & 1) != 0) x = (static_cast<float>(n.upto(1024) - 512) + 0.5f) * scale;
    if ((r >> 33 & 1) != 0) x = real_of(bits_of(x) + static_cast<uint32_t>(r >> 40 & 3) - 1);
    if ((r >> 48) == 0) x = real_of(static_cast<uint32_t>(r) & 0x807FFFFFu);
    if ((r >> 48) == 1) x = real_of(0x7F800000u | (static_cast<uint32_t>(r) & 0x80000000u));
    if (x == x) {
      const float q = x / scale;
      const int32_t got = vireo_mcu_divide_reals(bits_of(x), scale_bits);
      const bool same = std::abs(q) < 1048576.0f ? got == static_cast<int32_t>(std::nearbyint(q))
                                                 : std::abs(got) >= 1048576 && (got > 0) == (q > 0);
      if (!same && ++differ < 5) ADD_FAILURE() << x << " / " << scale << ": " << got << ", not " << q;
    }
    const auto v = static_cast<int32_t>(r >> 20 & 1023) - 512;
    const uint32_t product = vireo_mcu_times_real(v, scale_bits);
    if (product != bits_of(static_cast<float>(v) * scale) && ++differ < 5)
      ADD_FAILURE() << v << " * " << scale << ": " << real_of(product);
  }
  EXPECT_EQ(differ, 0);
}
#endif

TEST(McuRequantize, MultipliersThatServe) {
  const float good[] = {real_of(0x00800000), 1.0f, real_of(0x7F7FFFFF)};
  EXPECT_EQ(vireo_mcu_multipliers_serve(good, 3), 1);
  for (const uint32_t bad : {0x007FFFFFu, 0u, 0x80000000u, 0xBF800000u, 0x7F800000u, 0x7FC00000u}) {
    const float one = real_of(bad);
    EXPECT_EQ(vireo_mcu_multipliers_serve(&one, 1), 0) << bad;
  }
}

// ---- Kernels

std::string kernel_of(const GoldenCase& c) {
  const OpTest& t = c.test;
  const std::vector<TestTensor>& in = t.inputs();
  const auto wide = [](DType d) { return dtype_bits(d) == 16; };
  const bool two = t.op() == Op::kIntAdd || t.op() == Op::kIntMul;
  if (wide(c.dtype) || wide(in[0].type.dtype) || (two && wide(in[1].type.dtype))) return "reference";
  switch (t.op()) {
    case Op::kIntConv:
      return in[0].type.shape.rank > 4 ? "reference" : "mcu_conv";
    case Op::kIntGemm:
      return in[1].type.shape.rank > 2 ? "reference" : "mcu_gemm";
    case Op::kIntAdd:
      return "mcu_add";
    case Op::kIntMul:
      return "mcu_mul";
    case Op::kIntTable:
      return "mcu_table";
    case Op::kIntSoftmax:
      return in.size() > 2 || in[0].type.shape[in[0].type.shape.rank - 1] > 255 ? "reference" : "mcu_softmax";
    case Op::kIntAveragePool:
      return in[0].type.shape.rank > 4 ? "reference" : "mcu_average_pool";
    default:
      return "reference";
  }
}

TEST(McuGolden, OneHash) {
  uint64_t hash = kEmptyHash;
  for (const GoldenCase& c : golden_cases()) {
    SCOPED_TRACE(c.name);
    const auto got = Case(c.test.op(), c.test.attrs(), c.test.inputs()).run(kernel_of(c), 1);
    ASSERT_EQ(got.size(), 1u);
    hash = hash_bytes(hash, got[0].data(), got[0].size());
  }
  EXPECT_EQ(hash, kGoldenHash);
}

// Windows, strides, paddings, groups, layouts and types around the sizes of tiles, blocks and strips.
TEST(McuConv, SameBits) {
  Numbers r(1);
  for (int i = 0; i < 600; ++i) {
    Values v(static_cast<uint32_t>(i));
    attrs::IntConvT a;
    const int spatial = i % 10 == 9 ? 1 : 2;
    const bool depthwise = i % 3 == 0, nibbles = i % 7 == 3, last = r.coin();
    a.group = static_cast<int32_t>(depthwise ? r.upto(5) + 1 : i % 8 == 1 ? r.upto(3) : 1);
    const int64_t in = depthwise ? 1 : r.upto(i % 4 == 0 ? 70 : 9), out = r.upto(depthwise ? 2 : 9);
    std::vector<int64_t> x = {r.upto(2), in * a.group}, w = {out * a.group, in};
    for (int d = 0; d < spatial; ++d) {
      const bool point = i % 5 == 1, three = i % 5 == 0;
      const int64_t kernel = point ? 1 : three ? 3 : r.upto(5), dilation = point || three ? 1 : r.upto(2);
      const int64_t begin = point ? 0 : r.upto(kernel + 1) - 1, end = point ? 0 : r.upto(kernel + 1) - 1;
      x.push_back((kernel - 1) * dilation + r.upto(i % 50 == 45 ? 90 : 19));
      w.push_back(kernel);
      a.strides.push_back(static_cast<int32_t>(i % 10 == 1 ? 1 : r.upto(three ? 2 : 3)));
      a.dilations.push_back(static_cast<int32_t>(dilation));
      a.pads.insert(a.pads.begin() + d, static_cast<int32_t>(begin));
      a.pads.push_back(static_cast<int32_t>(end));
    }
    const DType xt = r.type();
    a.x_zero = r.code(xt);
    r.codes(&a);
    if (last) {
      a.layout = static_cast<uint8_t>(Layout::kNhwc);
      std::rotate(x.begin() + 1, x.begin() + 2, x.end());
    }
    const std::vector<int64_t> many = {w[0]}, one = {};
    int64_t taps = in;
    for (size_t d = 2; d < w.size(); ++d) taps *= w[d];
    const float m = 40.0f / (127 * 127 * std::sqrt(static_cast<float>(taps)));
    TestTensor filters = v.bytes(DType::kI8, w);
    if (nibbles) {
      filters.bytes.resize((filters.bytes.size() + 1) / 2);
      filters.type.dtype = DType::kI4;
    }
    const TestTensor zero = r.upto(3) == 1 ? v.bytes(DType::kI8, r.coin() ? many : one) : kAbsent;
    Case(Op::kIntConv, pack<attrs::IntConv>(a),
         {v.bytes(xt, x), filters, v.reals(r.coin() ? many : one, m / 4, i % 16 == 5 ? 3.0f : m * 2),
          r.coin() ? v.integers(many, 20000) : kAbsent, zero})
        .expect_same_bits("mcu_conv");
    if (::testing::Test::HasFailure()) FAIL() << "case " << i;
  }
}

// A strip of rows that lies in the padding as a whole, and outputs behind the plane of a window of one element.
TEST(McuConv, MuchPadding) {
  for (const bool depthwise : {true, false}) {
    Values v(depthwise ? 1 : 2);
    attrs::IntConvT a;
    a.group = depthwise ? 2 : 1;
    a.pads = depthwise ? std::vector<int32_t>{14, 1, 14, 1} : std::vector<int32_t>{0, 0, 1, 2};
    a.low = -128;
    const int64_t kernel = depthwise ? 3 : 1;
    const std::vector<int64_t> x = {1, 2, 20, depthwise ? 200 : 5}, w = {2, 2 / a.group, kernel, kernel}, one = {};
    Case(Op::kIntConv, pack<attrs::IntConv>(a),
         {v.bytes(DType::kI8, x), v.bytes(DType::kI8, w), v.reals(one, 0.01f, 0.01f), v.integers({2}, 2000), kAbsent})
        .expect_same_bits("mcu_conv");
  }
}

TEST(McuGemm, SameBits) {
  Numbers r(2);
  for (int i = 0; i < 200; ++i) {
    Values v(static_cast<uint32_t>(i));
    const int64_t k = i == 7 ? 4100 : r.upto(i % 3 == 0 ? 200 : 40), n = r.upto(i % 3 == 1 ? 60 : 9),
                  m = r.upto(i % 5 == 0 ? 60 : 9);
    std::vector<int64_t> a_dims = {m, k};
    if (i % 7 == 0) a_dims = {3, m, k};
    if (i % 11 == 0) a_dims = {k};
    attrs::IntGemmT a;
    const DType at = r.type();
    DType bt = r.type();
    a.a_zero = r.coin() ? r.code(at) : 0;
    r.codes(&a);
    const std::vector<int64_t> many = {n}, one = {};
    TestTensor b = v.bytes(bt, {k, n});
    if (i % 6 == 2) {
      b.bytes.resize((b.bytes.size() + 1) / 2);
      b.type.dtype = DType::kI4;
      bt = DType::kI8;
    }
    const float scale = 40.0f / (127 * 127 * std::sqrt(static_cast<float>(k)));
    Case(Op::kIntGemm, pack<attrs::IntGemm>(a),
         {v.bytes(at, a_dims), b, v.reals(r.coin() ? many : one, scale / 4, scale * 2),
          r.coin() ? v.integers(many, 20000) : kAbsent, i % 3 == 0 ? v.bytes(bt, r.coin() ? many : one) : kAbsent})
        .expect_same_bits("mcu_gemm");
    if (::testing::Test::HasFailure()) FAIL() << "case " << i;
  }
}

TEST(McuCodes, BinarySameBits) {
  struct Shapes {
    std::vector<int64_t> a, b;
  };
  const Shapes shapes[] = {
      {{2, 3, 40}, {2, 3, 40}}, {{2, 5, 7, 9}, {5, 1, 1}}, {{70}, {1}}, {{4, 1, 130}, {3, 1}}, {{}, {}}};
  Numbers r(3);
  for (int i = 0; i < 100; ++i) {
    const Shapes& s = shapes[i % 5];
    Values v(static_cast<uint32_t>(i));
    const DType at = r.type(), bt = r.type();
    attrs::IntAddT add;
    add.a_zero = r.code(at);
    add.b_zero = r.code(bt);
    add.a_multiplier = r.real(0.01f, i % 10 == 3 ? 1e29f : 1.5f);
    add.b_multiplier = r.real(-1.5f, 1.5f);
    r.codes(&add);
    attrs::IntMulT mul;
    mul.a_zero = r.code(at);
    mul.b_zero = r.code(bt);
    mul.multiplier = i % 5 == 0 ? 0.5f : r.real(0.001f, 0.02f);
    r.codes(&mul);
    const TestTensor a = v.bytes(at, s.a), b = v.bytes(bt, s.b);
    Case(Op::kIntAdd, pack<attrs::IntAdd>(add), {a, b}).expect_same_bits("mcu_add");
    Case(Op::kIntMul, pack<attrs::IntMul>(mul), {a, b}).expect_same_bits("mcu_mul");
    if (::testing::Test::HasFailure()) FAIL() << "case " << i;
  }
}

TEST(McuCodes, TableAndSoftmaxSameBits) {
  Numbers r(4);
  for (int i = 0; i < 60; ++i) {
    Values v(static_cast<uint32_t>(i));
    const std::vector<int64_t> dims = {r.upto(3), r.upto(255), r.upto(3)};
    const DType t = r.type();
    Case(Op::kIntTable, pack<attrs::IntTable>(attrs::IntTableT{}), {v.bytes(t, dims), v.bytes(r.type(), {256})})
        .expect_same_bits("mcu_table");
    attrs::IntSoftmaxT a;
    a.axis = i % 2 == 0 ? 1 : -1;
    a.multiplier = 256;
    r.codes(&a);
    TestTensor table = v.integers({256}, 0);
    auto* const e = reinterpret_cast<int32_t*>(table.bytes.data());
    for (int k = 0; k < 256; ++k) e[k] = static_cast<int32_t>(std::lround(8388608.0 * std::exp(-0.07 * k)));
    Case(Op::kIntSoftmax, pack<attrs::IntSoftmax>(a), {v.bytes(t, dims), table}).expect_same_bits("mcu_softmax");
    if (::testing::Test::HasFailure()) FAIL() << "case " << i;
  }
}

TEST(McuPool, SameBits) {
  Numbers r(5);
  for (int i = 0; i < 200; ++i) {
    Values v(static_cast<uint32_t>(i));
    attrs::IntAveragePoolT a;
    attrs::PoolT p;
    std::vector<int64_t> x = {r.upto(2), r.upto(6)};
    int64_t taps = 1;
    const int spatial = i % 9 == 8 ? 1 : 2;
    for (int d = 0; d < spatial; ++d) {
      const int64_t kernel = r.upto(i % 4 == 0 ? 7 : 3), dilation = r.upto(2), begin = r.upto(kernel) - 1,
                    end = r.upto(kernel) - 1;
      x.push_back((kernel - 1) * dilation + r.upto(i % 5 == 0 ? 1 : 9));
      a.kernel_shape.push_back(static_cast<int32_t>(kernel));
      a.strides.push_back(static_cast<int32_t>(r.upto(3)));
      a.dilations.push_back(static_cast<int32_t>(dilation));
      a.pads.insert(a.pads.begin() + d, static_cast<int32_t>(begin));
      a.pads.push_back(static_cast<int32_t>(end));
      taps *= kernel;
    }
    p.kernel_shape = a.kernel_shape, p.strides = a.strides, p.dilations = a.dilations, p.pads = a.pads;
    if (r.coin()) {
      a.layout = p.layout = static_cast<uint8_t>(Layout::kNhwc);
      std::rotate(x.begin() + 1, x.begin() + 2, x.end());
    }
    const DType t = r.type();
    a.x_zero = r.code(t);
    a.count_include_pad = r.coin();
    r.codes(&a);
    const bool many = r.coin();
    const TestTensor codes = v.bytes(t, x);
    Case(Op::kIntAveragePool, pack<attrs::IntAveragePool>(a),
         {codes, v.reals({many ? taps + 1 : 1}, 0.1f / static_cast<float>(taps), 1.0f)})
        .expect_same_bits("mcu_average_pool");
    Case(Op::kMaxPool, pack<attrs::Pool>(p), {codes}).expect_same_bits("mcu_max_pool");
    if (::testing::Test::HasFailure()) FAIL() << "case " << i;
  }
}

TEST(McuQuantize, SameBits) {
  for (const DType t : {DType::kI8, DType::kU8}) {
    Values v(7);
    attrs::QuantizeLinearT q;
    q.output_dtype = static_cast<uint8_t>(t);
    TestTensor x = v.reals({3, 211}, -3, 3);
    auto* const reals = reinterpret_cast<float*>(x.bytes.data());
    const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 0.125f, 0.375f};
    std::copy(std::begin(special), std::end(special), reals);
    const TestTensor scale = v.reals({}, 0.25f, 0.25f), zero = v.bytes(t, {});
    Case(Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(q), {x, scale, zero}).expect_same_bits("mcu_quantize");
    Case(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(attrs::DequantizeLinearT{}),
         {v.bytes(t, {3, 211}), scale, zero})
        .expect_same_bits("mcu_dequantize");
  }
}

// Nodes that the kernels would compute otherwise go to the reference.
TEST(McuChoice, LeavesWhatItCannotServe) {
  Values v(8);
  attrs::IntConvT a;
  const TestTensor x = v.bytes(DType::kU8, {1, 4, 5, 5}), w = v.bytes(DType::kI8, {4, 4, 1, 1});
  Case(Op::kIntConv, pack<attrs::IntConv>(a), {x, w, v.reals({}, -0.01f, -0.005f)}).run("reference", 1);
  Case(Op::kIntConv, pack<attrs::IntConv>(a), {x, w, v.reals({}, 0.0f, 0.0f)}).run("reference", 1);
  Case varies(Op::kIntConv, pack<attrs::IntConv>(a), {x, w, v.reals({}, 0.005f, 0.01f)});
  varies.varies(2).run("reference", 1);
}

}  // namespace
}  // namespace vireo
