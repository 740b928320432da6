// The composites "int_conv" and "int_gemm": a product of codes, and one step on its codes while they are at hand.
//
//   IntConv | IntGemm -> IntAdd(another tensor of codes) | IntAffine(factor, below, offset)
//
// The product's first three operands are the node's first three. A plain node reads as a product without a step. The
// result lies on no input, for the product comes first.
#ifndef VIREO_SDK_COMPOSITES_CODES_CODES_H_
#define VIREO_SDK_COMPOSITES_CODES_CODES_H_

#include "sdk/composites/operand.h"

namespace vireo::composites {

struct FusedCodes {
  Op core = Op::kNone;             // IntConv or IntGemm
  const uint8_t* attrs = nullptr;  // the product's
  size_t attrs_size = 0;
  bool varies = false;  // there is a step, and extents that change between runs
  int32_t bias = -1;    // an input of the node
  Op step = Op::kNone;  // kNone: a plain node
  const uint8_t* step_attrs = nullptr;
  int32_t operands[3] = {-1, -1, -1};  // inputs of the node: the other codes; factor, below, offset
  bool second = false;                 // the product is IntAdd's second operand
  bool per_column = false;             // factor and what lies alike: one a channel, which is the last axis

  template <class T>
  const T& product() const {
    return *::flatbuffers::GetRoot<T>(attrs);
  }
};

// False where the node is no such product.
bool match_codes(const NodeView& node, FusedCodes* out);

// Values that were given to the session's run must be as the body was read: of the output's shape, none is broadcast.
bool fits(const KernelContext& ctx, const FusedCodes& f);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_CODES_CODES_H_
