// Few rows by coded weights with AVX-512 VNNI: rows as digits of bytes, which multiply codes as they lie.
//
// A row is cut into the parts that its sums are: 256 of k, or a block of weights. Each number of a part becomes a whole
// number of 31 bits, q = a 2^30 / max |a|, rounded, and q four signed digits of base 256. Parts whose largest number is
// at most 16 times their mean do with 24 bits, three digits. A word of codes times one digit of its k is one
// instruction, and sums are exact until those of a part are put together. An element is off by max |a| 2^-31 (2^-24),
// where a float32 sum rounds each term by 2^-24 of the sum so far.
#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_CODES_DIGITS_H_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_CODES_DIGITS_H_

#include <stddef.h>
#include <stdint.h>

namespace vireo::cpu {

constexpr int64_t kFewRows = 8;
constexpr int64_t kPartDepth = 256;        // of k: 4 or 8 KiB of codes of a panel, which all rows pass
constexpr int64_t kLeastDigitsBlock = 32;  // smaller parts end too often

// Packed B.
struct CodesView {
  const uint32_t* codes;
  const float* scales;
  const uint8_t* zeros;                // null: `zero` for all
  int64_t n, k, block, words, blocks;  // words of a column
  int32_t bits, zero;

  int64_t per_word() const { return 32 / bits; }
  int64_t block_end(int64_t i) const { return (i + 1) * block < k ? (i + 1) * block : k; }
};

// One row's numbers of a part: whole ones are these by 1 / scale.
struct Part {
  int32_t starts[4];  // what zero points take from the sums of each digit; of zeros of columns two factors
  float scale;
  bool four;  // digits; else the lowest one is 0
};

// Rows in digits, in the caller's memory.
struct Digits {
  int8_t* digits;  // [rows, row_bytes]: for four k their four digits, the lowest ones first
  int64_t row_bytes;
  Part* parts;  // [parts, kFewRows]
};

// At least as many bytes for more rows and a larger k.
size_t digits_bytes(int64_t m, int64_t k);
// Puts up to kFewRows rows of A into `room`. False: the core has no such products, or blocks are too short, or a number
// is not finite or too near to 0.
bool put_digits(const CodesView& b, int64_t m, const float* a, int64_t lda, void* room, Digits* out);
// Sums of these rows and panels [panel0, panel1).
void digits_product(const CodesView& b, const Digits& a, int64_t panel0, int64_t panel1, int64_t m, float* c,
                    int64_t ldc);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GEMM_CODES_DIGITS_H_
