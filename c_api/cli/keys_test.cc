#include "c_api/cli/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"

namespace vireo::cli::keys_test {
namespace {

TEST(KeyFiles, ComeBackAsTheyWereWritten) {
  const TemporaryFile file(".key");
  for (const auto& [kind, bytes] : {std::pair{KeyKind::kPublic, 32}, {KeyKind::kSecret, 64}, {KeyKind::kCipher, 32}}) {
    Key key{kind, {1, 2, 3, 4, 5, 6, 7, 0xfe}, std::vector<uint8_t>(static_cast<size_t>(bytes))};
    for (size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = static_cast<uint8_t>(i * 37);
    write_key(file.path(), key);
    const Key again = read_key(file.path(), kind);
    EXPECT_EQ(again.bytes, key.bytes);
    EXPECT_EQ(again.id, key.id);
    struct stat info = {};
    ASSERT_EQ(stat(file.path().c_str(), &info), 0);
    if (kind != KeyKind::kPublic) {
      EXPECT_EQ(info.st_mode & 077, 0u) << "others may read a secret";
    }
  }
}

TEST(KeyFiles, AreRefusedWithoutTellingWhatIsInThem) {
  const TemporaryFile file(".key");
  const std::string id = "0102030405060708 ", key(64, 'a');
  for (const std::string& text :
       {std::string(), std::string("vireo-ed25519-public"), "vireo-ed25519-secret " + id + key + key,
        "vireo-ed25519-public " + id + key.substr(2), "vireo-ed25519-public " + id + key + "aa",
        "vireo-ed25519-public " + id + key.substr(1) + "g", "vireo-ed25519-public 01020304050607 " + key,
        "vireo-ed25519-public " + id + key + "\nmore", std::string("\x80\x00 \xff", 5)}) {
    write_file(file.path(), text);
    try {
      read_key(file.path(), KeyKind::kPublic);
      ADD_FAILURE() << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(std::string(failure.what()).find("aaaa"), std::string::npos) << failure.what();
      EXPECT_NE(std::string(failure.what()).find(file.path()), std::string::npos) << failure.what();
    }
  }
  write_file(file.path(), "vireo-ed25519-public " + id + key + "\n");
  EXPECT_EQ(read_key(file.path(), KeyKind::kPublic).bytes, std::vector<uint8_t>(32, 0xaa));
}

// An option that names nothing must not read as "anyone is trusted".
TEST(KeyFiles, ListsThatNameNothingAreRefused) {
  vireo_runtime* runtime = nullptr;
  ASSERT_EQ(vireo_runtime_create(nullptr, &runtime, nullptr), VIREO_OK);
  EXPECT_THROW(set_trust(runtime, ":", ""), Failure);
  EXPECT_THROW(set_trust(runtime, "", "::"), Failure);
  EXPECT_NO_THROW(set_trust(runtime, "", ""));
  EXPECT_NO_THROW(set_trust(runtime, "none", ""));
  EXPECT_THROW(require_keys("--trust", ""), Failure);
  vireo_runtime_release(runtime);
}

}  // namespace
}  // namespace vireo::cli::keys_test
