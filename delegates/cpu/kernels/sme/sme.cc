#include "delegates/cpu/kernels/sme/sme.h"

#include <stddef.h>

#include <atomic>

// VIREO_SME comes from CMakeLists.txt: the assembler knows the instructions. The compiler need not.
// What the system is asked by, declared here because kernels include no header of a system.
#if VIREO_SME && defined(__linux__)
extern "C" unsigned long getauxval(unsigned long type);
#elif VIREO_SME && defined(__APPLE__)
extern "C" int sysctlbyname(const char* name, void* old, size_t* old_size, void* put, size_t put_size);
#endif

namespace vireo::cpu {
#if defined(__aarch64__)
namespace {

constexpr uint32_t kF32 = 1, kBf16 = 2, kInt8 = 4, kAsked = 8;

#if VIREO_SME && defined(__linux__)
uint32_t tell() {
  constexpr unsigned long kHwcap2 = 26;  // AT_HWCAP2, whose bits older headers do not name
  const unsigned long bits = getauxval(kHwcap2);
  const auto has = [bits](int bit) { return static_cast<uint32_t>(bits >> bit & 1); };
  return has(23) == 0 ? 0 : has(29) * kF32 | has(28) * kBf16 | has(26) * kInt8;
}
#elif VIREO_SME && defined(__APPLE__)
uint32_t has(const char* name) {
  int value = 0;
  size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value == 1 ? 1 : 0;
}
uint32_t tell() {
  if (has("hw.optional.arm.FEAT_SME") == 0) return 0;
  return has("hw.optional.arm.SME_F32F32") * kF32 | has("hw.optional.arm.SME_B16F32") * kBf16 |
         has("hw.optional.arm.SME_I8I32") * kInt8;
}
#else
uint32_t tell() { return 0; }
#endif

// QEMU 7.2 multiplies bytes for every other row alone: a promise of bits is not left to an emulator.
uint32_t ask() {
  const uint32_t told = tell();
  if ((told & kInt8) == 0) return told;
  const uint32_t a[2] = {1, 2}, b[2] = {3, 5};
  int32_t c[4] = {};
  OuterProduct p;
  p.a = a;
  p.b = b;
  p.c = c;
  p.rows = p.columns = p.panel = 2;
  p.k = 1;
  p.a_step = p.b_step = p.c_step = 8;
  sme_outer_i8(p, true);
  const bool right = c[0] == 3 && c[1] == 5 && c[2] == 6 && c[3] == 10;
  return right ? told : told & ~kInt8;
}

std::atomic<uint32_t> known{0};

// Two threads may ask at once: both get the same answer.
uint32_t features() {
  uint32_t now = known.load(std::memory_order_relaxed);
  if (now == 0) {
    now = ask() | kAsked;
    known.store(now, std::memory_order_relaxed);
  }
  return now;
}

}  // namespace

void withhold_sme(bool all) { known.store(all ? kAsked : 0, std::memory_order_relaxed); }
bool has_sme_f32() { return (features() & kF32) != 0; }
bool has_sme_bf16() { return (features() & kBf16) != 0; }
bool has_sme_i8() { return (features() & kInt8) != 0; }
#else
void withhold_sme(bool) {}
#endif

#if VIREO_SME
// Each function is one asm statement, because the compiler must put nothing between smstart, which clears all vector
// registers, and smstop. The list of clobbered registers makes it keep d8 to d15, as the standard asks for. ZA is
// private to a function here: what a caller has left in it to be saved later is saved before. Signals need no care:
// the system leaves streaming mode for a handler and comes back to it.
#define VIREO_SME_BEGIN                                                        \
  ".arch_extension sme\n"                                                      \
  "mrs x8, s3_3_c13_c0_5\n" /* TPIDR2_EL0: where ZA is to be saved, or null */ \
  "cbz x8, 12f\n"                                                              \
  "ldr x9, [x8]\n"                                                             \
  "ldrh w10, [x8, #8]\n"                                                       \
  "mov w12, #0\n"                                                              \
  "cbz x9, 11f\n"                                                              \
  "10: cmp w12, w10\n"                                                         \
  "b.hs 11f\n"                                                                 \
  "str za[w12, 0], [x9]\n"                                                     \
  "addsvl x9, x9, #1\n"                                                        \
  "add w12, w12, #1\n"                                                         \
  "b 10b\n"                                                                    \
  "11: msr s3_3_c13_c0_5, xzr\n"                                               \
  "smstop za\n"                                                                \
  "12: smstart\n"
#define VIREO_SME_END \
  "smstop\n"          \
  ".arch_extension nosme\n"
#define VIREO_SME_CLOBBERS                                                                                             \
  "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x19", \
      "x20", "x21", "x22", "x23", "x24", "x25", "x26", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",     \
      "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",  \
      "v26", "v27", "v28", "v29", "v30", "v31", "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10",     \
      "p11", "p12", "p13", "p14", "p15", "cc", "memory"

// Squares 0 and 1 hold the low rows of two vectors of columns, 2 and 3 the high rows: each vector of A and of B is
// loaded once for two products. Predicates count bytes, so that they cover all elements of a word.
//   x1 a  x2 a_step  x3 rows of the low squares  x4 of the high ones  x5 k  x6 panel  x7 b_step  x9 c at the panel
//   x10 c_step  x11 add  x13 columns left  x14 bytes of a vector  x15 words of one
//   p0 low rows  p1 high rows  p2, p3 columns  x16 column in the panel  x17 columns of the panel
#define VIREO_SME_OUTER(PRODUCT, TYPE)                                                                     \
  __asm__ volatile(VIREO_SME_BEGIN                                                                         \
                   "ldp x1, x2, [%0]\n"                                                                    \
                   "ldp x3, x5, [%0, #16]\n"                                                               \
                   "ldp x6, x7, [%0, #32]\n"                                                               \
                   "ldr x13, [%0, #48]\n"                                                                  \
                   "ldr x9, [%0, #72]\n"                                                                   \
                   "ldp x10, x11, [%0, #80]\n"                                                             \
                   "cntb x14\n"                                                                            \
                   "cntw x15\n"                                                                            \
                   "lsl x8, x3, #2\n"                                                                      \
                   "whilelt p0.b, xzr, x8\n"                                                               \
                   "whilelt p1.b, x14, x8\n"                                                               \
                   "subs x4, x3, x15\n"                                                                    \
                   "csel x4, x4, xzr, gt\n"                                                                \
                   "sub x3, x3, x4\n"                                                                      \
                   "20: cmp x13, #0\n" /* panels */                                                        \
                   "b.le 29f\n"                                                                            \
                   "ldr x17, [%0, #56]\n"                                                                  \
                   "cmp x13, x17\n"                                                                        \
                   "csel x17, x13, x17, lt\n"                                                              \
                   "mov x16, #0\n"                                                                         \
                   "21: lsl x8, x17, #2\n" /* two vectors of columns */                                    \
                   "lsl x19, x16, #2\n"                                                                    \
                   "whilelt p2.b, x19, x8\n"                                                               \
                   "add x20, x19, x14\n"                                                                   \
                   "whilelt p3.b, x20, x8\n"                                                               \
                   "zero {za}\n"                                                                           \
                   "cbz x11, 24f\n"                                                                        \
                   "add x21, x9, x19\n"                                                                    \
                   "mov w12, #0\n"                                                                         \
                   "22: ld1w {za0h.s[w12, 0]}, p2/z, [x21]\n"                                              \
                   "ld1w {za1h.s[w12, 0]}, p3/z, [x21, x15, lsl #2]\n"                                     \
                   "add x21, x21, x10\n"                                                                   \
                   "add w12, w12, #1\n"                                                                    \
                   "cmp w12, w3\n"                                                                         \
                   "b.lo 22b\n"                                                                            \
                   "cbz x4, 24f\n"                                                                         \
                   "mov w12, #0\n"                                                                         \
                   "23: ld1w {za2h.s[w12, 0]}, p2/z, [x21]\n"                                              \
                   "ld1w {za3h.s[w12, 0]}, p3/z, [x21, x15, lsl #2]\n"                                     \
                   "add x21, x21, x10\n"                                                                   \
                   "add w12, w12, #1\n"                                                                    \
                   "cmp w12, w4\n"                                                                         \
                   "b.lo 23b\n"                                                                            \
                   "24: mov x22, x1\n"                                                                     \
                   "add x23, x6, x19\n"                                                                    \
                   "cbz x5, 26f\n"                                                                         \
                   "mov x24, x5\n"                                                                         \
                   "25: ld1w {z0.s}, p0/z, [x22]\n"                                                        \
                   "ld1w {z1.s}, p1/z, [x22, #1, mul vl]\n"                                                \
                   "ld1w {z2.s}, p2/z, [x23]\n"                                                            \
                   "ld1w {z3.s}, p3/z, [x23, #1, mul vl]\n"                                                \
                   "add x22, x22, x2\n"                                                                    \
                   "add x23, x23, x7\n"                                                                    \
                   "subs x24, x24, #1\n" PRODUCT " za0.s, p0/m, p2/m, z0." TYPE ", z2." TYPE "\n" PRODUCT  \
                   " za1.s, p0/m, p3/m, z0." TYPE ", z3." TYPE "\n" PRODUCT " za2.s, p1/m, p2/m, z1." TYPE \
                   ", z2." TYPE "\n" PRODUCT " za3.s, p1/m, p3/m, z1." TYPE ", z3." TYPE                   \
                   "\n"                                                                                    \
                   "b.ne 25b\n"                                                                            \
                   "26: add x21, x9, x19\n"                                                                \
                   "mov w12, #0\n"                                                                         \
                   "27: st1w {za0h.s[w12, 0]}, p2, [x21]\n"                                                \
                   "st1w {za1h.s[w12, 0]}, p3, [x21, x15, lsl #2]\n"                                       \
                   "add x21, x21, x10\n"                                                                   \
                   "add w12, w12, #1\n"                                                                    \
                   "cmp w12, w3\n"                                                                         \
                   "b.lo 27b\n"                                                                            \
                   "cbz x4, 30f\n"                                                                         \
                   "mov w12, #0\n"                                                                         \
                   "28: st1w {za2h.s[w12, 0]}, p2, [x21]\n"                                                \
                   "st1w {za3h.s[w12, 0]}, p3, [x21, x15, lsl #2]\n"                                       \
                   "add x21, x21, x10\n"                                                                   \
                   "add w12, w12, #1\n"                                                                    \
                   "cmp w12, w4\n"                                                                         \
                   "b.lo 28b\n"                                                                            \
                   "30: add x16, x16, x15, lsl #1\n"                                                       \
                   "cmp x16, x17\n"                                                                        \
                   "b.lt 21b\n"                                                                            \
                   "ldr x8, [%0, #64]\n"                                                                   \
                   "add x6, x6, x8\n"                                                                      \
                   "add x9, x9, x17, lsl #2\n"                                                             \
                   "sub x13, x13, x17\n"                                                                   \
                   "b 20b\n"                                                                               \
                   "29:\n" VIREO_SME_END                                                                   \
                   :                                                                                       \
                   : "r"(&p)                                                                               \
                   : VIREO_SME_CLOBBERS)

static_assert(offsetof(OuterProduct, a) == 0 && offsetof(OuterProduct, rows) == 16 && offsetof(OuterProduct, b) == 32 &&
                  offsetof(OuterProduct, columns) == 48 && offsetof(OuterProduct, panel_step) == 64 &&
                  offsetof(OuterProduct, c) == 72 && offsetof(OuterProduct, add) == 88,
              "as the assembly reads them");

int64_t sme_words() {
  if (features() == kAsked) return 0;  // where there is none the instruction is not
  int64_t bytes = 0;
  __asm__(".arch_extension sme\nrdsvl %0, #1\n.arch_extension nosme" : "=r"(bytes));
  return bytes / 4;
}

void sme_outer_f32(const OuterProduct& p) {
  if (p.rows > 0) VIREO_SME_OUTER("fmopa", "s");
}
void sme_outer_bf16(const OuterProduct& p) {
  if (p.rows > 0) VIREO_SME_OUTER("bfmopa", "h");
}
void sme_outer_i8(const OuterProduct& p, bool a_signed) {
  if (p.rows <= 0) return;
  if (a_signed) {
    VIREO_SME_OUTER("sumopa", "b");
  } else {
    VIREO_SME_OUTER("usmopa", "b");
  }
}

// Rows go into a square as they lie and leave it as columns, a vector's words at a time.
//   x1 from  x2 row_step  x3 rows left  x4 bytes  x5 to  x6 bytes of a row of `to`  x14 bytes of a vector  x15 words
//   x7 rows of the square  x16 byte of the row  p0 bytes of a row  p1 rows
void sme_transpose(const void* from, int64_t row_step, int64_t rows, int64_t bytes, void* to) {
  const struct {
    const void* from;
    int64_t row_step, rows, bytes;
    void* to;
  } s = {from, row_step, rows, bytes, to};
  __asm__ volatile(VIREO_SME_BEGIN
                   "ldp x1, x2, [%0]\n"
                   "ldp x3, x4, [%0, #16]\n"
                   "ldr x5, [%0, #32]\n"
                   "lsl x6, x3, #2\n"
                   "cntb x14\n"
                   "cntw x15\n"
                   "ptrue p7.b\n"
                   "20: cmp x3, #0\n"
                   "b.le 29f\n"
                   "cmp x3, x15\n"
                   "csel x7, x3, x15, lt\n"
                   "lsl x8, x7, #2\n"
                   "whilelt p1.b, xzr, x8\n"
                   "mov x16, #0\n"
                   "mov x20, x5\n"
                   "21: cmp x16, x4\n"
                   "b.ge 24f\n"
                   "whilelt p0.b, x16, x4\n"
                   "add x19, x1, x16\n"
                   "mov w12, #0\n"
                   "22: ld1b {z0.b}, p0/z, [x19]\n"
                   "mova za0h.s[w12, 0], p7/m, z0.s\n"
                   "add x19, x19, x2\n"
                   "add w12, w12, #1\n"
                   "cmp w12, w7\n"
                   "b.lo 22b\n"
                   "sub x21, x4, x16\n"  // words of this vector
                   "add x21, x21, #3\n"
                   "lsr x21, x21, #2\n"
                   "cmp x21, x15\n"
                   "csel x21, x21, x15, lt\n"
                   "mov w12, #0\n"
                   "23: st1w {za0v.s[w12, 0]}, p1, [x20]\n"
                   "add x20, x20, x6\n"
                   "add w12, w12, #1\n"
                   "cmp w12, w21\n"
                   "b.lo 23b\n"
                   "add x16, x16, x14\n"
                   "b 21b\n"
                   "24: madd x1, x7, x2, x1\n"  // the next rows
                   "add x5, x5, x7, lsl #2\n"
                   "sub x3, x3, x7\n"
                   "b 20b\n"
                   "29:\n" VIREO_SME_END
                   :
                   : "r"(&s)
                   : VIREO_SME_CLOBBERS);
}
#else
// No caller comes here: has_sme_..() said no.
int64_t sme_words() { return 0; }
void sme_outer_f32(const OuterProduct&) {}
void sme_outer_bf16(const OuterProduct&) {}
void sme_outer_i8(const OuterProduct&, bool) {}
void sme_transpose(const void*, int64_t, int64_t, int64_t, void*) {}
#endif

}  // namespace vireo::cpu
