#include "delegates/npu/driver/blob.h"

#include <initializer_list>

namespace vireo::npu {
namespace {
constexpr uint64_t up(uint64_t n) { return (n + 63) / 64 * 64; }
}  // namespace

uint64_t boundary_at() { return up(sizeof(BlobHeader)); }
uint64_t stream_at(uint32_t inputs, uint32_t outputs) {
  return up(boundary_at() + sizeof(Boundary) * (uint64_t{inputs} + outputs));
}
uint64_t constants_at(uint32_t inputs, uint32_t outputs, uint32_t stream_bytes) {
  return up(stream_at(inputs, outputs) + stream_bytes);
}
uint64_t nodes_at(const BlobHeader& h) {
  return up(constants_at(h.inputs, h.outputs, h.stream_bytes) + h.constant_bytes);
}
uint64_t blob_bytes(const BlobHeader& h) { return up(nodes_at(h) + sizeof(uint32_t) * uint64_t{h.layers}); }

// FNV-1a over words of eight bytes: a guard against damage, not against intent; open_blob() checks what steers.
uint64_t hash_of(const uint8_t* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word = 0;
    for (size_t k = 0; k < 8; ++k) word |= uint64_t{data[i + k]} << (8 * k);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  for (; i < bytes; ++i) hash = (hash ^ data[i]) * 0x100000001b3u;
  return hash;
}

uint32_t config_number(const MachineConfig& c) {
  uint32_t n = 2166136261u;
  for (const uint32_t v : {c.array_out, c.array_in, c.accumulator_pixels, c.vector_lanes, c.table_lanes, c.sram_bytes,
                           c.banks, c.bank_width, kIsaVersion})
    n = (n ^ v) * 16777619u;
  return n;
}

const char* open_blob(const MachineConfig& config, const void* data, size_t bytes, BlobView* out) {
  if (data == nullptr || reinterpret_cast<uintptr_t>(data) % 64 != 0 || bytes < sizeof(BlobHeader))
    return "not a compiled part";
  const auto& h = *static_cast<const BlobHeader*>(data);
  if (h.magic != kBlobMagic) return "not a compiled part";
  if (h.version != kBlobVersion) return "compiled by another version of the driver";
  if (h.config != config_number(config)) return "compiled for another machine";
  if (h.zero != 0) return "not a compiled part";
  if (h.inputs > kMostValues || h.outputs > kMostValues) return "more values than a part may have";
  if (bytes != blob_bytes(h)) return "its parts do not fill it";
  const auto* const base = static_cast<const uint8_t*>(data);
  if (h.hash != hash_of(base + sizeof(BlobHeader), bytes - sizeof(BlobHeader))) return "damaged";
  out->header = &h;
  out->boundary = reinterpret_cast<const Boundary*>(base + boundary_at());
  Fault fault;
  if (verify_stream(config, base + stream_at(h.inputs, h.outputs), h.stream_bytes, &out->stream, &fault) != Status::kOk)
    return fault.reason[0] == 0 ? "its commands cannot run" : fault.reason;
  if (out->stream.header->constant_bytes != h.constant_bytes || out->stream.header->tensor_bytes != h.tensor_bytes)
    return "its commands are for other memory";
  // Each region of a value has one value, of its size, and is written to only if that comes out.
  uint32_t seen = 0, written = 0;
  for (uint32_t i = 0; i < h.inputs + h.outputs; ++i) {
    const Boundary& b = out->boundary[i];
    const uint32_t value = b.region - kValues;
    if (b.region == kTensors) {
      if (uint64_t{b.address} + b.bytes > h.tensor_bytes) return "a value lies outside of its memory";
      continue;
    }
    if (b.region < kValues || value >= out->stream.header->value_count || (seen >> value & 1) != 0 || b.address != 0 ||
        b.bytes != out->stream.header->value_bytes[value])
      return "a value lies outside of its memory";
    seen |= 1u << value;
    if (i >= h.inputs) written |= 1u << value;
  }
  if (seen != (1u << out->stream.header->value_count) - 1 || written != out->stream.header->value_written)
    return "a value has no memory, or is written to on its way in";
  out->nodes = reinterpret_cast<const uint32_t*>(base + nodes_at(h));
  out->constants = base + constants_at(h.inputs, h.outputs, h.stream_bytes);
  return "";
}

}  // namespace vireo::npu
