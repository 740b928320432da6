#include "converter/emit/segments.h"

#include <algorithm>
#include <cstring>

#include "sdk/base/checked.h"
#include "sdk/format/container.h"
#include "sdk/format/sha256.h"

namespace vireo::emit {
namespace {

constexpr size_t kWindow = 8 << 20;  // of a mapped file in memory at a time

// Visits bytes in windows; pages of a mapped constant are let go behind.
bool visit(const ir::Constant& c, const std::function<bool(const void*, size_t)>& sink) {
  const Span<const uint8_t> bytes = c.tensor.bytes;
  for (size_t at = 0; at < bytes.size(); at += kWindow) {
    const size_t n = std::min(kWindow, bytes.size() - at);
    if (!sink(bytes.data() + at, n)) return false;
    if (c.mapped) ir::MappedFile::forget({bytes.data() + at, n});
  }
  return true;
}

std::string finish_hash(Sha256* sha) {
  uint8_t digest[kHashBytes];
  sha->finish(digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

}  // namespace

std::vector<uint8_t> encode_strings(const std::vector<std::string>& strings) {
  uint64_t total = (strings.size() + 1) * sizeof(uint32_t);
  for (const std::string& s : strings) total += s.size();
  if (total > UINT32_MAX) return {};
  std::vector<uint8_t> out(static_cast<size_t>(total));
  uint32_t at = static_cast<uint32_t>((strings.size() + 1) * sizeof(uint32_t));
  for (size_t i = 0; i <= strings.size(); ++i) {
    std::memcpy(out.data() + i * sizeof(uint32_t), &at, sizeof(at));
    if (i == strings.size()) break;
    if (!strings[i].empty()) std::memcpy(out.data() + at, strings[i].data(), strings[i].size());
    at += static_cast<uint32_t>(strings[i].size());
  }
  return out;
}

Place Segments::add(const ir::ConstantPtr& given) {
  ir::ConstantPtr c = given;
  if (c->tensor.type.dtype == DType::kString) {
    c = ir::make_constant({DType::kU8, {}}, encode_strings(given->tensor.strings));
  }
  const size_t size = c->tensor.bytes.size();
  const auto address = std::make_pair(static_cast<const void*>(c->tensor.bytes.data()), size);
  const auto known = by_address_.find(address);
  if (size > 0 && known != by_address_.end()) return known->second;
  kept_.push_back(c);
  Sha256 sha;
  visit(*c, [&](const void* p, size_t n) {
    sha.update(p, n);
    return true;
  });
  const std::string hash = finish_hash(&sha);
  const auto same = by_hash_.find(hash);
  if (same != by_hash_.end()) return by_address_[address] = same->second;
  Place place;
  place.size = size;
  total_bytes_ += size;
  if (size >= kLargeBytes) {
    place.segment = static_cast<int32_t>(segments_.size());
    hashes_[place.segment] = hash;
    segments_.push_back({{}, c});
  } else {
    if (shared_ < 0) {
      shared_ = static_cast<int32_t>(segments_.size());
      segments_.emplace_back();
    }
    std::vector<uint8_t>& bytes = segments_[static_cast<size_t>(shared_)].shared;
    place.segment = shared_;
    place.offset = align_up(bytes.size(), size <= 8 ? 8 : kSegmentAlignment);
    bytes.resize(static_cast<size_t>(place.offset));
    bytes.insert(bytes.end(), c->tensor.bytes.begin(), c->tensor.bytes.end());
  }
  by_hash_[hash] = place;
  return by_address_[address] = place;
}

std::vector<std::unique_ptr<fb::SegmentT>> Segments::finish() {
  std::vector<std::unique_ptr<fb::SegmentT>> out;
  for (size_t i = 0; i < segments_.size(); ++i) {
    auto s = std::make_unique<fb::SegmentT>();
    std::string hash;
    if (segments_[i].large != nullptr) {
      s->size = segments_[i].large->tensor.bytes.size();
      hash = hashes_[static_cast<int32_t>(i)];
    } else {
      s->size = segments_[i].shared.size();
      Sha256 sha;
      sha.update(segments_[i].shared.data(), segments_[i].shared.size());
      hash = finish_hash(&sha);
    }
    s->plain_size = s->size;
    s->content_hash.assign(hash.begin(), hash.end());
    out.push_back(std::move(s));
  }
  return out;
}

bool Segments::write(size_t segment, const std::function<bool(const void*, size_t)>& sink) const {
  const Segment& s = segments_[segment];
  if (s.large != nullptr) return visit(*s.large, sink);
  return s.shared.empty() || sink(s.shared.data(), s.shared.size());
}

}  // namespace vireo::emit
