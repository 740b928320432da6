// Which function of two tensors an operator is.
#ifndef VIREO_DELEGATES_CPU_BINARY_FUNCTION_H_
#define VIREO_DELEGATES_CPU_BINARY_FUNCTION_H_

#include "delegates/cpu/kernels/eltwise/eltwise.h"
#include "sdk/ops/op.h"

namespace vireo::cpu {

inline bool binary_function(Op op, Binary* out) {
  switch (op) {
    case Op::kAdd:
      *out = Binary::kAdd;
      return true;
    case Op::kSub:
      *out = Binary::kSub;
      return true;
    case Op::kMul:
      *out = Binary::kMul;
      return true;
    case Op::kDiv:
      *out = Binary::kDiv;
      return true;
    case Op::kMin:
      *out = Binary::kMin;
      return true;
    case Op::kMax:
      *out = Binary::kMax;
      return true;
    case Op::kPow:
      *out = Binary::kPow;
      return true;
    case Op::kPRelu:
      *out = Binary::kPrelu;
      return true;
    default:
      return false;
  }
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_BINARY_FUNCTION_H_
