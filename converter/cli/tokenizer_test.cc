#include "converter/cli/tokenizer.h"

#include <gtest/gtest.h>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"

namespace vireo::cli::tokenizer_test {
namespace {

// A tokenizer whose pieces are the bytes of its pattern's words, and a few merges.
std::string file(const std::string& before = R"({"type": "ByteLevel", "add_prefix_space": false})") {
  std::string vocab;
  int id = 0;
  for (const char* piece : {"a", "b", "c", "1", "2", "'", "s", "\xC4\xA0", "\xC4\x8A", "!", "ab",
                            "\xC4\xA0"
                            "ab",
                            "aba"})
    vocab += (vocab.empty() ? "\"" : ", \"") + std::string(piece) + "\": " + std::to_string(id++);
  const std::string path = ::testing::TempDir() + "tokenizer.json";
  write_file(path, R"({"pre_tokenizer": )" + before + R"(, "model": {"type": "BPE", "vocab": {)" + vocab +
                       R"(}, "merges": ["a b", ["ab", "a"], ["Ġ", "ab"]]}})");
  return path;
}

using Ids = std::vector<int64_t>;

TEST(Tokenizer, MergesTheLowestRankFirst) {
  const Tokenizer t(file());
  EXPECT_EQ(t.encode("ab", "x"), (Ids{10}));
  EXPECT_EQ(t.encode("aba", "x"), (Ids{12}));
  EXPECT_EQ(t.encode("abab", "x"), (Ids{10, 10})) << "all places of a pair are merged at once";
  EXPECT_EQ(t.encode("bca", "x"), (Ids{1, 2, 0}));
}

TEST(Tokenizer, WordsAreThoseOfTheUsualPattern) {
  const Tokenizer t(file());
  EXPECT_EQ(t.encode("ab ab", "x"), (Ids{10, 11})) << "a space belongs to the word behind it";
  EXPECT_EQ(t.encode("ab  ab", "x"), (Ids{10, 7, 11})) << "of several, the last";
  EXPECT_EQ(t.encode("a's", "x"), (Ids{0, 5, 6}));
  EXPECT_EQ(t.encode("a12!\n", "x"), (Ids{0, 3, 4, 9, 8}));
  EXPECT_EQ(t.encode("a \n", "x"), (Ids{0, 7, 8}));
  EXPECT_EQ(t.encode("a\nab", "x"), (Ids{0, 8, 10})) << "only a space is a word's own";
  EXPECT_TRUE(t.encode("", "x").empty());
}

TEST(Tokenizer, RefusesWhatItDoesNotKnow) {
  const Tokenizer t(file());
  EXPECT_THROW(t.encode("d", "x"), Failure) << "no token";
  EXPECT_THROW(t.encode("a\xC3\xA4", "x"), Failure) << "not ASCII";
  EXPECT_THROW(Tokenizer(file(R"({"type": "Metaspace"})")), Failure);
  EXPECT_THROW(Tokenizer(file(R"({"type": "ByteLevel", "add_prefix_space": true})")), Failure);
}

}  // namespace
}  // namespace vireo::cli::tokenizer_test
