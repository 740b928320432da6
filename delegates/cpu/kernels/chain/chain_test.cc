#include "delegates/cpu/kernels/chain/chain.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;

// ((a + b) relu) * a / c, in three blocks at most, against a plain loop: one right answer each, so bits must agree.
ChainF32 sample() {
  ChainF32 c;
  c.operand_count = 3;
  c.blocks = 2;
  c.step_count = 4;
  c.steps[0] = {true, Binary::kAdd, {}, -1, -2, 0};
  c.steps[1] = {false, Binary::kAdd, {Activation::kRelu, 0, 0}, 0, 0, 1};
  c.steps[2] = {true, Binary::kMul, {}, 1, -1, 0};
  c.steps[3] = {true, Binary::kDiv, {}, 0, -3, 0};
  return c;
}

void strides_of(const std::vector<int64_t>& own, int64_t* strides) {
  int64_t step = 1;
  for (size_t i = own.size(); i-- > 0;) {
    strides[i] = own[i] == 1 ? 0 : step;
    step *= own[i];
  }
}

void check(const std::vector<int64_t>& dims, const std::vector<int64_t>& b_dims, const std::vector<int64_t>& c_dims,
           bool in_place, int32_t slots) {
  const auto count = [](const std::vector<int64_t>& d) {
    int64_t n = 1;
    for (const int64_t e : d) n *= e;
    return static_cast<size_t>(n);
  };
  Floats a(count(dims)), b(count(b_dims)), c(count(c_dims)), y(count(dims));
  testing::fill_uniform(a, 1, -2, 2);
  testing::fill_uniform(b, 2, -2, 2);
  testing::fill_uniform(c, 3, 1, 2);
  const ChainF32 chain = sample();
  ChainOperand operands[3];
  operands[0].data = a.data();
  operands[1].data = b.data();
  operands[2].data = c.data();
  strides_of(dims, operands[0].strides);
  strides_of(b_dims, operands[1].strides);
  strides_of(c_dims, operands[2].strides);
  std::vector<float> want(count(dims));
  for (size_t i = 0; i < want.size(); ++i) {
    size_t at[3] = {0, 0, 0};
    size_t rest = i;
    for (size_t d = dims.size(); d-- > 0;) {
      const size_t index = rest % static_cast<size_t>(dims[d]);
      rest /= static_cast<size_t>(dims[d]);
      for (int k = 0; k < 3; ++k) at[k] += index * static_cast<size_t>(operands[k].strides[d]);
    }
    const float sum = a.data()[at[0]] + b.data()[at[1]];
    want[i] = (sum < 0 ? 0.0f : sum) * a.data()[at[0]] / c.data()[at[2]];
  }
  std::vector<uint8_t> scratch(chain_f32_scratch_bytes(chain, slots) + 64);
  void* const room = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
  testing::Threads threads(slots);
  float* const out = in_place ? a.data() : y.data();
  chain_f32(chain, static_cast<int>(dims.size()), dims.data(), operands, out, threads.parallel(), room);
  for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(out[i], want[i]) << i;
}

TEST(Chain, ShapesAndBroadcasts) {
  testing::for_each_level([](const char*) {
    for (const bool in_place : {false, true}) {
      check({7}, {7}, {1}, in_place, 1);
      check({5000}, {1}, {5000}, in_place, 2);
      check({2, 3, 7, 7}, {1, 3, 1, 1}, {2, 3, 7, 7}, in_place, 1);
      check({2, 40, 5, 5}, {1, 40, 1, 1}, {1, 1, 5, 5}, in_place, 3);
      check({3, 4, 1100}, {1, 4, 1}, {1, 1, 1100}, in_place, 2);
      check({6, 300}, {6, 1}, {1, 300}, in_place, 1);
      check({1, 1}, {1, 1}, {1, 1}, in_place, 1);
      check({64, 2, 31}, {64, 1, 31}, {1, 2, 1}, in_place, 2);
    }
  });
}

// Reductions of |a - b| * c over the last axes, beside the parts: steps have one right answer each, what is reduced the
// bound of chain.h, or that of rows within a block: the very bits of reduce_f32.
void check_end(const std::vector<int64_t>& dims, const std::vector<int64_t>& b_dims, int axes, Reduce kind, bool root,
               int32_t slots) {
  const auto count = [](const std::vector<int64_t>& d, size_t from) {
    int64_t n = 1;
    for (size_t i = from; i < d.size(); ++i) n *= d[i];
    return n;
  };
  const int64_t all = count(dims, 0), row = count(dims, dims.size() - static_cast<size_t>(axes));
  int64_t rows = 1;
  for (size_t i = 0; i + static_cast<size_t>(axes) < dims.size(); ++i) rows *= dims[i];
  const bool grows = kind == Reduce::kProduct;
  Floats a(static_cast<size_t>(all)), b(static_cast<size_t>(count(b_dims, 0))), y(static_cast<size_t>(rows));
  testing::fill_uniform(a, 1, grows ? 1.95f : -2, grows ? 2.05f : 2);
  testing::fill_uniform(b, 2, 0, grows ? 0.001f : 1);
  const float c = grows ? 0.5f : 0.75f;
  ChainF32 chain;
  chain.operand_count = 3;
  chain.blocks = 1;
  chain.step_count = 3;
  chain.steps[0] = {true, Binary::kSub, {}, -1, -2, 0};
  chain.steps[1] = {false, Binary::kAdd, {Activation::kAbs, 0, 0}, 0, 0, 0};
  chain.steps[2] = {true, Binary::kMul, {}, 0, -3, 0};
  chain.end = {axes, kind, root};
  ChainOperand operands[3];
  operands[0].data = a.data();
  operands[1].data = b.data();
  operands[2].data = &c;
  strides_of(dims, operands[0].strides);
  strides_of(b_dims, operands[1].strides);
  std::vector<float> value(static_cast<size_t>(all)), want(static_cast<size_t>(rows));
  for (int64_t i = 0; i < all; ++i) {
    int64_t at = 0, rest = i;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) at += rest % dims[d] * operands[1].strides[d];
    value[static_cast<size_t>(i)] = std::abs(a.data()[i] - b.data()[at]) * c;
  }
  reduce_f32(kind, value.data(), want.data(), rows, row, 1, Parallel{});
  std::vector<uint8_t> scratch(chain_f32_scratch_bytes(chain, slots) + 64);
  void* const room = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
  testing::Threads threads(slots);
  chain_f32(chain, static_cast<int>(dims.size()), dims.data(), operands, y.data(), threads.parallel(), room);
  SCOPED_TRACE(::testing::Message() << rows << " x " << row << ", kind " << static_cast<int>(kind));
  for (int64_t r = 0; r < rows; ++r) {
    const float w = want[static_cast<size_t>(r)], wanted = root ? std::sqrt(w) : w, got = y.data()[r];
    if (std::isnan(w)) {
      ASSERT_TRUE(std::isnan(got));
    } else if (row <= 1024 || kind == Reduce::kMax || kind == Reduce::kMin) {
      ASSERT_EQ(got, wanted) << r;
    } else {  // all terms are positive: the sum is its own size; both sides are off by as much
      ASSERT_NEAR(got, wanted, 2 * testing::sum_bound(row, wanted)) << r;
    }
  }
}

TEST(Chain, Reductions) {
  testing::for_each_level([](const char*) {
    for (const Reduce kind : {Reduce::kSum, Reduce::kMean, Reduce::kMax, Reduce::kMin, Reduce::kSumSquare,
                              Reduce::kSumAbs, Reduce::kProduct}) {
      const bool root = kind == Reduce::kSumSquare;
      for (const int64_t row : {1, 2, 7, 33, 255, 256, 300, 511, 512, 513, 1023, 1024, 1025, 2047, 5000})
        check_end({5, row}, {5, row}, 1, kind, root, 1);
      for (const int64_t row : {8, 100, 256, 700, 1024, 1030}) check_end({9, row}, {9, 1}, 1, kind, root, 2);
      check_end({3, 40, 30}, {3, 1, 30}, 2, kind, false, 2);     // short rows, more than a block
      check_end({3, 4, 30}, {1, 4, 1}, 2, kind, false, 1);       // several results a block
      check_end({2, 3, 300}, {2, 3, 1}, 2, kind, false, 1);      // long rows, one block
      check_end({2, 7, 300}, {2, 1, 300}, 2, kind, false, 2);    // long rows, more than a block
      check_end({2, 3, 5, 1}, {1, 3, 5, 1}, 1, kind, false, 1);  // of one element each
      check_end({40, 40}, {1, 40}, 2, kind, root, 3);            // of everything
      check_end({3, 0}, {3, 1}, 1, kind, root, 1);
      check_end({0, 5}, {1, 5}, 1, kind, root, 1);
    }
  });
}

TEST(Chain, MoreBlocksThanPartsHaveRoom) { check_end({1, 1100000}, {1, 1}, 1, Reduce::kMean, false, 1); }

TEST(Chain, ReducesNotANumber) {
  for (const int64_t row : {40, 400, 3000}) {
    for (const int64_t at : {int64_t{0}, row / 2, row - 1}) {
      ChainF32 chain;
      chain.operand_count = chain.step_count = chain.blocks = 1;
      chain.steps[0] = {false, Binary::kAdd, {Activation::kAbs, 0, 0}, -1, 0, 0};
      chain.end = {1, Reduce::kMax, false};
      Floats x(static_cast<size_t>(2 * row));
      testing::fill_uniform(x, 1, -2, 2);
      x.data()[row + at] = NAN;
      ChainOperand operand = {x.data(), {row, 1}};
      const int64_t dims[] = {2, row};
      float y[2];
      std::vector<uint8_t> scratch(chain_f32_scratch_bytes(chain, 1) + 64);
      void* const room = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
      chain_f32(chain, 2, dims, &operand, y, Parallel{}, room);
      EXPECT_FALSE(std::isnan(y[0]));
      EXPECT_TRUE(std::isnan(y[1])) << row << " " << at;
    }
  }
}

TEST(Chain, NothingToDo) {
  check({0}, {0}, {1}, false, 1);
  check({3, 0, 2}, {3, 0, 2}, {1, 1, 1}, false, 1);
}

}  // namespace
}  // namespace vireo::cpu
