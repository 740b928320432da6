// The tuned kernels against the reference kernels of sdk/ops, through the delegate as a session drives it, on every
// instruction set of this machine.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose_generated.h"
#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/lrn/lrn_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/recurrent/recurrent_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/scatter/scatter_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/top_k/top_k_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/unique/unique_generated.h"
#include "sdk/ops/view.h"
#include "tests/support/sample.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

// ---- Codes

TEST(CpuQuantize, SameBits) {
  for_each_level([](const char*) {
    for (const DType code : {DType::kU8, DType::kI8}) {
      for (const std::vector<int64_t>& dims :
           {std::vector<int64_t>{1}, {17}, {3, 5, 7}, {2, 33, 16}, {4, 3, 40}, {70000}}) {
        for (int axis = -1; axis < static_cast<int>(dims.size()); ++axis) {  // -1: one scale
          Values v(static_cast<uint32_t>(dims.size() + 3));
          const std::vector<int64_t> many = {axis < 0 ? 1 : dims[static_cast<size_t>(axis)]};
          TestTensor x = v.reals(dims, -40, 40);
          const float odd[] = {NAN, INFINITY, -INFINITY, 0.125f, -0.125f, 1e30f, 1e-40f};  // 0.125 / 0.25 is a tie
          for (size_t i = 0; i < 7 && (i + 1) * 4 <= x.bytes.size() && x.bytes.size() > 60; ++i)
            std::memcpy(x.bytes.data() + 8 * i, &odd[i], 4);
          TestTensor scale = v.reals(many, 0.1f, 0.5f);
          const float quarter = 0.25f;
          std::memcpy(scale.bytes.data(), &quarter, 4);
          attrs::QuantizeLinearT q;
          q.axis = axis < 0 ? 0 : axis;
          attrs::DequantizeLinearT dq;
          dq.axis = q.axis;
          const TestTensor zero = v.bytes(code, many);
          for (const int32_t slots : {1, 3}) {
            Case(Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(q), {x, scale, zero})
                .expect_same_bits("quantize_f32", slots);
            Case(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(dq), {v.bytes(code, dims), scale, zero})
                .expect_same_bits("dequantize_f32", slots);
          }
          Case(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(dq), {v.bytes(code, dims), scale})
              .expect_same_bits("dequantize_f32");
          Case(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(dq), {v.integers(dims, INT32_MAX), scale})
              .expect_same_bits("dequantize_f32");
        }
      }
    }
  });
}

TEST(CpuQuantize, BlocksOfRowsSameBits) {
  const struct {
    std::vector<int64_t> x, scale;
    int32_t block;
  } kCases[] = {{{3, 70}, {3, 3}, 32},
                {{1, 2, 64}, {1, 2, 2}, 32},
                {{5, 7}, {5, 3}, 3},
                {{40}, {5}, 8},
                {{300, 72}, {300, 1}, 72}};
  for (const auto& c : kCases) {
    for (const DType code : {DType::kI4, DType::kU4, DType::kI8, DType::kU8}) {
      Values v(static_cast<uint32_t>(c.block));
      attrs::DequantizeLinearT a;
      a.axis = -1;
      a.block_size = c.block;
      const TestTensor x = v.bytes(code, c.x), scale = v.reals(c.scale, -0.5f, 0.5f);
      Case(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), {x, scale})
          .expect_same_bits("dequantize_blocks_f32");
      Case(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), {x, scale, v.bytes(code, c.scale)})
          .expect_same_bits("dequantize_blocks_f32", 3);
    }
  }
}

TEST(CpuQuantize, DynamicSameBits) {
  for_each_level([](const char*) {
    for (const int64_t count : {1, 15, 16, 17, 100, 50000}) {
      for (const float high : {0.0f, 3.0f, 1000.0f}) {
        Values v(static_cast<uint32_t>(count));
        TestTensor x = v.reals({count}, -2, high);
        for (const int32_t slots : {1, 3})
          Case(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}), {x}, 3)
              .expect_same_bits("dynamic_quantize_f32", slots);
      }
      Case(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}),
           {Values(1).reals({count}, 0, 0)}, 3)
          .expect_same_bits("dynamic_quantize_f32");
    }
  });
}

// ---- Integer products

TEST(CpuInteger, MatrixProductsSameBits) {
  struct Shapes {
    std::vector<int64_t> a, b;
    int64_t rows, columns;
  };
  const Shapes shapes[] = {
      {{1, 1}, {1, 1}, 1, 1},          {{7, 33}, {33, 31}, 7, 31},      {{8, 16}, {16, 32}, 8, 32},
      {{9, 5}, {5, 65}, 9, 65},        {{2, 3, 40}, {40, 33}, 3, 33},   {{2, 3, 9}, {2, 9, 17}, 3, 17},
      {{4, 1, 1, 6}, {3, 6, 2}, 1, 2}, {{40}, {40, 12}, 1, 12},         {{5, 40}, {40}, 5, 1},
      {{50, 0}, {0, 3}, 50, 3},        {{37, 4100}, {4100, 35}, 37, 35}};
  for_each_level([&](const char*) {
    for (const Shapes& s : shapes) {
      for (int signs = 0; signs < 4; ++signs) {
        for (const bool many : {false, true}) {
          if (many && (s.a.size() != 2 || s.b.size() != 2)) continue;
          Values v(static_cast<uint32_t>(s.columns + signs));
          const DType at = byte_type(signs & 1), bt = byte_type(signs & 2);
          const std::vector<int64_t> rows = many ? std::vector<int64_t>{s.rows} : std::vector<int64_t>{};
          const std::vector<int64_t> columns = many ? std::vector<int64_t>{s.columns} : std::vector<int64_t>{};
          const TestTensor a = v.bytes(at, s.a), b = v.bytes(bt, s.b);
          Case(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}),
               {a, b, v.bytes(at, rows), v.bytes(bt, columns)})
              .expect_same_bits("gemm_i8i8i32", many ? 3 : 1);
          Case(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}), {a, b})
              .expect_same_bits("gemm_i8i8i32");
          Case(Op::kQLinearMatMul, pack<attrs::QLinearMatMul>(attrs::QLinearMatMulT{}),
               {a, v.reals({}, 0.01f, 0.02f), v.bytes(at, {}), b, v.reals(columns, 0.01f, 0.03f), v.bytes(bt, columns),
                v.reals({}, 0.2f, 0.9f), v.bytes(at, {})})
              .expect_same_bits("gemm_i8i8i8", many ? 3 : 1);
        }
      }
    }
  });
}

TEST(CpuInteger, ConvolutionsSameBits) {
  struct Conv {
    std::vector<int64_t> x, w;
    int group, stride, pad, dilation;
  };
  const Conv convs[] = {{{1, 3, 9, 11}, {5, 3, 3, 3}, 1, 1, 1, 1},    {{2, 4, 8, 33}, {16, 2, 3, 3}, 2, 2, 1, 1},
                        {{1, 16, 7, 7}, {40, 16, 1, 1}, 1, 1, 0, 1},  {{1, 16, 7, 7}, {9, 16, 1, 1}, 1, 2, 0, 1},
                        {{2, 6, 12, 19}, {6, 1, 3, 3}, 6, 1, 1, 1},   {{1, 6, 12, 19}, {12, 1, 5, 5}, 6, 2, 2, 1},
                        {{1, 3, 40}, {8, 3, 5}, 1, 1, 2, 2},          {{1, 2, 4, 5, 6}, {3, 2, 2, 3, 3}, 1, 1, 1, 1},
                        {{1, 500, 3, 3}, {10, 500, 3, 3}, 1, 1, 1, 1}};
  for_each_level([&](const char*) {
    for (const Conv& c : convs) {
      for (int signs = 0; signs < 4; ++signs) {
        for (const bool many : {false, true}) {
          Values v(static_cast<uint32_t>(c.w[0] + signs));
          const DType xt = byte_type(signs & 1), wt = byte_type(signs & 2);
          const std::vector<int64_t> channels = many ? std::vector<int64_t>{c.w[0]} : std::vector<int64_t>{};
          attrs::ConvIntegerT a;
          a.group = c.group;
          for (size_t i = 2; i < c.x.size(); ++i) {
            a.strides.push_back(c.stride);
            a.dilations.push_back(c.dilation);
            a.pads.push_back(c.pad);
            a.pads.push_back(c.pad);
          }
          const TestTensor x = v.bytes(xt, c.x), w = v.bytes(wt, c.w);
          const int32_t slots = many ? 3 : 1;
          Case(Op::kConvInteger, pack<attrs::ConvInteger>(a), {x, w, v.bytes(xt, {}), v.bytes(wt, channels)})
              .expect_same_bits("conv_i8i8i32_nchw", slots);
          Case(
              Op::kQLinearConv, pack<attrs::ConvInteger>(a),
              {x, v.reals({}, 0.01f, 0.02f), v.bytes(xt, {}), w, v.reals(channels, 0.01f, 0.03f), v.bytes(wt, channels),
               v.reals({}, 0.2f, 0.9f), v.bytes(xt, {}), many ? v.integers({c.w[0]}, 3000) : kAbsent})
              .expect_same_bits("conv_i8i8i8_nchw", slots);
        }
      }
    }
  });
}

// ---- Transposed convolution

TEST(CpuConvTranspose, AsTheReference) {
  struct Conv {
    std::vector<int64_t> x, w;
    int group, stride, pad, dilation, extra;
  };
  const Conv convs[] = {{{1, 3, 4, 5}, {3, 2, 3, 3}, 1, 2, 1, 1, 1},
                        {{2, 4, 7, 16}, {4, 3, 2, 2}, 2, 2, 0, 1, 0},
                        {{1, 5, 9}, {5, 6, 4}, 1, 3, 1, 2, 0},
                        {{1, 2, 3, 4, 5}, {2, 3, 2, 3, 3}, 1, 1, 1, 1, 0},
                        {{1, 6, 5, 5}, {6, 1, 3, 3}, 6, 2, 1, 1, 0}};
  for_each_level([&](const char*) {
    for (const Conv& c : convs) {
      for (const bool by_shape : {false, true}) {
        for (const int32_t slots : {1, 3}) {
          Values v(7);
          attrs::ConvTransposeT a;
          a.group = c.group;
          for (size_t i = 2; i < c.x.size(); ++i) {
            a.strides.push_back(c.stride);
            a.dilations.push_back(c.dilation);
            a.output_padding.push_back(c.extra);
            if (by_shape) {
              a.output_shape.push_back(static_cast<int32_t>(c.stride * (c.x[i] - 1) + c.dilation * (c.w[i] - 1)));
            } else {
              a.pads.push_back(c.pad);
              a.pads.push_back(c.pad);
            }
          }
          // One float32 rounding a product: under 5 * 9 + 6 terms, each at most the largest output's magnitude.
          Case(Op::kConvTranspose, pack<attrs::ConvTranspose>(a),
               {v.reals(c.x, -1, 1), v.reals(c.w, -1, 1), slots == 1 ? kAbsent : v.reals({c.w[1] * c.group}, -1, 1)})
              .expect_close("conv_transpose_f32_nchw", 3e-6, slots);
        }
      }
    }
  });
}

// ---- Resize

TEST(CpuResize, SameBits) {
  using Mode = attrs::ResizeMode;
  using Coordinate = attrs::ResizeCoordinate;
  struct Scales {
    std::vector<int64_t> x;
    std::vector<float> scales;
  };
  const Scales scales[] = {{{1, 2, 5, 7}, {1, 1, 2, 2}},
                           {{2, 3, 4, 9}, {1, 1, 1.7f, 0.6f}},
                           {{1, 1, 16, 33}, {1, 1, 0.5f, 3}},
                           {{2, 2, 3, 70}, {1, 1, 3, 2}},
                           {{3, 6}, {2.5f, 1}}};
  for_each_level([&](const char*) {
    for (const Scales& s : scales) {
      for (const Mode mode : {Mode::nearest, Mode::linear, Mode::cubic}) {
        for (const Coordinate at : {Coordinate::half_pixel, Coordinate::align_corners, Coordinate::asymmetric,
                                    Coordinate::pytorch_half_pixel}) {
          for (const bool exclude : {false, true}) {
            attrs::ResizeT a;
            a.mode = mode;
            a.coordinate = at;
            a.exclude_outside = exclude && mode != Mode::nearest;
            Values v(3);
            TestTensor factors = v.reals({static_cast<int64_t>(s.scales.size())}, 1, 1);
            std::memcpy(factors.bytes.data(), s.scales.data(), factors.bytes.size());
            const std::string kernel = mode == Mode::nearest ? "resize_nearest_planes" : "resize_f32_planes";
            Case(Op::kResize, pack<attrs::Resize>(a), {v.reals(s.x, -5, 5), kAbsent, factors})
                .expect_same_bits(kernel, exclude ? 3 : 1);
            for (const DType t : {DType::kU8, DType::kI8, DType::kF16, DType::kI64}) {
              if (mode != Mode::nearest && t != DType::kU8 && t != DType::kI8) continue;
              Case(Op::kResize, pack<attrs::Resize>(a), {v.bytes(t, s.x), kAbsent, factors})
                  .expect_same_bits(mode == Mode::nearest ? kernel : "resize_i8_planes", exclude ? 3 : 1);
            }
          }
        }
      }
    }
  });
}

// Channels behind the two axes, which are named in the order of a tensor channels first, or not at all.
TEST(CpuResize, PixelsSameBits) {
  using Mode = attrs::ResizeMode;
  const struct {
    std::vector<int64_t> x;
    std::vector<int32_t> axes;
    std::vector<float> scales;
  } cases[] = {{{1, 5, 7, 2}, {0, 3, 1, 2}, {1, 1, 2, 2}},
               {{2, 4, 9, 19}, {}, {1, 1.7f, 0.6f, 1}},
               {{1, 3, 6, 33}, {1, 2}, {3, 0.5f}},
               {{2, 7, 16}, {0, 2, 1}, {1, 1, 2.5f}}};
  for_each_level([&](const char*) {
    for (const auto& s : cases) {
      for (const Mode mode : {Mode::nearest, Mode::linear, Mode::cubic}) {
        attrs::ResizeT a;
        a.mode = mode;
        a.axes = s.axes;
        Values v(3);
        TestTensor factors = v.reals({static_cast<int64_t>(s.scales.size())}, 1, 1);
        std::memcpy(factors.bytes.data(), s.scales.data(), factors.bytes.size());
        const std::string kernel = mode == Mode::nearest ? "resize_nearest_pixels" : "resize_f32_pixels";
        for (const int32_t slots : {1, 3})
          Case(Op::kResize, pack<attrs::Resize>(a), {v.reals(s.x, -5, 5), kAbsent, factors})
              .expect_same_bits(kernel, slots);
        for (const DType t : {DType::kU8, DType::kI8, DType::kF16, DType::kI64}) {
          if (mode != Mode::nearest && t != DType::kU8 && t != DType::kI8) continue;
          Case(Op::kResize, pack<attrs::Resize>(a), {v.bytes(t, s.x), kAbsent, factors})
              .expect_same_bits(mode == Mode::nearest ? kernel : "resize_i8_pixels");
        }
      }
    }
  });
}

// ---- Recurrent cells

TEST(CpuRecurrent, AsTheReference) {
  using Way = attrs::RecurrentDirection;
  for_each_level([](const char*) {
    for (const Op op : {Op::kLSTM, Op::kGRU}) {
      const int64_t gates = op == Op::kLSTM ? 4 : 3;
      for (const int64_t steps : {0, 1, 5, 70}) {
        for (const int64_t batch : {1, 3, 6}) {
          for (const Way way : {Way::Forward, Way::Reverse, Way::Bidirectional}) {
            const int64_t inputs = 9, hidden = steps == 5 ? 17 : 8, d = way == Way::Bidirectional ? 2 : 1;
            for (const bool whole : {false, true}) {  // with bias and initial state
              attrs::RecurrentT a;
              a.direction = way;
              a.linear_before_reset = op == Op::kGRU && batch != 3;
              a.batch_first = batch == 1 && whole;
              Values v(static_cast<uint32_t>(steps + batch));
              const std::vector<int64_t> state =
                  a.batch_first ? std::vector<int64_t>{batch, d, hidden} : std::vector<int64_t>{d, batch, hidden};
              std::vector<TestTensor> in = {v.reals(a.batch_first ? std::vector<int64_t>{batch, steps, inputs}
                                                                  : std::vector<int64_t>{steps, batch, inputs},
                                                    -2, 2),
                                            v.reals({d, gates * hidden, inputs}, -0.7f, 0.7f),
                                            v.reals({d, gates * hidden, hidden}, -0.7f, 0.7f),
                                            whole ? v.reals({d, 2 * gates * hidden}, -0.5f, 0.5f) : kAbsent,
                                            kAbsent,
                                            whole ? v.reals(state, -1, 1) : kAbsent};
              if (op == Op::kLSTM) in.push_back(whole ? v.reals(state, -1, 1) : kAbsent);
              // Sums of under 40 terms lose 40 * 2^-24, functions 3 * 2^-24; the gates keep errors from growing.
              Case(op, pack<attrs::Recurrent>(a), std::move(in), op == Op::kLSTM ? 3 : 2)
                  .expect_close(op == Op::kLSTM ? "lstm_f32" : "gru_f32", 5e-6, batch == 6 ? 3 : 1);
            }
          }
        }
      }
    }
  });
}

// Weights that are no constants: what the input's products pack on the way has room for each thread, also where the
// last one is shorter and is cut otherwise.
TEST(CpuRecurrent, WeightsThatAreGiven) {
  for_each_level([](const char*) {
    const auto lstm = [](int64_t steps, int64_t inputs, int64_t hidden) {
      Values v(static_cast<uint32_t>(hidden));
      return Case(Op::kLSTM, pack<attrs::Recurrent>(attrs::RecurrentT{}),
                  {v.reals({steps, 1, inputs}, -1, 1), v.reals({1, 4 * hidden, inputs}, -0.1f, 0.1f),
                   v.reals({1, 4 * hidden, hidden}, -0.1f, 0.1f)},
                  3);
    };
    for (const int32_t slots : {1, 2, 4}) {
      // Sums of under 400 terms lose 400 * 2^-24, of values under 0.1.
      lstm(64, 128, 128).varies(1).by_turns().expect_close("lstm_f32", 5e-5, slots);
      lstm(100, 256, 100).varies(1).by_turns().expect_close("lstm_f32", 5e-5, slots);
      lstm(100, 256, 100).varies(2).by_turns().expect_close("lstm_f32", 5e-5, slots);
      lstm(100, 256, 100).varies(1).varies(2).by_turns().expect_close("lstm_f32", 5e-5, slots);
    }
  });
}

// ---- Matrix products whose extents vary

TEST(CpuMatMul, BatchesThatVary) {
  const auto matmul = [](int64_t n, int64_t p) {
    Values v(3);
    return Case(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}),
                {v.reals({n, 8, 1024}, -1, 1), v.reals({p, 1024, 480}, -1, 1)});
  };
  const Case most = matmul(8, 8);
  std::vector<Case> runs;
  for (const auto& [n, p] : {std::pair{1, 1}, {1, 3}, {3, 1}, {3, 3}, {1, 8}, {8, 1}, {8, 8}})
    runs.push_back(matmul(n, p));
  for_each_level([&](const char*) {
    // Plans depend on the number of threads, not on the instruction set: each of the lesser ones runs with one number.
    for (const int32_t slots :
         cpu::testing::on_best_level() ? std::vector<int32_t>{1, 2, 4} : std::vector<int32_t>{2}) {
      for (size_t i = 0; i < runs.size(); ++i) {
        if (!tests::in_sample(static_cast<int64_t>(i) + slots)) continue;
        const Case& run = runs[i];
        Case planned = most;
        planned.is_constant(0).is_constant(1);  // those of the copy
        planned.runs_as(run).by_turns().expect_close("gemm_f32", 1e-5, slots);
      }
    }
  });
}

// Batches broadcast dimension by dimension, and may come to do so in another way than at their bounds.
TEST(CpuMatMul, BatchesThatBroadcast) {
  const auto matmul = [](std::vector<int64_t> a, std::vector<int64_t> b, int64_t m = 7) {
    a.insert(a.end(), {m, 40});
    b.insert(b.end(), {40, 24});
    Values v(3);
    return Case(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {v.reals(a, -1, 1), v.reals(b, -1, 1)});
  };
  for_each_level([&](const char*) {
    for (const int32_t slots : {1, 3}) {
      matmul({4, 1}, {1, 8}).expect_close("gemm_f32", 1e-5, slots);
      matmul({2, 1, 3}, {5, 1}).expect_close("gemm_f32", 1e-5, slots);
      matmul({1, 2, 1, 3}, {4, 1, 5, 1}, 1).expect_close("gemm_f32", 1e-5, slots);
      matmul({}, {6}).expect_close("gemm_f32", 1e-5, slots);
      matmul({3}, {2, 3}).expect_close("gemm_f32", 1e-5, slots);
      const Case most = matmul({6, 4}, {6, 4});
      for (const auto& [a, b] : {std::pair<std::vector<int64_t>, std::vector<int64_t>>{{6, 1}, {1, 4}},
                                 {{1, 4}, {6, 1}},
                                 {{1, 1}, {6, 4}},
                                 {{5, 4}, {5, 1}},
                                 {{1, 1}, {1, 1}}}) {
        Case planned = most;
        planned.is_constant(0).is_constant(1);  // those of the copy
        planned.runs_as(matmul(a, b)).by_turns().expect_close("gemm_f32", 1e-5, slots);
      }
      Case one_side = matmul({}, {6});
      one_side.is_constant(1).runs_as(matmul({}, {4})).by_turns().expect_close("gemm_f32", 1e-5, slots);
    }
  });
}

// ---- Attention whose extents vary

TEST(CpuAttention, HeadsAndKeysThatVary) {
  const auto attention = [](int64_t heads, int64_t keys) {
    Values v(3);
    return Case(
        Op::kAttention, pack<attrs::Attention>(attrs::AttentionT{}),
        {v.reals({1, 8, 1, 64}, -1, 1), v.reals({1, heads, keys, 64}, -1, 1), v.reals({1, heads, keys, 64}, -1, 1)});
  };
  int64_t number = 0;
  for (const int32_t slots : {1, 4}) {
    for (const int64_t keys : {1, 1200, 4096}) {
      if (!tests::in_sample(number++)) continue;
      attention(8, 5000).runs_as(attention(8, keys)).by_turns().expect_close("attention_f32", 1e-5, slots);
    }
    attention(8, 5000).runs_as(attention(1, 100)).by_turns().expect_close("attention_f32", 1e-5, slots);
    // As many queries for one head of keys need more room than one for each.
    (void)attention(8, 5000).runs_as(attention(1, 5000)).fails_with(VIREO_UNSUPPORTED).run("attention_f32", slots);
  }
}

// A bias that may turn out to be one number for all columns is no row of them.
TEST(CpuGemm, BiasThatVaries) {
  const auto gemm = [](int64_t bias) {
    Values v(3);
    return Case(Op::kGemm, pack<attrs::Gemm>(attrs::GemmT{}),
                {v.reals({4, 16}, -1, 1), v.reals({16, 24}, -1, 1), v.reals({bias}, -1, 1)});
  };
  gemm(24).expect_close("gemm_f32", 1e-5);
  gemm(24).varies(2).expect_close("gemm_f32", 1e-5);
  gemm(24).runs_as(gemm(1)).expect_close("reference", 1e-5);
}

// ---- Threads

// Whoever is asked to work, not how long it takes: a node of few elements is its caller's alone, whatever its kernel
// holds worth a thread's while (the reference of LRN, one row), and a large one is shared.
TEST(CpuThreads, SmallNodesStayWithTheirCaller) {
  Values v(1);
  const auto jobs = [](Case node, const char* kernel, bool packs = false) {
    (void)node.run(kernel, 3, packs);
    return node.jobs();
  };
  const auto lrn = [&](int64_t side) {
    return Case(Op::kLRN, pack<attrs::LRN>(attrs::LRNT{}), {v.reals({1, 8, side, side}, -1, 1)});
  };
  EXPECT_EQ(jobs(lrn(8), "reference"), 0);
  EXPECT_GT(jobs(lrn(40), "reference"), 0);
  const auto gemm = [&](int64_t m, int64_t k, int64_t n) {
    return Case(Op::kGemm, pack<attrs::Gemm>(attrs::GemmT{}), {v.reals({m, k}, -1, 1), v.reals({k, n}, -1, 1)});
  };
  for (const bool packs : {false, true}) {
    EXPECT_EQ(jobs(gemm(20, 20, 20), "gemm_f32", packs), 0);
    EXPECT_EQ(jobs(gemm(1, 128, 640), "gemm_f32", packs), 0);  // some microseconds
    EXPECT_GT(jobs(gemm(200, 200, 200), "gemm_f32", packs), 0);
  }
  const auto softmax = [&](int64_t rows) {
    return Case(Op::kSoftmax, pack<attrs::Softmax>(attrs::SoftmaxT{}), {v.reals({rows, 100}, -1, 1)});
  };
  EXPECT_EQ(jobs(softmax(10), "softmax_f32"), 0);
  EXPECT_GT(jobs(softmax(2000), "softmax_f32"), 0);
  const auto lstm = [&](int64_t steps) {
    attrs::RecurrentT a;
    a.direction = attrs::RecurrentDirection::Bidirectional;
    return Case(Op::kLSTM, pack<attrs::Recurrent>(a),
                {v.reals({steps, 1, 8}, -1, 1), v.reals({2, 64, 8}, -1, 1), v.reals({2, 64, 16}, -1, 1)}, 3);
  };
  EXPECT_EQ(jobs(lstm(4), "lstm_f32", true), 0);
  EXPECT_EQ(jobs(lstm(400), "lstm_f32", true), 1);  // one direction each
}

// ---- float16

TEST(CpuHalf, AsTheReference) {
  for_each_level([](const char*) {
    for (const int32_t slots : {1, 3}) {
      for (const int group : {1, 4}) {
        Values v(9);
        attrs::ConvT a;
        a.group = group;
        a.pads = {1, 1, 1, 1};
        a.strides = {1, 2};
        // Sums of at most 36 terms in float32, rounded to float16: one unit of 2^-11 where the last bit falls
        // otherwise.
        Case(Op::kConv, pack<attrs::Conv>(a),
             {v.halves({2, 4, 9, 13}, -1, 1), v.halves({8, 4 / group, 3, 3}, -1, 1),
              slots == 1 ? kAbsent : v.halves({8}, -1, 1)})
            .expect_close("conv_f16_nchw", 0x1p-11, slots);
      }
      Values v(5);
      Case(Op::kRelu, pack<attrs::Unary>(attrs::UnaryT{}), {v.halves({3, 70001}, -4, 4)})
          .expect_same_bits("activate_f16", slots);
      Case(Op::kSigmoid, pack<attrs::Unary>(attrs::UnaryT{}), {v.halves({1025}, -4, 4)})
          .expect_close("activate_f16", 0x1p-11, slots);
    }
  });
}

// ---- Copies and conversions

TEST(CpuRotary, AsTheReference) {
  for_each_level([](const char*) {
    for (const bool packed : {false, true}) {
      Values v(9);
      attrs::RotaryEmbeddingT a;
      a.heads = packed ? 3 : 0;
      a.rotated = 6;
      const std::vector<int64_t> dims = packed ? std::vector<int64_t>{2, 5, 30} : std::vector<int64_t>{2, 3, 5, 10};
      Case one(Op::kRotaryEmbedding, pack<attrs::RotaryEmbedding>(a),
               {v.reals(dims, -2, 2), v.reals({2, 5, 3}, -1, 1), v.reals({2, 5, 3}, -1, 1)});
      one.expect_close("rotary_f32", 3 * 0x1p-24, 2);  // two products and a sum
    }
  });
}

TEST(CpuScatter, SameBits) {
  const std::pair<DType, const char*> types[] = {{DType::kU8, "scatter_nd_8bit"},
                                                 {DType::kF16, "scatter_nd_16bit"},
                                                 {DType::kI32, "scatter_nd_32bit"},
                                                 {DType::kI64, "scatter_nd_64bit"}};
  for (const auto& [type, kernel] : types) {
    for (const int64_t depth : {1, 2, 3}) {
      Values v(4);
      const std::vector<int64_t> dims = {5, 4, 7};
      TestTensor indices = v.bytes(DType::kI64, {6, depth});
      std::vector<int64_t> updates = {6};
      for (size_t i = static_cast<size_t>(depth); i < 3; ++i) updates.push_back(dims[i]);
      for (int64_t k = 0; k < 6 * depth; ++k) {  // negative ones, and the same place twice: the last one stays
        const int64_t d = dims[static_cast<size_t>(k % depth)], index = k / depth % 3 == 0 ? -1 - k % d : k % d;
        std::memcpy(indices.bytes.data() + k * 8, &index, 8);
      }
      Case(Op::kScatterND, pack<attrs::ScatterND>(attrs::ScatterNDT{}),
           {v.bytes(type, dims), indices, v.bytes(type, updates)})
          .expect_same_bits(kernel);
      attrs::ScatterNDT add;
      add.reduction = attrs::ScatterReduction::add;
      Case(Op::kScatterND, pack<attrs::ScatterND>(add), {v.reals(dims, -1, 1), indices, v.reals(updates, -1, 1)})
          .expect_same_bits("scatter_nd_add_f32");
    }
  }
}

// ---- Extents of 0

// A node as it is declared; no kernel has seen it.
class Declared : public NodeCase {
 public:
  Declared(Op op, const std::vector<uint8_t>& attrs, std::vector<TestTensor> inputs, const std::vector<TestTensor>& y) {
    inputs_ = std::move(inputs);
    wanted_ = y;
    TestNode n = test_node(op, attrs);
    for (const TestTensor& t : inputs_) {
      n.inputs.push_back(static_cast<int32_t>(graph_.values.size()));
      graph_.values.push_back({t.type, nullptr, 0});
    }
    for (const TestTensor& t : y) {
      n.outputs.push_back(static_cast<int32_t>(graph_.values.size()));
      graph_.values.push_back({t.type, nullptr, 0});
    }
    graph_.nodes.push_back(std::move(n));
  }
  size_t scratch(bool varies) {
    for (TestValue& v : graph_.values) v.varies = varies;
    const vireo_host host = test_host();
    const TestPart part(vireo_cpu_delegate, nullptr, host, &graph_, 0, TestClaim(), /*packs=*/false);
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    EXPECT_EQ(part.memory(1, &memory), VIREO_OK);
    return memory.scratch_bytes;
  }
};

TestTensor declared(DType t, const std::vector<int64_t>& dims, std::vector<uint8_t> bytes = {}) {
  TestTensor out;
  out.type = {t, make_shape(dims)};
  out.bytes = std::move(bytes);
  return out;
}

TEST(CpuScratch, ThatIs0AtTheBoundsStillBoundsTheRun) {
  attrs::UniqueT a;
  a.flat = false;
  const TestTensor x = declared(DType::kF32, {0, 1000});
  Declared unique(Op::kUnique, pack<attrs::Unique>(a), {x}, {x});
  EXPECT_EQ(unique.scratch(/*varies=*/false), 0u);
  EXPECT_GE(unique.scratch(/*varies=*/true), 1u);
  Declared add(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {x, x}, {x});  // whose kernel has none
  EXPECT_EQ(add.scratch(/*varies=*/true), 0u);
}

TEST(CpuEmpty, ExtentsBesideA0TakeNoTime) {
  constexpr int64_t kMany = int64_t{1} << 60;
  const TestTensor none = declared(DType::kF32, {kMany, 1, 0});
  const TestTensor zero = declared(DType::kI64, {1}, std::vector<uint8_t>(8, 0));
  Declared(Op::kCumSum, pack<attrs::Cumulative>(attrs::CumulativeT{}), {none, zero}, {none})
      .expect_same_bits("reference");
  const TestTensor i32 = declared(DType::kI32, {kMany, 0});
  Declared(Op::kGemm, pack<attrs::Gemm>(attrs::GemmT{}), {i32, declared(DType::kI32, {0, 0})}, {i32})
      .expect_same_bits("reference");
  const TestTensor top = declared(DType::kF32, {kMany, 0});
  Declared(Op::kTopK, pack<attrs::TopK>(attrs::TopKT{}), {top, zero}, {top, declared(DType::kI64, {kMany, 0})})
      .expect_same_bits("reference");
}

// An index for each element, along any axis, fewer of them than x has: the reference's bits.
TEST(CpuOps, Elements) {
  Values v(8);
  const std::vector<int64_t> dims = {4, 5, 7}, fewer = {3, 5, 6};
  for (const DType type : {DType::kU8, DType::kF16, DType::kF32, DType::kI64}) {
    for (const DType index_type : {DType::kI32, DType::kI64}) {
      for (int32_t axis = 0; axis < 3; ++axis) {
        const int64_t d = dims[static_cast<size_t>(axis)];
        TestTensor indices = v.bytes(index_type, fewer);
        const size_t size = index_type == DType::kI32 ? 4 : 8;
        for (int64_t k = 0; k * static_cast<int64_t>(size) < static_cast<int64_t>(indices.bytes.size()); ++k) {
          const int64_t index = k % 3 == 0 ? -1 - k % d : k % d;  // the same place more than once
          const auto narrow = static_cast<int32_t>(index);
          std::memcpy(indices.bytes.data() + static_cast<size_t>(k) * size,
                      size == 4 ? static_cast<const void*>(&narrow) : &index, size);
        }
        const auto values = [&](const std::vector<int64_t>& shape) {
          return type == DType::kF32 ? v.reals(shape, -2, 2) : v.bytes(type, shape);
        };
        attrs::GatherElementsT gather;
        gather.axis = axis;
        const TestTensor x = values(dims), updates = values(fewer);
        Case(Op::kGatherElements, pack<attrs::GatherElements>(gather), {x, indices})
            .expect_same_bits("gather_elements");
        attrs::ScatterElementsT scatter;
        scatter.axis = axis;
        Case(Op::kScatterElements, pack<attrs::ScatterElements>(scatter), {x, indices, updates})
            .expect_same_bits("scatter_elements");
        if (type != DType::kF32) continue;
        scatter.reduction = attrs::ScatterReduction::add;
        Case(Op::kScatterElements, pack<attrs::ScatterElements>(scatter), {x, indices, updates})
            .expect_same_bits("scatter_elements_add");
      }
    }
  }
}

TEST(CpuOps, ElementsOutside) {
  Values v(8);
  for (const int64_t bad : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
    TestTensor indices = v.bytes(DType::kI64, {1, 3});
    const int64_t good[3] = {0, 3, -4};
    std::memcpy(indices.bytes.data(), good, sizeof good);
    Case gather(Op::kGatherElements, pack<attrs::GatherElements>(attrs::GatherElementsT{}),
                {v.reals({4, 3}, -1, 1), indices});
    gather.expect_same_bits("gather_elements");
    std::memcpy(indices.bytes.data() + 8, &bad, sizeof bad);
    gather.gives(1, indices).fails_with(VIREO_INVALID_ARGUMENT).run("gather_elements", 1);
  }
}

// Lines along any axis, with equal elements and NaN: the reference's bits.
TEST(CpuOps, Selection) {
  Values v(9);
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{3, 40}, {2, 33, 70}, {1, 5, 1}, {4, 1, 9}}) {
    for (const DType type : {DType::kF32, DType::kI32, DType::kI64}) {
      TestTensor x = v.bytes(type, dims);
      for (size_t i = 0; type == DType::kF32 && i * 4 < x.bytes.size(); ++i) {
        const float f = i % 11 == 3 ? NAN : i % 13 == 5 ? -0.0f : static_cast<float>(i * 7 % 19) - 9;
        std::memcpy(x.bytes.data() + i * 4, &f, 4);
      }
      for (int32_t axis = 0; axis < static_cast<int32_t>(dims.size()); ++axis) {
        for (const bool flag : {false, true}) {
          for (const int32_t slots : {1, 3}) {
            attrs::ArgT arg;
            arg.axis = axis;
            arg.select_last_index = flag;
            Case(Op::kArgMax, pack<attrs::Arg>(arg), {x}).expect_same_bits("arg_max", slots);
            Case(Op::kArgMin, pack<attrs::Arg>(arg), {x}).expect_same_bits("arg_min", slots);
            attrs::TopKT top;
            top.axis = axis;
            top.largest = flag;
            const int64_t all = dims[static_cast<size_t>(axis)];
            for (const int64_t k : {int64_t{1}, (all + 1) / 2, all}) {
              TestTensor count = v.bytes(DType::kI64, {1});
              std::memcpy(count.bytes.data(), &k, 8);
              Case(Op::kTopK, pack<attrs::TopK>(top), {x, count}, 2).expect_same_bits("top_k", slots);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo
