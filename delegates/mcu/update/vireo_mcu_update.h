/* Models by update: two slots in flash, of which one runs while the other is written.
 *
 *   boot     vireo_update_boot() takes the newest slot that is signed, allowed and runs on this image's kernels. Run
 *            samples with known results, then vireo_update_confirm(). A slot that was booted before and never confirmed
 *            is passed over.
 *   update   vireo_update_begin(), vireo_update_write() for all bytes in their order, vireo_update_end(). Then reset.
 *
 * Power may fail at any moment: the next boot finds the old slot or the new one. An update goes into the slot that does
 * not run. It counts only when all of it is there, because the signature is over all of it. Confirmed revisions stand
 * in a journal of two pages, as records of 16 bytes with a check; the page that is full is left until the other one is
 * begun.
 *
 * A revision never goes back: once a slot is confirmed, those below its `oldest` are refused.
 *
 * The flash is seen through three functions and an address to read from. Nothing is kept in RAM between calls. */
#ifndef VIREO_MCU_UPDATE_H_
#define VIREO_MCU_UPDATE_H_

#include "delegates/mcu/plan/vireo_mcu.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VIREO_SLOT_MAGIC 0x31544C53u /* "SLT1" */

/* A slot's first bytes; its plan follows. `vireo slot` makes it. The signature is over all that is behind it. */
typedef struct {
  uint8_t signature[64];
  uint32_t magic;
  uint32_t product;    /* of the firmware that may run it */
  uint32_t revision;   /* not 0 */
  uint32_t oldest;     /* the least revision that may run once this one was confirmed; at most its own */
  uint32_t plan_bytes; /* a multiple of 4 */
  uint32_t reserved[3];
} vireo_slot_header;

typedef struct {
  const uint8_t* base; /* of the flash as it is read, aligned to 16; all below lies behind it */
  uint32_t page_bytes; /* what is erased at once: a multiple of 16, at least 64 */
  uint32_t slot_pages; /* of each slot. In this order: two pages of the journal, slot 0, slot 1 */
  void* context;
  /* Page `page`, from the base, becomes 0xFF; or bytes are written into what is. 0: it was done. A write is of at most
   * a page, begins at a multiple of 16 and has such a size. */
  int (*erase)(void* context, uint32_t page);
  int (*write)(void* context, uint32_t offset, const void* bytes, uint32_t count);
} vireo_update_flash;

typedef struct {
  vireo_update_flash flash;
  uint8_t key[32]; /* public, Ed25519 */
  uint32_t product;
} vireo_update;

typedef struct {
  uint32_t slot; /* 0 or 1 */
  uint32_t revision;
  uint8_t confirmed; /* else this is its first boot: confirm it, or the next one takes the other slot */
} vireo_update_chosen;

/* Opens the session on the slot that is chosen. VIREO_MCU_INVALID_MODEL: neither slot is one. VIREO_MCU_UNSUPPORTED:
 * one is, but not for this image: its product, its revision or its kernels. VIREO_MCU_OUT_OF_ARENA: its arena is
 * larger. */
vireo_mcu_status vireo_update_boot(const vireo_update* update, vireo_mcu_session* session, void* arena,
                                   uint32_t arena_bytes, vireo_update_chosen* chosen);
/* The slot is right: it stays, and older ones than it allows are refused from now on. */
vireo_mcu_status vireo_update_confirm(const vireo_update* update, uint32_t slot);

/* An update of `bytes` into a slot that does not run: `running` is vireo_update_chosen's, or 1 where none does. */
typedef struct {
  uint32_t slot, bytes, done;
} vireo_update_progress;
vireo_mcu_status vireo_update_begin(const vireo_update* update, uint32_t running, uint32_t bytes,
                                    vireo_update_progress* progress);
/* The next bytes: a multiple of 16 but for the last ones. */
vireo_mcu_status vireo_update_write(const vireo_update* update, vireo_update_progress* progress, const void* bytes,
                                    uint32_t count);
/* Whether what was written may boot: the same answers as vireo_update_boot's. */
vireo_mcu_status vireo_update_end(const vireo_update* update, const vireo_update_progress* progress, void* arena,
                                  uint32_t arena_bytes);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_MCU_UPDATE_H_ */
