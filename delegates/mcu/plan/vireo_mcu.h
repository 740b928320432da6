/* Runs a flat plan on a microcontroller: a model in flash, an arena in RAM, no other memory.
 *
 *   static vireo_mcu_session session;
 *   if (vireo_mcu_open(&session, plan, PLAN_BYTES, arena, ARENA_BYTES) != VIREO_MCU_OK) ...
 *   memcpy(vireo_mcu_input(&session, 0, NULL), samples, sizeof samples);
 *   if (vireo_mcu_run(&session) != VIREO_MCU_OK) ...
 *   const int8_t* scores = vireo_mcu_output(&session, 0, NULL);
 *
 * A session owns nothing: plan, arena and the session itself are the caller's, and live as long as it is used. There is
 * no heap and no global state but constants, so that sessions with an arena each may run in tasks and interrupts at the
 * same time. A function that returns a status changes nothing where it is not VIREO_MCU_OK. */
#ifndef VIREO_MCU_H_
#define VIREO_MCU_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t vireo_mcu_status; /* the numbers of vireo_status */
enum {
  VIREO_MCU_OK = 0,
  VIREO_MCU_INVALID_ARGUMENT = 1, /* NULL, or an address that is not aligned: the plan to 4, the arena to 8 */
  VIREO_MCU_INVALID_MODEL = 2,    /* the bytes are no plan, damaged, or would leave their memory */
  VIREO_MCU_UNSUPPORTED = 3,      /* made for another core or version, or needs a kernel that is not linked */
  VIREO_MCU_OUT_OF_ARENA = 4,     /* the arena is smaller than the plan says */
  VIREO_MCU_BUSY = 7              /* the session is running: this is an interrupt of its own run */
};

/* Of nobody's interest but the functions'. */
typedef struct {
  const uint8_t* plan;
  uint8_t* arena;
  uint32_t unit;         /* of the record that runs next: the first of its units that was not run */
  uint16_t next;         /* that record */
  volatile uint8_t busy; /* a call is under way */
} vireo_mcu_session;

/* Checks every offset, size and kernel number of the plan, once. The bytes may not change after that. */
vireo_mcu_status vireo_mcu_open(vireo_mcu_session* session, const void* plan, uint32_t plan_bytes, void* arena,
                                uint32_t arena_bytes);

/* Where an input or output lies in the arena; NULL past the last one. bytes may be NULL. Write all inputs before each
 * run: their memory serves other values later in it. Outputs are there until the next one. */
void* vireo_mcu_input(const vireo_mcu_session* session, uint32_t index, uint32_t* bytes);
const void* vireo_mcu_output(const vireo_mcu_session* session, uint32_t index, uint32_t* bytes);

/* From where the session stands to the end. */
vireo_mcu_status vireo_mcu_run(vireo_mcu_session* session);
/* Does a part of a run: about `instructions` of it, by the converter's estimate for the core. A step does at least one
 * unit of work: a pair of channels of a block of positions, a strip of a plane, or 64 elements. *done becomes 1 when
 * the run has ended; the next step then begins another run. Between steps the arena belongs to the run. No interrupt is
 * masked, and another session may run. */
#define VIREO_MCU_WHOLE_RUN 0xFFFFFFFFu
vireo_mcu_status vireo_mcu_step(vireo_mcu_session* session, uint32_t instructions, uint8_t* done);
/* Forgets a run that was begun in steps. */
vireo_mcu_status vireo_mcu_restart(vireo_mcu_session* session);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_MCU_H_ */
