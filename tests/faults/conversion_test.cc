// Every allocation of a conversion failing in turn (operator new): the file is whole or absent, no other one is left
// behind, the reason is told, and the next conversion writes the same bytes as ever. Up to kMost points a model, evenly
// spread, all of them with VIREO_FULL=1.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "tests/faults/failing_new.h"
#include "tests/support/roots.h"

using vireo::faults::g_fails_at;
using vireo::faults::g_forever;
using vireo::faults::g_number;

#if defined(__SANITIZE_ADDRESS__)
// Protobuf's reader loses the message under way when memory ends; it is not written for exceptions.
extern "C" [[gnu::visibility("default"), gnu::used]] const char* __lsan_default_suppressions() {
  return "leak:google::protobuf\nleak:onnx::\n";
}
#endif

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kMost = 150;
#else
constexpr int64_t kMost = 1500;
#endif

std::string whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

size_t files_in(const std::string& folder) {
  size_t count = 0;
  DIR* const list = opendir(folder.c_str());
  for (const dirent* e = readdir(list); e != nullptr; e = readdir(list)) count += e->d_name[0] != '.' ? 1 : 0;
  closedir(list);
  return count;
}

class Conversion : public testing::TestWithParam<const char*> {};

TEST_P(Conversion, IsWholeOrAbsent) {
  const std::string model = vireo::tests::source_path("tests/fuzz/corpus/onnx/") + GetParam() + ".onnx";
  char folder[] = "/tmp/vireo-conversion-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string out = std::string(folder) + "/m.vireo";
  // False: it threw. The converter's entry lets nothing out but what it cannot hold.
  const auto convert = [&](bool* threw, std::string* told) {
    bool good = false;
    try {
      vireo::ConvertOptions options;
      vireo::Diagnostics diagnostics;
      vireo::ConvertReport report;
      good = vireo::convert_file(model, out, options, &diagnostics, &report);
      g_fails_at = -1;
      if (told != nullptr) *told = diagnostics.text();
    } catch (const std::bad_alloc&) {
      *threw = true;
    }
    g_fails_at = -1;
    return good;
  };
  bool threw = false;
  ASSERT_TRUE(convert(&threw, nullptr));  // what is made once is made
  (void)unlink(out.c_str());
  g_number = 0;
  ASSERT_TRUE(convert(&threw, nullptr));
  const int64_t points = g_number;
  const std::string right = whole(out);
  ASSERT_GT(right.size(), 128u);
  (void)unlink(out.c_str());
  const int64_t step = std::getenv("VIREO_FULL") != nullptr || points < kMost ? 1 : (points + kMost - 1) / kMost;
  int64_t refused = 0, without = 0, thrown = 0;
  for (const bool forever : {false, true}) {
    g_forever = forever;
    for (int64_t at = 0; at < points; at += step) {
      threw = false;
      std::string told;
      g_number = 0;
      g_fails_at = at;
      const bool good = convert(&threw, &told);
      ASSERT_EQ(files_in(folder), good ? 1u : 0u) << "allocation " << at << " of " << points;
      if (good) {
        ASSERT_EQ(whole(out), right) << "allocation " << at;
        ++without;
        (void)unlink(out.c_str());
        continue;
      }
      EXPECT_TRUE(threw || !told.empty()) << "allocation " << at;
      ++(threw ? thrown : refused);
    }
  }
  EXPECT_EQ(without + refused + thrown, 2 * ((points + step - 1) / step));
  ASSERT_TRUE(convert(&threw, nullptr));
  EXPECT_EQ(whole(out), right);
  (void)unlink(out.c_str());
  (void)rmdir(folder);
  std::printf("%s: %lld allocations, every %lldth failing once and for good: %lld refused, %lld thrown, %lld without\n",
              GetParam(), static_cast<long long>(points), static_cast<long long>(step), static_cast<long long>(refused),
              static_cast<long long>(thrown), static_cast<long long>(without));
}

INSTANTIATE_TEST_SUITE_P(Models, Conversion,
                         testing::Values("conv", "quantized", "if", "loop", "attention", "open", "function", "text"));

}  // namespace
