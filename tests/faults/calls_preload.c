/* Loaded before a program (LD_PRELOAD): the Nth call of one kind goes wrong, or ends the process. What the C library
 * calls by itself is not seen. What is read below /proc and /sys is a kind of its own, whoever reads it.
 *
 *   VIREO_CALLS_COUNT=FILE        how many calls of each kind there were, a line each, when the process exits
 *   VIREO_CALLS_HAPPENED=FILE     appears when the call that goes wrong is made
 *   VIREO_CALLS=KIND:N:WHAT[:+]   the call of this kind with number N (from 0; with + all that follow, too): WHAT is
 * errno as a number, "short" (one byte is transferred), "kill" or "term" (a signal, before the call)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { kOpen, kRead, kWrite, kSync, kName, kMap, kStat, kClose, kFolder, kSystem, kKinds };
static const char* const kNames[kKinds] = {"open", "read", "write", "sync",   "name",
                                           "map",  "stat", "close", "folder", "system"};
static long g_count[kKinds];

static struct plan {
  int known, kind, forever;
  long at;
  int error;
  char what; /* 'e' errno, 's' short, 'k' kill, 't' term */
} g_plan = {0, -1, 0, 0, 0, 0};

static void read_plan(void) {
  const char* text = getenv("VIREO_CALLS");
  char kind[16] = "", what[16] = "", more[4] = "";
  int i;
  g_plan.known = 1;
  if (text == NULL || sscanf(text, "%15[^:]:%ld:%15[^:]:%3s", kind, &g_plan.at, what, more) < 3) return;
  for (i = 0; i < kKinds; ++i) {
    if (strcmp(kind, kNames[i]) == 0) g_plan.kind = i;
  }
  g_plan.forever = more[0] == '+';
  g_plan.error = atoi(what);
  g_plan.what = g_plan.error != 0 ? 'e' : what[0];
}

/* 0: the call goes through; 1: it fails, errno is set; 2: it transfers one byte. */
static int fault(enum kind kind) {
  const long number = __atomic_fetch_add(&g_count[kind], 1, __ATOMIC_RELAXED);
  if (!g_plan.known) read_plan();
  if ((int)kind != g_plan.kind || number < g_plan.at || (number > g_plan.at && !g_plan.forever)) return 0;
  if (getenv("VIREO_CALLS_HAPPENED") != NULL)
    (void)syscall(SYS_close,
                  (int)syscall(SYS_openat, AT_FDCWD, getenv("VIREO_CALLS_HAPPENED"), O_CREAT | O_WRONLY, 0600));
  if (g_plan.what == 'k') (void)kill(getpid(), SIGKILL);
  if (g_plan.what == 't') (void)raise(SIGTERM);
  if (g_plan.what == 's') return 2;
  errno = g_plan.error;
  return g_plan.what == 'e';
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("VIREO_CALLS_COUNT");
  FILE* file;
  int i;
  long count[kKinds];
  if (path == NULL) return;
  memcpy(count, g_count, sizeof(count));
  file = fopen(path, "w");
  for (i = 0; file != NULL && i < kKinds; ++i) fprintf(file, "%s %ld\n", kNames[i], count[i]);
  if (file != NULL) fclose(file);
}

/* Descriptors that read below /proc or /sys. */
static char g_system[1024];
static int is_system(const char* path) { return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0; }
static int quiet(int fd) { return fd >= 0 && fd < (int)sizeof(g_system) && g_system[fd]; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                   \
  int name(const char* path, int flags, ...) {                                       \
    va_list list;                                                                    \
    int mode, fd;                                                                    \
    va_start(list, flags);                                                           \
    mode = va_arg(list, int);                                                        \
    va_end(list);                                                                    \
    if (fault(is_system(path) ? kSystem : kOpen)) return -1;                         \
    fd = REAL(name)(path, flags, mode);                                              \
    if (fd >= 0 && fd < (int)sizeof(g_system)) g_system[fd] = (char)is_system(path); \
    return fd;                                                                       \
  }
OPEN(open)
OPEN(open64)
#define FOPEN(name)                                            \
  FILE* name(const char* path, const char* mode) {             \
    if (fault(is_system(path) ? kSystem : kOpen)) return NULL; \
    return REAL(name)(path, mode);                             \
  }
FOPEN(fopen)
FOPEN(fopen64)

#define TRANSFER(name, kind, data, offset, pass)                       \
  ssize_t name(int fd, data buffer, size_t size offset) {              \
    const int f = quiet(fd) ? 0 : fault(kind);                         \
    if (f == 1) return -1;                                             \
    return REAL(name)(fd, buffer, f == 2 && size > 1 ? 1 : size pass); \
  }
#define COMMA ,
TRANSFER(read, kRead, void*, , )
TRANSFER(pread, kRead, void*, COMMA off_t at, COMMA at)
TRANSFER(pread64, kRead, void*, COMMA off64_t at, COMMA at)
TRANSFER(write, kWrite, const void*, , )
TRANSFER(pwrite, kWrite, const void*, COMMA off_t at, COMMA at)
TRANSFER(pwrite64, kWrite, const void*, COMMA off64_t at, COMMA at)
ssize_t writev(int fd, const struct iovec* parts, int count) {
  const int f = fault(kWrite);
  if (f == 1) return -1;
  return f == 2 && count > 0 && parts[0].iov_len > 0 ? REAL(write)(fd, parts[0].iov_base, 1)
                                                     : REAL(writev)(fd, parts, count);
}
int fsync(int fd) { return fault(kSync) == 1 ? -1 : REAL(fsync)(fd); }
int ftruncate(int fd, off_t size) { return fault(kSync) == 1 ? -1 : REAL(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return fault(kSync) == 1 ? -1 : REAL(ftruncate64)(fd, size); }
int rename(const char* from, const char* to) { return fault(kName) == 1 ? -1 : REAL(rename)(from, to); }
int linkat(int a, const char* from, int b, const char* to, int flags) {
  return fault(kName) == 1 ? -1 : REAL(linkat)(a, from, b, to, flags);
}
int close(int fd) { /* as Linux has it: the descriptor is gone, whatever close() says */
  const int f = quiet(fd) ? 0 : fault(kClose), error = errno;
  const int status = REAL(close)(fd);
  if (f != 1) return status;
  errno = error;
  return -1;
}
int stat(const char* path, struct stat* info) {
  return fault(is_system(path) ? kSystem : kStat) == 1 ? -1 : REAL(stat)(path, info);
}
int stat64(const char* path, struct stat64* info) {
  return fault(is_system(path) ? kSystem : kStat) == 1 ? -1 : REAL(stat64)(path, info);
}
int fstat(int fd, struct stat* info) { return fault(kStat) == 1 ? -1 : REAL(fstat)(fd, info); }
int fstat64(int fd, struct stat64* info) { return fault(kStat) == 1 ? -1 : REAL(fstat64)(fd, info); }
int access(const char* path, int mode) {
  return fault(is_system(path) ? kSystem : kStat) == 1 ? -1 : REAL(access)(path, mode);
}
int mkdir(const char* path, mode_t mode) { return fault(kFolder) == 1 ? -1 : REAL(mkdir)(path, mode); }
int unlink(const char* path) { return fault(kFolder) == 1 ? -1 : REAL(unlink)(path); }
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return fd >= 0 && fault(kMap) == 1 ? MAP_FAILED : REAL(mmap)(at, size, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) {
  return fd >= 0 && fault(kMap) == 1 ? MAP_FAILED : REAL(mmap64)(at, size, protection, flags, fd, offset);
}
