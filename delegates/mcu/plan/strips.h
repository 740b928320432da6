/* Segments: neighbouring nodes over images that run strip by strip, as one record.
 *
 * Of the values between them there are only the rows that are still needed. A node makes `chunk` rows of its output a
 * call. Of a value, the `fresh` rows lie where its node left them, as the only rows of planes of that height; what is
 * not read up before an earlier node runs moves to the `kept` rows. A node that reads kept and fresh rows, or some of
 * either, has them gathered. The last node that has enough rows runs next, so that rows are used soon after they were
 * made, and no row is made twice.
 *
 * A node whose planes do not meet (filters over one plane, pools) can run some planes at a time: then only those are
 * gathered. If nobody else reads its input, their rows are kept as they are gathered, so that the fresh rows of the
 * input and of the result may share their memory.
 *
 * An average over all of an image is a node that gets rows as they are made (kernels/pool_rows.h). Its result is a
 * value of as many rows as it reads, all of which lie in one place: the sums so far.
 *
 * The order follows from the segment alone: the converter goes through it to size all memory (converter/firmware), a
 * session goes through it when it is opened to check every call, and a run repeats it. The arithmetic of rows is in
 * sdk/plan/rows/strip_rows.h, which the CPU delegate's strips share. */
#ifndef VIREO_DELEGATES_MCU_PLAN_STRIPS_H_
#define VIREO_DELEGATES_MCU_PLAN_STRIPS_H_

#include <stdint.h>

#include "delegates/mcu/kernels/requantize.h"
#include "delegates/mcu/plan/plan.h"
#include "delegates/mcu/plan/vireo_mcu.h"
#include "sdk/plan/rows/strip_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  VIREO_SEGMENT_NODES = 64,        /* at most, and as many values more */
  VIREO_SEGMENT_PARAMETERS = 96,   /* bytes of a node's parameters, at most */
  VIREO_SEGMENT_NOWHERE = 0xFF,    /* of a word of parameters */
  VIREO_SEGMENT_MOST_ROWS = 16384, /* of a value */
};

/* Parameters of the record. Values and nodes follow at `list`, in this order. */
typedef struct {
  uint32_t list; /* offset in the plan */
  uint16_t nodes, values;
  uint32_t state; /* place in the arena of 8 bytes for each value, and 12; all other memory of the segment is below */
} vireo_segment;

/* A value with rows: `planes` of them, each of row_bytes. */
typedef struct {
  uint32_t rows, planes, row_bytes;
  uint32_t whole; /* place of all rows, where something else reads or made them; else absent */
  uint32_t fresh, kept;
  uint16_t fresh_rows, kept_rows; /* for which there is memory */
  uint8_t maker, last_reader;     /* nodes; maker is 255 where all rows are there before */
  uint8_t one_row;                /* all rows lie in one place */
  uint8_t reserved;
} vireo_segment_value;

/* A kernel that makes rows. Its parameters are changed for each call: at these words of them. */
typedef struct {
  uint16_t kernel;
  uint16_t chunk; /* rows of a call; the last one may have fewer */
  uint16_t taps, stride, pad;
  uint16_t gather_rows; /* for which there is memory at `gather` */
  uint8_t inputs[2];    /* values; 255: not used */
  uint8_t input_at[2];  /* operands */
  uint8_t output;       /* a value */
  uint8_t output_at;    /* an operand */
  uint8_t rows_read_at, rows_made_at, above_at, below_at;
  uint8_t elements_at;   /* elements of the rows that are made */
  uint8_t element_shift; /* log2 of an output's element in bytes */
  uint8_t first_at;      /* the first row that is read */
  uint8_t planes_at;     /* planes of input 0, where they run `planes` at a time */
  uint8_t filters;       /* then: planes of the output for each of those */
  uint8_t slides;        /* the rows of input 0 are kept as they are gathered */
  uint16_t planes;
  uint16_t part_bytes[VIREO_PLAN_OPERANDS]; /* from the operands of some planes to those of the next ones */
  uint32_t parameters;                      /* offset in the plan */
  uint32_t gather[2];                       /* places */
  uint32_t operands[VIREO_PLAN_OPERANDS];   /* places; those with rows: anything */
} vireo_segment_node;

/* ---- The order of calls */

typedef struct {
  uint16_t low, fresh, done; /* rows [low, fresh) are kept, [fresh, done) where their node left them */
  uint16_t reserved;
} vireo_segment_rows;

static inline vireo_row_window vireo_segment_window(const vireo_segment_node* n) {
  const vireo_row_window w = {n->taps, n->stride, n->pad};
  return w;
}

static inline void vireo_segment_begin(const vireo_segment* s, const vireo_segment_value* values,
                                       vireo_segment_rows* rows) {
  for (uint32_t v = 0; v < s->values; ++v) {
    rows[v].low = rows[v].fresh = rows[v].reserved = 0;
    rows[v].done = values[v].maker == 255 ? (uint16_t)values[v].rows : 0;
  }
}

/* The node that runs next and how many rows it makes; -1: none can. */
static inline int32_t vireo_segment_next(const vireo_segment* s, const vireo_segment_value* values,
                                         const vireo_segment_node* nodes, const vireo_segment_rows* rows,
                                         uint32_t* count) {
  for (int32_t k = s->nodes - 1; k >= 0; --k) {
    const vireo_segment_node* const n = nodes + k;
    const int32_t all = (int32_t)values[n->output].rows, done = rows[n->output].done;
    const int32_t end = done + n->chunk < all ? done + n->chunk : all;
    const vireo_row_window w = vireo_segment_window(n);
    int able = end > done;
    for (int i = 0; able && i < 2 && n->inputs[i] != 255; ++i)
      able = rows[n->inputs[i]].done >= vireo_rows_needed(&w, end, (int32_t)values[n->inputs[i]].rows);
    if (able) {
      *count = (uint32_t)(end - done);
      return k;
    }
  }
  return -1;
}

static inline int vireo_segment_by_planes(const vireo_segment_node* n) { return n->planes_at != VIREO_SEGMENT_NOWHERE; }

/* The first row of x that is still read when node n, its only reader, has made `made` rows of y. */
static inline uint32_t vireo_segment_slides_to(const vireo_segment_node* n, const vireo_segment_value* x,
                                               const vireo_segment_value* y, const vireo_segment_rows* held,
                                               uint32_t made) {
  const vireo_row_window w = vireo_segment_window(n);
  const int32_t first = vireo_rows_unread(&w, (int32_t)made, (int32_t)y->rows, (int32_t)x->rows);
  return (uint32_t)vireo_rows_clamp(first, held->low, held->done);
}

/* Whether the fresh rows of a value have to move before node k runs: its memory is others' then. */
static inline int vireo_segment_moves(const vireo_segment_value* v, const vireo_segment_rows* r, int32_t k) {
  return v->whole == VIREO_PLAN_ABSENT && r->done > r->fresh && (k <= v->maker || k > v->last_reader);
}

/* The first row of value v that is still read. */
static inline uint32_t vireo_segment_unread(const vireo_segment_value* values, const vireo_segment_node* nodes,
                                            const vireo_segment_rows* rows, uint32_t v) {
  int32_t first = rows[v].done;
  for (uint32_t k = values[v].maker + 1u; k <= values[v].last_reader; ++k) {
    const vireo_segment_node* const n = nodes + k;
    if (n->inputs[0] != v && n->inputs[1] != v) continue;
    const vireo_row_window w = vireo_segment_window(n);
    const int32_t unread =
        vireo_rows_unread(&w, rows[n->output].done, (int32_t)values[n->output].rows, (int32_t)values[v].rows);
    if (unread < first) first = unread;
  }
  return first > rows[v].low ? (uint32_t)first : rows[v].low;
}

/* Rows of an input lie side by side, as the kernel reads them: then the offset of the first from `*place`, which is the
 * value's. Else they have to be gathered: UINT32_MAX. */
static inline uint32_t vireo_segment_direct(const vireo_segment_value* v, const vireo_segment_rows* r, uint32_t from,
                                            uint32_t read, uint32_t* place) {
  uint32_t first = r->fresh, held = r->done - (uint32_t)r->fresh;
  *place = v->fresh;
  if (v->whole != VIREO_PLAN_ABSENT) {
    *place = v->whole, first = 0, held = v->rows;
  } else if (from < r->fresh) {
    *place = v->kept, first = r->low, held = v->kept_rows;
    if (from + read > r->fresh) return UINT32_MAX;
  }
  if (v->planes != 1 && (from != first || read != held)) return UINT32_MAX;
  return (from - first) * v->row_bytes;
}

/* ---- The executor's part */

/* Whether a segment's every call stays inside the plan and, below the state, the arena. Counts in the arena. */
vireo_mcu_status vireo_segment_check(const uint8_t* plan, const vireo_plan_record* r, uint8_t* arena);
/* Some of its units; from 0 on it begins anew. Whether it has ended. How many units it has follows from its calls, and
 * depends on the core. */
int vireo_segment_run(const uint8_t* plan, const vireo_plan_record* r, uint8_t* arena, vireo_mcu_units units);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_PLAN_STRIPS_H_ */
