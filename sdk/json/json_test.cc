#include "sdk/json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace vireo::json_test {
namespace {

std::string line(const Json& json) { return json_text(json, -1); }

TEST(Json, BracesAreObjectsOrArrays) {
  EXPECT_EQ(line({{"a", 1}, {"b", {{"c", true}}}}), R"({"a":1,"b":{"c":true}})");
  const Json one = {{"name", "n"}};
  EXPECT_EQ(line(one), R"({"name":"n"})");
  EXPECT_EQ(line({1, 2.5, "x", nullptr}), R"([1,2.5,"x",null])");
  EXPECT_EQ(line({"a", 1}), R"(["a",1])");                    // no pair of its own
  EXPECT_EQ(line({{"a", 1}, {2, 3}}), R"([["a",1],[2,3]])");  // one item has no key
  EXPECT_EQ(line({{"a", 1, 2}}), R"([["a",1,2]])");
  EXPECT_EQ(line({{"a", 1}, {"a", 2}}), R"({"a":1})");
  EXPECT_EQ(line({{"list", std::vector<int>{1, 2}}, {"texts", std::vector<std::string>{"x"}}}),
            R"({"list":[1,2],"texts":["x"]})");
  EXPECT_EQ(line({{"none", Json()}, {"array", Json::array()}, {"object", Json::object()}}),
            R"({"none":null,"array":[],"object":{}})");
}

TEST(Json, ValuesAreMovedOutOfBraces) {
  Json list = Json::array();
  for (int i = 0; i < 3; ++i) list.push_back(i);
  const Json* const where = list.begin();
  const Json outer = {{"outer", {{"list", std::move(list)}}}};
  EXPECT_EQ(outer["outer"]["list"].begin(), where);
}

TEST(Json, MembersKeepTheirOrder) {
  Json json;
  json["z"] = 1;
  json["a"] = 2;
  json["m"] = 3;
  json["z"] = "again";
  EXPECT_EQ(line(json), R"({"z":"again","a":2,"m":3})");
  json.erase("a");
  json.erase("not there");
  json["a"] = 4;
  EXPECT_EQ(line(json), R"({"z":"again","m":3,"a":4})");
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key;
  EXPECT_EQ(keys, "zma");
  EXPECT_NE(json, Json({{"m", 3}, {"z", "again"}, {"a", 4}}));
}

TEST(Json, UpdateKeepsPlacesAndAdds) {
  Json json = {{"a", 1}, {"b", 2}};
  json.update({{"c", 3}, {"a", {{"deep", 4}}}});
  EXPECT_EQ(line(json), R"({"a":{"deep":4},"b":2,"c":3})");
  Json null;
  null.update(Json::object());
  EXPECT_EQ(line(null), "{}");
  EXPECT_THROW(json.update({1, 2}), std::runtime_error);
  Json list = {1};
  EXPECT_THROW(list.update({{"a", 1}}), std::runtime_error);
}

TEST(Json, NullBecomesWhatIsAdded) {
  Json json;
  json["list"].push_back(1);
  json["list"].push_back({{"k", 2}});
  json["list"].back()["v"] = 3;
  EXPECT_EQ(line(json), R"({"list":[1,{"k":2,"v":3}]})");
  const Json null;
  EXPECT_TRUE(null.empty());
  EXPECT_EQ(null.begin(), null.end());
  EXPECT_EQ(json["list"].size(), 2u);
  EXPECT_EQ(Json(5).size(), 1u);
}

TEST(Json, WhatDoesNotFitThrows) {
  const Json json = {{"text", "t"}, {"number", 1.5}, {"list", {1}}, {"big", 1e300}};
  EXPECT_THROW(json.at("missing"), std::runtime_error);
  EXPECT_THROW(json["missing"], std::runtime_error);
  EXPECT_THROW(json["text"].get<int>(), std::runtime_error);
  EXPECT_THROW(json["text"].get<double>(), std::runtime_error);
  EXPECT_THROW(json["number"].get<std::string>(), std::runtime_error);
  EXPECT_THROW(json["number"].get<bool>(), std::runtime_error);
  EXPECT_THROW(Json(true).get<int>(), std::runtime_error);
  EXPECT_THROW(Json().get<std::string>(), std::runtime_error);
  EXPECT_THROW(json["big"].get<int64_t>(), std::runtime_error);
  EXPECT_THROW(Json(-1.0).get<uint64_t>(), std::runtime_error);
  EXPECT_THROW(Json(std::nan("")).get<int64_t>(), std::runtime_error);
  EXPECT_THROW(json["list"][1], std::runtime_error);
  EXPECT_THROW(json["list"]["key"], std::runtime_error);
  EXPECT_THROW(json["text"][0], std::runtime_error);
  EXPECT_THROW(json["list"].items(), std::runtime_error);
  EXPECT_THROW(json["text"].begin(), std::runtime_error);
  EXPECT_THROW(json.begin(), std::runtime_error);
  EXPECT_THROW(json["text"].value("key", 1), std::runtime_error);
  EXPECT_THROW(json.value("text", 1), std::runtime_error);
  EXPECT_THROW(Json::array().front(), std::runtime_error);
  Json text = "t", none = Json::array();
  EXPECT_THROW(text.push_back(1), std::runtime_error);
  EXPECT_THROW(text["key"] = 1, std::runtime_error);
  EXPECT_THROW(none.back(), std::runtime_error);
  EXPECT_THROW(none["key"] = 1, std::runtime_error);
  try {
    (void)json.at("text").get<double>();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "JSON: a number is needed where a text stands");
  }
}

TEST(Json, AsksWithoutThrowing) {
  const Json json = {{"a", 1}, {"t", "x"}};
  EXPECT_TRUE(json.contains("a"));
  EXPECT_FALSE(json.contains("b"));
  EXPECT_FALSE(Json(1).contains("a"));
  EXPECT_EQ(Json("text").find("a"), nullptr);
  EXPECT_EQ(json.value("a", 7), 1);
  EXPECT_EQ(json.value("b", 7), 7);
  EXPECT_EQ(json.value("t", ""), "x");
  EXPECT_EQ(json.value("b", "none"), "none");
}

TEST(Json, KindsOfNumbers) {
  EXPECT_TRUE(Json(1).is_number_integer());
  EXPECT_FALSE(Json(1).is_number_unsigned());
  EXPECT_TRUE(Json(1u).is_number_unsigned());
  EXPECT_FALSE(Json(1.0).is_number_integer());
  EXPECT_TRUE(Json(1.0).is_number());
  EXPECT_FALSE(Json(true).is_number());
  EXPECT_TRUE(parse_json("1").is_number_unsigned());
  EXPECT_TRUE(parse_json("-1").is_number_integer());
  EXPECT_FALSE(parse_json("-1").is_number_unsigned());
  EXPECT_FALSE(parse_json("1.0").is_number_integer());
  EXPECT_EQ(Json(1), Json(1u));
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_EQ(Json(1u), Json(1.0));
  EXPECT_NE(Json(-1), Json(UINT64_MAX));
  EXPECT_NE(Json(1), Json(true));
  EXPECT_NE(Json(1), "1");
  EXPECT_EQ(Json(2.9).get<int>(), 2);
}

TEST(Json, IntegersToTheirLimits) {
  const Json json = {INT64_MIN, INT64_MAX, UINT64_MAX, uint64_t{INT64_MAX} + 1, int8_t{-1}, uint16_t{65535}};
  const std::string text =
      "[-9223372036854775808,9223372036854775807,18446744073709551615,9223372036854775808,-1,65535]";
  EXPECT_EQ(line(json), text);
  const Json again = parse_json(text);
  EXPECT_EQ(again, json);
  EXPECT_EQ(again[0].get<int64_t>(), INT64_MIN);
  EXPECT_EQ(again[1].get<int64_t>(), INT64_MAX);
  EXPECT_EQ(again[2].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(line(parse_json("18446744073709551616")), "1.8446744073709552e+19");  // above: a floating number
}

TEST(Json, FloatingNumbers) {
  EXPECT_EQ(line({0.1, 1.0, 1e22, 5e-324, 1.7976931348623157e308, 0.1f, -0.0}),
            "[0.1,1.0,1e+22,5e-324,1.7976931348623157e+308,0.10000000149011612,-0.0]");
  EXPECT_EQ(line({std::numeric_limits<double>::infinity(), std::nan("")}), "[null,null]");
  for (const double v : {0.1, 1 / 3.0, 5e-324, 1.7976931348623157e308, 123456789.123456789})
    EXPECT_EQ(parse_json(line(v)).get<double>(), v);
  EXPECT_TRUE(parse_json("1e999").is_discarded());
}

TEST(Json, ReadsWhatItWrote) {
  const Json json = {{"a", {1, -2, 3.5, "\"\\\n\x01\xC3\xA9", true, false, nullptr}}, {"b", {{"c", Json::array()}}}};
  EXPECT_EQ(parse_json(line(json)), json);
  EXPECT_EQ(parse_json(json_text(json, 2)), json);
  EXPECT_EQ(json_text({{"a", {1}}, {"b", Json::object()}}, 2), "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
  std::ostringstream out;
  out << json["a"][0] << json["b"];
  EXPECT_EQ(out.str(), R"(1{"c":[]})");
  const std::string text = line(json);
  EXPECT_EQ(parse_json(std::vector<uint8_t>(text.begin(), text.end())), json);
}

TEST(Json, OfTwoMembersWithOneKeyTheLastIsRead) {
  EXPECT_EQ(line(parse_json(R"({"a":1,"b":2,"a":[3]})")), R"({"a":[3],"b":2})");
}

TEST(Json, WhatIsNoJsonIsDiscarded) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "{\"a\"}", "{1:2}", "[1] 2", "nul", "'a'", "\"\xFF\"",
                           "\"\x01\"", "[1", "// a\n1", "NaN"})
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
  const Json bad = parse_json("{");
  EXPECT_FALSE(bad.is_object() || bad.is_null() || bad.contains("a"));
  EXPECT_FALSE(parse_json("null").is_discarded());
  EXPECT_TRUE(parse_json(std::vector<uint8_t>()).is_discarded());
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(line("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(line({{"k\xC3", 1}}), "{\"k\xEF\xBF\xBD\":1}");
  EXPECT_EQ(line("\xC3\xA9"), "\"\xC3\xA9\"");
}

TEST(Json, DeepTextIsDiscardedAndTheBoundIsRead) {
  const auto nested = [](size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += open;
    text += "1";
    for (size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  const Json deep = parse_json(nested(kMostJsonDepth, "[", "]"));
  ASSERT_TRUE(deep.is_array());
  const Json copy = deep;
  EXPECT_EQ(copy, deep);
  EXPECT_EQ(line(copy), nested(kMostJsonDepth, "[", "]"));
  EXPECT_TRUE(parse_json(nested(kMostJsonDepth, "{\"a\":", "}")).is_object());
  EXPECT_TRUE(parse_json(nested(kMostJsonDepth + 1, "[", "]")).is_discarded());
  EXPECT_TRUE(parse_json(nested(kMostJsonDepth + 1, "{\"a\":", "}")).is_discarded());
  EXPECT_TRUE(parse_json(nested(3000000, "[", "]")).is_discarded());
  EXPECT_TRUE(parse_json(std::string(3000000, '[')).is_discarded());
}

TEST(Json, CopiesAreApart) {
  Json a = {{"list", {1, 2}}};
  Json b = a;
  b["list"].push_back(3);
  EXPECT_EQ(a["list"].size(), 2u);
  a = a["list"];  // a part of itself
  EXPECT_EQ(line(a), "[1,2]");
  const Json taken = std::move(b);
  EXPECT_EQ(line(taken), R"({"list":[1,2,3]})");
}

}  // namespace
}  // namespace vireo::json_test
