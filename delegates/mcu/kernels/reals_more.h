/* More operators in float32, by the rule of reals.h: one result on every core. Each is a source of its own. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_REALS_MORE_H_
#define VIREO_DELEGATES_MCU_KERNELS_REALS_MORE_H_

#include "delegates/mcu/kernels/reals.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element by element (real_more.c): a unit is a part of a row (parts.h) */

enum {
  VIREO_MCU_MIN_REALS, /* a NaN on either side is the result */
  VIREO_MCU_MAX_REALS,
  VIREO_MCU_POWER,
  VIREO_MCU_PRELU,       /* a below 0 is multiplied by b */
  VIREO_MCU_EQUAL_REALS, /* from here on y is of bytes, 0 or 1 */
  VIREO_MCU_LESS_REALS,
  VIREO_MCU_LESS_OR_EQUAL_REALS,
  VIREO_MCU_PAIRS
};
/* y[r, i] = a[r * a_row + i * a_step] . b[...]; what: of these. */
void vireo_mcu_pairs_run(const vireo_mcu_binary_reals* f, const float* a, const float* b, void* y,
                         vireo_mcu_units units);

enum {
  VIREO_MCU_LOG,
  VIREO_MCU_SIN, /* |x| below 8192; further out digits are lost */
  VIREO_MCU_COS,
  VIREO_MCU_ERF,
  VIREO_MCU_GELU,      /* x / 2 (1 + erf(x / sqrt 2)) */
  VIREO_MCU_GELU_TANH, /* its approximation by tanh */
  VIREO_MCU_SOFTPLUS,
  VIREO_MCU_MISH,
  VIREO_MCU_SCALED_ELU, /* b x above 0, b a (exp(x / c) - 1) else */
  VIREO_MCU_FLOOR,
  VIREO_MCU_CEIL,
  VIREO_MCU_ROUND, /* half to even */
  VIREO_MCU_SIGN,
  VIREO_MCU_SHRINK, /* x + b below -a, x - b above a, 0 between */
  VIREO_MCU_MORE_FUNCTIONS
};
typedef struct {
  int32_t count, what;
  float a, b, c;
} vireo_mcu_more_function;
void vireo_mcu_more_function_run(const vireo_mcu_more_function* f, const float* x, float* y, vireo_mcu_units units);

/* Within 2 units of the last place. log(0) is -infinity, of a negative number a NaN. */
float vireo_mcu_log(float x);

/* ---- Along axes: a unit is a result, or a line */

enum {
  VIREO_MCU_SUM,
  VIREO_MCU_MEAN,
  VIREO_MCU_MOST, /* a NaN is more and less than any number */
  VIREO_MCU_LEAST,
  VIREO_MCU_PRODUCT,
  VIREO_MCU_SIZES, /* sum of |x| */
  VIREO_MCU_SQUARES,
  VIREO_MCU_ROOT_OF_SQUARES,
  VIREO_MCU_LOG_OF_SUM,
  VIREO_MCU_LOG_OF_EXPS,
  VIREO_MCU_REDUCTIONS
};
enum { VIREO_MCU_REDUCED_AXES = 3 };
/* y [kept...]: over the other axes. Each has its extents and its steps in x; those that are not there have 1 and 0. */
typedef struct {
  int32_t kept[VIREO_MCU_REDUCED_AXES], kept_step[VIREO_MCU_REDUCED_AXES];
  int32_t over[VIREO_MCU_REDUCED_AXES], over_step[VIREO_MCU_REDUCED_AXES];
  int32_t what;
} vireo_mcu_reduce_reals;
void vireo_mcu_reduce_reals_run(const vireo_mcu_reduce_reals* r, const float* x, float* y, vireo_mcu_units units);

/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias along lines of `count`; where `centred` is not set, the mean
 * counts as 0. Element i of line l has scale and bias number (l modulo period) * of_line + i / span. The bias may be
 * null. A unit is a line. y may be x. */
typedef struct {
  int32_t lines, count, period, of_line, span, centred;
  float epsilon;
} vireo_mcu_norm_reals;
void vireo_mcu_norm_reals_run(const vireo_mcu_norm_reals* n, const float* x, const float* scale, const float* bias,
                              float* y, vireo_mcu_units units);

/* y [outer, count, inner] = sums over `taps` of w[i, t] * x [outer, first[i] + t, inner], where places outside are
 * the axis' ends: Resize along one axis. A unit is a row of y. */
typedef struct {
  int32_t outer, count, axis, inner, taps;
} vireo_mcu_resample;
void vireo_mcu_resample_run(const vireo_mcu_resample* r, const float* x, const int32_t* first, const float* w, float* y,
                            vireo_mcu_units units);

/* ---- LSTM, GRU and RNN with their usual functions (real_recurrent.c) */

enum { VIREO_MCU_LSTM, VIREO_MCU_GRU, VIREO_MCU_RNN };
/* x [steps, batch, inputs] by x_step and x_batch elements; y [..., hidden] by y_step, y_batch and y_direction. Weights
 * of a direction: w [gates * hidden, inputs], r [gates * hidden, hidden], and where has_bias is set the biases of both.
 * state: h, then c of an LSTM, each [directions * batch, hidden] by state_direction and state_batch; what it is to
 * begin with, or null for 0. y may be null. A unit is a step. */
typedef struct {
  int32_t cell, directions, batch, steps, inputs, hidden;
  int32_t x_step, x_batch, y_step, y_batch, y_direction, state_batch, state_direction;
  uint8_t first_reversed, has_bias, reset_last, reserved; /* reset_last: a GRU's reset multiplies R h + b */
} vireo_mcu_recurrent;
void vireo_mcu_recurrent_run(const vireo_mcu_recurrent* r, const float* x, const float* weights, const float* first_h,
                             const float* first_c, float* y, float* state, float* scratch, vireo_mcu_units units);
uint32_t vireo_mcu_recurrent_units(const vireo_mcu_recurrent* r);
uint32_t vireo_mcu_recurrent_scratch(const vireo_mcu_recurrent* r);
int32_t vireo_mcu_recurrent_gates(const vireo_mcu_recurrent* r);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_REALS_MORE_H_ */
