#include "delegates/mcu/kernels/integers.h"

#include <string.h>

#include "delegates/mcu/kernels/parts.h"

static int32_t load(int32_t type, const void* p, int32_t i) {
  switch (type) {
    case VIREO_MCU_SIGNED_BYTE:
      return ((const int8_t*)p)[i];
    case VIREO_MCU_HALF:
      return ((const uint16_t*)p)[i];
    case VIREO_MCU_SIGNED_HALF:
      return ((const int16_t*)p)[i];
    case VIREO_MCU_WORD:
    case VIREO_MCU_SIGNED_WORD:
    case VIREO_MCU_REAL:
      return ((const int32_t*)p)[i];
    case VIREO_MCU_LONG:
      return ((const int32_t*)p)[2 * i];
    default:
      return ((const uint8_t*)p)[i];
  }
}
static int width_of(int32_t type) {
  return type == VIREO_MCU_HALF || type == VIREO_MCU_SIGNED_HALF                             ? 16
         : type == VIREO_MCU_WORD || type == VIREO_MCU_SIGNED_WORD || type == VIREO_MCU_REAL ? 32
                                                                                             : 8;
}
static void store(int32_t type, void* p, int32_t i, uint32_t v) {
  const int width = width_of(type);
  if (width == 8) {
    ((uint8_t*)p)[i] = (uint8_t)v;
  } else if (width == 16) {
    ((uint16_t*)p)[i] = (uint16_t)v;
  } else {
    ((uint32_t*)p)[i] = v;
  }
}

/* What is unsigned is below 2^31 but for words, which are compared and divided as such. */
static int32_t quotient(int32_t a, int32_t b, int words, int rest) {
  if (b == 0) return 0;
  if (words) return (int32_t)(rest ? (uint32_t)a % (uint32_t)b : (uint32_t)a / (uint32_t)b);
  if (b == -1) return rest ? 0 : (int32_t)(0u - (uint32_t)a);
  return rest ? a % b : a / b;
}

static uint32_t compute(int32_t what, int32_t type, int32_t a, int32_t b) {
  const int words = type == VIREO_MCU_WORD, width = width_of(type);
  const int has_sign = type == VIREO_MCU_SIGNED_BYTE || type == VIREO_MCU_SIGNED_HALF || type == VIREO_MCU_SIGNED_WORD;
  const uint32_t x = (uint32_t)a, y = (uint32_t)b;
  const int less = words ? x < y : a < b;
  int32_t r;
  switch (what) {
    case VIREO_MCU_INT_ADD:
      return x + y;
    case VIREO_MCU_INT_SUB:
      return x - y;
    case VIREO_MCU_INT_MUL:
      return x * y;
    case VIREO_MCU_INT_DIV:
      return (uint32_t)quotient(a, b, words, 0);
    case VIREO_MCU_INT_REST:
      return (uint32_t)quotient(a, b, words, 1);
    case VIREO_MCU_INT_MODULUS:
      r = quotient(a, b, words, 1);
      return (uint32_t)r + (has_sign && r != 0 && (r ^ b) < 0 ? y : 0);
    case VIREO_MCU_INT_MIN:
      return less ? x : y;
    case VIREO_MCU_INT_MAX:
      return less ? y : x;
    case VIREO_MCU_INT_AND:
      return x & y;
    case VIREO_MCU_INT_OR:
      return x | y;
    case VIREO_MCU_INT_XOR:
      return x ^ y;
    case VIREO_MCU_INT_LEFT:
      return y < (uint32_t)width ? x << y : 0;
    case VIREO_MCU_INT_RIGHT:
      if (!has_sign) return y < (uint32_t)width ? x >> y : 0;
      return (uint32_t)(y < (uint32_t)width ? a >> b : a < 0 ? -1 : 0);
    case VIREO_MCU_INT_EQUAL:
      return x == y;
    case VIREO_MCU_INT_LESS:
      return (uint32_t)less;
    default:
      return less || x == y;
  }
}

void vireo_mcu_integers_run(const vireo_mcu_integers* f, const void* a, const void* b, void* y, vireo_mcu_units units) {
  const int32_t type = f->type, to_type = f->what >= VIREO_MCU_INT_EQUAL ? VIREO_MCU_BYTE : type;
  for (mcu_parts p = mcu_first_part(f->rows, f->columns, units); p.left != 0; mcu_next_part(&p)) {
    int32_t at = p.row * f->a_row + p.from * f->a_step, beside = p.row * f->b_row + p.from * f->b_step;
    int32_t to = p.row * f->columns + p.from;
    for (const int32_t last = to + mcu_part_count(&p); to != last; ++to, at += f->a_step, beside += f->b_step)
      store(to_type, y, to, compute(f->what, type, load(type, a, at), load(type, b, beside)));
  }
}

/* An int64 as a float32: 31 digits, of which the last one stands for all that were left, are rounded once. */
static float real_of_long(uint32_t low, int32_t high) {
  const int below = high < 0;
  uint32_t upper = (uint32_t)high, rest = low, scale = 127u << 23;
  if (below) upper = ~upper + (low == 0), rest = 0u - low;
  for (; upper != 0 || rest > INT32_MAX; scale += 1u << 23, upper >>= 1) rest = rest >> 1 | upper << 31 | (rest & 1);
  float factor;
  memcpy(&factor, &scale, 4);
  const float v = (float)(int32_t)rest * factor;
  return below ? -v : v;
}

/* The upper word of what a float32 is towards 0, and the lower one. */
static int32_t long_of_real(float v, int32_t* low) {
  const uint32_t bits = mcu_bits(v), size = bits & INT32_MAX;
  if (!(v < 9223372036854775808.0f) || !(v > -9223372036854775808.0f)) {
    const int high = v > 0;
    *low = high ? -1 : 0;
    return high ? INT32_MAX : INT32_MIN;
  }
  const int32_t up = (int32_t)(size >> 23) - 150;
  const uint32_t digits = (size & 0x7FFFFFu) | 0x800000u;
  uint32_t lower, upper = 0;
  if (up < 0) {
    lower = up > -24 ? digits >> -up : 0;
  } else {
    lower = up < 32 ? digits << up : 0;
    upper = up >= 32 ? digits << (up - 32) : up > 0 ? digits >> (32 - up) : 0;
  }
  if (v < 0) upper = ~upper + (lower == 0), lower = 0u - lower;
  *low = (int32_t)lower;
  return (int32_t)upper;
}

/* Towards 0; out of bounds the end, of a NaN the lowest. What is below 0 wraps in types without a sign. */
static int32_t truncated(float v, int32_t type) {
  const int32_t low = type == VIREO_MCU_SIGNED_BYTE ? -128 : type == VIREO_MCU_SIGNED_HALF ? -32768 : INT32_MIN;
  const int32_t high = type == VIREO_MCU_SIGNED_BYTE   ? 127
                       : type == VIREO_MCU_SIGNED_HALF ? 32767
                       : type == VIREO_MCU_BYTE        ? 255
                       : type == VIREO_MCU_HALF        ? 65535
                                                       : INT32_MAX;
  if (!(v > -2147483648.0f)) return v != v && (type == VIREO_MCU_BYTE || type == VIREO_MCU_HALF) ? 0 : low;
  if (v >= 2147483648.0f) return high;
  const int32_t whole = (int32_t)v;
  return whole < low ? low : whole > high ? high : whole;
}

void vireo_mcu_cast_run(const vireo_mcu_cast* c, const void* x, void* y, vireo_mcu_units units) {
  const int32_t from = c->from, to = c->to;
  for (mcu_parts p = mcu_first_part(1, c->count, units); p.left != 0; mcu_next_part(&p)) {
    for (int32_t i = p.from, end = p.from + mcu_part_count(&p); i != end; ++i) {
      int32_t v = load(from, x, i), upper = from == VIREO_MCU_LONG ? ((const int32_t*)x)[2 * i + 1] : v >> 31;
      if (from == VIREO_MCU_WORD) upper = 0;
      if (to == VIREO_MCU_BOOL) {
        v = from == VIREO_MCU_REAL ? (v & INT32_MAX) != 0 : (v | (from == VIREO_MCU_LONG ? upper : 0)) != 0;
        upper = 0;
      } else if (to == VIREO_MCU_REAL && from != VIREO_MCU_REAL) {
        /* Both words of 16 bits are exact, and their sum is rounded once. */
        const float real = from == VIREO_MCU_LONG   ? real_of_long((uint32_t)v, upper)
                           : from == VIREO_MCU_WORD ? (float)(v >> 16 & 0xFFFF) * 65536.0f + (float)(v & 0xFFFF)
                                                    : (float)v;
        v = (int32_t)mcu_bits(real);
      } else if (from == VIREO_MCU_REAL && to != VIREO_MCU_REAL) {
        float real;
        memcpy(&real, &v, 4);
        if (to == VIREO_MCU_LONG) {
          upper = long_of_real(real, &v);
        } else {
          v = truncated(real, to);
        }
      }
      if (to == VIREO_MCU_LONG) {
        ((int32_t*)y)[2 * i] = v, ((int32_t*)y)[2 * i + 1] = upper;
      } else {
        store(to, y, i, (uint32_t)v);
      }
    }
  }
}

/* A number that is in the order of the elements, also of float32: those below 0 have their other bits turned. */
static int32_t order_of(int32_t type, int32_t v, int least) {
  if (type == VIREO_MCU_REAL) {
    const uint32_t size = (uint32_t)v & INT32_MAX;
    if (size > 0x7F800000u) return INT32_MAX; /* a NaN */
    v = v < 0 ? -(int32_t)size : v;
  }
  return least ? ~v : v;
}

void vireo_mcu_greatest_run(const vireo_mcu_greatest* g, const void* x, uint32_t* y, vireo_mcu_units units) {
  const uint32_t lines = (uint32_t)g->outer * (uint32_t)g->inner, end = units.to < lines ? units.to : lines;
  const int32_t type = g->type, step = g->inner;
  for (uint32_t line = units.from; line < end; ++line) {
    const int32_t outer = mcu_divide((int32_t)line, step);
    int32_t at = outer * g->axis * step + (int32_t)line - outer * step, where = 0;
    int32_t most = order_of(type, load(type, x, at), g->least);
    for (int32_t i = 1; i < g->axis; ++i) {
      at += step;
      const int32_t v = order_of(type, load(type, x, at), g->least);
      if (v > most || (v == most && g->last)) most = v, where = i;
    }
    y[2 * line] = (uint32_t)where, y[2 * line + 1] = 0;
  }
}
