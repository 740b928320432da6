// Recipes: read as they were written, and refused by name where a key means nothing.
#include "quant/int8/recipe.h"

#include <gtest/gtest.h>

namespace vireo::quant::recipe_test {
namespace {

bool reads(const std::string& text, Recipe* out, std::string* error, std::string* help) {
  error->clear();
  help->clear();
  return read_recipe(parse_json(text), out, error, help);
}

TEST(Recipe, RoundTrip) {
  Recipe r;
  r.model = "sha256:00";
  r.data_file = "cal.npz";
  r.data_digest = "sha256:11";
  r.per_channel = false;
  r.range = RangeMethod::kPercentile;
  r.equalise = false;
  r.correct_bias = false;
  r.descend = false;
  r.format = Format::kW4A8;
  r.rules = {{"head.*", {true, {}}}, {"stem", {{}, Format::kW8A16}}, {"head.1", {false, Format::kW8A8}}};
  r.ranges["stem"] = {-0.1, 3.3000000000000003};
  r.wide = {{"head.1"}};
  const std::string text = json_text(write_recipe(r), 1);
  Recipe again;
  std::string error, help;
  ASSERT_TRUE(reads(text, &again, &error, &help)) << error;
  EXPECT_EQ(json_text(write_recipe(again), 1), text);
  EXPECT_EQ(again.ranges["stem"].high, 3.3000000000000003);
  EXPECT_EQ(again.wide, r.wide);
  EXPECT_TRUE(kept(again, "head.2"));
  EXPECT_FALSE(kept(again, "head.1"));
  EXPECT_FALSE(kept(again, "stem"));
  EXPECT_EQ(format_of(again, "stem"), Format::kW8A16);
  EXPECT_EQ(format_of(again, "head.1"), Format::kW8A8);
  EXPECT_EQ(format_of(again, "head.2"), Format::kW4A8);
}

TEST(Recipe, OfBiasesOnlyWhatItSays) {
  for (const auto& [said, wanted] : std::vector<std::pair<std::string, std::optional<bool>>>{
           {"", std::nullopt}, {R"(, "bias": "correct")", true}, {R"(, "bias": "keep")", false}}) {
    Recipe r;
    std::string error, help;
    ASSERT_TRUE(reads(R"({"vireo_recipe": 1, "defaults": {"format": "w8a8")" + said + "}}", &r, &error, &help))
        << error;
    EXPECT_EQ(r.correct_bias, wanted) << said;
  }
}

TEST(Recipe, RoundTripOfWeightsInFourBits) {
  Recipe r;
  r.format = Format::kW4;
  r.scale_gains = false;
  r.rules = {{"head", {true, {}}}};
  r.wide = {"layers.0/v", "table"};
  const std::string text = json_text(write_recipe(r), 1);
  Recipe again;
  std::string error, help;
  ASSERT_TRUE(reads(text, &again, &error, &help)) << error;
  EXPECT_EQ(json_text(write_recipe(again), 1), text);
  EXPECT_EQ(again.format, Format::kW4);
  EXPECT_EQ(again.wide, r.wide);
  EXPECT_FALSE(again.scale_gains);
  EXPECT_TRUE(again.descend);
  EXPECT_TRUE(kept(again, "head"));
}

// What is said of codes of values means nothing where these stay in float, and the other way round.
TEST(Recipe, KeysOfOtherFormatsAreRefused) {
  Recipe r;
  std::string error, help;
  const std::string w4 = R"({"vireo_recipe": 1, "defaults": {"format": "w4/32")";
  for (const std::string& text : {w4 + R"(, "range": "mse"}})", w4 + R"(, "rounding": "descent"}})",
                                  w4 + R"(}, "condition": [{"equalise": "*"}]})", w4 + R"(}, "ranges": {"x": [0, 1]}})",
                                  w4 + R"(}, "layers": {"x": {"format": "w8a8"}}})",
                                  std::string(R"({"vireo_recipe": 1, "condition": [{"scale": "*"}]})"),
                                  std::string(R"({"vireo_recipe": 1, "layers": {"x": {"format": "w4/32"}}})"),
                                  std::string(R"({"vireo_recipe": 1, "defaults": {"rounding": "feedback"}})")}) {
    r = {};
    EXPECT_FALSE(reads(text, &r, &error, &help)) << text;
    EXPECT_NE(help, "") << text;
  }
}

TEST(Recipe, KeysThatMeanNothingAreNamedWithTheNearest) {
  struct Case {
    const char* text;
    const char* error;
    const char* help;
  };
  const Case cases[] = {
      {R"({"vireo_recipe": 1, "defautls": {}})", "the recipe has \"defautls\"", "did you mean \"defaults\"?"},
      {R"({"vireo_recipe": 1, "defaults": {"wieghts": "tensor"}})", "\"wieghts\"", "did you mean \"weights\"?"},
      {R"({"vireo_recipe": 1, "defaults": {"range": "mze"}})", "\"mze\"", "did you mean \"mse\"?"},
      {R"({"vireo_recipe": 1, "layers": {"a": {"kep": true}}})", "\"kep\"", "did you mean \"keep\"?"},
      {R"({"vireo_recipe": 1, "layers": {"a": {"format": "w8a17"}}})", "\"w8a17\"", "did you mean \"w8a16\"?"},
      {R"({"vireo_recipe": 1, "layers": {"a": {"keep": 1}}})", "neither true nor false", "write true"},
      {R"({"vireo_recipe": 1, "prune": []})", "\"prune\", which this version does not do", "take the key out"},
      {R"({"vireo_recipe": 1, "search": {}})", "\"search\", which this version does not do", "take the key out"},
      {R"({"vireo_recipe": 2})", "not of version 1", ""},
      {R"({})", "not of version 1", ""},
      {R"([1])", "an object of JSON", ""},
      {R"({"vireo_recipe": 1, "ranges": {"x": [1, 2]}})", "does not hold 0", ""},
      {R"({"vireo_recipe": 1, "ranges": {"x": 3}})", "is not two numbers", ""},
      {R"({"vireo_recipe": 1, "condition": [{"equalize": "*"}]})", "\"equalize\"", "did you mean \"equalise\"?"},
      {R"({"vireo_recipe": 1, "condition": {}})", "not a list", ""},
      {R"({"vireo_recipe": 1, "data": 3})", "not an object", ""},
  };
  for (const Case& c : cases) {
    Recipe r;
    std::string error, help;
    EXPECT_FALSE(reads(c.text, &r, &error, &help)) << c.text;
    EXPECT_NE(error.find(c.error), std::string::npos) << error;
    EXPECT_NE(help.find(c.help), std::string::npos) << help;
  }
}

TEST(Recipe, PatternsStandForNames) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*c", "abbc"));
  EXPECT_TRUE(matches("a*b*c", "a/b.b/c"));
  EXPECT_TRUE(matches("?x", "ax"));
  EXPECT_FALSE(matches("a*c", "abcd"));
  EXPECT_TRUE(matches("a/qkv", "a/qkv (k)"));
  EXPECT_TRUE(matches("a/qkv (k)", "a/qkv (k)"));
  EXPECT_FALSE(matches("a/qkv (k)", "a/qkv (q)"));
  EXPECT_FALSE(matches("a/qkv", "a/qkv (x)"));
  EXPECT_FALSE(matches("?x", "x"));
  EXPECT_FALSE(matches("", "a"));
}

}  // namespace
}  // namespace vireo::quant::recipe_test
