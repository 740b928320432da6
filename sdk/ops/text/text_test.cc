#include <gtest/gtest.h>

#include "sdk/ops/import_testing.h"
#include "sdk/ops/shared/text.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/text/case_mapping.h"
#include "sdk/ops/text/text_generated.h"

namespace vireo::text_test {
namespace {

using Texts = std::vector<std::string>;

std::vector<uint8_t> concat(uint32_t bytes = 256) {
  attrs::StringConcatT a;
  a.string_bytes = bytes;
  return pack<attrs::StringConcat>(a);
}
std::vector<uint8_t> split(const std::string& delimiter, int64_t max_splits = -1, uint32_t most = 257) {
  attrs::StringSplitT a;
  a.delimiter = delimiter, a.max_splits = max_splits, a.most_parts = most;
  return pack<attrs::StringSplit>(a);
}
std::vector<uint8_t> normalizer(attrs::CaseChange change, bool sensitive, const Texts& words, uint32_t bytes = 256,
                                bool turkic = false) {
  attrs::StringNormalizerT a;
  a.change = change, a.case_sensitive = sensitive, a.stopwords = words, a.string_bytes = bytes, a.turkic = turkic;
  return pack<attrs::StringNormalizer>(a);
}
constexpr auto kNone = attrs::CaseChange::None, kLower = attrs::CaseChange::Lower, kUpper = attrs::CaseChange::Upper;

TEST(StringConcat, Broadcasts) {
  OpTest t(Op::kStringConcat, concat());
  ASSERT_EQ(t.input_strings({2, 1}, {"a", ""}).input_strings({3}, {"x", "\xE7\x9A\x84", ""}).run(), Status::kOk)
      << t.message();
  EXPECT_EQ(t.y().strings, (Texts{"ax", "a\xE7\x9A\x84", "a", "x", "\xE7\x9A\x84", ""}));
  OpTest none(Op::kStringConcat, concat());
  ASSERT_EQ(none.input_strings({0}, {}).input_strings({1}, {"x"}).run(), Status::kOk) << none.message();
  EXPECT_EQ(none.y().type.shape, make_shape({0}));
}

TEST(StringConcat, AtItsRoomAndOneOver) {
  OpTest fits(Op::kStringConcat, concat(4));  // 8 bytes for both
  ASSERT_EQ(fits.input_strings({2}, {"abc", "d"}).input_strings({1}, {"ef"}).run(), Status::kOk) << fits.message();
  EXPECT_EQ(fits.y().strings, (Texts{"abcef", "def"}));
  OpTest over(Op::kStringConcat, concat(4));
  EXPECT_EQ(over.input_strings({2}, {"abc", "de"}).input_strings({1}, {"ef"}).run(), Status::kInvalidArgument);
  EXPECT_STREQ(over.message(), "its strings take 9 bytes, 8 are reserved for them: convert with more --string-bytes");
  OpTest borrowed(Op::kStringConcat, concat(1));  // "" makes no text: the other string itself is the result
  ASSERT_EQ(borrowed.input_strings({1}, {"abcdef"}).input_strings({1}, {""}).run(), Status::kOk) << borrowed.message();
  EXPECT_EQ(borrowed.y().strings, (Texts{"abcdef"}));
}

TEST(StringConcat, RefusesNumbers) {
  OpTest t(Op::kStringConcat, concat());
  EXPECT_EQ(t.input<float>({1}, {1}).input_strings({1}, {"a"}).run(), Status::kInvalidModel);
}

struct SplitCase {
  const char* text;
  const char* delimiter;
  int64_t max_splits;
  Texts parts;  // as Python's str.split
};

TEST(StringSplit, AsPython) {
  const SplitCase cases[] = {
      {"a b  c", "", -1, {"a", "b", "c"}},
      {" a b c ", "", 1, {"a", "b c "}},
      {" a b c ", "", 0, {"a b c "}},
      {"", "", -1, {}},
      {" \t\n", "", -1, {}},
      {"a\xC2\xA0"
       "b\xE3\x80\x80"
       "c",
       "",
       -1,
       {"a", "b", "c"}},
      {"a\xC2", "", -1, {"a\xC2"}},
      {"", ",", -1, {""}},
      {"a,b,", ",", -1, {"a", "b", ""}},
      {",,", ",", -1, {"", "", ""}},
      {"a,b,c", ",", 1, {"a", "b,c"}},
      {"a,b,c", ",", 0, {"a,b,c"}},
      {"aaa", "aa", -1, {"", "a"}},
      {"a--b-c", "--", -1, {"a", "b-c"}},
      {"x", "xyz", -1, {"x"}},
  };
  for (const SplitCase& c : cases) {
    OpTest t(Op::kStringSplit, split(c.delimiter, c.max_splits));
    ASSERT_EQ(t.input_strings({1}, {c.text}).outputs(2).run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().strings, c.parts) << c.text << " by " << c.delimiter;
    EXPECT_EQ(t.y(1).as<int64_t>(), (std::vector<int64_t>{static_cast<int64_t>(c.parts.size())}));
  }
}

TEST(StringSplit, FillsUpToTheMostParts) {
  OpTest t(Op::kStringSplit, split(""));
  ASSERT_EQ(t.input_strings({2, 1}, {"a", "b c d"}).outputs(2).run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 1, 3}));
  EXPECT_EQ(t.y().strings, (Texts{"a", "", "", "b", "c", "d"}));
  EXPECT_EQ(t.y(1).as<int64_t>(), (std::vector<int64_t>{1, 3}));
  OpTest empty(Op::kStringSplit, split(""));
  ASSERT_EQ(empty.input_strings({0}, {}).outputs(2).run(), Status::kOk) << empty.message();
  EXPECT_EQ(empty.y().type.shape, make_shape({0, 0}));
}

TEST(StringSplit, AtItsMostPartsAndOneOver) {
  OpTest fits(Op::kStringSplit, split(",", -1, 3));
  ASSERT_EQ(fits.input_strings({1}, {"a,b,c"}).outputs(2).run(), Status::kOk) << fits.message();
  OpTest over(Op::kStringSplit, split(",", -1, 3));
  EXPECT_EQ(over.input_strings({2}, {"", "a,b,c,d"}).outputs(2).run(), Status::kInvalidArgument);
  EXPECT_STREQ(over.message(), "string 1 has 4 parts, 3 are reserved: convert with more --string-bytes");
  OpTest cut(Op::kStringSplit, split(",", 2, 3));  // the last part is the rest
  ASSERT_EQ(cut.input_strings({1}, {"a,b,c,d"}).outputs(2).run(), Status::kOk) << cut.message();
  EXPECT_EQ(cut.y().strings, (Texts{"a", "b", "c,d"}));
  OpTest huge(Op::kStringSplit, split(",", INT64_MAX, 3));
  ASSERT_EQ(huge.input_strings({1}, {"a,b,c"}).outputs(2).run(), Status::kOk) << huge.message();
}

TEST(StringNormalizer, CaseOfUnicode) {
  OpTest up(Op::kStringNormalizer, normalizer(kUpper, true, {}));
  // No simple mapping makes two letters of one, and bytes that are no UTF-8 stay.
  ASSERT_EQ(up.input_strings({4}, {"\xC3\xA9\xC4\x81", "\xC3\x9F", "i\xFF\xC3", "\xC9\x90"}).run(), Status::kOk)
      << up.message();
  EXPECT_EQ(up.y().strings, (Texts{"\xC3\x89\xC4\x80", "\xC3\x9F", "I\xFF\xC3", "\xE2\xB1\xAF"}));
  OpTest down(Op::kStringNormalizer, normalizer(kLower, true, {}));
  ASSERT_EQ(down.input_strings({2}, {"\xC3\x89I", "\xE2\xB1\xAF"}).run(), Status::kOk) << down.message();
  EXPECT_EQ(down.y().strings, (Texts{"\xC3\xA9i", "\xC9\x90"}));
  OpTest turkic(Op::kStringNormalizer, normalizer(kUpper, true, {}, 256, true));
  ASSERT_EQ(turkic.input_strings({1}, {"i\xC4\xB1"}).run(), Status::kOk) << turkic.message();
  EXPECT_EQ(turkic.y().strings, (Texts{"\xC4\xB0I"}));
}

TEST(StringNormalizer, Stopwords) {
  OpTest exact(Op::kStringNormalizer, normalizer(kNone, true, {"b"}));
  ASSERT_EQ(exact.input_strings({3}, {"a", "b", "B"}).run(), Status::kOk) << exact.message();
  EXPECT_EQ(exact.y().strings, (Texts{"a", "B"}));
  OpTest any(Op::kStringNormalizer, normalizer(kNone, false, {"\xC3\xA9x"}));
  ASSERT_EQ(any.input_strings({1, 3}, {"\xC3\x89X", "\xC3\x89", "\xC3\xA9xx"}).run(), Status::kOk) << any.message();
  EXPECT_EQ(any.y().type.shape, make_shape({1, 2}));
  EXPECT_EQ(any.y().strings, (Texts{"\xC3\x89", "\xC3\xA9xx"}));
  OpTest all(Op::kStringNormalizer, normalizer(kUpper, false, {"a"}));
  ASSERT_EQ(all.input_strings({1, 2}, {"a", "A"}).run(), Status::kOk) << all.message();
  EXPECT_EQ(all.y().type.shape, make_shape({1, 1}));
  EXPECT_EQ(all.y().strings, (Texts{""}));
  OpTest none(Op::kStringNormalizer, normalizer(kUpper, false, {}));
  ASSERT_EQ(none.input_strings({0}, {}).run(), Status::kOk) << none.message();
  EXPECT_EQ(none.y().strings, (Texts{""}));
}

TEST(StringNormalizer, AtItsRoomAndOneOver) {  // U+0250 takes two bytes, its upper case three
  OpTest fits(Op::kStringNormalizer, normalizer(kUpper, true, {}, 3));
  ASSERT_EQ(fits.input_strings({1}, {"\xC9\x90"}).run(), Status::kOk) << fits.message();
  OpTest over(Op::kStringNormalizer, normalizer(kUpper, true, {}, 2));
  EXPECT_EQ(over.input_strings({1}, {"\xC9\x90"}).run(), Status::kInvalidArgument);
  OpTest same(Op::kStringNormalizer, normalizer(kUpper, true, {}, 1));  // nothing to change: nothing is made
  ASSERT_EQ(same.input_strings({1}, {"ABC"}).run(), Status::kOk) << same.message();
}

TEST(StringNormalizer, RefusesOtherShapes) {
  OpTest rows(Op::kStringNormalizer, normalizer(kNone, true, {}));
  EXPECT_EQ(rows.input_strings({2, 1}, {"a", "b"}).run(), Status::kInvalidModel);
  OpTest scalar(Op::kStringNormalizer, normalizer(kNone, true, {}));
  EXPECT_EQ(scalar.input_strings({}, {"a"}).run(), Status::kInvalidModel);
}

TEST(Utf8, BadBytesAreTheirOwnElements) {
  for (const std::string bad : {"\x80", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xF5\x80\x80\x80",
                                "\xE0\x80\x80", "\xF0\x80\x80\x80", "\xFF"}) {
    const CodePoint c = read_code_point(bad.data(), bad.size());
    EXPECT_FALSE(c.good());
    EXPECT_EQ(c.size, 1u);
    char back = 0;
    write_code_point(c.value, &back);
    EXPECT_EQ(back, bad[0]);
  }
}

TEST(Utf8, WritesWhatItReads) {
  for (uint32_t c = 0; c < CodePoint::kBadByte; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    char bytes[4];
    write_code_point(c, bytes);
    const CodePoint back = read_code_point(bytes, code_point_size(c));
    ASSERT_EQ(back.value, c);
    ASSERT_EQ(back.size, code_point_size(c));
  }
}

TEST(CaseMapping, Unicode) {
  int upper = 0, lower = 0;  // Unicode 14: as many code points have a simple mapping that is not themselves
  for (uint32_t c = 0; c < CodePoint::kBadByte; ++c) {
    upper += upper_case(c) != c;
    lower += lower_case(c) != c;
    ASSERT_EQ(case_key(c), case_key(case_key(c)));
  }
  EXPECT_EQ(upper, 1450);
  EXPECT_EQ(lower, 1433);
  EXPECT_EQ(upper_case(0x1F80), 0x1F88u);
  EXPECT_EQ(lower_case(0x130), 0x69u);
  EXPECT_EQ(case_key(0x212A), case_key('k'));  // the sign of Kelvin
  EXPECT_NE(case_key(0x131), case_key('i'));
}

TEST(TextImport, Attributes) {
  ImportTest up("StringNormalizer", 10);
  TestTensor x;
  x.type = {DType::kString, make_shape({2})};
  x.strings = {"i", "THE"};
  up.attr("case_change_action", "UPPER").attr("locale", "tr_TR.UTF-8").attr("stopwords", Texts{"the"}).input(x);
  ASSERT_EQ(up.run(), Status::kOk) << up.message();
  EXPECT_EQ(up.y().strings, (Texts{"\xC4\xB0"}));
  ImportTest bad("StringNormalizer", 10);
  EXPECT_EQ(bad.attr("case_change_action", "TITLE").input(x).run(), Status::kInvalidModel);
  ImportTest cut("StringSplit", 20);
  ASSERT_EQ(cut.attr("delimiter", "H").attr("maxsplit", 1).input(x).outputs(2).run(), Status::kOk) << cut.message();
  EXPECT_EQ(cut.y().strings, (Texts{"i", "", "T", "E"}));
}

}  // namespace
}  // namespace vireo::text_test
