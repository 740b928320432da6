#include "delegates/mcu/plan/vireo_mcu.h"

#include <stddef.h>

#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/plan/call.h"
#include "delegates/mcu/plan/plan_features.h"
#include "delegates/mcu/plan/vireo_mcu_trace.h"
#if VIREO_MCU_STRIPS
#include "delegates/mcu/plan/strips.h"
#endif

static const vireo_plan_header* header_of(const uint8_t* plan) { return (const vireo_plan_header*)(const void*)plan; }
static const vireo_plan_record* records_of(const uint8_t* plan) {
  return (const vireo_plan_record*)(const void*)(plan + sizeof(vireo_plan_header));
}
static const vireo_plan_value* values_of(const uint8_t* plan) {
  return (const vireo_plan_value*)(const void*)(records_of(plan) + header_of(plan)->records);
}

/* Whether `bytes` at a place are inside its region, aligned, and may be written where they are. */
static int is_inside(const vireo_plan_header* h, uint32_t place, uint32_t bytes, uint32_t alignment, int written) {
  const uint32_t region = VIREO_PLAN_REGION(place), offset = VIREO_PLAN_OFFSET(place);
  const uint32_t size = region == VIREO_PLAN_IN_ARENA ? h->arena_bytes : h->bytes;
  if (region > VIREO_PLAN_IN_ARENA || (written && region != VIREO_PLAN_IN_ARENA)) return 0;
  return offset % alignment == 0 && bytes <= size && offset <= size - bytes;
}

static vireo_mcu_status check_record(const vireo_plan_header* h, const uint8_t* plan, const vireo_plan_record* r) {
  const vireo_mcu_kernel* const k = vireo_mcu_kernel_of(r->kernel);
  uint32_t bytes[VIREO_PLAN_OPERANDS];
  if (k == NULL) return VIREO_MCU_UNSUPPORTED;
  if (VIREO_PLAN_REGION(r->parameters) != VIREO_PLAN_IN_PLAN ||
      !is_inside(h, r->parameters, k->parameter_bytes, 4, 0) || !k->needs(plan + r->parameters, bytes))
    return VIREO_MCU_INVALID_MODEL;
  for (uint32_t i = 0; i < k->operands; ++i) {
    const uint32_t bit = 1u << i, place = r->operands[i];
    const uint32_t alignment = (k->scratch & bit) != 0 ? 8 : (k->words & bit) != 0 ? 4 : 1;
    if (place == VIREO_PLAN_ABSENT && (k->optional & bit) != 0) continue;
    if (!is_inside(h, place, bytes[i], alignment, (k->written & bit) != 0)) return VIREO_MCU_INVALID_MODEL;
  }
  return VIREO_MCU_OK;
}

vireo_mcu_status vireo_mcu_open(vireo_mcu_session* session, const void* plan, uint32_t plan_bytes, void* arena,
                                uint32_t arena_bytes) {
  const uint8_t* const bytes = (const uint8_t*)plan;
  const vireo_plan_header* const h = header_of(bytes);
  if (session == NULL || plan == NULL || arena == NULL || ((uintptr_t)plan & 3) != 0 ||
      ((uintptr_t)arena & (VIREO_PLAN_ALIGNMENT - 1)) != 0)
    return VIREO_MCU_INVALID_ARGUMENT;
  if (plan_bytes < sizeof *h || h->magic != VIREO_PLAN_MAGIC) return VIREO_MCU_INVALID_MODEL;
  if (h->version != VIREO_PLAN_VERSION || h->tile != VIREO_MCU_TILE) return VIREO_MCU_UNSUPPORTED;
  const uint32_t values = (uint32_t)h->inputs + h->outputs;
  if (h->bytes > plan_bytes || h->bytes > VIREO_PLAN_MOST || h->arena_bytes > VIREO_PLAN_MOST ||
      sizeof *h + h->records * sizeof(vireo_plan_record) + values * sizeof(vireo_plan_value) > h->bytes)
    return VIREO_MCU_INVALID_MODEL;
  if (h->arena_bytes > arena_bytes) return VIREO_MCU_OUT_OF_ARENA;
  for (uint32_t i = 0; i < h->records; ++i) {
    const vireo_plan_record* const r = records_of(bytes) + i;
#if VIREO_MCU_STRIPS
    const vireo_mcu_status status =
        r->kernel == VIREO_PLAN_SEGMENT ? vireo_segment_check(bytes, r, (uint8_t*)arena) : check_record(h, bytes, r);
#else
    const vireo_mcu_status status = check_record(h, bytes, r);
#endif
    if (status != VIREO_MCU_OK) return status;
  }
  for (uint32_t i = 0; i < values; ++i) {
    const vireo_plan_value* const v = values_of(bytes) + i;
    if (!is_inside(h, v->place, v->bytes, 4, 1)) return VIREO_MCU_INVALID_MODEL;
  }
  session->plan = bytes;
  session->arena = (uint8_t*)arena;
  session->next = 0;
  session->unit = 0;
  session->busy = 0;
  return VIREO_MCU_OK;
}

static uint8_t* value_at(const vireo_mcu_session* s, uint32_t index, uint32_t* bytes) {
  const vireo_plan_value* const v = values_of(s->plan) + index;
  if (bytes != NULL) *bytes = v->bytes;
  return s->arena + VIREO_PLAN_OFFSET(v->place);
}
void* vireo_mcu_input(const vireo_mcu_session* session, uint32_t index, uint32_t* bytes) {
  return index < header_of(session->plan)->inputs ? value_at(session, index, bytes) : NULL;
}
const void* vireo_mcu_output(const vireo_mcu_session* session, uint32_t index, uint32_t* bytes) {
  const vireo_plan_header* const h = header_of(session->plan);
  return index < h->outputs ? value_at(session, h->inputs + index, bytes) : NULL;
}

#if VIREO_MCU_STRIPS
/* Its operands are not on the stack below a segment. */
__attribute__((noinline))
#endif
static void
call_record(const vireo_mcu_session* s, const vireo_plan_record* r, vireo_mcu_units units) {
  void* operands[VIREO_PLAN_OPERANDS];
  for (uint32_t i = 0; i < VIREO_PLAN_OPERANDS; ++i) {
    const uint32_t place = r->operands[i], offset = VIREO_PLAN_OFFSET(place);
    /* Constants are only read: check_record saw to it. */
    operands[i] = place == VIREO_PLAN_ABSENT                        ? NULL
                  : VIREO_PLAN_REGION(place) == VIREO_PLAN_IN_ARENA ? s->arena + offset
                                                                    : (uint8_t*)(uintptr_t)(s->plan + offset);
  }
  vireo_mcu_kernel_of(r->kernel)->run(s->plan + r->parameters, operands, units);
}

static uint32_t units_of(const uint8_t* plan, const vireo_plan_record* r) {
#if VIREO_MCU_STRIPS
  if (r->kernel == VIREO_PLAN_SEGMENT) return VIREO_MCU_ALL_UNITS; /* it says itself when it has ended */
#endif
  return vireo_mcu_kernel_of(r->kernel)->units(plan + r->parameters);
}

/* Units of the record that a step has room for. */
static uint32_t room_for(const vireo_plan_record* r, uint32_t instructions) {
  const uint32_t cost = r->cost == 0 ? 64u : r->cost * 64u;
  return vireo_mcu_divide(instructions, cost);
}

vireo_mcu_status vireo_mcu_step(vireo_mcu_session* session, uint32_t instructions, uint8_t* done) {
  if (session->busy) return VIREO_MCU_BUSY;
  session->busy = 1;
  const uint32_t count = header_of(session->plan)->records;
  const int all = instructions == VIREO_MCU_WHOLE_RUN;
  int first = 1;
#if VIREO_MCU_TRACE
  if (session->next == 0 && session->unit == 0) vireo_mcu_trace_begin();
#endif
  while (session->next < count) {
    const vireo_plan_record* const r = records_of(session->plan) + session->next;
    vireo_mcu_units units = {session->unit, VIREO_MCU_ALL_UNITS};
    if (!all || units.from != 0) {
      const uint32_t left = units_of(session->plan, r) - units.from;
      uint32_t some = all ? left : room_for(r, instructions);
      if (some == 0 && !first) break;
      some = some == 0 ? 1 : some < left ? some : left;
      const uint32_t cost = some * (r->cost == 0 ? 64u : r->cost * 64u);
      instructions = all ? instructions : instructions > cost ? instructions - cost : 0;
      if (units.from != 0 || some < left) units.to = units.from + some;
      session->unit = some < left ? units.to : 0;
    }
#if VIREO_MCU_STRIPS
    if (r->kernel == VIREO_PLAN_SEGMENT) {
      if (vireo_segment_run(session->plan, r, session->arena, units)) session->unit = 0;
    } else
#endif
      call_record(session, r, units);
    if (session->unit == 0) {
#if VIREO_MCU_TRACE
      if (r->kernel < VIREO_PLAN_SEGMENT) vireo_mcu_trace_record(session->plan, session->next, session->arena);
#endif
      ++session->next;
    }
    first = 0;
  }
  *done = session->next == count;
  if (*done) session->next = 0;
  session->busy = 0;
  return VIREO_MCU_OK;
}
vireo_mcu_status vireo_mcu_run(vireo_mcu_session* session) {
  uint8_t done;
  return vireo_mcu_step(session, VIREO_MCU_WHOLE_RUN, &done);
}
vireo_mcu_status vireo_mcu_restart(vireo_mcu_session* session) {
  if (session->busy) return VIREO_MCU_BUSY;
  session->next = 0;
  session->unit = 0;
  return VIREO_MCU_OK;
}
