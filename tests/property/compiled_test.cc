// Compiled parts as bytes, on the device of joiner.h: a second process compiles nothing and compares nothing, what was
// refused stays refused, another version of the driver compiles anew, and nothing that a file says is believed before
// the device at hand has shown it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/property/two_parts.h"

namespace vireo {
namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

class CompiledTest : public testing::Test {
 protected:
  void SetUp() override {
    reset();
    folder_ = testing::TempDir() + "vireo_compiled_" + std::to_string(getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    bytes_ = two_parts();
    Load load(bytes_);
    wanted_ = load.answer();
    made_ = device.compiles;
    runs_ = device.submits;  // each part: its trial and the run
    ASSERT_EQ(made_, 2);
    ASSERT_EQ(runs_, 4);
    zero();
  }
  void TearDown() override {
    std::error_code error;
    fs::remove_all(folder_, error);
    EXPECT_EQ(device.loaded, 0);
  }
  static void zero() { device.compiles = device.submits = 0; }
  static void reset() {
    device.takes = ~uint64_t{0};
    device.longest = 64;
    device.refuses.clear();
    device.wrong.clear();
    device.hangs = device.lost = device.no_memory = device.no_load = false;
    device.lost_at = -1;
    device.claimed_ns = 0;
    device.driver = "1";
    zero();
  }

  Bytes bytes_;
  std::vector<float> wanted_;
  std::string folder_;
  int made_ = 0, runs_ = 0;
};

TEST_F(CompiledTest, ASecondProcessCompilesAndComparesNothing) {
  {
    Load load(bytes_);
    EXPECT_EQ(load.answer(folder_), wanted_);
    EXPECT_EQ(device.compiles, made_);
  }
  zero();
  Load load(bytes_);
  uint32_t there = 0;
  EXPECT_EQ(load.answer(folder_, &there), wanted_);
  EXPECT_EQ(there, 5u);
  EXPECT_EQ(device.compiles, 0);
  EXPECT_EQ(device.submits, 2);  // the run alone
  EXPECT_EQ(load.log, "");
  EXPECT_TRUE(load.parts().empty());
  const vireo_memory m = load.memory(folder_);
  EXPECT_GT(m.mapped_bytes, 0u);
  EXPECT_LT(m.compiled_bytes, 2 * 512u);  // the list's entries alone
}

TEST_F(CompiledTest, AnotherDriverCompilesAnew) {
  Load(bytes_).answer(folder_);
  zero();
  device.driver = "2";
  Load second(bytes_);
  EXPECT_EQ(second.answer(folder_), wanted_);
  EXPECT_EQ(device.compiles, made_);
  EXPECT_EQ(device.submits, runs_);
  zero();
  device.driver = "1";  // both are kept
  Load first(bytes_);
  EXPECT_EQ(first.answer(folder_), wanted_);
  EXPECT_EQ(device.compiles, 0);
}

// What a driver compiled is kept for it, and for nobody else. A file that is damaged anywhere, cut short, longer, under
// another name or writable for others is left alone, and written anew.
TEST_F(CompiledTest, WhatADriverKeptIsItsOwn) {
  const auto found_by = [&](const std::string& code, const std::string& folder) {
    device.code = code;
    device.code_kept.clear();
    Load load(bytes_);
    EXPECT_EQ(load.answer(folder), wanted_);
    const std::vector<std::string> found = device.code_kept;
    device.code.clear();
    EXPECT_EQ(found.size(), 2u);  // two parts; what the first keeps the second finds
    return found.empty() ? std::string() : found[0];
  };
  const auto file = [&] {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().rfind("driver-", 0) == 0) return entry.path();
    }
    return fs::path();
  };
  EXPECT_EQ(found_by("one", ""), "none");
  EXPECT_EQ(found_by("one", folder_), "");
  EXPECT_EQ(found_by("two", folder_), "one");
  const fs::path of_one = file();
  device.driver = "2";
  EXPECT_EQ(found_by("two", folder_), "");
  EXPECT_EQ(found_by("three", folder_), "two");
  device.driver = "1";
  EXPECT_EQ(found_by("three", folder_), "one");

  const std::vector<uint8_t> good = read(of_one);
  ASSERT_GT(good.size(), 512u);
  const auto refuses = [&](const std::vector<uint8_t>& bytes) {
    write(of_one, bytes);
    EXPECT_EQ(found_by("one", folder_), "");
    EXPECT_EQ(read(of_one), good) << "written anew";
  };
  for (size_t i = 0; i < good.size(); i += i < 48 ? 5 : 61) {
    std::vector<uint8_t> bad = good;
    bad[i] ^= 0x10;
    SCOPED_TRACE("byte " + std::to_string(i));
    i<28 || i> 31 ? refuses(bad) : void();  // those are nobody's
  }
  for (const size_t size : {size_t{0}, size_t{100}, size_t{512}, good.size() - 1}) {
    SCOPED_TRACE(size);
    refuses({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)});
  }
  std::vector<uint8_t> longer = good;
  longer.push_back(0);
  refuses(longer);
  fs::permissions(of_one, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(found_by("one", folder_), "");
  EXPECT_EQ(found_by("one", folder_), "one");
  // Another driver's, under this one's name.
  device.driver = "2";
  fs::remove(of_one);
  const std::vector<uint8_t> other = read(file());
  device.driver = "1";
  write(of_one, other);
  EXPECT_EQ(found_by("one", folder_), "");
}

TEST_F(CompiledTest, WhatIsRefusedIsNotTriedAgain) {
  device.refuses = {"Neg"};
  int tries = 0;
  {
    Load load(bytes_);
    EXPECT_EQ(load.answer(folder_), wanted_);
    tries = device.compiles;
    EXPECT_GT(tries, 2);
  }
  zero();
  Load load(bytes_);
  uint32_t there = 0;
  EXPECT_EQ(load.answer(folder_, &there), wanted_);
  EXPECT_EQ(there, 3u);
  EXPECT_EQ(device.compiles, 0);
}

TEST_F(CompiledTest, WantOfMemoryPasses) {
  device.no_memory = true;
  {
    Load load(bytes_);
    uint32_t there = 0;
    EXPECT_EQ(load.answer(folder_, &there), wanted_);
    EXPECT_EQ(there, 0u);
  }
  device.no_memory = false;
  device.no_load = true;
  Load(bytes_).answer(folder_);
  device.no_load = false;
  Load load(bytes_);
  uint32_t there = 0;
  EXPECT_EQ(load.answer(folder_, &there), wanted_);
  EXPECT_EQ(there, 5u);
}

TEST_F(CompiledTest, WhatComputesWronglyIsKeptAsRefused) {
  device.wrong = {"Relu"};
  Load(bytes_).answer(folder_);
  zero();
  Load load(bytes_);
  uint32_t there = 0;
  EXPECT_EQ(load.answer(folder_, &there), wanted_);
  EXPECT_EQ(there, 4u);
  EXPECT_EQ(device.compiles, 0);
  EXPECT_EQ(device.submits, 2);
}

// Kept by a session that compares nothing, a part is compared by the first that does.
TEST_F(CompiledTest, WhatWasNotComparedIsNotBelieved) {
  Load(bytes_).answer(folder_, nullptr, VIREO_FAILOVER_NEVER);
  zero();
  Load(bytes_).answer(folder_);
  EXPECT_EQ(device.compiles, 0);
  EXPECT_EQ(device.submits, runs_);
  zero();
  Load(bytes_).answer(folder_);
  EXPECT_EQ(device.submits, 2);
}

TEST_F(CompiledTest, AFileBringsThem) {
  Bytes packed;
  {
    Load load(bytes_);
    load.answer();
    const std::vector<emit::PackedWeights> parts = load.parts();
    EXPECT_EQ(parts.size(), 2u);
    packed = with_parts(bytes_, parts);
  }
  zero();
  {
    Load load(packed);
    EXPECT_EQ(vireo_model_check_hashes(load.model, nullptr), VIREO_OK);
    EXPECT_EQ(load.answer(), wanted_);
    EXPECT_EQ(device.compiles, 0);
    EXPECT_EQ(device.submits, runs_);  // but compared here
    EXPECT_EQ(load.log, "");
    EXPECT_GT(load.memory().mapped_bytes, 0u);
    Load cached(packed);
    cached.answer(folder_);
    zero();
    Load again(packed);
    EXPECT_EQ(again.answer(folder_), wanted_);
    EXPECT_EQ(device.submits, 2);  // now the user's folder says that they were compared
  }
  zero();
  device.driver = "2";
  Load load(packed);
  EXPECT_EQ(load.answer(), wanted_);
  EXPECT_EQ(device.compiles, made_);
  EXPECT_NE(load.log.find("another version of its driver"), std::string::npos) << load.log;
  EXPECT_EQ(std::count(load.log.begin(), load.log.end(), '\n'), 1) << load.log;
}

TEST_F(CompiledTest, AFileThatLiesIsFoundOut) {
  device.wrong = {"Relu"};
  Bytes packed;
  {
    Load load(bytes_);
    load.answer("", nullptr, VIREO_FAILOVER_NEVER);  // nobody compares
    packed = with_parts(bytes_, load.parts());
  }
  device.wrong.clear();
  zero();
  Load load(packed);
  uint32_t there = 0;
  EXPECT_EQ(load.answer("", &there), wanted_);
  EXPECT_EQ(there, 5u);
  EXPECT_EQ(device.compiles, 1);
  EXPECT_NE(load.log.find("compiles anew"), std::string::npos) << load.log;
}

// What does not load is compiled; contents and head with any byte changed are not used, or are, and change nothing.
TEST_F(CompiledTest, DamageCostsTimeAlone) {
  Load from(bytes_);
  from.answer();
  const std::vector<emit::PackedWeights> parts = from.parts();
  ASSERT_EQ(parts.size(), 2u);
  for (size_t at = 0; at < sizeof(CompiledHead) + 4; ++at) {
    std::vector<uint8_t> bad(static_cast<const uint8_t*>(parts[0].data),
                             static_cast<const uint8_t*>(parts[0].data) + parts[0].name.bytes);
    bad[at] ^= static_cast<uint8_t>(1u << (at % 8));
    std::vector<emit::PackedWeights> changed = parts;
    changed[0].data = bad.data();
    Load load(with_parts(bytes_, changed));
    EXPECT_EQ(load.answer(), wanted_) << "byte " << at;
  }
  Bytes unsealed = with_parts(bytes_, parts);
  zero();
  const auto* const code = static_cast<const uint8_t*>(parts[0].data) + sizeof(CompiledHead);
  const auto found = std::search(unsealed.begin(), unsealed.end(), code, code + 32);
  ASSERT_NE(found, unsealed.end());
  found[8] ^= 1;
  Load load(unsealed);
  EXPECT_EQ(load.answer(), wanted_);
  EXPECT_EQ(device.compiles, 1);
  EXPECT_NE(load.log.find("is damaged"), std::string::npos) << load.log;
}

TEST_F(CompiledTest, SessionsAtOnceShareOneList) {
  Load load(bytes_);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      const vireo_session_options o = Load::options(folder_);
      vireo_session* session = nullptr;
      if (vireo_session_create(load.model, &o, &session, nullptr) != VIREO_OK) ++wrong;
      vireo_session_release(session);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  zero();
  Load again(bytes_);
  EXPECT_EQ(again.answer(folder_), wanted_);
  EXPECT_EQ(device.compiles, 0);
}

}  // namespace
}  // namespace vireo
