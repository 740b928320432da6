// float16 operators that run by float32 kernels over blocks of widened elements, against the reference kernels.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

// The reference computes in float32 or rounds between a few steps; either rounds its result: 2^-11 of each value, a
// few times.
constexpr double kShare = 0x1p-9;

std::vector<uint8_t> binary() { return pack<attrs::Binary>(attrs::BinaryT{}); }
std::vector<uint8_t> unary() { return pack<attrs::Unary>(attrs::UnaryT{}); }

// More rows than a block has, and lengths beside a vector's.
TEST(CpuF16Nodes, RowsInPieces) {
  for_each_level([](const char*) {
    for (const int32_t slots : {1, 3}) {
      Values v(static_cast<uint32_t>(slots));
      for (const std::vector<int64_t>& dims :
           {std::vector<int64_t>{3, 70, 300}, {1, 5, 7}, {2, 1, 20000}, {40, 30, 33}}) {
        const int64_t last = dims.back();
        attrs::SoftmaxT softmax;
        softmax.axis = -1;
        Case(Op::kSoftmax, pack<attrs::Softmax>(softmax), {v.halves(dims, -4, 4)})
            .expect_close("widened_f32", kShare, slots);
        softmax.axis = 0;
        Case(Op::kLogSoftmax, pack<attrs::Softmax>(softmax), {v.halves(dims, -4, 4)})
            .expect_close("widened_f32", kShare, slots);
        attrs::LayerNormalizationT norm;
        norm.axis = -1;
        norm.epsilon = 1e-5f;
        Case(Op::kLayerNormalization, pack<attrs::LayerNormalization>(norm),
             {v.halves(dims, -4, 4), v.halves({last}, -1, 1), v.halves({last}, -1, 1)})
            .expect_close("widened_f32", 2 * kShare, slots);
      }
    }
  });
}

TEST(CpuF16Nodes, Pools) {
  for_each_level([](const char*) {
    for (const int32_t slots : {1, 3}) {
      for (const uint8_t layout : {0, 1}) {
        Values v(static_cast<uint32_t>(slots + layout));
        const TestTensor x = layout == 0 ? v.halves({2, 45, 21, 23}, -2, 2) : v.halves({3, 21, 23, 45}, -2, 2);
        attrs::PoolT a;
        a.kernel_shape = {3, 3};
        a.strides = {2, 2};
        a.pads = {1, 1, 1, 1};
        a.layout = layout;
        Case(Op::kMaxPool, pack<attrs::Pool>(a), {x}).expect_same_bits("widened_f32", slots);
        Case(Op::kAveragePool, pack<attrs::Pool>(a), {x}).expect_close("widened_f32", kShare, slots);
        attrs::GlobalPoolT global;
        global.layout = layout;
        Case(Op::kGlobalAveragePool, pack<attrs::GlobalPool>(global), {x}).expect_close("widened_f32", kShare, slots);
        Case(Op::kGlobalMaxPool, pack<attrs::GlobalPool>(global), {x}).expect_same_bits("widened_f32", slots);
      }
    }
  });
}

TEST(CpuF16Nodes, WholeTensors) {
  for_each_level([](const char*) {
    for (const int32_t slots : {1, 3}) {
      Values v(static_cast<uint32_t>(slots));
      attrs::AttentionT a;
      a.scale = 0.2f;
      Case(Op::kAttention, pack<attrs::Attention>(a),
           {v.halves({2, 3, 19, 16}, -1, 1), v.halves({2, 3, 23, 16}, -1, 1), v.halves({2, 3, 23, 8}, -1, 1)})
          .expect_close("widened_f32", 4 * kShare, slots);
    }
  });
}

// Operands as the result lies, repeated in short and long rows, and numbers.
TEST(CpuF16Nodes, ElementwiseOfTwo) {
  for_each_level([](const char*) {
    for (const int32_t slots : {1, 3}) {
      Values v(static_cast<uint32_t>(slots));
      struct {
        std::vector<int64_t> a, b;
      } const shapes[] = {{{3, 700, 11}, {3, 700, 11}},
                          {{4, 9, 7}, {7}},
                          {{2, 3, 2100}, {2, 1, 2100}},
                          {{5, 6, 33}, {5, 6, 1}},
                          {{1}, {70, 40}},
                          {{3, 1, 1500}, {3, 5, 1}},
                          {{}, {}},
                          {{6, 1, 8, 1}, {1, 9, 1, 5}}};
      for (const auto& s : shapes) {
        for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax})
          Case(op, binary(), {v.halves(s.a, 1, 2), v.halves(s.b, 1, 2)}).expect_close("chain_f16", kShare, slots);
      }
    }
  });
}

TEST(CpuF16Nodes, Chains) {
  for_each_level([](const char*) {
    for (const int32_t slots : {1, 3}) {
      for (const std::vector<int64_t>& row : {std::vector<int64_t>{1, 1, 90}, {4, 1, 1}, {1}, {4, 50, 90}}) {
        Values v(static_cast<uint32_t>(row.size()));
        Composite c({v.halves({4, 50, 90}, -2, 2), v.halves(row, -2, 2)});
        const int32_t half = c.constant(v.halves({}, 0.5f, 0.6f));
        const int32_t sum = c.node(Op::kAdd, binary(), {0, 1});
        const int32_t gate = c.node(Op::kSigmoid, unary(), {sum});
        const int32_t scaled = c.node(Op::kMul, binary(), {gate, half});
        c.outputs({c.node(Op::kMul, binary(), {sum, scaled})});
        c.expect_close("chain_f16", kShare, slots);
      }
    }
  });
}

}  // namespace
}  // namespace vireo
