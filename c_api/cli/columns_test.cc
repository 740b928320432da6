#include "c_api/cli/columns.h"

#include <gtest/gtest.h>

#include <sstream>

namespace vireo::cli::columns_test {
namespace {

size_t longest_line(const std::string& text) {
  std::istringstream in(text);
  size_t most = 0;
  for (std::string line; std::getline(in, line);) most = std::max(most, columns_of(line));
  return most;
}

TEST(Columns, CharactersAreCountedAndNotBytes) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("\xC3\xA4\xE2\x82\xAC"), 2u);
}

TEST(Columns, WrapsAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 13), std::vector<std::string>{"one two three"});
  EXPECT_EQ(wrapped("enormous word", 4), (std::vector<std::string>{"enormous", "word"}));
  EXPECT_EQ(wrapped("", 4), std::vector<std::string>{""});
}

TEST(Columns, FoldsFurtherIn) {
  EXPECT_EQ(folded("  short", 40), "  short");
  EXPECT_EQ(folded("  one two three four five six seven eight", 30),
            "  one two three four five six\n      seven eight");
}

TEST(Columns, FoldsLongWordsBehindBracketsAndLeavesPaths) {
  std::string expression = "floor(n)";
  for (int i = 0; i < 60; ++i) expression = "floor((" + expression + ",1)/2)";
  EXPECT_LE(longest_line(folded("  output  y: float32[" + expression + "]", 120)), 120u);
  const std::string path = "/" + std::string(200, 'p');
  EXPECT_NE(folded("wrote " + path, 120).find(path), std::string::npos);
}

TEST(Columns, ShortensInTheMiddle) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghijk", 9), "abc...ijk");
}

TEST(Columns, FormatsWithoutALimit) {
  const std::string text(3000, 'x');
  EXPECT_EQ(formatted("%s %d", text.c_str(), 7), text + " 7");
}

TEST(Columns, TablesAreNoWiderThanOutput) {
  std::string sentence;
  for (int i = 0; i < 60; ++i) sentence += "word ";
  const std::string text = table_text({{"node", "why", "why not"}, {"conv1", sentence, sentence}, {"conv2", "", "x"}});
  EXPECT_LE(longest_line(text), kOutputColumns);
  EXPECT_NE(text.find("conv2"), std::string::npos);
}

TEST(Columns, ColumnsThatDoNotFitGoBelowTheirRow) {
  const std::string name(70, 'n'), kernel(60, 'k');
  EXPECT_EQ(table_text({{"node", "kernel", "why"}, {name, kernel, "for a reason"}}),
            "node\n" + name + "\n    kernel: " + kernel + "\n    why: for a reason\n");
}

TEST(Columns, EmptyOnesGo) {
  using Rows = std::vector<std::vector<std::string>>;
  EXPECT_EQ(without_empty_columns({{"node", "part", "kernel"}, {"a", "", "k"}, {"b", ""}}),
            (Rows{{"node", "kernel"}, {"a", "k"}, {"b"}}));
  EXPECT_EQ(without_empty_columns({{"node", "part"}}), (Rows{{"node", "part"}}));
}

TEST(Columns, NarrowTablesStayAsTheyAre) { EXPECT_EQ(table_text({{"a", "b"}, {"long", "x"}}), "a     b\nlong  x\n"); }

}  // namespace
}  // namespace vireo::cli::columns_test
