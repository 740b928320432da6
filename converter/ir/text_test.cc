#include "converter/ir/text.h"

#include <gtest/gtest.h>

namespace vireo::ir::text_test {
namespace {

TEST(Text, PrintsWhatItReads) {
  const char* text = R"(graph main
  input %x f32[N,3,8,8]
  %a = Conv(%x, w[8,3,3,3], b[8]) { pads: [1,1,1,1] }
  %t = Transpose(%a) { perm: [0,2,3,1] }
  %y, %z = Split(%t, i64[2]{4,4}) { axis: 3 }
  output %y
  output %z
)";
  std::string error;
  const auto g = parse_graph(text, &error);
  ASSERT_NE(g, nullptr) << error;
  const std::string once = print_graph(*g);
  const auto again = parse_graph(once, &error);
  ASSERT_NE(again, nullptr) << error << "\n" << once;
  EXPECT_EQ(print_graph(*again), once);
  EXPECT_NE(once.find("%t = Transpose(%a)"), std::string::npos) << once;
  EXPECT_NE(once.find("perm"), std::string::npos) << once;
  EXPECT_EQ(g->outputs()[0]->type.shape[3], 4);
}

TEST(Text, AttributesKeepDefaults) {
  std::vector<uint8_t> bytes;
  std::string error;
  ASSERT_TRUE(parse_attributes(Op::kSoftmax, "", &bytes, &error)) << error;
  EXPECT_TRUE(find_op(Op::kSoftmax)->def->verify({bytes.data(), bytes.size()}));
  ASSERT_TRUE(parse_attributes(Op::kSoftmax, "{axis:2}", &bytes, &error)) << error;
  EXPECT_NE(print_attributes(Op::kSoftmax, bytes).find("axis: 2"), std::string::npos)
      << print_attributes(Op::kSoftmax, bytes);
  EXPECT_FALSE(parse_attributes(Op::kSoftmax, "{no_such_field:2}", &bytes, &error));
}

// Every operator's table can be made from nothing, and verifies: the rule that finds an operator's table in its schema
// holds.
TEST(Text, EveryOperatorHasATable) {
  for (const OpRow& row : op_rows()) {
    if (row.op == Op::kComposite) continue;  // its hint is required
    std::vector<uint8_t> bytes;
    std::string error;
    ASSERT_TRUE(parse_attributes(row.op, "", &bytes, &error)) << row.def->name << ": " << error;
  }
}

TEST(Text, ConstantsAreDrawnFromTheirNames) {
  std::string error;
  const ConstantPtr a = parse_constant("w[2,3]", &error), b = parse_constant("w[2,3]", &error),
                    c = parse_constant("v[2,3]", &error);
  ASSERT_TRUE(a != nullptr && b != nullptr && c != nullptr);
  EXPECT_TRUE(same_content(*a, *b));
  EXPECT_FALSE(same_content(*a, *c));
  const ConstantPtr i = parse_constant("i64[2]{-1,7}", &error);
  ASSERT_NE(i, nullptr);
  EXPECT_EQ(i->tensor.as<int64_t>()[0], -1);
}

TEST(Text, SaysWhatIsWrong) {
  std::string error;
  EXPECT_EQ(parse_graph("%y = Relu(%x)\n", &error), nullptr);
  EXPECT_NE(error.find("%x"), std::string::npos);
  EXPECT_EQ(parse_graph("input %x f32[2]\n%y = NoSuchOperator(%x)\n", &error), nullptr);
  EXPECT_NE(error.find("NoSuchOperator"), std::string::npos);
  EXPECT_EQ(parse_graph("input %x f32[2,3]\n%y = MatMul(%x, w[4,5])\n", &error), nullptr);
  EXPECT_NE(error.find("MatMul"), std::string::npos);
}

}  // namespace
}  // namespace vireo::ir::text_test
