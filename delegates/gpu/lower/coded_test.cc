// A product of one row takes codes of blocks in place of the numbers that they stand for, on host lanes.
#include <gtest/gtest.h>

#include <deque>

#include "delegates/gpu/lower/gemv.h"
#include "delegates/gpu/lower/lanes_testing.h"
#include "sdk/base/half.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu::coded_test {
namespace {

struct Case {
  DType codes = DType::kI4;
  bool by_rows = false;  // [n, k]
  int64_t block = 32;    // 0: one scale a column
  bool half = false;     // scales are float16, behind a Cast
  int zero = -1;         // code of every zero point; below 0: none
  int64_t rows = 1;
};

constexpr int64_t kDepth = 128, kColumns = 24;

class Net {
 public:
  explicit Net(const Case& c) {
    const int64_t blocks = c.block == 0 ? 1 : kDepth / c.block, bits = dtype_bits(c.codes);
    const Extents matrix = c.by_rows ? Extents{kColumns, kDepth} : Extents{kDepth, kColumns};
    Extents sizes = c.by_rows ? Extents{kColumns, blocks} : Extents{blocks, kColumns};
    if (c.block == 0) sizes = {kColumns};
    x = value(DType::kF32, {c.rows, kDepth});
    Bytes codes = random_numbers(kDepth * kColumns, 3);
    codes.resize(static_cast<size_t>(kDepth * kColumns * bits / 8));
    const int w = value(c.codes, matrix, codes);
    int scales = value(c.half ? DType::kF16 : DType::kF32, sizes, scales_of(kColumns * blocks, c.half));
    if (c.half) {
      const int wide = value(DType::kF32, sizes);
      node(
          VIREO_OP_CAST, [](auto& b) { return attrs::CreateCast(b, static_cast<uint8_t>(DType::kF32)); }, {scales},
          wide);
      scales = wide;
    }
    std::vector<int> from = {w, scales};
    if (c.zero >= 0) {
      const auto byte = static_cast<uint8_t>(bits == 8 ? c.zero : c.zero * 17);
      from.push_back(value(c.codes, sizes, Bytes(static_cast<size_t>((kColumns * blocks * bits + 7) / 8), byte)));
    }
    const int axis = (c.block != 0) == c.by_rows ? 1 : 0, numbers = value(DType::kF32, matrix);
    node(
        VIREO_OP_DEQUANTIZE_LINEAR,
        [&](auto& b) { return attrs::CreateDequantizeLinear(b, axis, static_cast<int32_t>(c.block)); }, from, numbers);
    y = value(DType::kF32, {c.rows, kColumns});
    node(
        VIREO_OP_GEMM, [&](auto& b) { return attrs::CreateGemm(b, 1, 1, false, c.by_rows); }, {x, numbers}, y);
  }

  // What y gets, and what computed it.
  std::vector<float> run(const Target& target, std::vector<std::string>* templates) const {
    Lowering l(network_, target);
    l.set_border({x}, {y});
    for (const Node& n : network_.nodes) EXPECT_EQ(l.add(n), "");
    EXPECT_EQ(l.finish(), "");
    make_gemvs(&l);
    templates->clear();
    for (const Work& w : l.works) templates->push_back(template_of(w.problem));
    std::vector<Bytes> memories;
    size_t output = 0;
    for (size_t i = 0; i < l.memories.size(); ++i) {
      const Memory& m = l.memories[i];
      Bytes content(m.bytes, 0xA5);
      if (m.where == Where::kInput) content = random_numbers(static_cast<int64_t>(m.bytes / sizeof(float)), 9);
      if (m.where == Where::kWeights) {
        Weight form = m.form;
        form.bytes = m.bytes;
        keep_weight(form, network_.values[static_cast<size_t>(m.value)].constant, content.data(), 0, runs_of(form));
      }
      if (m.where == Where::kOutput) output = i;
      memories.push_back(content);
    }
    const Bytes bytes = run_works(l, memories)[output];
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }

 private:
  int value(DType dtype, const Extents& dims, Bytes constant = {}) {
    Datum d;
    d.dtype = dtype;
    d.dims = dims;
    if (!constant.empty()) {
      constants_.push_back(std::move(constant));
      d.constant = constants_.back().data();
      d.constant_bytes = constants_.back().size();
    }
    network_.values.push_back(d);
    return static_cast<int>(network_.values.size()) - 1;
  }
  template <class Make>
  void node(uint16_t op, const Make& make, const std::vector<int>& inputs, int output) {
    ::flatbuffers::FlatBufferBuilder b;
    b.Finish(make(b));
    constants_.emplace_back(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
    Node n;
    n.op = op;
    n.attributes = constants_.back().data();
    n.inputs = inputs;
    n.outputs = {output};
    n.source = network_.sources++;
    network_.nodes.push_back(n);
  }
  static Bytes scales_of(int64_t count, bool half) {
    Bytes out;
    for (int64_t i = 0; i < count; ++i) {
      const float v = 0.25f * static_cast<float>(1 + i % 7);
      const uint16_t narrow = f32_to_f16(v);
      const auto* const bytes = half ? reinterpret_cast<const uint8_t*>(&narrow) : reinterpret_cast<const uint8_t*>(&v);
      out.insert(out.end(), bytes, bytes + (half ? sizeof(narrow) : sizeof(v)));
    }
    return out;
  }

  Network network_;
  std::deque<Bytes> constants_;
  int x = 0, y = 0;
};

TEST(Coded, OneRowTakesCodes) {
  Target target = with_unit();
  target.units.clear();
  target.storage8 = target.shuffles = true;
  Target plain = target;
  plain.shuffles = false;
  const std::vector<Case> cases = {{},
                                   {DType::kI4, true, 32},
                                   {DType::kU4, false, 64, true, 8},
                                   {DType::kI8, false, 0},
                                   {DType::kU8, true, 32, true, 121}};
  std::vector<std::string> taken, usual;
  for (const Case& c : cases) {
    const Net net(c);
    const std::vector<float> got = net.run(target, &taken), wanted = net.run(plain, &usual);
    EXPECT_EQ(taken, std::vector<std::string>{"gemv"});
    EXPECT_GE(usual.size(), 2u);  // the numbers are made in memory
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5f * (100 + std::abs(wanted[i])));
  }
  Case several;
  several.rows = 3;
  (void)Net(several).run(target, &taken);
  EXPECT_EQ(taken, (std::vector<std::string>{"chain", "product"}));
}

}  // namespace
}  // namespace vireo::gpu::coded_test
