// LSTM and GRU in a plan: what gets codes, and what the annotated graph then says.
#include "quant/int8/cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "converter/ir/text.h"
#include "quant/int8/annotate.h"
#include "quant/int8/testing.h"
#include "sdk/ops/recurrent/recurrent_generated.h"

namespace vireo::quant::cells_test {
namespace {

using testing::parsed;
using testing::plan_of;

// Weights of another size in each row.
void fill_weights(ir::Graph& g, ir::Node* n) {
  for (const size_t i : {1, 2}) {
    const Shape shape = n->in(i)->type.shape;
    std::vector<float> w(static_cast<size_t>(element_count(shape)));
    for (size_t k = 0; k < w.size(); ++k) {
      const auto row = static_cast<int>(k / static_cast<size_t>(shape[2]));
      w[k] = std::ldexp(static_cast<float>((k * 37 + 11) % 101) - 50, -8 + row % 3);
    }
    g.set_input(n, i, g.add_constant("w" + std::to_string(i), ir::make_constant_of<float>(DType::kF32, shape, w)));
  }
}

TEST(Cells, TheSequenceIsBoundedAndTheMemoryIsNot) {
  const auto g = parsed(
      "input %x f32[4,1,3]\n%y, %h, %c = LSTM(%x, w[1,8,3], r[1,8,2])\n%a = MatMul(%y, m[2,5])\n"
      "%b = MatMul(%h, n[2,5])\n%d = MatMul(%c, n[2,5])\noutput %a\noutput %b\noutput %d");
  const Plan plan = plan_of(*g);
  ASSERT_EQ(plan.cells.size(), 1u);
  EXPECT_EQ(plan.layers.size(), 3u);
  EXPECT_EQ(plan.values[plan.cells[0].input].value->name, "x");
  EXPECT_EQ(plan.values[plan.cells[0].result].value->name, "y");
  for (const CodedValue& v : plan.values) {
    const std::string& name = v.value->name;
    EXPECT_EQ(v.bounded, name == "y" || name == "h") << name;
  }
}

TEST(Cells, ACellWithoutSequenceHasTheCodesOfItsBounds) {
  const auto g = parsed("input %x f32[4,1,3]\n%_, %h = GRU(%x, w[1,6,3], r[1,6,2])\noutput %h");
  fill_weights(*g, &g->nodes().front());
  const Plan plan = plan_of(*g);
  ASSERT_EQ(plan.cells.size(), 1u);
  EXPECT_EQ(plan.cells[0].result, Cell::kNoValue);
  const CellCodes codes = cell_codes(plan.cells[0], {scale_of({-3, 3})}, true);
  EXPECT_EQ(codes.state.zero, 127);
  EXPECT_FLOAT_EQ(codes.state.scale, 2.0f / 255);
  EXPECT_EQ(codes.bytes(), 6u * (3 + 2));
}

// Each row within half a step of its own scale; one scale for all where the recipe says so.
TEST(Cells, WeightsByRowOfAGate) {
  for (const bool per_channel : {true, false}) {
    const auto g = parsed("input %x f32[4,1,3]\n%y, %_ = GRU(%x, w[2,6,3], r[2,6,2]) {direction:2}\noutput %y");
    fill_weights(*g, &g->nodes().front());
    const Plan plan = plan_of(*g);
    const CellCodes codes = cell_codes(plan.cells[0], {scale_of({-3, 3}), scale_of({-1, 1})}, per_channel);
    for (const auto& [input, w] : {std::make_pair(size_t{1}, codes.w), std::make_pair(size_t{2}, codes.r)}) {
      const ConstTensor& t = plan.cells[0].node->in(input)->constant->tensor;
      ASSERT_EQ(w.scales.size(), 12u);
      for (int64_t i = 0; i < t.count(); ++i) {
        float real = 0;
        std::memcpy(&real, t.bytes.data() + i * 4, sizeof(real));
        const float scale = w.scale(i / t.type.shape[2]);
        const float code = static_cast<float>(w.codes[static_cast<size_t>(i)]);
        if (std::fabs(real) >= 126 * scale) continue;  // may be clipped
        EXPECT_NEAR(code * scale, real, scale / 2 * 1.0001f) << i;
      }
      EXPECT_EQ(w.scale(0) == w.scale(11), !per_channel);
    }
  }
}

TEST(Cells, AnnotatedTheyReadCodesAndKeepTheStateInCodes) {
  const auto g = parsed(
      "input %x f32[4,1,3]\n%y, %h = GRU(%x, w[2,6,3], r[2,6,2]) {direction:2}\n%z = Relu(%y)\noutput %z\noutput %h");
  ir::Node* cell = &g->nodes().front();
  fill_weights(*g, cell);
  const Plan plan = plan_of(*g);
  ASSERT_EQ(plan.values.size(), 3u);  // x, y, z
  Choice choice;
  choice.scales = {scale_of({-3, 3}), scale_of({-1, 1}), scale_of({0, 1})};
  choice.cells = {cell_codes(plan.cells[0], choice.scales, true)};
  annotate(*g, plan, choice);
  ASSERT_EQ(g->validate(), "");
  EXPECT_FLOAT_EQ(cell->attributes<attrs::Recurrent>().state_scale(), 2.0f / 255);
  EXPECT_EQ(cell->attributes<attrs::Recurrent>().state_zero(), 127);
  for (const size_t i : {0, 1, 2}) EXPECT_EQ(cell->in(i)->producer->op, Op::kDequantizeLinear) << i;
  EXPECT_EQ(cell->in(1)->producer->in(0)->type.dtype, DType::kI8);
  EXPECT_EQ(cell->in(2)->producer->in(1)->type.shape, (Shape{3, {2, 6, 1}}));
  ASSERT_EQ(cell->out()->uses.size(), 1u);
  EXPECT_EQ(cell->out()->uses[0].node->op, Op::kQuantizeLinear);
}

TEST(Cells, AnInitialStateOfZerosIsNone) {
  const auto g = parsed(
      "input %x f32[4,1,3]\ninput %s i64[3]\n%n = ConstantOfShape(%s) {}\n%z = Reshape(%n, i64[3]{1,1,2})\n"
      "%y, %h, %c = LSTM(%x, w[1,8,3], r[1,8,2], _, _, %z, f32[1,1,2]{0, 1})\noutput %y");
  ir::Node* cell = &g->nodes().back();
  fill_weights(*g, cell);
  const Plan plan = plan_of(*g);
  set_cell_codes(*g, cell, cell_codes(plan.cells[0], {scale_of({-3, 3}), scale_of({-1, 1})}, true), cell);
  EXPECT_EQ(cell->in(5), nullptr);
  EXPECT_NE(cell->in(6), nullptr);
}

}  // namespace
}  // namespace vireo::quant::cells_test
