/* The smallest program that can load a model from memory and run it: what links here is what a product pays for the
 * runtime. */
#include <stddef.h>

#include "vireo/vireo.h"

/* Volatile: an optimiser that sees zeros at link time leaves out all that a real model needs. */
static const unsigned char zeros[64] __attribute__((aligned(64))) = {0};
static const unsigned char* volatile model_bytes = zeros;
static volatile size_t model_size = sizeof(zeros);

int main(void) {
  vireo_runtime* runtime;
  vireo_model* model;
  vireo_session* session;
  if (vireo_runtime_create(NULL, &runtime, NULL) != VIREO_OK) return 1;
  if (vireo_model_load_memory(runtime, model_bytes, model_size, &model, NULL) != VIREO_OK) return 2;
  if (vireo_session_create(model, NULL, &session, NULL) != VIREO_OK) return 3;
  return (int)vireo_session_run(session, NULL, 0, NULL, 0, NULL);
}
