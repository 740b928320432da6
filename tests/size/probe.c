/* The smallest program that can load a model from memory and run it: what links here is what a product pays for the
 * runtime. */
#include <stddef.h>

#include "vireo/vireo.h"

extern const unsigned char model_bytes[];
extern const size_t model_size;
const unsigned char model_bytes[64] __attribute__((aligned(64))) = {0};
const size_t model_size = sizeof(model_bytes);

int main(void) {
  vireo_runtime* runtime;
  vireo_model* model;
  vireo_session* session;
  if (vireo_runtime_create(NULL, &runtime, NULL) != VIREO_OK) return 1;
  if (vireo_model_load_memory(runtime, model_bytes, model_size, &model, NULL) != VIREO_OK) return 2;
  if (vireo_session_create(model, NULL, &session, NULL) != VIREO_OK) return 3;
  return (int)vireo_session_run(session, NULL, NULL, NULL);
}
