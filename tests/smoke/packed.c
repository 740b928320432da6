/* A file whose weights another machine has packed (vireo pack), linked in: they are read where they lie, none is packed
 * here, and the answers are those of the test vectors in the file. */
#include <stdio.h>

#include "packed_model.h"
#include "vireo/vireo.h"

static int fail(const char* what, const vireo_error* error) {
  printf("%s: %s\n", what, error->message);
  return 1;
}

int main(void) {
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_memory memory = VIREO_MEMORY_INIT;
  vireo_runtime* runtime;
  vireo_model* model;
  vireo_session* session;
  uint32_t i;
  options.threads = 2;
  if (vireo_runtime_create(&options, &runtime, &error) != VIREO_OK) return fail("runtime", &error);
  if (vireo_model_load_memory(runtime, packed_model, packed_model_size, &model, &error) != VIREO_OK)
    return fail("load", &error);
  if (vireo_model_check_hashes(model, &error) != VIREO_OK) return fail("hashes", &error);
  if (vireo_model_memory(model, NULL, &memory, &error) != VIREO_OK) return fail("memory", &error);
  if (memory.mapped_bytes == 0 || memory.packed_bytes != 0) {
    printf("%lu bytes of packed weights are read from the file, %lu are packed here\n",
           (unsigned long)memory.mapped_bytes, (unsigned long)memory.packed_bytes);
    return 1;
  }
  if (vireo_session_create(model, NULL, &session, &error) != VIREO_OK) return fail("session", &error);
  for (i = 0; i < vireo_model_test_count(model); ++i) {
    if (vireo_session_selftest(session, i, &error) != VIREO_OK) return fail("selftest", &error);
  }
  if (i == 0) {
    printf("the file has no test vectors\n");
    return 1;
  }
  printf("ok: %lu test vectors over %lu bytes of packed weights\n", (unsigned long)i,
         (unsigned long)memory.mapped_bytes);
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return 0;
}
