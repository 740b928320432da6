/* Operators in float32, for cores with a floating-point unit. Channels are first.
 *
 * Each has one result on every core and on a workstation, to the bit: operations are single float32 ones in the order
 * that is written here, none is fused (-ffp-contract=off). Sums begin with the first product and go on in the order of
 * a filter's weights; a bias comes last. Taps in the padding are products with 0: weights are finite. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_REALS_H_
#define VIREO_DELEGATES_MCU_KERNELS_REALS_H_

#include "delegates/mcu/kernels/requantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Results are clamped to low..high, a NaN stays one: Relu and Clip; infinities without. At 0, -0 becomes 0. */
typedef struct {
  float low, high;
} vireo_mcu_bounds;

static inline float mcu_at_least(float v, float low) { return v <= low ? low : v; }
/* Whether the lower bound is 0; and whether there is another than that. */
static inline int mcu_is_relu(const vireo_mcu_bounds* b) { return b->low == 0; }
static inline int mcu_has_bounds(const vireo_mcu_bounds* b) {
  return b->high <= 3.4028235e38f || !(b->low == 0 || b->low < -3.4028235e38f);
}
static inline float mcu_bounded(float v, const vireo_mcu_bounds* b) {
  v = mcu_at_least(v, b->low);
  return v > b->high ? b->high : v;
}

/* ---- Products: tiles of 4 positions by 4 channels */

/* Weights of 4 channels behind one another, [ceil(channels / 4)][k][4]: whoever prepares the kernel packs them; what is
 * behind the last channel is 0. */
typedef struct {
  int32_t batch, groups, in_channels, out_channels; /* channels of one group */
  int32_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
  vireo_mcu_bounds bounds;
} vireo_mcu_conv_reals;

/* x [batch, groups * in_channels, in...], w: packed, of each group; bias may be null; y as x. Units: a tile's positions
 * are gathered, then four channels each. */
void vireo_mcu_conv_reals_run(const vireo_mcu_conv_reals* c, const float* x, const float* w, const float* bias,
                              float* y, float* scratch, vireo_mcu_units units);
uint32_t vireo_mcu_conv_reals_units(const vireo_mcu_conv_reals* c);
uint32_t vireo_mcu_conv_reals_scratch(const vireo_mcu_conv_reals* c);
/* Whether y may be x. */
int vireo_mcu_conv_reals_in_place(const vireo_mcu_conv_reals* c);

/* Filters of one channel: in_channels is 1; w [groups * out_channels, kernel...] as the file has it. A unit is a plane
 * of y. */
void vireo_mcu_depthwise_reals_run(const vireo_mcu_conv_reals* c, const float* x, const float* w, const float* bias,
                                   float* y, float* scratch, vireo_mcu_units units);
uint32_t vireo_mcu_depthwise_reals_units(const vireo_mcu_conv_reals* c);
uint32_t vireo_mcu_depthwise_reals_scratch(const vireo_mcu_conv_reals* c);
int vireo_mcu_depthwise_reals_in_place(const vireo_mcu_conv_reals* c);

/* y [m, n] = a [m, k] b [k, n] + bias [n]; b packed as above. A unit is four columns of four rows. */
typedef struct {
  int32_t m, n, k;
  vireo_mcu_bounds bounds;
} vireo_mcu_gemm_reals;
void vireo_mcu_gemm_reals_run(const vireo_mcu_gemm_reals* g, const float* a, const float* b, const float* bias,
                              float* y, float* scratch, vireo_mcu_units units);
uint32_t vireo_mcu_gemm_reals_units(const vireo_mcu_gemm_reals* g);
uint32_t vireo_mcu_gemm_reals_scratch(const vireo_mcu_gemm_reals* g);

/* y [batch, m, n] = a [m, k] b [k, n], neither known before a run: the matrices of an item are a_step and b_step
 * elements behind those of the one before, y's are dense. Units of an item: b is packed, then as above. */
typedef struct {
  int32_t batch, m, n, k;
  int32_t a_step, b_step;
} vireo_mcu_matmul_reals;
void vireo_mcu_matmul_reals_run(const vireo_mcu_matmul_reals* g, const float* a, const float* b, float* y,
                                float* scratch, vireo_mcu_units units);
uint32_t vireo_mcu_matmul_reals_units(const vireo_mcu_matmul_reals* g);
uint32_t vireo_mcu_matmul_reals_scratch(const vireo_mcu_matmul_reals* g);

/* ---- Pools: a unit is a plane */

typedef struct {
  int32_t planes;
  int32_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2], pad_end[2];
  int32_t count_padding; /* an average divides by taps in the padding too */
} vireo_mcu_pool_reals;
/* The sum of a window, row by row, by its number of taps. */
void vireo_mcu_average_reals(const vireo_mcu_pool_reals* p, const float* x, float* y, vireo_mcu_units units);
/* The greatest number; a NaN is greater than any. */
void vireo_mcu_max_reals(const vireo_mcu_pool_reals* p, const float* x, float* y, vireo_mcu_units units);

/* ---- Element by element */

enum { VIREO_MCU_ADD_REALS, VIREO_MCU_SUB_REALS, VIREO_MCU_MUL_REALS, VIREO_MCU_DIV_REALS };
/* y[r, i] = a[r * a_row + i * a_step] . b[...]; y is [rows, columns]. */
typedef struct {
  int32_t rows, columns, a_row, a_step, b_row, b_step, what;
} vireo_mcu_binary_reals;
void vireo_mcu_binary_reals_run(const vireo_mcu_binary_reals* f, const float* a, const float* b, float* y);

enum {
  VIREO_MCU_CLIP,       /* to a..b */
  VIREO_MCU_LEAKY_RELU, /* a: the slope below 0 */
  VIREO_MCU_SIGMOID,    /* 1 / (1 + exp(-x)) */
  VIREO_MCU_TANH,
  VIREO_MCU_HARD_SIGMOID, /* a x + b, within 0..1 */
  VIREO_MCU_HARD_SWISH,   /* x times that */
  VIREO_MCU_SWISH,        /* x sigmoid(a x) */
  VIREO_MCU_ELU,          /* x above 0, a (exp(x) - 1) else */
  VIREO_MCU_EXP,
  VIREO_MCU_NEGATE,
  VIREO_MCU_ABSOLUTE,
  VIREO_MCU_SQRT,
  VIREO_MCU_FUNCTIONS
};
typedef struct {
  int32_t count, what;
  float a, b;
} vireo_mcu_function;
void vireo_mcu_function_run(const vireo_mcu_function* f, const float* x, int32_t count, float* y);

/* exp(x) within 2 units of the last place; below -87.3 it is 0. */
float vireo_mcu_exp(float x);
float vireo_mcu_tanh(float x); /* 3 units */

/* The bits of the root of a number that is not negative, correctly rounded: where a core has no instruction for it. */
uint32_t vireo_mcu_root_of_bits(uint32_t x_bits);

/* Along the middle one of [outer, axis, inner]: exp(x - most) / their sum. y may be x. */
typedef struct {
  int32_t outer, axis, inner;
} vireo_mcu_softmax_reals;
void vireo_mcu_softmax_reals_run(const vireo_mcu_softmax_reals* s, const float* x, float* y);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_REALS_H_ */
