#include "c_api/cli/plain_text.h"

#include <gtest/gtest.h>

#include <sstream>

namespace vireo::cli::plain_text_test {
namespace {

std::string plain(const std::string& text) {
  std::ostringstream out;
  {
    const PlainText guard(out);
    out << text;
  }
  return out.str();
}

TEST(PlainText, ControlCharactersAreSpelled) {
  EXPECT_EQ(plain("\x1b[31mred\x1b]0;title\a"), "\\u001b[31mred\\u001b]0;title\\u0007");
  EXPECT_EQ(plain("over\rwritten\b\x7f"), "over\\u000dwritten\\u0008\\u007f");
  EXPECT_EQ(plain(std::string("a\0b", 3)), "a\\u0000b");
}

TEST(PlainText, C1InUtf8IsSpelledAndItsNeighboursStay) {
  EXPECT_EQ(plain("\xC2\x9B"
                  "31m"),
            "\\u009b31m");                     // CSI in one character
  EXPECT_EQ(plain("\xC2\xB5s"), "\xC2\xB5s");  // the micro sign
  EXPECT_EQ(plain("\xC2"), "\xC2");            // cut off
  EXPECT_EQ(plain("\xC2\xC2\x80"), "\xC2\\u0080");
}

TEST(PlainText, TextStays) {
  const std::string text = "ein\tZwei\nдва 三 \xF0\x9F\x90\xA6\n";
  EXPECT_EQ(plain(text), text);
}

TEST(PlainText, ByteByByteIsTheSame) {
  std::ostringstream out;
  {
    const PlainText guard(out);
    for (const char c : std::string("a\x1b\xC2\x9B\xC2\xB5\n")) out.put(c);
    out.flush();
  }
  EXPECT_EQ(out.str(), "a\\u001b\\u009b\xC2\xB5\n");
}

TEST(PlainText, AFullStreamShows) {
  struct Full : std::streambuf {
  } full;
  std::ostream broken(&full);
  const PlainText guard(broken);
  broken << "x";
  EXPECT_FALSE(broken.good());
}

}  // namespace
}  // namespace vireo::cli::plain_text_test
