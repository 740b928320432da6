#include "converter/passes/shared/composite.h"

#include <gtest/gtest.h>

#include <set>

#include "converter/ir/text.h"

namespace vireo::passes::composite_test {
namespace {

std::unique_ptr<ir::Graph> parse(const char* text) {
  std::string error;
  auto g = ir::parse_graph(text, &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

std::vector<ir::Node*> nodes_of(ir::Graph& g) {
  std::vector<ir::Node*> nodes;
  for (ir::Node& n : g.nodes()) nodes.push_back(&n);
  return nodes;
}

constexpr char kConvRelu[] = R"(
  input %x f32[1,3,8,8]
  %a = Conv(%x, w[8,3,3,3], b[8])
  %y = Relu(%a)
  output %y
)";

TEST(Composites, EachHintHasOneRow) {
  std::set<std::string> hints;
  for (const composites::Composite* row : composites::kAll) {
    EXPECT_TRUE(hints.insert(row->hint).second) << row->hint;
    EXPECT_EQ(composites::find_composite(row->hint), row);
  }
  EXPECT_EQ(composites::find_composite("another converter's"), nullptr);
  EXPECT_EQ(composites::find_composite(composites::Form::kEpilogue, Op::kGemm, composites::Stored::kCodes),
            &composites::kGemmCodes);
  EXPECT_EQ(composites::find_composite(composites::Form::kEpilogue, Op::kConv, composites::Stored::kCodes), nullptr);
}

TEST(Composites, ABodyIsReadByTheFormOfItsRow) {
  const auto good = parse(kConvRelu);
  EXPECT_EQ(composite_fault(*make_composite(*good, nodes_of(*good), composites::kConv)), "");
  const auto other_operator = parse(kConvRelu);
  EXPECT_EQ(composite_fault(*make_composite(*other_operator, nodes_of(*other_operator), composites::kGemm)),
            "gemm: the form's matcher does not read its body");
  const auto other_form = parse(kConvRelu);
  EXPECT_EQ(composite_fault(*make_composite(*other_form, nodes_of(*other_form), composites::kLstmBf16)),
            "lstm_bf16: the form's matcher does not read its body");
}

// A step that works in place in front of a product would lay the result on x, which the product reads to its end.
TEST(Composites, AResultThatMayLieOnAnInputIsFound) {
  const auto g = parse(R"(
    input %x f32[4,4]
    %a = Relu(%x)
    %y = Neg(%a)
    output %y
  )");
  ir::Node* composite = make_composite(*g, nodes_of(*g), composites::kChain);
  EXPECT_EQ(composite_fault(*composite), "");
  composites::Composite apart = composites::kChain;
  apart.result = composites::ResultOn::kApart;
  EXPECT_EQ(result_fault(*composite, apart), "chain: its result may lie on an input");
}

}  // namespace
}  // namespace vireo::passes::composite_test
