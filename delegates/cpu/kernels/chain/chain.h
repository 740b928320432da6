// A chain of elementwise float32 functions, run block by block so that what lies between stays in the cache.
//
// A step is a call of the kernel that runs the operator alone (activation/, eltwise/) on a block of 1024 elements: the
// chain computes the very bits of its parts, and no function is compiled a second time. The other design, a loop over
// vectors with a switch over steps inside, keeps values in registers but pays a jump for each vector and step (16
// elements with AVX-512) and needs every function inlined into it for every instruction set; a block pays a call of
// some 20 ns once for 1024 elements.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CHAIN_CHAIN_H_
#define VIREO_DELEGATES_CPU_KERNELS_CHAIN_CHAIN_H_

#include <stddef.h>
#include <stdint.h>

#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/eltwise/eltwise.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

// Where a step takes a value from: a block of an earlier step (>= 0), or operand -1 - i.
struct ChainStep {
  bool binary = false;
  Binary op = Binary::kAdd;  // binary: op(a, b)
  Activate act;              // else act(a)
  int16_t a = 0, b = 0;
  int16_t y = 0;  // the block it fills; of the last step: not used, it fills the result
};

struct ChainF32 {
  static constexpr int kMaxSteps = 24;
  static constexpr int kMaxOperands = 16;
  ChainStep steps[kMaxSteps];
  int step_count = 0;
  int operand_count = 0;
  int blocks = 0;  // y < blocks in every step
};

struct ChainOperand {
  const float* data = nullptr;
  int64_t strides[BinaryF32::kMaxRank] = {};  // elements, 0 where broadcast
};

size_t chain_f32_scratch_bytes(const ChainF32& chain, int32_t slots);

// y is dense with `dims`. It may be an operand that is dense, too. `scratch` is aligned to 64.
void chain_f32(const ChainF32& chain, int rank, const int64_t* dims, const ChainOperand* operands, float* y,
               const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CHAIN_CHAIN_H_
