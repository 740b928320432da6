#include "sdk/format/pack_set.h"

#include <string.h>

#include "sdk/base/checked.h"

namespace vireo {

static_assert(sizeof(PackHeader) == 128 && offsetof(PackHeader, model) == 32 && offsetof(PackHeader, boot) == 64 &&
                  offsetof(PackHeader, index_hash) == 112,
              "header fields");
static_assert(sizeof(PackEntry) == 96 && offsetof(PackEntry, constant) == 24 && offsetof(PackEntry, bytes) == 64,
              "entry fields");
static_assert(sizeof(CompiledHead) == 256 && offsetof(CompiledHead, time_ns) == 8 &&
                  offsetof(CompiledHead, reason) == 32 && sizeof(CompiledHead) % kPackAlignment == 0,
              "head fields; what follows is aligned as the head is");

namespace {

// Odd, bits without a pattern: the fractional parts of the golden ratio and of the square roots of 2, 3, 5, ...
constexpr uint64_t kOdd[8] = {0x9E3779B97F4A7C15, 0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B,
                              0xA54FF53A5F1D36F1, 0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B};

uint64_t word_at(const uint8_t* p) {
  uint64_t w;
  memcpy(&w, p, sizeof(w));
  return w;
}

uint64_t mixed(uint64_t h) {
  h = (h ^ (h >> 32)) * kOdd[0];
  return h ^ (h >> 29);
}

template <class T>
int order(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

uint64_t hash_of(PackHeader header) {
  header.header_hash = 0;
  return pack_hash(&header, sizeof(header));
}

uint64_t aligned(uint64_t at) { return (at + kPackAlignment - 1) / kPackAlignment * kPackAlignment; }

}  // namespace

uint64_t pack_hash(const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  uint64_t lanes[8];
  memcpy(lanes, kOdd, sizeof(lanes));
  size_t left = bytes;
  for (; left >= 64; left -= 64, p += 64) {
    for (int i = 0; i < 8; ++i) {
      const uint64_t h = (lanes[i] ^ word_at(p + 8 * i)) * kOdd[i];
      lanes[i] = h ^ (h >> 31);
    }
  }
  uint8_t rest[64] = {};
  if (left > 0) memcpy(rest, p, left);
  uint64_t sum = bytes;
  for (int i = 0; i < 8; ++i) sum = mixed(sum ^ mixed(lanes[i] ^ word_at(rest + 8 * i)));
  return sum;
}

uint64_t contents_hash(const CompiledHead* head, const void* data, size_t bytes) {
  const uint64_t rest = pack_hash(data, bytes);
  if (head == nullptr) return rest;
  const uint64_t both[2] = {pack_hash(head, sizeof(*head)), rest};
  return pack_hash(both, sizeof(both));
}

bool read_compiled_head(const void* contents, uint64_t bytes, CompiledHead* out) {
  if (bytes < sizeof(*out)) return false;
  memcpy(out, contents, sizeof(*out));
  out->reason[sizeof(out->reason) - 1] = 0;
  bool good = out->refused <= 1 && out->checked <= 1 && out->time_ns >= 0 && out->time_ns < 1e18;
  for (const uint8_t b : out->reserved) good = good && b == 0;
  return good && (out->refused == 0 || bytes == sizeof(*out));
}

bool pack_delegate(const char* delegate, char (&out)[16]) {
  const size_t n = strlen(delegate);
  memset(out, 0, sizeof(out));
  if (n >= sizeof(out)) return false;
  memcpy(out, delegate, n);
  return true;
}

int compare_packs(const PackEntry& a, const PackEntry& b) {
  int c = order(a.kind, b.kind);
  if (c == 0) c = order(a.constant, b.constant);
  if (c == 0) c = order(a.layout, b.layout);
  for (int i = 0; c == 0 && i < 4; ++i) c = order(a.sizes[i], b.sizes[i]);
  if (c == 0 && a.kind == kPackedConstant) c = order(a.bytes, b.bytes);
  return c != 0 ? c : order(memcmp(a.delegate, b.delegate, sizeof(a.delegate)), 0);
}

bool PackSet::inside(const PackEntry& e) const {
  uint64_t end = 0;
  return e.offset % kPackAlignment == 0 && e.offset >= sizeof(PackHeader) + uint64_t{header_.count} * sizeof(e) &&
         checked_add(e.offset, e.bytes, &end) && end <= bytes_.size();
}

bool PackSet::entry(uint32_t index, PackEntry* out) const {
  memcpy(out, bytes_.data() + sizeof(PackHeader) + size_t{index} * sizeof(*out), sizeof(*out));
  return inside(*out);
}

bool PackSet::open(Span<const uint8_t> bytes) {
  *this = PackSet();
  PackHeader h;
  if (bytes.size() < sizeof(h)) return false;
  memcpy(&h, bytes.data(), sizeof(h));
  if (memcmp(h.magic, kPackMagic, sizeof(kPackMagic)) != 0 || h.version != kPackVersion ||
      h.entry_bytes != sizeof(PackEntry) || h.bytes != bytes.size() || h.count > kMaxPacks ||
      h.count > (bytes.size() - sizeof(h)) / sizeof(PackEntry) || h.header_hash != hash_of(h) ||
      h.index_hash != pack_hash(bytes.data() + sizeof(h), h.count * sizeof(PackEntry))) {
    return false;
  }
  header_ = h;
  bytes_ = bytes;
  PackEntry before = {}, e;
  for (uint32_t i = 0; i < h.count; ++i) {
    if (!entry(i, &e) || (i > 0 && compare_packs(before, e) >= 0)) {
      *this = PackSet();
      return false;
    }
    before = e;
  }
  return true;
}

uint32_t PackSet::lower_bound(const PackEntry& wanted) const {
  uint32_t low = 0, high = header_.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    PackEntry e;
    if (!entry(middle, &e)) return header_.count;
    if (compare_packs(e, wanted) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const void* PackSet::find(const PackEntry& wanted, PackEntry* found) const {
  const uint32_t at = lower_bound(wanted);
  PackEntry e;
  if (at >= header_.count || !entry(at, &e) || compare_packs(e, wanted) != 0) return nullptr;
  if (found != nullptr) *found = e;
  return contents(e);
}

bool PackSet::holds(uint32_t kind) const {
  PackEntry first = {}, e;
  first.kind = kind;
  first.sizes[0] = first.sizes[1] = first.sizes[2] = first.sizes[3] = INT64_MIN;
  const uint32_t at = lower_bound(first);
  return at < header_.count && entry(at, &e) && e.kind == kind;
}

bool contents_whole(const PackEntry& e, const void* contents) {
  const auto* const at = static_cast<const uint8_t*>(contents);
  if (e.kind != kCompiledPart) return contents_hash(nullptr, at, static_cast<size_t>(e.bytes)) == e.hash;
  CompiledHead head;
  if (e.bytes < sizeof(head)) return false;
  memcpy(&head, at, sizeof(head));
  return contents_hash(&head, at + sizeof(head), static_cast<size_t>(e.bytes) - sizeof(head)) == e.hash;
}

bool PackSet::contents_whole() const {
  for (uint32_t i = 0; i < header_.count; ++i) {
    PackEntry e;
    if (!entry(i, &e) || !vireo::contents_whole(e, contents(e))) return false;
  }
  return true;
}

uint64_t lay_out_packs(Span<PackEntry> entries) {
  uint64_t at = sizeof(PackHeader) + entries.size() * sizeof(PackEntry);
  for (PackEntry& e : entries) {
    e.offset = at = aligned(at);
    at += e.bytes;
  }
  return aligned(at);
}

PackHeader pack_header(Span<const PackEntry> entries, uint64_t bytes, const uint8_t* model, uint32_t library,
                       uint64_t boot) {
  PackHeader h;
  memset(&h, 0, sizeof(h));
  memcpy(h.magic, kPackMagic, sizeof(kPackMagic));
  h.version = kPackVersion;
  h.entry_bytes = sizeof(PackEntry);
  h.bytes = bytes;
  h.count = static_cast<uint32_t>(entries.size());
  h.library = library;
  if (model != nullptr) memcpy(h.model, model, sizeof(h.model));
  h.boot = boot;
  h.index_hash = pack_hash(entries.data(), entries.size() * sizeof(PackEntry));
  h.header_hash = hash_of(h);
  return h;
}

}  // namespace vireo
