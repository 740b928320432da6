/* A plug-in that is wrong in the way that KIND says. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <vireo/delegate.h>

#define MISSING 1
#define REFUSES 2
#define NO_TABLE 3
#define OTHER_ABI 4
#define SHORT 5
#define NAMELESS 6
#define HOLES 7
#define DEAF 8 /* wait without cancel */
#define NO_DEVICE 9
#define ENDLESS 10
#define TAKEN_NAME 11
#define BAD_NAME 12
#define FAILS 13
#define LONG 14 /* a newer table, with a function that the host does not know */
/* Those that only a process of its own survives. */
#define CRASH_OPEN 15
#define HANG_OPEN 16
#define EXIT_OPEN 17
#define CRASH_ENUMERATE 18
#define HANG_ENUMERATE 19
#define CRASH_CLAIM 20
#define HANG_CLAIM 21
#define CRASH_LOAD 22
#define CRASH_SUBMIT 23
#define HANG_SUBMIT 24
#define WRONG 25
#define LIES 26  /* claims what it then does not load */
#define TALKS 27 /* on standard output; otherwise good */
#define CLAIMS (KIND >= CRASH_LOAD && KIND <= LIES)

static void maybe(int crashes, int hangs) {
  if (KIND == crashes) abort();
  while (KIND == hangs) (void)sleep(1000);
}

#if KIND != MISSING
static vireo_status enumerate(void* self, const vireo_host* host, uint32_t index, vireo_device_info* info,
                              void** device) {
  static char names[64][8];
  (void)host;
  maybe(CRASH_ENUMERATE, HANG_ENUMERATE);
  if (KIND == NO_DEVICE) host->log(host->context, VIREO_LOG_ERROR, "no card is plugged in");
  if (KIND == NO_DEVICE || (KIND != ENDLESS && index != 0)) return VIREO_INVALID_ARGUMENT;
  names[index % 64][0] = 'd';
  names[index % 64][1] = (char)('a' + index % 26);
  names[index % 64][2] = (char)('a' + index / 26 % 26);
  names[index % 64][3] = (char)('a' + index / 676 % 26);
  info->name = KIND == TAKEN_NAME ? "cpu" : KIND == BAD_NAME ? "a,b" : names[index % 64];
  info->detail = "of a test";
  *device = self;
  return VIREO_OK;
}
static vireo_status claim(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  uint32_t n;
  (void)device;
  maybe(CRASH_CLAIM, HANG_CLAIM);
  for (n = 0; n < host->node_count(graph); ++n) {
    vireo_claim mine = VIREO_CLAIM_INIT;
    mine.node = n;
    (void)(CLAIMS ? claims->take(claims->context, &mine) : claims->leave(claims->context, n, "not in this test"));
  }
  return VIREO_OK;
}
static vireo_status memory(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                           const vireo_memory_request* with, vireo_part_memory* out) {
  (void)device, (void)host, (void)graph, (void)part, (void)with, (void)out;
  return CLAIMS ? VIREO_OK : VIREO_UNSUPPORTED;
}
static vireo_status load(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                         const vireo_load_request* with, void** loaded) {
  (void)device, (void)host, (void)graph, (void)part, (void)with, (void)loaded;
  maybe(CRASH_LOAD, 0);
  return CLAIMS && KIND != LIES ? VIREO_OK : VIREO_UNSUPPORTED;
}
static vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count,
                           vireo_tensor* const* outputs, uint32_t output_count, const vireo_submit* with) {
  (void)loaded, (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)with;
  maybe(CRASH_SUBMIT, HANG_SUBMIT);
  return KIND == WRONG ? VIREO_OK : VIREO_UNSUPPORTED;
}
static vireo_status wait_for(void* loaded, uint64_t timeout_ns) {
  (void)loaded, (void)timeout_ns;
  return VIREO_OK;
}
static void unload(void* loaded) { (void)loaded; }
static vireo_status health(void* device) {
  (void)device;
  return VIREO_OK;
}
static void release(void* self) { (void)self; }

static const struct {
  vireo_delegate known;
  uint64_t unknown;
} longer = {{.struct_size = sizeof(longer), .abi = VIREO_DELEGATE_ABI, .name = "longer"}, 1};
static const vireo_delegate table = {
    .struct_size = KIND == SHORT ? 40 : sizeof(vireo_delegate),
    .abi = KIND == OTHER_ABI ? VIREO_DELEGATE_ABI + 1 : VIREO_DELEGATE_ABI,
    .name = KIND == NAMELESS ? NULL : "hostile",
    .enumerate = enumerate,
    .claim = claim,
    .memory = memory,
    .load = KIND == HOLES ? NULL : load,
    .submit = submit,
    .unload = unload,
    .health = health,
    .release = release,
    .wait = KIND == DEAF ? wait_for : NULL,
};

__attribute__((visibility("default"))) vireo_status vireo_delegate_open(uint32_t abi, const vireo_host* host,
                                                                        const vireo_delegate** out) {
  (void)abi, (void)host, (void)wait_for;
  maybe(CRASH_OPEN, HANG_OPEN);
  if (KIND == EXIT_OPEN) exit(3);
  if (KIND == TALKS) {
    int i;
    for (i = 0; i < 1000; ++i) printf("wrong\nat work");
    fflush(stdout);
  }
  if (KIND == REFUSES) return VIREO_UNSUPPORTED;
  if (KIND == FAILS) return VIREO_IO;
  *out = KIND == NO_TABLE ? NULL : KIND == LONG ? &longer.known : &table;
  return VIREO_OK;
}
#else
int vireo_hostile_nothing = 0;
#endif
