/* Rows of an image under windows: which rows of x make which rows of y. C99, for the host's planner, for the CPU
 * delegate's strips (strips.h) and for microcontrollers (delegates/mcu/plan/strips.h), which have a copy.
 *
 * Row r of y is made of the rows [r * stride - pad, + taps) of x; what reads row r of x for row r of y is a window of
 * one tap. Rows of x are counted from 0 to `rows`; those before and behind are padding. */
#ifndef VIREO_SDK_PLAN_ROWS_STRIP_ROWS_H_
#define VIREO_SDK_PLAN_ROWS_STRIP_ROWS_H_

#include <stdint.h>

typedef struct {
  int32_t taps, stride, pad;
} vireo_row_window;

/* A call's rows of x: `read` from row `from` on, with padding around them. */
typedef struct {
  int32_t from, read, above, below;
} vireo_rows_read;

static inline int32_t vireo_rows_clamp(int32_t v, int32_t low, int32_t high) {
  return v < low ? low : v > high ? high : v;
}

/* Rows of x, from the first, that have to be there before the first `made` rows of y are. */
static inline int32_t vireo_rows_needed(const vireo_row_window* w, int32_t made, int32_t rows) {
  return made <= 0 ? 0 : vireo_rows_clamp((made - 1) * w->stride - w->pad + w->taps, 0, rows);
}

/* The first row of x that is still read when the first `made` of all rows of y are there; `rows` after the last. */
static inline int32_t vireo_rows_unread(const vireo_row_window* w, int32_t made, int32_t all, int32_t rows) {
  return made >= all ? rows : vireo_rows_clamp(made * w->stride - w->pad, 0, rows);
}

static inline vireo_rows_read vireo_rows_of(const vireo_row_window* w, int32_t first, int32_t count, int32_t rows) {
  const int32_t begin = first * w->stride - w->pad, end = (first + count - 1) * w->stride - w->pad + w->taps;
  vireo_rows_read r;
  r.from = vireo_rows_clamp(begin, 0, rows);
  r.read = (end < rows ? end : rows) - r.from;
  if (r.read < 0) r.read = 0;
  r.above = r.from - begin;
  r.below = end > rows ? end - rows : 0;
  return r;
}

#endif /* VIREO_SDK_PLAN_ROWS_STRIP_ROWS_H_ */
