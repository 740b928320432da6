#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/plan/call.h"

/* Sizes within which no kernel leaves 32 bits or its operands. */
int vireo_mcu_conv_needs(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_conv* const c = (const vireo_mcu_conv*)parameters;
  const uint32_t most = 1 << 14;
  /* From `batch` to `dilation`, then `pad`. */
  if (!mcu_are_codes(&c->codes) || !mcu_are_between(&c->batch, 14, 1, most) || !mcu_are_between(c->pad, 2, 0, most))
    return 0;
  for (int i = 0; i < 2; ++i) {
    if (mcu_times((uint32_t)c->kernel[i], (uint32_t)c->dilation[i]) > most ||
        mcu_times((uint32_t)c->out[i], (uint32_t)c->stride[i]) > most)
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
