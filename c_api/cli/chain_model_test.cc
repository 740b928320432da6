#include "c_api/cli/chain_model.h"

#include <gtest/gtest.h>
#include <string.h>

#include <vector>

namespace vireo::cli::chain_model_test {
namespace {

// What comes out for an x of ones, as float; empty where no device of this build takes it.
std::vector<float> run(const Chain& chain) {
  const Model model(chain_model(chain), "a chain", 1);
  EXPECT_EQ(model.inputs().size(), chain.op == ChainOp::kAdd || chain.op == ChainOp::kMul ? 2u : 1u);
  Session session;
  try {
    session = make_session(model, {}, {});
  } catch (const ApiFailure& e) {
    EXPECT_EQ(e.status(), VIREO_UNSUPPORTED) << e.what();
    return {};
  }
  EXPECT_EQ(nodes_of(session.get()).size(), static_cast<size_t>(chain.nodes));
  const auto count = static_cast<size_t>(chain.rows * chain.columns);
  vireo_tensor x = {};
  vireo_error error = VIREO_ERROR_INIT;
  for (uint32_t i = 0; i < model.inputs().size(); ++i) {
    EXPECT_EQ(vireo_session_input(session.get(), i, &x, &error), VIREO_OK) << error.message;
    const auto elements = static_cast<size_t>(x.capacity / vireo_dtype_bytes(chain.dtype, 1));
    for (size_t k = 0; k < elements; ++k) {
      const float one = 1;
      if (chain.dtype == VIREO_FLOAT32) memcpy(static_cast<float*>(x.data) + k, &one, 4);
      if (chain.dtype == VIREO_FLOAT16) static_cast<uint16_t*>(x.data)[k] = 0x3C00;
      if (chain.dtype == VIREO_BFLOAT16) static_cast<uint16_t*>(x.data)[k] = 0x3F80;
      if (chain.dtype == VIREO_INT8) static_cast<int8_t*>(x.data)[k] = 64;
    }
  }
  vireo_tensor y = {};
  EXPECT_EQ(vireo_session_run(session.get(), nullptr, 0, &y, 1, &error), VIREO_OK) << error.message;
  EXPECT_EQ(y.dtype, chain.dtype);
  std::vector<float> out(count);
  for (size_t k = 0; k < count; ++k) {
    if (chain.dtype == VIREO_FLOAT32) out[k] = static_cast<const float*>(y.data)[k];
    if (chain.dtype == VIREO_INT8) out[k] = static_cast<const int8_t*>(y.data)[k];
    const bool half = chain.dtype == VIREO_FLOAT16 || chain.dtype == VIREO_BFLOAT16;
    const uint16_t h = half ? static_cast<const uint16_t*>(y.data)[k] : uint16_t{0};
    if (chain.dtype == VIREO_BFLOAT16) {
      const uint32_t bits = uint32_t{h} << 16;
      memcpy(&out[k], &bits, 4);
    }
    if (chain.dtype == VIREO_FLOAT16)
      out[k] = static_cast<float>((h & 0x3FF) + 1024) / 1024 * static_cast<float>(1 << (h >> 10)) / 32768;
  }
  return out;
}

TEST(ChainModel, ComputesWhatItSays) {
  for (const float v : run({ChainOp::kRelu, VIREO_FLOAT32, 2, 8, 3})) EXPECT_EQ(v, 1);
  const std::vector<float> sum = run({ChainOp::kAdd, VIREO_FLOAT32, 2, 8, 3});
  ASSERT_EQ(sum.size(), 16u);
  for (const float v : sum) EXPECT_EQ(v, 4);
  EXPECT_EQ(run({ChainOp::kMul, VIREO_FLOAT32, 2, 8, 3}), std::vector<float>(16, 1));
}

// The second operand is 0, 1, 2, ...: where its elements go is seen in the sum.
TEST(ChainModel, SecondOperandsAreBroadcast) {
  const std::pair<ChainSpread, std::vector<float>> wanted[] = {
      {ChainSpread::kNone, {1, 2, 3, 4, 5, 6}},
      {ChainSpread::kRow, {1, 2, 3, 1, 2, 3}},
      {ChainSpread::kColumn, {1, 1, 1, 2, 2, 2}},
      {ChainSpread::kScalar, {1, 1, 1, 1, 1, 1}},
  };
  for (const auto& [spread, want] : wanted) {
    const Model model(chain_model({ChainOp::kAdd, VIREO_FLOAT32, 2, 3, 1, spread}), "a chain", 1);
    const Session session = make_session(model, {}, {});
    vireo_tensor x = {}, y = {};
    vireo_error error = VIREO_ERROR_INIT;
    for (uint32_t i = 0; i < 2; ++i) {
      ASSERT_EQ(vireo_session_input(session.get(), i, &x, &error), VIREO_OK) << error.message;
      for (int64_t k = 0; k < x.capacity / 4; ++k)
        static_cast<float*>(x.data)[k] = i == 0 ? 1.0f : static_cast<float>(k);
    }
    ASSERT_EQ(vireo_session_run(session.get(), nullptr, 0, &y, 1, &error), VIREO_OK) << error.message;
    const auto* const got = static_cast<const float*>(y.data);
    EXPECT_EQ(std::vector<float>(got, got + 6), want);
  }
}

// Products stay near what went in, in every type and after every step.
TEST(ChainModel, ProductsKeepTheirSize) {
  for (const vireo_dtype dtype : {VIREO_FLOAT32, VIREO_FLOAT16, VIREO_BFLOAT16}) {
    for (const int nodes : {1, 4}) {
      const std::vector<float> out = run({ChainOp::kMatMul, dtype, 3, 256, nodes});
      ASSERT_TRUE(dtype != VIREO_FLOAT32 || out.size() == 3u * 256);
      for (const float v : out) EXPECT_NEAR(v, 1, 0.3) << vireo_dtype_text(dtype) << ", " << nodes;
    }
  }
  for (const float v : run({ChainOp::kIntGemm, VIREO_INT8, 3, 256, 3})) EXPECT_NEAR(v, 62, 20);
}

TEST(ChainModel, LargestWeightsAreThere) {
  const ModelBytes bytes = chain_model({ChainOp::kMatMul, VIREO_FLOAT16, 1, 4096, 1});
  EXPECT_GT(bytes.size, size_t{2} * 4096 * 4096);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data) % 64, 0u);
}

}  // namespace
}  // namespace vireo::cli::chain_model_test
