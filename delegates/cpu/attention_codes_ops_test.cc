// Attention of codes against its body: the same bits on every instruction set.
#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

struct Heads {
  int64_t batch = 1, heads = 1, queries = 1, keys = 1, head = 1, value = 1;
  bool moved = false;         // heads stand within rows
  bool keys_by_head = false;  // not moved: keys come turned
  DType q = DType::kU8, k = DType::kU8, v = DType::kU8, shares = DType::kU8, y = DType::kU8;
  int32_t k_zero = 0, v_zero = 0;
  std::vector<int64_t> kept;  // which keys are attended; {}: all
  uint32_t seed = 1;
};

std::vector<uint8_t> transpose(std::vector<int32_t> perm) {
  attrs::TransposeT a;
  a.perm = std::move(perm);
  return pack<attrs::Transpose>(a);
}

template <class Attrs>
void codes(DType type, int32_t zero, Attrs* a) {
  a->low = type == DType::kI8 ? -128 : 0;
  a->high = type == DType::kI8 ? 127 : 255;
  a->y_zero = zero;
  a->output_dtype = static_cast<uint8_t>(type);
}

TestTensor one_byte(DType type, int32_t zero) {
  TestTensor t;
  t.type = {type, make_shape({1})};
  t.bytes = {static_cast<uint8_t>(zero)};
  return t;
}

// Some of a tensor of this shape; of nothing: one.
TestTensor flags(Values& r, std::vector<int64_t> dims) {
  if (dims.empty()) dims = {1};
  TestTensor t = r.bytes(DType::kU8, dims);
  t.type.dtype = DType::kBool;
  for (uint8_t& b : t.bytes) b = b < 160;
  return t;
}

Composite attention(const Heads& h) {
  Values r(h.seed);
  const auto dims = [&](int64_t rows, int64_t size) {
    return h.moved ? std::vector<int64_t>{h.batch, rows, h.heads, size}
                   : std::vector<int64_t>{h.batch, h.heads, rows, size};
  };
  const TestTensor q = r.bytes(h.q, dims(h.queries, h.head));
  const TestTensor k =
      h.keys_by_head ? r.bytes(h.k, {h.batch, h.heads, h.head, h.keys}) : r.bytes(h.k, dims(h.keys, h.head));
  const TestTensor v = r.bytes(h.v, dims(h.keys, h.value));
  TestTensor table = r.integers({256}, 1 << 23);
  for (int32_t d = 0; d < 256; ++d) {
    const int32_t e = static_cast<int32_t>(std::nearbyint(8388608 * std::exp(-0.05 * d)));
    std::memcpy(table.bytes.data() + static_cast<size_t>(d) * sizeof(e), &e, sizeof(e));
  }
  // Scores of some 255^2 / 4 a product fill their codes.
  const float step = 1.0f / (200.0f * static_cast<float>(h.head));
  Composite c({q, k, v, r.reals({1}, step, 2 * step), one_byte(h.k, h.k_zero), table, r.reals({1}, 0.002f, 0.004f),
               one_byte(h.v, h.v_zero), flags(r, h.kept)});
  int32_t rows = 0, columns = 1, values = 2;
  if (h.moved) {
    rows = c.node(Op::kTranspose, transpose({0, 2, 1, 3}), {0});
    columns = c.node(Op::kTranspose, transpose({0, 2, 3, 1}), {1});
    values = c.node(Op::kTranspose, transpose({0, 2, 1, 3}), {2});
  } else if (!h.keys_by_head) {
    columns = c.node(Op::kTranspose, transpose({0, 1, 3, 2}), {1});
  }
  attrs::IntGemmT first, second;
  attrs::IntSoftmaxT softmax;
  first.a_zero = h.q == DType::kI8 ? -3 : 120;
  codes(DType::kU8, 100, &first);
  softmax.multiplier = 255;
  codes(h.shares, h.shares == DType::kI8 ? -128 : 0, &softmax);
  second.a_zero = softmax.y_zero;
  codes(h.y, 5, &second);
  const int32_t scores = c.node(Op::kIntGemm, pack<attrs::IntGemm>(first), {rows, columns, 3, -1, 4});
  const int32_t shares = h.kept.empty() ? c.node(Op::kIntSoftmax, pack<attrs::IntSoftmax>(softmax), {scores, 5})
                                        : c.node(Op::kIntSoftmax, pack<attrs::IntSoftmax>(softmax), {scores, 5, 8});
  int32_t y = c.node(Op::kIntGemm, pack<attrs::IntGemm>(second), {shares, values, 6, -1, 7});
  if (h.moved) y = c.node(Op::kTranspose, transpose({0, 2, 1, 3}), {y});
  c.outputs({y});
  return c;
}

TEST(CpuAttentionCodes, AsTheBody) {
  for_each_level([](const char*) {
    std::mt19937 rng(3);
    const auto upto = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)) + 1; };
    const auto type = [&] { return rng() % 2 == 0 ? DType::kU8 : DType::kI8; };
    for (uint32_t i = 0; i < 40; ++i) {
      Heads h;
      h.batch = upto(2);
      h.heads = upto(5);
      h.queries = upto(i % 3 == 0 ? 90 : 20);
      h.keys = upto(i % 4 == 0 ? 140 : 30);
      h.head = upto(i % 5 == 0 ? 80 : 20);
      h.value = upto(40);
      h.moved = i % 2 == 0;
      h.keys_by_head = i % 4 == 1;
      h.q = type();
      h.k = type();
      h.v = type();
      h.shares = type();
      h.y = type();
      h.k_zero = h.k == DType::kI8 ? 7 : 131;
      h.v_zero = h.v == DType::kI8 ? -128 : 128;
      h.seed = i;
      attention(h).expect_same_bits("attention_codes", i % 3 == 0 ? 3 : 1);
      const std::vector<int64_t> kept[] = {
          {h.queries, h.keys}, {h.batch, 1, 1, h.keys}, {h.heads, h.queries, 1}, {h.keys}};
      h.kept = kept[i % 4];
      attention(h).expect_same_bits("attention_codes", i % 3 == 0 ? 3 : 1);
    }
  });
}

// Scores of more than a block: several blocks of queries read one head's keys, also from the middle of a thread's part.
TEST(CpuAttentionCodes, SeveralBlocksOfQueries) {
  for_each_level([](const char*) {
    Heads h;
    h.batch = 2;
    h.heads = 2;
    h.queries = 300;
    h.keys = 900;
    h.head = 16;
    h.value = 8;
    h.moved = true;
    h.k_zero = 128;
    for (const int32_t slots : {1, 3}) attention(h).expect_same_bits("attention_codes", slots);
    h.kept = {2, 1, 300, 900};
    for (const int32_t slots : {1, 3}) attention(h).expect_same_bits("attention_codes", slots);
  });
}

TEST(CpuAttentionCodes, SizesThatVary) {
  const auto of = [](int64_t batch, int64_t queries, int64_t keys) {
    Heads h;
    h.batch = batch;
    h.heads = 3;
    h.queries = queries;
    h.keys = keys;
    h.head = 8;
    h.value = 4;
    h.moved = true;
    return attention(h);
  };
  of(2, 40, 700).runs_as(of(1, 7, 9)).expect_same_bits("attention_codes");
  of(2, 700, 40).runs_as(of(2, 700, 1)).expect_same_bits("attention_codes", 3);
}

TEST(CpuAttentionCodes, OtherBodiesAreLeft) {
  // A product with a factor for each column.
  Values r(1);
  Composite c({r.bytes(DType::kU8, {4, 8}), r.bytes(DType::kU8, {8, 6}), r.bytes(DType::kU8, {6, 5}),
               r.reals({6}, 0.001f, 0.002f), r.integers({256}, 1 << 20), r.reals({1}, 0.001f, 0.002f)});
  attrs::IntGemmT product;
  attrs::IntSoftmaxT softmax;
  codes(DType::kU8, 0, &product);
  codes(DType::kU8, 0, &softmax);
  const int32_t scores = c.node(Op::kIntGemm, pack<attrs::IntGemm>(product), {0, 1, 3});
  const int32_t shares = c.node(Op::kIntSoftmax, pack<attrs::IntSoftmax>(softmax), {scores, 4});
  c.outputs({c.node(Op::kIntGemm, pack<attrs::IntGemm>(product), {shares, 2, 5})});
  c.expect_left();
}

}  // namespace
}  // namespace vireo
