// Spatial operators channels last against the reference kernels of sdk/ops, through the delegate as a session drives
// it, on every instruction set of this machine.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

constexpr auto kLast = static_cast<uint8_t>(Layout::kNhwc);

TEST(CpuChannelsLast, Convolutions) {
  struct Conv {
    std::vector<int64_t> x, w;
    int32_t group, stride, dilation, pad;
  };
  const Conv convs[] = {{{1, 9, 11, 3}, {5, 3, 3, 3}, 1, 1, 1, 1},     {{2, 8, 33, 4}, {16, 2, 3, 3}, 2, 2, 1, 1},
                        {{1, 7, 7, 40}, {70, 40, 1, 1}, 1, 1, 1, 0},   {{1, 14, 14, 24}, {24, 1, 3, 3}, 24, 1, 1, 1},
                        {{2, 12, 12, 19}, {19, 1, 5, 5}, 19, 2, 2, 4}, {{1, 60, 6}, {8, 6, 5}, 1, 1, 1, 2},
                        {{1, 3, 4, 5, 2}, {3, 2, 3, 2, 3}, 1, 1, 1, 1}};
  for_each_level([&](const char*) {
    for (const Conv& c : convs) {
      Values v(static_cast<uint32_t>(c.w[0] + c.stride));
      const auto spatial = c.x.size() - 2;
      attrs::ConvT a;
      a.layout = kLast;
      a.group = c.group;
      a.strides.assign(spatial, c.stride);
      a.dilations.assign(spatial, c.dilation);
      a.pads.assign(2 * spatial, c.pad);
      const TestTensor x = v.reals(c.x, -1, 1), w = v.reals(c.w, -1, 1);
      for (const int32_t slots : {1, 3})
        Case(Op::kConv, pack<attrs::Conv>(a), {x, w, v.reals({c.w[0]}, -1, 1)})
            .expect_close("conv_f32_nhwc", 1e-5, slots);
      Case(Op::kConv, pack<attrs::Conv>(a), {x, w}).expect_close("conv_f32_nhwc", 1e-5);
    }
  });
}

// Constant filters of 3 x 3 windows, where tiles of several outputs pay. Without packed constants the same kernels are
// the direct one.
TEST(CpuChannelsLast, Winograd) {
  struct Conv {
    std::vector<int64_t> x;
    int64_t outputs;
    const char* kernel;
  };
  const Conv convs[] = {{{1, 33, 34, 20}, 40, "conv_f32_winograd"}, {{2, 6, 6, 130}, 70, "conv_f32_winograd_2x2"}};
  for_each_level([&](const char*) {
    for (const Conv& c : convs) {
      Values v(static_cast<uint32_t>(c.outputs));
      attrs::ConvT a;
      a.layout = kLast;
      a.pads = {1, 1, 1, 1};
      const TestTensor x = v.reals(c.x, -1, 1), w = v.reals({c.outputs, c.x[3], 3, 3}, -1, 1);
      const TestTensor bias = v.reals({c.outputs}, -1, 1);
      const TestTensor other = v.reals({c.x[0], c.x[1], c.x[2], c.outputs}, -1, 1);
      for (const int32_t slots : {1, 3}) {
        Case(Op::kConv, pack<attrs::Conv>(a), {x, w, bias}).expect_close(c.kernel, 1e-5, slots);
        Composite block({x, other});
        const int32_t sum = block.node(Op::kConv, pack<attrs::Conv>(a), {0, block.constant(w), block.constant(bias)});
        block.outputs({block.node(Op::kRelu, pack<attrs::Unary>(attrs::UnaryT{}),
                                  {block.node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {sum, 1})})});
        block.expect_close(c.kernel, 1e-5, slots);
      }
    }
  });
}

TEST(CpuChannelsLast, Pools) {
  for_each_level([&](const char*) {
    for (const int64_t channels : {1, 5, 16, 70}) {
      Values v(static_cast<uint32_t>(channels));
      const TestTensor x = v.reals({2, 9, 8, channels}, -1, 1);
      for (const bool include_pad : {false, true}) {
        attrs::PoolT a;
        a.layout = kLast;
        a.kernel_shape = {3, 2};
        a.strides = {2, 1};
        a.pads = {1, 1, 0, 1};
        a.count_include_pad = include_pad;
        for (const int32_t slots : {1, 3}) {
          Case(Op::kMaxPool, pack<attrs::Pool>(a), {x}).expect_same_bits("max_pool_f32_nhwc", slots);
          Case(Op::kAveragePool, pack<attrs::Pool>(a), {x}).expect_close("average_pool_f32_nhwc", 1e-6, slots);
        }
        a.ceil_mode = true;
        Case(Op::kAveragePool, pack<attrs::Pool>(a), {x}).expect_close("average_pool_f32_nhwc", 1e-6);
      }
      attrs::GlobalPoolT global;
      global.layout = kLast;
      Case(Op::kGlobalMaxPool, pack<attrs::GlobalPool>(global), {x}).expect_same_bits("global_max_f32_nhwc", 3);
      Case(Op::kGlobalAveragePool, pack<attrs::GlobalPool>(global), {x})
          .expect_close("global_average_f32_nhwc", 1e-6, 3);
    }
  });
}

// Filters that are given to the run and come to one tap there: rows of a matrix product.
TEST(CpuConv, FiltersThatVary) {
  for (const bool last : {false, true}) {
    const auto conv = [&](int64_t kernel) {
      Values v(3);
      attrs::ConvT a;
      a.layout = static_cast<uint8_t>(last ? Layout::kNhwc : Layout::kNchw);
      const std::vector<int64_t> x =
          last ? std::vector<int64_t>{8, kernel, kernel, 64} : std::vector<int64_t>{8, 64, kernel, kernel};
      return Case(Op::kConv, pack<attrs::Conv>(a), {v.reals(x, -1, 1), v.reals({512, 64, kernel, kernel}, -1, 1)});
    };
    for (const int64_t kernel : {1, 2, 3}) {
      for (const int32_t slots : {1, 3})
        conv(3).runs_as(conv(kernel)).by_turns().expect_close(last ? "conv_f32_nhwc" : "conv_f32_nchw", 1e-5, slots);
    }
  }
}

}  // namespace
}  // namespace vireo
