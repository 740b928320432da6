/* Products of codes of 16 bits as records. Operands: x, w, multipliers, bias, zero points of w, y, scratch. */
#include "delegates/mcu/kernels/wide.h"
#include "delegates/mcu/plan/call.h"

enum {
  kWritten = 1 << 5 | 1 << 6,
  kOptional = 1 << 3 | 1 << 4,
  kWords = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5,
  kScratch = 1 << 6
};

static uint32_t bytes_of(uint32_t elements, uint8_t type) { return mcu_times(elements, type >= VIREO_MCU_I16 ? 2 : 1); }
static int are_types(uint8_t x, uint8_t y) { return x <= VIREO_MCU_U16 && y <= VIREO_MCU_U16; }
/* Within 16 bits, signed or not. */
static int are_codes(const vireo_mcu_codes* c, int32_t x_zero) {
  return c->low >= -32768 && c->low <= c->high && c->high <= 65535 && c->zero >= -65536 && c->zero <= 65536 &&
         x_zero >= -65536 && x_zero <= 65536;
}

static int needs_of_conv(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_conv_wide* const c = (const vireo_mcu_conv_wide*)parameters;
  const uint32_t most = 1 << 14;
  /* From `batch` to `dilation`, then `pad`. */
  if (!mcu_are_between(&c->batch, 14, 1, most) || !mcu_are_between(c->pad, 2, 0, most) ||
      !are_codes(&c->codes, c->x_zero) || !are_types(c->x_type, c->y_type))
    return 0;
  for (int i = 0; i < 2; ++i) {
    if (mcu_times((uint32_t)c->kernel[i], (uint32_t)c->dilation[i]) > most ||
        mcu_times((uint32_t)c->out[i], (uint32_t)c->stride[i]) > most)
      return 0;
  }
  const uint32_t k = mcu_times((uint32_t)c->in_channels, (uint32_t)(c->kernel[0] * c->kernel[1]));
  const uint32_t channels = mcu_times((uint32_t)c->groups, (uint32_t)c->out_channels);
  const uint32_t planes = mcu_times((uint32_t)c->batch, (uint32_t)c->groups);
  if (k > 32768) return 0;
  bytes[0] =
      bytes_of(mcu_times(mcu_times(planes, (uint32_t)c->in_channels), (uint32_t)(c->in[0] * c->in[1])), c->x_type);
  bytes[1] = mcu_times(channels, k);
  bytes[2] = c->one_multiplier ? 4 : mcu_times(channels, 4);
  bytes[3] = mcu_times(channels, 4);
  bytes[4] = c->one_w_zero ? 1 : channels;
  bytes[5] =
      bytes_of(mcu_times(mcu_times(planes, (uint32_t)c->out_channels), (uint32_t)(c->out[0] * c->out[1])), c->y_type);
  bytes[6] = vireo_mcu_conv_wide_scratch(c);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST && bytes[3] <= VIREO_PLAN_MOST &&
         bytes[5] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_conv(const void* parameters) {
  return vireo_mcu_conv_wide_units((const vireo_mcu_conv_wide*)parameters);
}
static void run_conv(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_conv_wide_run((const vireo_mcu_conv_wide*)parameters, o[0], o[1], o[2], o[3], o[4], o[5], o[6], units);
}
const vireo_mcu_kernel vireo_mcu_conv_wide_kernel = {
    needs_of_conv, units_of_conv, run_conv, sizeof(vireo_mcu_conv_wide), 7, kWritten, kOptional, kWords, kScratch};

static int needs_of_gemm(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_gemm_wide* const g = (const vireo_mcu_gemm_wide*)parameters;
  if (!mcu_are_between(&g->m, 2, 1, 1 << 20) || !mcu_are_between(&g->k, 1, 1, 32768) ||
      !are_codes(&g->codes, g->a_zero) || !are_types(g->a_type, g->y_type))
    return 0;
  const uint32_t m = (uint32_t)g->m, n = (uint32_t)g->n, k = (uint32_t)g->k;
  bytes[0] = bytes_of(mcu_times(m, k), g->a_type);
  bytes[1] = mcu_times(k, n);
  bytes[2] = g->one_multiplier ? 4 : n * 4;
  bytes[3] = n * 4;
  bytes[4] = g->one_b_zero ? 1 : n;
  bytes[5] = bytes_of(mcu_times(m, n), g->y_type);
  bytes[6] = vireo_mcu_gemm_wide_scratch(g);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST && bytes[5] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_gemm(const void* parameters) {
  return vireo_mcu_gemm_wide_units((const vireo_mcu_gemm_wide*)parameters);
}
static void run_gemm(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_gemm_wide_run((const vireo_mcu_gemm_wide*)parameters, o[0], o[1], o[2], o[3], o[4], o[5], o[6], units);
}
const vireo_mcu_kernel vireo_mcu_gemm_wide_kernel = {
    needs_of_gemm, units_of_gemm, run_gemm, sizeof(vireo_mcu_gemm_wide), 7, kWritten, kOptional, kWords, kScratch};
