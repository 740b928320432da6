/* The innermost loops of product.c for each kind of core but those with vectors: sums of a tile, into a0, a1.. of the
 * first channel of a pair and b0, b1.. of the second, which come in with the biases. Private to product.c. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_TILE_SUMS_H_
#define VIREO_DELEGATES_MCU_KERNELS_TILE_SUMS_H_

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/product.h"

#if VIREO_MCU_LANES
#if VIREO_MCU_DSP && defined(__OPTIMIZE__)
/* 11 instructions for 16 products. They take all 14 registers, so the end of the loop waits on the stack. */
#define STEP                                                          \
  "ldrd %[u], %[v], [%[w]], #8\n ldrd %[s], %[t], [%[x]], #8\n"       \
  "smlad %[a0], %[s], %[u], %[a0]\n smlad %[b0], %[s], %[v], %[b0]\n" \
  "smlad %[a1], %[t], %[u], %[a1]\n smlad %[b1], %[t], %[v], %[b1]\n" \
  "ldrd %[s], %[t], [%[x]], #8\n"                                     \
  "smlad %[a2], %[s], %[u], %[a2]\n smlad %[b2], %[s], %[v], %[b2]\n" \
  "smlad %[a3], %[t], %[u], %[a3]\n smlad %[b3], %[t], %[v], %[b3]\n"
/* An odd step first, then two at a time. */
#define SUM_TILE(xp, wp, steps)                                                                                    \
  do {                                                                                                             \
    uint32_t u, v, s = (uint32_t)(wp + 4 * (steps)), t = (uint32_t)(steps)&1;                                      \
    __asm__ volatile(                                                                                              \
        "push {%[s]}\n cbz %[t], 1f\n" STEP STEP                                                                   \
        "ldr %[s], [sp]\n cmp %[w], %[s]\n beq 2f\n"                                                               \
        "1:\n" STEP STEP STEP STEP "ldr %[s], [sp]\n cmp %[w], %[s]\n bne 1b\n2:\n add sp, #4\n"                   \
        : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0), [b1] "+r"(b1), [b2] "+r"(b2), \
          [b3] "+r"(b3), [x] "+r"(xp), [w] "+r"(wp), [u] "=&r"(u), [v] "=&r"(v), [s] "+r"(s), [t] "+l"(t)          \
        :                                                                                                          \
        : "cc", "memory");                                                                                         \
  } while (0)
#else
#define SUM_TILE(xp, wp, steps)                                       \
  do {                                                                \
    for (int32_t i_ = 0; i_ < 2 * (steps); ++i_, xp += 4, wp += 2) {  \
      a0 = mcu_dot(xp[0], wp[0], a0), b0 = mcu_dot(xp[0], wp[1], b0); \
      a1 = mcu_dot(xp[1], wp[0], a1), b1 = mcu_dot(xp[1], wp[1], b1); \
      a2 = mcu_dot(xp[2], wp[0], a2), b2 = mcu_dot(xp[2], wp[1], b2); \
      a3 = mcu_dot(xp[3], wp[0], a3), b3 = mcu_dot(xp[3], wp[1], b3); \
    }                                                                 \
  } while (0)
#endif
#endif

#if !VIREO_MCU_LANES
#if VIREO_MCU_TILE == 4
#if defined(__thumb2__) && defined(__OPTIMIZE__) && !defined(__clang__)
#define SUM_FOURS_HERE 1
/* 59 instructions for 32 products. They take all 14 registers, so the end of the loop waits on the stack. */
#define MCU_ONE                                                                            \
  "ldrsb %[u], [%[c]], #1\n ldrsb %[v], [%[d]], #1\n"                                      \
  "ldrsh %[t], [%[x]], #2\n mla %[a0], %[t], %[u], %[a0]\n mla %[b0], %[t], %[v], %[b0]\n" \
  "ldrsh %[t], [%[x]], #2\n mla %[a1], %[t], %[u], %[a1]\n mla %[b1], %[t], %[v], %[b1]\n" \
  "ldrsh %[t], [%[x]], #2\n mla %[a2], %[t], %[u], %[a2]\n mla %[b2], %[t], %[v], %[b2]\n" \
  "ldrsh %[t], [%[x]], #2\n mla %[a3], %[t], %[u], %[a3]\n mla %[b3], %[t], %[v], %[b3]\n"
#define SUM_FOURS(x_, u_, v_, end_)                                                                                   \
  do {                                                                                                                \
    int32_t t = (int32_t)(uintptr_t)(end_), u, v;                                                                     \
    __asm__ volatile(                                                                                                 \
        "push {%[t]}\n1:\n" MCU_ONE MCU_ONE MCU_ONE MCU_ONE "ldr %[t], [sp]\n cmp %[c], %[t]\n bne 1b\n add sp, #4\n" \
        : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0), [b1] "+r"(b1), [b2] "+r"(b2),    \
          [b3] "+r"(b3), [x] "+r"(x_), [c] "+r"(u_), [d] "+r"(v_), [t] "+r"(t), [u] "=&r"(u), [v] "=&r"(v)            \
        :                                                                                                             \
        : "cc", "memory");                                                                                            \
  } while (0)
#else
#define SUM_FOURS_HERE 0
#endif
#define SUM_STEP(x_, u_, v_)                                       \
  do {                                                             \
    const int32_t u = (u_), v = (v_);                              \
    int32_t x = (x_)[0];                                           \
    a0 += (uint32_t)(x * u), b0 += (uint32_t)(x * v), x = (x_)[1]; \
    a1 += (uint32_t)(x * u), b1 += (uint32_t)(x * v), x = (x_)[2]; \
    a2 += (uint32_t)(x * u), b2 += (uint32_t)(x * v), x = (x_)[3]; \
    a3 += (uint32_t)(x * u), b3 += (uint32_t)(x * v);              \
  } while (0)
#else
#if defined(__ARM_ARCH_6M__) && defined(__OPTIMIZE__) && !defined(__clang__)
#define SUM_FOURS_HERE 1
/* 62 instructions for 16 products: a word is both positions; sums are in the upper registers, which can be added to; a
 * product destroys a factor. `to_v`: from a weight of the first channel to the second's. */
#define MCU_ONE                                                                                                      \
  "ldmia %[x]!, {%[t]}\n ldrsb %[u], [%[w], %[z]]\n ldrsb %[v], [%[w], %[d]]\n sxth %[s], %[t]\n"                    \
  "muls %[s], %[u]\n add %[a0], %[s]\n sxth %[s], %[t]\n muls %[s], %[v]\n add %[b0], %[s]\n asrs %[t], %[t], #16\n" \
  "muls %[u], %[t]\n add %[a1], %[u]\n muls %[v], %[t]\n add %[b1], %[v]\n adds %[w], #1\n"
#define SUM_FOURS(x_, w_, to_v, end_)                                                                          \
  do {                                                                                                         \
    int32_t s_, t_, u_, v_;                                                                                    \
    __asm__ volatile(".syntax unified\n1:\n" MCU_ONE MCU_ONE MCU_ONE MCU_ONE "cmp %[w], %[end]\n bne 1b\n"     \
                     : [a0] "+h"(a0), [a1] "+h"(a1), [b0] "+h"(b0), [b1] "+h"(b1), [x] "+l"(x_), [w] "+l"(w_), \
                       [s] "=&l"(s_), [t] "=&l"(t_), [u] "=&l"(u_), [v] "=&l"(v_)                              \
                     : [z] "l"(0), [d] "l"(to_v), [end] "h"(end_)                                              \
                     : "cc", "memory");                                                                        \
  } while (0)
#else
#define SUM_FOURS_HERE 0
#endif
#define SUM_STEP(x_, u_, v_)                                      \
  do {                                                            \
    const int32_t u = (u_), v = (v_), x0 = (x_)[0], x1 = (x_)[1]; \
    a0 += (uint32_t)(x0 * u), a1 += (uint32_t)(x1 * u);           \
    b0 += (uint32_t)(x0 * v), b1 += (uint32_t)(x1 * v);           \
  } while (0)
#endif
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_TILE_SUMS_H_ */
