#include "converter/report/page.h"

#include <gtest/gtest.h>

#include "converter/ir/text.h"
#include "converter/report/attributes.h"

namespace vireo::report::page_test {
namespace {

size_t count_of(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}

TEST(Page, HostileTextStaysText) {
  const std::string evil = "</script><script>alert(1)</script><!-- @@DATA@@ \"'&";
  const Json data = {{"model", evil}, {"nodes", {{{"name", evil}}}}};
  const std::string page = page_of(data, evil);
  EXPECT_EQ(count_of(page, "<script"), count_of(page_of(Json::object(), ""), "<script"));
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  // The data are there, whole, and say the same.
  const size_t begin = page.find("id=\"data\">") + 10, end = page.find("</script>", begin);
  EXPECT_EQ(parse_json(page.substr(begin, end - begin)), data);
}

TEST(Page, AsksNothingOfANetwork) {
  const std::string page = page_of(Json::object(), "m");
  for (const char* loader : {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "http://", "https://", "<link"})
    EXPECT_EQ(page.find(loader), std::string::npos) << loader;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page.find("@@"), std::string::npos);
}

TEST(Page, NoInnerHtml) {
  const std::string page = page_of(Json::object(), "m");
  for (const char* way : {".innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("})
    EXPECT_EQ(page.find(way), std::string::npos) << way;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs attributes(const std::string& line) {
  std::string error;
  const auto g = ir::parse_graph(line, &error);
  EXPECT_NE(g, nullptr) << error;
  if (g == nullptr) return {};
  const ir::Node& n = g->nodes().back();
  return attributes_of(n.op, {n.attrs.data(), n.attrs.size()});
}

TEST(Attributes, ReadByTheSchema) {
  EXPECT_EQ(attributes("input %x f32[1,4,8,8]\n%y = Conv(%x, w[4,1,3,3]) {strides:[2,2], pads:[1,1,1,1], group:4}"),
            (Pairs{{"strides", "2, 2"}, {"pads", "1, 1, 1, 1"}, {"group", "4"}}));
  EXPECT_EQ(attributes("input %x f32[1,4]\n%y = Cast(%x) {to:10}"), (Pairs{{"to", "float16"}}));
  EXPECT_EQ(attributes("input %x f32[1,4]\n%y = Relu(%x)"), Pairs());
}

// Whatever stands in the bytes, nothing outside of them is read. Run under AddressSanitizer, too.
TEST(Attributes, DamagedTablesAreRead) {
  std::string error;
  const auto g = ir::parse_graph(
      "input %x f32[1,4,8,8]\n%y = Conv(%x, w[4,1,3,3]) {strides:[2,2], pads:[1,1,1,1], group:4}", &error);
  ASSERT_NE(g, nullptr) << error;
  const std::vector<uint8_t> good = g->nodes().back().attrs;
  for (size_t i = 0; i < good.size(); ++i) {
    for (const uint8_t value : {0x00, 0x7F, 0x80, 0xFF}) {
      std::vector<uint8_t> bad = good;
      bad[i] = value;
      attributes_of(Op::kConv, {bad.data(), bad.size()});
    }
    attributes_of(Op::kConv, {good.data(), i});
  }
}

TEST(Side, AGraphAsDataForThePage) {
  std::string error;
  const auto g = ir::parse_graph("input %x f32[N,4]\n%a = Gemm(%x, w[4,8])\n%y = Relu(%a)\noutput %y", &error);
  ASSERT_NE(g, nullptr) << error;
  const Json json = side_json(side_of(*g));
  ASSERT_EQ(json["graphs"].size(), 1u);
  ASSERT_EQ(json["nodes"].size(), 2u);
  EXPECT_EQ(json["nodes"][0]["op"], "Gemm");
  const Json& input = json["values"][json["graphs"][0]["inputs"][0].get<size_t>()];
  EXPECT_EQ(input["type"], "float32[N,4]");
  EXPECT_FALSE(input.contains("bytes"));  // N is open
  const Json& weights = json["values"][json["nodes"][0]["inputs"][1].get<size_t>()];
  EXPECT_EQ(weights["bytes"], 128);
  EXPECT_EQ(weights["constant"], true);
  // Input, two nodes, output; three numbers each. Three lines.
  ASSERT_EQ(json["graphs"][0]["boxes"].size(), 1u);
  EXPECT_EQ(json["graphs"][0]["boxes"][0]["items"].size(), 2u);
  EXPECT_EQ(json["graphs"][0]["boxes"][0]["places"].size(), 12u);
  EXPECT_EQ(json["graphs"][0]["boxes"][0]["lines"].size(), 3u);
  EXPECT_FALSE(json.contains("bounds"));
  EXPECT_FALSE(json.contains("texts"));
}

}  // namespace
}  // namespace vireo::report::page_test
