// What shape arithmetic is known to compute, element by element.
#include <gtest/gtest.h>

#include "converter/ir/text.h"

namespace vireo::ir::contents_test {
namespace {

// The elements of the last node's output as text; "unknown" where they are not tracked.
std::string last_contents(const std::string& text) {
  std::string error;
  const auto g = parse_graph(text, &error);
  if (g == nullptr) return error;
  const Value* v = g->nodes().back().out();
  if (!v->contents) return "unknown";
  std::string out;
  for (const Dim d : *v->contents) out += (out.empty() ? "" : ",") + g->dims().text(d);
  return out;
}

TEST(Contents, RangeCountsFromAnExtent) {
  EXPECT_EQ(last_contents(R"(
    input %x f32[N]
    %s = Shape(%x)
    %n = Squeeze(%s)
    %end = Add(%n, i64[]{3})
    %r = Range(%n, %end, i64[]{1})
  )"),
            "N,N + 1,N + 2");
}

// The extent of the last node's output.
std::string last_extent(const std::string& text) {
  std::string error;
  const auto g = parse_graph(text, &error);
  return g == nullptr ? error : g->dims().text(g->nodes().back().out()->type.shape);
}

// torch.arange of floats, over an extent.
TEST(Contents, ARangeOfRealNumbersCountsExtents) {
  const std::string n = "input %x f32[N]\n%s = Shape(%x)\n%i = Squeeze(%s)\n%n = Cast(%i) {to:1}\n";
  EXPECT_EQ(last_extent(n + "%y = Range(f32[]{0}, %n, f32[]{1})"), "[N]");
  EXPECT_EQ(last_extent(n + "%m = Mul(%n, f32[]{8})\n%y = Range(f32[]{0}, %m, f32[]{8})"), "[N]");
  EXPECT_EQ(last_extent(n + "%m = Sub(%n, f32[]{1})\n%y = Range(f32[]{-1}, %m, f32[]{1})"), "[N]");
  EXPECT_EQ(last_extent(n + "%y = Range(f32[]{0}, %n, f32[]{2})"), "[-floor((-N) / (2))]");
}

// Fractions, steps that an extent decides, and types that do not hold every extent.
TEST(Contents, ARangeOfRealNumbersThatAreNotWholeIsOpen) {
  const std::string i = "input %x f32[N]\n%s = Shape(%x)\n%i = Squeeze(%s)\n";
  const std::string n = i + "%n = Cast(%i) {to:1}\n";
  for (const std::string& text :
       {n + "%y = Range(f32[]{0}, %n, f32[]{0.5})", n + "%y = Range(f32[]{0.5}, %n, f32[]{1})",
        n + "%y = Range(f32[]{0}, f32[]{8}, %n)", n + "%h = Div(%n, f32[]{2})\n%y = Range(f32[]{0}, %h, f32[]{1})",
        i + "%n = Cast(%i) {to:10}\n%y = Range(f16[]{0}, %n, f16[]{1})"}) {
    const std::string extent = last_extent(text);
    EXPECT_EQ(extent.find("N"), std::string::npos) << extent;
    EXPECT_NE(extent.find("size"), std::string::npos) << extent;
  }
}

TEST(Contents, ExtentsComeBackFromRealNumbers) {
  EXPECT_EQ(last_contents(R"(
    input %x f32[N]
    %s = Shape(%x)
    %r = Cast(%s) {to:1}
    %d = Mul(%r, f32[1]{2})
    %f = Floor(%d)
    %y = Cast(%f) {to:7}
  )"),
            "2*N");
}

// With n = 0 the division is an error of the run, not 4.
TEST(Contents, ADivisorThatMayBeZeroDoesNotCancel) {
  const std::string text = R"(
    %s = Shape(%x)
    %four = Mul(%s, i64[1]{4})
    %q = Div(%four, %s)
  )";
  EXPECT_EQ(last_contents("input %x f32[N]" + text), "unknown");
  EXPECT_EQ(last_contents("input %x f32[7]" + text), "4");
}

TEST(Contents, IntegersWrapRoundWherePolynomialsDoNot) {
  EXPECT_EQ(last_contents("%y = Mul(i64[1]{4294967296}, i64[1]{4294967296})\n"), "unknown");
  EXPECT_EQ(last_contents("%y = Add(u8[1]{200}, u8[1]{100})\n"), "unknown");
  EXPECT_EQ(last_contents("%y = Add(u8[1]{100}, u8[1]{100})\n"), "200");
  EXPECT_EQ(last_contents("%y = Sub(u64[1]{3}, u64[1]{4})\n"), "unknown");
  EXPECT_EQ(last_contents("%y = Sub(u64[1]{4}, u64[1]{3})\n"), "1");
}

TEST(Contents, SlicesToEitherEnd) {
  const auto slice = [](const std::string& x, const std::string& start, const std::string& end,
                        const std::string& step) {
    return last_contents("input %x f32" + x + "\n%s = Shape(%x)\n%y = Slice(%s, i64[1]{" + start + "}, i64[1]{" + end +
                         "}, i64[1]{0}, i64[1]{" + step + "})\n");
  };
  EXPECT_EQ(slice("[]", "-1", "-9223372036854775807", "-1"), "");
  EXPECT_EQ(slice("[]", "0", "9223372036854775807", "1"), "");
  EXPECT_EQ(slice("[N,3,4]", "-1", "-9223372036854775807", "-1"), "4,3,N");
  EXPECT_EQ(slice("[N,3,4]", "-1", "-3", "-1"), "4,3");
  EXPECT_EQ(slice("[N,3,4]", "1", "9223372036854775807", "9223372036854775807"), "3");
  EXPECT_EQ(slice("[N,3,4]", "-2", "-9223372036854775807", "-9223372036854775807"), "3");
}

// Three sums of 20 extents: 8000 terms are not written out, and what stands for them is no number of elements.
TEST(Contents, ProductsThatAreNotKeptAreNotKnown) {
  std::string dims;
  for (int i = 0; i < 3; ++i) {
    dims += i == 0 ? "" : ",";
    for (int k = 0; k < 20; ++k) dims += (k == 0 ? "x" : " + x") + std::to_string(20 * i + k);
  }
  EXPECT_EQ(last_contents("input %x f32[" + dims + "]\n%n = Size(%x)\n"), "unknown");
}

// "All of them" is what the boxes are.
TEST(Contents, NonMaxSuppressionOfAllBoxes) {
  std::string error;
  const auto g = parse_graph(R"(
    input %boxes f32[1,S,4]
    input %scores f32[1,2,S]
    %y = NonMaxSuppression(%boxes, %scores, i64[1]{9223372036854775807})
  )",
                             &error);
  ASSERT_NE(g, nullptr) << error;
  DimTable& dims = g->dims();
  uint32_t atom = 0;
  ASSERT_TRUE(dims.is_symbol(g->nodes().back().out()->type.shape[0], &atom));
  EXPECT_EQ(dims.atoms()[atom].symbol.upper, dims.mul(dims.symbol("S"), 2));
}

// 2^64 - 1 is no -1.
TEST(Contents, LargeUnsignedNumbersAreNoExtents) {
  EXPECT_EQ(last_contents("%y = Less(u64[2]{4,-1}, u64[]{5})\n"), "unknown");
  EXPECT_EQ(last_contents("%y = Less(u64[2]{4,6}, u64[]{5})\n"), "1,0");
}

}  // namespace
}  // namespace vireo::ir::contents_test
