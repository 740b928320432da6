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
  void block(const uint8_t* p);
  uint32_t state_[8];
  uint64_t total_;
  uint8_t buffer_[64];
};

}  // namespace vireo

#endif  // VIREO_SDK_FORMAT_SHA256_H_
