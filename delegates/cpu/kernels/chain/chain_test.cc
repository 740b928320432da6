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

TEST(Chain, NothingToDo) {
  check({0}, {0}, {1}, false, 1);
  check({3, 0, 2}, {3, 0, 2}, {1, 1, 1}, false, 1);
}

}  // namespace
}  // namespace vireo::cpu
