/* A device of a vendor, from outside of Vireo's tree: a "toy DSP" that runs a few float32 operators, written in C99
 * over vireo/delegate.h and vireo/ops.h alone. It is complete and small: what a real driver does more is said where it
 * would.
 *
 *   vireo run model.vireo --plugins libtoy_dsp.so --device toy_dsp,cpu --input x=x.npy
 *
 * The host asks in this order: open (once), enumerate (which devices), claim (which nodes), then for every part that it
 * made of claimed neighbours compile, memory, load, and for every run submit and wait; at the end unload and release.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vireo/delegate.h"
#include "vireo/ops.h"

/* ---- What the device runs: a program of whole-tensor instructions. Our own format, in a blob that the host may keep
 * in a file: it begins with what tells ours from others', and holds numbers, no pointers. */

#define TOY_MAGIC 0x31504454u /* "TDP1": a new format gets a new number */
#define TOY_MOST 4096u        /* instructions, and values that go in and come out */

enum { SPACE_INPUT, SPACE_OUTPUT, SPACE_INNER, SPACE_CONSTANT };
typedef struct place {
  uint32_t space;
  uint32_t at; /* number of the input or output; first element of an inner value or a constant */
} place;
typedef struct instruction {
  uint32_t op; /* VIREO_OP_... */
  uint32_t count;
  place a, b, y; /* b: a again where there is one operand */
} instruction;
typedef struct program {
  uint32_t magic, input_count, output_count, instruction_count;
  uint64_t inner_count, constant_count; /* elements */
  uint64_t hash;                        /* of all that follows */
} program;
/* Behind it: elements of each input, then output (uint32_t); instructions; constants (float). */

static size_t ends_of(const program* p) { return sizeof(*p); }
static size_t code_of(const program* p) {
  return (ends_of(p) + sizeof(uint32_t) * (p->input_count + p->output_count) + 7) / 8 * 8;
}
static size_t constants_of(const program* p) { return code_of(p) + sizeof(instruction) * p->instruction_count; }
static size_t bytes_of(const program* p) { return constants_of(p) + sizeof(float) * (size_t)p->constant_count; }

static uint64_t hash_of(const void* data, size_t bytes) {
  const uint8_t* p = data;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ p[i]) * 0x100000001b3u;
  return hash;
}

/* ---- Claim: which nodes. Each is judged alone; the reason for a node that is left is shown by `vireo explain`. */

static uint32_t operands(uint16_t op) {
  switch (op) {
    case VIREO_OP_ADD:
    case VIREO_OP_SUB:
    case VIREO_OP_MUL:
      return 2;
    case VIREO_OP_ABS:
    case VIREO_OP_NEG:
    case VIREO_OP_RELU:
      return 1;
    default:
      return 0;
  }
}

/* Elements of a value that the device can hold; 0: it cannot. Shapes that change between runs would need a program for
 * each, or one that reads its counts at submit. */
static uint32_t elements(const vireo_host* host, const vireo_graph* graph, int32_t number) {
  vireo_graph_value v = VIREO_GRAPH_VALUE_INIT;
  if (number < 0 || host->value(graph, (uint32_t)number, &v) != VIREO_OK || !v.is_static || v.dtype != VIREO_FLOAT32)
    return 0;
  uint64_t n = 1;
  for (int32_t i = 0; i < v.rank; ++i) {
    if (v.max_dims[i] <= 0 || (uint64_t)v.max_dims[i] > UINT32_MAX / 4 / n) return 0;
    n *= (uint64_t)v.max_dims[i];
  }
  return (uint32_t)n;
}

static int made_in(const vireo_host* host, const vireo_graph* graph, int32_t number) {
  for (uint32_t k = 0; k < host->node_count(graph); ++k) {
    vireo_graph_node n = VIREO_GRAPH_NODE_INIT;
    if (host->node(graph, k, &n) == VIREO_OK && n.output_count == 1 && n.outputs[0] == number) return 1;
  }
  return 0;
}

/* NULL: the device runs it. A composite is a node that the converter made of several; its body says what it means, and
 * is all that has to be understood. (A device that has the whole in one piece may look at `hint` and match the body.)
 */
static const char* why_not(const vireo_host* host, const vireo_graph* graph, uint32_t index) {
  vireo_graph_node n = VIREO_GRAPH_NODE_INIT;
  if (host->node(graph, index, &n) != VIREO_OK) return "the host does not show the node";
  if (n.body != NULL) {
    for (uint32_t o = 0; o < host->output_count(n.body); ++o) {
      if (!made_in(host, n.body, host->output(n.body, o))) return "a composite that hands a value through";
    }
    for (uint32_t k = 0; k < host->node_count(n.body); ++k) {
      const char* why = why_not(host, n.body, k);
      if (why != NULL) return why;
    }
    return NULL;
  }
  const uint32_t wanted = operands(n.op);
  if (wanted == 0) return "the toy DSP knows Abs, Add, Mul, Neg, Relu, Sub";
  if (n.input_count != wanted || n.output_count != 1) return "another number of operands";
  const uint32_t count = elements(host, graph, n.outputs[0]);
  if (count == 0) return "not float32 of a fixed shape";
  for (uint32_t i = 0; i < wanted; ++i) {
    if (elements(host, graph, n.inputs[i]) != count) return "operands of other shapes than the result";
  }
  return NULL;
}

static vireo_status claim(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  (void)device;
  for (uint32_t n = 0; n < host->node_count(graph); ++n) {
    const char* why = why_not(host, graph, n);
    vireo_status status;
    if (why != NULL) {
      status = claims->leave(claims->context, n, why);
    } else {
      vireo_claim mine = VIREO_CLAIM_INIT;
      vireo_graph_node node = VIREO_GRAPH_NODE_INIT;
      status = host->node(graph, n, &node);
      if (status != VIREO_OK) return status;
      mine.node = n;
      mine.kernel = "toy_dsp";
      mine.flags = VIREO_CLAIM_JOINS;                              /* neighbours become one part: one launch for all */
      mine.time_ns = elements(host, graph, node.outputs[0]) / 8.0; /* what the host weighs: 8 elements a nanosecond */
      /* A driver that matched a pattern here hands what it found on in mine.state, to be read in compile and load. */
      status = claims->take(claims->context, &mine);
    }
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

/* ---- Compile: a part's nodes become a program. A compiler may use the heap in its own way. */

typedef struct builder {
  const vireo_host* host;
  program head;
  instruction* code;
  float* constants;
  const char* failed;
  const char* at; /* the node in hand, for the user */
} builder;

/* Where the values of one graph (the model's, or a composite's body) lie; space UINT32_MAX: nowhere yet. */
typedef struct scope {
  const vireo_graph* graph;
  place* places;
} scope;

static int open_scope(builder* b, scope* s, const vireo_graph* graph) {
  const uint32_t count = b->host->value_count(graph);
  s->graph = graph;
  s->places = malloc(sizeof(place) * (count + 1u));
  if (s->places == NULL) b->failed = "no memory to compile";
  for (uint32_t i = 0; s->places != NULL && i < count; ++i) s->places[i].space = UINT32_MAX;
  return s->places != NULL;
}

static place place_of(builder* b, scope* s, int32_t number) {
  place* p = &s->places[number];
  if (p->space != UINT32_MAX) return *p;
  vireo_graph_value v = VIREO_GRAPH_VALUE_INIT;
  (void)b->host->value(s->graph, (uint32_t)number, &v);
  if (v.constant == NULL) { /* made inside of the part: it gets elements of its own */
    p->space = SPACE_INNER;
    p->at = (uint32_t)b->head.inner_count;
    b->head.inner_count += elements(b->host, s->graph, number);
  } else {
    const size_t count = v.constant_size / sizeof(float);
    float* more = realloc(b->constants, sizeof(float) * ((size_t)b->head.constant_count + count));
    if (more == NULL) {
      b->failed = "no memory to compile";
      return *p;
    }
    b->constants = more;
    memcpy(more + b->head.constant_count, v.constant, count * sizeof(float));
    p->space = SPACE_CONSTANT;
    p->at = (uint32_t)b->head.constant_count;
    b->head.constant_count += count;
  }
  return *p;
}

static void emit(builder* b, scope* s, uint32_t index) {
  vireo_graph_node n = VIREO_GRAPH_NODE_INIT;
  if (b->failed != NULL || b->host->node(s->graph, index, &n) != VIREO_OK) return;
  b->at = n.name;
  if (n.body != NULL) { /* its inputs and outputs are the node's own; inside it counts values anew */
    scope inner;
    if (!open_scope(b, &inner, n.body)) return;
    for (uint32_t i = 0; i < b->host->input_count(n.body) && i < n.input_count; ++i) {
      if (n.inputs[i] >= 0) inner.places[b->host->input(n.body, i)] = place_of(b, s, n.inputs[i]);
    }
    for (uint32_t o = 0; o < b->host->output_count(n.body) && o < n.output_count; ++o) {
      if (n.outputs[o] >= 0) inner.places[b->host->output(n.body, o)] = place_of(b, s, n.outputs[o]);
    }
    for (uint32_t k = 0; k < b->host->node_count(n.body); ++k) emit(b, &inner, k);
    free(inner.places);
    return;
  }
  if (b->head.instruction_count == TOY_MOST) {
    b->failed = "more instructions than the device holds";
    return;
  }
  instruction* more = realloc(b->code, sizeof(instruction) * (b->head.instruction_count + 1u));
  if (more == NULL) {
    b->failed = "no memory to compile";
    return;
  }
  b->code = more;
  instruction* k = &more[b->head.instruction_count++];
  memset(k, 0, sizeof(*k));
  k->op = n.op;
  k->count = elements(b->host, s->graph, n.outputs[0]);
  k->a = place_of(b, s, n.inputs[0]);
  k->b = place_of(b, s, n.inputs[n.input_count - 1]);
  k->y = place_of(b, s, n.outputs[0]);
}

static vireo_status compile(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                            const vireo_blob* blob, vireo_compiled* out) {
  (void)device;
  builder b;
  memset(&b, 0, sizeof(b));
  b.host = host;
  b.head.magic = TOY_MAGIC;
  b.head.input_count = part->input_count;
  b.head.output_count = part->output_count;
  if (part->input_count > TOY_MOST || part->output_count > TOY_MOST) b.failed = "more values than the device has ports";
  scope s = {graph, NULL};
  if (b.failed == NULL && open_scope(&b, &s, graph)) {
    for (uint32_t i = 0; i < part->input_count; ++i) s.places[part->inputs[i]] = (place){SPACE_INPUT, i};
    for (uint32_t o = 0; o < part->output_count; ++o) s.places[part->outputs[o]] = (place){SPACE_OUTPUT, o};
    for (uint32_t n = 0; n < part->node_count; ++n) emit(&b, &s, part->nodes[n]);
  }
  free(s.places);
  if (b.failed == NULL && (b.head.inner_count | b.head.constant_count) > UINT32_MAX / 4) b.failed = "it is too large";
  uint8_t* to = NULL;
  if (b.failed == NULL) {
    to = blob->reserve(blob->context, bytes_of(&b.head));
    if (to == NULL) b.failed = "the host has no memory for the program";
  }
  if (to != NULL) {
    memset(to, 0, bytes_of(&b.head)); /* the same bytes for the same part: no byte is left to chance */
    uint32_t* ends = (uint32_t*)(void*)(to + ends_of(&b.head));
    for (uint32_t i = 0; i < part->input_count; ++i) ends[i] = elements(host, graph, part->inputs[i]);
    for (uint32_t o = 0; o < part->output_count; ++o) {
      ends[part->input_count + o] = elements(host, graph, part->outputs[o]);
    }
    memcpy(to + code_of(&b.head), b.code, sizeof(instruction) * b.head.instruction_count);
    if (b.head.constant_count != 0) {
      memcpy(to + constants_of(&b.head), b.constants, sizeof(float) * (size_t)b.head.constant_count);
    }
    b.head.hash = hash_of(to + sizeof(program), bytes_of(&b.head) - sizeof(program));
    memcpy(to, &b.head, sizeof(program));
    out->time_ns = 0; /* a compiler that knows says it here, and the host believes it before its own estimate */
    for (uint32_t i = 0; i < b.head.instruction_count; ++i) out->time_ns += b.code[i].count / 8.0;
  }
  free(b.code);
  free(b.constants);
  if (b.failed == NULL) return VIREO_OK;
  snprintf(blob->fault->message, blob->fault->message_bytes, "%s", b.failed);
  blob->fault->node = b.at;
  return to == NULL && strncmp(b.failed, "no memory", 9) == 0 ? VIREO_OUT_OF_ARENA : VIREO_UNSUPPORTED;
}

/* ---- Load: the host gives memory, as much as memory() said; nothing is allocated from here on. A blob may come from a
 * file: everything that leads to an address is checked here, once, so that submit need not. */

typedef struct loaded {
  const program* head;
  vireo_status status; /* of the last submit */
} loaded;

static int inside(const program* p, const uint32_t* ends, place at, uint32_t count, int is_result) {
  switch (at.space) {
    case SPACE_INPUT:
      return !is_result && at.at < p->input_count && ends[at.at] >= count;
    case SPACE_OUTPUT:
      return at.at < p->output_count && ends[p->input_count + at.at] >= count;
    case SPACE_INNER:
      return (uint64_t)at.at + count <= p->inner_count;
    case SPACE_CONSTANT:
      return !is_result && (uint64_t)at.at + count <= p->constant_count;
    default:
      return 0;
  }
}

static int blob_is_good(const vireo_part* part, const void* blob, size_t blob_bytes) {
  const program* p = blob;
  if (p == NULL || blob_bytes < sizeof(*p) || p->magic != TOY_MAGIC || p->input_count > TOY_MOST ||
      p->output_count > TOY_MOST || p->instruction_count > TOY_MOST || p->inner_count > UINT32_MAX / 4 ||
      p->constant_count > UINT32_MAX / 4 || blob_bytes != bytes_of(p) || p->input_count != part->input_count ||
      p->output_count != part->output_count ||
      p->hash != hash_of((const uint8_t*)blob + sizeof(*p), bytes_of(p) - sizeof(*p)))
    return 0;
  const uint32_t* ends = (const uint32_t*)(const void*)((const uint8_t*)blob + ends_of(p));
  const instruction* code = (const instruction*)(const void*)((const uint8_t*)blob + code_of(p));
  for (uint32_t i = 0; i < p->instruction_count; ++i) {
    if (code[i].op > UINT16_MAX || operands((uint16_t)code[i].op) == 0 ||
        !inside(p, ends, code[i].a, code[i].count, 0) || !inside(p, ends, code[i].b, code[i].count, 0) ||
        !inside(p, ends, code[i].y, code[i].count, 1))
      return 0;
  }
  return 1;
}

static vireo_status memory_of(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                              const vireo_memory_request* with, vireo_part_memory* out) {
  (void)device, (void)host, (void)graph;
  if (!blob_is_good(part, with->blob, with->blob_bytes)) return VIREO_INVALID_MODEL;
  out->state_bytes = sizeof(loaded);
  out->scratch_bytes = sizeof(float) * (size_t)((const program*)with->blob)->inner_count; /* shared with other parts */
  return VIREO_OK;
}

static vireo_status load(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                         const vireo_load_request* with, void** out) {
  (void)device, (void)host, (void)graph;
  if (!blob_is_good(part, with->blob, with->blob_bytes)) {
    snprintf(with->fault->message, with->fault->message_bytes, "the compiled part is damaged or another version's");
    return VIREO_INVALID_MODEL;
  }
  loaded* l = with->state;
  l->head = with->blob; /* outlives the part */
  l->status = VIREO_OK;
  *out = l;
  return VIREO_OK;
}

/* ---- Run. A real driver writes a descriptor and rings a doorbell here, returns, and waits for the interrupt in
 * wait(); the toy is done when submit returns, and wait() has only to say how it went. */

static float compute(uint32_t op, float a, float b) {
  switch (op) {
    case VIREO_OP_ADD:
      return a + b;
    case VIREO_OP_SUB:
      return a - b;
    case VIREO_OP_MUL:
      return a * b;
    case VIREO_OP_ABS:
      return a < 0 ? -a : a == 0 ? 0.0f : a;
    case VIREO_OP_NEG:
      return -a;
    default: /* Relu; what is not a number stays so */
      return a < 0 ? 0.0f : a;
  }
}

static vireo_status submit(void* self, const vireo_tensor* const* inputs, uint32_t input_count,
                           vireo_tensor* const* outputs, uint32_t output_count, const vireo_submit* with) {
  loaded* l = self;
  const program* p = l->head;
  const uint8_t* base = (const uint8_t*)p;
  const uint32_t* ends = (const uint32_t*)(const void*)(base + ends_of(p));
  const instruction* code = (const instruction*)(const void*)(base + code_of(p));
  if (input_count != p->input_count || output_count != p->output_count) return VIREO_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < input_count + output_count; ++i) {
    const vireo_tensor* t = i < input_count ? inputs[i] : outputs[i - input_count];
    if (t == NULL || t->capacity < (int64_t)(sizeof(float) * ends[i])) {
      snprintf(with->fault->message, with->fault->message_bytes, "a value is smaller than compiled");
      return VIREO_INVALID_ARGUMENT;
    }
  }
  for (uint32_t i = 0; i < p->instruction_count; ++i) {
    const place places[3] = {code[i].a, code[i].b, code[i].y};
    float* at[3];
    for (int k = 0; k < 3; ++k) {
      const place w = places[k];
      at[k] = w.space == SPACE_INPUT    ? (float*)inputs[w.at]->data
              : w.space == SPACE_OUTPUT ? (float*)outputs[w.at]->data
              : w.space == SPACE_INNER  ? (float*)with->scratch + w.at
                                        : (float*)(uintptr_t)(base + constants_of(p)) + w.at;
    }
    for (uint32_t n = 0; n < code[i].count; ++n) at[2][n] = compute(code[i].op, at[0][n], at[1][n]);
  }
  l->status = VIREO_OK;
  return VIREO_OK;
}

static vireo_status wait(void* self, uint64_t timeout_ns) {
  (void)timeout_ns; /* VIREO_BUSY after so long, where the device is still at work */
  return ((const loaded*)self)->status;
}
static void cancel(void* self) { (void)self; } /* nothing is ever under way here */
static void unload(void* self) { (void)self; }
static vireo_status health(void* device) {
  (void)device; /* VIREO_DEVICE_LOST when it no longer answers: the host then goes on elsewhere */
  return VIREO_OK;
}

/* ---- Open: a table and a device for each runtime that asks, in the application's memory. */

typedef struct driver {
  vireo_delegate table;
  vireo_host host; /* a copy: its functions live until release */
} driver;

static vireo_status enumerate(void* self, const vireo_host* host, uint32_t index, vireo_device_info* info,
                              void** device) {
  (void)host;
  if (index != 0) return VIREO_INVALID_ARGUMENT; /* past the last one */
  info->name = "toy_dsp";
  info->detail = "8 elements a nanosecond, in software";
  info->vendor = "Example Devices";
  info->driver = "1.0";
  info->flags = VIREO_DEVICE_EMULATED | VIREO_DEVICE_UNIFIED;
  info->types = (uint64_t)1 << VIREO_FLOAT32;
  info->f32_rate = 8e9;
  info->bandwidth = 32e9;
  info->launch_ns = 500;
  *device = self;
  return VIREO_OK;
}

static void release(void* self) {
  driver* d = self;
  const vireo_host host = d->host;
  host.release(host.context, d, sizeof(*d), 64);
}

#if defined(_WIN32)
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
    vireo_status vireo_delegate_open(uint32_t abi, const vireo_host* host, const vireo_delegate** out) {
  *out = NULL;
  if (abi != VIREO_DELEGATE_ABI) return VIREO_UNSUPPORTED; /* built for another runtime: say so and stay out */
  /* The same ABI, and perhaps an older header than ours: ask for the last member of it that we cannot do without. */
  if (!VIREO_HAS(host, release)) return VIREO_UNSUPPORTED;
  driver* d = host->allocate(host->context, sizeof(*d), 64);
  if (d == NULL) return VIREO_OUT_OF_ARENA;
  memset(d, 0, sizeof(*d));
  memcpy(&d->host, host, host->struct_size < sizeof(d->host) ? host->struct_size : sizeof(d->host));
  vireo_delegate* t = &d->table;
  t->struct_size = sizeof(*t);
  t->abi = VIREO_DELEGATE_ABI;
  t->name = "toy_dsp";
  t->self = d;
  t->enumerate = enumerate;
  t->claim = claim;
  t->compile = compile;
  t->memory = memory_of;
  t->load = load;
  t->submit = submit;
  t->wait = wait;
  t->cancel = cancel;
  t->unload = unload;
  t->health = health;
  t->release = release;
  *out = t;
  return VIREO_OK;
}
