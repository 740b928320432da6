#include "converter/target/profile.h"

#include <gtest/gtest.h>

#include <string>

namespace vireo::target::profile_test {
namespace {

const std::vector<std::string> kPrecisions = {"bf16", "int4"};

bool parse(const std::string& text, Profile* out, std::string* error) {
  return parse_profile(text, "board.json", kPrecisions, out, error);
}
// The profile with `more` keys: refused, with these words in the error.
void refused(const std::string& text, const std::vector<std::string>& words) {
  Profile profile;
  std::string error;
  EXPECT_FALSE(parse(text, &profile, &error)) << text;
  EXPECT_EQ(error.rfind("board.json: ", 0), 0u) << error;
  for (const std::string& word : words) EXPECT_NE(error.find(word), std::string::npos) << error << "\nwanted: " << word;
}
void key_refused(const std::string& more, const std::vector<std::string>& words) {
  refused(R"({"name": "x", "devices": [{"device": "cpu"}], )" + more + "}", words);
}
void device_refused(const std::string& device, const std::vector<std::string>& words) {
  refused(R"({"name": "x", "devices": [{"device": "cpu"}, )" + device + "]}", words);
}

TEST(Profile, AllThatItMaySay) {
  Profile p;
  std::string error;
  ASSERT_TRUE(parse(R"({"name": "board", "description": "d", "precision": "bf16", "layout": "nchw", "skip": ["fold"],
    "types": ["int8", "float32"], "alignment": 4096, "pack": false,
    "memory": {"arena": 1000, "file": 2000, "pointer": 4},
    "firmware": {"core": "cortex-m4", "compiler": "gcc", "flags": "-mthumb", "board": "desk"},
    "devices": [{"delegate": "npu", "rates": {"i8": 2e12, "launch_ns": 0}, "watts": 1.5}, {"device": "cpu"}]})",
                    &p, &error))
      << error;
  EXPECT_EQ(p.name, "board");
  ASSERT_EQ(p.devices.size(), 2u);
  EXPECT_EQ(p.devices[0].delegate, "npu");
  EXPECT_EQ(p.devices[0].rates.i8_rate, 2e12);
  EXPECT_EQ(p.devices[0].rates.f32_rate, 0);
  EXPECT_LT(p.devices[0].rates.launch_ns, 0);  // nothing, as vireo_rates says it
  EXPECT_EQ(p.devices[0].watts, 1.5);
  EXPECT_EQ(p.devices[1].rates.launch_ns, 0);  // what it declares stays
  EXPECT_EQ(p.arena_bytes, 1000u);
  EXPECT_EQ(p.file_bytes, 2000u);
  EXPECT_EQ(p.pointer_bytes, 4u);
  EXPECT_EQ(p.types, uint64_t{1} << VIREO_INT8 | uint64_t{1} << VIREO_FLOAT32);
  EXPECT_EQ(p.precision, "bf16");
  EXPECT_EQ(p.skip, (std::vector<std::string>{"choose_layout", "fold"}));
  EXPECT_EQ(p.alignment, 4096u);
  EXPECT_FALSE(p.pack);
  EXPECT_EQ(p.firmware.core, "cortex-m4");
  EXPECT_EQ(p.firmware.compiler, "gcc");
  EXPECT_EQ(p.firmware.flags, "-mthumb");
  EXPECT_EQ(p.firmware.board, "desk");
}

TEST(Profile, FirmwareIsWhole) {
  key_refused(R"("firmware": "cortex-m4")", {"firmware", "an object"});
  key_refused(R"("firmware": {"core": "cortex-m4", "compiler": "gcc", "flags": "-mthumb"})",
              {"firmware.board", "missing"});
  key_refused(R"("firmware": {"core": ""})", {"firmware.core", "a text of 1"});
  key_refused(R"("firmware": {"cores": "x"})", {"there is no key", "firmware.cores", "compiler"});
}

TEST(Profile, WhatItMayNotSay) {
  refused("", {"not JSON"});
  refused("[]", {"an object"});
  refused("{\"name\": \"x\"", {"not JSON"});
  refused(R"({"devices": [{"device": "cpu"}]})", {"\"name\"", "missing"});
  refused(R"({"name": "none", "devices": [{"device": "cpu"}]})", {"\"name\""});
  refused(R"({"name": "a/b", "devices": [{"device": "cpu"}]})", {"\"name\""});
  refused(R"({"name": ")" + std::string(65, 'x') + R"(", "devices": [{"device": "cpu"}]})", {"1 to 64"});
  refused(R"({"name": "x", "devices": []})", {"\"devices\"", "1 to 16"});
  refused(R"({"name": "x", "name": "y", "devices": [{"device": "cpu"}]})", {"\"name\" stands twice"});
  key_refused(R"("arena": 5)", {"no key \"arena\"", "memory"});
  key_refused(R"("memory": {"ram": 5})", {"\"memory.ram\"", "arena, file"});
  key_refused(R"("memory": {"arena": -5})", {"memory.arena", "whole number"});
  key_refused(R"("memory": {"arena": 5.5})", {"memory.arena"});
  key_refused(R"("memory": 5)", {"\"memory\""});
  key_refused(R"("types": ["int9"])", {"\"types\"", "int8", "bfloat16"});
  key_refused(R"("types": [])", {"\"types\""});
  key_refused(R"("precision": "fp4")", {"\"precision\"", "bf16, int4"});
  key_refused(R"("layout": "nhwc")", {"\"layout\"", "auto", "nchw"});
  key_refused(R"("skip": "fold")", {"\"skip\""});
  key_refused(R"("pack": 1)", {"\"pack\"", "true or false"});
  for (const char* bad : {"32", "96", "131072", "\"64\"", "64.5", "-64"})
    key_refused(std::string("\"alignment\": ") + bad, {"\"alignment\"", "64"});
  device_refused("5", {"devices[1]"});
  device_refused("{}", {"devices[1]", "either"});
  device_refused(R"({"device": "a", "delegate": "b"})", {"devices[1]", "either"});
  device_refused(R"({"device": "cpu"})", {"devices[1]", "not in the list"});
  device_refused(R"({"device": "a,b"})", {"one device"});
  device_refused(R"({"device": "auto"})", {"one device"});
  device_refused(R"({"device": "a", "speed": 1})", {"\"devices[1].speed\"", "rates"});
  device_refused(R"({"device": "a", "rates": {"fp32": 1}})", {"\"devices[1].rates.fp32\"", "f32"});
  device_refused(R"({"device": "a", "rates": {"f32": -1}})", {"devices[1].rates.f32", "0 or more"});
  device_refused(R"({"device": "a", "rates": {"f32": "fast"}})", {"devices[1].rates.f32"});
  device_refused(R"({"device": "a", "watts": 1e999})", {"board.json"});
}

TEST(Profile, TheShippedOnes) {
  EXPECT_GE(shipped_profiles().size(), 4u);
  for (const ShippedProfile& shipped : shipped_profiles()) {
    Profile p;
    std::string error;
    EXPECT_TRUE(parse_profile(shipped.text, shipped.name, kPrecisions, &p, &error)) << error;
    EXPECT_EQ(p.name, shipped.name);
    EXPECT_FALSE(p.description.empty());
  }
}

}  // namespace
}  // namespace vireo::target::profile_test
