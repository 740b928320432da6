/* A plug-in of qemu that counts the instructions which a program executes between two of its functions, in all and for
 * each function. For regressions: a count is the same on every machine, and no time.
 *
 *   -plugin counter.so,begin=ADDRESS,end=ADDRESS,functions=FILE,out=FILE
 *   -plugin counter.so,mark=ADDRESS,out=FILE    counts all, with a line "N mark" for each call of that function:
 *                                               instructions since the last one
 *
 * FILE has a line "start size name" for each function, as `nm -S` prints them; addresses are hexadecimal. The interface
 * is that of qemu 7.2, whose header is not part of Debian's package. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*f)(qemu_plugin_id_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* insn, void (*f)(unsigned, void*),
                                            enum qemu_plugin_cb_flags flags, void* data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*f)(qemu_plugin_id_t, void*), void* data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn* insn);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

typedef struct {
  uint64_t start, size, count;
  char name[200];
} function;

static function* functions;
static size_t function_count;
static function elsewhere = {0, 0, 0, "(no function)"};
static uint64_t begin_address, end_address, mark_address;
static uint64_t last_mark;
static bool counting;
static FILE* out;

static int by_start(const void* a, const void* b) {
  const uint64_t x = ((const function*)a)->start, y = ((const function*)b)->start;
  return x < y ? -1 : x > y;
}
static int by_count(const void* a, const void* b) {
  const uint64_t x = ((const function*)a)->count, y = ((const function*)b)->count;
  return x > y ? -1 : x < y;
}

static function* function_at(uint64_t address) {
  size_t low = 0, high = function_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (functions[middle].start + functions[middle].size <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < function_count && functions[low].start <= address ? &functions[low] : &elsewhere;
}

static void start(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  counting = true;
}
static void stop(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  counting = false;
}
static void mark(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  fprintf(out, "%llu mark\n", (unsigned long long)(elsewhere.count - last_mark));
  last_mark = elsewhere.count;
}
static void count(unsigned cpu, void* data) {
  (void)cpu;
  if (counting) ++((function*)data)->count;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); ++i) {
    struct qemu_plugin_insn* const insn = qemu_plugin_tb_get_insn(tb, i);
    const uint64_t address = qemu_plugin_insn_vaddr(insn);
    if (address == begin_address) qemu_plugin_register_vcpu_insn_exec_cb(insn, start, QEMU_PLUGIN_CB_NO_REGS, NULL);
    if (address == mark_address) qemu_plugin_register_vcpu_insn_exec_cb(insn, mark, QEMU_PLUGIN_CB_NO_REGS, NULL);
    if (address == end_address) qemu_plugin_register_vcpu_insn_exec_cb(insn, stop, QEMU_PLUGIN_CB_NO_REGS, NULL);
    qemu_plugin_register_vcpu_insn_exec_cb(insn, count, QEMU_PLUGIN_CB_NO_REGS, function_at(address));
  }
}

static void finish(qemu_plugin_id_t id, void* data) {
  (void)id, (void)data;
  uint64_t total = elsewhere.count;
  for (size_t i = 0; i < function_count; ++i) total += functions[i].count;
  fprintf(out, "%llu total\n", (unsigned long long)total);
  qsort(functions, function_count, sizeof *functions, by_count);
  for (size_t i = 0; i < function_count && functions[i].count != 0; ++i)
    fprintf(out, "%llu %s\n", (unsigned long long)functions[i].count, functions[i].name);
  if (elsewhere.count != 0) fprintf(out, "%llu %s\n", (unsigned long long)elsewhere.count, elsewhere.name);
  fclose(out);
}

static void read_functions(const char* path) {
  FILE* const file = fopen(path, "r");
  char line[4096];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    unsigned long long at, size;
    function f = {0, 0, 0, ""};
    if (sscanf(line, "%llx %llx %199[^\n]", &at, &size, f.name) != 3) continue;
    f.start = at & ~1ull; /* the last bit of a Thumb function says that it is one */
    f.size = size;
    functions = realloc(functions, (function_count + 1) * sizeof *functions);
    functions[function_count++] = f;
  }
  if (file != NULL) fclose(file);
  qsort(functions, function_count, sizeof *functions, by_start);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int argc,
                                                               char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "begin=", 6) == 0) begin_address = strtoull(argv[i] + 6, NULL, 16) & ~1ull;
    if (strncmp(argv[i], "end=", 4) == 0) end_address = strtoull(argv[i] + 4, NULL, 16) & ~1ull;
    if (strncmp(argv[i], "mark=", 5) == 0) mark_address = strtoull(argv[i] + 5, NULL, 16) & ~1ull, counting = true;
    if (strncmp(argv[i], "functions=", 10) == 0) read_functions(argv[i] + 10);
    if (strncmp(argv[i], "out=", 4) == 0) out = fopen(argv[i] + 4, "w");
  }
  if (out == NULL) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finish, NULL);
  return 0;
}
