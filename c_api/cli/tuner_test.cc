#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "c_api/cli/roofline.h"

namespace vireo::cli::tuner_test {
namespace {

vireo_node_info node(const char* op, vireo_dtype dtype, uint64_t operations, uint64_t bytes) {
  vireo_node_info n = VIREO_NODE_INFO_INIT;
  n.op = op;
  n.kernel = "";
  n.dtype = dtype;
  n.operations = operations;
  n.bytes = bytes;
  return n;
}

TEST(Roofline, WhicheverIsMore) {
  const Rates rates{100e9, 50e9, 10e9};
  EXPECT_DOUBLE_EQ(least_us(node("MatMul", VIREO_FLOAT32, 1000000, 1000), rates, false, 1), 10);
  EXPECT_DOUBLE_EQ(least_us(node("MatMul", VIREO_FLOAT32, 1000, 1000000), rates, false, 1), 20);
  EXPECT_DOUBLE_EQ(least_us(node("Add", VIREO_FLOAT32, 0, 100000000), rates, false, 1),
                   10000);  // more than caches hold
  EXPECT_DOUBLE_EQ(least_us(node("Conv", VIREO_FLOAT32, 1000000, 1000), rates, false, 1), 2.5);
  EXPECT_DOUBLE_EQ(least_us(node("conv_activation", VIREO_FLOAT32, 1000000, 1000), rates, false, 1), 2.5);
  EXPECT_DOUBLE_EQ(least_us(node("MatMul", VIREO_FLOAT32, 1000000, 1000), rates, false, 2), 5);
}

TEST(Roofline, SmallTypesAreFaster) {
  const Rates rates{100e9, 50e9, 10e9};
  EXPECT_DOUBLE_EQ(least_us(node("IntGemm", VIREO_INT8, 1000000, 1000), rates, false, 1), 2.5);
  EXPECT_DOUBLE_EQ(least_us(node("IntGemm", VIREO_UINT8, 1000000, 1000), rates, true, 1), 2.5 / 8);
  EXPECT_DOUBLE_EQ(least_us(node("MatMul", VIREO_FLOAT32, 1000000, 1000), rates, true, 1), 10);
  vireo_node_info bf16 = node("MatMul", VIREO_FLOAT32, 1000000, 1000);
  bf16.kernel = "gemm_bf16";
  EXPECT_DOUBLE_EQ(least_us(bf16, rates, false, 1), 5);
}

TEST(Roofline, DevicesHaveTheirOwnRates) {
  vireo_device_info device = VIREO_DEVICE_INFO_INIT;
  EXPECT_EQ(least_us(device, VIREO_FLOAT32, 1e9, 1e6), 0);
  device.bandwidth = 1e12;
  EXPECT_DOUBLE_EQ(least_us(device, VIREO_FLOAT32, 1e9, 1e6), 1);
  device.f32_rate = 10e12;
  EXPECT_DOUBLE_EQ(least_us(device, VIREO_FLOAT32, 1e9, 1e6), 100);
  EXPECT_DOUBLE_EQ(least_us(device, VIREO_FLOAT16, 1e9, 1e6), 100);
  device.f16_rate = 100e12;
  device.i8_rate = 200e12;
  EXPECT_DOUBLE_EQ(least_us(device, VIREO_FLOAT16, 1e9, 1e6), 10);
  EXPECT_DOUBLE_EQ(least_us(device, VIREO_UINT8, 1e9, 1e6), 5);
  EXPECT_DOUBLE_EQ(least_us(device, VIREO_FLOAT32, 0, 3e6), 3);
}

TEST(Roofline, ThisMachineHasRates) {
  const Rates rates = measure_rates();
  EXPECT_TRUE(std::isfinite(rates.operations) && std::isfinite(rates.near_bytes) && std::isfinite(rates.far_bytes));
  EXPECT_GT(rates.operations, 1e7);
  EXPECT_GT(rates.near_bytes, 1e7);
  EXPECT_GT(rates.far_bytes, 1e7);
  RecordProperty("gflops", std::to_string(rates.operations / 1e9));
  RecordProperty("near_gbytes", std::to_string(rates.near_bytes / 1e9));
  RecordProperty("far_gbytes", std::to_string(rates.far_bytes / 1e9));
}

}  // namespace
}  // namespace vireo::cli::tuner_test
