#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "sdk/format/container.h"
#include "sdk/format/sha256.h"

namespace vireo::format_test {
namespace {

std::string hex(const uint8_t* p) {
  std::string s;
  for (int i = 0; i < 32; ++i) {
    s += "0123456789abcdef"[p[i] >> 4];
    s += "0123456789abcdef"[p[i] & 15];
  }
  return s;
}

std::string digest(const std::string& text, size_t piece) {
  Sha256 sha;
  for (size_t i = 0; i < text.size(); i += piece) sha.update(text.data() + i, std::min(piece, text.size() - i));
  uint8_t out[32];
  sha.finish(out);
  return hex(out);
}

TEST(Sha256, NistVectors) {  // NIST, "SHA Examples": SHA-256, one and two blocks; CAVP SHA256ShortMsg for the empty one
  EXPECT_EQ(digest("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 7),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a'), 997), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// The plain compression function, whatever instructions this machine has: "abc" with its padding is one block.
TEST(Sha256, PlainBlocks) {
  uint8_t block[64] = {'a', 'b', 'c', 0x80};
  block[63] = 24;
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint32_t twice[8];
  std::memcpy(twice, state, sizeof(state));
  sha256_blocks_plain(state, block, 1);
  EXPECT_EQ(state[0], 0xba7816bfu);
  EXPECT_EQ(state[7], 0xf20015adu);
  const std::vector<uint8_t> two = [&] {
    std::vector<uint8_t> v(block, block + 64);
    v.insert(v.end(), block, block + 64);
    return v;
  }();
  sha256_blocks_plain(state, block, 1);
  sha256_blocks_plain(twice, two.data(), 2);
  EXPECT_EQ(std::memcmp(state, twice, sizeof(state)), 0);
}

// A container with two chunks of body, sealed.
std::vector<uint8_t> sealed() {
  const size_t body = kChunkBytes + 1000;
  std::vector<uint8_t> file(kHeaderBytes + body + 2 * kHashBytes);
  for (size_t i = kHeaderBytes; i < file.size(); ++i) file[i] = static_cast<uint8_t>(i * 31);
  FileHeader h = {};
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.major = kFormatMajor;
  h.minor = kFormatMinor;
  h.header_bytes = kHeaderBytes;
  h.file_size = file.size();
  h.model_offset = 128;
  h.model_size = 64;
  h.hash_offset = kHeaderBytes + body;
  h.hash_size = 2 * kHashBytes;
  h.chunk_bytes = kChunkBytes;
  h.hash_kind = kHashSha256;
  Sha256 sha;
  for (int c = 0; c < 2; ++c) {
    sha.reset();
    sha.update(file.data() + kHeaderBytes + static_cast<size_t>(c) * kChunkBytes, c == 0 ? kChunkBytes : 1000);
    sha.finish(file.data() + h.hash_offset + static_cast<size_t>(c) * kHashBytes);
  }
  sha.reset();
  sha.update(&h, sizeof(h));
  sha.update(file.data() + h.hash_offset, h.hash_size);
  sha.finish(h.root);
  std::memcpy(file.data(), &h, sizeof(h));
  return file;
}

Status check(const std::vector<uint8_t>& file, Error* error) {
  FileHeader h;
  const Span<const uint8_t> bytes(file.data(), file.size());
  VIREO_TRY(read_header(bytes, file.size(), &h, error));
  return check_hashes(bytes, h, error);
}

TEST(Container, EveryChangedByteAndEveryCutIsFound) {
  const std::vector<uint8_t> file = sealed();
  Error error;
  ASSERT_EQ(check(file, &error), Status::kOk) << error.message;
  for (size_t i = 0; i < file.size(); i += i < 300 || i + 200 > file.size() ? 1 : 509) {
    std::vector<uint8_t> bad = file;
    bad[i] ^= 0x10;
    EXPECT_NE(check(bad, nullptr), Status::kOk) << "byte " << i;
  }
  for (size_t n = 0; n < file.size(); n += n < 300 ? 1 : 509) {
    EXPECT_NE(check(std::vector<uint8_t>(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)), nullptr),
              Status::kOk)
        << n;
  }
}

TEST(Container, AnotherMinorVersionIsRefusedByName) {
  std::vector<uint8_t> file = sealed();
  file[10] = 9;
  Error error;
  EXPECT_EQ(check(file, &error), Status::kUnsupported);
  EXPECT_NE(std::strstr(error.message, "0.9"), nullptr) << error.message;
}

}  // namespace
}  // namespace vireo::format_test
