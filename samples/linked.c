/* A digit recogniser in one binary: the model is linked in, memory is two static arrays.   linked digit_7.pgm */
#include <stdio.h>
#include <vireo/vireo.h>

#include "digit_model.h" /* digit_model[], digit_model_size: made by the build from digit_mobile.vireo */

static unsigned char heap_memory[1024 * 1024], arena_memory[512 * 1024];
static size_t heap_used;

static void* take(void* context, size_t bytes, size_t alignment) {
  const size_t base = (size_t)(void*)heap_memory, at = ((base + heap_used + alignment - 1) & ~(alignment - 1)) - base;
  (void)context;
  if (at > sizeof(heap_memory) || bytes > sizeof(heap_memory) - at) return NULL;
  heap_used = at + bytes;
  return heap_memory + at;
}
static void give(void* context, void* memory, size_t bytes, size_t alignment) {
  (void)context, (void)memory, (void)bytes, (void)alignment;
}

int main(int argc, char** argv) {
  static unsigned char pixels[32 * 32];
  const vireo_allocator allocator = {take, give, NULL};
  vireo_runtime_options runtime_options = VIREO_RUNTIME_OPTIONS_INIT;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  vireo_runtime* runtime = NULL;
  vireo_model* model = NULL;
  vireo_session* session = NULL;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_tensor in = {0}, out = {0};
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  int i, best = 0;

  if (!file || fscanf(file, "P5 32 32 %d", &i) != 1 || fgetc(file) == EOF || fread(pixels, 1, 1024, file) != 1024) {
    fprintf(stderr, "usage: %s PICTURE.pgm (32x32)\n", argv[0]);
    return 2;
  }
  runtime_options.threads = 1, runtime_options.allocator = &allocator;
  options.arena = (void*)(((size_t)(void*)arena_memory + 63) & ~(size_t)63),
  options.arena_bytes = sizeof(arena_memory) - 64;
  if (vireo_runtime_create(&runtime_options, &runtime, &error) ||
      vireo_model_load_memory(runtime, digit_model, digit_model_size, &model, &error) ||
      vireo_session_create(model, &options, &session, &error) || vireo_session_input(session, 0, &in, &error)) {
    fprintf(stderr, "error: %s\n", error.message);
    return 1;
  }
  for (i = 0; i < 1024; ++i) ((float*)in.data)[i] = pixels[i] / 255.0f;
  if (vireo_session_run(session, NULL, 0, &out, 1, &error)) {
    fprintf(stderr, "error: %s\n", error.message);
    return 1;
  }
  for (i = 1; i < 10; ++i) best = ((float*)out.data)[i] > ((float*)out.data)[best] ? i : best;
  printf("%d\n", best);
  return 0;
}
