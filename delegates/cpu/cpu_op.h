// How a tuned kernel offers itself to the CPU delegate.
//
// delegates/cpu/adapters/<op>.cc holds the choice, the scratch and the call; the arithmetic is in
// delegates/cpu/kernels/<family>/. Each such file defines `extern const CpuOp kCpuOp_<stem>` and has a row in
// adapters.def, from which the table is written. A node that no CpuOp takes runs on the reference kernel, with the
// reason given.
#ifndef VIREO_DELEGATES_CPU_CPU_OP_H_
#define VIREO_DELEGATES_CPU_CPU_OP_H_

#include <stdint.h>

#include "sdk/graph/node_view.h"
#include "sdk/ops/kernel.h"

namespace vireo {

class CpuForms;

// A node, or the body of a composite, as the choice sees it.
struct CpuQuery : NodeView {
  CpuForms* forms = nullptr;  // what it is as a composite (forms.h); only adapters look
  int32_t slots = 1;
  bool packs = false;                   // what `pack` names will be there packed
  const void* const* packed = nullptr;  // prepare: where
};

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
  kPackedI16 = 10,       // half_words/half_words.h; sizes: O, groups, C / groups, taps (0: no filters)
  kPackedTransposed = 11,  // of a transposed convolution: [groups, O / groups, taps, C / groups]; sizes: these
};

struct CpuOp {
  const char* name;  // the stem
  // The kernel for this node, or null with `reason` (static text) if no kernel takes it. Called for every node of the
  // operators in its row of adapters.def.
  const CpuKernel* (*choose)(const CpuQuery& query, const char** reason);
  // Shapes that follow from data need not fit what scratch was asked for: run() checks. Else such nodes are not
  // offered.
  bool any_shape = false;
  // Null, or kernel `index` that could serve a node that choose() took, chosen or not; null past the last one.
  const CpuKernel* (*alternative)(const CpuQuery& query, uint32_t index) = nullptr;
};

// A row of adapters.def.
struct CpuRow {
  const CpuOp* op;
  Span<const Op> nodes;  // for which choose is called
  bool serves(Op wanted) const {
    for (const Op o : nodes) {
      if (o == wanted) return true;
    }
    return false;
  }
};
Span<const CpuRow> cpu_rows();  // those of this build; written by CMake
Span<const CpuRow> mcu_rows();  // those of delegates/mcu, on a workstation: its tests have them as a delegate

}  // namespace vireo

#endif  // VIREO_DELEGATES_CPU_CPU_OP_H_
