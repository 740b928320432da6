#include "delegates/cpu/kernels/sme/sme.h"

#include <stdio.h>

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::Guarded;

// Sizes around one and two vectors, of rows and of columns.
std::vector<int64_t> around(int64_t words) {
  std::vector<int64_t> sizes = {1, 3};
  for (int64_t n : {words - 1, words, words + 1, 2 * words - 1, 2 * words}) sizes.push_back(n);
  return sizes;
}

// One product of what `Word` holds: `value(word, i)` is its element i. Sums of whole numbers below 2^24 are exact in
// any order and in every type.
template <class Word, class Sum, class Value, class Other>
void check(int64_t rows, int64_t columns, int64_t k, int64_t panel, bool add, void (*outer)(const OuterProduct&),
           Word (*left)(uint32_t), Word (*right)(uint32_t), int elements, Value value, Other other) {
  SCOPED_TRACE(::testing::Message() << rows << " x " << columns << " x " << k << " panels of " << panel << " add "
                                    << add);
  const int64_t panels = (columns + panel - 1) / panel, gap = 3;
  Guarded<Word> a(static_cast<size_t>(rows * k)), b(static_cast<size_t>(panels * k * panel));
  Guarded<Sum> c(static_cast<size_t>(rows * (columns + gap)));
  std::mt19937 rng(static_cast<uint32_t>(rows * columns + k));
  for (Word& w : a) w = left(rng());
  for (Word& w : b) w = right(rng());
  for (Sum& v : c) v = 7;
  OuterProduct p;
  p.a = a.data();
  p.a_step = rows * 4;
  p.rows = rows;
  p.k = k;
  p.b = b.data();
  p.b_step = panel * 4;
  p.columns = columns;
  p.panel = panel;
  p.panel_step = k * panel * 4;
  p.c = c.data();
  p.c_step = (columns + gap) * 4;
  p.add = add ? 1 : 0;
  outer(p);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns + gap; ++j) {
      const Sum got = c[static_cast<size_t>(i * (columns + gap) + j)];
      if (j >= columns) {
        ASSERT_EQ(got, Sum{7}) << "behind row " << i;
        continue;
      }
      Sum want = add ? 7 : 0;
      for (int64_t q = 0; q < k; ++q) {
        const Word x = a[static_cast<size_t>(q * rows + i)];
        const Word y = b[static_cast<size_t>((j / panel * k + q) * panel + j % panel)];
        for (int e = 0; e < elements; ++e) want += static_cast<Sum>(value(x, e) * other(y, e));
      }
      ASSERT_EQ(got, want) << i << ", " << j;
    }
  }
}

template <class Check>
void all_sizes(Check one) {
  const int64_t words = sme_words();
  for (int64_t rows : around(words)) {
    for (int64_t columns : around(words)) {
      for (int64_t k : {0, 1, 5}) one(rows, columns, k, int64_t{64}, k % 2 == 1);
    }
    for (int64_t columns : {1, 31, 32, 33, 70, 100}) one(rows, columns, int64_t{9}, int64_t{32}, columns % 2 == 1);
  }
  for (int64_t columns : {1, 16, 17, 50}) one(2 * words, columns, int64_t{40}, int64_t{16}, false);
}

float small(uint32_t x) { return static_cast<float>(static_cast<int>(x % 17) - 8); }
uint32_t pair(uint32_t x) { return uint32_t{f32_to_bf16(small(x))} | uint32_t{f32_to_bf16(small(x >> 8))} << 16; }
float half_of(uint32_t word, int e) { return bf16_to_f32(static_cast<uint16_t>(word >> (16 * e))); }
uint32_t bytes(uint32_t x) { return x % 5 == 0 ? 0x80FF7F80u : x; }
int32_t signed_byte(uint32_t word, int e) { return static_cast<int8_t>(word >> (8 * e)); }
int32_t unsigned_byte(uint32_t word, int e) { return static_cast<uint8_t>(word >> (8 * e)); }

TEST(Sme, Features) {
  printf("sme: f32 %s, bf16 %s, i8 %s, vectors of %d bits\n", has_sme_f32() ? "yes" : "no",
         has_sme_bf16() ? "yes" : "no", has_sme_i8() ? "yes" : "no", static_cast<int>(sme_words() * 32));
  EXPECT_EQ(sme_words() != 0, has_sme_f32() || has_sme_bf16() || has_sme_i8());
  EXPECT_LE(2 * sme_words(), kMostSmeRows);
}

TEST(Sme, ProductsOfFloats) {
  if (!has_sme_f32()) GTEST_SKIP() << "this core has no SME, or the assembler did not know it";
  all_sizes([](int64_t rows, int64_t columns, int64_t k, int64_t panel, bool add) {
    const auto element = [](float x, int) { return x; };
    check<float, float>(rows, columns, k, panel, add, sme_outer_f32, small, small, 1, element, element);
  });
}

TEST(Sme, ProductsOfBfloat16) {
  if (!has_sme_bf16()) GTEST_SKIP() << "this core has no SME with bfloat16, or the assembler did not know it";
  all_sizes([](int64_t rows, int64_t columns, int64_t k, int64_t panel, bool add) {
    check<uint32_t, float>(rows, columns, k, panel, add, sme_outer_bf16, pair, pair, 2, half_of, half_of);
  });
}

TEST(Sme, ProductsOfBytes) {
  if (!has_sme_i8())
    GTEST_SKIP()
        << "this core has no SME with bytes, its emulator multiplies them wrongly, or the assembler did not know it";
  all_sizes([](int64_t rows, int64_t columns, int64_t k, int64_t panel, bool add) {
    check<uint32_t, int32_t>(
        rows, columns, k, panel, add, [](const OuterProduct& p) { sme_outer_i8(p, true); }, bytes, bytes, 4,
        signed_byte, unsigned_byte);
    check<uint32_t, int32_t>(
        rows, columns, k, panel, add, [](const OuterProduct& p) { sme_outer_i8(p, false); }, bytes, bytes, 4,
        unsigned_byte, signed_byte);
  });
}

// Rows that end where memory does, at every remainder of a word.
TEST(Sme, Transposes) {
  const int64_t words = sme_words();
  if (words == 0) GTEST_SKIP() << "this core has no SME, or the assembler did not know it";
  for (int64_t rows : around(words)) {
    for (int64_t length :
         {int64_t{1}, int64_t{2}, int64_t{7}, 4 * words - 1, 4 * words, 4 * words + 3, 12 * words + 8}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows of " << length);
      const int64_t step = length + 5, deep = (length + 3) / 4;
      Guarded<uint8_t> from(static_cast<size_t>((rows - 1) * step + length)), to(static_cast<size_t>(4 * deep * rows));
      std::mt19937 rng(1);
      for (uint8_t& b : from) b = static_cast<uint8_t>(rng());
      sme_transpose(from.data(), step, rows, length, to.data());
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t at = 0; at < 4 * deep; ++at) {
          const uint8_t want = at < length ? from[static_cast<size_t>(i * step + at)] : 0;
          ASSERT_EQ(to[static_cast<size_t>((at / 4 * rows + i) * 4 + at % 4)], want) << i << ", " << at;
        }
      }
    }
  }
}

// Who calls may have left ZA to be saved by whoever wants it next.
TEST(Sme, SavesWhatIsLeftInTheSquares) {
  const int64_t slice = 4 * sme_words();
  if (slice == 0) GTEST_SKIP() << "this core has no SME, or the assembler did not know it";
#if VIREO_SME
  std::vector<uint8_t> before(static_cast<size_t>(slice * slice)), saved(before.size());
  std::mt19937 rng(1);
  for (uint8_t& b : before) b = static_cast<uint8_t>(rng());
  struct {
    void* buffer;
    uint16_t slices;
    uint8_t zeros[6];
  } block = {saved.data(), static_cast<uint16_t>(slice), {}};
  __asm__ volatile(
      ".arch_extension sme\n"
      "smstart za\n"
      "mov x9, %0\n"
      "mov w12, #0\n"
      "1: ldr za[w12, 0], [x9]\n"
      "addsvl x9, x9, #1\n"
      "add w12, w12, #1\n"
      "cmp w12, %w1\n"
      "b.lo 1b\n"
      "msr s3_3_c13_c0_5, %2\n"
      ".arch_extension nosme\n"
      :
      : "r"(before.data()), "r"(slice), "r"(&block)
      : "x9", "x12", "cc", "memory");
  uint32_t word = 1, out = 0;
  sme_transpose(&word, 4, 1, 4, &out);
  uint64_t left = 1, state = 1;
  __asm__ volatile("mrs %0, s3_3_c13_c0_5\nmrs %1, s3_3_c4_c2_2" : "=r"(left), "=r"(state));  // TPIDR2_EL0, SVCR
  EXPECT_EQ(out, 1u);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(state, 0u) << "streaming mode and ZA are off";
  EXPECT_EQ(before, saved);
#endif
}

}  // namespace
}  // namespace vireo::cpu
