// Key files, and whom the command line trusts.
//
// A key file is one line: what it is, the key's id (8 bytes; the first of the SHA-256 of the public key, or of a
// cipher's key) and the key in hex: "vireo-ed25519-public ID KEY" (32 bytes), "vireo-ed25519-secret ID KEY" (64: seed
// and public key), "vireo-xchacha20-secret ID KEY" (32).
#ifndef VIREO_C_API_CLI_KEYS_H_
#define VIREO_C_API_CLI_KEYS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vireo/trust.h"

namespace vireo::cli {

enum class KeyKind { kPublic, kSecret, kCipher };
using KeyId = std::array<uint8_t, VIREO_KEY_ID_BYTES>;

struct Key {
  KeyKind kind = KeyKind::kPublic;
  KeyId id = {};
  std::vector<uint8_t> bytes;
};

// Throws Failure with the file and what was wanted. Nothing of a key is ever in a message.
Key read_key(const std::string& path, KeyKind wanted);
// A secret one can be read by its owner alone.
void write_key(const std::string& path, const Key& key);

std::string hex_text(const uint8_t* bytes, size_t size);

// A runtime believes the public keys and has the ciphers' keys of these files (colons between them; "" for none). With
// public keys a signature is required. "none" for public keys: nobody need be trusted, so that a build which cannot
// check signatures takes signed models. Throws Failure where the build cannot. The keys live as long as the process.
void set_trust(vireo_runtime* runtime, const std::string& public_keys, const std::string& cipher_keys);
// Throws Failure where the option `option` names nothing.
void require_keys(const std::string& option, const std::string& list);
// The same as set_trust from VIREO_TRUSTED and VIREO_KEYS.
void use_keys(vireo_runtime* runtime);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_KEYS_H_
