// Outer products of vectors into a square of sums (Arm SME): four squares of as many rows and columns as a vector has
// 32-bit words. One instruction multiplies a column of A by a row of B: words that are a float32, two bfloat16 or four
// bytes, which are multiplied in their order and added.
//
// Works for every length of vectors, 128 to 2048 bits, asked for where it is used: it belongs to the thread. Streaming
// mode begins and ends within each function here, so that nothing of a compiler's stands in it, where NEON is illegal.
// Source: Arm Architecture Reference Manual, A-profile (DDI 0487), B1.4 and C9; Procedure Call Standard for the Arm
// 64-bit Architecture (AAPCS64), "SME" and "ZA lazy saving scheme".
#ifndef VIREO_DELEGATES_CPU_KERNELS_SME_SME_H_
#define VIREO_DELEGATES_CPU_KERNELS_SME_SME_H_

#include <stdint.h>

namespace vireo::cpu {

// True where the core, the system and the assembler of this build have these products, bytes also only where a product
// comes out right. The first call asks. Any thread.
#if defined(__aarch64__)
bool has_sme_f32();
bool has_sme_bf16();
bool has_sme_i8();
#else
constexpr bool has_sme_f32() { return false; }
constexpr bool has_sme_bf16() { return false; }
constexpr bool has_sme_i8() { return false; }
#endif
// For tests of lesser levels: from now on there are none, or (false) what there is.
void withhold_sme(bool all = true);
// 32-bit words of a vector, 4 to 64; 0 without SME. Of the calling thread.
int64_t sme_words();

constexpr int64_t kMostSmeRows = 128;  // of a product: two vectors of the longest
// Fewer rows leave most of a square idle, and NEON streams B as fast as it comes.
constexpr int64_t kFewestSmeRows = 8;

// C[rows, columns] (+)= A B. Steps are in bytes.
struct OuterProduct {
  const void* a = nullptr;  // [k, rows] words, up to 2 sme_words() rows
  int64_t a_step = 0;       // from one word of k to the next
  int64_t rows = 0;
  int64_t k = 0;            // words
  const void* b = nullptr;  // panels: [k, panel] words
  int64_t b_step = 0;       // from one word of k to the next
  int64_t columns = 0;      // in all
  int64_t panel = 0;        // columns of a panel
  int64_t panel_step = 0;   // from one panel to the next
  void* c = nullptr;
  int64_t c_step = 0;  // from row to row
  int64_t add = 0;     // 0: C is written, else added to
};

// Sums over k in order, each step one fused multiply-add: the bits of NEON's.
void sme_outer_f32(const OuterProduct& p);
// Pairs of products are added, then the sum of both to C, each rounded to odd; subnormal numbers count as 0.
void sme_outer_bf16(const OuterProduct& p);
// Bytes of A by bytes of B that have the other sign, exactly and modulo 2^32.
void sme_outer_i8(const OuterProduct& p, bool a_signed);

// to[k, rows] = from[rows, k] of words: what `a` above is. `bytes` of each row are read, the last word filled up with
// zeros. Up to 2 sme_words() rows.
void sme_transpose(const void* from, int64_t row_step, int64_t rows, int64_t bytes, void* to);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_SME_SME_H_
