// Packed weights and compiled parts as bytes: a section of a .vireo file, and a file in the user's cache. Read where it
// lies.
//
//   [0, 128)            header
//   [128, + 96 each)    entries, sorted by kind, then by the constant or the part that they are of
//   contents            each aligned to 64, zeros between
//
// An entry names a copy by what says all about it: whose delegate's layout, of which constant (its place in the model's
// file), with which sizes. Layouts are numbered for ever (a change of what is written, a corrected fault too, takes the
// next number), so a reader whose kernels want another layout finds nothing and packs as if there were no set.
//
// A compiled part is named by its delegate, its first node (subgraph << 32 | node), how many nodes it has, a hash of
// their shapes, and the fingerprint of the device that it was compiled for: what another chip, or another version of
// its driver, compiled is never found. Its contents are a CompiledHead and then what the device's compiler wrote.
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
constexpr uint32_t kPackVersion = 2;
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

constexpr uint32_t kPackedConstant = 0;
constexpr uint32_t kCompiledPart = 1;

struct PackEntry {
  char delegate[16];  // ends with zeros
  uint32_t layout;    // of a compiled part: 0
  uint32_t kind;
  uint64_t constant;  // offset in the model's file; of a compiled part: subgraph << 32 | first node
  int64_t sizes[4];   // of a compiled part: nodes, hash of shapes, the device's fingerprint, 0
  uint64_t bytes;
  uint64_t offset;  // of the contents, from the set's first byte
  uint64_t hash;    // of the contents: contents_hash()
  uint64_t reserved;
};

// In front of what a device compiled; all there is of a part that does not compile.
struct CompiledHead {
  uint32_t refused;  // 1: the device does not get this part; reason says why
  uint32_t checked;  // 1: it computed what another device does
  double time_ns;    // as in vireo_compiled
  uint64_t energy_nj;
  uint64_t moved_bytes;
  char reason[200];
  uint8_t reserved[24];  // zero
};
// A copy of the head in a compiled part's contents, whose reason ends; false for what is none.
bool read_compiled_head(const void* contents, uint64_t bytes, CompiledHead* out);

// The name that `delegate` has in entries; false when it is too long to have one.
bool pack_delegate(const char* delegate, char (&out)[16]);
// -1, 0, 1: by kind, then by constant, then by the rest of what names a copy. Of a packed constant, its bytes are part
// of the name.
int compare_packs(const PackEntry& a, const PackEntry& b);

// Not cryptographic: finds damage, at the speed of memory. Eight words at a time, each by a multiplication that no
// other waits for; a change of one word always changes the sum.
uint64_t pack_hash(const void* data, size_t bytes);
// An entry's hash. A compiled part's head changes while what was compiled does not, so the two may lie apart: `head` is
// null for a packed constant, and `bytes` those behind it.
uint64_t contents_hash(const CompiledHead* head, const void* data, size_t bytes);
// Whether an entry's contents are those that were hashed.
bool contents_whole(const PackEntry& entry, const void* contents);

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
  // Contents that agree with `wanted` in what compare_packs looks at, or null. `found` may be null.
  const void* find(const PackEntry& wanted, PackEntry* found = nullptr) const;
  // The first entry that does not come before `wanted`; count() where there is none.
  uint32_t lower_bound(const PackEntry& wanted) const;
  bool holds(uint32_t kind) const;
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
