// A file whose compiled parts mean harm: every checksum is right, the bytes are not. Whatever the software NPU's driver
// is handed, the session is refused or answers with the CPU's bits; nothing outside the section is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "converter/emit/packed_file.h"
#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

// Under sanitizers each try takes some twenty times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRounds = 60;
#else
constexpr int kRounds = 600;
#endif

using Bytes = std::vector<uint8_t>;
struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};

class Load {
 public:
  explicit Load(const Bytes& bytes)
      : held_(static_cast<uint8_t*>(::operator new[](bytes.size(), std::align_val_t{64}))) {
    std::memcpy(held_.get(), bytes.data(), bytes.size());
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    static const std::string plugin = vireo::tests::build_path("plugins/libvireo_npu.so");
    options.plugins = plugin.c_str();
    options.probe = VIREO_PROBE_NEVER;
    EXPECT_EQ(vireo_runtime_create(&options, &runtime_, &error_), VIREO_OK) << error_.message;
    EXPECT_EQ(vireo_model_load_memory(runtime_, held_.get(), bytes.size(), &model_, &error_), VIREO_OK)
        << error_.message;
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    vireo_model_release(model_);
    vireo_runtime_release(runtime_);
  }

  // Empty when the session is refused or does not run: then `why` says something.
  Bytes answer(const char* device, std::string* why = nullptr) {
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.device = device;
    options.device_timeout_ns = 100000000;
    vireo_session* session = nullptr;
    Bytes result;
    vireo_status status = vireo_session_create(model_, &options, &session, &error_);
    for (uint32_t i = 0; status == VIREO_OK && i < vireo_model_input_count(model_); ++i) {
      vireo_tensor in = {};
      EXPECT_EQ(vireo_session_input(session, i, &in, &error_), VIREO_OK);
      for (int64_t k = 0; k < in.capacity; ++k) static_cast<uint8_t*>(in.data)[k] = static_cast<uint8_t>(k * 37 % 64);
    }
    std::vector<vireo_tensor> out(vireo_model_output_count(model_));
    if (status == VIREO_OK)
      status = vireo_session_run(session, nullptr, 0, out.data(), static_cast<uint32_t>(out.size()), &error_);
    for (const vireo_tensor& y : out) {
      const auto* const p = static_cast<const uint8_t*>(y.data);
      if (status == VIREO_OK && p != nullptr) result.insert(result.end(), p, p + y.capacity);
    }
    vireo_session_release(session);
    if (why != nullptr) *why = error_.message;
    return result;
  }
  std::vector<emit::PackedWeights> parts() {
    std::vector<emit::PackedWeights> list;
    for (uint32_t i = 0; i < vireo_model_packed_count(model_); ++i) {
      vireo_packed_copy copy = VIREO_PACKED_COPY_INIT;
      EXPECT_EQ(vireo_model_packed(model_, i, &copy, &error_), VIREO_OK);
      if (copy.kind != VIREO_COMPILED_PART) continue;
      emit::PackedWeights w = {};
      EXPECT_TRUE(pack_delegate(copy.delegate, w.name.delegate));
      w.name.kind = copy.kind;
      w.name.constant = copy.constant;
      std::memcpy(w.name.sizes, copy.sizes, sizeof(w.name.sizes));
      w.name.bytes = copy.bytes;
      w.data = copy.data;
      list.push_back(w);
    }
    return list;
  }

 private:
  std::unique_ptr<uint8_t[], AlignedFree> held_;
  vireo_error error_ = VIREO_ERROR_INIT;
  vireo_runtime* runtime_ = nullptr;
  vireo_model* model_ = nullptr;
};

// The driver's own checksum stands in its blob: FNV-1a over words, as delegates/npu/driver/blob.cc has it.
uint64_t driver_hash(const uint8_t* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data + i, 8);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  for (; i < bytes; ++i) hash = (hash ^ data[i]) * 0x100000001b3u;
  return hash;
}

TEST(CompiledFile, HostilePartsEndInAnErrorOrTheRightAnswer) {
  std::ifstream in(vireo::tests::source_path("tests/golden/integer_golden.vireo"), std::ios::binary);
  const Bytes bare{std::istreambuf_iterator<char>(in), {}};
  Load load(bare);
  const Bytes wanted = load.answer("cpu");
  ASSERT_FALSE(wanted.empty());
  ASSERT_EQ(load.answer("npu,cpu"), wanted);
  const std::vector<emit::PackedWeights> parts = load.parts();
  ASSERT_FALSE(parts.empty());
  std::string error;
  const auto file_of = [&](std::vector<emit::PackedWeights> list) {
    Bytes file = emit::with_packed_weights({bare.data(), bare.size()}, std::move(list), "", &error);
    EXPECT_FALSE(file.empty()) << error;
    return file;
  };
  {
    Load whole(file_of(parts));
    EXPECT_EQ(whole.answer("npu,cpu"), wanted);
    EXPECT_TRUE(whole.parts().empty()) << "it compiled although the file brings all";
  }
  // Where the driver's checksum lies, found by its value.
  const auto* const blob = static_cast<const uint8_t*>(parts[0].data) + sizeof(CompiledHead);
  const size_t blob_bytes = parts[0].name.bytes - sizeof(CompiledHead);
  size_t header = 0, at_hash = 0;
  for (size_t size = 16; size <= 128 && header == 0; size += 8) {
    const uint64_t hash = driver_hash(blob + size, blob_bytes - size);
    for (size_t at = 0; at + 8 <= size; at += 8) {
      if (std::memcmp(blob + at, &hash, 8) != 0) continue;
      header = size;
      at_hash = at;
    }
  }
  ASSERT_GT(header, 0u) << "the driver has changed what it checks";
  std::mt19937_64 random(5);
  int refused = 0, answered = 0;
  for (int round = 0; round < kRounds; ++round) {
    const size_t which = round % 4 == 3 ? random() % parts.size() : 0;
    Bytes bad(static_cast<const uint8_t*>(parts[which].data),
              static_cast<const uint8_t*>(parts[which].data) + parts[which].name.bytes);
    uint8_t* const code = bad.data() + sizeof(CompiledHead);
    const size_t bytes = bad.size() - sizeof(CompiledHead);
    if (bytes < header) continue;
    // The first kilobyte steers: header, places, commands.
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % 2 == 0 ? random() % std::min<size_t>(bytes, 1024) : random() % bytes;
      code[at] =
          random() % 2 == 0 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(code[at] ^ 1u << random() % 8);
    }
    if (which == 0 && round % 8 != 7) {
      const uint64_t hash = driver_hash(code + header, bytes - header);
      std::memcpy(code + at_hash, &hash, 8);
    }
    if (round % 16 == 5) bad.resize(sizeof(CompiledHead) + random() % bytes);
    std::vector<emit::PackedWeights> list = parts;
    list[which].data = bad.data();
    list[which].name.bytes = bad.size();
    Load hostile(file_of(list));
    std::string why;
    const Bytes got = hostile.answer("npu,cpu", &why);
    if (got.empty()) {
      ++refused;
      EXPECT_NE(why, "");
      continue;
    }
    ++answered;
    ASSERT_EQ(got, wanted) << "round " << round;
  }
  std::printf("%d sessions answered, %d refused with an error\n", answered, refused);
  EXPECT_GT(answered, kRounds / 2);
}

}  // namespace
}  // namespace vireo
