// SHA-256 (FIPS 180-4). Ours, because the loader checks hashes on targets where no crypto library is at hand; it is
// tested against the standard's vectors. Nothing secret passes through it, so it need not run in constant time.
#ifndef VIREO_SDK_FORMAT_SHA256_H_
#define VIREO_SDK_FORMAT_SHA256_H_

#include <stddef.h>
#include <stdint.h>

namespace vireo {

class Sha256 {
 public:
  Sha256() { reset(); }
  void reset();
  void update(const void* data, size_t bytes);
  void finish(uint8_t out[32]);  // reset() before the next use

 private:
  uint32_t state_[8];
  uint64_t total_;
  uint8_t buffer_[64];
};

// The compression function over `count` blocks of 64 bytes, as every core can run it; x86-64 has instructions of its
// own.
void sha256_blocks_plain(uint32_t state[8], const uint8_t* p, size_t count);

}  // namespace vireo

#endif  // VIREO_SDK_FORMAT_SHA256_H_
