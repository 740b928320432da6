#include <gtest/gtest.h>

#include <cmath>

#include "sdk/base/half.h"
#include "sdk/ops/import_testing.h"

namespace vireo::nbits_onnx_test {
namespace {

// Weights of `n` columns, k = 40 in blocks of 16: the last one has 8.
constexpr int64_t kK = 40, kN = 3, kBlock = 16, kBlocks = 3;

struct Case {
  int64_t bits;
  std::vector<uint8_t> codes, zeros;   // as the operator has them
  std::vector<float> scales, weights;  // [K, N]
  explicit Case(int64_t b, bool with_zeros) : bits(b), scales(kN * kBlocks), weights(kK * kN) {
    codes.resize(static_cast<size_t>(kN * kBlocks * kBlock * bits / 8), 0xFF);  // what fills up the last block
    zeros.resize(static_cast<size_t>(kN * ((kBlocks * bits + 7) / 8)));
    const unsigned most = (1u << bits) - 1;
    for (int64_t n = 0; n < kN; ++n) {
      for (int64_t k = 0; k < kK; ++k) {
        const int64_t block = k / kBlock;
        const unsigned code = static_cast<unsigned>(k * 7 + n * 5) & most;
        const unsigned zero = with_zeros ? static_cast<unsigned>(n * 3 + block) & most : 1u << (bits - 1);
        const float scale = 0.25f * static_cast<float>(1 + n + block);
        put(&codes, n * kBlocks * kBlock * bits / 8, k, code);
        if (with_zeros) put(&zeros, n * ((kBlocks * bits + 7) / 8), block, zero);
        scales[static_cast<size_t>(n * kBlocks + block)] = scale;
        weights[static_cast<size_t>(k * kN + n)] = (static_cast<float>(code) - static_cast<float>(zero)) * scale;
      }
    }
    if (!with_zeros) zeros.clear();
  }
  void put(std::vector<uint8_t>* to, int64_t row, int64_t i, unsigned code) const {
    uint8_t& byte = (*to)[static_cast<size_t>(row + i * bits / 8)];
    const int shift = bits == 8 ? 0 : static_cast<int>(i % 2) * 4;
    byte = static_cast<uint8_t>((byte & ~((bits == 8 ? 255 : 15) << shift)) | code << shift);
  }
  std::vector<float> times(const std::vector<float>& x) const {
    std::vector<float> y(x.size() / kK * kN);
    for (size_t i = 0; i < y.size(); ++i) {
      for (size_t k = 0; k < kK; ++k) y[i] += x[i / kN * kK + k] * weights[k * kN + i % kN];
    }
    return y;
  }
};

ImportTest nbits(int64_t bits) {
  ImportTest t("MatMulNBits", 1, "com.microsoft");
  t.attr("K", kK).attr("N", kN).attr("bits", bits).attr("block_size", kBlock);
  return t;
}
std::vector<float> eighths(size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>(static_cast<int>(i * 5 % 17) - 8) / 8;
  return x;
}

// Numbers so chosen that all sums are exact.
TEST(MatMulNBitsImport, IsWhatItsDefinitionSays) {
  const std::vector<float> x = eighths(2 * kK), bias = {1, -2, 3};
  for (const int64_t bits : {4, 8}) {
    for (const bool zeros : {false, true}) {
      const Case c(bits, zeros);
      ImportTest t = nbits(bits);
      t.input<float>({1, 2, kK}, x).constant<uint8_t>({kN, kBlocks, kBlock * bits / 8}, c.codes);
      t.constant<float>({kN * kBlocks}, c.scales);
      if (zeros) {
        t.constant<uint8_t>({static_cast<int64_t>(c.zeros.size())}, c.zeros);
      } else {
        t.input(TestTensor());
      }
      t.input(TestTensor()).input<float>({kN}, bias);
      ASSERT_EQ(t.run(), Status::kOk) << t.message();
      std::vector<float> want = c.times(x);
      for (size_t i = 0; i < want.size(); ++i) want[i] += bias[i % kN];
      EXPECT_EQ(t.y().as<float>(), want);
      EXPECT_EQ(t.y().type.shape, make_shape({1, 2, kN}));
      EXPECT_EQ(t.emitted()[0], Op::kDequantizeLinear);
    }
  }
}

TEST(MatMulNBitsImport, HalvesAndRealZeroPoints) {
  const Case c(4, true);
  const auto half = [](const std::vector<int64_t>& dims, const std::vector<float>& values) {
    std::vector<uint16_t> bits;
    for (const float v : values) bits.push_back(f32_to_f16(v));
    TestTensor t = ImportTest::tensor<uint16_t>(dims, bits);
    t.type.dtype = DType::kF16;
    return t;
  };
  std::vector<float> zeros;
  for (int64_t n = 0; n < kN; ++n) {
    for (int64_t b = 0; b < kBlocks; ++b) zeros.push_back(static_cast<float>((n * 3 + b) & 15));
  }
  const std::vector<float> x = eighths(kK);
  const auto with = [&](const std::vector<float>& z) {
    ImportTest t = nbits(4);
    t.input(half({1, kK}, x)).constant<uint8_t>({kN, kBlocks, kBlock / 2}, c.codes);
    t.constant(half({kN, kBlocks}, c.scales)).constant(half({kN, kBlocks}, z));
    return t;
  };
  ImportTest t = with(zeros);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.dtype, DType::kF16);
  EXPECT_EQ(t.y().bytes, half({1, kN}, c.times(x)).bytes);
  zeros[4] = 2.5f;
  ImportTest part = with(zeros);
  EXPECT_EQ(part.run(), Status::kUnsupported);
  EXPECT_NE(part.message().find("2.5"), std::string::npos) << part.message();
}

TEST(MatMulNBitsImport, RefusesWhatItDoesNotKnow) {
  const Case c(4, false);
  const auto run = [&](int64_t bits, size_t bytes, std::vector<int32_t> groups) {
    ImportTest t = nbits(bits);
    t.input<float>({1, kK}, eighths(kK));
    t.constant<uint8_t>({static_cast<int64_t>(bytes)}, std::vector<uint8_t>(bytes));
    t.constant<float>({kN * kBlocks}, c.scales).input(TestTensor());
    if (!groups.empty()) t.constant<int32_t>({static_cast<int64_t>(groups.size())}, groups);
    return t.run();
  };
  std::vector<int32_t> groups;
  for (int32_t i = 0; i < kK; ++i) groups.push_back(i / static_cast<int32_t>(kBlock));
  EXPECT_EQ(run(4, c.codes.size(), {}), Status::kOk);
  EXPECT_EQ(run(4, c.codes.size(), groups), Status::kOk);
  groups[3] = 2;
  EXPECT_EQ(run(4, c.codes.size(), groups), Status::kUnsupported);
  EXPECT_EQ(run(2, c.codes.size(), {}), Status::kUnsupported);
  EXPECT_EQ(run(4, c.codes.size() + 1, {}), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::nbits_onnx_test
