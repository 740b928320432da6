// Products of codes (IntConv, IntGemm) as XNNPACK computes them: the same bits as sdk/base/requantize.h, on every
// instruction set, under the conditions that read_codes_product asks for.
#ifndef VIREO_DELEGATES_XNNPACK_CODES_H_
#define VIREO_DELEGATES_XNNPACK_CODES_H_

#include "delegates/xnnpack/writer.h"

namespace vireo::xnnpack {

struct CodesProduct {
  const Value *x = nullptr, *w = nullptr, *multiplier = nullptr, *bias = nullptr;
  Codes in, out;
  float low = 0, high = 0;  // of y less its zero point

  // The filter and the bias, once the writer has the multipliers of `channels`.
  Fixed filter(const float* multipliers, size_t channel_axis) const;
  Fixed sums(const float* multipliers) const;
};

// The zero points and bounds of the node's attributes. Null, or why not.
const char* read_codes_product(const Step& s, bool depthwise, int32_t x_zero, int32_t y_zero, int32_t low, int32_t high,
                               CodesProduct* out);

// An operand of the part, as int8. Null, or why not.
const char* read_codes(const Value& v, Place place, int32_t zero, Codes* out);

// to[i] = from[i] with its highest bit changed: a uint8 code as int8, and back. May work in place.
void flip_codes(const void* from, void* to, size_t bytes, const vireo_thread_pool* threads);

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_CODES_H_
