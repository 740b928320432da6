// Chunks of a signed or encrypted file, checked and deciphered when somebody first reads from them.
//
// A plain file that is signed stays mapped, and a chunk is compared with its hash, which the signature covers; what
// is compared and then changed by another process is the caller's to prevent (vireo_model_load_file). An encrypted one
// has an image of the file's size, into which chunks are deciphered; memory that nobody wrote to takes no pages where
// the allocator gets it from the system.
#ifndef VIREO_RUNTIME_LOAD_GUARD_H_
#define VIREO_RUNTIME_LOAD_GUARD_H_

#include "runtime/load/program.h"
#include "vireo/trust.h"

namespace vireo {

class Guard final : public ChunkGuard {
 public:
  // Looks at signature and cipher; *out stays null where nothing has to be guarded. The header was read.
  static Status open(const vireo_allocator& allocator, const vireo_trust& trust, Span<const uint8_t> file,
                     const FileHeader& header, vireo_signature* found, Guard** out, Error* error);
  void release(const vireo_allocator& allocator);

  // The file as the program reads it.
  Span<const uint8_t> image() const { return {image_ == nullptr ? file_.data() : image_, file_.size()}; }
  void touch(uint64_t offset, uint64_t size) override;
  // kInvalidModel names the first chunk that was not what it has to be.
  Status check(Error* error) const;

 private:
  Guard() = default;
  ~Guard() = default;
  bool fill(uint64_t chunk);

  Span<const uint8_t> file_;
  FileHeader header_ = {};
  CipherTable cipher_ = {};
  size_t bytes_ = 0;            // of this and what lies behind it
  uint8_t* hashes_ = nullptr;   // copies: the file may be mapped
  uint8_t* tags_ = nullptr;     // null: plain
  uint32_t* states_ = nullptr;  // of each chunk
  uint8_t* image_ = nullptr;
  size_t image_bytes_ = 0;
  uint64_t wrong_ = UINT64_MAX;  // the first chunk that failed
  uint8_t key_[VIREO_KEY_BYTES] = {};
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_LOAD_GUARD_H_
