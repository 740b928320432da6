// A table against the nodes that it stands for, code by code: a step function jumps where its argument moves by a last
// place.
#include "converter/passes/quantized/fold_quantization.h"

#include <gtest/gtest.h>

#include <numeric>

#include "converter/ir/interpret.h"
#include "converter/ir/text.h"

namespace vireo::passes::fold_quantization_test {
namespace {

constexpr int kScales = 40;  // 0.01 to 0.4

// Folds `text`, of 256 codes %x, and compares both graphs for every code.
void expect_same_codes(const std::string& text) {
  SCOPED_TRACE(text);
  std::string error;
  const auto before = ir::parse_graph(text, &error);
  ASSERT_NE(before, nullptr) << error;
  const auto after = before->clone();
  PassLog log;
  kFoldQuantization.run(*after, log);
  for (const ir::Node& n : after->nodes()) ASSERT_FALSE(dtype_is_float(n.out()->type.dtype)) << ir::print_graph(*after);
  const TensorType& type = before->inputs()[0]->type;
  std::vector<uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  const std::vector<ir::ConstantPtr> x{ir::make_constant(type, std::move(bytes))};
  std::vector<ir::ConstantPtr> wanted, got;
  ASSERT_TRUE(ir::interpret(*before, x, &wanted, &error)) << error;
  ASSERT_TRUE(ir::interpret(*after, x, &got, &error)) << error;
  ASSERT_EQ(wanted[0]->tensor.type, got[0]->tensor.type);
  for (size_t i = 0; i < wanted[0]->tensor.bytes.size(); ++i) {
    EXPECT_EQ(int{wanted[0]->tensor.bytes[i]}, int{got[0]->tensor.bytes[i]}) << "element " << i;
  }
}

std::string dequantized(int hundredths, const std::string& type = "f32") {
  return "input %x u8[256]\n%d = DequantizeLinear(%x, " + type + "[]{" + std::to_string(hundredths * 0.01) +
         "}, u8[]{130})\n";
}

TEST(FoldQuantization, TablesHoldWhatTheNodesCompute) {
  const char* const kFunctions[] = {"%f = Floor(%d)\n",
                                    "%f = Ceil(%d)\n",
                                    "%f = Round(%d)\n",
                                    "%s = Sub(%d, f32[]{1})\n%f = Sign(%s)\n",
                                    "%s = Mul(%d, f32[]{10})\n%f = Floor(%s)\n",
                                    "%f = Shrink(%d) {lambd:1, bias:0.5}\n",
                                    "%c = Clip(%d, f32[]{0}, f32[]{-1})\n%f = Sigmoid(%c)\n"};
  for (int i = 1; i <= kScales; ++i) {
    for (const char* f : kFunctions) {
      expect_same_codes(dequantized(i) + f + "%y = QuantizeLinear(%f, f32[]{0.25}, i8[]{-3})\n");
    }
  }
}

TEST(FoldQuantization, TablesOf16BitFloatsRoundAsTheNodesDo) {
  for (int i = 1; i <= kScales; ++i) {
    expect_same_codes(dequantized(i, "f16") + "%f = Floor(%d)\n%y = QuantizeLinear(%f, f16[]{0.3}, u8[]{128})\n");
  }
}

// The last division rounds as well: what is 2.5 codes in float32 may be a little less or more in float64.
TEST(FoldQuantization, TablesFromOneScaleToAnother) {
  for (int i = 1; i <= kScales; ++i) {
    for (const char* to : {"0.3", "0.7", "1.1"}) {
      expect_same_codes(dequantized(i) + "%y = QuantizeLinear(%d, f32[]{" + to + "}, u8[]{128})\n");
      expect_same_codes(dequantized(i) + "%e = DequantizeLinear(%x, f32[]{0.05}, u8[]{7})\n%c = Concat(%d, %e)\n" +
                        "%y = QuantizeLinear(%c, f32[]{" + to + "}, u8[]{128})\n");
    }
  }
}

// With one bound on both sides every code is that of the bound.
TEST(FoldQuantization, BoundsAreQuantizedAsTheNodeDoes) {
  for (int i = 1; i <= kScales; ++i) {
    for (const char* bound : {"-3.5", "0.7", "1", "2.5"}) {
      expect_same_codes("input %x u8[1,1,16,16]\n%d = DequantizeLinear(%x, f32[]{0.25}, u8[]{3})\n" +
                        std::string("%a = AveragePool(%d) {kernel_shape:[1,1]}\n%c = Clip(%a, f32[]{") + bound +
                        "}, f32[]{" + bound + "})\n%y = QuantizeLinear(%c, f32[]{" + std::to_string(i * 0.01) +
                        "}, u8[]{128})\n");
    }
  }
}

}  // namespace
}  // namespace vireo::passes::fold_quantization_test
