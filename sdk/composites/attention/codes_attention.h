// The composite "attention_codes": attention of codes.
//
//   [Transpose(q)] [Transpose(k)] [Transpose(v)]
//   IntGemm(q, k) -> IntSoftmax of the last axis [, kept] -> IntGemm(its codes, v) [-> Transpose]
//
// All codes have 8 bits. Both products have one multiplier, one zero point or none of the right operand, and no bias.
// q is [..., S, D], k [..., D, T], v [..., T, E] where the product reads them, of ranks 2 to 4 with the same leading
// extents. A Transpose leaves the last axis of q, v and the result where it is; k comes from rows of D or of T.
#ifndef VIREO_SDK_COMPOSITES_ATTENTION_CODES_ATTENTION_H_
#define VIREO_SDK_COMPOSITES_ATTENTION_CODES_ATTENTION_H_

#include "sdk/composites/operand.h"

namespace vireo::composites {

constexpr int kMostAttentionAxes = 4;

// An operand of a product, in an input of the node: axis i of it is axis `axes[i]` of the input.
struct MovedCodes {
  int32_t input = -1;
  int axes[kMostAttentionAxes] = {0, 1, 2, 3};
};

struct FusedCodesAttention {
  int rank = 0;  // of all operands
  MovedCodes q, k, v;
  int y[kMostAttentionAxes] = {0, 1, 2, 3};  // axis i of the node's result is axis y[i] of the product's
  const uint8_t *scores = nullptr, *softmax = nullptr, *product = nullptr;  // attributes
  DType scored = DType::kNone, shared = DType::kNone;                       // codes of the scores, and of the Softmax
  int32_t multipliers[2] = {-1, -1}, zeros[2] = {-1, -1}, table = -1;       // inputs of the node
  int32_t kept = -1;  // input of the node: bool, broadcast to the scores; -1: all
};

// False where the node is no such composite.
bool match_codes_attention(const NodeView& node, FusedCodesAttention* out);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_ATTENTION_CODES_ATTENTION_H_
