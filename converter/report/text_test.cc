#include "converter/report/text.h"

#include <gtest/gtest.h>

namespace vireo::report::text_test {
namespace {

TEST(SafeText, KeepsWhatIsPlain) {
  EXPECT_EQ(safe_text("/b0/b0.0/c/Conv"), "/b0/b0.0/c/Conv");
  EXPECT_EQ(safe_text("gr\xC3\xBC\xC3\x9F \xE5\xB1\x82 \xF0\x9F\x8C\xB1"),
            "gr\xC3\xBC\xC3\x9F \xE5\xB1\x82 \xF0\x9F\x8C\xB1");
  EXPECT_EQ(safe_text(""), "");
}

// A name that reads otherwise than it is written: U+202E turns what follows around.
TEST(SafeText, SpellsOutWhatMisleads) {
  EXPECT_EQ(safe_text("a\xE2\x80\xAE"
                      "b"),
            "a<U+202E>b");
  EXPECT_EQ(safe_text("a\xE2\x81\xA6"
                      "b\xE2\x80\x8B"),
            "a<U+2066>b<U+200B>");
  EXPECT_EQ(safe_text(std::string("a\0b\n\x1b[31m", 9)), "a<U+0000>b<U+000A><U+001B>[31m");
}

TEST(SafeText, ReplacesWhatIsNoUtf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(safe_text("a\xFF"
                      "b"),
            "a" + bad + "b");
  EXPECT_EQ(safe_text("\xC0\xAF"), bad + bad);                      // a slash in two bytes
  EXPECT_EQ(safe_text("\xED\xA0\x80"), bad + bad + bad);            // half of a pair of UTF-16
  EXPECT_EQ(safe_text("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // above U+10FFFF
  EXPECT_EQ(safe_text("\xE2\x80"), bad + bad);                      // ends too early
}

TEST(SafeText, CutsBetweenCharactersAndSaysSo) {
  const std::string text = safe_text(std::string(1 << 20, 'x'));
  EXPECT_EQ(text, std::string(kMostName, 'x') + "... (1048576 bytes)");
  EXPECT_EQ(safe_text("\xC3\xBC\xC3\xBC", 3), "\xC3\xBC... (4 bytes)");
}

TEST(ScriptText, NothingEndsTheElement) {
  EXPECT_EQ(script_text("{\"a\":\"</script><!--&\"}"), "{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u0026\"}");
  EXPECT_EQ(script_text("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA"), "\\u2028\\u2029\xE2\x80\xAA");
}

// RFC 4648, section 10.
TEST(Base64, AsInTheRfc) {
  const auto of = [](const std::string& s) { return base64(reinterpret_cast<const uint8_t*>(s.data()), s.size()); };
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foo"), "Zm9v");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace vireo::report::text_test
