#include "delegates/mcu/kernels/codes.h"

#include "delegates/mcu/kernels/lanes.h"

MCU_INLINE int32_t code(uint8_t byte, uint8_t flip) { return (int8_t)(uint8_t)(byte ^ flip); }

void vireo_mcu_add(const vireo_mcu_binary* f, const uint8_t* a, const uint8_t* b, uint8_t* y) {
  const int32_t a_zero = code(f->a_zero, f->a_flip), b_zero = code(f->b_zero, f->b_flip);
  const int32_t a_step = f->a_step, b_step = f->b_step;
  const uint8_t a_flip = f->a_flip, b_flip = f->b_flip;
  const float ma = f->a_multiplier, mb = f->b_multiplier;
  const vireo_mcu_codes codes = f->codes;
  for (int32_t r = 0; r < f->rows; ++r, a += f->a_row, b += f->b_row) {
    const uint8_t *pa = a, *pb = b;
    for (const uint8_t* const end = y + f->columns; y != end; pa += a_step, pb += b_step) {
      const float u = (float)(code(*pa, a_flip) - a_zero) * ma, v = (float)(code(*pb, b_flip) - b_zero) * mb;
      *y++ = (uint8_t)mcu_to_code(mcu_round(u + v), &codes);
    }
  }
}

void vireo_mcu_mul(const vireo_mcu_binary* f, const uint8_t* a, const uint8_t* b, uint8_t* y) {
  const int32_t a_zero = code(f->a_zero, f->a_flip), b_zero = code(f->b_zero, f->b_flip);
  for (int32_t r = 0; r < f->rows; ++r, a += f->a_row, b += f->b_row) {
    const uint8_t *pa = a, *pb = b;
    for (const uint8_t* const end = y + f->columns; y != end; pa += f->a_step, pb += f->b_step) {
      const int32_t product = (code(*pa, f->a_flip) - a_zero) * (code(*pb, f->b_flip) - b_zero);
      *y++ = (uint8_t)mcu_requantize(product, f->a_multiplier, &f->codes);
    }
  }
}

void vireo_mcu_table(const uint8_t* table, const uint8_t* x, int32_t count, uint8_t* y) {
  for (const uint8_t* const end = x + count; x != end; ++x, ++y) *y = table[*x];
}

void vireo_mcu_softmax_run(const vireo_mcu_softmax* s, const uint8_t* x, const int32_t* table, uint8_t* y) {
  const int32_t step = s->inner, line = s->axis * s->inner;
  for (int32_t o = 0; o < s->outer; ++o, x += line, y += line) {
    for (int32_t i = 0; i < s->inner; ++i) {
      int32_t most = -128;
      uint32_t sum = 0;
      for (int32_t k = i; k < line; k += step) {
        const int32_t v = code(x[k], s->x_flip);
        most = v > most ? v : most;
      }
      for (int32_t k = i; k < line; k += step) sum += (uint32_t)table[most - code(x[k], s->x_flip)];
      const float q = s->multiplier / (float)sum;
      for (int32_t k = i; k < line; k += step)
        y[k] = (uint8_t)mcu_to_code(mcu_round((float)table[most - code(x[k], s->x_flip)] * q), &s->codes);
    }
  }
}

void vireo_mcu_quantize(const float* x, int32_t count, float scale, const vireo_mcu_codes* all, uint8_t* y) {
#if VIREO_MCU_FPU
  const vireo_mcu_codes own = *all, *const codes = &own; /* a copy: a store of a byte might change *all */
#else
  const vireo_mcu_codes* const codes = all;
#endif
  const float* const end = x + count;
#if VIREO_MCU_MVE
  for (; end - x >= 4; x += 4, y += 4) { /* there is no division of vectors, but of the registers that make up one */
    register float32x4_t v __asm__("q0") = vld1q_f32(x);
    __asm__("vdiv.f32 s0, s0, %1\n vdiv.f32 s1, s1, %1\n vdiv.f32 s2, s2, %1\n vdiv.f32 s3, s3, %1"
            : "+w"(v)
            : "t"(scale));
    vstrbq_s32((int8_t*)y, vpselq_s32(mcu_four_to_codes(v, codes), vdupq_n_s32(codes->low), vcmpeqq_f32(v, v)));
  }
#endif
  for (; x != end; ++x, ++y) {
#if VIREO_MCU_FPU
    const float v = *x / scale;
    *y = (uint8_t)(v != v ? codes->low : mcu_to_code(mcu_round(v), codes));
#else
    const uint32_t v = mcu_bits(*x);
    *y = (uint8_t)((v & 0x7FFFFFFFu) > 0x7F800000u ? codes->low
                                                   : mcu_to_code(vireo_mcu_divide_reals(v, mcu_bits(scale)), codes));
#endif
  }
}

void vireo_mcu_dequantize(const uint8_t* x, int32_t count, uint8_t flip, uint8_t zero, float scale, float* y) {
  const int32_t z = code(zero, flip);
  for (const uint8_t* const end = x + count; x != end; ++x, ++y) {
#if VIREO_MCU_FPU
    *y = (float)(code(*x, flip) - z) * scale;
#else
    const uint32_t v = vireo_mcu_times_real(code(*x, flip) - z, mcu_bits(scale));
    memcpy(y, &v, 4);
#endif
  }
}
