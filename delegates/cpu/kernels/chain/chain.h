// A chain of elementwise float32 functions, run block by block so that what lies between stays in the cache; at its end
// there may be a reduction over the last axes, which takes each block while it is there.
//
// Of float16, each block of an operand is widened as it is taken, and the last step's value rounded once.
//
// A step is a call of the kernel that runs the operator alone (activation/, eltwise/) on a block of 1024 elements: the
// chain computes the very bits of its parts, and no function is compiled a second time. The other design, a loop over
// vectors with a switch over steps inside, keeps values in registers but pays a jump for each vector and step (16
// elements with AVX-512) and needs every function inlined into it for every instruction set; a block pays a call of
// some 20 ns once for 1024 elements.
//
// The reduction is the kernel that runs alone as well (reduce/), on each block; what blocks of one row give is joined
// by that kernel again. A row of up to 1024 elements has the very bits of its parts. A sum of n, in vectors of l lanes,
// is off by at most (256 / l + l + 5) (2 + n / 2^20) 2^-24 sum |x|, from some 3500 elements on less than the plain
// kernel's (n / (4 l) + l + 5) 2^-24 sum |x|; the order follows from shape and instruction set alone. The other design,
// sums kept in registers while the steps run, has the faults of the loop with a switch above.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CHAIN_CHAIN_H_
#define VIREO_DELEGATES_CPU_KERNELS_CHAIN_CHAIN_H_

#include <stddef.h>
#include <stdint.h>

#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/eltwise/eltwise.h"
#include "delegates/cpu/kernels/reduce/reduce.h"
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

// What becomes of the last step's value.
struct ChainEnd {
  int axes = 0;  // reduced, the last ones; 0: none, the value is the result
  Reduce kind = Reduce::kSum;
  bool root = false;  // the square root of what the reduction gives
};

struct ChainF32 {
  static constexpr int kMaxSteps = 24;
  static constexpr int kMaxOperands = 16;
  ChainStep steps[kMaxSteps];
  int step_count = 0;
  int operand_count = 0;
  int blocks = 0;       // y < blocks in every step
  bool halves = false;  // operands and result are float16, what lies between is not; there is no end
  ChainEnd end;
};

struct ChainOperand {
  const void* data = nullptr;                 // float, or float16 as uint16_t
  int64_t strides[BinaryF32::kMaxRank] = {};  // elements, 0 where broadcast
};

size_t chain_f32_scratch_bytes(const ChainF32& chain, int32_t slots);

// `dims` are the steps' extents. y is dense with them, or with those that the end keeps. Without an end it may be an
// operand that is dense, too; else it overlaps nothing. `scratch` is aligned to 64.
void chain_f32(const ChainF32& chain, int rank, const int64_t* dims, const ChainOperand* operands, void* y,
               const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CHAIN_CHAIN_H_
