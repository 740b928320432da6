// How a tuned kernel offers itself to the CPU delegate.
//
// delegates/cpu/ops/<op>.cc holds the choice, the scratch and the call; the arithmetic is in
// delegates/cpu/kernels/<family>/. Each such file defines `extern const CpuOp kCpuOp_<stem>`; CMake finds it by its
// stem and writes the table. A node that no CpuOp takes runs on the reference kernel, with the reason that was given.
#ifndef VIREO_DELEGATES_CPU_CPU_OP_H_
#define VIREO_DELEGATES_CPU_CPU_OP_H_

#include <stdint.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/op.h"
#include "vireo/delegate.h"

namespace vireo {

constexpr uint32_t kMaxCpuArgs = 16;

// One value of the node in hand, at the session's upper bounds.
struct CpuValue {
  TensorType type;         // kNone: absent
  bool is_static = false;  // type.shape is the shape, not only its bound
  const void* constant = nullptr;
  template <class T>
  const T* as() const {
    return static_cast<const T*>(constant);
  }
};

// A node, or the body of a composite, as the choice sees it.
struct CpuQuery {
  const vireo_host* host = nullptr;
  const vireo_graph* graph = nullptr;  // that the node stands in
  vireo_graph_node node = {};
  Op op = Op::kNone;  // kComposite: look at node.hint and node.body
  CpuValue inputs[kMaxCpuArgs];
  CpuValue outputs[kMaxCpuArgs];
  uint32_t input_count = 0;  // of what fits above
  uint32_t output_count = 0;
  int32_t slots = 1;
  bool packs = false;                   // what `pack` names will be there packed
  const void* const* packed = nullptr;  // prepare: where

  // No extent changes between runs: scratch can be for exactly these sizes.
  bool is_static() const {
    for (uint32_t i = 0; i < input_count; ++i) {
      if (inputs[i].type.dtype != DType::kNone && !inputs[i].is_static) return false;
    }
    for (uint32_t o = 0; o < output_count; ++o) {
      if (outputs[o].type.dtype != DType::kNone && !outputs[o].is_static) return false;
    }
    return true;
  }
  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(node.attrs);
  }
};

// Node `index` of `graph`, with its values. False when it has more than kMaxCpuArgs of either.
bool describe(const vireo_host& host, const vireo_graph* graph, uint32_t index, int32_t slots, CpuQuery* out);

struct CpuKernel {
  const char* name;                                            // static text, shown by `vireo explain`
  size_t state_bytes;                                          // at most what fits beside the part's own
  int64_t (*scratch_bytes)(const CpuQuery& query);             // null: none; at the upper bounds
  void (*prepare)(const CpuQuery& query, void* state);         // null: state_bytes is 0
  Status (*run)(const KernelContext& ctx, const void* state);  // shapes in ctx are those of this run
  // Null, or as vireo_delegate.pack: constant `index` that it reads packed; false past the last one.
  bool (*pack)(const CpuQuery& query, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) = nullptr;
};

// Layouts of packed constants; a number is never used again for another one.
enum CpuPackedLayout : uint32_t {
  kPackedGemmF32 = 1,      // gemm/engine.h, layout 1; sizes: columns, rows, 1 when it was [N, K]
  kPackedConvNhwcF32 = 2,  // the same for each group, rows [kernel..., C / groups]; sizes: O, groups, C / groups, taps
  kPackedI8 = 3,           // intgemm/packed.h, rows [taps, k / taps]; sizes: columns, k, taps (0: no filters), signs_of
  kPackedWinogradF32 = 4,  // winograd/winograd.h, layout 4; sizes: O, C, edge of the tile
  kPackedBf16 = 5,         // gemm_bf16/gemm_bf16.h; sizes: columns, k, taps (0: no filters), 1 when it was [N, K]
  kPackedGatesF32 = 6,     // recurrent/recurrent.h, layout 6, for each direction; sizes: H, gates, directions
  kPackedCodes = 7,        // gemm_codes/gemm_codes.h; sizes: columns; k, of scales and zeros blocks; kind and flags
  kPackedF16 = 8,        // gemm_f16/gemm_f16.h; sizes: columns, k, taps (0: no filters), groups or 1 when it was [N, K]
  kPackedGatesBf16 = 9,  // recurrent/recurrent.h, layout 9; sizes as of kPackedGatesF32
};

struct CpuOp {
  const char* name;  // the stem
  // The kernel for this node, or null with `reason` (static text) when there is none. Called for every node.
  const CpuKernel* (*choose)(const CpuQuery& query, const char** reason);
  Span<const Op> ops;  // for which choose is called
  // Shapes that follow from data need not fit what scratch was asked for: run() checks. Else such nodes are not
  // offered.
  bool any_shape = false;
  // Null, or kernel `index` that could serve a node that choose() took, chosen or not; null past the last one.
  const CpuKernel* (*alternative)(const CpuQuery& query, uint32_t index) = nullptr;
};

Span<const CpuOp* const> cpu_ops();  // written by CMake

}  // namespace vireo

#endif  // VIREO_DELEGATES_CPU_CPU_OP_H_
