#include "delegates/mcu/kernels/moves.h"

#include <string.h>

enum { kLast = VIREO_MCU_MOVE_AXES - 1 };

uint32_t vireo_mcu_move_units(const vireo_mcu_move* m) {
  uint32_t lines = 1;
  for (int a = 0; a < kLast; ++a) lines *= (uint32_t)m->dims[a];
  return lines;
}

void vireo_mcu_move_run(const vireo_mcu_move* m, const void* x, void* y, vireo_mcu_units units) {
  const uint32_t lines = vireo_mcu_move_units(m), end = units.to < lines ? units.to : lines;
  const int32_t count = m->dims[kLast], step = m->step[kLast];
  int32_t index[kLast], from = m->first, rest = (int32_t)units.from, to = (int32_t)units.from * count;
  for (int a = kLast - 1; a >= 0; --a) {
    const int32_t above = mcu_divide(rest, m->dims[a]);
    index[a] = rest - above * m->dims[a];
    from += index[a] * m->step[a];
    rest = above;
  }
  for (uint32_t line = units.from; line < end; ++line) {
    int32_t at = from;
    const int32_t last = to + count;
    if (m->element_bytes == 4) {
      for (; to != last; ++to, at += step) ((uint32_t*)y)[to] = ((const uint32_t*)x)[at];
    } else if (m->element_bytes == 2) {
      for (; to != last; ++to, at += step) ((uint16_t*)y)[to] = ((const uint16_t*)x)[at];
    } else {
      for (; to != last; ++to, at += step) ((uint8_t*)y)[to] = ((const uint8_t*)x)[at];
    }
    for (int a = kLast - 1; a >= 0; --a) {
      from += m->step[a];
      if (++index[a] != m->dims[a]) break;
      from -= m->dims[a] * m->step[a];
      index[a] = 0;
    }
  }
}

void vireo_mcu_join_run(const vireo_mcu_join* j, void* const x[VIREO_MCU_JOINED], void* y, vireo_mcu_units units) {
  const int32_t end = units.to < (uint32_t)j->rows ? (int32_t)units.to : j->rows;
  int32_t row = 0;
  for (int32_t i = 0; i < j->count; ++i) row += j->bytes[i];
  uint8_t* to = (uint8_t*)y + (int32_t)units.from * row;
  for (int32_t r = (int32_t)units.from; r < end; ++r) {
    for (int32_t i = 0; i < j->count; ++i) {
      memcpy(to, (const uint8_t*)x[i] + r * j->bytes[i], (uint32_t)j->bytes[i]);
      to += j->bytes[i];
    }
  }
}
