// LSTM and GRU on codes, against their bodies, which the reference kernels run node by node.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/recurrent/recurrent_generated.h"
#include "sdk/ops/view.h"

namespace vireo::recurrent_codes_ops_test {
namespace {

using cpu::testing::for_each_level;
using Way = attrs::RecurrentDirection;

struct Cell {
  Op op = Op::kGRU;
  int64_t steps = 5, batch = 1, inputs = 9, hidden = 8;
  Way way = Way::Forward;
  bool whole = false;  // with bias and initial states
  bool batch_first = false, linear = false;
  unsigned results = 7;  // y, y_h, y_c: one bit each
  DType x_type = DType::kU8;
  bool shared_scales = false;  // of both directions
  bool lengths = false, computed_weights = false;
  float clip = 0, state_scale = 2.0f / 255;
};

Composite cell(const Cell& p) {
  const bool lstm = p.op == Op::kLSTM;
  attrs::RecurrentT a;
  a.direction = p.way;
  a.batch_first = p.batch_first;
  a.clip = p.clip;
  a.linear_before_reset = p.linear;
  a.state_scale = p.state_scale;
  a.state_zero = 128;
  Values v(static_cast<uint32_t>(p.steps + p.batch + p.hidden));
  const int64_t d = p.way == Way::Bidirectional ? 2 : 1, rows = (lstm ? 4 : 3) * p.hidden;
  const auto first = [&](int64_t outer, int64_t inner) {
    return p.batch_first ? std::vector<int64_t>{p.batch, outer, inner} : std::vector<int64_t>{outer, p.batch, inner};
  };
  const bool blocks = d == 2 && !p.shared_scales;
  const std::vector<int64_t> scales = blocks ? std::vector<int64_t>{d, rows, 1} : std::vector<int64_t>{rows};
  std::vector<TestTensor> inputs = {v.bytes(DType::kI8, {d, rows, p.inputs}),
                                    v.reals(scales, 0.002f, 0.008f),
                                    v.bytes(DType::kI8, {d, rows, p.hidden}),
                                    v.reals(scales, 0.0005f, 0.002f),
                                    v.bytes(p.x_type, first(p.steps, p.inputs)),
                                    v.reals({}, 0.01f, 0.02f),
                                    v.bytes(p.x_type, {})};
  std::vector<int32_t> in(lstm ? 7 : 6, -1);
  const auto add = [&](size_t operand, const TestTensor& t) {
    in[operand] = static_cast<int32_t>(inputs.size());
    inputs.push_back(t);
  };
  if (p.whole) add(3, v.reals({d, 2 * rows}, -0.5f, 0.5f));
  if (p.lengths) add(4, v.integers({p.batch}, 0));
  if (p.whole) add(5, v.reals(first(d, p.hidden), -1, 1));
  if (p.whole && lstm) add(6, v.reals(first(d, p.hidden), -1, 1));
  Composite c(inputs);
  for (const size_t i : {0, 1, 2, 3, 5, 6}) {
    if (i != 2 || !p.computed_weights) c.is_constant(i);
  }
  const auto of_rows = [&](int64_t columns) {
    attrs::DequantizeLinearT q;
    q.axis = blocks ? 2 : 1;
    q.block_size = blocks ? static_cast<int32_t>(columns) : 0;
    return pack<attrs::DequantizeLinear>(q);
  };
  in[1] = c.node(Op::kDequantizeLinear, of_rows(p.inputs), {0, 1});
  in[2] = c.node(Op::kDequantizeLinear, of_rows(p.hidden), {2, 3});
  in[0] = c.node(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(attrs::DequantizeLinearT{}), {4, 5, 6});
  const int32_t y = c.node(p.op, pack<attrs::Recurrent>(a), in, lstm ? 3 : 2);
  std::vector<int32_t> results;
  for (int32_t o = 0; o < (lstm ? 3 : 2); ++o) {
    if ((p.results >> o & 1) != 0) results.push_back(y + o);
  }
  c.outputs(results);
  return c;
}

const char* kernel_of(const Cell& p) { return p.op == Op::kLSTM ? "lstm_i8" : "gru_i8"; }

// The body sums floats where the kernel sums integers: where h / s lies beside the middle of two codes, they may take
// different ones. That moves a sum by s max|r|, 0.002 here, and decays: weights of the recurrence are small.
constexpr double kShare = 0.01;

void expect_as_the_body(const Cell& p, int32_t slots = 1) {
  SCOPED_TRACE(std::string(kernel_of(p)) + " steps " + std::to_string(p.steps) + " batch " + std::to_string(p.batch) +
               " hidden " + std::to_string(p.hidden) + " way " + std::to_string(static_cast<int>(p.way)));
  cell(p).expect_close(kernel_of(p), kShare, slots);
}

TEST(CpuRecurrentCodes, AsTheBody) {
  for_each_level([](const char*) {
    for (const Op op : {Op::kLSTM, Op::kGRU}) {
      for (const int64_t steps : {1, 5, 70}) {
        for (const int64_t batch : {1, 3}) {
          for (const Way way : {Way::Forward, Way::Reverse, Way::Bidirectional}) {
            for (const bool whole : {false, true}) {
              Cell p{op, steps, batch, 9, steps == 5 ? 17 : 32, way, whole};
              p.batch_first = batch == 1 && whole;
              p.linear = whole;
              p.x_type = whole ? DType::kI8 : DType::kU8;
              p.shared_scales = batch == 3;
              expect_as_the_body(p, batch == 3 ? 3 : 1);
            }
          }
        }
      }
    }
  });
}

// Products that begin with a panel, and such that cannot be packed; the reset gate on either side.
TEST(CpuRecurrentCodes, PanelsOfGates) {
  for_each_level([](const char*) {
    for (const int64_t hidden : {1, 16, 21, 64, 96}) {
      for (const bool linear : {false, true}) {
        for (const Way way : {Way::Forward, Way::Bidirectional}) {
          Cell p{Op::kGRU, 5, 2, 40, hidden, way, true};
          p.linear = linear;
          expect_as_the_body(p);
        }
      }
    }
  });
}

TEST(CpuRecurrentCodes, AnyResults) {
  for (const Op op : {Op::kLSTM, Op::kGRU}) {
    for (unsigned results = 1; results < (op == Op::kLSTM ? 8u : 4u); ++results) {
      Cell p{op, 5, 2, 9, 17, Way::Bidirectional, true};
      p.results = results;
      expect_as_the_body(p);
    }
  }
}

TEST(CpuRecurrentCodes, ExtentsThatVary) {
  for (const Op op : {Op::kLSTM, Op::kGRU}) {
    const char* const kernel = op == Op::kLSTM ? "lstm_i8" : "gru_i8";
    cell({op, 70, 4, 9, 8}).runs_as(cell({op, 66, 3, 9, 8})).expect_close(kernel, kShare, 2);
    cell({op, 70, 4, 9, 8, Way::Bidirectional})
        .runs_as(cell({op, 3, 1, 9, 8, Way::Bidirectional}))
        .expect_close(kernel, kShare, 2);
  }
}

TEST(CpuRecurrentCodes, TheSameBitsOnAllInstructionSets) {
  for (const Op op : {Op::kLSTM, Op::kGRU}) {
    for (const bool linear : {false, true}) {
      Cell p{op, 70, 3, 40, 65, Way::Bidirectional, true};
      p.linear = linear;
      std::vector<std::vector<uint8_t>> wanted;
      for_each_level([&](const char* level) {
        for (const int32_t slots : {1, 3}) {
          const auto got = cell(p).run(kernel_of(p), slots, true);
          if (wanted.empty()) wanted = got;
          ASSERT_EQ(got, wanted) << kernel_of(p) << " on " << level;
        }
      });
    }
  }
}

TEST(CpuRecurrentCodes, NothingOfAnExtent) {
  for (const Op op : {Op::kLSTM, Op::kGRU}) {
    expect_as_the_body({op, 0, 3, 9, 8, Way::Bidirectional, true});
    expect_as_the_body({op, 4, 0, 9, 8, Way::Bidirectional, true});
  }
}

TEST(CpuRecurrentCodes, LeavesOtherBodies) {
  Cell p;
  p.computed_weights = true;
  cell(p).expect_left();
  p.computed_weights = false;
  p.clip = 1;
  cell(p).expect_left();
  p.clip = 0;
  p.state_scale = 0;
  cell(p).expect_left();
  p.state_scale = 2.0f / 255;
  p.lengths = true;
  cell(p).expect_left();
  p.lengths = false;
  p.batch_first = true;
  p.batch = 2;
  cell(p).expect_left();
}

}  // namespace
}  // namespace vireo::recurrent_codes_ops_test
