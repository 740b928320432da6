// Signed and encrypted models: what holds loads and computes as before; a changed byte, a moved chunk, a missing or
// foreign signature, an older revision, a wrong key never does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "converter/emit/sealed_file.h"
#include "sdk/format/container.h"
#include "sdk/format/sha256.h"
#include "tests/faults/heap.h"
#include "tests/property/sealing.h"
#include "tests/support/roots.h"
#include "vireo/trust.h"

namespace vireo {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStride = 977;
#else
constexpr size_t kStride = 61;
#endif

using sealing::Bytes;
using sealing::Keys;

struct Outcome {
  vireo_status status = VIREO_OK;
  std::string message;
  vireo_signature signature = VIREO_SIGNATURE_INIT;
  Bytes answer;
};

// Loads, makes a session, runs it on zeros.
Outcome use(const Bytes& file, const vireo_trust* trust, const char* cache = nullptr) {
  Outcome out;
  faults::Heap heap;
  {
    const vireo_allocator allocator = heap.allocator();
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.allocator = &allocator;
    options.plugins = "";
    vireo_error error = VIREO_ERROR_INIT;
    vireo_runtime* runtime = nullptr;
    vireo_model* model = nullptr;
    vireo_session* session = nullptr;
    Bytes room(file.size() + 64);
    uint8_t* const at = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
    std::copy(file.begin(), file.end(), at);
    EXPECT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
    if (trust != nullptr) {
      EXPECT_EQ(vireo_runtime_set_trust(runtime, trust, &error), VIREO_OK) << error.message;
    }
    out.status = vireo_model_load_memory(runtime, at, file.size(), &model, &error);
    if (out.status == VIREO_OK) {
      EXPECT_EQ(vireo_model_signature(model, &out.signature, &error), VIREO_OK);
      vireo_session_options made = VIREO_SESSION_OPTIONS_INIT;
      made.device = "cpu";
      made.packing = cache == nullptr ? VIREO_PACKING_DEFAULT : VIREO_PACKING_ALWAYS;
      made.cache = cache;
      out.status = vireo_session_create(model, &made, &session, &error);
    }
    for (uint32_t i = 0; out.status == VIREO_OK && i < vireo_model_input_count(model); ++i) {
      vireo_tensor x = {};
      out.status = vireo_session_input(session, i, &x, &error);
      if (out.status == VIREO_OK) std::memset(x.data, 0, static_cast<size_t>(x.capacity));
    }
    std::vector<vireo_tensor> y(model == nullptr ? 0 : vireo_model_output_count(model));
    if (out.status == VIREO_OK)
      out.status = vireo_session_run(session, nullptr, 0, y.data(), static_cast<uint32_t>(y.size()), &error);
    for (const vireo_tensor& t : y) {
      if (out.status != VIREO_OK) break;
      const auto* const p = static_cast<const uint8_t*>(t.data);
      out.answer.insert(out.answer.end(), p, p + t.capacity);
    }
    out.message = error.message;
    vireo_session_release(session);
    vireo_model_release(model);
    vireo_runtime_release(runtime);
  }
  EXPECT_EQ(heap.live, 0);
  return out;
}

class Trust : public testing::Test {
 protected:
  Trust() {
    std::ifstream file(vireo::tests::build_path("models/misuse.vireo"), std::ios::binary);
    plain_.assign(std::istreambuf_iterator<char>(file), {});
    EXPECT_GT(plain_.size(), 100000u);
    right_ = use(plain_, nullptr).answer;
    EXPECT_FALSE(right_.empty());
  }
  // Without the key nothing can be signed, but hashes can be made to fit.
  static void seal_again(Bytes* file) {
    FileHeader h;
    std::memcpy(&h, file->data(), sizeof(h));
    uint8_t* hash = file->data() + h.hash_offset;
    for (uint64_t at = kHeaderBytes; at < h.hash_offset; at += kChunkBytes, hash += kHashBytes) {
      Sha256 sha;
      sha.update(file->data() + at, static_cast<size_t>(std::min<uint64_t>(kChunkBytes, h.hash_offset - at)));
      sha.finish(hash);
    }
    root_of(h, file->data() + h.hash_offset, h.root);
    std::memcpy(file->data(), &h, sizeof(h));
  }

  Bytes plain_, right_;
  Keys keys_{1}, others_{100};
};

TEST_F(Trust, SealedFilesComputeWhatPlainOnesDo) {
  const Bytes signed_one = keys_.sign(plain_, 7), cipher = keys_.encrypt(plain_), both = keys_.sign(cipher, 8);
  const vireo_trust strict = keys_.trust(true), open = keys_.trust(false);
  for (const Bytes* file : {&signed_one, &both}) {
    const Outcome got = use(*file, &strict);
    EXPECT_EQ(got.status, VIREO_OK) << got.message;
    EXPECT_EQ(got.answer, right_);
    EXPECT_EQ(got.signature.verified, 1u);
    EXPECT_EQ(got.signature.revision, file == &both ? 8u : 7u);
    EXPECT_EQ(got.signature.encrypted, file == &both ? 1u : 0u);
  }
  EXPECT_EQ(use(cipher, &open).answer, right_);
  EXPECT_EQ(use(signed_one, nullptr).answer, right_) << "who trusts nobody reads it as ever";
  EXPECT_EQ(use(plain_, &open).answer, right_);
  // Nothing of the graph can be read.
  const std::string name = "features", bytes(cipher.begin(), cipher.end());
  EXPECT_NE(std::string(plain_.begin(), plain_.end()).find(name), std::string::npos);
  EXPECT_EQ(bytes.find(name), std::string::npos);
}

TEST_F(Trust, ThePolicyRefuses) {
  const vireo_trust strict = keys_.trust(true);
  EXPECT_EQ(use(plain_, &strict).status, VIREO_INVALID_MODEL);
  EXPECT_NE(use(plain_, &strict).message.find("not signed"), std::string::npos);
  EXPECT_EQ(use(keys_.encrypt(plain_), &strict).status, VIREO_INVALID_MODEL);
  // By another key under this one's id; by a key that nobody knows.
  EXPECT_NE(use(others_.sign(plain_, 1), &strict).message.find("does not hold"), std::string::npos);
  others_.id[0] = 99;
  EXPECT_NE(use(others_.sign(plain_, 1), &strict).message.find("not trusted"), std::string::npos);
  // An older revision, signed by the right key.
  keys_.least_revision = 5;
  EXPECT_EQ(use(keys_.sign(plain_, 5), &strict).status, VIREO_OK);
  EXPECT_EQ(use(keys_.sign(plain_, 4), &strict).status, VIREO_UNSUPPORTED);
  // The signature of a newer one on an older file; the older one's number raised.
  const Bytes newer = keys_.sign(plain_, 6);
  Bytes older = keys_.sign(keys_.encrypt(plain_), 4);
  std::copy(newer.end() - sizeof(Signature), newer.end(), older.end() - sizeof(Signature));
  EXPECT_EQ(use(older, &strict).status, VIREO_INVALID_MODEL);
  Bytes raised = keys_.sign(plain_, 4);
  raised[raised.size() - sizeof(Signature) + offsetof(Signature, revision)] = 6;
  EXPECT_EQ(use(raised, &strict).status, VIREO_INVALID_MODEL);
  // The signature cut off, with a header that fits.
  Bytes stripped = keys_.sign(plain_, 6);
  FileHeader h;
  std::memcpy(&h, stripped.data(), sizeof(h));
  stripped.resize(static_cast<size_t>(h.signature_offset));
  h.file_size = h.signature_offset;
  h.signature_offset = h.signature_size = 0;
  std::memcpy(stripped.data(), &h, sizeof(h));
  seal_again(&stripped);
  EXPECT_EQ(use(stripped, nullptr).status, VIREO_OK);
  EXPECT_EQ(use(stripped, &strict).status, VIREO_INVALID_MODEL);
}

TEST_F(Trust, KeysThatAreNotThereOrWrong) {
  const Bytes cipher = keys_.encrypt(plain_);
  EXPECT_EQ(use(cipher, nullptr).status, VIREO_UNSUPPORTED);
  const vireo_trust wrong = others_.trust(false);  // another key by the same id
  EXPECT_EQ(use(cipher, &wrong).status, VIREO_INVALID_MODEL);
  others_.id[0] = 99;
  EXPECT_EQ(use(cipher, &wrong).status, VIREO_UNSUPPORTED);
  EXPECT_NE(use(cipher, &wrong).message.find("0102030405060708"), std::string::npos);
}

// Every kStride-th byte, turned over. With hashes that fit, as whoever writes the file can make them, a signature does
// not, and a cipher's tags do not.
TEST_F(Trust, NoChangedByteIsBelieved) {
  const vireo_trust strict = keys_.trust(true), open = keys_.trust(false);
  const Bytes both = keys_.sign(keys_.encrypt(plain_), 1), cipher = keys_.encrypt(plain_);
  FileHeader h;
  std::memcpy(&h, cipher.data(), sizeof(h));
  for (size_t at = 0; at < both.size(); at += at < 2 * kHeaderBytes ? 1 : kStride) {
    Bytes changed = both;
    changed[at] ^= 0x10;
    const Outcome got = use(changed, &strict);
    // Weights of no node's that the session has, and zeros between segments, are not read.
    EXPECT_TRUE(got.status != VIREO_OK || got.answer == right_) << at;
    if (at < kHeaderBytes) {
      EXPECT_NE(got.status, VIREO_OK) << at;
    }
    if (at >= cipher.size()) continue;
    Bytes sealed = cipher;
    sealed[at] ^= 0x10;
    if (at >= kHeaderBytes && at < h.hash_offset) seal_again(&sealed);
    const Outcome more = use(sealed, &open);
    EXPECT_TRUE(more.status != VIREO_OK || more.answer == right_) << at;
  }
}

TEST_F(Trust, ChunksStayWhereTheyBelong) {
  const vireo_trust open = keys_.trust(false);
  const Bytes cipher = keys_.encrypt(plain_);
  FileHeader h;
  std::memcpy(&h, cipher.data(), sizeof(h));
  ASSERT_GT(h.cipher_offset, kHeaderBytes + 2 * kChunkBytes);
  uint8_t* tags = nullptr;
  const auto chunk = [](Bytes& file, uint64_t c) { return file.data() + kHeaderBytes + c * kChunkBytes; };
  Bytes swapped = cipher;
  std::swap_ranges(chunk(swapped, 0), chunk(swapped, 1), chunk(swapped, 1));
  tags = swapped.data() + h.cipher_offset + sizeof(CipherTable);
  std::swap_ranges(tags, tags + kTagBytes, tags + kTagBytes);
  seal_again(&swapped);
  EXPECT_EQ(use(swapped, &open).status, VIREO_INVALID_MODEL);
  // From another file under the same key and, what must not be, the same nonce: the header's geometry is in the tags.
  Bytes longer = plain_;
  std::memcpy(&h, longer.data(), sizeof(h));
  longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(h.hash_offset), kChunkBytes, uint8_t{0});
  h.hash_offset += kChunkBytes;
  h.hash_size += kHashBytes;
  longer.resize(static_cast<size_t>(h.hash_offset + h.hash_size));
  h.file_size = longer.size();
  std::memcpy(longer.data(), &h, sizeof(h));
  seal_again(&longer);
  Bytes foreign = keys_.encrypt(longer), mixed = cipher;
  EXPECT_EQ(use(foreign, &open).answer, right_);
  std::memcpy(&h, foreign.data(), sizeof(h));
  const uint8_t* const foreign_tags = foreign.data() + h.cipher_offset + sizeof(CipherTable);
  std::memcpy(&h, mixed.data(), sizeof(h));
  std::copy(chunk(foreign, 0), chunk(foreign, 1), chunk(mixed, 0));
  std::copy(foreign_tags, foreign_tags + kTagBytes, mixed.data() + h.cipher_offset + sizeof(CipherTable));
  seal_again(&mixed);
  EXPECT_EQ(use(mixed, &open).status, VIREO_INVALID_MODEL);
}

// What is packed of an encrypted model is its weights in plain.
TEST_F(Trust, NothingOfAnEncryptedModelGoesToTheCache) {
  const vireo_trust open = keys_.trust(false);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("vireo-trust-" + std::to_string(::getpid()));
  const auto files = [&folder] {
    std::error_code none;
    const std::filesystem::directory_iterator list(folder, none);
    return std::distance(begin(list), end(list));
  };
  EXPECT_EQ(use(keys_.encrypt(plain_), &open, folder.c_str()).answer, right_);
  EXPECT_EQ(files(), 0);
  EXPECT_EQ(use(plain_, &open, folder.c_str()).answer, right_);
  EXPECT_EQ(files(), 1) << "the plain one is kept, so the other would have been";
  std::filesystem::remove_all(folder);
}

TEST_F(Trust, EveryTruncationIsRefused) {
  const vireo_trust open = keys_.trust(false);
  const Bytes both = keys_.sign(keys_.encrypt(plain_), 1);
  for (size_t size = 0; size < both.size(); size += size < 2 * kHeaderBytes ? 1 : 4 * kStride)
    EXPECT_NE(use(Bytes(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(size)), &open).status, VIREO_OK)
        << size;
}

// Sessions that come at once decipher the same chunks.
TEST_F(Trust, ThreadsShareAModel) {
  const vireo_trust strict = keys_.trust(true);
  const Bytes both = keys_.sign(keys_.encrypt(plain_), 1);
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = 1;
  options.plugins = "";
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  ASSERT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK);
  ASSERT_EQ(vireo_runtime_set_trust(runtime, &strict, &error), VIREO_OK);
  Bytes room(both.size() + 64);
  uint8_t* const at = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
  std::memcpy(at, both.data(), both.size());
  ASSERT_EQ(vireo_model_load_memory(runtime, at, both.size(), &model, &error), VIREO_OK) << error.message;
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      vireo_session* session = nullptr;
      vireo_session_options made = VIREO_SESSION_OPTIONS_INIT;
      made.device = "cpu";
      if (vireo_session_create(model, &made, &session, nullptr) != VIREO_OK) return;
      vireo_tensor x = {};
      if (vireo_session_input(session, 0, &x, nullptr) == VIREO_OK)
        std::memset(x.data, 0, static_cast<size_t>(x.capacity));
      std::vector<vireo_tensor> y(vireo_model_output_count(model));
      if (vireo_session_run(session, nullptr, 0, y.data(), static_cast<uint32_t>(y.size()), nullptr) == VIREO_OK) {
        Bytes answer;
        for (const vireo_tensor& o : y) {
          const auto* const p = static_cast<const uint8_t*>(o.data);
          answer.insert(answer.end(), p, p + o.capacity);
        }
        good += answer == right_ ? 1 : 0;
      }
      vireo_session_release(session);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good, 4);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
}

}  // namespace
}  // namespace vireo
