/* One program for every target: a model linked in as an array, run in memory that the program brings, its outputs
 * compared with the test vectors inside the file. No heap, no files, no threads; C99. */
#include <stddef.h>
#include <stdint.h>

#include "smoke_model.h"
#include "vireo/vireo.h"

#if defined(__arm__) && !defined(__linux__)
#include "toolchains/cortex-m/board.h"
#define PRINT(text) board_write(text)
#define PRINT_NUMBER(n) board_write_u32((uint32_t)(n))
#else
#include <stdio.h>
#define PRINT(text) fputs(text, stdout)
#define PRINT_NUMBER(n) printf("%lu", (unsigned long)(n))
#endif

/* All memory of the program: handles and planning from the front, given back in reverse order; the session takes the
 * rest. */
static union {
  uint8_t bytes[200 * 1024];
  uint64_t align;
} pool_memory __attribute__((aligned(64)));
static size_t used, peak;

static void* take(void* context, size_t bytes, size_t alignment) {
  const size_t at = (used + alignment - 1) / alignment * alignment;
  (void)context;
  if (bytes > sizeof(pool_memory.bytes) || at > sizeof(pool_memory.bytes) - bytes) return NULL;
  used = at + bytes;
  if (used > peak) peak = used;
  return pool_memory.bytes + at;
}

static void give(void* context, void* memory, size_t bytes, size_t alignment) {
  const size_t at = (size_t)((uint8_t*)memory - pool_memory.bytes);
  (void)context, (void)alignment;
  if (at + bytes == used) used = at; /* what is not on top stays until the end of the program */
}

static int fail(const char* what, const vireo_error* error) {
  PRINT(what);
  PRINT(": ");
  PRINT(error->message);
  PRINT("\n");
  return 1;
}

int main(void) {
  const vireo_allocator allocator = {take, give, NULL};
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_session_options session_options = VIREO_SESSION_OPTIONS_INIT;
  vireo_memory memory = VIREO_MEMORY_INIT;
  vireo_runtime* runtime;
  vireo_model* model;
  vireo_session* session;
  uint32_t i;
  options.allocator = &allocator;
  options.threads = 1;
  if (vireo_runtime_create(&options, &runtime, &error) != VIREO_OK) return fail("runtime", &error);
  if (vireo_model_load_memory(runtime, smoke_model, smoke_model_size, &model, &error) != VIREO_OK)
    return fail("load", &error);
  if (vireo_model_check_hashes(model, &error) != VIREO_OK) return fail("hashes", &error);
  session_options.packing = VIREO_PACKING_NEVER; /* the memory above is all there is, on a host too */
  if (vireo_model_memory(model, &session_options, &memory, &error) != VIREO_OK) return fail("memory", &error);
  if (vireo_session_create(model, &session_options, &session, &error) != VIREO_OK) return fail("session", &error);
  for (i = 0; i < vireo_model_test_count(model); ++i) {
    if (vireo_session_selftest(session, i, &error) != VIREO_OK) return fail("selftest", &error);
  }
  if (i == 0) return fail("selftest", &error);
  PRINT("ok: ");
  PRINT_NUMBER(i);
  PRINT(" test vectors; session ");
  PRINT_NUMBER(memory.total_bytes);
  PRINT(" bytes, of them tensors ");
  PRINT_NUMBER(memory.tensor_bytes);
  PRINT("; all memory at its peak ");
  PRINT_NUMBER(peak);
  PRINT(" bytes\n");
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return 0;
}
