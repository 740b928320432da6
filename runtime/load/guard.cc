#include "runtime/load/guard.h"

#include <sodium.h>
#include <string.h>

#include <new>

#include "runtime/platform/platform.h"
#include "sdk/format/sha256.h"

namespace vireo {
namespace {

enum State : uint32_t { kUnknown, kBusy, kGood, kWrong };
constexpr size_t kImageAlignment = 4096;

// Sizes of the file.
static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == VIREO_KEY_BYTES);
static_assert(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES == sizeof(CipherTable::nonce) + 8);
static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == kTagBytes);
static_assert(crypto_sign_ed25519_PUBLICKEYBYTES == VIREO_KEY_BYTES);
static_assert(crypto_sign_ed25519_BYTES == sizeof(Signature::bytes));
static_assert(kKeyIdBytes == VIREO_KEY_ID_BYTES);

struct Hex {
  char text[2 * kKeyIdBytes + 1];
  explicit Hex(const uint8_t* id) { sodium_bin2hex(text, sizeof(text), id, kKeyIdBytes); }
};

// Verifies, and asks the policy.
Status check_signature(const vireo_trust& trust, Span<const uint8_t> file, const FileHeader& header,
                       vireo_signature* found, Error* error) {
  *found = VIREO_SIGNATURE_INIT;
  found->encrypted = header.cipher_offset != 0 ? 1 : 0;
  if (header.signature_offset != 0) {
    Signature s;
    memcpy(&s, file.data() + header.signature_offset, sizeof(s));
    uint64_t zero = s.reserved;
    for (const uint8_t b : s.reserved2) zero |= b;
    if (s.kind != kSignatureEd25519 || zero != 0)
      return fail(error, Status::kUnsupported, "the file's signature is of a kind that this build does not know");
    found->present = 1;
    found->revision = s.revision;
    memcpy(found->key, s.key, sizeof(found->key));
    uint8_t key[VIREO_KEY_BYTES];
    if (trust.public_key != nullptr && trust.public_key(trust.context, s.key, key) == VIREO_OK) {
      const SignedMessage message = signed_message(s, header);
      const auto* const bytes = reinterpret_cast<const unsigned char*>(&message);
      if (crypto_sign_ed25519_verify_detached(s.bytes, bytes, sizeof(message), key) != 0) {
        return fail(error, Status::kInvalidModel,
                    "the file's signature by key {} does not hold: the file was changed after it was signed",
                    static_cast<const char*>(Hex(s.key).text));
      }
      found->verified = 1;
    }
  }
  if (trust.require != 0 && found->verified == 0) {
    return fail(error, Status::kInvalidModel, "{}: the policy of this runtime refuses it",
                found->present != 0 ? "the file is signed by a key that is not trusted" : "the file is not signed");
  }
  if (found->verified != 0 && trust.accept != nullptr) {
    const vireo_status status = trust.accept(trust.context, found);
    if (status != VIREO_OK) {
      return fail(error, static_cast<Status>(status), "the policy of this runtime refuses revision {} of key {}",
                  found->revision, static_cast<const char*>(Hex(found->key).text));
    }
  }
  return Status::kOk;
}

}  // namespace

Status Guard::open(const vireo_allocator& allocator, const vireo_trust& trust, Span<const uint8_t> file,
                   const FileHeader& header, vireo_signature* found, Guard** out, Error* error) {
  *out = nullptr;
  if (sodium_init() < 0) return fail(error, Status::kUnsupported, "libsodium could not be started");
  VIREO_TRY(check_signature(trust, file, header, found, error));
  if (found->verified == 0 && header.cipher_offset == 0) return Status::kOk;
  const uint64_t chunks = chunk_count(header);
  const uint64_t ciphered =
      header.cipher_offset == 0 ? 0 : (header.cipher_offset - kHeaderBytes + kChunkBytes - 1) / kChunkBytes;
  const size_t self = (sizeof(Guard) + 63) / 64 * 64;
  const auto bytes = static_cast<size_t>(self + chunks * (kHashBytes + sizeof(uint32_t)) + ciphered * kTagBytes);
  void* const memory = allocator.allocate(allocator.context, bytes, 64);
  if (memory == nullptr) return fail(error, Status::kOutOfArena, "the allocator has no {} bytes for hashes", bytes);
  auto* const g = new (memory) Guard();
  g->file_ = file;
  g->header_ = header;
  g->bytes_ = bytes;
  g->hashes_ = static_cast<uint8_t*>(memory) + self;
  g->states_ = reinterpret_cast<uint32_t*>(g->hashes_ + chunks * kHashBytes);
  memcpy(g->hashes_, file.data() + header.hash_offset, static_cast<size_t>(header.hash_size));
  memset(g->states_, 0, static_cast<size_t>(chunks * sizeof(uint32_t)));
  uint8_t root[kHashBytes];
  root_of(header, g->hashes_, root);
  Status status = Status::kOk;
  if (memcmp(root, header.root, sizeof(root)) != 0)
    status = fail(error, Status::kInvalidModel, "the file is damaged: its hashes do not match the root in its header");
  if (ok(status) && header.cipher_offset != 0) {
    memcpy(&g->cipher_, file.data() + header.cipher_offset, sizeof(CipherTable));
    const Hex name(g->cipher_.key);
    if (g->cipher_.kind != kCipherXChaCha20Poly1305 || g->cipher_.reserved != 0) {
      status = fail(error, Status::kUnsupported, "the file is encrypted in a way that this build does not know");
    } else if (trust.secret_key == nullptr || trust.secret_key(trust.context, g->cipher_.key, g->key_) != VIREO_OK) {
      status = fail(error, Status::kUnsupported,
                    "the file is encrypted with key {}, which vireo_trust.secret_key does not give",
                    static_cast<const char*>(name.text));
    }
    g->tags_ = reinterpret_cast<uint8_t*>(g->states_ + chunks);
    memcpy(g->tags_, file.data() + header.cipher_offset + sizeof(CipherTable),
           static_cast<size_t>(ciphered * kTagBytes));
    if (ok(status)) {
      g->image_ = static_cast<uint8_t*>(allocator.allocate(allocator.context, file.size(), kImageAlignment));
      if (g->image_ == nullptr) {
        status =
            fail(error, Status::kOutOfArena, "the allocator has no {} bytes to decipher the model to", file.size());
      } else {
        g->image_bytes_ = file.size();
      }
    }
  }
  if (!ok(status)) {
    g->release(allocator);
    return status;
  }
  *out = g;
  return Status::kOk;
}

void Guard::release(const vireo_allocator& allocator) {
  if (image_ != nullptr) {
    // Of chunks that were deciphered: others were never written to.
    for (uint64_t c = 0; c < chunk_count(header_); ++c) {
      const uint64_t at = kHeaderBytes + c * kChunkBytes;
      if (states_[c] == kUnknown || at >= header_.cipher_offset) continue;
      const uint64_t end = at + kChunkBytes < header_.cipher_offset ? at + kChunkBytes : header_.cipher_offset;
      sodium_memzero(image_ + at, static_cast<size_t>(end - at));
    }
    allocator.release(allocator.context, image_, image_bytes_, kImageAlignment);
  }
  sodium_memzero(key_, sizeof(key_));
  const size_t bytes = bytes_;
  this->~Guard();
  allocator.release(allocator.context, this, bytes, 64);
}

bool Guard::fill(uint64_t chunk) {
  const uint64_t at = kHeaderBytes + chunk * kChunkBytes;
  const uint64_t left = header_.hash_offset - at;
  const auto size = static_cast<size_t>(left < kChunkBytes ? left : kChunkBytes);
  Sha256 sha;
  uint8_t digest[kHashBytes];
  sha.update(file_.data() + at, size);
  sha.finish(digest);
  if (memcmp(digest, hashes_ + chunk * kHashBytes, kHashBytes) != 0) return false;
  if (image_ == nullptr || at >= header_.cipher_offset) return true;
  const uint64_t plain = header_.cipher_offset - at < size ? header_.cipher_offset - at : size;
  uint8_t nonce[sizeof(cipher_.nonce) + sizeof(chunk)];
  memcpy(nonce, cipher_.nonce, sizeof(cipher_.nonce));
  memcpy(nonce + sizeof(cipher_.nonce), &chunk, sizeof(chunk));
  const FileHeader scope = cipher_scope(header_);
  return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
             image_ + at, nullptr, file_.data() + at, plain, tags_ + chunk * kTagBytes,
             reinterpret_cast<const unsigned char*>(&scope), sizeof(scope), nonce, key_) == 0;
}

void Guard::touch(uint64_t offset, uint64_t size) {
  if (size == 0 || offset < kHeaderBytes || offset >= header_.hash_offset) return;
  uint64_t end = offset + size;
  if (end < offset || end > header_.hash_offset) end = header_.hash_offset;
  for (uint64_t c = (offset - kHeaderBytes) / kChunkBytes; kHeaderBytes + c * kChunkBytes < end; ++c) {
    uint32_t* const state = states_ + c;
    for (;;) {
      uint32_t now = __atomic_load_n(state, __ATOMIC_ACQUIRE);
      if (now == kGood || now == kWrong) break;
      if (now == kUnknown &&
          __atomic_compare_exchange_n(state, &now, uint32_t{kBusy}, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        const bool good = fill(c);
        if (!good) {
          uint64_t none = UINT64_MAX;
          (void)__atomic_compare_exchange_n(&wrong_, &none, c, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
          const uint64_t at = kHeaderBytes + c * kChunkBytes;
          if (image_ != nullptr && at < header_.cipher_offset) {
            const uint64_t left = header_.cipher_offset - at;
            memset(image_ + at, 0, static_cast<size_t>(left < kChunkBytes ? left : kChunkBytes));
          }
        }
        __atomic_store_n(state, uint32_t{good ? kGood : kWrong}, __ATOMIC_RELEASE);
        break;
      }
      platform::yield();  // another thread has it: some 50 us
    }
  }
}

Status Guard::check(Error* error) const {
  const uint64_t chunk = __atomic_load_n(&wrong_, __ATOMIC_ACQUIRE);
  if (chunk == UINT64_MAX) return Status::kOk;
  const uint64_t at = kHeaderBytes + chunk * kChunkBytes;
  return fail(error, Status::kInvalidModel, "the file was changed: bytes {} and on are not what its {} say", at,
              image_ == nullptr ? "signed hashes" : "signed hashes, or its cipher's tags,");
}

}  // namespace vireo
