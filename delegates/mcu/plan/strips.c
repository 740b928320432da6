#include "delegates/mcu/plan/strips.h"

#include <stddef.h>

#include "delegates/mcu/plan/call.h"
#include "delegates/mcu/plan/vireo_mcu_trace.h"

/* A segment as one that reads it sees it. */
typedef struct {
  const uint8_t* plan;
  const vireo_segment* s;
  const vireo_segment_value* values;
  const vireo_segment_node* nodes;
} view;

static view view_of(const uint8_t* plan, const vireo_plan_record* r) {
  view v;
  v.plan = plan;
  v.s = (const vireo_segment*)(const void*)(plan + r->parameters);
  v.values = (const vireo_segment_value*)(const void*)(plan + v.s->list);
  v.nodes = (const vireo_segment_node*)(const void*)(v.values + v.s->values);
  return v;
}

/* One call of a node: rows [first, + count) of its output. Where it runs some planes at a time: of part `part`, which
 * are `planes` from `plane` on. `unread`: the first row that is still read after it, where its input's rows are kept by
 * it. */
typedef struct {
  uint32_t node, first, count;
  uint32_t part, plane, planes, unread;
  uint32_t parameters[VIREO_SEGMENT_PARAMETERS / 4];
  uint32_t operands[VIREO_PLAN_OPERANDS]; /* places */
} call;

#if defined(__arm__) && defined(__OPTIMIZE__)
#define COPY_FOUR(to, from)                                  \
  __asm__ volatile("ldmia %0!, {r0-r3}\n stmia %1!, {r0-r3}" \
                   : "+r"(from), "+r"(to)                    \
                   :                                         \
                   : "r0", "r1", "r2", "r3", "memory")
#else
#define COPY_FOUR(to, from) (to[0] = from[0], to[1] = from[1], to[2] = from[2], to[3] = from[3], (to) += 4, (from) += 4)
#endif

/* Bytes of each of some planes, without overlap or towards the front. */
static void copy_up(uint8_t* to, uint32_t to_pitch, const uint8_t* from, uint32_t from_pitch, uint32_t bytes,
                    uint32_t planes) {
  if (bytes == 0) return;
  const uintptr_t odd = (uintptr_t)to | (uintptr_t)from | to_pitch | from_pitch | bytes;
  for (; planes > 0; --planes, to += to_pitch, from += from_pitch) {
    if ((odd & 3) == 0) {
      uint32_t* y = (uint32_t*)(void*)to;
      const uint32_t* x = (const uint32_t*)(const void*)from;
      uint32_t left = bytes;
      for (; left >= 16; left -= 16) COPY_FOUR(y, x);
      for (; left > 0; left -= 4) *y++ = *x++;
    } else {
      for (uint32_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
  }
}

/* Rows [from, + count) of some planes of a value into planes of `pitch` bytes. */
static void copy_rows(const vireo_segment_value* v, const vireo_segment_rows* r, uint8_t* arena, uint32_t from,
                      uint32_t count, uint32_t plane, uint32_t planes, uint8_t* to, uint32_t pitch) {
  const uint32_t row = v->row_bytes, fresh = r->done - (uint32_t)r->fresh;
  uint32_t kept = from < r->fresh ? r->fresh - from : 0;
  const uint8_t* a = arena + VIREO_PLAN_OFFSET(v->kept) + (from - r->low) * row;
  const uint8_t* b = arena + VIREO_PLAN_OFFSET(v->fresh) + (from > r->fresh ? from - r->fresh : 0) * row;
  uint32_t a_pitch = v->kept_rows * row;
  if (v->whole != VIREO_PLAN_ABSENT)
    a = arena + VIREO_PLAN_OFFSET(v->whole) + from * row, a_pitch = v->rows * row, kept = count;
  if (kept > count) kept = count;
  copy_up(to, pitch, a + plane * a_pitch, a_pitch, kept * row, planes);
  copy_up(to + kept * row, pitch, b + plane * fresh * row, fresh * row, (count - kept) * row, planes);
}

/* Operands of which some planes have a part of their own move to it. 0: that is nowhere. */
static int move_to_part(const view* g, call* c) {
  const vireo_segment_node* const n = g->nodes + c->node;
  const vireo_segment_value* const y = g->values + n->output;
  for (uint32_t i = 0; i < VIREO_PLAN_OPERANDS; ++i) {
    const uint32_t bytes = i == n->output_at ? mcu_times(mcu_times(c->plane * n->filters, c->count), y->row_bytes)
                                             : c->part * n->part_bytes[i];
    if (bytes == 0 || c->operands[i] == VIREO_PLAN_ABSENT) continue;
    if (VIREO_PLAN_OFFSET(c->operands[i]) + bytes >= VIREO_PLAN_MOST) return 0;
    c->operands[i] += bytes;
  }
  c->parameters[n->planes_at] = c->planes;
  return 1;
}

/* What call c reads and writes. `gather`: where rows of an input do not lie side by side, they are brought there. 0:
 * not possible, which is never so of what was checked. */
static int prepare(const view* g, const vireo_segment_rows* rows, uint8_t* arena, int gather, call* c) {
  const vireo_segment_node* const n = g->nodes + c->node;
  const vireo_segment_value* const y = g->values + n->output;
  const vireo_row_window w = vireo_segment_window(n);
  const uint32_t words = vireo_mcu_kernel_of(n->kernel)->parameter_bytes / 4u;
  const uint32_t* const from = (const uint32_t*)(const void*)(g->plan + n->parameters);
  for (uint32_t i = 0; i < words; ++i) c->parameters[i] = from[i];
  for (uint32_t i = 0; i < VIREO_PLAN_OPERANDS; ++i) c->operands[i] = n->operands[i];
  c->first = rows[n->output].done;
  vireo_rows_read r = {0, 0, 0, 0};
  for (int i = 0; i < 2 && n->inputs[i] != 255; ++i) {
    const vireo_segment_value* const x = g->values + n->inputs[i];
    const vireo_segment_rows* const held = rows + n->inputs[i];
    r = vireo_rows_of(&w, (int32_t)c->first, (int32_t)c->count, (int32_t)x->rows);
    uint32_t place = n->gather[i];
    const uint32_t offset = vireo_segment_by_planes(n)
                                ? UINT32_MAX
                                : vireo_segment_direct(x, held, (uint32_t)r.from, (uint32_t)r.read, &place);
    c->plane = vireo_segment_by_planes(n) ? c->part * n->planes : 0;
    c->planes = x->planes - c->plane;
    if (vireo_segment_by_planes(n) && c->planes > n->planes) c->planes = n->planes;
    c->unread = vireo_segment_slides_to(n, x, y, held, c->first + c->count);
    if (offset != UINT32_MAX) {
      place += offset;
    } else {
      place = n->gather[i];
      if (gather) {
        copy_rows(x, held, arena, (uint32_t)r.from, (uint32_t)r.read, c->plane, c->planes,
                  arena + VIREO_PLAN_OFFSET(place), (uint32_t)r.read * x->row_bytes);
        const uint32_t pitch = x->kept_rows * x->row_bytes;
        if (n->slides)
          copy_rows(x, held, arena, c->unread, held->done - c->unread, c->plane, c->planes,
                    arena + VIREO_PLAN_OFFSET(x->kept) + c->plane * pitch, pitch);
      }
    }
    c->operands[n->input_at[i]] = place;
  }
  c->operands[n->output_at] = y->whole != VIREO_PLAN_ABSENT && y->planes == 1
                                  ? y->whole + (y->one_row ? 0 : c->first * y->row_bytes)
                                  : y->fresh;
  if (n->rows_read_at != VIREO_SEGMENT_NOWHERE) c->parameters[n->rows_read_at] = (uint32_t)r.read;
  if (n->rows_made_at != VIREO_SEGMENT_NOWHERE) c->parameters[n->rows_made_at] = c->count;
  if (n->above_at != VIREO_SEGMENT_NOWHERE) c->parameters[n->above_at] = (uint32_t)r.above;
  if (n->below_at != VIREO_SEGMENT_NOWHERE) c->parameters[n->below_at] = (uint32_t)r.below;
  if (n->elements_at != VIREO_SEGMENT_NOWHERE)
    c->parameters[n->elements_at] = y->planes * c->count * (y->row_bytes >> n->element_shift);
  if (n->first_at != VIREO_SEGMENT_NOWHERE) c->parameters[n->first_at] = (uint32_t)r.from;
  return !vireo_segment_by_planes(n) || move_to_part(g, c);
}

/* Rows that later calls read leave the memory that node k's call takes. `arena`: NULL where only the order matters. */
static int make_room(const view* g, vireo_segment_rows* rows, uint8_t* arena, int32_t k) {
  for (uint32_t v = 0; v < g->s->values; ++v) {
    const vireo_segment_value* const value = g->values + v;
    vireo_segment_rows* const r = rows + v;
    if (!vireo_segment_moves(value, r, k)) continue;
    const uint32_t low = vireo_segment_unread(g->values, g->nodes, rows, v);
    if (r->done - low > value->kept_rows) return 0;
    if (arena != NULL)
      copy_rows(value, r, arena, low, r->done - low, 0, value->planes, arena + VIREO_PLAN_OFFSET(value->kept),
                value->kept_rows * value->row_bytes);
    r->low = (uint16_t)low;
    r->fresh = r->done;
  }
  return 1;
}

static int has_more_planes(const view* g, const call* c) {
  const vireo_segment_node* const n = g->nodes + c->node;
  return vireo_segment_by_planes(n) && c->plane + c->planes < g->values[n->inputs[0]].planes;
}

/* Behind a call, or the last of some planes each: its rows are there. */
static void finish(const view* g, vireo_segment_rows* rows, uint8_t* arena, const call* c) {
  const vireo_segment_node* const n = g->nodes + c->node;
  const uint32_t output = n->output;
  const vireo_segment_value* const y = g->values + output;
  vireo_segment_rows* const r = rows + output;
  if (y->whole != VIREO_PLAN_ABSENT && y->planes != 1 && arena != NULL) {
    const uint32_t bytes = c->count * y->row_bytes;
    copy_up(arena + VIREO_PLAN_OFFSET(y->whole) + c->first * y->row_bytes, y->rows * y->row_bytes,
            arena + VIREO_PLAN_OFFSET(y->fresh), bytes, bytes, y->planes);
  }
  r->done = (uint16_t)(c->first + c->count);
  if (n->slides) {
    vireo_segment_rows* const x = rows + n->inputs[0];
    x->low = (uint16_t)c->unread;
    x->fresh = x->done;
  }
}

/* ---- Checks */

/* `planes` of `rows` at a place of the arena, below `end`. */
static int has_room(uint32_t place, uint32_t planes, uint32_t rows, uint32_t row_bytes, uint32_t end) {
  const uint32_t bytes = mcu_times(mcu_times(planes, rows), row_bytes), offset = VIREO_PLAN_OFFSET(place);
  if (rows == 0) return 1;
  return VIREO_PLAN_REGION(place) == VIREO_PLAN_IN_ARENA && bytes <= end && offset <= end - bytes;
}

static int check_value(const view* g, const vireo_segment_value* v, uint32_t end) {
  if (v->rows < 1 || v->rows > VIREO_SEGMENT_MOST_ROWS || v->planes < 1 || v->planes > VIREO_SEGMENT_MOST_ROWS ||
      v->row_bytes < 1 || v->row_bytes > VIREO_PLAN_MOST / VIREO_SEGMENT_MOST_ROWS || v->last_reader >= g->s->nodes ||
      (v->maker != 255 && v->maker >= g->s->nodes))
    return 0;
  if (v->one_row && (v->planes != 1 || v->maker == 255 || v->whole == VIREO_PLAN_ABSENT)) return 0;
  if (v->whole != VIREO_PLAN_ABSENT)
    return has_room(v->whole, v->planes, v->one_row ? 1 : v->rows, v->row_bytes, end) &&
           (v->planes == 1 || v->maker == 255 || has_room(v->fresh, v->planes, v->fresh_rows, v->row_bytes, end));
  return v->maker != 255 && has_room(v->fresh, v->planes, v->fresh_rows, v->row_bytes, end) &&
         has_room(v->kept, v->planes, v->kept_rows, v->row_bytes, end);
}

static int check_node(const view* g, const vireo_segment_node* n, uint32_t index, uint32_t end) {
  const vireo_plan_header* const h = (const vireo_plan_header*)(const void*)g->plan;
  const vireo_mcu_kernel* const k = vireo_mcu_kernel_of(n->kernel);
  const uint8_t at[] = {n->rows_read_at, n->rows_made_at, n->above_at, n->below_at,
                        n->elements_at,  n->first_at,     n->planes_at};
  if (k == NULL || k->parameter_bytes > VIREO_SEGMENT_PARAMETERS || n->chunk < 1 || n->taps < 1 || n->stride < 1 ||
      n->chunk > VIREO_SEGMENT_MOST_ROWS || n->stride > 256 || (n->parameters & 3) != 0 ||
      k->parameter_bytes > h->bytes || n->parameters > h->bytes - k->parameter_bytes || n->element_shift > 2)
    return 0;
  for (uint32_t i = 0; i < sizeof at; ++i)
    if (at[i] != VIREO_SEGMENT_NOWHERE && at[i] >= k->parameter_bytes / 4) return 0;
  if (n->inputs[0] >= g->s->values || n->output >= g->s->values || g->values[n->output].maker != index ||
      n->output_at >= k->operands)
    return 0;
  for (uint32_t i = 0; i < 2 && n->inputs[i] != 255; ++i) {
    if (n->inputs[i] >= g->s->values || n->input_at[i] >= k->operands) return 0;
    const vireo_segment_value* const x = g->values + n->inputs[i];
    const uint32_t planes = vireo_segment_by_planes(n) && n->planes < x->planes ? n->planes : x->planes;
    if (x->one_row || !has_room(n->gather[i], planes, n->gather_rows, x->row_bytes, end)) return 0;
  }
  if (vireo_segment_by_planes(n) && (n->planes < 1 || n->inputs[1] != 255)) return 0;
  return !n->slides || (vireo_segment_by_planes(n) && g->values[n->inputs[0]].whole == VIREO_PLAN_ABSENT);
}

/* That a call may be made as it is prepared. */
static int check_call(const view* g, const vireo_segment_rows* rows, const call* c, uint32_t end) {
  const vireo_plan_header* const h = (const vireo_plan_header*)(const void*)g->plan;
  const vireo_segment_node* const n = g->nodes + c->node;
  const vireo_segment_value* const y = g->values + n->output;
  const vireo_mcu_kernel* const k = vireo_mcu_kernel_of(n->kernel);
  const vireo_row_window w = vireo_segment_window(n);
  uint32_t bytes[VIREO_PLAN_OPERANDS];
  if ((y->whole == VIREO_PLAN_ABSENT || y->planes != 1) && c->count > y->fresh_rows) return 0;
  for (int i = 0; i < 2 && n->inputs[i] != 255; ++i) {
    const vireo_segment_value* const x = g->values + n->inputs[i];
    const vireo_segment_rows* const held = rows + n->inputs[i];
    const vireo_rows_read r = vireo_rows_of(&w, (int32_t)c->first, (int32_t)c->count, (int32_t)x->rows);
    uint32_t place;
    if ((uint32_t)r.from < (x->whole != VIREO_PLAN_ABSENT ? 0 : held->low) || r.from + r.read > held->done) return 0;
    if ((vireo_segment_by_planes(n) ||
         vireo_segment_direct(x, held, (uint32_t)r.from, (uint32_t)r.read, &place) == UINT32_MAX) &&
        (uint32_t)r.read > n->gather_rows)
      return 0;
    if (n->slides && held->done - c->unread > x->kept_rows) return 0;
  }
  if (!k->needs(c->parameters, bytes)) return 0;
  for (uint32_t i = 0; i < k->operands; ++i) {
    const uint32_t bit = 1u << i, place = c->operands[i], offset = VIREO_PLAN_OFFSET(place);
    const uint32_t alignment = (k->scratch & bit) != 0 ? 8 : (k->words & bit) != 0 ? 4 : 1;
    const uint32_t size = VIREO_PLAN_REGION(place) == VIREO_PLAN_IN_ARENA ? end : h->bytes;
    if (place == VIREO_PLAN_ABSENT && (k->optional & bit) != 0) continue;
    if (VIREO_PLAN_REGION(place) > VIREO_PLAN_IN_ARENA ||
        ((k->written & bit) != 0 && VIREO_PLAN_REGION(place) != VIREO_PLAN_IN_ARENA) || offset % alignment != 0 ||
        bytes[i] > size || offset > size - bytes[i])
      return 0;
  }
  return 1;
}

/* The order, with what check_call says of each. */
static int check_calls(const view* g, vireo_segment_rows* rows, uint32_t end) {
  call c;
  vireo_segment_begin(g->s, g->values, rows);
  for (;;) {
    const int32_t k = vireo_segment_next(g->s, g->values, g->nodes, rows, &c.count);
    if (k < 0) break;
    c.node = (uint32_t)k;
    if (!make_room(g, rows, NULL, k)) return 0;
    c.part = 0;
    for (;; ++c.part) {
      if (!prepare(g, rows, NULL, 0, &c) || !check_call(g, rows, &c, end)) return 0;
      if (!has_more_planes(g, &c)) break;
    }
    finish(g, rows, NULL, &c);
  }
  for (uint32_t k = 0; k < g->s->nodes; ++k)
    if (rows[g->nodes[k].output].done != g->values[g->nodes[k].output].rows) return 0;
  return 1;
}

vireo_mcu_status vireo_segment_check(const uint8_t* plan, const vireo_plan_record* r, uint8_t* arena) {
  const vireo_plan_header* const h = (const vireo_plan_header*)(const void*)plan;
  if ((r->parameters & 3) != 0 || sizeof(vireo_segment) > h->bytes || r->parameters > h->bytes - sizeof(vireo_segment))
    return VIREO_MCU_INVALID_MODEL;
  const vireo_segment* const s = (const vireo_segment*)(const void*)(plan + r->parameters);
  const uint32_t list =
      s->values * (uint32_t)sizeof(vireo_segment_value) + s->nodes * (uint32_t)sizeof(vireo_segment_node);
  const uint32_t state = s->values * (uint32_t)sizeof(vireo_segment_rows) + 12, end = VIREO_PLAN_OFFSET(s->state);
  if (s->nodes < 1 || s->nodes > VIREO_SEGMENT_NODES || s->values < 1 || s->values > 2 * VIREO_SEGMENT_NODES ||
      (s->list & 3) != 0 || list > h->bytes || s->list > h->bytes - list ||
      VIREO_PLAN_REGION(s->state) != VIREO_PLAN_IN_ARENA || (end & 3) != 0 || state > h->arena_bytes ||
      end > h->arena_bytes - state)
    return VIREO_MCU_INVALID_MODEL;
  const view g = view_of(plan, r);
  for (uint32_t k = 0; k < s->nodes; ++k)
    if (vireo_mcu_kernel_of(g.nodes[k].kernel) == NULL) return VIREO_MCU_UNSUPPORTED;
  for (uint32_t v = 0; v < s->values; ++v)
    if (!check_value(&g, g.values + v, end)) return VIREO_MCU_INVALID_MODEL;
  for (uint32_t k = 0; k < s->nodes; ++k)
    if (!check_node(&g, g.nodes + k, k, end)) return VIREO_MCU_INVALID_MODEL;
  return check_calls(&g, (vireo_segment_rows*)(void*)(arena + end), end) ? VIREO_MCU_OK : VIREO_MCU_INVALID_MODEL;
}

/* ---- Runs */

/* Between two calls of the executor: the call under way, behind the rows of all values. */
typedef struct {
  uint32_t unit; /* the first of its units that was not run; 0: it, or these planes of it, have not begun */
  uint16_t node, count;
  uint16_t part; /* of its planes, where it runs some at a time */
  uint16_t reserved;
} progress;

int vireo_segment_run(const uint8_t* plan, const vireo_plan_record* r, uint8_t* arena, vireo_mcu_units units) {
  const view g = view_of(plan, r);
  vireo_segment_rows* const rows = (vireo_segment_rows*)(void*)(arena + VIREO_PLAN_OFFSET(g.s->state));
  progress* const p = (progress*)(void*)(rows + g.s->values);
  uint32_t left = units.to - units.from;
  call c;
  if (units.from == 0) {
    vireo_segment_begin(g.s, g.values, rows);
    p->unit = p->part = 0;
  }
  while (left > 0) {
    if (p->unit == 0 && p->part == 0) {
      const int32_t k = vireo_segment_next(g.s, g.values, g.nodes, rows, &c.count);
      if (k < 0) return 1;
      (void)make_room(&g, rows, arena, k);
      p->node = (uint16_t)k;
      p->count = (uint16_t)c.count;
    }
    c.node = p->node;
    c.count = p->count;
    c.part = p->part;
    (void)prepare(&g, rows, arena, p->unit == 0, &c);
    const vireo_mcu_kernel* const kernel = vireo_mcu_kernel_of(g.nodes[c.node].kernel);
    void* operands[VIREO_PLAN_OPERANDS];
    for (uint32_t i = 0; i < VIREO_PLAN_OPERANDS; ++i) {
      const uint32_t place = c.operands[i], offset = VIREO_PLAN_OFFSET(place);
      operands[i] = place == VIREO_PLAN_ABSENT                        ? NULL
                    : VIREO_PLAN_REGION(place) == VIREO_PLAN_IN_ARENA ? arena + offset
                                                                      : (uint8_t*)(uintptr_t)(plan + offset);
    }
    const uint32_t all = kernel->units(c.parameters), some = all - p->unit < left ? all - p->unit : left;
    const vireo_mcu_units these = {p->unit, p->unit == 0 && some == all ? VIREO_MCU_ALL_UNITS : p->unit + some};
    kernel->run(c.parameters, operands, these);
    left -= some;
    p->unit += some;
    if (p->unit < all) return 0;
    p->unit = 0;
    if (has_more_planes(&g, &c)) {
      ++p->part;
      continue;
    }
    p->part = 0;
#if VIREO_MCU_TRACE
    const vireo_segment_value* const y = g.values + g.nodes[c.node].output;
    const vireo_plan_record* const first = (const vireo_plan_record*)(const void*)(plan + sizeof(vireo_plan_header));
    const int whole = y->one_row, apart = y->whole == VIREO_PLAN_ABSENT || y->planes != 1;
    if (!whole || c.first + c.count == y->rows)
      vireo_mcu_trace_rows(plan, (uint32_t)(r - first), c.node,
                           arena + VIREO_PLAN_OFFSET(apart ? y->fresh : c.operands[g.nodes[c.node].output_at]),
                           y->planes, y->row_bytes, whole ? 0 : c.first, whole ? 1 : c.count, whole ? 1 : y->rows);
#endif
    finish(&g, rows, arena, &c);
  }
  return vireo_segment_next(g.s, g.values, g.nodes, rows, &c.count) < 0;
}
