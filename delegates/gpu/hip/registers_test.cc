// What kernels of the sizes that models have take of seven of AMD's chips, in the tilings that are chosen for them.
#include <gtest/gtest.h>
#include <stdio.h>

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "delegates/gpu/hip/print.h"
#include "delegates/gpu/host/lanes.h"
#include "delegates/gpu/templates/attention.h"
#include "delegates/gpu/templates/product.h"

namespace vireo::gpu::registers_test {
namespace {

Expression sum_to(const std::vector<int64_t>& strides) {
  Expression e;
  Input sum;
  sum.given = true;
  View y;
  y.strides = strides;
  e.inputs = {sum};
  e.outputs = {{0, y}};
  return e;
}

// x is [m, k] in rows; w too, or [k, n] by columns of k as a transposed product has it.
Dispatch product(int64_t m, int64_t n, int64_t k, DType type, bool w_along_k, const Target& target) {
  ProductProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.x = {type, 0, {}, k, 1};
  p.w = {type, 0, {}, w_along_k ? 1 : n, w_along_k ? k : 1};
  p.sum = type == DType::kI8 ? DType::kI32 : DType::kF32;
  p.epilogue = sum_to({n, 1});
  p.epilogue.inputs[0].dtype = p.sum;
  return make_product(p, choose_product(p, target), target);
}

// 3 x 3 over images with their channels side by side.
Dispatch convolution(int64_t groups, int64_t channels, int64_t outputs, int64_t extent, DType type,
                     const Target& target) {
  ConvolutionProblem p;
  p.groups = groups;
  p.channels = channels;
  p.outputs = outputs;
  p.window.in = p.window.out = {1, extent, extent};
  p.window.kernel = {1, 3, 3};
  p.window.pad = {0, 1, 1};
  p.x_dtype = p.w_dtype = type;
  const int64_t c = groups * channels, o = groups * outputs;
  p.x = {0, c * extent * extent, 1, {0, extent * c, c}};
  p.w = {0, outputs * channels * 9, channels * 9, 1, {0, 3 * channels, channels}};
  p.epilogue = sum_to({outputs, o * extent * extent, 0, extent * o, o, 1});
  return make_convolution(p, choose_convolution(p, target), target);
}

Dispatch attention(int64_t heads, int64_t rows, int64_t head, DType type, const Target& target) {
  AttentionProblem p;
  p.batch = {heads};
  p.queries = p.keys = rows;
  p.head = p.value_head = head;
  p.q = p.k = p.v = {type, 0, {rows * head}, head, 1};
  p.score = sum_to({0, 0, 0});
  p.epilogue = sum_to({rows * head, head, 1});
  return make_attention(p, choose_attention(p, target), target);
}

struct Row {
  const char* name;
  bool halves;       // products of halves
  bool needs_units;  // what chips without a unit compute by other launches
  std::function<Dispatch(const Target&)> make;
};

std::vector<Row> rows() {
  const auto of = [](auto call, auto... arguments) { return [=](const Target& t) { return call(arguments..., t); }; };
  constexpr DType kF32 = DType::kF32, kF16 = DType::kF16;
  return {
      {"product 4096^3, float16", false, false, of(product, 4096, 4096, 4096, kF16, false)},
      {"product 4096^3, float16, w along k", false, false, of(product, 4096, 4096, 4096, kF16, true)},
      {"product 4096^3, float32", false, false, of(product, 4096, 4096, 4096, kF32, false)},
      {"product 4096^3, float32 as halves", true, false, of(product, 4096, 4096, 4096, kF32, false)},
      {"product 128 768 3072, as halves", true, false, of(product, 128, 768, 3072, kF32, false)},
      {"product 196 256 2304, as halves", true, false, of(product, 196, 256, 2304, kF32, true)},
      {"product 512^3, int8", false, false, of(product, 512, 512, 512, DType::kI8, true)},
      {"product 1 4096 4096, float16", false, false, of(product, 1, 4096, 4096, kF16, true)},
      {"convolution 64 56x56, float32", false, false, of(convolution, 1, 64, 64, 56, kF32)},
      {"convolution 64 56x56, as halves", true, false, of(convolution, 1, 64, 64, 56, kF32)},
      {"convolution 512 7x7, float16", false, false, of(convolution, 1, 512, 512, 7, kF16)},
      {"convolution 96 of 1 112x112, float32", false, false, of(convolution, 96, 1, 1, 112, kF32)},
      {"attention 12 of 128 64, as halves", true, true, of(attention, 12, 128, 64, kF32)},
      {"attention 6 of 1500 64, as halves", true, true, of(attention, 6, 1500, 64, kF32)},
      {"attention 32 of 512 128, float16", true, true, of(attention, 32, 512, 128, kF16)},
  };
}

TEST(HipRegisters, NoChosenTilingSpills) {
  printf("%-38s %-8s vector  accum. scalar  shared waves\n", "kernel", "chip");
  for (const Row& row : rows()) {
    for (const char* const chip : kHipFamilies) {
      Target target = hip_target(*hip_family(chip));
      target.half_products = row.halves && !target.units.empty();
      if (row.needs_units && target.units.empty()) continue;
      const Dispatch d = row.make(target);
      ASSERT_EQ(d.refusal, "") << row.name << ", " << chip;
      bool found = true;
      std::vector<HipUse> uses;
      ASSERT_EQ(compile_hip(hip_text(print_hip(d.program), target), chip, &found, &uses), "") << row.name;
      if (!found) GTEST_SKIP() << "clang-19 and lld-19 are not here (apt-get install clang-19 lld-19)";
      ASSERT_EQ(uses.size(), 1u) << row.name << ", " << chip;
      const HipUse& u = uses[0];
      printf("%-38s %-8s %6u %7u %6u %7u %5u\n", row.name, chip, u.vectors, u.accumulators, u.scalars, u.shared_bytes,
             u.waves);
      EXPECT_EQ(u.spilled, 0u) << row.name << ", " << chip;
      EXPECT_EQ(u.scratch_bytes, 0u) << row.name << ", " << chip;
    }
  }
}

}  // namespace
}  // namespace vireo::gpu::registers_test
