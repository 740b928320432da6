#include "c_api/cli/chain_model.h"

#include <flatbuffers/flatbuffers.h>
#include <string.h>

#include <new>
#include <string>
#include <vector>

namespace vireo::cli {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::voffset_t;

// The numbers of operators (sdk/ops/ops.def) and the places of fields (sdk/format/model.fbs) never change
// (COMPATIBILITY.md).
uint16_t number_of(ChainOp op) {
  switch (op) {
    case ChainOp::kRelu:
      return 29;
    case ChainOp::kAdd:
      return 47;
    case ChainOp::kMul:
      return 49;
    case ChainOp::kMatMul:
      return 159;
    default:
      return 241;
  }
}
constexpr voffset_t field(int index) { return static_cast<voffset_t>(4 + 2 * index); }
namespace model {
constexpr voffset_t kMinor = field(1), kSegments = field(3), kSubgraphs = field(4), kPlans = field(5);
}
namespace segment {
constexpr voffset_t kOffset = field(0), kSize = field(1), kPlainSize = field(5);
}
namespace tensor {
constexpr voffset_t kName = field(0), kDtype = field(1), kDims = field(2), kSegment = field(3), kSize = field(5);
}
namespace node {
constexpr voffset_t kOp = field(0), kName = field(2), kInputs = field(3), kOutputs = field(4), kAttrs = field(5);
}
namespace subgraph {
constexpr voffset_t kTensors = field(1), kInputs = field(2), kOutputs = field(3), kNodes = field(4);
}

constexpr uint8_t kMagic[8] = {0x89, 'V', 'I', 'R', 'E', 'O', 0x0A, 0x1A};
constexpr uint16_t kFormatMinor = 1;
constexpr uint64_t kHeaderBytes = 128, kChunkBytes = 65536, kHashBytes = 32, kAlignment = 64;

uint64_t aligned(uint64_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

struct Constant {
  uint64_t offset = kAlignment;  // in the file; not 0 before it is known, which would take no room in the table
  uint64_t size = 0;
};

Offset<void> table(FlatBufferBuilder& b, flatbuffers::uoffset_t start) { return Offset<void>(b.EndTable(start)); }

// Every attribute at its default: a table without fields is one of any kind.
std::vector<uint8_t> no_attributes() {
  FlatBufferBuilder b;
  b.Finish(table(b, b.StartTable()));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

class Graph {
 public:
  explicit Graph(FlatBufferBuilder& b) : b_(b) {}

  int32_t tensor(const std::string& name, vireo_dtype dtype, const std::vector<int64_t>& dims, int32_t segment = -1,
                 uint64_t size = 0) {
    const auto text = b_.CreateString(name);
    const auto extents = b_.CreateVector(dims);
    const auto start = b_.StartTable();
    b_.AddOffset(tensor::kName, text);
    b_.AddElement<uint8_t>(tensor::kDtype, dtype, 0);
    b_.AddOffset(tensor::kDims, extents);
    b_.AddElement<int32_t>(tensor::kSegment, segment, -1);
    b_.AddElement<uint64_t>(tensor::kSize, size, 0);
    tensors_.push_back(table(b_, start));
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  void node(uint16_t op, const std::string& name, const std::vector<int32_t>& inputs, int32_t output) {
    const std::vector<uint8_t> bytes = no_attributes();
    const auto text = b_.CreateString(name);
    const auto in = b_.CreateVector(inputs), out = b_.CreateVector(std::vector<int32_t>{output});
    b_.ForceVectorAlignment(bytes.size(), 1, 8);
    const auto attrs = b_.CreateVector(bytes);
    const auto start = b_.StartTable();
    b_.AddElement<uint16_t>(node::kOp, op, 0);
    b_.AddOffset(node::kName, text);
    b_.AddOffset(node::kInputs, in);
    b_.AddOffset(node::kOutputs, out);
    b_.AddOffset(node::kAttrs, attrs);
    nodes_.push_back(table(b_, start));
  }
  Offset<void> finish(const std::vector<uint32_t>& inputs, uint32_t output) {
    const auto tensors = b_.CreateVector(tensors_), nodes = b_.CreateVector(nodes_);
    const auto in = b_.CreateVector(inputs), out = b_.CreateVector(std::vector<uint32_t>{output});
    const auto start = b_.StartTable();
    b_.AddOffset(subgraph::kTensors, tensors);
    b_.AddOffset(subgraph::kInputs, in);
    b_.AddOffset(subgraph::kOutputs, out);
    b_.AddOffset(subgraph::kNodes, nodes);
    return table(b_, start);
  }

 private:
  FlatBufferBuilder& b_;
  std::vector<Offset<void>> tensors_, nodes_;
};

std::vector<int64_t> spread_dims(const Chain& chain) {
  switch (chain.spread) {
    case ChainSpread::kRow:
      return {chain.columns};
    case ChainSpread::kColumn:
      return {chain.rows, 1};
    case ChainSpread::kScalar:
      return {};
    default:
      return {chain.rows, chain.columns};
  }
}

size_t bytes_of(vireo_dtype dtype, int64_t count) { return static_cast<size_t>(vireo_dtype_bytes(dtype, count)); }

// The FlatBuffer. `constants`: the weights, and of kIntGemm its multiplier.
std::vector<uint8_t> pack(const Chain& chain, const std::vector<Constant>& constants) {
  FlatBufferBuilder b;
  Graph graph(b);
  const std::vector<int64_t> dims = {chain.rows, chain.columns};
  std::vector<uint32_t> inputs = {static_cast<uint32_t>(graph.tensor("x", chain.dtype, dims))};
  std::vector<int32_t> others;
  if (chain.op == ChainOp::kAdd || chain.op == ChainOp::kMul) {
    others.push_back(graph.tensor("y", chain.dtype, spread_dims(chain)));
    inputs.push_back(static_cast<uint32_t>(others[0]));
  }
  if (!constants.empty())
    others.push_back(graph.tensor("w", chain.dtype, {chain.columns, chain.columns}, 0, constants[0].size));
  if (constants.size() > 1) others.push_back(graph.tensor("multiplier", VIREO_FLOAT32, {1}, 1, constants[1].size));
  int32_t last = 0;
  for (int i = 0; i < chain.nodes; ++i) {
    std::vector<int32_t> in = {last};
    in.insert(in.end(), others.begin(), others.end());
    last = graph.tensor("t" + std::to_string(i), chain.dtype, dims);
    graph.node(number_of(chain.op), "node " + std::to_string(i), in, last);
  }
  const auto subgraphs = b.CreateVector(std::vector<Offset<void>>{graph.finish(inputs, static_cast<uint32_t>(last))});
  const auto plans = b.CreateVector(std::vector<Offset<void>>{table(b, b.StartTable())});  // the session plans
  std::vector<Offset<void>> list;
  for (const Constant& c : constants) {
    const auto start = b.StartTable();
    b.AddElement<uint64_t>(segment::kOffset, c.offset, 0);
    b.AddElement<uint64_t>(segment::kSize, c.size, 0);
    b.AddElement<uint64_t>(segment::kPlainSize, c.size, 0);
    list.push_back(table(b, start));
  }
  const auto segments = b.CreateVector(list);
  const auto start = b.StartTable();
  b.AddElement<uint16_t>(model::kMinor, kFormatMinor, 0);
  b.AddOffset(model::kSegments, segments);
  b.AddOffset(model::kSubgraphs, subgraphs);
  b.AddOffset(model::kPlans, plans);
  b.Finish(table(b, start), "VREO");
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

// Halves and three halves of 1 / columns in an order that no kernel foresees: sums stay near what went in, and nothing
// becomes so small that it is slow. Powers of two are exact in all three types down to 1 / 4096.
void write_weights(const Chain& chain, uint8_t* to) {
  uint64_t state = 0x9E3779B97F4A7C15u;
  const size_t bytes = bytes_of(chain.dtype, 1);
  for (int64_t i = 0; i < chain.columns * chain.columns; ++i, to += bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const float w = (state >> 63 != 0 ? 1.5f : 0.5f) / static_cast<float>(chain.columns);
    uint32_t bits = 0;
    memcpy(&bits, &w, sizeof(bits));
    if (chain.dtype == VIREO_BFLOAT16) bits >>= 16;
    if (chain.dtype == VIREO_FLOAT16) bits = ((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3FF);
    if (chain.dtype == VIREO_INT8) bits = static_cast<uint32_t>(state >> 58);
    for (size_t k = 0; k < bytes; ++k) to[k] = static_cast<uint8_t>(bits >> 8 * k);
  }
}

template <class T>
void put(uint8_t* file, size_t at, T value) {  // little-endian, as the FlatBuffer around it
  for (size_t k = 0; k < sizeof(T); ++k) file[at + k] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> 8 * k);
}

}  // namespace

ModelBytes chain_model(const Chain& chain) {
  std::vector<Constant> constants;
  const bool product = chain.op == ChainOp::kMatMul || chain.op == ChainOp::kIntGemm;
  if (product) constants.push_back({kAlignment, bytes_of(chain.dtype, chain.columns * chain.columns)});
  if (chain.op == ChainOp::kIntGemm) constants.push_back({kAlignment, sizeof(float)});
  uint64_t end = kHeaderBytes + pack(chain, constants).size();
  for (Constant& c : constants) {
    c.offset = aligned(end);
    end = c.offset + c.size;
  }
  const std::vector<uint8_t> packed = pack(chain, constants);
  const uint64_t hash_bytes = (end - kHeaderBytes + kChunkBytes - 1) / kChunkBytes * kHashBytes;
  const auto size = static_cast<size_t>(end + hash_bytes);
  constexpr auto kAlign = static_cast<std::align_val_t>(kAlignment);
  auto* const file = static_cast<uint8_t*>(::operator new(size, kAlign));
  std::shared_ptr<const void> owner(file, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlign); });
  memset(file, 0, size);
  memcpy(file, kMagic, sizeof(kMagic));
  put<uint16_t>(file, 10, kFormatMinor);
  put<uint32_t>(file, 12, kHeaderBytes);
  put<uint64_t>(file, 16, size);
  put<uint64_t>(file, 24, kHeaderBytes);
  put<uint64_t>(file, 32, packed.size());
  put<uint64_t>(file, 40, end);
  put<uint64_t>(file, 48, hash_bytes);
  put<uint32_t>(file, 56, kChunkBytes);
  put<uint32_t>(file, 60, 1);  // SHA-256
  memcpy(file + kHeaderBytes, packed.data(), packed.size());
  if (product) write_weights(chain, file + constants[0].offset);
  if (constants.size() > 1) {
    const float multiplier = 1.0f / 32 / static_cast<float>(chain.columns);
    memcpy(file + constants[1].offset, &multiplier, sizeof(multiplier));
  }
  return {owner, file, size};
}

}  // namespace vireo::cli
