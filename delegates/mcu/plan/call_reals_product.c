/* Float32 convolutions and matrix products as records. Operands: x, w, bias, y, scratch. */
#include "delegates/mcu/kernels/reals.h"
#include "delegates/mcu/plan/call.h"

enum { kWritten = 1 << 3 | 1 << 4, kOptional = 1 << 2, kWords = 15, kScratch = 1 << 4 };

static uint32_t padded(int32_t channels) { return ((uint32_t)channels + 3) & ~3u; }

/* All but the scratch memory. one_channel: filters are as the file has them, not packed by four. */
static int conv_needs(const vireo_mcu_conv_reals* c, int one_channel, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const uint32_t most = 1 << 14;
  /* From `batch` to `dilation`, then `pad`. */
  if (!mcu_are_between(&c->batch, 14, 1, most) || !mcu_are_between(c->pad, 2, 0, most)) return 0;
  for (int i = 0; i < 2; ++i) {
    if (mcu_times((uint32_t)c->kernel[i], (uint32_t)c->dilation[i]) > most ||
        mcu_times((uint32_t)c->out[i], (uint32_t)c->stride[i]) > most)
      return 0;
  }
  const uint32_t taps = (uint32_t)(c->kernel[0] * c->kernel[1]);
  const uint32_t k = mcu_times((uint32_t)c->in_channels, taps),
                 planes = mcu_times((uint32_t)c->batch, (uint32_t)c->groups);
  const uint32_t x = mcu_times(mcu_times(planes, (uint32_t)c->in_channels), (uint32_t)(c->in[0] * c->in[1]));
  const uint32_t y = mcu_times(mcu_times(planes, (uint32_t)c->out_channels), (uint32_t)(c->out[0] * c->out[1]));
  const uint32_t rows = one_channel ? (uint32_t)c->out_channels : padded(c->out_channels);
  const uint32_t w = mcu_times(mcu_times((uint32_t)c->groups, rows), k);
  if (k > 32768 || mcu_times(x, 4) > VIREO_PLAN_MOST || mcu_times(y, 4) > VIREO_PLAN_MOST ||
      mcu_times(w, 4) > VIREO_PLAN_MOST)
    return 0;
  bytes[0] = x * 4;
  bytes[1] = w * 4;
  bytes[2] = (uint32_t)(c->groups * c->out_channels) * 4;
  bytes[3] = y * 4;
  return 1;
}

static int needs_of_conv(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_conv_reals* const c = (const vireo_mcu_conv_reals*)parameters;
  if (!conv_needs(c, 0, bytes)) return 0;
  bytes[4] = vireo_mcu_conv_reals_scratch(c);
  return 1;
}
static uint32_t units_of_conv(const void* parameters) {
  return vireo_mcu_conv_reals_units((const vireo_mcu_conv_reals*)parameters);
}
static void run_conv(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_conv_reals_run((const vireo_mcu_conv_reals*)parameters, o[0], o[1], o[2], o[3], o[4], units);
}
const vireo_mcu_kernel vireo_mcu_conv_reals_kernel = {
    needs_of_conv, units_of_conv, run_conv, sizeof(vireo_mcu_conv_reals), 5, kWritten, kOptional, kWords, kScratch};

static int needs_of_depthwise(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_conv_reals* const c = (const vireo_mcu_conv_reals*)parameters;
  if (!conv_needs(c, 1, bytes) || c->in_channels != 1) return 0;
  bytes[4] = vireo_mcu_depthwise_reals_scratch(c);
  return 1;
}
static uint32_t units_of_depthwise(const void* parameters) {
  return vireo_mcu_depthwise_reals_units((const vireo_mcu_conv_reals*)parameters);
}
static void run_depthwise(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_depthwise_reals_run((const vireo_mcu_conv_reals*)parameters, o[0], o[1], o[2], o[3], o[4], units);
}
const vireo_mcu_kernel vireo_mcu_depthwise_reals_kernel = {needs_of_depthwise,
                                                           units_of_depthwise,
                                                           run_depthwise,
                                                           sizeof(vireo_mcu_conv_reals),
                                                           5,
                                                           kWritten,
                                                           kOptional,
                                                           kWords,
                                                           kScratch};

static int needs_of_gemm(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_gemm_reals* const g = (const vireo_mcu_gemm_reals*)parameters;
  if (!mcu_are_between(&g->m, 2, 1, 1 << 20) || !mcu_are_between(&g->k, 1, 1, 32768)) return 0;
  const uint32_t m = (uint32_t)g->m, n = (uint32_t)g->n, k = (uint32_t)g->k * 4;
  bytes[0] = mcu_times(m, k);
  bytes[1] = mcu_times(k, padded(g->n));
  bytes[2] = n * 4;
  bytes[3] = mcu_times(m, n * 4);
  bytes[4] = vireo_mcu_gemm_reals_scratch(g);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST && bytes[3] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_gemm(const void* parameters) {
  return vireo_mcu_gemm_reals_units((const vireo_mcu_gemm_reals*)parameters);
}
static void run_gemm(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_gemm_reals_run((const vireo_mcu_gemm_reals*)parameters, o[0], o[1], o[2], o[3], o[4], units);
}
const vireo_mcu_kernel vireo_mcu_gemm_reals_kernel = {
    needs_of_gemm, units_of_gemm, run_gemm, sizeof(vireo_mcu_gemm_reals), 5, kWritten, kOptional, kWords, kScratch};

/* Operands: a, b, y, scratch */
static int needs_of_matmul(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_matmul_reals* const g = (const vireo_mcu_matmul_reals*)parameters;
  const uint32_t most = VIREO_PLAN_MOST / 4;
  if (!mcu_are_between(&g->batch, 3, 1, 1 << 20) || !mcu_are_between(&g->k, 1, 1, 32768) ||
      !mcu_are_between(&g->a_step, 2, 0, most))
    return 0;
  const uint32_t m = (uint32_t)g->m, n = (uint32_t)g->n, k = (uint32_t)g->k, items = (uint32_t)g->batch;
  const uint32_t a = mcu_times(items - 1, (uint32_t)g->a_step), b = mcu_times(items - 1, (uint32_t)g->b_step);
  const uint32_t a_last = mcu_times(m, k), b_last = mcu_times(k, padded(g->n)), y = mcu_times(items, mcu_times(m, n));
  if (a > most || b > most || a_last > most || b_last > most || y > most || a + a_last > most || b + b_last > most)
    return 0;
  bytes[0] = (a + a_last) * 4;
  bytes[1] = (b + mcu_times(k, n)) * 4;
  bytes[2] = y * 4;
  bytes[3] = vireo_mcu_matmul_reals_scratch(g);
  return 1;
}
static uint32_t units_of_matmul(const void* parameters) {
  return vireo_mcu_matmul_reals_units((const vireo_mcu_matmul_reals*)parameters);
}
static void run_matmul(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_matmul_reals_run((const vireo_mcu_matmul_reals*)parameters, o[0], o[1], o[2], o[3], units);
}
const vireo_mcu_kernel vireo_mcu_matmul_reals_kernel = {
    needs_of_matmul, units_of_matmul, run_matmul, sizeof(vireo_mcu_matmul_reals), 4, 1 << 2 | 1 << 3, 0, 7, 1 << 3};
