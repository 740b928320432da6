/* Filters over one plane each as records. Operands as of a convolution (call_product.c). */
#include "delegates/mcu/kernels/depthwise.h"
#include "delegates/mcu/plan/call.h"

enum { kWritten = 1 << 5 | 1 << 6, kOptional = 1 << 3 | 1 << 4, kWords = 1 << 2 | 1 << 3, kScratch = 1 << 6 };

static int needs_of_depthwise(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_conv* const c = (const vireo_mcu_conv*)parameters;
  if (!vireo_mcu_conv_needs(c, bytes) || !vireo_mcu_is_depthwise(c) || c->w_nibbles) return 0;
  bytes[6] = vireo_mcu_depthwise_scratch(c);
  return 1;
}
static uint32_t units_of_depthwise(const void* parameters) {
  return vireo_mcu_depthwise_units((const vireo_mcu_conv*)parameters);
}
static void run_depthwise(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_depthwise_run_units((const vireo_mcu_conv*)parameters, o[0], o[1], o[2], o[3], o[4], o[5], o[6], units);
}
const vireo_mcu_kernel vireo_mcu_depthwise_kernel = {needs_of_depthwise,
                                                     units_of_depthwise,
                                                     run_depthwise,
                                                     sizeof(vireo_mcu_conv),
                                                     7,
                                                     kWritten,
                                                     kOptional,
                                                     kWords,
                                                     kScratch};
