/* The flat plan: a model as a microcontroller reads it, in place, from flash.
 *
 *   header | records | values | parameter blocks and constants, in the order in which they are first used
 *
 * All of it is little-endian and of fixed width. A record is one call of a kernel: the kernel's number, the offset of
 * its parameters, and where each operand lies. Parameters are the kernel's own struct (geometry resolved, no pointer
 * in it), so that nothing is decoded. Offsets count from the header, which is aligned to 4.
 *
 * Whoever opens a plan (vireo_mcu_open) trusts no byte of it. DESIGN.md has the forms that were weighed. */
#ifndef VIREO_DELEGATES_MCU_PLAN_PLAN_H_
#define VIREO_DELEGATES_MCU_PLAN_PLAN_H_

#include <stdint.h>

#define VIREO_PLAN_MAGIC 0x314E4C50u /* "PLN1" */
#define VIREO_PLAN_VERSION 3u        /* of everything here and of the parameters; a reader takes no other */

enum {
  VIREO_PLAN_OPERANDS = 7,   /* the most of a kernel */
  VIREO_PLAN_ALIGNMENT = 8,  /* of the arena */
  VIREO_PLAN_MOST = 1 << 28, /* bytes of the plan, and of the arena */
};

/* Where something lies: a region in the upper four bits, an offset in the others. */
#define VIREO_PLAN_IN_PLAN 0u
#define VIREO_PLAN_IN_ARENA 1u
#define VIREO_PLAN_ABSENT 0xFFFFFFFFu
#define VIREO_PLAN_SEGMENT 256u /* in place of a kernel's number: the record is a segment (strips.h) */
#define VIREO_PLAN_PLACE(region, offset) ((uint32_t)(region) << 28 | (uint32_t)(offset))
#define VIREO_PLAN_REGION(place) ((place) >> 28)
#define VIREO_PLAN_OFFSET(place) ((place)&0x0FFFFFFFu)

typedef struct {
  uint32_t magic;
  uint16_t version;
  uint16_t tile;  /* VIREO_MCU_TILE of the cores that it is for: scratch memory depends on it */
  uint32_t bytes; /* of the plan, constants included; a multiple of 4 */
  uint32_t arena_bytes;
  uint32_t model; /* a hash of what follows the header: which model this is */
  uint16_t records, inputs, outputs, reserved;
} vireo_plan_header;

typedef struct {
  uint16_t kernel;                        /* kernels.def, or VIREO_PLAN_SEGMENT */
  uint16_t cost;                          /* of a unit of its work, in 64 instructions, by whoever wrote the plan */
  uint32_t parameters;                    /* offset */
  uint32_t operands[VIREO_PLAN_OPERANDS]; /* places, as the kernel orders them */
} vireo_plan_record;

/* An input or output of the model; inputs first. */
typedef struct {
  uint32_t place; /* in the arena */
  uint32_t bytes;
} vireo_plan_value;

#endif /* VIREO_DELEGATES_MCU_PLAN_PLAN_H_ */
