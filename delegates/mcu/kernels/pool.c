#include "delegates/mcu/kernels/pool.h"

#include "delegates/mcu/kernels/pool_sums.h"

/* Taps of one output along an axis: those inside x, and how many when the padding counts. */
typedef struct {
  int32_t from, count, padded;
} taps;

static taps taps_of(const vireo_mcu_pool* p, int axis, int32_t o) {
  const int32_t first = o * p->stride[axis] - p->pad[axis], step = p->dilation[axis];
  const int32_t end = p->in[axis] + p->pad_end[axis];
  taps t = {0, 0, 0};
  for (int32_t k = 0; k < p->kernel[axis]; ++k) {
    const int32_t i = first + k * step;
    if (i < end) ++t.padded;
    if (i < 0 || i >= p->in[axis]) continue;
    if (t.count++ == 0) t.from = i;
  }
  return t;
}

static int32_t max_row(const uint8_t* x, int32_t step, int32_t count, uint8_t flip, int32_t most) {
  for (; count > 0; --count, x += step) {
    const int32_t v = (int8_t)(uint8_t)(*x ^ flip);
    most = v > most ? v : most;
  }
  return most;
}

enum { kChannelsOfUnit = 8 };
static uint32_t units_of_position(const vireo_mcu_pool* p) {
  return (uint32_t)(p->channels + kChannelsOfUnit - 1) / kChannelsOfUnit;
}
uint32_t vireo_mcu_pool_units(const vireo_mcu_pool* p) {
  return (uint32_t)(p->batch * p->out[0] * p->out[1]) * units_of_position(p);
}

void vireo_mcu_pool_run_units(const vireo_mcu_pool* p, const uint8_t* x, const float* m, uint8_t* y,
                              vireo_mcu_units units) {
  const int32_t plane = p->in[0] * p->in[1], out_plane = p->out[0] * p->out[1];
  const int32_t zero = (int8_t)(uint8_t)(p->x_zero ^ p->x_flip);
  const int32_t step = p->last ? p->channels : 1, to_channel = p->last ? 1 : out_plane, x_channel = p->last ? 1 : plane;
  const uint32_t of_position = units_of_position(p);
  uint32_t unit = 0; /* the first of a position */
  for (int32_t n = 0; n < p->batch; ++n) {
    for (int32_t oy = 0; oy < p->out[0]; ++oy) {
      const taps ty = taps_of(p, 0, oy);
      for (int32_t ox = 0; ox < p->out[1]; ++ox, unit += of_position) {
        if (unit + of_position <= units.from) continue;
        if (unit >= units.to) return;
        const taps tx = taps_of(p, 1, ox);
        const int32_t counted = ty.count * tx.count;
        /* A window over whole rows is one row. */
        const int whole = tx.count == p->in[1] && p->dilation[0] == 1 && p->dilation[1] == 1;
        const int32_t rows = whole ? 1 : ty.count, row = whole ? counted : tx.count;
        const int32_t across = step * p->dilation[1], down = step * p->in[1] * p->dilation[0];
        const uint8_t* from = x + (ty.from * p->in[1] + tx.from) * step;
        uint8_t* to = y + (oy * p->out[1] + ox) * step;
        const float mine = m == NULL ? 0
                                     : m[p->one_multiplier  ? 0
                                         : p->count_padding ? ty.padded * tx.padded
                                                            : counted];
        const int32_t first = units.from > unit ? (int32_t)(units.from - unit) * kChannelsOfUnit : 0;
        const int32_t end = units.to - unit < of_position ? (int32_t)(units.to - unit) * kChannelsOfUnit : p->channels;
        from += first * x_channel, to += first * to_channel;
        for (int32_t c = first; c < end; ++c, from += x_channel, to += to_channel) {
          const uint8_t* line = from;
          if (m != NULL) {
            int32_t sum = -zero * counted;
            for (int32_t i = 0; i < rows; ++i, line += down) sum += mcu_sum_row(line, across, row, p->x_flip);
            *to = (uint8_t)mcu_requantize(sum, mine, &p->codes);
          } else {
            int32_t most = -128;
            for (int32_t i = 0; i < rows; ++i, line += down) most = max_row(line, across, row, p->x_flip, most);
            *to = (uint8_t)most ^ p->x_flip;
          }
        }
      }
    }
    x += p->channels * plane;
    y += p->channels * out_plane;
  }
}

void vireo_mcu_average(const vireo_mcu_pool* p, const uint8_t* x, const float* m, uint8_t* y) {
  const vireo_mcu_units all = {0, VIREO_MCU_ALL_UNITS};
  vireo_mcu_pool_run_units(p, x, m, y, all);
}
void vireo_mcu_max(const vireo_mcu_pool* p, const uint8_t* x, uint8_t* y) { vireo_mcu_average(p, x, NULL, y); }
