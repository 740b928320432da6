// The bytes around the FlatBuffer.
//
//   [0, 128)                     header
//   [model_offset, +model_size)  FlatBuffer, aligned to 64
//   segments                     each aligned to 64 (or more), zeros between
//   [hash_offset, +hash_size)    32-byte SHA-256 of each 64 KiB chunk of [128, hash_offset), in order; ends the file
//
// The root in the header is the SHA-256 of the header with the root zeroed, followed by the chunk hashes: every byte of
// the file, padding included, stands under it. A signature, when it comes, signs the root.
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
  uint8_t reserved[16];  // zero
};

// Checks magic, version, sizes and that all parts lie inside `file_size` bytes without overlap. `bytes` holds at least
// the first kHeaderBytes of the file (less: kInvalidModel). Reads nothing behind them.
Status read_header(Span<const uint8_t> bytes, uint64_t file_size, FileHeader* header, Error* error);

// Checks the root and every chunk. kInvalidModel names the first chunk that differs. Time: one pass over the file.
Status check_hashes(Span<const uint8_t> file, const FileHeader& header, Error* error);

}  // namespace vireo

#endif  // VIREO_SDK_FORMAT_CONTAINER_H_
