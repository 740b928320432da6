/* The sample's device, wrong in the way that KIND says: what only a test of its answers finds. */
#define vireo_delegate_open toy_open
#include "samples/plugin/toy_dsp.c"
#undef vireo_delegate_open

#define RIGHT 0
#define ONE_SHAPE 1 /* computes wrongly where there are 160 elements: no model of the kit's own has as many */
#define TAIL 2      /* computes wrongly behind the last whole vector of eight */
#define SECOND 3    /* computes wrongly from a part's second run on */
#define LAZY 4      /* says that it is done, and writes nothing */
#define STALE 5     /* the same from a part's second run on */
#define IDLE 6      /* takes no node */
#define INPUT 7     /* writes into an input after it has computed */
#define SATURATES 8 /* has no values above 50 */
#define PERCENT 9   /* is wrong by 1 % */
#define LOGS 10     /* is not loaded, and says why in the log */
#define PRODUCT 11  /* multiplies wrongly */

/* Behind a loaded part: how often it ran. */
static uint32_t* runs_of(void* self) { return (uint32_t*)(void*)((uint8_t*)self + sizeof(loaded)); }

static vireo_status memory_with_runs(void* device, const vireo_host* host, const vireo_graph* graph,
                                     const vireo_part* part, const vireo_memory_request* with, vireo_part_memory* out) {
  const vireo_status status = memory_of(device, host, graph, part, with, out);
  if (status == VIREO_OK) out->state_bytes += sizeof(uint32_t);
  return status;
}

static vireo_status load_with_runs(void* device, const vireo_host* host, const vireo_graph* graph,
                                   const vireo_part* part, const vireo_load_request* with, void** out) {
  *runs_of(with->state) = 0;
  if (KIND == LOGS) {
    host->log(host->context, VIREO_LOG_ERROR, "toy_dsp: it has no firmware");
    return VIREO_IO;
  }
  return load(device, host, graph, part, with, out);
}

static int multiplies(const program* p) {
  const instruction* code = (const instruction*)(const void*)((const uint8_t*)p + code_of(p));
  int found = 0;
  for (uint32_t i = 0; i < p->instruction_count; ++i) found = found || code[i].op == VIREO_OP_MUL;
  return found;
}

static int is_wrong(uint32_t count, uint32_t at, int again) {
  return (KIND == ONE_SHAPE && count == 160) || (KIND == TAIL && at >= count / 8 * 8) || (KIND == SECOND && again);
}

static vireo_status submit_wrongly(void* self, const vireo_tensor* const* inputs, uint32_t input_count,
                                   vireo_tensor* const* outputs, uint32_t output_count, const vireo_submit* with) {
  const int again = (*runs_of(self))++ != 0;
  if (KIND == LAZY || (KIND == STALE && again)) return VIREO_OK;
  const vireo_status status = submit(self, inputs, input_count, outputs, output_count, with);
  const program* p = ((const loaded*)self)->head;
  const uint32_t* counts = (const uint32_t*)(const void*)((const uint8_t*)p + ends_of(p)) + input_count;
  for (uint32_t o = 0; status == VIREO_OK && o < output_count; ++o) {
    float* y = outputs[o]->data;
    for (uint32_t i = 0; i < counts[o]; ++i) {
      if (is_wrong(counts[o], i, again)) y[i] = 1.1f * y[i] + 0.5f;
      if (KIND == SATURATES && y[i] > 50) y[i] = 50;
      if (KIND == PERCENT || (KIND == PRODUCT && multiplies(p))) y[i] *= 1.01f;
    }
  }
  if (KIND == INPUT) ((float*)inputs[0]->data)[0] += 1;
  return status;
}

static vireo_status claim_none(void* device, const vireo_host* host, const vireo_graph* graph,
                               const vireo_claims* claims) {
  (void)device;
  for (uint32_t n = 0; n < host->node_count(graph); ++n)
    (void)claims->leave(claims->context, n, "it takes none in this test");
  return VIREO_OK;
}

__attribute__((visibility("default"))) vireo_status vireo_delegate_open(uint32_t abi, const vireo_host* host,
                                                                        const vireo_delegate** out) {
  const vireo_status status = toy_open(abi, host, out);
  if (status != VIREO_OK) return status;
  vireo_delegate* table = &((driver*)(*out)->self)->table;
  table->memory = memory_with_runs;
  table->load = load_with_runs;
  table->submit = submit_wrongly;
  if (KIND == IDLE) table->claim = claim_none;
  return VIREO_OK;
}
