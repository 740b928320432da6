#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"
#include "sdk/ops/regex/regex_generated.h"
#include "sdk/ops/regex/regex_import.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::regex_test {
namespace {

bool matches(const RegexTable& t, const std::string& text) {
  const size_t n = t.next.size() / t.accepts.size();
  size_t state = 0;
  for (const char c : text) state = t.next[state * n + t.classes[static_cast<uint8_t>(c)]];
  return t.accepts[state] != 0;
}

struct Case {
  const char* pattern;
  std::vector<std::string> yes, no;
};

TEST(Regex, MatchesTheWholeText) {
  const Case cases[] = {
      {"", {""}, {"a"}},
      {"a|b|", {"a", "b", ""}, {"ab"}},
      {"ab*c", {"ac", "abbc"}, {"abb", "xac"}},
      {"(a|b)+?", {"a", "abba"}, {"", "abc"}},
      {"x{2,3}", {"xx", "xxx"}, {"x", "xxxx"}},
      {"x{2,}", {"xx", "xxxxx"}, {"x"}},
      {"x{,2}", {"x{,2}"}, {"xx", ""}},  // no repeat: it means itself
      {"(?:a?){3}", {"", "aaa"}, {"aaaa"}},
      {"(a*)*b", {"b", "aab"}, {"a"}},
      {".", {"a", "\xC3\xA9", "\xF0\x9F\x98\x80"}, {"\n", "", "ab", "\xC3", "\xFF"}},
      {"(?s).", {"\n"}, {""}},
      {"\\C", {"\xFF", "a"}, {"\xC3\xA9"}},
      {"[a-c\xD0\xB0-\xD1\x8F]+", {"ab\xD0\xB6"}, {"\xD0\x96"}},
      {"[^a-c]", {"\xD0\xB6", "\n", "d"}, {"a", "\x80", "\xED\xA0\x80"}},
      {"[]a]+", {"]a"}, {"b"}},
      {"[a-]", {"-", "a"}, {"b"}},
      {"[[:alpha:]\\d_]+", {"aZ9_"}, {"-"}},
      {"[[:^digit:]]", {"a"}, {"1"}},
      {"\\w\\W\\d\\D\\s\\S", {"a-1b\t."}, {"a-1b\vx"}},
      {"\\Qa.b*\\E+", {"a.b*", "a.b***"}, {"aab"}},
      {"\\x41\\x{1F600}\\101\\n\\.\\_",
       {"A\xF0\x9F\x98\x80"
        "A\n._"},
       {""}},
      {"(?i)k\xC3\xA9", {"K\xC3\x89", "\xE2\x84\xAA\xC3\xA9"}, {"ke"}},
      {"(?i)\\W[[:^alpha:]]", {"--"}, {"k-", "\xE2\x84\xAA-", "-s"}},
      {"a(?i)b|c", {"aB", "C"}, {"AB"}},
      {"(?i:a)b", {"Ab"}, {"AB"}},
      {"(?i-s:[k])", {"\xE2\x84\xAA"}, {"j"}},
      {"(?P<n>a)(?<m>b)", {"ab"}, {"a"}},
      {"^a$", {"a"}, {"a\n"}},
      {"(?m)a$\n^b", {"a\nb"}, {"ab"}},
      {"a$\n^b", {}, {"a\nb"}},
      {"\\Aa\\z", {"a"}, {"aa"}},
      {"\\bfoo\\b.*", {"foo", "foo bar"}, {"foobar"}},
      {"a\\Bb", {"ab"}, {"a b"}},
      {"\\B", {""}, {"a"}},
      {"\\b", {}, {"", "a"}},
  };
  for (const Case& c : cases) {
    RegexTable t;
    std::string message;
    ASSERT_EQ(compile_regex(c.pattern, &t, &message), RegexResult::kOk) << c.pattern << ": " << message;
    for (const std::string& s : c.yes) EXPECT_TRUE(matches(t, s)) << c.pattern << " on " << s;
    for (const std::string& s : c.no) EXPECT_FALSE(matches(t, s)) << c.pattern << " on " << s;
  }
}

TEST(Regex, RefusesWhatIsNoPattern) {
  for (const char* p :
       {"(",       ")",     "[",        "[a",   "a**",         "*",     "a{3}{2}", "a{1001}", "a{3,2}",
        "\\",      "\\1",   "\\y",      "\\x4", "\\x{110000}", "(?=a)", "(?<=a)",  "(?x)a",   "(?P<a>x)(?P<a>y)",
        "(?P<>x)", "[b-a]", "[[:no:]]", "(?i",  "a\xFF",       "a\\x{"}) {
    RegexTable t;
    std::string message;
    EXPECT_EQ(compile_regex(p, &t, &message), RegexResult::kInvalid) << p;
    EXPECT_FALSE(message.empty()) << p;
  }
}

TEST(Regex, RefusesByNameWhatWouldBeTooLarge) {
  RegexTable t;
  std::string message;
  EXPECT_EQ(compile_regex("\\pL", &t, &message), RegexResult::kUnsupported);
  EXPECT_EQ(message, "the class of Unicode \\pL");
  EXPECT_EQ(compile_regex("[\\p{Greek}]", &t, &message), RegexResult::kUnsupported);
  EXPECT_EQ(message, "the class of Unicode \\p{Greek}");
  EXPECT_EQ(compile_regex("(a|b)*a(a|b){20}", &t, &message), RegexResult::kUnsupported);
  EXPECT_EQ(message, "its automaton has more than 8192 states");
  EXPECT_EQ(compile_regex("((a{100}){100}){100}", &t, &message), RegexResult::kUnsupported);
  EXPECT_EQ(message, "its repeats written out have more than 40000 states");
  EXPECT_EQ(compile_regex(std::string(300, '(') + std::string(300, ')'), &t, &message), RegexResult::kUnsupported);
}

TEST(Regex, EqualStatesAreOne) {
  RegexTable t;
  std::string message;
  ASSERT_EQ(compile_regex("(a|b)*abb", &t, &message), RegexResult::kOk);  // Aho, Sethi, Ullman 1986, section 3.9
  EXPECT_EQ(t.accepts.size(), 4u + 1u);                                   // theirs, and the one of other letters
  EXPECT_EQ(t.next.size() / t.accepts.size(), 3u);                        // a, b, all else
}

TEST(RegexFullMatch, FromThePattern) {
  TestTensor x;
  x.type = {DType::kString, make_shape({2, 2})};
  x.strings = {"account@gmail.com", "account@hotmail.com", "not email", "account2@yahoo.com"};
  ImportTest t("RegexFullMatch", 20);
  t.attr("pattern", "(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)").input(x);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes, (std::vector<uint8_t>{1, 0, 0, 1}));
  ImportTest bad("RegexFullMatch", 20);
  EXPECT_EQ(bad.attr("pattern", "(").input(x).run(), Status::kInvalidModel);
}

// The kernel follows the table without a look, so the loader must not let a wrong one through.
TEST(RegexFullMatch, VerifiesTheTable) {
  attrs::RegexFullMatchT good;
  good.classes.assign(256, 0);
  good.next = {0};
  good.accepts = {1};
  const auto run = [](const attrs::RegexFullMatchT& a) {
    OpTest t(Op::kRegexFullMatch, pack<attrs::RegexFullMatch>(a));
    return t.input_strings({1}, {"\xFFx"}).run();
  };
  EXPECT_EQ(run(good), Status::kOk);
  attrs::RegexFullMatchT far = good, wide = good, few = good, none = good, short_table = good;
  far.next = {1};
  wide.classes[255] = 1;
  few.classes.pop_back();
  none.accepts.clear();
  none.next.clear();
  short_table.accepts = {0, 1};
  for (const auto& bad : {far, wide, few, none, short_table}) EXPECT_EQ(run(bad), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::regex_test
