// Einstein summation:  y[output] = sum over the other indices of the product of x_i[term_i]
//   equation   "ij,jk->ik": a letter is an index, "..." stands for dimensions that broadcast; without "->" the output
//   has
//              "..." and then the letters that occur once, in ASCII order
//   x_i        floats of 16 to 64 bits and integers of 8 to 64 bits, one type; an index repeated in a term takes its
//   diagonal y          dtype of x;  integers wrap around alias none; scratch none
// Source: ONNX opset 12 "Einsum".
#ifndef VIREO_SDK_OPS_EINSUM_EINSUM_H_
#define VIREO_SDK_OPS_EINSUM_EINSUM_H_

#include <stdint.h>

#include "sdk/base/shape.h"

namespace vireo {

constexpr int kMaxEinsumTerms = 16;
constexpr int kMaxEinsumLabels = 24;

// An equation taken apart. A label is an index: the output's come first, in its order, then those that are summed over.
struct Einsum {
  int terms = 0;
  int labels = 0;
  int output_rank = 0;
  uint8_t label[kMaxEinsumTerms][kMaxRank] = {};  // of each dimension of each input
};

// Null when the equation suits inputs of these ranks, else what is wrong with it.
const char* parse_einsum(const char* equation, const int* ranks, int count, Einsum* out);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_EINSUM_EINSUM_H_
