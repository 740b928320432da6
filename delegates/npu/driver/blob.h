// What compile() writes and load() reads: a command stream with its constants, and where the part's values lie.
#ifndef VIREO_DELEGATES_NPU_DRIVER_BLOB_H_
#define VIREO_DELEGATES_NPU_DRIVER_BLOB_H_

#include "delegates/npu/machine/machine.h"

namespace vireo::npu {

constexpr uint32_t kBlobMagic = 0x42504e56;  // "VNPB"
constexpr uint32_t kBlobVersion = 3;
constexpr uint32_t kMostValues = 64;  // that go into a part, and that come out

// The parts follow in this order, each aligned to 64: boundary (inputs, then outputs), stream, constants, the node of
// each layer, counted in the part.
struct BlobHeader {
  uint32_t magic, version;
  uint32_t config;  // of the machine that it was made for: config_number()
  uint32_t inputs, outputs;
  uint32_t stream_bytes, constant_bytes, tensor_bytes;
  uint32_t layers;
  uint32_t zero;
  uint64_t cycles;
  uint64_t hash;  // of all that follows
};
struct Boundary {
  uint32_t region;  // of its own, or kTensors: copied from and to there
  uint32_t address, bytes;
};

struct BlobView {
  const BlobHeader* header = nullptr;
  const Boundary* boundary = nullptr;
  Stream stream{};
  const uint8_t* constants = nullptr;
  const uint32_t* nodes = nullptr;  // of the layers
};

// In 64 bits on every host: what a header says may be more than there can be.
uint64_t blob_bytes(const BlobHeader& header);
// Where the parts of a blob begin, for who writes one.
uint64_t boundary_at();
uint64_t stream_at(uint32_t inputs, uint32_t outputs);
uint64_t constants_at(uint32_t inputs, uint32_t outputs, uint32_t stream_bytes);
uint64_t nodes_at(const BlobHeader& header);

uint64_t hash_of(const uint8_t* data, size_t bytes);
// All numbers of a machine that change what a stream means or whether it fits.
uint32_t config_number(const MachineConfig& config);

// "" or what is wrong with it. Nothing in the view is used before this has said that all is right: the stream is
// verified, boundary values lie in the
// region and are no more than kMostValues.
const char* open_blob(const MachineConfig& config, const void* data, size_t bytes, BlobView* out);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_DRIVER_BLOB_H_
