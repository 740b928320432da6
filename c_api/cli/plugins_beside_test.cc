#include "c_api/cli/plugins_beside.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace vireo::cli {
namespace plugins_beside_test {
namespace {

class PluginsBeside : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) / ("beside" + std::to_string(getpid()));
    for (const char* file : {"plugins/libvireo_card.so", "lib/vireo/plugins/libvireo_chip.so", "plugins/other.so"}) {
      std::filesystem::create_directories((root_ / file).parent_path());
      std::ofstream(root_ / file) << "x";
    }
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string find(const std::vector<std::string>& words) const {
    return plugins_beside(words, root_ / "bin" / "tool");
  }
  std::string at(const char* file) const { return (root_ / file).string(); }
  std::filesystem::path root_;
};

TEST_F(PluginsBeside, DevicesThatAreNamed) {
  const std::string card = at("plugins/libvireo_card.so"), chip = at("lib/vireo/plugins/libvireo_chip.so");
  EXPECT_EQ(find({"run", "m", "--device", "card,cpu"}), card);
  EXPECT_EQ(find({"run", "m", "--device=card1"}), card);
  EXPECT_EQ(find({"bench", "m", "--split", "card,card1,chip"}), card + ":" + chip);
}

TEST_F(PluginsBeside, NothingElse) {
  for (const char* device : {"cpu", "", "1", "../plugins/other", "card.so", "CARD", "other", ","})
    EXPECT_EQ(find({"run", "m", "--device", device}), "") << device;
  EXPECT_EQ(find({"run", "m", "--device"}), "");
  EXPECT_EQ(find({"run", "card"}), "");
}

}  // namespace
}  // namespace plugins_beside_test
}  // namespace vireo::cli
