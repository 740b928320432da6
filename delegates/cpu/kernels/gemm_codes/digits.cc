#include "delegates/cpu/kernels/gemm_codes/digits.h"

#include <math.h>
#include <string.h>

#include <utility>

#include "delegates/cpu/kernels/gemm/engine.h"

#define VIREO_KERNEL_USES_VNNI
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/gemm_codes/digits.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3_DL
namespace hn = hwy::HWY_NAMESPACE;
using DI = hn::ScalableTag<int32_t>;
using DF = hn::Rebind<float, DI>;
using VI = hn::Vec<DI>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DI()));
constexpr int kDigits = 4;

// Of `count` numbers, less than 2^-100 of which would not have an inverse; -1: they have no digits.
float largest_of(const float* a, int64_t count) {
  const DF d;
  auto most = hn::Zero(d), others = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto v = hn::LoadN(d, a + i, static_cast<size_t>(count - i < kLanes ? count - i : kLanes));
    most = hn::Max(most, hn::Abs(v));
    others = hn::Add(others, hn::Sub(v, v));  // not 0 where one is not finite
  }
  const float largest = hn::ReduceMax(d, most);
  if (hn::ReduceSum(d, others) != 0) return -1;  // NaN
  return largest == 0 || largest > 0x1p-90f ? largest : -1;
}

// The digits of `count` k of a part to words of `to`, and their sums. Codes of 4 bits meet the even k before the odd.
template <int kBits>
void digits_of(const float* a, int64_t count, float inverse, int8_t* to, float* sums) {
  constexpr int64_t kPerWord = 32 / kBits;
  const hn::CappedTag<float, 4> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Repartition<int8_t, decltype(di)> d8;
  const hn::Repartition<uint8_t, decltype(di)> du8;
  alignas(16) constexpr int8_t kTurned[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const auto turned = hn::Load(d8, kTurned);
  const auto middle = hn::Set(di, 0x00808080);
  const auto factor = hn::Set(d, inverse);
  auto sum = hn::Zero(di);
  for (int64_t k = 0; k < count; k += kPerWord) {
    alignas(16) float last[8] = {};
    const float* from = a + k;
    if (count - k < kPerWord) {
      memcpy(last, from, static_cast<size_t>(count - k) * sizeof(float));
      from = last;
    }
    hn::Vec<decltype(d)> v[2];
    if constexpr (kBits == 4) {
      hn::LoadInterleaved2(d, from, v[0], v[1]);
    } else {
      v[0] = hn::LoadU(d, from);
    }
    for (int i = 0; i < 8 / kBits; ++i, to += 16) {
      const auto q = hn::NearestInt(hn::Mul(v[i], factor));
      const auto digits = hn::TableLookupBytes(hn::BitCast(d8, hn::Xor(hn::Add(q, middle), middle)), turned);
      hn::Store(digits, d8, to);
      sum = hn::SumOfMulQuadAccumulate(di, hn::Set(du8, uint8_t{1}), digits, sum);
    }
  }
  hn::StoreU(hn::ConvertTo(d, sum), d, sums);
}

bool put_rows(const CodesView& b, int64_t m, const float* a, int64_t lda, const Digits& out) {
  for (int64_t r = 0; r < m; ++r) {
    int64_t part = r;  // of kFewRows a part
    for (int64_t block = 0; block < b.blocks; ++block) {
      const int64_t end = b.block_end(block);
      for (int64_t k0 = block * b.block; k0 < end; k0 += kPartDepth, part += kFewRows) {
        const int64_t count = end - k0 < kPartDepth ? end - k0 : kPartDepth;
        const float* const from = a + r * lda + k0;
        const float largest = largest_of(from, count);
        if (largest < 0) return false;
        int8_t* const to = out.digits + r * out.row_bytes + k0 * kDigits;
        float* const sums = out.sums + part * kDigits;
        const float inverse = largest == 0 ? 0 : 0x1p30f / largest;
        (b.bits == 8 ? digits_of<8> : digits_of<4>)(from, count, inverse, to, sums);
        out.scales[part] = largest * 0x1p-30f;
      }
    }
  }
  return true;
}

// Four k of each column's codes by the digits of as many k. Sums i are of row i / kVectors and vector i % kVectors.
template <int kRows, int kVectors>
HWY_INLINE void add_fours(const VI (&codes)[kVectors], const int8_t* digits, int64_t row_bytes,
                          VI (&acc)[kRows * kVectors][kDigits]) {
  const DI d;
  const hn::Repartition<uint8_t, DI> du8;
  const hn::Repartition<int8_t, DI> d8;
  VIREO_UNROLL
  for (int i = 0; i < kRows * kVectors; ++i) {
    const auto b = hn::BitCast(du8, codes[i % kVectors]);
    VIREO_UNROLL
    for (int j = 0; j < kDigits; ++j) {
      int32_t four;
      memcpy(&four, digits + i / kVectors * row_bytes + j * 4, sizeof(four));
      acc[i][j] = hn::SumOfMulQuadAccumulate(d, b, hn::BitCast(d8, hn::Set(d, four)), acc[i][j]);
    }
  }
}

// Codes as bytes: of 4 bits those of the even k, then of the odd ones.
template <int kBits>
HWY_INLINE void fours_at(const uint32_t* codes, VI* even, VI* odd) {
  const DI d;
  const auto nibbles = hn::Set(d, 0x0F0F0F0F);
  const VI words = hn::BitCast(d, hn::LoadU(hn::RebindToUnsigned<DI>(), codes));
  *even = kBits == 4 ? hn::And(words, nibbles) : words;
  *odd = hn::And(hn::ShiftRight<4>(words), nibbles);
}
HWY_INLINE hn::Vec<DF> zeros_at(const uint8_t* from) {
  return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<uint8_t, DI>(), from)));
}
// sum - zero * digits
HWY_INLINE hn::Vec<DF> less(VI sum, hn::Vec<DF> zero, float digits) {
  return hn::NegMulAdd(zero, hn::Set(DF(), digits), hn::ConvertTo(DF(), sum));
}

constexpr int64_t kAhead = 1024;  // words: no prefetcher crosses a page

// sum += the products of kRows rows and kVectors vectors of a panel's columns, over the words of a part.
template <int kBits, int kRows, int kVectors>
HWY_NOINLINE void add_part(const uint32_t* codes, int64_t words, const float* scales, const uint8_t* zeros,
                           float one_zero, const int8_t* digits, int64_t row_bytes, const float* row_scales,
                           const float* sums_of_digits, float* sum) {
  const DI d;
  const DF df;
  VI acc[kRows * kVectors][kDigits];
  VIREO_UNROLL
  for (int i = 0; i < kRows * kVectors; ++i) {
    VIREO_UNROLL
    for (int j = 0; j < kDigits; ++j) acc[i][j] = hn::Zero(d);
  }
  VIREO_ROLLED
  for (; words > 0; --words, codes += kPanelColumns) {
    // Both lines of a row: one vector at a time meets the second one when the first ones have passed.
    __builtin_prefetch(codes + kAhead);
    __builtin_prefetch(codes + kAhead + kLanes);
    VI x[kVectors], y[kVectors];
    fours_at<kBits>(codes, &x[0], &y[0]);
    if constexpr (kVectors == 2) fours_at<kBits>(codes + kLanes, &x[1], &y[1]);
    add_fours<kRows, kVectors>(x, digits, row_bytes, acc);
    if (kBits == 4) add_fours<kRows, kVectors>(y, digits + 16, row_bytes, acc);
    digits += 16 * (8 / kBits);
  }
#if HWY_COMPILER_GCC_ACTUAL || HWY_COMPILER_CLANG
  // gcc 12 copies each sum twice a step where it knows another type of it behind the loop.
  VIREO_UNROLL
  for (int i = 0; i < kRows * kVectors; ++i) {
    VIREO_UNROLL
    for (int j = 0; j < kDigits; ++j) __asm__("" : "+v"(acc[i][j].raw));
  }
#endif
  // Sums of digits are below 2^24, and so are their products with codes: all is exact until `base` is multiplied in.
  const auto base = hn::Set(df, 256);
  VIREO_UNROLL
  for (int i = 0; i < kRows * kVectors; ++i) {
    const int r = i / kVectors, v = i % kVectors;
    const auto zero = zeros == nullptr ? hn::Set(df, one_zero) : zeros_at(zeros + v * kLanes);
    const float* const sums = sums_of_digits + r * kDigits;
    auto all = less(acc[i][3], zero, sums[3]);
    all = hn::MulAdd(all, base, less(acc[i][2], zero, sums[2]));
    all = hn::MulAdd(all, base, less(acc[i][1], zero, sums[1]));
    all = hn::MulAdd(all, base, less(acc[i][0], zero, sums[0]));
    float* const to = sum + r * kPanelColumns + v * kLanes;
    const auto factor = hn::Mul(hn::LoadU(df, scales + v * kLanes), hn::Set(df, row_scales[r]));
    hn::StoreU(hn::MulAdd(all, factor, hn::LoadU(df, to)), df, to);
  }
}

using AddPart = void (*)(const uint32_t*, int64_t, const float*, const uint8_t*, float, const int8_t*, int64_t,
                         const float*, const float*, float*);
// Sums take four registers a row and vector: 24 of 32 at most.
constexpr int kMostRows = 6;
constexpr int vectors_of(int rows) { return rows <= 3 ? 2 : 1; }
struct AddParts {
  AddPart of_rows[kMostRows];  // from one on
};
template <int kBits, int... kRows>
constexpr AddParts add_parts(std::integer_sequence<int, kRows...>) {
  return {{add_part<kBits, kRows + 1, vectors_of(kRows + 1)>...}};
}
template <int kBits>
constexpr AddParts kAddParts = add_parts<kBits>(std::make_integer_sequence<int, kMostRows>());

void product(const CodesView& b, const Digits& a, int64_t panel0, int64_t panel1, int64_t m, float* c, int64_t ldc) {
  HWY_ALIGN float sum[kFewRows * kPanelColumns];
  const AddParts& add = b.bits == 8 ? kAddParts<8> : kAddParts<4>;
  const int64_t groups = (m + kMostRows - 1) / kMostRows, low = m / groups, extra = m % groups;
  const int64_t per_word = b.per_word();
  for (int64_t panel = panel0; panel < panel1; ++panel) {
    memset(sum, 0, sizeof(sum));
    int64_t part = 0;
    for (int64_t block = 0; block < b.blocks; ++block) {
      const int64_t end = b.block_end(block), at = (panel * b.blocks + block) * kPanelColumns;
      for (int64_t k0 = block * b.block; k0 < end; k0 += kPartDepth, part += kFewRows) {
        const int64_t count = end - k0 < kPartDepth ? end - k0 : kPartDepth;
        const uint32_t* const codes = b.codes + (panel * b.words + k0 / per_word) * kPanelColumns;
        for (int64_t g = 0, r = 0; g < groups; ++g) {
          const int64_t rows = low + (g < extra ? 1 : 0);
          const int64_t step = vectors_of(static_cast<int>(rows)) * kLanes;
          for (int64_t j = 0; j < kPanelColumns; j += step) {
            add.of_rows[rows - 1](codes + j, (count + per_word - 1) / per_word, b.scales + at + j,
                                  b.zeros != nullptr ? b.zeros + at + j : nullptr, static_cast<float>(b.zero),
                                  a.digits + r * a.row_bytes + k0 * kDigits, a.row_bytes, a.scales + part + r,
                                  a.sums + (part + r) * kDigits, sum + r * kPanelColumns + j);
          }
          r += rows;
        }
      }
    }
    const int64_t n0 = panel * kPanelColumns, columns = b.n - n0 < kPanelColumns ? b.n - n0 : kPanelColumns;
    for (int64_t r = 0; r < m; ++r)
      memcpy(c + r * ldc + n0, sum + r * kPanelColumns, static_cast<size_t>(columns) * sizeof(float));
  }
}
#else
bool put_rows(const CodesView&, int64_t, const float*, int64_t, const Digits&) { return false; }
void product(const CodesView&, const Digits&, int64_t, int64_t, int64_t, float*, int64_t) {}
#endif
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(put_rows);
HWY_EXPORT(product);

namespace {
constexpr int64_t kOnePass = 6, kManyRowsBlock = 128;  // rows in two passes end shorter blocks too often
constexpr size_t kPart = kFewRows * 5 * sizeof(float);
int64_t row_bytes_of(int64_t k) { return (k + 15) / 16 * 64; }
}  // namespace

size_t digits_bytes(int64_t m, int64_t k) {
  const int64_t rows = m < kFewRows ? m : kFewRows;
  return static_cast<size_t>(rows * row_bytes_of(k)) + static_cast<size_t>(k / kLeastDigitsBlock + 2) * kPart;
}

bool put_digits(const CodesView& b, int64_t m, const float* a, int64_t lda, void* room, Digits* out) {
  if (b.blocks > 1 && (b.block < kLeastDigitsBlock || (b.block < kManyRowsBlock && m > kOnePass))) return false;
  out->digits = static_cast<int8_t*>(room);
  out->row_bytes = row_bytes_of(b.k);
  out->sums = reinterpret_cast<float*>(out->digits + m * out->row_bytes);
  const int64_t parts = b.k / kLeastDigitsBlock + 2;
  out->scales = out->sums + parts * kFewRows * 4;
  return HWY_DYNAMIC_DISPATCH(put_rows)(b, m, a, lda, *out);
}

void digits_product(const CodesView& b, const Digits& a, int64_t panel0, int64_t panel1, int64_t m, float* c,
                    int64_t ldc) {
  HWY_DYNAMIC_DISPATCH(product)(b, a, panel0, panel1, m, c, ldc);
}

}  // namespace vireo::cpu
#endif
