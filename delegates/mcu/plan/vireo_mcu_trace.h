/* What a run did, layer by layer, in a ring in RAM: for a debugger to read, or a program to send. Nothing is printed.
 *
 * Compiled with -DVIREO_MCU_TRACE=1; otherwise it is not there. One ring serves all sessions, so only one may run at a
 * time. `vireo trace` compares what it holds with the values of the workstation that converted the model. */
#ifndef VIREO_MCU_TRACE_H_
#define VIREO_MCU_TRACE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VIREO_MCU_TRACE
#define VIREO_MCU_TRACE 0
#endif
#ifndef VIREO_MCU_TRACE_ENTRIES
#define VIREO_MCU_TRACE_ENTRIES 64 /* at most as many layers, the last ones, are there to be read */
#endif
#define VIREO_MCU_TRACE_MAGIC 0x31435254u /* "TRC1" */

/* A layer that has ended, in the order in which layers end. */
typedef struct {
  uint32_t model;  /* NAME_MODEL of the model's header */
  uint16_t record; /* of the plan */
  uint16_t node;   /* of the record, where it is a segment that runs strip by strip */
  uint32_t hash;   /* of its output: the sum of (byte + 1) * (its index * 2654435761 | 1) */
  uint32_t clock;  /* when it ended, before its output was hashed */
} vireo_mcu_trace_entry;

typedef struct {
  uint32_t magic, entries; /* of the ring */
  uint32_t count;          /* of all that were written: the next one goes to count % entries */
  uint32_t begun;          /* the clock when the first layer of a run began, its hashing left out */
  vireo_mcu_trace_entry ring[VIREO_MCU_TRACE_ENTRIES];
} vireo_mcu_trace_ring;

#if VIREO_MCU_TRACE
extern vireo_mcu_trace_ring vireo_mcu_trace;
/* The program's: cycles, or instructions, since whenever. */
uint32_t vireo_mcu_trace_clock(void);

/* The executor calls these. */
void vireo_mcu_trace_begin(void);
void vireo_mcu_trace_record(const uint8_t* plan, uint32_t record, const uint8_t* arena);
/* Rows [first, + count) of all, which lie as `planes` of them at `from`. */
void vireo_mcu_trace_rows(const uint8_t* plan, uint32_t record, uint32_t node, const uint8_t* from, uint32_t planes,
                          uint32_t row_bytes, uint32_t first, uint32_t count, uint32_t all);
#endif

#ifdef __cplusplus
}
#endif

#endif /* VIREO_MCU_TRACE_H_ */
