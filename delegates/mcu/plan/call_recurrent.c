/* LSTM, GRU and RNN as records. Operands: x, weights, first h, first c, y, state, scratch. */
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/plan/call.h"

/* Bytes that `counts` of places with `steps` span, `last` elements behind each; above the most where they are out. */
static uint32_t span_of(const int32_t* counts, const int32_t* steps, int axes, int32_t last) {
  uint32_t end = (uint32_t)last;
  for (int a = 0; a < axes; ++a) {
    const uint32_t far = mcu_times((uint32_t)counts[a] - 1, (uint32_t)steps[a]);
    if (far > VIREO_PLAN_MOST / 4) return VIREO_PLAN_MOST + 1;
    end += far;
  }
  return mcu_times(end, 4);
}

static int needs(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_recurrent* const r = (const vireo_mcu_recurrent*)parameters;
  const uint32_t most = 1 << 20;
  if (!mcu_are_between(&r->cell, 1, 0, VIREO_MCU_RNN) || !mcu_are_between(&r->directions, 1, 1, 2) ||
      !mcu_are_between(&r->batch, 4, 1, most) || !mcu_are_between(&r->x_step, 7, 0, VIREO_PLAN_MOST / 4))
    return 0;
  const int32_t counts[] = {r->steps, r->batch, r->directions};
  const uint32_t rows = (uint32_t)(vireo_mcu_recurrent_gates(r) * r->hidden);
  const uint32_t columns = (uint32_t)(r->inputs + r->hidden + (r->has_bias ? 2 : 0));
  /* The cells' states begin where the others would end if they were dense. */
  const uint32_t states = mcu_times(mcu_times((uint32_t)r->directions, (uint32_t)r->batch), (uint32_t)r->hidden);
  bytes[0] = span_of(counts, &r->x_step, 2, r->inputs);
  bytes[1] = mcu_times(mcu_times(mcu_times(rows, columns), (uint32_t)r->directions), 4);
  bytes[2] = bytes[3] = span_of(counts + 1, &r->state_batch, 2, r->hidden);
  bytes[4] = span_of(counts, &r->y_step, 3, r->hidden);
  bytes[5] = r->cell == VIREO_MCU_LSTM ? mcu_times(states, 4) + bytes[2] : bytes[2];
  bytes[6] = mcu_times((uint32_t)r->hidden, 16);
  if (mcu_times(mcu_times((uint32_t)r->directions, (uint32_t)r->batch), (uint32_t)r->steps) > VIREO_PLAN_MOST) return 0;
  for (int i = 0; i < 7; ++i) {
    if (bytes[i] > VIREO_PLAN_MOST) return 0;
  }
  return 1;
}
static uint32_t units_of(const void* parameters) {
  return vireo_mcu_recurrent_units((const vireo_mcu_recurrent*)parameters);
}
static void run(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_recurrent_run((const vireo_mcu_recurrent*)parameters, o[0], o[1], o[2], o[3], o[4], o[5], o[6], units);
}
const vireo_mcu_kernel vireo_mcu_recurrent_kernel = {needs, units_of, run,   sizeof(vireo_mcu_recurrent), 7, 0x70,
                                                     0x1C,  0x7F,     1 << 6};
