#include "converter/emit/packed_file.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "converter/emit/model_table.h"
#include "converter/emit/sealed_file.h"
#include "sdk/base/checked.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "sdk/format/sha256.h"

namespace vireo::emit {
namespace {

constexpr uint32_t kSectionAlignment = 4096;  // pages of weights are shared whole

std::unique_ptr<fb::PlanT> table_of(const TargetPlan& plan) {
  fb::TargetPlanT made;
  for (const TargetPlan::Device& d : plan.devices) {
    auto device = std::make_unique<fb::PlanDeviceT>();
    device->name = d.name;
    device->delegate = d.delegate;
    device->vendor = d.vendor;
    device->family = d.family;
    device->driver = d.driver;
    made.devices.push_back(std::move(device));
  }
  for (const std::vector<uint8_t>& nodes : plan.placement) {
    auto list = std::make_unique<fb::NodeDevicesT>();
    list->device = nodes;
    made.placement.push_back(std::move(list));
  }
  for (const TargetPlan::Bound& b : plan.bounds) {
    auto bound = std::make_unique<fb::PlanBoundT>();
    bound->name = b.name;
    bound->lo = b.lo;
    bound->hi = b.hi;
    made.bounds.push_back(std::move(bound));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::TargetPlan::Pack(builder, &made));
  auto out = std::make_unique<fb::PlanT>();
  out->target = plan.target;
  out->made_for.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  return out;
}

std::vector<uint8_t> sha256(Span<const uint8_t> bytes) {
  std::vector<uint8_t> digest(kHashBytes);
  Sha256 sha;
  sha.update(bytes.data(), bytes.size());
  sha.finish(digest.data());
  return digest;
}

uint64_t hash_of(const PackedWeights& w) {
  const auto bytes = static_cast<size_t>(w.name.bytes);
  if (w.name.kind == kPackedConstant) return contents_hash(nullptr, w.data, bytes);
  const auto* const head = static_cast<const CompiledHead*>(w.data);
  return contents_hash(head, head + 1, bytes - sizeof(*head));
}

// Entries in order, each once, and the bytes that all of them make.
std::vector<uint8_t> section_of(std::vector<PackedWeights> weights) {
  std::sort(weights.begin(), weights.end(),
            [](const PackedWeights& a, const PackedWeights& b) { return compare_packs(a.name, b.name) < 0; });
  weights.erase(
      std::unique(weights.begin(), weights.end(),
                  [](const PackedWeights& a, const PackedWeights& b) { return compare_packs(a.name, b.name) == 0; }),
      weights.end());
  std::vector<PackEntry> entries;
  for (const PackedWeights& w : weights) {
    entries.push_back(w.name);
    entries.back().hash = hash_of(w);
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(lay_out_packs({entries.data(), entries.size()})));
  const PackHeader header = pack_header({entries.data(), entries.size()}, bytes.size(), nullptr, 0, 0);
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!entries.empty()) std::memcpy(bytes.data() + sizeof(header), entries.data(), entries.size() * sizeof(PackEntry));
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].bytes == 0) continue;
    std::memcpy(bytes.data() + entries[i].offset, weights[i].data, static_cast<size_t>(entries[i].bytes));
  }
  return bytes;
}

// Header and hash tree around what stands in [kHeaderBytes, file->size()).
void seal(std::vector<uint8_t>* file, uint64_t model_size) {
  FileHeader h;
  std::memset(&h, 0, sizeof(h));
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.major = kFormatMajor;
  h.minor = kFormatMinor;
  h.header_bytes = kHeaderBytes;
  h.model_offset = kHeaderBytes;
  h.model_size = model_size;
  h.chunk_bytes = kChunkBytes;
  h.hash_kind = kHashSha256;
  end_file(file, h);
}

}  // namespace

std::vector<uint8_t> with_packed_weights(Span<const uint8_t> file, std::vector<PackedWeights> weights,
                                         const std::string& note, std::string* error,
                                         const std::vector<TargetPlan>* plans, uint32_t alignment) {
  FileHeader header;
  Error e;
  if (read_header(file, file.size(), &header, &e) != Status::kOk) {
    *error = e.message;
    return {};
  }
  if (header.cipher_offset != 0) {
    *error = "it is encrypted: do this with the plain file, and encrypt the result";
    return {};
  }
  fb::ModelT model;
  fb::GetModel(file.data() + header.model_offset)->UnPackTo(&model);
  if (model.packed != 0) {
    // We put it last, and nothing refers to it by its number.
    if (model.packed != model.segments.size()) {
      *error = "its section of packed weights is not its last segment: another program wrote it";
      return {};
    }
    model.segments.pop_back();
    model.packed = 0;
  }
  if (!note.empty()) {
    if (model.provenance == nullptr) model.provenance = std::make_unique<fb::ProvenanceT>();
    model.provenance->options.push_back(note);
  }
  if (plans != nullptr) {
    model.plans.resize(1);  // the portable one
    for (const TargetPlan& p : *plans) model.plans.push_back(table_of(p));
  }
  std::vector<uint64_t> from;
  for (const auto& s : model.segments) from.push_back(s->offset);
  std::vector<uint8_t> section;
  const size_t segments = model.segments.size();
  if (!weights.empty()) {
    section = section_of(weights);  // for its size; constants' places are known below
    auto s = std::make_unique<fb::SegmentT>();
    s->offset = 1;  // not the default: the table's size stays the same
    s->size = s->plain_size = section.size();
    s->alignment = kSectionAlignment;
    s->content_hash.assign(kHashBytes, 1);
    model.segments.push_back(std::move(s));
    model.packed = static_cast<uint32_t>(model.segments.size());
  }
  for (auto& s : model.segments) s->alignment = std::max(s->alignment, alignment);
  const size_t table_bytes = pack_model_shared(model).size();
  uint64_t at = kHeaderBytes + table_bytes;
  for (auto& s : model.segments) {
    s->offset = align_up(at, s->alignment);
    at = s->offset + s->size;
  }
  for (PackedWeights& w : weights) {
    if (w.name.kind != kPackedConstant) continue;
    size_t i = 0;
    while (i < segments &&
           (w.name.constant < from[i] || w.name.constant - from[i] >= std::max<uint64_t>(model.segments[i]->size, 1))) {
      ++i;
    }
    if (i == segments) {
      *error = "packed weights are of a constant that lies in none of its segments";
      return {};
    }
    w.name.constant = w.name.constant - from[i] + model.segments[i]->offset;
  }
  if (!weights.empty()) {
    section = section_of(std::move(weights));
    model.segments.back()->content_hash = sha256({section.data(), section.size()});
  }
  const std::vector<uint8_t> table = pack_model_shared(model);
  if (table.size() != table_bytes) {
    *error = "the model's table changed its size while it was laid out; this is an error of the converter";
    return {};
  }
  std::vector<uint8_t> out(static_cast<size_t>(at));
  std::memcpy(out.data() + kHeaderBytes, table.data(), table.size());
  for (size_t i = 0; i < segments; ++i) {
    const fb::SegmentT& s = *model.segments[i];
    if (s.size > 0) std::memcpy(out.data() + s.offset, file.data() + from[i], static_cast<size_t>(s.size));
  }
  if (!section.empty()) std::memcpy(out.data() + model.segments.back()->offset, section.data(), section.size());
  seal(&out, table.size());
  return out;
}

}  // namespace vireo::emit
