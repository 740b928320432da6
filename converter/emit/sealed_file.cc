#include "converter/emit/sealed_file.h"

#include <algorithm>
#include <cstring>

#include "sdk/base/checked.h"
#include "sdk/format/sha256.h"

namespace vireo::emit {
namespace {

bool whole(Span<const uint8_t> file, FileHeader* header, std::string* error) {
  Error e;
  if (read_header(file, file.size(), header, &e) == Status::kOk && check_hashes(file, *header, &e) == Status::kOk)
    return true;
  *error = e.message;
  return false;
}

}  // namespace

void end_file(std::vector<uint8_t>* file, FileHeader h) {
  h.hash_offset = file->size();
  h.hash_size = (h.hash_offset - kHeaderBytes + kChunkBytes - 1) / kChunkBytes * kHashBytes;
  h.file_size = h.hash_offset + h.hash_size;
  file->resize(static_cast<size_t>(h.file_size));
  uint8_t* hash = file->data() + h.hash_offset;
  for (uint64_t at = kHeaderBytes; at < h.hash_offset; at += kChunkBytes, hash += kHashBytes) {
    Sha256 sha;
    sha.update(file->data() + at, static_cast<size_t>(std::min<uint64_t>(kChunkBytes, h.hash_offset - at)));
    sha.finish(hash);
  }
  root_of(h, file->data() + h.hash_offset, h.root);
  std::memcpy(file->data(), &h, sizeof(h));
}

std::vector<uint8_t> signed_file(Span<const uint8_t> file, Signature signature, const Sign& sign, std::string* error) {
  FileHeader h;
  if (!whole(file, &h, error)) return {};
  h.signature_offset = h.hash_offset + h.hash_size;
  h.signature_size = sizeof(Signature);
  h.file_size = h.signature_offset + h.signature_size;
  std::vector<uint8_t> out(file.data(), file.data() + h.signature_offset);
  root_of(h, out.data() + h.hash_offset, h.root);
  signature.kind = kSignatureEd25519;
  const SignedMessage message = signed_message(signature, h);
  sign(message, signature.bytes);
  std::memcpy(out.data(), &h, sizeof(h));
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&signature);
  out.insert(out.end(), bytes, bytes + sizeof(signature));
  return out;
}

std::vector<uint8_t> encrypted_file(Span<const uint8_t> file, const CipherTable& table, const Encipher& encipher,
                                    std::string* error) {
  FileHeader h;
  if (!whole(file, &h, error)) return {};
  if (h.cipher_offset != 0) {
    *error = "it is encrypted already";
    return {};
  }
  const uint64_t plain_end = h.hash_offset;
  h.signature_offset = h.signature_size = 0;
  h.cipher_offset = align_up(plain_end, kSegmentAlignment);
  const uint64_t chunks = (h.cipher_offset - kHeaderBytes + kChunkBytes - 1) / kChunkBytes;
  // Tags cover the header as the reader has it: with the hashes' place.
  h.hash_offset = h.cipher_offset + sizeof(CipherTable) + chunks * kTagBytes;
  h.hash_size = (h.hash_offset - kHeaderBytes + kChunkBytes - 1) / kChunkBytes * kHashBytes;
  std::vector<uint8_t> out(static_cast<size_t>(h.hash_offset));
  std::memcpy(out.data() + kHeaderBytes, file.data() + kHeaderBytes, static_cast<size_t>(plain_end - kHeaderBytes));
  std::memcpy(out.data() + h.cipher_offset, &table, sizeof(table));
  const FileHeader scope = cipher_scope(h);
  for (uint64_t c = 0; c < chunks; ++c) {
    const uint64_t at = kHeaderBytes + c * kChunkBytes;
    const auto size = static_cast<size_t>(std::min<uint64_t>(kChunkBytes, h.cipher_offset - at));
    encipher(scope, c, out.data() + at, size, out.data() + h.cipher_offset + sizeof(table) + c * kTagBytes);
  }
  end_file(&out, h);
  return out;
}

}  // namespace vireo::emit
