// Weights that weight decay left next to 0 become 0: cores take some hundred cycles for each product with a subnormal
// number (below 1.18e-38 and not 0), which is more than a small network takes in all.
// Before   Conv, ConvTranspose, Gemm, MatMul, RNN, GRU, LSTM with float32 weights, some of them subnormal
// After    the same with 0 in their place
// Fires    constant operands of products, up to 64 MiB where they lie in a file, because a change makes a copy of them.
//          Sums and biases are left: additions cost the same whatever the number.
// Numerics a sum changes by less than 1.18e-38 times the sum of |x| over the weights that changed.
// Bound    none is left.  Idempotent.
// Source   Intel 64 and IA-32 Architectures Optimization Reference Manual, "Floating-Point Exceptions: denormals".
#include "converter/passes/simplify/flush_subnormals.h"

#include <cmath>
#include <cstring>
#include <map>

namespace vireo::passes {
namespace {

// Whether input `i` of the node is multiplied.
bool is_factor(const ir::Node& n, size_t i) {
  switch (n.op) {
    case Op::kMatMul:
    case Op::kGemm:
      return i < 2;
    case Op::kConv:
    case Op::kConvTranspose:
      return i == 1;
    case Op::kRNN:
    case Op::kGRU:
    case Op::kLSTM:
      return i == 1 || i == 2;
    default:
      return false;
  }
}

bool is_subnormal(const uint8_t* at) {
  uint32_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return (bits & 0x7f800000u) == 0 && (bits & 0x007fffffu) != 0;
}

constexpr size_t kMostCopied = 64 << 20;
constexpr size_t kPiece = 1 << 20;

// Where the first one is, or the size. Of a file a piece at a time is in memory.
size_t first_subnormal(const ir::Constant& c) {
  const Span<const uint8_t> bytes = c.tensor.bytes;
  for (size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    const size_t end = bytes.size() - begin < kPiece ? bytes.size() : begin + kPiece;
    for (size_t at = begin; at < end; at += sizeof(float)) {
      if (is_subnormal(bytes.data() + at)) return at;
    }
    if (c.mapped) ir::MappedFile::forget({bytes.data() + begin, end - begin});
  }
  return bytes.size();
}

void run_flush_subnormals(ir::Graph& g, PassLog& log) {
  std::map<const ir::Constant*, ir::Value*> flushed;  // one for all nodes that read it
  for (ir::Node& n : g.nodes()) {
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ir::Value* const w = n.in(static_cast<int>(i));
      if (!is_factor(n, i) || w == nullptr || w->constant == nullptr || w->type.dtype != DType::kF32) continue;
      if (const auto it = flushed.find(w->constant.get()); it != flushed.end()) {
        g.set_input(&n, static_cast<int>(i), it->second);
        log.changed();
        continue;
      }
      const Span<const uint8_t> given = w->constant->tensor.bytes;
      const size_t first = first_subnormal(*w->constant);
      if (first == given.size()) continue;
      if (w->constant->mapped && given.size() > kMostCopied) {
        log.reject(n, "too many weights to copy for the subnormal ones among them");
        continue;
      }
      std::vector<uint8_t> bytes(given.begin(), given.end());
      for (size_t at = first; at < bytes.size(); at += sizeof(float)) {
        if (is_subnormal(bytes.data() + at)) std::memset(bytes.data() + at, 0, sizeof(float));
      }
      ir::Value* const zeros = g.add_constant(w->name, ir::make_constant(w->type, std::move(bytes)));
      flushed.emplace(w->constant.get(), zeros);
      g.set_input(&n, static_cast<int>(i), zeros);
      log.changed();
    }
  }
}

}  // namespace

const Pass kFlushSubnormals = {"flush_subnormals", run_flush_subnormals};

}  // namespace vireo::passes
