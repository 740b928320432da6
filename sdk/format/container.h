// The bytes around the FlatBuffer.
//
//   [0, 128)                     header
//   [model_offset, +model_size)  FlatBuffer, aligned to 64
//   segments                     each aligned to 64 (or more), zeros between
//   [cipher_offset, hash_offset) where the file is encrypted: CipherTable and 16 bytes a chunk
//   [hash_offset, +hash_size)    32-byte SHA-256 of each 64 KiB chunk of [128, hash_offset), in order
//   [signature_offset, +size)    where the file is signed: Signature; ends the file, as the hashes do else
//
// The root in the header is the SHA-256 of the header with the root zeroed, followed by the chunk hashes: every byte of
// the file but the signature, padding included, stands under it. The signature signs the root.
//
// Encrypted is what lies in [128, cipher_offset), chunk by chunk, with the hashes' chunks: XChaCha20-Poly1305 (RFC 8439
// with a nonce of 24 bytes, draft-irtf-cfrg-xchacha), nonce: the table's 16 bytes and the chunk's number; associated
// data: cipher_scope() of the header. Offsets and lengths are those of the plain file, so a chunk is deciphered alone,
// when somebody first reads from it. Hashes are of what is in the file: damage and signatures are found without a key.
// Weighed against it: one stream over the whole file (nothing could be read before all of it is), and segments as units
// (the graph would stay readable, and one large segment is the usual file).
//
// Weights stay outside the FlatBuffer because FlatBuffers end at 2 GiB and align to at most 32 bytes; a second file
// would lose "one file, everywhere". A hash tree instead of one hash lets a device check only the pages it maps.
#ifndef VIREO_SDK_FORMAT_CONTAINER_H_
#define VIREO_SDK_FORMAT_CONTAINER_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/error.h"
#include "sdk/base/span.h"
#include "sdk/base/status.h"

namespace vireo {

constexpr uint8_t kMagic[8] = {0x89, 'V', 'I', 'R', 'E', 'O', 0x0A, 0x1A};
constexpr uint16_t kFormatMajor = 0;
constexpr uint16_t kFormatMinor = 1;
constexpr size_t kHeaderBytes = 128;
constexpr size_t kChunkBytes = 64 * 1024;
constexpr size_t kHashBytes = 32;
constexpr size_t kSegmentAlignment = 64;
constexpr uint32_t kHashSha256 = 1;

// Little-endian in the file, at these offsets (static_asserts in container.cc).
struct FileHeader {
  uint8_t magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t header_bytes;  // 128
  uint64_t file_size;
  uint64_t model_offset;
  uint64_t model_size;
  uint64_t hash_offset;
  uint64_t hash_size;
  uint32_t chunk_bytes;  // 65536
  uint32_t hash_kind;    // kHashSha256
  uint8_t root[kHashBytes];
  uint64_t signature_offset;  // 0: unsigned
  uint64_t signature_size;
  uint64_t cipher_offset;  // 0: plain
  uint64_t reserved;       // zero
};

constexpr uint32_t kSignatureEd25519 = 1;
constexpr uint32_t kCipherXChaCha20Poly1305 = 1;
constexpr size_t kKeyIdBytes = 8;
constexpr size_t kTagBytes = 16;

struct Signature {
  uint32_t kind;  // kSignatureEd25519
  uint32_t reserved;
  uint8_t key[kKeyIdBytes];
  uint64_t revision;  // of the model, as its maker counts: an older one can be refused
  uint8_t bytes[64];  // RFC 8032, of signed_message()
  uint8_t reserved2[8];
};
struct CipherTable {
  uint32_t kind;  // kCipherXChaCha20Poly1305
  uint32_t reserved;
  uint8_t key[kKeyIdBytes];
  uint8_t nonce[16];
};

// What is signed: these bytes, so that no signature of something else holds for a model.
struct SignedMessage {
  char what[24];  // "vireo model signature 1" and a zero
  uint8_t key[kKeyIdBytes];
  uint64_t revision;
  uint8_t root[kHashBytes];
};
SignedMessage signed_message(const Signature& signature, const FileHeader& header);
// What a cipher's chunks belong to: all of the header that signing leaves as it is.
FileHeader cipher_scope(const FileHeader& header);
// The root that belongs to the header and the chunks' hashes.
void root_of(const FileHeader& header, const uint8_t* hashes, uint8_t (&root)[kHashBytes]);
uint64_t chunk_count(const FileHeader& header);

// Checks magic, version, sizes and that all parts lie inside `file_size` bytes without overlap. `bytes` holds at least
// the first kHeaderBytes of the file (less: kInvalidModel). Reads nothing behind them.
Status read_header(Span<const uint8_t> bytes, uint64_t file_size, FileHeader* header, Error* error);

// Checks the root and every chunk. kInvalidModel names the first chunk that differs. Time: one pass over the file.
Status check_hashes(Span<const uint8_t> file, const FileHeader& header, Error* error);

}  // namespace vireo

#endif  // VIREO_SDK_FORMAT_CONTAINER_H_
