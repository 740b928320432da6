// The operators on codes where one of them has 16 bits: products with int8 weights, functions of two codes and of one.
// The formulas of sdk/ops/INTEGER.md to the bit. Operands and results may have 8 or 16 bits, signed or not.
#ifndef VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_HALF_WORDS_H_
#define VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_HALF_WORDS_H_

#include <stddef.h>
#include <stdint.h>

#include "delegates/cpu/kernels/codes/codes.h"
#include "delegates/cpu/kernels/conv/conv.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

struct CodeType {
  bool wide = true;  // 16 bits
  bool is_signed = true;
};

// y = clamp(rne(v) + zero, low, high), stored as `type`.
struct CodesOut {
  CodeType type;
  int32_t zero = 0, low = -32768, high = 32767;
};

// acc = bias[o] + sum (x - x_zero) w, exact;  v = float(acc) * multiplier[o]. Padding holds x_zero. A matrix product
// [m, k] x [k, n] is a convolution of 1 x 1, channels last, over m pixels of k channels.
//
// Sums. int32 holds them for as long as 2^15 times the column's sum of |w| is below 2^31, which is nearly always. Then
// they are int32 to the end; else blocks of 510 products are int32 and their totals int64. Sums of an x of 8 bits wrap
// around at 2^31.
struct ProductI16 {
  ConvF32 shape;     // its sizes alone
  bool last = true;  // x and y have channels last, else first
  CodeType x_type;
  int32_t x_zero = 0;
  const float* multiplier = nullptr;
  bool multiplier_per_channel = false;
  const int32_t* bias = nullptr;  // or null
  CodesOut out;
};

// Weights w(o, i, t) = data[o o_step + i i_step + t t_step], i a channel of the group and t a tap.
struct WeightsI16 {
  const int8_t* data = nullptr;
  int64_t o_step = 0, i_step = 0, t_step = 0;
};
// Packed once for all machines: layout 10 of delegates/cpu/cpu_op.h. Of `shape` the channels, groups and taps count.
//   for each group: panels of 16 columns [k / 2, 16, 2] int8, k by taps and then channels, 0 behind the last
//   behind all: [o] int32 sums of w, then of |w|; o counts the columns of all groups' panels
size_t pack_product_i16_bytes(const ConvF32& shape);
void pack_product_i16(const ConvF32& shape, const WeightsI16& weights, const Parallel& parallel, void* to);

// Enough for all smaller sizes.
size_t product_i16_scratch_bytes(const ConvF32& shape, int32_t slots);
// `packed`: as pack_product_i16 wrote it. x and y overlap nothing.
void product_i16(const ProductI16& p, const void* x, const void* packed, void* y, const Parallel& parallel,
                 void* scratch);

// Sum: v = float(a - a_zero) a_multiplier + float(b - b_zero) b_multiplier. Product: v = float((a - a_zero) (b -
// b_zero)) a_multiplier. y may be an operand of its type.
struct BinaryI16 {
  bool is_product = false;
  CodeType a_type, b_type;
  int32_t a_zero = 0, b_zero = 0;
  float a_multiplier = 1, b_multiplier = 1;
  CodesOut out;
};
void binary_i16(const BinaryI16& f, const BinaryRows& rows, const void* a, const void* b, void* y,
                const Parallel& parallel);

// d = float(x - zero);  v = d (d < 0 ? below : factor) + offset. Parameters lie as operand 1 of `rows`.
struct AffineI16 {
  CodeType x_type;
  int32_t zero = 0;
  const float *factor = nullptr, *below = nullptr, *offset = nullptr;  // below, offset: or null
  CodesOut out;
};
void affine_i16(const AffineI16& f, const BinaryRows& rows, const void* x, void* y, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_HALF_WORDS_H_
