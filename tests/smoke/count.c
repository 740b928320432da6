/* One run of a linked-in model between two functions that the plug-in looks for. It reads zeros: what is executed does
 * not depend on the values. */
#include <stddef.h>
#include <stdint.h>

#include "counted_model.h"
#include "toolchains/cortex-m/board.h"
#include "vireo/vireo.h"

static uint8_t memory[192 * 1024] __attribute__((aligned(64)));
static size_t used;
static vireo_tensor output; /* becomes a view of the arena */

static void* take(void* context, size_t bytes, size_t alignment) {
  const size_t at = (used + alignment - 1) / alignment * alignment;
  (void)context;
  if (bytes > sizeof memory || at > sizeof memory - bytes) return NULL;
  used = at + bytes;
  return memory + at;
}
static void give(void* context, void* bytes, size_t size, size_t alignment) {
  (void)context, (void)bytes, (void)size, (void)alignment; /* there is room for all */
}

void count_begin(void);
void count_end(void);
__attribute__((noinline)) void count_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void count_end(void) { __asm__ volatile("" ::: "memory"); }

static int fail(const char* what) {
  board_write(what);
  board_write(" failed\n");
  return 1;
}

int main(void) {
  const vireo_allocator allocator = {take, give, NULL};
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  vireo_runtime* runtime;
  vireo_model* model;
  vireo_session* session;
  vireo_status status;
  options.allocator = &allocator;
  options.threads = 1;
  if (vireo_runtime_create(&options, &runtime, NULL) != VIREO_OK) return fail("runtime");
  if (vireo_model_load_memory(runtime, counted_model, counted_model_size, &model, NULL) != VIREO_OK)
    return fail("load");
  if (vireo_session_create(model, NULL, &session, NULL) != VIREO_OK) return fail("session");
  count_begin();
  status = vireo_session_run(session, NULL, 0, &output, 1, NULL);
  count_end();
  if (status != VIREO_OK) return fail("run");
  board_write("stack ");
  board_write_u32(board_stack_bytes_used());
  board_write(" bytes\n");
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return 0;
}
