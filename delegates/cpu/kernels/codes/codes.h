// Functions of 8-bit codes, element by element and along an axis: the formulas of sdk/ops/INTEGER.md to the bit.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CODES_CODES_H_
#define VIREO_DELEGATES_CPU_KERNELS_CODES_CODES_H_

#include "delegates/cpu/kernels/requantize/requantize.h"

namespace vireo::cpu {

// Sum: v = float(a - a_zero) * a_multiplier + float(b - b_zero) * b_multiplier. Product: v = float((a - a_zero) *
// (b - b_zero)) * a_multiplier. y = clamp(rne(v) + zero point).
struct BinaryCodes {
  bool is_product = false;
  bool a_signed = false, b_signed = false;
  int32_t a_zero = 0, b_zero = 0;
  float a_multiplier = 1, b_multiplier = 1;
  Requantize finish;  // zero point, type and bounds alone are read
};
// `rows` rows of `row` elements; element r of an operand's row list begins at offset(context, operand, r), and its
// elements are step apart: 1, or 0 where one is repeated. y is dense and may be a or b.
struct BinaryRows {
  int64_t rows = 1, row = 0;
  int64_t a_step = 1, b_step = 1;
  int64_t (*offset)(const void* context, int operand, int64_t row) = nullptr;
  const void* context = nullptr;
};
void binary_codes(const BinaryCodes& f, const BinaryRows& rows, const uint8_t* a, const uint8_t* b, uint8_t* y,
                  const Parallel& parallel);

// One of `step`'s formulas of each code, without other codes. `rows` as above with x first and factor, below and offset
// second, which lie alike. y is dense and may be x.
void affine_codes(const SecondStep& step, bool x_signed, const BinaryRows& rows, const uint8_t* x, uint8_t* y,
                  const Parallel& parallel);

// y[i] = table[x[i]], 256 entries. y may be x.
void table_codes(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t count, const Parallel& parallel);

// e[k] = table[max x - x[k]], y[k] = clamp(rne(float(e[k]) * (multiplier / float(sum of e))) + zero point) along the
// middle axis of [outer, axis, inner]. 256 entries. y may be x. With `kept` the maximum is that of what is kept, and e
// of all else is 0; where a line keeps nothing, all e are table[0].
struct SoftmaxCodes {
  int64_t outer = 1, axis = 0, inner = 1;
  bool x_signed = false;
  float multiplier = 1;
  const int32_t* table = nullptr;
  Requantize finish;  // as above
  // Line `line` of outer * inner begins at kept[kept_at(context, line)], its elements are kept_step apart; null: all.
  const uint8_t* kept = nullptr;
  int64_t kept_step = 1;
  int64_t (*kept_at)(const void* context, int64_t line) = nullptr;
  const void* context = nullptr;
};
void softmax_codes(const SoftmaxCodes& shape, const uint8_t* x, uint8_t* y, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CODES_CODES_H_
