// A verified view of a .vireo file: everything that steers an address has been checked, so that nobody looks twice.
#ifndef VIREO_RUNTIME_LOAD_PROGRAM_H_
#define VIREO_RUNTIME_LOAD_PROGRAM_H_

#include <stdint.h>
#include <string.h>

#include "sdk/base/error.h"
#include "sdk/base/shape.h"
#include "sdk/base/span.h"
#include "sdk/base/status.h"
#include "sdk/base/string.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "sdk/plan/bounds.h"

namespace vireo {

// Limits on what a file may ask for; far above every real model, low enough that checks stay cheap.
constexpr uint32_t kMaxTensors = 1u << 22;
constexpr uint32_t kMaxNodes = 1u << 20;
constexpr uint32_t kMaxSubgraphs = 1u << 14;
constexpr uint32_t kMaxExprs = 1u << 20;
constexpr uint32_t kMaxNesting = 32;
constexpr uint32_t kMaxPlans = 256;
constexpr uint32_t kMaxPlanDevices = 32;
constexpr size_t kMaxTargetBytes = 64;
// Constants may share bytes, and strings are read one by one: all constants' strings take this many times the file's
// size at most.
constexpr uint64_t kMaxStringsShared = 64;

// Sees to it that bytes of the file may be read: guard.h.
class ChunkGuard {
 public:
  virtual void touch(uint64_t offset, uint64_t size) = 0;

 protected:
  ~ChunkGuard() = default;
};

// Element `i` of strings as the file has them: a list of offsets from its own start, then the bytes.
inline StringRef text_at(const uint8_t* table, int64_t i) {
  uint32_t range[2];
  memcpy(range, table + 4 * i, 8);
  return {reinterpret_cast<const char*>(table) + range[0], range[1] - range[0]};
}

class Program {
 public:
  // Bytes of workspace for open(), from the size of the FlatBuffer part (an entry takes at least four bytes there).
  static size_t workspace_bytes(size_t buffer_bytes) { return buffer_bytes / 4 + 64; }

  // `file`: all bytes, in memory that does not change. `buffer`: the FlatBuffer part, possibly a copy of it, aligned
  // to 64. Verifies the FlatBuffer and every index, size and run of bytes in it but for test vectors; error texts name
  // the tensor or node.
  Status open(Span<const uint8_t> file, const FileHeader& header, Span<const uint8_t> buffer, Span<uint8_t> workspace,
              Error* error);

  // Before open(): who is asked before bytes outside of the FlatBuffer are read; `file` is then its image.
  void set_guard(ChunkGuard* guard) { guard_ = guard; }
  // Bytes that lie in the file are about to be read.
  void touch(const void* bytes, uint64_t size) const;

  const fb::Model& model() const { return *model_; }
  const FileHeader& header() const { return header_; }
  Span<const uint8_t> file() const { return file_; }

  uint32_t subgraph_count() const { return model_->subgraphs()->size(); }
  const fb::Subgraph& subgraph(uint32_t i) const { return *model_->subgraphs()->Get(i); }
  uint32_t expr_count() const { return model_->exprs() == nullptr ? 0 : model_->exprs()->size(); }

  // The portable plan of subgraph `i`; null when bounds are open.
  const fb::SubgraphPlan* plan(uint32_t i) const;

  // Bytes of a constant; null for other tensors.
  const uint8_t* constant(const fb::Tensor& t) const;

  // `size` bytes of a segment, already verified for tensors and test vectors.
  const uint8_t* at(uint32_t segment, uint64_t offset, uint64_t size) const;

  // Of the test vectors, what open() says of everything else: who reads them asks before, and a program that never does
  // is without this code.
  Status check_tests(Error* error) const;

  // The bytes of the set of packed weights, unverified, not touched; empty when the file has none.
  Span<const uint8_t> packed() const;

  // Intervals of all expressions, given those of the symbols already in `table` (expr_count() entries): fills the rest.
  void bound_exprs(Span<Interval> table) const;

 private:
  Status check_segments(Error* error) const;
  Status check_exprs(Error* error) const;
  Status check_tensor(const fb::Tensor& t, uint32_t subgraph, uint32_t index, uint64_t* strings, Error* error) const;
  Status check_node(const fb::Subgraph& g, uint32_t subgraph, uint32_t index, Error* error) const;
  Status check_subgraph(uint32_t index, Span<uint8_t> defined, uint64_t* strings, Error* error) const;
  Status check_owners(Span<uint8_t> depth, Error* error) const;
  Status check_plans(Error* error) const;
  bool target_plan_ok(const fb::Plan& plan) const;
  Status check_signatures(Error* error) const;
  bool strings_fit(uint64_t size, uint64_t* read) const;
  bool run_inside(uint32_t segment, uint64_t offset, uint64_t size, uint64_t alignment) const;

  Span<const uint8_t> file_;
  FileHeader header_ = {};
  const fb::Model* model_ = nullptr;
  ChunkGuard* guard_ = nullptr;
};

// What a plan for a target holds, verified; null: nothing.
inline const fb::TargetPlan* target_of(const fb::Plan& plan) {
  return plan.made_for() == nullptr || plan.made_for()->size() == 0
             ? nullptr
             : ::flatbuffers::GetRoot<fb::TargetPlan>(plan.made_for()->data());
}
// Dimensions of a tensor as the file has them: numbers and handles.
TensorType type_of(const fb::Tensor& t);
// The verifier holds a vector to the alignment of its length alone, so 64-bit numbers are copied, not read in place.
template <typename T>
void copy_numbers(const ::flatbuffers::Vector<T>& from, uint32_t count, T* to) {
  memcpy(to, from.Data(), size_t{count} * sizeof(T));
}
inline const char* text_of(const ::flatbuffers::String* s) { return s == nullptr ? "" : s->c_str(); }

}  // namespace vireo

#endif  // VIREO_RUNTIME_LOAD_PROGRAM_H_
