/* A plug-in that is compiled with headers older and newer than those of the host that opens it: see
 * ../sized_structs_test.py. It runs Relu of float32, one node at a time, and looks at every struct that crosses.
 *
 *   NEWER 0: the host's own header, or one without the last member of each struct
 *   NEWER 1: every struct has a member `newer` at its end
 *   SETS  0: nothing that the host does not know; 1: the table; 2: a claim */
#include <stdio.h>
#include <string.h>
#include <vireo/delegate.h>
#include <vireo/ops.h>

#define GUARD 0xA5A5A5A5A5A5A5A5u

/* What a claim hands on to load. */
typedef struct found {
  uint32_t node, count;
} found;

/* What is asked of the host with a guard behind it; a newer member has a value that the host replaces by 0. */
static int node_of(const vireo_host* host, const vireo_graph* graph, uint32_t index, vireo_graph_node* out) {
  struct {
    vireo_graph_node node;
    uint64_t guard;
  } asked = {VIREO_GRAPH_NODE_INIT, GUARD};
#if NEWER
  asked.node.newer = 5;
#endif
  if (host->node(graph, index, &asked.node) != VIREO_OK || asked.guard != GUARD) return 0;
#if NEWER
  if (asked.node.newer != 0) return 0;
#endif
  *out = asked.node;
  return out->struct_size == sizeof(*out);
}

static uint32_t elements(const vireo_host* host, const vireo_graph* graph, int32_t number) {
  struct {
    vireo_graph_value value;
    uint64_t guard;
  } asked = {VIREO_GRAPH_VALUE_INIT, GUARD};
  uint64_t count = 1;
  if (number < 0 || host->value(graph, (uint32_t)number, &asked.value) != VIREO_OK || asked.guard != GUARD) return 0;
  if (asked.value.dtype != VIREO_FLOAT32 || !asked.value.is_static) return 0;
  for (int32_t i = 0; i < asked.value.rank; ++i) count *= (uint64_t)asked.value.max_dims[i];
  return count < UINT32_MAX ? (uint32_t)count : 0;
}

static vireo_status enumerate(void* self, const vireo_host* host, uint32_t index, vireo_device_info* info,
                              void** device) {
  (void)host;
  if (index != 0) return VIREO_INVALID_ARGUMENT;
  info->name = "sized";
  info->detail = "of a test";
  info->flags = VIREO_DEVICE_EMULATED | VIREO_DEVICE_UNIFIED;
#if NEWER
  if (VIREO_HAS(info, newer)) info->newer = 1;
#endif
  *device = self;
  return VIREO_OK;
}

static vireo_status claim(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  (void)device;
  for (uint32_t n = 0; n < host->node_count(graph); ++n) {
    vireo_graph_node node;
    vireo_status status;
    uint32_t count;
    char reason[64];
    if (!node_of(host, graph, n, &node)) return VIREO_INVALID_ARGUMENT;
    count = node.op == VIREO_OP_RELU ? elements(host, graph, node.inputs[0]) : 0;
    if (count == 0) {
      snprintf(reason, sizeof(reason), "operator %d is no Relu", node.op); /* the host copies it */
      status = claims->leave(claims->context, n, reason);
    } else {
      vireo_claim mine = VIREO_CLAIM_INIT;
      const found state = {n, count};
      mine.node = n;
      mine.kernel = "sized_relu";
      mine.state = &state;
      mine.state_bytes = sizeof(state);
#if NEWER
      mine.newer = SETS == 2;
#endif
      status = claims->take(claims->context, &mine);
    }
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

static vireo_status memory(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                           const vireo_memory_request* with, vireo_part_memory* out) {
  const found* state = part->claimed[0];
  (void)device, (void)host, (void)graph;
  if (part->node_count != 1 || state->node != part->nodes[0] || with->slots < 1) return VIREO_INVALID_ARGUMENT;
#if NEWER
  if (VIREO_HAS(part, newer) || VIREO_HAS(with, newer) || VIREO_HAS(out, newer)) return VIREO_INVALID_ARGUMENT;
#endif
  out->state_bytes = sizeof(found);
  return VIREO_OK;
}

static vireo_status load(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                         const vireo_load_request* with, void** loaded) {
  (void)device, (void)host, (void)graph;
  memcpy(with->state, part->claimed[0], sizeof(found));
  *loaded = with->state;
  return VIREO_OK;
}

static vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count,
                           vireo_tensor* const* outputs, uint32_t output_count, const vireo_submit* with) {
  const float* x = inputs[0]->data;
  float* y = outputs[0]->data;
  (void)input_count, (void)output_count;
  if (with->scratch_bytes != 0 && with->scratch == NULL) return VIREO_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < ((const found*)loaded)->count; ++i) y[i] = x[i] < 0 ? 0 : x[i];
  return VIREO_OK;
}

static void unload(void* loaded) { (void)loaded; }
static vireo_status health(void* device) {
  (void)device;
  return VIREO_OK;
}
static void release(void* self) { (void)self; }

static const vireo_delegate table = {
    .struct_size = sizeof(vireo_delegate),
    .abi = VIREO_DELEGATE_ABI,
    .name = "sized",
    .enumerate = enumerate,
    .claim = claim,
    .memory = memory,
    .load = load,
    .submit = submit,
    .unload = unload,
    .health = health,
    .release = release,
#if NEWER
    .newer = SETS == 1,
#endif
};

__attribute__((visibility("default"))) vireo_status vireo_delegate_open(uint32_t abi, const vireo_host* host,
                                                                        const vireo_delegate** out) {
  if (abi != VIREO_DELEGATE_ABI || !VIREO_HAS(host, allocate)) return VIREO_UNSUPPORTED;
#if NEWER
  if (VIREO_HAS(host, newer)) return VIREO_UNSUPPORTED; /* this test's host knows nothing of it */
#endif
  *out = &table;
  return VIREO_OK;
}
