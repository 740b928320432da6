#include "c_api/cli/folded_text.h"

#include <gtest/gtest.h>

#include <sstream>

namespace vireo::cli::folded_text_test {
namespace {

TEST(FoldedText, LongLinesGoOnBelow) {
  std::ostringstream out;
  {
    const FoldedText guard(out, 30);
    out << "  one two three four "
        << "five six seven eight\nshort\n";
  }
  EXPECT_EQ(out.str(), "  one two three four five six\n      seven eight\nshort\n");
}

TEST(FoldedText, TextWithoutAnEndIsPassedOnAtLast) {
  std::ostringstream out;
  {
    const FoldedText guard(out, 30);
    out << "no line feed" << std::flush;
  }
  EXPECT_EQ(out.str(), "no line feed");
}

TEST(FoldedText, WhatProgramsReadIsLeft) {
  const std::string long_line = "{\"a\": " + std::string(300, ' ') + "1}\n";
  std::ostringstream out;
  {
    const FoldedText guard(out, 30);
    out << "before, " << as_is << long_line;
  }
  EXPECT_EQ(out.str(), "before, " + long_line);
}

TEST(FoldedText, AStreamThatIsFullIsNoticed) {
  class Full : public std::streambuf {};
  Full full;
  std::ostream out(&full);
  const FoldedText guard(out, 30);
  out << "a line\n";
  EXPECT_FALSE(out.good());
}

}  // namespace
}  // namespace vireo::cli::folded_text_test
