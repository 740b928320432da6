// The composites "dynamic_conv" and "dynamic_gemm": a product of codes, and its sums made float32, scaled and biased.
//
//   ConvInteger -> Cast to float32 -> Mul(scale) -> Add(bias) -> a function, or PRelu(slope)
//   MatMulInteger -> Cast to float32 -> Mul(scale) -> Mul(later scale) -> Add(bias)
//
// The scale may be the Mul of two, which may stand anywhere in front of its use. The later scale, bias and function may
// be missing. All that is multiplied and added is float32, one number or one a channel: axis 1 of a convolution, the
// last one of a product of matrices. Operands are inputs of the node. The result may lie on the first node's operand
// where that is as large: a convolution's not on a scale, which the sums would overwrite; a product of matrices reads
// its scales first.
#ifndef VIREO_SDK_COMPOSITES_DYNAMIC_DYNAMIC_H_
#define VIREO_SDK_COMPOSITES_DYNAMIC_DYNAMIC_H_

#include "sdk/composites/function.h"
#include "sdk/composites/operand.h"

namespace vireo::composites {

struct FusedDynamic {
  Op core = Op::kNone;             // ConvInteger or MatMulInteger
  const uint8_t* attrs = nullptr;  // its
  size_t attrs_size = 0;
  bool varies = false;  // extents change between runs
  // Inputs of the node; -1: absent.
  int32_t x = -1, w = -1, x_zero = -1, w_zero = -1;
  int32_t scale = -1, other_scale = -1;  // multiplied with each other first
  int32_t later_scale = -1;
  int32_t bias = -1, slope = -1;
  Function function;  // the activation, where there is no slope

  template <class T>
  const T& conv() const {
    return *::flatbuffers::GetRoot<T>(attrs);
  }
};

// False where the node is no such composite.
bool match_dynamic(const NodeView& node, FusedDynamic* out);

// Values that were given to the session's run must be as the body was read: the sums are of the output's shape.
bool fits(const KernelContext& ctx, const FusedDynamic& f);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_DYNAMIC_DYNAMIC_H_
