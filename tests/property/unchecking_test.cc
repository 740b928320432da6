// A runtime that is built without VIREO_TRUST: what it cannot check it refuses, unless the caller said that nobody need
// be trusted.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "sdk/format/container.h"
#include "tests/support/roots.h"
#include "vireo/trust.h"

namespace vireo {
namespace {

// The file with a signature behind it, which nobody made: this runtime could not tell it from a good one.
std::vector<char> with_signature(std::vector<char> file) {
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  Signature signature = {};
  signature.kind = kSignatureEd25519;
  header.signature_offset = file.size();
  header.signature_size = sizeof(signature);
  header.file_size = file.size() + sizeof(signature);
  std::memcpy(file.data(), &header, sizeof(header));
  const auto* const bytes = reinterpret_cast<const char*>(&signature);
  file.insert(file.end(), bytes, bytes + sizeof(signature));
  return file;
}

class Unchecking : public ::testing::Test {
 protected:
  void SetUp() override {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.plugins = "";
    ASSERT_EQ(vireo_runtime_create(&options, &runtime_, &error_), VIREO_OK) << error_.message;
    std::ifstream in(vireo::tests::build_path("models/misuse.vireo"), std::ios::binary);
    plain_.assign(std::istreambuf_iterator<char>(in), {});
    ASSERT_GT(plain_.size(), sizeof(FileHeader));
  }
  void TearDown() override { vireo_runtime_release(runtime_); }

  vireo_status load(const std::vector<char>& file) {
    std::vector<char> room(file.size() + 64);
    char* const at = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
    std::memcpy(at, file.data(), file.size());
    vireo_model* model = nullptr;
    const vireo_status status = vireo_model_load_memory(runtime_, at, file.size(), &model, &error_);
    vireo_model_release(model);
    return status;
  }

  vireo_runtime* runtime_ = nullptr;
  vireo_error error_ = VIREO_ERROR_INIT;
  std::vector<char> plain_;
};

TEST_F(Unchecking, SignedFilesAreRefusedUnlessNobodyNeedBeTrusted) {
  const std::vector<char> file = with_signature(plain_);
  EXPECT_EQ(load(plain_), VIREO_OK) << error_.message;
  EXPECT_EQ(load(file), VIREO_UNSUPPORTED);
  EXPECT_NE(std::strstr(error_.message, "vireo_runtime_set_trust(runtime, NULL)"), nullptr) << error_.message;
  EXPECT_EQ(vireo_runtime_set_trust(runtime_, nullptr, &error_), VIREO_OK) << error_.message;
  EXPECT_EQ(load(file), VIREO_OK) << error_.message;
}

TEST_F(Unchecking, APolicyIsRefusedAndEndsThePermission) {
  vireo_trust policy = VIREO_TRUST_INIT;
  EXPECT_EQ(vireo_runtime_set_trust(runtime_, nullptr, &error_), VIREO_OK);
  EXPECT_EQ(vireo_runtime_set_trust(runtime_, &policy, &error_), VIREO_UNSUPPORTED);
  EXPECT_EQ(load(with_signature(plain_)), VIREO_UNSUPPORTED);
}

}  // namespace
}  // namespace vireo
