#include "c_api/cli/nearest.h"

#include <gtest/gtest.h>

namespace vireo::cli::nearest_test {
namespace {

const std::vector<std::string> kVerbs = {"convert", "check", "run", "verify", "verify-signature", "inspect", "tune"};

TEST(Nearest, FindsSlipsOfTheKeyboard) {
  EXPECT_EQ(nearest("convrt", kVerbs), "convert");
  EXPECT_EQ(nearest("cnovert", kVerbs), "convert");
  EXPECT_EQ(nearest("inspekt", kVerbs), "inspect");
  EXPECT_EQ(nearest("RUN", kVerbs), "run");
  EXPECT_EQ(nearest("rnu", kVerbs), "run");
}

TEST(Nearest, FindsWhatAWordBegins) {
  EXPECT_EQ(nearest("insp", kVerbs), "inspect");
  EXPECT_EQ(nearest("verify-sig", kVerbs), "verify-signature");
}

TEST(Nearest, DoesNotGuess) {
  for (const char* word : {"", "x", "frobnicate", "quantize"}) EXPECT_EQ(nearest(word, kVerbs), "") << word;
  EXPECT_EQ(nearest("run", {}), "");
  EXPECT_EQ(nearest(std::string(100000, 'r'), kVerbs), "");
}

TEST(Nearest, AnExactNameIsNearest) { EXPECT_EQ(nearest("verify", kVerbs), "verify"); }

TEST(Nearest, TextForHelp) {
  EXPECT_EQ(did_you_mean("imge", {"image", "mask"}), "did you mean image? ");
  EXPECT_EQ(did_you_mean("zzzzzz", {"image", "mask"}), "");
}

}  // namespace
}  // namespace vireo::cli::nearest_test
