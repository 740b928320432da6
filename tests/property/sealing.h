// Keys of a test, and files signed and encrypted by them.
#ifndef VIREO_TESTS_PROPERTY_SEALING_H_
#define VIREO_TESTS_PROPERTY_SEALING_H_

#include <sodium.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "converter/emit/sealed_file.h"
#include "sdk/format/container.h"
#include "vireo/trust.h"

namespace vireo::sealing {

using Bytes = std::vector<uint8_t>;

// What can only fail where the machine is broken ends the test.
inline void must(bool good, const std::string& why) {
  if (good) return;
  std::fprintf(stderr, "sealing: %s\n", why.c_str());
  std::abort();
}

struct Keys {
  uint8_t open[crypto_sign_ed25519_PUBLICKEYBYTES], secret[crypto_sign_ed25519_SECRETKEYBYTES];
  uint8_t cipher[crypto_aead_xchacha20poly1305_ietf_KEYBYTES];
  uint8_t id[VIREO_KEY_ID_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};
  uint64_t least_revision = 0;
  int asked = 0;

  explicit Keys(uint8_t seed) {
    must(sodium_init() >= 0, "libsodium does not start");
    uint8_t bytes[crypto_sign_ed25519_SEEDBYTES];
    std::memset(bytes, seed, sizeof(bytes));
    crypto_sign_ed25519_seed_keypair(open, secret, bytes);
    std::memset(cipher, seed + 1, sizeof(cipher));
  }
  Bytes sign(const Bytes& file, uint64_t revision) const {
    Signature s = {};
    std::memcpy(s.key, id, sizeof(id));
    s.revision = revision;
    std::string error;
    Bytes out = emit::signed_file(
        {file.data(), file.size()}, s,
        [&](const SignedMessage& m, uint8_t* to) {
          crypto_sign_ed25519_detached(to, nullptr, reinterpret_cast<const uint8_t*>(&m), sizeof(m), secret);
        },
        &error);
    must(error.empty(), error);
    return out;
  }
  Bytes encrypt(const Bytes& file) const {
    CipherTable table = {};
    table.kind = kCipherXChaCha20Poly1305;
    std::memcpy(table.key, id, sizeof(id));
    std::memset(table.nonce, 9, sizeof(table.nonce));
    std::string error;
    Bytes out = emit::encrypted_file(
        {file.data(), file.size()}, table,
        [&](const FileHeader& scope, uint64_t chunk, uint8_t* bytes, size_t size, uint8_t* tag) {
          uint8_t nonce[24];
          std::memcpy(nonce, table.nonce, 16);
          std::memcpy(nonce + 16, &chunk, 8);
          crypto_aead_xchacha20poly1305_ietf_encrypt_detached(bytes, tag, nullptr, bytes, size,
                                                              reinterpret_cast<const uint8_t*>(&scope), sizeof(scope),
                                                              nullptr, nonce, cipher);
        },
        &error);
    must(error.empty(), error);
    return out;
  }
  vireo_trust trust(bool require) {
    vireo_trust t = VIREO_TRUST_INIT;
    t.context = this;
    t.require = require ? 1 : 0;
    t.public_key = [](void* context, const uint8_t* key, uint8_t* out) {
      auto& k = *static_cast<Keys*>(context);
      ++k.asked;
      if (std::memcmp(key, k.id, sizeof(k.id)) != 0) return vireo_status{VIREO_UNSUPPORTED};
      std::memcpy(out, k.open, sizeof(k.open));
      return vireo_status{VIREO_OK};
    };
    t.accept = [](void* context, const vireo_signature* s) {
      return vireo_status{s->revision < static_cast<Keys*>(context)->least_revision ? VIREO_UNSUPPORTED : VIREO_OK};
    };
    t.secret_key = [](void* context, const uint8_t* key, uint8_t* out) {
      auto& k = *static_cast<Keys*>(context);
      if (std::memcmp(key, k.id, sizeof(k.id)) != 0) return vireo_status{VIREO_UNSUPPORTED};
      std::memcpy(out, k.cipher, sizeof(k.cipher));
      return vireo_status{VIREO_OK};
    };
    return t;
  }
};

}  // namespace vireo::sealing

#endif  // VIREO_TESTS_PROPERTY_SEALING_H_
