/* Convolutions and matrix products as records. Operands: x, w, multipliers, bias, zero points of w, y, scratch. */
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/plan/call.h"

enum { kWritten = 1 << 5 | 1 << 6, kOptional = 1 << 3 | 1 << 4, kWords = 1 << 2 | 1 << 3, kScratch = 1 << 6 };

static int needs_of_conv(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_conv* const c = (const vireo_mcu_conv*)parameters;
  if (!vireo_mcu_conv_needs(c, bytes)) return 0;
  bytes[6] = vireo_mcu_conv_scratch(c);
  return 1;
}
static uint32_t units_of_conv(const void* parameters) {
  return vireo_mcu_conv_units((const vireo_mcu_conv*)parameters);
}
static void run_conv(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_conv_run_units((const vireo_mcu_conv*)parameters, o[0], o[1], o[2], o[3], o[4], o[5], o[6], units);
}
const vireo_mcu_kernel vireo_mcu_conv_kernel = {
    needs_of_conv, units_of_conv, run_conv, sizeof(vireo_mcu_conv), 7, kWritten, kOptional, kWords, kScratch};

static int needs_of_gemm(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_gemm* const g = (const vireo_mcu_gemm*)parameters;
  if (!mcu_are_codes(&g->codes) || !mcu_are_between(&g->m, 2, 1, 1 << 20) || !mcu_are_between(&g->k, 1, 1, 32768))
    return 0;
  const uint32_t m = (uint32_t)g->m, n = (uint32_t)g->n, k = (uint32_t)g->k;
  bytes[0] = mcu_times(m, k);
  bytes[1] = mcu_times(k, n);
  bytes[5] = mcu_times(m, n);
  if (bytes[0] > VIREO_PLAN_MOST || bytes[1] > VIREO_PLAN_MOST || bytes[5] > VIREO_PLAN_MOST) return 0;
  if (g->b_nibbles) bytes[1] = (bytes[1] + 1) / 2;
  bytes[2] = g->one_multiplier ? 4 : n * 4;
  bytes[3] = n * 4;
  bytes[4] = g->one_b_zero ? 1 : n;
  bytes[6] = vireo_mcu_gemm_scratch(g);
  return 1;
}
static uint32_t units_of_gemm(const void* parameters) {
  return vireo_mcu_gemm_units((const vireo_mcu_gemm*)parameters);
}
static void run_gemm(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_gemm_run_units((const vireo_mcu_gemm*)parameters, o[0], o[1], o[2], o[3], o[4], o[5], o[6], units);
}
const vireo_mcu_kernel vireo_mcu_gemm_kernel = {
    needs_of_gemm, units_of_gemm, run_gemm, sizeof(vireo_mcu_gemm), 7, kWritten, kOptional, kWords, kScratch};
