#include "sdk/format/container.h"

#include <string.h>

#include "sdk/base/checked.h"
#include "sdk/format/sha256.h"

namespace vireo {

// The structure is read by memcpy: little-endian targets only, which all of ours are.
static_assert(sizeof(FileHeader) == kHeaderBytes, "header");
static_assert(offsetof(FileHeader, file_size) == 16 && offsetof(FileHeader, hash_offset) == 40 &&
                  offsetof(FileHeader, root) == 64 && offsetof(FileHeader, signature_offset) == 96 &&
                  offsetof(FileHeader, cipher_offset) == 112 && sizeof(Signature) == 96 && sizeof(CipherTable) == 32 &&
                  sizeof(SignedMessage) == 72,
              "header fields");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian targets only");

namespace {

bool inside(uint64_t offset, uint64_t size, uint64_t low, uint64_t high) {
  uint64_t end = 0;
  return checked_add(offset, size, &end) && offset >= low && end <= high;
}

}  // namespace

Status read_header(Span<const uint8_t> bytes, uint64_t file_size, FileHeader* header, Error* error) {
  if (bytes.size() < sizeof(kMagic) || memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    return fail(error, Status::kInvalidModel,
                "not a .vireo file: its first bytes are not Vireo's; convert the model first");
  }
  if (bytes.size() < kHeaderBytes) {
    return fail(error, Status::kInvalidModel, "the file is cut short: {} bytes, the header alone has {}", bytes.size(),
                kHeaderBytes);
  }
  FileHeader h;
  memcpy(&h, bytes.data(), sizeof(h));
  if (h.major != kFormatMajor || h.minor != kFormatMinor) {
    return fail(error, Status::kUnsupported,
                "the file has format {}.{}, this build reads only {}.{}: convert the model again with this version",
                static_cast<int>(h.major), static_cast<int>(h.minor), static_cast<int>(kFormatMajor),
                static_cast<int>(kFormatMinor));
  }
  if (h.file_size != file_size) {
    return fail(error, Status::kInvalidModel, "the file has {} bytes, its header says {}: it was cut short or added to",
                file_size, h.file_size);
  }
  const uint64_t body = h.hash_offset - kHeaderBytes;
  bool good = h.header_bytes == kHeaderBytes && h.chunk_bytes == kChunkBytes && h.hash_kind == kHashSha256;
  const bool is_signed = h.signature_offset != 0;
  const uint64_t end = is_signed ? h.signature_offset : file_size;
  good = good && inside(h.hash_offset, h.hash_size, kHeaderBytes, file_size) && h.hash_offset + h.hash_size == end;
  good = good && (is_signed ? h.signature_size == sizeof(Signature) && file_size - end == sizeof(Signature)
                            : h.signature_size == 0);
  good = good && h.hash_size == (body + kChunkBytes - 1) / kChunkBytes * kHashBytes;  // body lies inside the file
  const uint64_t cipher = h.cipher_offset == 0 ? h.hash_offset : h.cipher_offset;
  good = good && inside(h.model_offset, h.model_size, kHeaderBytes, cipher) && h.model_offset % kSegmentAlignment == 0;
  if (good && h.cipher_offset != 0) {
    good = cipher % kSegmentAlignment == 0 && inside(cipher, sizeof(CipherTable), kHeaderBytes, h.hash_offset) &&
           h.hash_offset - cipher ==
               sizeof(CipherTable) + (cipher - kHeaderBytes + kChunkBytes - 1) / kChunkBytes * kTagBytes;
  }
  good = good && h.reserved == 0;
  if (!good) return fail(error, Status::kInvalidModel, "the file's header contradicts itself: the file is damaged");
  *header = h;
  return Status::kOk;
}

SignedMessage signed_message(const Signature& signature, const FileHeader& header) {
  SignedMessage m = {};
  const char what[] = "vireo model signature 1";
  static_assert(sizeof(what) == sizeof(m.what), "with its zero");
  memcpy(m.what, what, sizeof(what));
  memcpy(m.key, signature.key, sizeof(m.key));
  m.revision = signature.revision;
  memcpy(m.root, header.root, sizeof(m.root));
  return m;
}

FileHeader cipher_scope(const FileHeader& header) {
  FileHeader h = header;
  h.file_size = h.signature_offset = h.signature_size = 0;
  memset(h.root, 0, sizeof(h.root));
  return h;
}

void root_of(const FileHeader& header, const uint8_t* hashes, uint8_t (&root)[kHashBytes]) {
  Sha256 sha;
  FileHeader bare = header;
  memset(bare.root, 0, sizeof(bare.root));
  sha.update(&bare, sizeof(bare));
  sha.update(hashes, static_cast<size_t>(header.hash_size));
  sha.finish(root);
}

uint64_t chunk_count(const FileHeader& header) { return header.hash_size / kHashBytes; }

Status check_hashes(Span<const uint8_t> file, const FileHeader& header, Error* error) {
  const uint8_t* const hashes = file.data() + header.hash_offset;
  Sha256 sha;
  uint8_t digest[kHashBytes];
  root_of(header, hashes, digest);
  if (memcmp(digest, header.root, kHashBytes) != 0) {
    return fail(error, Status::kInvalidModel,
                "the file is damaged: its hash table does not match the root in its header");
  }
  uint64_t chunk = 0;
  for (uint64_t at = kHeaderBytes; at < header.hash_offset; at += kChunkBytes, ++chunk) {
    const uint64_t left = header.hash_offset - at;
    sha.reset();
    sha.update(file.data() + at, static_cast<size_t>(left < kChunkBytes ? left : kChunkBytes));
    sha.finish(digest);
    if (memcmp(digest, hashes + chunk * kHashBytes, kHashBytes) != 0) {
      return fail(error, Status::kInvalidModel, "the file is damaged between bytes {} and {}: their hash differs", at,
                  at + (left < kChunkBytes ? left : kChunkBytes));
    }
  }
  return Status::kOk;
}

}  // namespace vireo
