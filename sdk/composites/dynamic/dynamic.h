// The composite "dynamic_conv": a convolution of codes, and its sums made float32, scaled, biased and activated.
//
//   ConvInteger -> Cast to float32 -> Mul(scale) -> Add(bias) -> a function, or PRelu(slope)
//
// The scale may be the Mul of two, which may stand anywhere in front of its use. Bias and function may be missing. All
// that is multiplied and added is float32, one number or one a channel, which is axis 1. Operands are inputs of the
// node. The result may lie on the first node's operand where that is as large: not on a scale, which the sums would
// overwrite.
#ifndef VIREO_SDK_COMPOSITES_DYNAMIC_DYNAMIC_H_
#define VIREO_SDK_COMPOSITES_DYNAMIC_DYNAMIC_H_

#include "sdk/composites/function.h"
#include "sdk/composites/operand.h"

namespace vireo::composites {

struct FusedDynamicConv {
  const uint8_t* attrs = nullptr;  // ConvInteger's
  size_t attrs_size = 0;
  bool varies = false;  // extents change between runs
  // Inputs of the node; -1: absent.
  int32_t x = -1, w = -1, x_zero = -1, w_zero = -1;
  int32_t scale = -1, other_scale = -1;  // multiplied with each other first
  int32_t bias = -1, slope = -1;
  Function function;  // the activation, where there is no slope

  template <class T>
  const T& conv() const {
    return *::flatbuffers::GetRoot<T>(attrs);
  }
};

// False where the node is no such composite.
bool match_dynamic_conv(const NodeView& node, FusedDynamicConv* out);

// Values that were given to the session's run must be as the body was read: the sums are of the output's shape.
bool fits(const KernelContext& ctx, const FusedDynamicConv& f);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_DYNAMIC_DYNAMIC_H_
