/* A kernel as the executor calls it. Private to this folder and to the table of what is linked. */
#ifndef VIREO_DELEGATES_MCU_PLAN_CALL_H_
#define VIREO_DELEGATES_MCU_PLAN_CALL_H_

#include <stdint.h>

#include "delegates/mcu/kernels/requantize.h"
#include "delegates/mcu/plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets of operands: bit i is operand i. */
typedef struct {
  /* Whether a run with these parameters is defined: then also the bytes that it touches of each operand, those of one
   * that may be absent as if it were there. Whatever the parameters are, they are only read. */
  int (*needs)(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]);
  /* How many units of work a run has, at least one. */
  uint32_t (*units)(const void* parameters);
  /* Some of them: all at once, or in their order, each once. */
  void (*run)(const void* parameters, void* const operands[VIREO_PLAN_OPERANDS], vireo_mcu_units units);
  uint16_t parameter_bytes;
  uint8_t operands; /* how many */
  uint8_t written;  /* results and scratch memory */
  uint8_t optional;
  uint8_t words; /* of 32 bits: aligned to 4; scratch memory to 8 */
  uint8_t scratch;
} vireo_mcu_kernel;

#define VIREO_MCU_KERNEL(number, name) extern const vireo_mcu_kernel vireo_mcu_##name##_kernel;
#include "delegates/mcu/plan/kernels.def"
#undef VIREO_MCU_KERNEL

/* `needs` of a vireo_mcu_conv but for its scratch memory. */
int vireo_mcu_conv_needs(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]);

/* The linked kernel of a number, or NULL. An image defines it for what its models need; linked.c has all. */
const vireo_mcu_kernel* vireo_mcu_kernel_of(uint32_t number);

/* Whether codes are within 8 bits. */
static inline int mcu_are_codes(const vireo_mcu_codes* c) {
  return c->low >= -128 && c->low <= c->high && c->high <= 255 && c->high - c->low <= 255 && c->zero >= -65536 &&
         c->zero <= 65536;
}

/* Whether `count` numbers that lie one behind the other are all from low to high. */
int mcu_are_between(const int32_t* numbers, uint32_t count, uint32_t low, uint32_t high);

/* a * b, at most VIREO_PLAN_MOST + 1: a chain of these says whether a size is in bounds. */
uint32_t mcu_times(uint32_t a, uint32_t b);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_PLAN_CALL_H_ */
