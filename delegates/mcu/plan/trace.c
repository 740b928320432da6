#include "delegates/mcu/plan/vireo_mcu_trace.h"

#if VIREO_MCU_TRACE
#include "delegates/mcu/plan/call.h"

vireo_mcu_trace_ring vireo_mcu_trace = {VIREO_MCU_TRACE_MAGIC, VIREO_MCU_TRACE_ENTRIES, 0, 0, {{0, 0, 0, 0, 0}}};

static uint32_t sums[64]; /* of the nodes of a segment, whose rows come one after the other */
static uint32_t spent;    /* by hashing: the clock stands still meanwhile */

static uint32_t now(void) { return vireo_mcu_trace_clock() - spent; }
void vireo_mcu_trace_begin(void) { vireo_mcu_trace.begun = now(); }

static uint32_t hash_of(uint32_t hash, const uint8_t* bytes, uint32_t count, uint32_t index) {
  for (; count > 0; --count, ++index) hash += (*bytes++ + 1u) * (index * 2654435761u | 1u);
  return hash;
}

static void push(const uint8_t* plan, uint32_t record, uint32_t node, uint32_t hash, uint32_t clock) {
  vireo_mcu_trace_entry* const e = vireo_mcu_trace.ring + vireo_mcu_trace.count % VIREO_MCU_TRACE_ENTRIES;
  e->model = ((const vireo_plan_header*)(const void*)plan)->model;
  e->record = (uint16_t)record;
  e->node = (uint16_t)node;
  e->hash = hash;
  e->clock = clock;
  ++vireo_mcu_trace.count;
}

void vireo_mcu_trace_record(const uint8_t* plan, uint32_t record, const uint8_t* arena) {
  const uint32_t clock = now();
  const vireo_plan_record* const r = (const vireo_plan_record*)(const void*)(plan + sizeof(vireo_plan_header)) + record;
  const vireo_mcu_kernel* const k = vireo_mcu_kernel_of(r->kernel);
  uint32_t bytes[VIREO_PLAN_OPERANDS], y = 0;
  while ((k->written >> y & 1) == 0 || (k->scratch >> y & 1) != 0) ++y;
  (void)k->needs(plan + r->parameters, bytes);
  push(plan, record, 0, hash_of(0, arena + VIREO_PLAN_OFFSET(r->operands[y]), bytes[y], 0), clock);
  spent += now() - clock;
}

void vireo_mcu_trace_rows(const uint8_t* plan, uint32_t record, uint32_t node, const uint8_t* from, uint32_t planes,
                          uint32_t row_bytes, uint32_t first, uint32_t count, uint32_t all) {
  const uint32_t clock = now();
  uint32_t hash = first == 0 ? 0 : sums[node];
  for (uint32_t p = 0; p < planes; ++p, from += count * row_bytes)
    hash = hash_of(hash, from, count * row_bytes, (p * all + first) * row_bytes);
  sums[node] = hash;
  if (first + count == all) push(plan, record, node, hash, clock);
  spent += now() - clock;
}
#else
typedef int vireo_mcu_no_trace; /* a file without a declaration is no C */
#endif
