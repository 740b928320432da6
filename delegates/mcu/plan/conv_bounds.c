#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/plan/call.h"

static int is_in(int32_t v, int32_t low, int32_t high) { return v >= low && v <= high; }

/* Sizes within which no kernel leaves 32 bits or its operands. */
int vireo_mcu_conv_needs(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_conv* const c = (const vireo_mcu_conv*)parameters;
  const int32_t most = 1 << 14;
  if (!mcu_are_codes(&c->codes) || !is_in(c->batch, 1, most) || !is_in(c->groups, 1, most) ||
      !is_in(c->in_channels, 1, most) || !is_in(c->out_channels, 1, most))
    return 0;
  for (int i = 0; i < 2; ++i) {
    if (!is_in(c->in[i], 1, most) || !is_in(c->out[i], 1, most) || !is_in(c->kernel[i], 1, most) ||
        !is_in(c->stride[i], 1, most) || !is_in(c->dilation[i], 1, most))
      return 0;
    if (mcu_times((uint32_t)c->kernel[i], (uint32_t)c->dilation[i]) > (uint32_t)most ||
        mcu_times((uint32_t)c->out[i], (uint32_t)c->stride[i]) > (uint32_t)most || !is_in(c->pad[i], 0, most))
      return 0;
  }
  const uint32_t plane_in = (uint32_t)(c->in[0] * c->in[1]), plane_out = (uint32_t)(c->out[0] * c->out[1]);
  const uint32_t k = mcu_times((uint32_t)c->in_channels, (uint32_t)(c->kernel[0] * c->kernel[1]));
  const uint32_t channels = mcu_times((uint32_t)c->groups, (uint32_t)c->out_channels);
  const uint32_t x = mcu_times(mcu_times((uint32_t)c->batch, (uint32_t)(c->groups * c->in_channels)), plane_in);
  const uint32_t y = mcu_times(mcu_times((uint32_t)c->batch, channels), plane_out);
  const uint32_t w = mcu_times(channels, k);
  if (k > 32768 || x > VIREO_PLAN_MOST || y > VIREO_PLAN_MOST || w > VIREO_PLAN_MOST) return 0;
  bytes[0] = x;
  bytes[1] = c->w_nibbles ? (w + 1) / 2 : w;
  bytes[2] = c->one_multiplier ? 4 : channels * 4;
  bytes[3] = channels * 4;
  bytes[4] = c->one_w_zero ? 1 : channels;
  bytes[5] = y;
  return 1;
}
