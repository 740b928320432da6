// Packed weights as bytes: a section of a .vireo file, and a file in the user's cache. Read where it lies.
//
//   [0, 128)            header
//   [128, + 96 each)    entries, sorted by the constant that they are of
//   contents            each aligned to 64, zeros between
//
// An entry names a copy by what says all about it: whose delegate's layout, of which constant (its place in the model's
// file), with which sizes. Layouts are numbered for ever (a change of what is written, a corrected fault too, takes the
// next number), so a reader whose kernels want another layout finds nothing and packs as if there were no set.
//
// Header and entries stand under a checksum, and no access leaves the set whatever an entry says, also when the bytes
// change after they were opened. Contents have a checksum each, which is compared when somebody asks: the section of a
// .vireo file stands under that file's hash tree, and the cache knows when its files need it.
#ifndef VIREO_SDK_FORMAT_PACK_SET_H_
#define VIREO_SDK_FORMAT_PACK_SET_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/span.h"

namespace vireo {

constexpr uint8_t kPackMagic[8] = {0x89, 'V', 'I', 'R', 'P', 'K', 0x0A, 0x1A};
constexpr uint32_t kPackVersion = 1;
constexpr uint32_t kMaxPacks = 1u << 20;
constexpr size_t kPackAlignment = 64;

// Little-endian, at these offsets (static_asserts in pack_set.cc).
struct PackHeader {
  uint8_t magic[8];
  uint32_t version;
  uint32_t entry_bytes;  // sizeof(PackEntry)
  uint64_t bytes;        // of the whole set
  uint32_t count;
  uint32_t library;      // vireo_version() of who wrote a file of the cache; 0 in a section
  uint8_t model[32];     // root of the model's hash tree in a file of the cache; zeros in a section
  uint64_t boot;         // cache: of the system's start since which contents are known to be whole; 0 unknown
  uint8_t reserved[40];  // zero
  uint64_t index_hash;   // pack_hash of the entries
  uint64_t header_hash;  // pack_hash of the header with this field zero
};

struct PackEntry {
  char delegate[16];  // ends with zeros
  uint32_t layout;
  uint32_t reserved;
  uint64_t constant;  // offset in the model's file
  int64_t sizes[4];
  uint64_t bytes;
  uint64_t offset;  // of the contents, from the set's first byte
  uint64_t hash;    // pack_hash of the contents
  uint64_t reserved2;
};

// The name that `delegate` has in entries; false when it is too long to have one.
bool pack_delegate(const char* delegate, char (&out)[16]);
// -1, 0, 1: by constant, then by the rest of what names a copy. Its bytes are part of the name.
int compare_packs(const PackEntry& a, const PackEntry& b);

// Not cryptographic: finds damage, at the speed of memory. Eight words at a time, each by a multiplication that no
// other waits for; a change of one word always changes the sum.
uint64_t pack_hash(const void* data, size_t bytes);

// A set that was opened. Refers to its bytes.
class PackSet {
 public:
  // False (and empty) for what is no set of this version or not whole. Checks header and entries.
  bool open(Span<const uint8_t> bytes);
  bool empty() const { return bytes_.empty(); }
  const PackHeader& header() const { return header_; }
  Span<const uint8_t> bytes() const { return bytes_; }
  uint32_t count() const { return header_.count; }
  // False when the entry has changed since to point outside.
  bool entry(uint32_t index, PackEntry* out) const;
  const void* contents(const PackEntry& entry) const { return bytes_.data() + entry.offset; }
  // Contents that agree with `wanted` in what compare_packs looks at, or null.
  const void* find(const PackEntry& wanted) const;
  // Compares each entry's contents with its checksum. One pass over the set.
  bool contents_whole() const;

 private:
  bool inside(const PackEntry& entry) const;
  PackHeader header_ = {};
  Span<const uint8_t> bytes_;
};

// To write a set: entries sorted by compare_packs, without repeats, `bytes` and `hash` filled in. Sets their offsets
// and returns the bytes of the whole.
uint64_t lay_out_packs(Span<PackEntry> entries);
// The header for these; `model` (32 bytes) may be null.
PackHeader pack_header(Span<const PackEntry> entries, uint64_t bytes, const uint8_t* model, uint32_t library,
                       uint64_t boot);

}  // namespace vireo

#endif  // VIREO_SDK_FORMAT_PACK_SET_H_
