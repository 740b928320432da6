#include "delegates/mcu/kernels/picks.h"

#include <string.h>

#include "delegates/mcu/kernels/parts.h"

static void fill_row(const vireo_mcu_pick* p, uint8_t* to) {
  for (int32_t i = 0; i < p->row_bytes; i += p->element_bytes) memcpy(to + i, p->fill, p->element_bytes);
}

void vireo_mcu_pick_run(const vireo_mcu_pick* p, const void* x, const int32_t* table, void* y, vireo_mcu_units units) {
  const uint32_t all = (uint32_t)p->outer * (uint32_t)p->count, end = units.to < all ? units.to : all;
  const int32_t bytes = p->row_bytes, words = p->index_words;
  int32_t outer = mcu_divide((int32_t)units.from, p->count), at = (int32_t)units.from - outer * p->count;
  const uint8_t* from = (const uint8_t*)x + outer * p->axis * bytes;
  uint8_t* to = (uint8_t*)y + (int32_t)units.from * bytes;
  for (uint32_t u = units.from; u < end; ++u, to += bytes) {
    int32_t row = table[at * words];
    /* An int64 beyond 32 bits is outside. */
    if (words == 2 && table[at * 2 + 1] != (row < 0 ? -1 : 0)) row = INT32_MAX;
    if (row < 0 && p->wraps) row += p->axis;
    if ((uint32_t)row >= (uint32_t)p->axis) {
      fill_row(p, to);
    } else if (bytes == 4) {
      mcu_store(to, mcu_load(from + row * 4));
    } else {
      memcpy(to, from + row * bytes, (uint32_t)bytes);
    }
    if (++at == p->count) at = 0, from += p->axis * bytes;
  }
}

void vireo_mcu_choose_run(const vireo_mcu_choose* c, const uint8_t* condition, const void* a, const void* b, void* y,
                          vireo_mcu_units units) {
  const int32_t size = c->element_bytes;
  const void* const sides[2] = {a, b};
  for (mcu_parts p = mcu_first_part(c->rows, c->columns, units); p.left != 0; mcu_next_part(&p)) {
    const int32_t count = mcu_part_count(&p);
    int32_t at[3], to = p.row * c->columns + p.from;
    for (int k = 0; k < 3; ++k) at[k] = p.row * c->row[k] + p.from * c->step[k];
    for (const int32_t last = to + count; to != last; ++to) {
      const int side = condition[at[0]] != 0 ? 1 : 2;
      const uint8_t* const from = (const uint8_t*)sides[side - 1] + at[side] * size;
      uint8_t* const out = (uint8_t*)y + to * size;
      if (size == 4) {
        mcu_store(out, mcu_load(from));
      } else {
        memcpy(out, from, (uint32_t)size);
      }
      for (int k = 0; k < 3; ++k) at[k] += c->step[k];
    }
  }
}
