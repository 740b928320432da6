// What is known of an operator without its shape function: the last column of ops.def. Passes and delegates ask these
// functions, and CMake reads the same column to sort files, so an appended row has one place that says what it is.
//
// A trait stands for all uses of the operator. What only its kernels and its shape function keep is asked of OpDef
// (op.h): views, in-place use, results whose shape the data decide. traits_test.cc compares both.
#ifndef VIREO_SDK_OPS_TRAITS_H_
#define VIREO_SDK_OPS_TRAITS_H_

#include <stdint.h>

#include "sdk/ops/op.h"

namespace vireo {
namespace trait {

enum : uint16_t {
  kPlain = 0,        // none of these
  kStructure = 1,    // run by the runtime itself: no kernel, and the converter imports it
  kControlFlow = 2,  // of these: the bodies do not run once each, as a composite's does
  kElementwise = 4,  // y has the shape that the inputs broadcast to; an element comes from those at its place alone
  kReduction = 8,    // along the axes of input 1, with `keepdims`
  kMoves = 16,       // each element of an output is one of input 0: nothing is computed, nothing filled in
  kParts = 32,       // has OpDef::parts: outputs or inputs may lie inside the whole
  kText = 64,        // its kernel makes bytes of strings (RefKernel::text_bytes)
  kOwn = 128,        // the converter's own: no ONNX operator means it, and export writes its formula
  kHost = 256,       // its kernel needs a host's libraries and memory: built where VIREO_HOST_OPERATORS wants it
};

}  // namespace trait

// The column of `op`'s row; kPlain where ops.def has no such row.
constexpr uint16_t traits_of(Op op) {
  using namespace trait;
  switch (op) {
#define VIREO_OP(number, name, folder, version, traits) \
  case Op::k##name:                                     \
    return traits;
#define VIREO_IMPORT(domain, name, folder)
#include "sdk/ops/ops.def"
#undef VIREO_OP
#undef VIREO_IMPORT
    default:
      return kPlain;
  }
}

constexpr bool is_control_flow(Op op) { return (traits_of(op) & trait::kControlFlow) != 0; }
constexpr bool is_elementwise(Op op) { return (traits_of(op) & trait::kElementwise) != 0; }
constexpr bool is_reduction(Op op) { return (traits_of(op) & trait::kReduction) != 0; }
constexpr bool moves_elements(Op op) { return (traits_of(op) & trait::kMoves) != 0; }
constexpr bool is_own(Op op) { return (traits_of(op) & trait::kOwn) != 0; }

}  // namespace vireo

#endif  // VIREO_SDK_OPS_TRAITS_H_
