// Files with a section of packed weights: read in place with the answers of the file without; ignored where the section
// is damaged or of another version; and whatever it says, nothing outside it is touched.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "converter/emit/packed_file.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "sdk/format/pack_set.h"
#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

// Under sanitizers each try takes some twenty times as long: then every kStride-th place, the same ones in every run.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStride = 13;
#else
constexpr size_t kStride = 1;
#endif

struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Bytes = std::vector<uint8_t>;

// A model loaded from exactly these bytes.
class Load {
 public:
  explicit Load(const Bytes& bytes)
      : held_(static_cast<uint8_t*>(::operator new[](bytes.size(), std::align_val_t{64}))) {
    std::memcpy(held_.get(), bytes.data(), bytes.size());
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    EXPECT_EQ(vireo_runtime_create(&options, &runtime_, &error_), VIREO_OK) << error_.message;
    status_ = vireo_model_load_memory(runtime_, held_.get(), bytes.size(), &model_, &error_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    vireo_model_release(model_);
    vireo_runtime_release(runtime_);
  }
  const vireo_model* model() const { return model_; }
  vireo_status status() const { return status_; }
  vireo_memory memory(vireo_packing packing = VIREO_PACKING_ALWAYS) {
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.packing = packing;
    vireo_memory memory = VIREO_MEMORY_INIT;
    EXPECT_EQ(vireo_model_memory(model_, &options, &memory, &error_), VIREO_OK) << error_.message;
    return memory;
  }
  Bytes answer(vireo_packing packing = VIREO_PACKING_ALWAYS) {
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.packing = packing;
    vireo_session* session = nullptr;
    EXPECT_EQ(vireo_session_create(model_, &options, &session, &error_), VIREO_OK) << error_.message;
    vireo_tensor in = {}, out = {};
    EXPECT_EQ(vireo_session_input(session, 0, &in, &error_), VIREO_OK) << error_.message;
    for (int64_t i = 0; i < in.capacity / 4; ++i) static_cast<float*>(in.data)[i] = static_cast<float>(i % 17) - 8;
    EXPECT_EQ(vireo_session_run(session, nullptr, 0, &out, 1, &error_), VIREO_OK) << error_.message;
    const auto* p = static_cast<const uint8_t*>(out.data);
    Bytes result(p, p + out.capacity);
    vireo_session_release(session);
    return result;
  }
  std::vector<emit::PackedWeights> weights() {
    std::vector<emit::PackedWeights> list;
    for (uint32_t i = 0; i < vireo_model_packed_count(model_); ++i) {
      vireo_packed_copy copy = VIREO_PACKED_COPY_INIT;
      EXPECT_EQ(vireo_model_packed(model_, i, &copy, &error_), VIREO_OK) << error_.message;
      emit::PackedWeights w = {};
      EXPECT_TRUE(pack_delegate(copy.delegate, w.name.delegate));
      w.name.layout = copy.layout;
      w.name.constant = copy.constant;
      for (int k = 0; k < 4; ++k) w.name.sizes[k] = copy.sizes[k];
      w.name.bytes = copy.bytes;
      w.data = copy.data;
      list.push_back(w);
    }
    EXPECT_EQ(vireo_model_packed(model_, static_cast<uint32_t>(list.size()), nullptr, nullptr), VIREO_INVALID_ARGUMENT);
    return list;
  }

 private:
  std::unique_ptr<uint8_t[], AlignedFree> held_;
  vireo_error error_ = VIREO_ERROR_INIT;
  vireo_runtime* runtime_ = nullptr;
  vireo_model* model_ = nullptr;
  vireo_status status_ = VIREO_OK;
};

class PackedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(vireo::tests::build_path("models/packing.vireo"), std::ios::binary);
    bare_.assign(std::istreambuf_iterator<char>(in), {});
    ASSERT_GT(bare_.size(), 1000u) << "build the models first";
    Load load(bare_);
    wanted_ = load.answer();
    std::string error;
    packed_ = emit::with_packed_weights({bare_.data(), bare_.size()}, load.weights(), "a note", &error);
    ASSERT_FALSE(packed_.empty()) << error;
    FileHeader header;
    std::memcpy(&header, packed_.data(), sizeof(header));
    const fb::Model* model = fb::GetModel(packed_.data() + header.model_offset);
    ASSERT_NE(model->packed(), 0u);
    section_ = static_cast<size_t>(model->segments()->Get(model->packed() - 1)->offset());
    std::memcpy(&set_, packed_.data() + section_, sizeof(set_));
  }

  Bytes bare_, packed_, wanted_;
  size_t section_ = 0;
  PackHeader set_ = {};
};

TEST_F(PackedFile, IsReadInPlace) {
  Load load(packed_);
  ASSERT_EQ(load.status(), VIREO_OK);
  EXPECT_EQ(vireo_model_check_hashes(load.model(), nullptr), VIREO_OK);
  EXPECT_EQ(load.memory().packed_bytes, 0u);
  EXPECT_GT(load.memory().mapped_bytes, 0u);
  EXPECT_EQ(load.memory(VIREO_PACKING_NEVER).mapped_bytes, 0u);
  EXPECT_EQ(load.answer(), wanted_);
  EXPECT_EQ(vireo_model_packed_count(load.model()), 0u);
  EXPECT_EQ(section_ % 4096, 0u);
}

TEST_F(PackedFile, ComesOffAgain) {
  std::string error;
  const Bytes stripped = emit::with_packed_weights({packed_.data(), packed_.size()}, {}, "", &error);
  const Bytes noted = emit::with_packed_weights({bare_.data(), bare_.size()}, {}, "a note", &error);
  EXPECT_EQ(stripped, noted);
  Load load(stripped);
  EXPECT_EQ(vireo_model_check_hashes(load.model(), nullptr), VIREO_OK);
  EXPECT_EQ(load.answer(), wanted_);
  emit::PackedWeights nowhere = {};
  nowhere.name.constant = bare_.size();
  EXPECT_TRUE(emit::with_packed_weights({bare_.data(), bare_.size()}, {nowhere}, "", &error).empty());
  EXPECT_NE(error.find("none of its segments"), std::string::npos);
}

// Nobody asked for the hashes here, so that the damage reaches the section's own checks.
TEST_F(PackedFile, ADamagedIndexIsIgnored) {
  const size_t end = section_ + sizeof(PackHeader) + set_.count * sizeof(PackEntry);
  if (kStride > 1) std::printf("a sanitizer is on: every %zuth of %zu bytes\n", kStride, end - section_);
  for (size_t i = section_; i < end; i += kStride) {
    Bytes bad = packed_;
    bad[i] ^= static_cast<uint8_t>(1u << (i % 8));
    Load load(bad);
    ASSERT_EQ(load.status(), VIREO_OK);
    EXPECT_EQ(load.memory().mapped_bytes, 0u);
    ASSERT_EQ(load.answer(), wanted_) << "byte " << i - section_;
  }
}

TEST_F(PackedFile, AnotherVersionIsIgnored) {
  Bytes other = packed_;
  PackHeader header = set_;
  header.version = kPackVersion + 1;
  header.header_hash = 0;
  header.header_hash = pack_hash(&header, sizeof(header));
  std::memcpy(other.data() + section_, &header, sizeof(header));
  Load load(other);
  EXPECT_EQ(load.memory().mapped_bytes, 0u);
  EXPECT_EQ(load.answer(), wanted_);
}

TEST_F(PackedFile, LayoutsOfOtherKernelsAreNotTaken) {
  Bytes other = packed_;
  std::vector<PackEntry> entries(set_.count);
  std::memcpy(entries.data(), other.data() + section_ + sizeof(PackHeader), entries.size() * sizeof(PackEntry));
  for (PackEntry& e : entries) e.layout += 1000;
  const PackHeader header = pack_header({entries.data(), entries.size()}, set_.bytes, nullptr, 0, 0);
  std::memcpy(other.data() + section_, &header, sizeof(header));
  std::memcpy(other.data() + section_ + sizeof(header), entries.data(), entries.size() * sizeof(PackEntry));
  Load load(other);
  EXPECT_EQ(load.memory().mapped_bytes, 0u);
  EXPECT_EQ(load.answer(), wanted_);
}

// One who means harm sets the checksums right: the answer may be any, the run ends.
TEST_F(PackedFile, HostileEntriesAndContents) {
  std::mt19937_64 random(3);
  const int rounds = kStride > 1 ? 60 : 600;
  for (int round = 0; round < rounds; ++round) {
    Bytes bad = packed_;
    std::vector<PackEntry> entries(set_.count);
    std::memcpy(entries.data(), bad.data() + section_ + sizeof(PackHeader), entries.size() * sizeof(PackEntry));
    PackEntry& e = entries[random() % entries.size()];
    uint64_t* const fields[] = {&e.offset, &e.bytes, &e.constant};
    uint64_t& field = *fields[random() % 3];
    field = random() % 2 == 0 ? random() : field + 64 * (random() % 64) - 2048;
    const PackHeader header = pack_header({entries.data(), entries.size()}, set_.bytes, nullptr, 0, 0);
    std::memcpy(bad.data() + section_, &header, sizeof(header));
    std::memcpy(bad.data() + section_ + sizeof(header), entries.data(), entries.size() * sizeof(PackEntry));
    for (size_t at = section_ + sizeof(header) + entries.size() * sizeof(PackEntry); at < section_ + set_.bytes;
         at += 1 + random() % 4096) {
      bad[at] = static_cast<uint8_t>(random());
    }
    Load load(bad);
    ASSERT_EQ(load.status(), VIREO_OK);
    EXPECT_EQ(load.answer().size(), wanted_.size());
  }
}

}  // namespace
}  // namespace vireo
