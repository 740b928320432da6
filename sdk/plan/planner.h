// Where each tensor of a subgraph lies: lifetimes, sharing, packing.
//
// Used by the converter, which tries every strategy and keeps the best, and by a session whose bounds are given late,
// which uses the first. Both feed the same plain arrays, so a plan means the same wherever it was made.
//
// Two designs were weighed: planning on the device only (one planner, nothing in the file, but its code in every
// firmware and a search at each start), and offsets in the file alone (no late bounds). Offsets in the file with the
// planner as a separate library serve both.
#ifndef VIREO_SDK_PLAN_PLANNER_H_
#define VIREO_SDK_PLAN_PLANNER_H_

#include <stdint.h>

#include "sdk/base/error.h"
#include "sdk/base/shape.h"
#include "sdk/base/span.h"
#include "sdk/base/status.h"

namespace vireo {

constexpr uint64_t kNoOffset = UINT64_MAX;  // a constant, or bound by the owning node
// In the memory of the body's bound output that is tensor `t`.
constexpr uint64_t output_alias(uint32_t t) { return UINT64_MAX - 1 - t; }
constexpr uint64_t kFirstAlias = UINT64_MAX - (1u << 23);  // offsets from here on are aliases or kNoOffset
constexpr bool is_alias(uint64_t offset) { return offset >= kFirstAlias && offset != kNoOffset; }
constexpr uint32_t alias_of(uint64_t offset) { return static_cast<uint32_t>(UINT64_MAX - 1 - offset); }
constexpr uint64_t kTensorAlignment = 64;
// Of a part in its whole, and so of every tensor: kernels take operands that are aligned to their elements, as callers
// bring them; 16 is the largest element, and a vector of the smaller machines.
constexpr uint64_t kPartAlignment = 16;

struct PlanTensor {
  enum Kind : uint8_t {
    kValue,     // made by a node
    kConstant,  // gets no memory
    kInput,     // alive from the start to its last use; never overwritten, because the caller may bind own memory
    kState,     // an input whose memory keeps its value between runs
    kBound,     // input or output of a body: the owning node provides the memory
  };
  int64_t bytes = 0;
  Kind kind = kValue;
  bool output = false;  // of the subgraph: alive to the end
};

struct PlanNode {
  Span<const int32_t> inputs;  // tensor indices, -1 absent
  Span<const int32_t> outputs;
  uint32_t inplace = 0;      // inplace_always() of OpDef::inplace or of composite_inplace()
  bool view = false;         // OpDef::kView
  int64_t region_bytes = 0;  // memory for the bodies it owns, alive while it runs; -1: owns none
  // part_offsets() of the operator (sdk/ops/shared/parts.h): where each output lies in input 0, or, where it `joins`,
  // each input in output 0. Empty: nowhere.
  Span<const int64_t> at = {};
  bool joins = false;
  uint32_t together = 0;  // nodes that run at the same time, starting with this one
};

// The bits of OpDef::inplace that hold at every run. The promise is for operands of the result's bytes; two tensors of
// one size at the bounds may still differ at run time (a mean whose axes arrive with the data against what it divides),
// so symbolic shapes must be the same expressions. `type(t)`: the declared type of tensor `t`.
template <class TypeOf>
uint32_t inplace_always(uint32_t inplace, Span<const int32_t> inputs, Span<const int32_t> outputs, const TypeOf& type) {
  if (inplace == 0 || outputs.empty() || outputs[0] < 0) return 0;
  const TensorType y = type(outputs[0]);
  uint32_t kept = 0;
  for (size_t i = 0; i < inputs.size() && i < 32; ++i) {
    if ((inplace >> i & 1u) == 0 || inputs[i] < 0) continue;
    const TensorType x = type(inputs[i]);
    const bool fixed = x.shape.is_static() && y.shape.is_static() && tensor_bytes(x) == tensor_bytes(y);
    if (fixed || (x.shape == y.shape && dtype_bits(x.dtype) == dtype_bits(y.dtype))) kept |= 1u << i;
  }
  return kept;
}

// The same of a composite: the inputs whose memory output 0 may take, whether a device runs the composite as one or the
// runtime runs its body. They are those that the body's first node alone reads, and on which it works in place: what
// the body keeps in the result's memory comes no sooner than that. `first_inplace`: inplace_always() of the first node.
// `read_later(t)`: a node behind the first reads the body's tensor `t`, or it is an output of the body.
template <class ReadLater>
uint32_t composite_inplace(uint32_t first_inplace, Span<const int32_t> first_inputs, Span<const uint32_t> body_inputs,
                           const ReadLater& read_later) {
  uint32_t inplace = 0;
  for (size_t i = 0; i < body_inputs.size() && i < 32; ++i) {
    const auto x = static_cast<int32_t>(body_inputs[i]);
    bool reads = false, in_place = true;
    for (size_t j = 0; j < first_inputs.size(); ++j) {
      if (first_inputs[j] != x) continue;
      reads = true;
      in_place = in_place && j < 32 && (first_inplace >> j & 1u) != 0;
    }
    if (reads && in_place && !read_later(x)) inplace |= 1u << i;
  }
  return inplace;
}

// kLastUse is no order to pack in: it serves walks along the lives.
enum class PackOrder : uint8_t { kSize, kSizeTimesLife, kLife, kFirstUse, kCount, kLastUse };

struct PlanResult {
  uint64_t bytes = 0;  // a multiple of kTensorAlignment
  uint64_t lower_bound =
      0;  // the largest set of bytes alive at once, each rounded up to the alignment, shared memory once
  uint64_t placed_bytes = 0;  // of parts that lie inside their whole: nobody copies them
};

// Bytes of workspace that plan_arena needs, for `tensors` and the nodes with regions.
int64_t plan_workspace_bytes(int64_t tensors, int64_t nodes);

// Best fit looks at every pair of items. From this many on a plan goes along the lives instead, in n log n: somewhat
// larger, and the same for all orders. The smallest builds (VIREO_BRANCHES off) leave that out: who makes a board knows
// its models.
constexpr size_t kMostBestFit = 1u << 13;

// Fills `offsets` (one a tensor) and `regions` (one a node with region_bytes >= 0, in node order). Nodes run in the
// order given. `body`: bound outputs may lend their memory to values (output_alias). Parts lie inside their wholes
// where that is safe. `workspace` is aligned to 8.
Status plan_arena(Span<const PlanTensor> tensors, Span<const PlanNode> nodes, PackOrder order, bool body,
                  Span<uint8_t> workspace, Span<uint64_t> offsets, Span<uint64_t> regions, PlanResult* result,
                  Error* error);

// All orders of packing, with parts inside their wholes and without; keeps the smallest, with parts when equal. Same
// arguments. What lies on top of the arena is then put down earlier, up to `tries` times as long as the arena stays
// above its lower bound (hill climbing over orders of packing).
Status plan_arena_best(Span<const PlanTensor> tensors, Span<const PlanNode> nodes, bool body, Span<uint8_t> workspace,
                       Span<uint64_t> offsets, Span<uint64_t> regions, PlanResult* result, Error* error,
                       int64_t tries = 0);

}  // namespace vireo

#endif  // VIREO_SDK_PLAN_PLANNER_H_
