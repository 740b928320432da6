// The tuned kernels of the integer operators: the reference kernels' bits and the golden vectors, on every instruction
// set of this machine.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "delegates/cpu/ops_testing.h"
#include "sdk/base/fnv.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/integer_golden_testing.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/window.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

// The kernel that has to run a case; three spatial dimensions of pooling, and groups channels last that are not
// depthwise over two axes with one output a channel, have none.
bool is_wide(DType t) { return dtype_bits(t) == 16; }

// Codes of 16 bits on one side.
std::string wide_kernel_of(const OpTest& t) {
  const bool matrix = t.inputs().size() > 1 && t.inputs()[1].type.dtype == DType::kI8 && t.inputs().size() <= 4;
  switch (t.op()) {
    case Op::kIntConv:
      return matrix ? "conv_i16" : "reference";
    case Op::kIntGemm:
      return matrix && t.inputs()[1].type.shape.rank == 2 ? "gemm_i16" : "reference";
    case Op::kIntAdd:
      return "add_i16";
    case Op::kIntMul:
      return "mul_i16";
    case Op::kIntAffine:
      return "affine_i16";
    default:
      return "reference";
  }
}

std::string kernel_of(const GoldenCase& c) {
  const OpTest& t = c.test;
  const bool two = t.op() == Op::kIntAdd || t.op() == Op::kIntMul;
  if (is_wide(c.dtype) || is_wide(t.inputs()[0].type.dtype) || (two && is_wide(t.inputs()[1].type.dtype)))
    return wide_kernel_of(t);
  const size_t rank = static_cast<size_t>(t.inputs()[0].type.shape.rank);
  switch (t.op()) {
    case Op::kIntConv: {
      const auto& a = *::flatbuffers::GetRoot<attrs::IntConv>(t.attrs().data());
      if (a.layout() == 0) return "int_conv_nchw";
      const Shape &x = t.inputs()[0].type.shape, &w = t.inputs()[1].type.shape;
      const bool depthwise = rank == 4 && a.group() == x[3] && w[0] == x[3];
      return a.group() == 1 || depthwise ? "int_conv_nhwc" : "reference";
    }
    case Op::kIntAveragePool: {
      const bool last = ::flatbuffers::GetRoot<attrs::IntAveragePool>(t.attrs().data())->layout() != 0;
      return rank > 4 ? "reference" : last ? "average_pool_i8_nhwc" : "average_pool_i8_nchw";
    }
    case Op::kIntGemm:
      return "int_gemm";
    case Op::kIntAdd:
      return "add_codes";
    case Op::kIntMul:
      return "mul_codes";
    case Op::kIntAffine:
      return "affine_codes";
    case Op::kIntTable:
      return "table_codes";
    case Op::kIntSoftmax:
      return "softmax_codes";
    case Op::kIntResize:
      return "resize_codes";
    default:
      return "reference";
  }
}

TEST(CpuIntegerGolden, OneHashOnEveryInstructionSet) {
  for_each_level([](const char* level) {
    for (const int32_t slots : {1, 3, -3}) {  // below 0: constants packed
      uint64_t hash = kEmptyHash;
      for (const GoldenCase& c : golden_cases()) {
        SCOPED_TRACE(c.name);
        const auto got = Case(c.test.op(), c.test.attrs(), c.test.inputs()).run(kernel_of(c), abs(slots), slots < 0);
        ASSERT_EQ(got.size(), 1u);
        std::vector<int> codes;
        hash = hash_bytes(hash, got[0].data(), got[0].size());
        const size_t size = is_wide(c.dtype) ? 2 : 1;
        for (size_t i = 0; i < got[0].size(); i += size) {
          const int code = got[0][i] + (size == 2 ? got[0][i + 1] * 256 : 0), most = size == 2 ? 65536 : 256;
          codes.push_back(dtype_is_signed(c.dtype) && code >= most / 2 ? code - most : code);
        }
        EXPECT_EQ(codes, c.codes);
      }
      std::printf("integer golden vectors, %s, %d threads%s: hash %016" PRIx64 "\n", level, abs(slots),
                  slots < 0 ? ", packed" : "", hash);
      EXPECT_EQ(hash, kGoldenHash);
    }
  });
}

class Random {
 public:
  explicit Random(uint32_t seed) : rng_(seed) {}
  int64_t upto(int64_t most) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(most)) + 1; }
  bool coin() { return rng_() % 2 == 0; }
  DType type() { return coin() ? DType::kI8 : DType::kU8; }
  int32_t code(DType t) {
    const int32_t least = t == DType::kI8 ? -128 : 0;
    const uint32_t pick = rng_() % 6;
    return pick == 0 ? least : pick == 1 ? least + 255 : least + static_cast<int32_t>(rng_() % 256);
  }
  float real(float low, float high) { return std::uniform_real_distribution<float>(low, high)(rng_); }
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
  std::mt19937 rng_;
};

TEST(CpuIntConv, SameBits) {
  for_each_level([](const char*) {
    Random r(1);
    for (int i = 0; i < 160; ++i) {
      Values v(static_cast<uint32_t>(i));
      attrs::IntConvT a;
      const int spatial = i % 10 == 9 ? 3 : i % 10 == 8 ? 1 : 2;
      const bool depthwise = i % 3 == 0;
      a.group = static_cast<int32_t>(depthwise ? r.upto(9) + 1 : r.upto(2));
      const int64_t in = depthwise ? 1 : r.upto(i % 4 == 0 ? 70 : 12);
      const int64_t out = r.upto(depthwise ? 2 : i % 4 == 1 ? 40 : 14);
      std::vector<int64_t> x = {r.upto(2), in * a.group}, w = {out * a.group, in};
      for (int d = 0; d < spatial; ++d) {
        const bool point = i % 5 == 1;
        const int64_t kernel = point ? 1 : r.upto(spatial == 2 ? 5 : 3), dilation = point ? 1 : r.upto(2);
        const int64_t begin = point ? 0 : r.upto(kernel) - 1, end = point ? 0 : r.upto(kernel) - 1;
        x.push_back((kernel - 1) * dilation + r.upto(spatial == 3 ? 5 : 19));
        w.push_back(kernel);
        a.strides.push_back(static_cast<int32_t>(i % 10 == 1 ? 1 : r.upto(3)));
        a.dilations.push_back(static_cast<int32_t>(dilation));
        a.pads.insert(a.pads.begin() + d, static_cast<int32_t>(begin));
        a.pads.push_back(static_cast<int32_t>(end));
      }
      const DType xt = r.type();
      a.x_zero = r.code(xt);
      r.codes(&a);
      const bool last = i % 2 == 1 && (a.group == 1 || (depthwise && out == 1 && spatial == 2));
      if (last) {
        a.layout = static_cast<uint8_t>(Layout::kNhwc);
        std::rotate(x.begin() + 1, x.begin() + 2, x.end());
      }
      const int64_t channels = w[0];
      const std::vector<int64_t> many = {channels}, one = {};
      int64_t taps = in;
      for (size_t d = 2; d < w.size(); ++d) taps *= w[d];
      const float m = 40.0f / (127 * 127 * std::sqrt(static_cast<float>(taps)));
      const TestTensor zero = i % 4 == 0 ? v.bytes(DType::kI8, r.coin() ? many : one) : kAbsent;
      Case(Op::kIntConv, pack<attrs::IntConv>(a),
           {v.bytes(xt, x), v.bytes(DType::kI8, w), v.reals(r.coin() ? many : one, m / 4, m * 2),
            r.coin() ? v.integers(many, 20000) : kAbsent, zero})
          .expect_same_bits(last ? "int_conv_nhwc" : "int_conv_nchw", i % 4 == 3 ? 3 : 1);
      if (::testing::Test::HasFatalFailure()) FAIL() << "case " << i;
    }
  });
}

TEST(CpuIntGemm, SameBits) {
  for_each_level([](const char*) {
    Random r(2);
    for (int i = 0; i < 120; ++i) {
      Values v(static_cast<uint32_t>(i));
      const int64_t k = i == 7   ? 4100
                        : i == 8 ? 9001
                                 : r.upto(i % 3 == 0 ? 200 : 40),
                    n = r.upto(i % 3 == 1 ? 200 : 70), m = r.upto(i % 5 == 0 ? 60 : 9);
      std::vector<int64_t> a_dims = {m, k}, b_dims = {k, n};
      if (i % 7 == 0) a_dims = {3, m, k};
      if (i % 14 == 0) b_dims = {3, k, n};
      if (i % 11 == 0) a_dims = {k};
      attrs::IntGemmT a;
      const DType at = r.type(), bt = r.type();
      a.a_zero = r.coin() ? r.code(at) : 0;
      r.codes(&a);
      const std::vector<int64_t> many = {n}, one = {};
      const float scale = 40.0f / (127 * 127 * std::sqrt(static_cast<float>(k)));
      Case(Op::kIntGemm, pack<attrs::IntGemm>(a),
           {v.bytes(at, a_dims), v.bytes(bt, b_dims), v.reals(r.coin() ? many : one, scale / 4, scale * 2),
            r.coin() ? v.integers(many, 20000) : kAbsent, i % 3 == 0 ? v.bytes(bt, r.coin() ? many : one) : kAbsent})
          .expect_same_bits("int_gemm", i % 4 == 3 ? 3 : 1);
      if (::testing::Test::HasFatalFailure()) FAIL() << "case " << i;
    }
  });
}

TEST(CpuIntCodes, BinarySameBits) {
  struct Shapes {
    std::vector<int64_t> a, b;
  };
  const Shapes shapes[] = {{{2, 3, 40}, {2, 3, 40}}, {{2, 5, 7, 9}, {5, 1, 1}}, {{70}, {1}},
                           {{4, 1, 130}, {3, 1}},    {{1, 200}, {6, 1}},        {{}, {}},
                           {{2, 3, 1}, {70}},        {{100000}, {100000}}};
  for_each_level([&](const char*) {
    Random r(3);
    for (int i = 0; i < 80; ++i) {
      const Shapes& s = shapes[i % 8];
      Values v(static_cast<uint32_t>(i));
      const DType at = r.type(), bt = r.type();
      attrs::IntAddT add;
      add.a_zero = r.code(at);
      add.b_zero = r.code(bt);
      add.a_multiplier = r.real(0.01f, 1.5f);
      add.b_multiplier = r.real(-1.5f, 1.5f);
      r.codes(&add);
      attrs::IntMulT mul;
      mul.a_zero = r.code(at);
      mul.b_zero = r.code(bt);
      mul.multiplier = i % 5 == 0 ? 0.5f : r.real(0.001f, 0.02f);
      r.codes(&mul);
      const TestTensor a = v.bytes(at, s.a), b = v.bytes(bt, s.b);
      const int32_t slots = i % 3 == 0 ? 3 : 1;
      Case(Op::kIntAdd, pack<attrs::IntAdd>(add), {a, b}).expect_same_bits("add_codes", slots);
      Case(Op::kIntMul, pack<attrs::IntMul>(mul), {a, b}).expect_same_bits("mul_codes", slots);
    }
  });
}

TEST(CpuIntCodes, AffineSameBits) {
  struct Shapes {
    std::vector<int64_t> x, factor;
  };
  const Shapes shapes[] = {{{2, 3, 40}, {40}}, {{2, 5, 7, 9}, {5, 1, 1}}, {{70}, {1}},         {{3, 7, 32}, {1, 1, 32}},
                           {{1, 2000}, {}},    {{300, 130}, {130}},       {{2, 3, 1}, {3, 1}}, {{4, 6}, {4, 6}}};
  for_each_level([&](const char*) {
    Random r(8);
    for (int i = 0; i < 64; ++i) {
      const Shapes& s = shapes[i % 8];
      Values v(static_cast<uint32_t>(i));
      const DType xt = r.type();
      attrs::IntAffineT a;
      a.x_zero = r.code(xt);
      r.codes(&a);
      Case(Op::kIntAffine, pack<attrs::IntAffine>(a),
           {v.bytes(xt, s.x), v.reals(s.factor, -0.5f, 1.5f), r.coin() ? v.reals(s.factor, -1, 1) : kAbsent,
            r.coin() ? v.reals(s.factor, -90, 90) : kAbsent})
          .expect_same_bits("affine_codes", i % 3 == 0 ? 3 : 1);
      if (::testing::Test::HasFatalFailure()) FAIL() << "case " << i;
    }
  });
}

// The codes of value `codes`, of dims `y`, type `t` and `channels` on the last axis, through an IntAdd or IntAffine.
std::vector<TestTensor> step_operands(Random& r, Values& v, Op step, DType t, const std::vector<int64_t>& y) {
  if (step == Op::kIntAdd) return {v.bytes(t, y)};
  const std::vector<int64_t> factor = r.coin() ? std::vector<int64_t>{y.back()} : std::vector<int64_t>{};
  return {v.reals(factor, 0.1f, 1.5f), r.coin() ? v.reals(factor, -1, 1) : kAbsent,
          r.coin() ? v.reals(factor, -90, 90) : kAbsent};
}
std::vector<uint8_t> step_attributes(Random& r, Op step, bool second, DType codes, DType other) {
  if (step == Op::kIntAdd) {
    attrs::IntAddT a;
    a.a_zero = r.code(second ? other : codes);
    a.b_zero = r.code(second ? codes : other);
    a.a_multiplier = r.real(0.1f, 1.5f);
    a.b_multiplier = r.real(-1.5f, 1.5f);
    r.codes(&a);
    return pack<attrs::IntAdd>(a);
  }
  attrs::IntAffineT a;
  a.x_zero = r.code(codes);
  r.codes(&a);
  return pack<attrs::IntAffine>(a);
}
// `inputs`: of the product, and behind them of its step.
Composite product_and_step(Op product, const std::vector<uint8_t>& a, Op step, const std::vector<uint8_t>& b,
                           bool second, const std::vector<TestTensor>& operands,
                           const std::vector<TestTensor>& further) {
  std::vector<TestTensor> inputs;
  const auto add = [&](const TestTensor& t) {
    if (t.type.dtype == DType::kNone) return int32_t{-1};
    inputs.push_back(t);
    return static_cast<int32_t>(inputs.size() - 1);
  };
  std::vector<int32_t> first, then;
  for (const TestTensor& t : operands) first.push_back(add(t));
  for (const TestTensor& t : further) then.push_back(add(t));
  Composite c(inputs);
  const int32_t codes = c.node(product, a, first);
  then.insert(second ? then.end() : then.begin(), codes);
  c.outputs({c.node(step, b, then)});
  return c;
}

TEST(CpuIntProducts, WithAStepBehindThemSameBits) {
  for_each_level([](const char*) {
    Random r(6);
    for (int i = 0; i < 96; ++i) {
      Values v(static_cast<uint32_t>(i));
      const Op step = i % 2 == 0 ? Op::kIntAdd : Op::kIntAffine;
      const bool second = step == Op::kIntAdd && r.coin(), conv = i % 4 < 2;
      const DType xt = r.type(), other = r.type();
      const float scale = 40.0f / (127 * 127 * 8);
      const int64_t n = r.upto(i % 3 == 0 ? 150 : 40), k = r.upto(i % 5 == 0 ? 200 : 60);
      const std::vector<int64_t> many = {n}, one = {};
      const TestTensor multiplier = v.reals(r.coin() ? many : one, scale / 4, i % 16 == 3 ? 1.2f : scale * 2);
      const TestTensor bias = r.coin() ? v.integers(many, 20000) : kAbsent;
      SCOPED_TRACE(i);
      if (conv) {
        attrs::IntConvT a;
        const bool last = step == Op::kIntAffine || i % 8 == 0;
        const int64_t kernel = r.upto(2) * 2 - 1, height = r.upto(9), width = r.upto(9);
        a.pads.assign(4, static_cast<int32_t>(kernel / 2));
        a.layout = last ? 1 : 0;
        a.x_zero = r.code(xt);
        r.codes(&a);
        const std::vector<int64_t> x =
            last ? std::vector<int64_t>{2, height, width, k} : std::vector<int64_t>{2, k, height, width};
        const std::vector<int64_t> y =
            last ? std::vector<int64_t>{2, height, width, n} : std::vector<int64_t>{2, n, height, width};
        product_and_step(Op::kIntConv, pack<attrs::IntConv>(a), step,
                         step_attributes(r, step, second, static_cast<DType>(a.output_dtype), other), second,
                         {v.bytes(xt, x), v.bytes(DType::kI8, {n, k, kernel, kernel}), multiplier, bias},
                         step_operands(r, v, step, other, y))
            .expect_same_bits(last ? "int_conv_nhwc" : "int_conv_nchw", i % 3 == 0 ? 3 : 1);
      } else {
        attrs::IntGemmT a;
        a.a_zero = r.code(xt);
        r.codes(&a);
        const int64_t rows = r.upto(70), batch = i % 8 == 2 ? 3 : 1, depth = i == 2 ? 4500 : k;
        product_and_step(
            Op::kIntGemm, pack<attrs::IntGemm>(a), step,
            step_attributes(r, step, second, static_cast<DType>(a.output_dtype), other), second,
            {v.bytes(xt, {batch, rows, depth}),
             v.bytes(r.type(), i % 16 == 2 ? std::vector<int64_t>{3, depth, n} : std::vector<int64_t>{depth, n}),
             multiplier, bias},
            step_operands(r, v, step, other, {batch, rows, n}))
            .expect_same_bits("int_gemm", i % 3 == 0 ? 3 : 1);
      }
      if (::testing::Test::HasFatalFailure()) FAIL() << "case " << i;
    }
  });
}

TEST(CpuIntProducts, LeaveOtherSteps) {
  Values v(1);
  const TestTensor x = v.bytes(DType::kU8, {1, 4, 5, 5}), w = v.bytes(DType::kI8, {4, 4, 1, 1}),
                   m = v.reals({}, 0.001f, 0.002f);
  const std::vector<uint8_t> conv = pack<attrs::IntConv>(attrs::IntConvT{}),
                             add = pack<attrs::IntAdd>(attrs::IntAddT{}),
                             affine = pack<attrs::IntAffine>(attrs::IntAffineT{});
  // Channels first with factors of channels; codes that broadcast; in groups.
  product_and_step(Op::kIntConv, conv, Op::kIntAffine, affine, false, {x, w, m}, {v.reals({4, 1, 1}, 0, 1)})
      .expect_left();
  product_and_step(Op::kIntConv, conv, Op::kIntAdd, add, false, {x, w, m}, {v.bytes(DType::kI8, {1, 4, 1, 1})})
      .expect_left();
  attrs::IntConvT grouped;
  grouped.group = 4;
  product_and_step(Op::kIntConv, pack<attrs::IntConv>(grouped), Op::kIntAdd, add, false,
                   {x, v.bytes(DType::kI8, {4, 1, 1, 1}), m}, {v.bytes(DType::kI8, {1, 4, 5, 5})})
      .expect_left();
}

// A constant that several nodes read: what is packed otherwise has another name.
TEST(CpuIntProducts, NamesOfPackedConstants) {
  struct Packing {
    const char* kernel;
    Op op;
    std::vector<uint8_t> attributes;
    DType a, b;
    std::vector<int64_t> x, w;
  };
  attrs::IntConvT last;
  last.layout = static_cast<uint8_t>(Layout::kNhwc);
  const std::vector<uint8_t> conv = pack<attrs::IntConv>(last), gemm = pack<attrs::IntGemm>(attrs::IntGemmT{});
  std::vector<Packing> all;
  for (const DType a : {DType::kU8, DType::kI8}) {
    all.push_back({"int_conv_nhwc", Op::kIntConv, conv, a, DType::kI8, {1, 3, 5, 20}, {20, 20, 1, 1}});
    for (const DType b : {DType::kU8, DType::kI8})
      all.push_back({"int_gemm", Op::kIntGemm, gemm, a, b, {7, 20}, {20, 20}});
  }
  std::vector<std::vector<int64_t>> names;
  for (const Packing& p : all) {
    Values v(5);
    Case c(p.op, p.attributes, {v.bytes(p.a, p.x), v.bytes(p.b, p.w), v.reals({}, 0.001f, 0.002f)});
    c.expect_same_bits(p.kernel);
    const vireo_packed named = c.packs_as(0);
    names.push_back({named.layout, named.sizes[0], named.sizes[1], named.sizes[2], named.sizes[3]});
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

// No input channels: the bias alone.
TEST(CpuIntConv, NothingToSum) {
  for_each_level([](const char*) {
    for (const bool last : {false, true}) {
      for (const int64_t kernel : {1, 3}) {
        Values v(9);
        attrs::IntConvT a;
        a.layout = static_cast<uint8_t>(last ? Layout::kNhwc : Layout::kNchw);
        a.x_zero = 3;
        a.y_zero = -7;
        a.output_dtype = static_cast<uint8_t>(DType::kI8);
        a.low = -128;
        a.high = 127;
        const std::vector<int64_t> x = last ? std::vector<int64_t>{1, 5, 5, 0} : std::vector<int64_t>{1, 0, 5, 5};
        for (const bool bias : {false, true}) {
          Case(Op::kIntConv, pack<attrs::IntConv>(a),
               {v.bytes(DType::kU8, x), v.bytes(DType::kI8, {4, 0, kernel, kernel}), v.reals({}, 0.01f, 0.02f),
                bias ? v.integers({4}, 2000) : kAbsent})
              .expect_same_bits(last ? "int_conv_nhwc" : "int_conv_nchw", bias ? 3 : 1);
        }
      }
    }
  });
}

// Over three axes, of which the first may come to 1: windows are then read from lines.
TEST(CpuIntConv, DepthThatVaries) {
  const auto conv = [](int64_t depth) {
    Values v(4);
    attrs::IntConvT a;
    a.layout = static_cast<uint8_t>(Layout::kNhwc);
    a.pads = {0, 1, 1, 0, 1, 1};
    return Case(Op::kIntConv, pack<attrs::IntConv>(a),
                {v.bytes(DType::kU8, {1, depth, 7, 7, 512}), v.bytes(DType::kI8, {70, 512, 1, 3, 3}),
                 v.reals({}, 0.0001f, 0.0002f)});
  };
  for (const int64_t depth : {1, 2}) conv(2).runs_as(conv(depth)).by_turns().expect_same_bits("int_conv_nhwc", 2);
  conv(2).varies(1).expect_same_bits("int_conv_nhwc");
}

// Extents of two names with one bound: codes that would be broadcast in front of what is added are refused.
TEST(CpuIntProducts, ThatVary) {
  const std::vector<uint8_t> conv = pack<attrs::IntConv>(attrs::IntConvT{}),
                             gemm = pack<attrs::IntGemm>(attrs::IntGemmT{}),
                             add = pack<attrs::IntAdd>(attrs::IntAddT{}),
                             affine = pack<attrs::IntAffine>(attrs::IntAffineT{});
  const auto convolution = [&](int64_t n, int64_t added) {
    Values v(1);
    return product_and_step(
        Op::kIntConv, conv, Op::kIntAdd, add, false,
        {v.bytes(DType::kU8, {n, 4, 5, 5}), v.bytes(DType::kI8, {4, 4, 1, 1}), v.reals({}, 0.001f, 0.002f)},
        {v.bytes(DType::kI8, {added, 4, 5, 5})});
  };
  convolution(3, 3).runs_as(convolution(2, 2)).expect_same_bits("int_conv_nchw");
  (void)convolution(3, 3).runs_as(convolution(1, 3)).fails_with(VIREO_INVALID_MODEL).run("int_conv_nchw", 1);
  const auto product = [&](int64_t rows, int64_t added) {
    Values v(1);
    return product_and_step(Op::kIntGemm, gemm, Op::kIntAdd, add, false,
                            {v.bytes(DType::kU8, {rows, 9}), v.bytes(DType::kI8, {9, 20}), v.reals({}, 0.001f, 0.002f)},
                            {v.bytes(DType::kI8, {added, 20})});
  };
  product(3, 3).runs_as(product(2, 2)).expect_same_bits("int_gemm");
  (void)product(3, 3).runs_as(product(1, 3)).fails_with(VIREO_INVALID_MODEL).run("int_gemm", 1);
  const auto scaled = [&](int64_t factors) {
    Values v(1);
    return product_and_step(Op::kIntGemm, gemm, Op::kIntAffine, affine, false,
                            {v.bytes(DType::kU8, {3, 9}), v.bytes(DType::kI8, {9, 20}), v.reals({}, 0.001f, 0.002f)},
                            {v.reals({factors}, 0, 1)});
  };
  scaled(20).expect_same_bits("int_gemm");
  scaled(20).runs_as(scaled(1)).expect_left();
}

TEST(CpuIntCodes, TableAndSoftmaxSameBits) {
  for_each_level([](const char*) {
    Random r(4);
    for (int i = 0; i < 40; ++i) {
      Values v(static_cast<uint32_t>(i));
      const std::vector<int64_t> dims = {r.upto(4), r.upto(i % 2 == 0 ? 300 : 20), r.upto(30)};
      const TestTensor x = v.bytes(r.type(), dims);
      Case(Op::kIntTable, pack<attrs::IntTable>(attrs::IntTableT{}), {x, v.bytes(r.type(), {256})})
          .expect_same_bits("table_codes", i % 3 == 0 ? 3 : 1);
      attrs::IntSoftmaxT a;
      a.axis = static_cast<int32_t>(r.upto(4)) - 2;  // -1, 0, 1, 2
      a.multiplier = r.real(100, 300);
      r.codes(&a);
      TestTensor table = v.integers({256}, 1 << 23);
      if (i % 4 != 0) {  // else any table: sums of either sign, and 0
        for (int32_t d = 0; d < 256; ++d) {
          const int32_t e = static_cast<int32_t>(std::nearbyint(8388608 * std::exp(-0.03 * d)));
          std::memcpy(table.bytes.data() + static_cast<size_t>(d) * sizeof(e), &e, sizeof(e));
        }
      }
      Case(Op::kIntSoftmax, pack<attrs::IntSoftmax>(a), {x, table})
          .expect_same_bits("softmax_codes", i % 3 == 0 ? 3 : 1);
      // Of what is kept: some, a prefix, nothing of a line; repeated along any axes.
      std::vector<int64_t> some = dims;
      for (size_t d = 0; d < some.size(); ++d) {
        if (r.upto(3) == 1) some[d] = 1;
      }
      if (r.upto(3) == 1) some.erase(some.begin());
      TestTensor kept = v.bytes(DType::kU8, some);
      kept.type.dtype = DType::kBool;
      const uint8_t share = static_cast<uint8_t>(r.upto(255));
      const int64_t last = some.back();
      for (size_t k = 0; k < kept.bytes.size(); ++k)
        kept.bytes[k] = i % 3 == 0 ? static_cast<int64_t>(k) % last < last / 2 : kept.bytes[k] < share;
      Case(Op::kIntSoftmax, pack<attrs::IntSoftmax>(a), {x, table, kept})
          .expect_same_bits("softmax_codes", i % 3 == 0 ? 3 : 1);
    }
  });
}

// Around the longest line that is kept, and shorter than a vector.
TEST(CpuIntCodes, LongAndShortLinesOfSoftmaxSameBits) {
  for_each_level([](const char*) {
    Random r(9);
    for (const int64_t line : {int64_t{1}, int64_t{3}, int64_t{15}, int64_t{37}, int64_t{4095}, int64_t{4096},
                               int64_t{4097}, int64_t{9000}}) {
      Values v(static_cast<uint32_t>(line));
      attrs::IntSoftmaxT a;
      a.multiplier = 255;
      r.codes(&a);
      Case(Op::kIntSoftmax, pack<attrs::IntSoftmax>(a), {v.bytes(r.type(), {2, line}), v.integers({256}, 1 << 23)})
          .expect_same_bits("softmax_codes");
    }
  });
}

TEST(CpuPoolBytes, SameBits) {
  for_each_level([](const char*) {
    Random r(5);
    for (int i = 0; i < 80; ++i) {
      Values v(static_cast<uint32_t>(i));
      attrs::IntAveragePoolT a;
      attrs::PoolT p;
      std::vector<int64_t> x = {r.upto(2), r.upto(4)};
      int64_t taps = 1;
      for (int d = 0; d < (i % 5 == 0 ? 1 : 2); ++d) {
        const int64_t kernel = r.upto(5), begin = r.upto(kernel) - 1, end = r.upto(kernel) - 1;
        x.push_back(kernel + r.upto(i % 2 == 0 ? 20 : 70));
        taps *= kernel;
        a.kernel_shape.push_back(static_cast<int32_t>(kernel));
        a.strides.push_back(static_cast<int32_t>(r.upto(3)));
        a.dilations.push_back(1);
        a.pads.insert(a.pads.begin() + d, static_cast<int32_t>(begin));
        a.pads.push_back(static_cast<int32_t>(end));
      }
      a.ceil_mode = r.coin();
      a.count_include_pad = r.coin();
      p.kernel_shape = a.kernel_shape;
      p.strides = a.strides;
      p.dilations = a.dilations;
      p.pads = a.pads;
      p.ceil_mode = a.ceil_mode;
      const DType t = r.type();
      a.x_zero = r.code(t);
      r.codes(&a);
      TestTensor m = v.reals({taps + 1}, 0.1f, 0.5f);
      const bool last = i % 2 == 1;
      if (last) {
        a.layout = p.layout = static_cast<uint8_t>(Layout::kNhwc);
        std::rotate(x.begin() + 1, x.begin() + 2, x.end());
      }
      const TestTensor in = v.bytes(t, x);
      const int32_t slots = i % 3 == 0 ? 3 : 1;
      Case(Op::kIntAveragePool, pack<attrs::IntAveragePool>(a), {in, m})
          .expect_same_bits(last ? "average_pool_i8_nhwc" : "average_pool_i8_nchw", slots);
      Case(Op::kMaxPool, pack<attrs::Pool>(p), {in})
          .expect_same_bits(last ? "max_pool_i8_nhwc" : "max_pool_i8_nchw", slots);
    }
  });
}

}  // namespace
}  // namespace vireo
