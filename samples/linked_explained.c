/* A digit recogniser in one binary: the model is linked in, memory is two static arrays.   linked digit_7.pgm
 *
 * This is how a device without files and heap uses the same C API. The build converts digit_mobile.onnx and turns the
 * file into a constant array, aligned so that the runtime reads it in place: weights stay where the linker put them
 * (flash).
 */
#include <stdio.h>
#include <vireo/vireo.h>

#include "digit_model.h" /* const unsigned char digit_model[]; const size_t digit_model_size; made by the build */

enum { SIDE = 32, DIGITS = 10 };

/* What the runtime keeps for itself: its handles and the verified program. Taken once, given back never, so a pointer
 * that moves forward is allocator enough. */
static unsigned char heap_memory[1024 * 1024];
static size_t heap_used;

static void* take(void* context, size_t bytes, size_t alignment) {
  const size_t base = (size_t)(void*)heap_memory;
  const size_t at = ((base + heap_used + alignment - 1) & ~(alignment - 1)) - base;
  (void)context;
  if (at > sizeof(heap_memory) || bytes > sizeof(heap_memory) - at) return NULL;
  heap_used = at + bytes;
  return heap_memory + at;
}

static void give(void* context, void* memory, size_t bytes, size_t alignment) {
  (void)context;
  (void)memory;
  (void)bytes;
  (void)alignment;
}

/* What the session works in: tensors, scratch, its own tables. 64 bytes more than needed, to align the start. */
static unsigned char arena_memory[512 * 1024];

static int fail(const char* doing, const vireo_error* error) {
  fprintf(stderr, "error: cannot %s: %s\n", doing, error->message);
  return 1;
}

int main(int argc, char** argv) {
  static unsigned char pixels[SIDE * SIDE];
  const vireo_allocator allocator = {take, give, NULL};
  vireo_runtime_options runtime_options = VIREO_RUNTIME_OPTIONS_INIT;
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  vireo_memory memory = VIREO_MEMORY_INIT;
  vireo_runtime* runtime = NULL;
  vireo_model* model = NULL;
  vireo_session* session = NULL;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_tensor in = {0}, out = {0};
  const float* scores;
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  int i, best = 0;

  if (file == NULL || fscanf(file, "P5 32 32 %d", &i) != 1 || fgetc(file) == EOF ||
      fread(pixels, 1, SIDE * SIDE, file) != SIDE * SIDE) {
    fprintf(stderr, "usage: %s PICTURE.pgm (32x32)\n", argv[0]);
    return 2;
  }
  fclose(file);

  /* One thread: the caller's. Nothing comes from malloc. */
  runtime_options.threads = 1;
  runtime_options.allocator = &allocator;
  if (vireo_runtime_create(&runtime_options, &runtime, &error) != VIREO_OK) return fail("start", &error);

  /* Used in place: the array must not change and outlives the model. */
  if (vireo_model_load_memory(runtime, digit_model, digit_model_size, &model, &error) != VIREO_OK)
    return fail("load the model", &error);

  /* The size is known to the byte before a session exists; a product would size its array by this number. */
  if (vireo_model_memory(model, &options, &memory, &error) != VIREO_OK) return fail("plan", &error);
  fprintf(stderr, "arena: %lu of %lu bytes, tensors alone need %lu\n", (unsigned long)memory.total_bytes,
          (unsigned long)sizeof(arena_memory), (unsigned long)memory.lower_bound_bytes);
  options.arena = (void*)(((size_t)(void*)arena_memory + 63) & ~(size_t)63);
  options.arena_bytes = sizeof(arena_memory) - 64;
  if (vireo_session_create(model, &options, &session, &error) != VIREO_OK) return fail("make a session", &error);

  /* The session's own memory of input 0: a sensor's driver could write here directly. */
  if (vireo_session_input(session, 0, &in, &error) != VIREO_OK) return fail("find the input", &error);
  for (i = 0; i < SIDE * SIDE; ++i) ((float*)in.data)[i] = (float)pixels[i] / 255.0f;

  /* inputs NULL: all are read from the session's memory. */
  if (vireo_session_run(session, NULL, 0, &out, 1, &error) != VIREO_OK) return fail("run", &error);
  scores = (const float*)out.data;
  for (i = 1; i < DIGITS; ++i) best = scores[i] > scores[best] ? i : best;
  printf("%d\n", best);

  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return 0;
}
