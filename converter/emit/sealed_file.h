// .vireo files with a signature, and encrypted ones (sdk/format/container.h).
#ifndef VIREO_CONVERTER_EMIT_SEALED_FILE_H_
#define VIREO_CONVERTER_EMIT_SEALED_FILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sdk/base/span.h"
#include "sdk/format/container.h"

namespace vireo::emit {

// Ends a file: hashes of what stands in it behind the header, and the header, of which all but the hashes' places, the
// file's size and the root is filled in.
void end_file(std::vector<uint8_t>* file, FileHeader header);

// What seals is handed in: this library knows no cryptography.
// Fills a signature's 64 bytes.
using Sign = std::function<void(const SignedMessage& message, uint8_t* out)>;
// Enciphers a chunk in place and gives its tag.
using Encipher =
    std::function<void(const FileHeader& scope, uint64_t chunk, uint8_t* bytes, size_t size, uint8_t* out_tag)>;

// The file with this signature, in place of one that it has. Empty, with the reason in `error`, for what is no whole
// file.
std::vector<uint8_t> signed_file(Span<const uint8_t> file, Signature signature, const Sign& sign, std::string* error);
// The same file, encrypted; a signature is dropped, because it is not the file's any more.
std::vector<uint8_t> encrypted_file(Span<const uint8_t> file, const CipherTable& table, const Encipher& encipher,
                                    std::string* error);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_SEALED_FILE_H_
