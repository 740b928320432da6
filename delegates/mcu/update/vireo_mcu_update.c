#include "delegates/mcu/update/vireo_mcu_update.h"

#include <stddef.h>
#include <string.h>

#include "delegates/mcu/update/ed25519.h"

/* ---- The journal: each page begins with a record that has its sequence and what was known before */

enum { kErased = 0, kState = 1, kTried = 2, kConfirmed = 3 };

typedef struct {
  uint32_t kind;     /* in the low byte; of a kState the sequence above it */
  uint32_t revision; /* that was tried, or confirmed */
  uint32_t oldest;   /* that is allowed */
  uint32_t check;
} record;

typedef struct {
  uint32_t page, sequence, next; /* the page that counts, and its first record that was never written */
  uint32_t confirmed, tried;     /* revisions: the last one of each, 0: none */
  uint32_t oldest;
} journal;

static uint32_t check_of(const record* r) { /* FNV-1a over the words before it, and no erased word */
  uint32_t hash = 2166136261u;
  const uint32_t words[3] = {r->kind, r->revision, r->oldest};
  for (uint32_t i = 0; i < 12; ++i) hash = (hash ^ (words[i / 4] >> (8 * (i % 4)) & 0xFFu)) * 16777619u;
  return hash == 0xFFFFFFFFu ? 0 : hash;
}
static uint32_t kind_of(const record* r) { return r->check == check_of(r) ? r->kind & 0xFFu : kErased; }
static const record* record_at(const vireo_update* u, uint32_t page, uint32_t index) {
  return (const record*)(const void*)(u->flash.base + page * u->flash.page_bytes) + index;
}
static uint32_t records_of(const vireo_update* u) { return u->flash.page_bytes / (uint32_t)sizeof(record); }

static void read_journal(const vireo_update* u, journal* j) {
  memset(j, 0, sizeof *j);
  j->page = 2; /* none */
  for (uint32_t page = 0; page < 2; ++page) {
    const record* const r = record_at(u, page, 0);
    if (kind_of(r) != kState || (j->page != 2 && r->kind >> 8 < j->sequence)) continue;
    j->page = page;
    j->sequence = r->kind >> 8;
  }
  if (j->page == 2) return;
  for (uint32_t i = 0; i < records_of(u); ++i) {
    const record* const r = record_at(u, j->page, i);
    const uint32_t kind = kind_of(r);
    /* A write that was cut off may have left anything: the next record goes behind it. */
    if ((r->kind & r->revision & r->oldest & r->check) != 0xFFFFFFFFu) j->next = i + 1;
    if (kind == kErased) continue;
    if (kind == kTried) {
      j->tried = r->revision;
    } else {
      j->confirmed = r->revision;
      if (r->oldest > j->oldest) j->oldest = r->oldest;
    }
  }
}

static vireo_mcu_status write_record(const vireo_update* u, uint32_t page, uint32_t index, uint32_t kind,
                                     uint32_t revision, uint32_t oldest) {
  const uint32_t offset = page * u->flash.page_bytes + index * (uint32_t)sizeof(record);
  record r = {kind, revision, oldest, 0};
  r.check = check_of(&r);
  if (u->flash.write(u->flash.context, offset, &r, sizeof r) != 0 || memcmp(u->flash.base + offset, &r, sizeof r) != 0)
    return VIREO_MCU_BUSY;
  return VIREO_MCU_OK;
}

static vireo_mcu_status append(const vireo_update* u, uint32_t kind, uint32_t revision, uint32_t oldest) {
  journal j;
  read_journal(u, &j);
  if (j.page == 2 || j.next + 1 > records_of(u)) {
    /* The other page begins with what is known. Until that record is whole the old page counts. */
    const uint32_t page = j.page == 0 ? 1 : 0;
    if (u->flash.erase(u->flash.context, page) != 0) return VIREO_MCU_BUSY;
    const vireo_mcu_status status = write_record(u, page, 0, kState | (j.sequence + 1) << 8, j.confirmed, j.oldest);
    if (status != VIREO_MCU_OK) return status;
    j.page = page;
    j.next = 1;
  }
  return write_record(u, j.page, j.next, kind, revision, oldest);
}

/* ---- Slots */

static uint32_t slot_bytes(const vireo_update* u) { return u->flash.slot_pages * u->flash.page_bytes; }
static uint32_t slot_page(const vireo_update* u, uint32_t slot) { return 2 + slot * u->flash.slot_pages; }
static const vireo_slot_header* header_of(const vireo_update* u, uint32_t slot) {
  return (const vireo_slot_header*)(const void*)(u->flash.base + slot_page(u, slot) * u->flash.page_bytes);
}

/* 0: there is no slot. */
static uint32_t revision_of(const vireo_update* u, uint32_t slot) {
  return header_of(u, slot)->magic == VIREO_SLOT_MAGIC ? header_of(u, slot)->revision : 0;
}

/* A session on the slot, where it may run. */
static vireo_mcu_status open_slot(const vireo_update* u, const journal* j, uint32_t slot, vireo_mcu_session* session,
                                  void* arena, uint32_t arena_bytes) {
  const vireo_slot_header* const h = header_of(u, slot);
  const uint32_t behind = (uint32_t)(sizeof *h - sizeof h->signature);
  if (h->magic != VIREO_SLOT_MAGIC || slot_bytes(u) < sizeof *h || h->plan_bytes > slot_bytes(u) - sizeof *h ||
      h->plan_bytes % 4 != 0 || h->revision == 0 || h->oldest > h->revision ||
      !vireo_ed25519_verify(h->signature, u->key, (const uint8_t*)&h->magic, behind + h->plan_bytes))
    return VIREO_MCU_INVALID_MODEL;
  if (h->product != u->product || h->revision < j->oldest) return VIREO_MCU_UNSUPPORTED;
  return vireo_mcu_open(session, h + 1, h->plan_bytes, arena, arena_bytes);
}

vireo_mcu_status vireo_update_boot(const vireo_update* update, vireo_mcu_session* session, void* arena,
                                   uint32_t arena_bytes, vireo_update_chosen* chosen) {
  journal j;
  if (update == NULL || session == NULL || arena == NULL || chosen == NULL || update->flash.page_bytes < 64 ||
      update->flash.page_bytes % 16 != 0 || ((uintptr_t)update->flash.base & 15) != 0)
    return VIREO_MCU_INVALID_ARGUMENT;
  read_journal(update, &j);
  /* The newer slot first; one that was tried and never confirmed last. */
  const uint32_t r0 = revision_of(update, 0), r1 = revision_of(update, 1);
  const int failed_0 = r0 == j.tried && r0 != j.confirmed, failed_1 = r1 == j.tried && r1 != j.confirmed;
  uint32_t slot = failed_0 != failed_1 ? (uint32_t)failed_0 : r1 > r0 ? 1 : 0;
  vireo_mcu_status worst = VIREO_MCU_INVALID_MODEL;
  for (int i = 0; i < 2; ++i, slot ^= 1) {
    const vireo_mcu_status status = open_slot(update, &j, slot, session, arena, arena_bytes);
    if (status == VIREO_MCU_OK) {
      const uint32_t revision = header_of(update, slot)->revision;
      chosen->slot = slot;
      chosen->revision = revision;
      chosen->confirmed = revision == j.confirmed;
      /* Where it cannot be noted, the slot is tried once more at the next boot. */
      if (!chosen->confirmed && revision != j.tried) (void)append(update, kTried, revision, j.oldest);
      return VIREO_MCU_OK;
    }
    if (status != VIREO_MCU_INVALID_MODEL) worst = status;
  }
  return worst;
}

vireo_mcu_status vireo_update_confirm(const vireo_update* update, uint32_t slot) {
  journal j;
  if (update == NULL || slot > 1) return VIREO_MCU_INVALID_ARGUMENT;
  read_journal(update, &j);
  const vireo_slot_header* const h = header_of(update, slot);
  if (h->revision == j.confirmed && h->oldest <= j.oldest) return VIREO_MCU_OK;
  return append(update, kConfirmed, h->revision, h->oldest > j.oldest ? h->oldest : j.oldest);
}

/* ---- Updates */

vireo_mcu_status vireo_update_begin(const vireo_update* update, uint32_t running, uint32_t bytes,
                                    vireo_update_progress* progress) {
  if (update == NULL || progress == NULL || running > 1) return VIREO_MCU_INVALID_ARGUMENT;
  if (bytes < sizeof(vireo_slot_header)) return VIREO_MCU_INVALID_MODEL;
  if (bytes > slot_bytes(update)) return VIREO_MCU_OUT_OF_ARENA;
  progress->slot = running ^ 1;
  progress->bytes = bytes;
  progress->done = 0;
  return VIREO_MCU_OK;
}

vireo_mcu_status vireo_update_write(const vireo_update* update, vireo_update_progress* progress, const void* bytes,
                                    uint32_t count) {
  const vireo_update_flash* const f = &update->flash;
  const uint8_t* from = (const uint8_t*)bytes;
  if (count > progress->bytes - progress->done || progress->done % 16 != 0 ||
      (count % 16 != 0 && count != progress->bytes - progress->done))
    return VIREO_MCU_INVALID_ARGUMENT;
  while (count > 0) {
    const uint32_t first = slot_page(update, progress->slot), page = progress->done / f->page_bytes;
    const uint32_t in_page = progress->done - page * f->page_bytes, offset = first * f->page_bytes + progress->done;
    const uint32_t room = f->page_bytes - in_page, some = count < room ? count : room, whole = some & ~15u;
    if (in_page == 0 && f->erase(f->context, first + page) != 0) return VIREO_MCU_BUSY;
    if (whole > 0 && f->write(f->context, offset, from, whole) != 0) return VIREO_MCU_BUSY;
    if (whole < some) { /* the last bytes, filled up */
      uint8_t last[16];
      memset(last, 0xFF, sizeof last);
      memcpy(last, from + whole, some - whole);
      if (f->write(f->context, offset + whole, last, 16) != 0) return VIREO_MCU_BUSY;
    }
    if (memcmp(f->base + offset, from, some) != 0) return VIREO_MCU_BUSY;
    from += some;
    count -= some;
    progress->done += some;
  }
  return VIREO_MCU_OK;
}

vireo_mcu_status vireo_update_end(const vireo_update* update, const vireo_update_progress* progress, void* arena,
                                  uint32_t arena_bytes) {
  journal j;
  vireo_mcu_session session;
  if (progress->done != progress->bytes) return VIREO_MCU_INVALID_ARGUMENT;
  read_journal(update, &j);
  const vireo_mcu_status status = open_slot(update, &j, progress->slot, &session, arena, arena_bytes);
  /* One that a boot would not take before the other is no update. */
  if (status == VIREO_MCU_OK && header_of(update, progress->slot)->revision <= revision_of(update, progress->slot ^ 1))
    return VIREO_MCU_UNSUPPORTED;
  return status;
}
