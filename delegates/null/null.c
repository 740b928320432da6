/* Each method says what it is for. What is written here is a complete delegate: it offers one device, looks at every
 * graph and leaves every node with a reason, so that the runtime places all of them elsewhere. */
#include "delegates/null/null.h"

#include <stddef.h>

/* Called with index 0, 1, ... until it fails. A real delegate opens its driver here, by name at run time, and answers
 * VIREO_INVALID_ARGUMENT at index 0 when there is none. `self` is vireo_delegate.self; `*device` comes back in later
 * calls. */
static vireo_status null_enumerate(void* self, const vireo_host* host, uint32_t index, vireo_device_info* info,
                                   void** device) {
  (void)host;
  if (index != 0) return VIREO_INVALID_ARGUMENT;
  info->name = "null";
  info->detail = "takes no node";
  *device = self;
  return VIREO_OK;
}

/* Look at the whole graph before answering: a node that could run alone may not be worth the copies around it. Say of
 * every node take or leave; a reason is what the user reads in `vireo explain`. */
static vireo_status null_claim(void* device, const vireo_host* host, const vireo_graph* graph,
                               const vireo_claims* claims) {
  uint32_t n;
  (void)device;
  for (n = 0; n < host->node_count(graph); ++n) {
    const vireo_status status = claims->leave(claims->context, n, "the null delegate runs nothing");
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

/* Only for parts that were taken, so never here. State is kept for the life of a session; scratch is shared. */
static vireo_status null_memory(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                                const vireo_memory_request* with, vireo_part_memory* out) {
  (void)device, (void)host, (void)graph, (void)part, (void)with, (void)out;
  return VIREO_UNSUPPORTED;
}

/* Name the constants that load wants in a layout of your own, and write them; the host keeps the copies for all
 * sessions. A delegate without any has NULL in the table instead. */
static vireo_status null_pack(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                              uint32_t index, const vireo_thread_pool* threads, vireo_packed* out, void* to) {
  (void)device, (void)host, (void)graph, (void)part, (void)index, (void)threads, (void)out, (void)to;
  return VIREO_INVALID_ARGUMENT;
}

/* Prepare a part in with->state: pick the kernel, upload or refer to constants. */
static vireo_status null_load(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                              const vireo_load_request* with, void** loaded) {
  (void)device, (void)host, (void)graph, (void)part, (void)with, (void)loaded;
  return VIREO_UNSUPPORTED;
}

/* The hot path: no allocation, no checks that load could have done. */
static vireo_status null_submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count,
                                vireo_tensor* const* outputs, uint32_t output_count, const vireo_submit* with) {
  (void)loaded, (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)with;
  return VIREO_UNSUPPORTED;
}

/* Give back what load took from the device. The state memory is the host's. */
static void null_unload(void* loaded) { (void)loaded; }

/* VIREO_DEVICE_LOST once the device is gone. */
static vireo_status null_health(void* device) {
  (void)device;
  return VIREO_OK;
}

/* Close what enumerate opened. The last call. */
static void null_release(void* self) { (void)self; }

/* compile, wait and what comes behind them: nothing to add. */
const vireo_delegate vireo_null_delegate = {
    .struct_size = sizeof(vireo_delegate),
    .abi = VIREO_DELEGATE_ABI,
    .name = "null",
    .enumerate = null_enumerate,
    .claim = null_claim,
    .memory = null_memory,
    .pack = null_pack,
    .load = null_load,
    .submit = null_submit,
    .unload = null_unload,
    .health = null_health,
    .release = null_release,
};
