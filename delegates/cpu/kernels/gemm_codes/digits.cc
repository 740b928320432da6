#include "delegates/cpu/kernels/gemm_codes/digits.h"

#include <string.h>

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
// The lowest digit is left out where the largest number of a part is at most this multiple of its mean. An element is
// off by 2^-24 of the largest one then: 16 roundings of the mean, where sums of floats round 32 terms or more.
constexpr float kTame = 16;

// How a part of a row becomes whole numbers; false: it has no digits.
struct Range {
  float factor, inverse;
  bool four;  // digits; else the three upper ones
};
bool range_of(const float* a, int64_t count, Range* out) {
  const DF d;
  auto most = hn::Zero(d), all = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto v = hn::Abs(hn::LoadN(d, a + i, static_cast<size_t>(count - i < kLanes ? count - i : kLanes)));
    most = hn::Max(most, v);
    all = hn::Add(all, v);
  }
  const float largest = hn::ReduceMax(d, most), sum = hn::ReduceSum(d, all);
  out->four = sum * kTame < largest * static_cast<float>(count);
  const float whole = out->four ? 0x1p30f : 0x7F000000;  // the highest digit is 127 at most
  out->factor = largest == 0 ? 0 : whole / largest;
  out->inverse = largest / whole;
  // The sum is not finite where a number is not; a factor is where its number is above 2^-97.
  return sum - sum == 0 && (largest == 0 || largest > 0x1p-90f);
}

// The digits of `count` k of a part to words of `to`, and their sums. Codes of 4 bits meet the even k before the odd.
template <int kBits>
void digits_of(const float* a, int64_t count, const Range& range, int8_t* to, int32_t* sums) {
  constexpr int64_t kPerWord = 32 / kBits;
  const hn::CappedTag<float, 4> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Repartition<int8_t, decltype(di)> d8;
  const hn::Repartition<uint8_t, decltype(di)> du8;
  alignas(16) constexpr int8_t kTurned[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const auto turned = hn::Load(d8, kTurned);
  const auto middle = hn::Set(di, 0x00808080);
  const auto factor = hn::Set(d, range.factor);
  // Without the lowest digit numbers are rounded to the next one.
  const auto half = hn::Set(di, range.four ? 0 : 0x80), upper = hn::Set(di, range.four ? -1 : ~0xFF);
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
      const auto q = hn::And(hn::Add(hn::NearestInt(hn::Mul(v[i], factor)), half), upper);
      const auto digits = hn::TableLookupBytes(hn::BitCast(d8, hn::Xor(hn::Add(q, middle), middle)), turned);
      hn::Store(digits, d8, to);
      sum = hn::SumOfMulQuadAccumulate(di, hn::Set(du8, uint8_t{1}), digits, sum);
    }
  }
  hn::StoreU(sum, di, sums);
}

bool put_rows(const CodesView& b, int64_t m, const float* a, int64_t lda, const Digits& out) {
  for (int64_t r = 0; r < m; ++r) {
    Part* part = out.parts + r;  // of kFewRows a part
    for (int64_t block = 0; block < b.blocks; ++block) {
      const int64_t end = b.block_end(block);
      for (int64_t k0 = block * b.block; k0 < end; k0 += kPartDepth, part += kFewRows) {
        const int64_t count = end - k0 < kPartDepth ? end - k0 : kPartDepth;
        const float* const from = a + r * lda + k0;
        Range range;
        if (!range_of(from, count, &range)) return false;
        int32_t sums[kDigits];
        int8_t* const to = out.digits + r * out.row_bytes + k0 * kDigits;
        (b.bits == 8 ? digits_of<8> : digits_of<4>)(from, count, range, to, sums);
        part->scale = range.four ? range.inverse : range.inverse * 256;
        part->four = range.four;
        for (int j = 0; j < kDigits; ++j) {
          // Zero points of columns meet two numbers of 16 bits: together -sum, which is up to 2^15.
          const int32_t half = -sums[j] >> 1, other = -sums[j] - half;
          part->starts[j] = b.zeros == nullptr ? -sums[j] * b.zero : half << 16 | (other & 0xFFFF);
        }
      }
    }
  }
  return true;
}

constexpr int kVectors = 2;       // of a panel's row
constexpr int kFours = 8;         // of k, a step: their codes lie in registers while all rows pass
constexpr int64_t kStep = 32;     // of k
constexpr int64_t kAhead = 1024;  // words: no prefetcher crosses a page
using Sums = int32_t[kDigits][kVectors][kLanes];

// A step of a part and a panel: what its rows have so far is in `open` unless it is the part's first, and goes there
// unless it is its last.
struct Step {
  const uint32_t* codes;
  int64_t words;  // of a column: up to 4 (8)
  const int8_t* digits;
  const Part* parts;
  bool first, last;
};

// The codes of four k of each column, as bytes; of 4 bits those of a word's even k before the odd ones.
HWY_INLINE void codes_of(const Step& s, int32_t bits, VI (&codes)[kFours][kVectors]) {
  const DI d;
  const auto nibbles = hn::Set(d, 0x0F0F0F0F);
  HWY_ALIGN uint32_t end[kFours * kPanelColumns];
  const uint32_t* from = s.codes;
  const int64_t words = kStep * bits / 32;
  if (s.words < words) {  // codes of 0 meet whatever digits follow
    memset(end, 0, sizeof(end));
    memcpy(end, from, static_cast<size_t>(s.words * kPanelColumns) * sizeof(uint32_t));
    from = end;
  }
  const auto* const at = reinterpret_cast<const int32_t*>(from);
  if (bits == 8) {
    VIREO_UNROLL
    for (int i = 0; i < kFours; ++i) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) codes[i][v] = hn::LoadU(d, at + i * kPanelColumns + v * kLanes);
    }
  } else {
    VIREO_UNROLL
    for (int i = 0; i < kFours; i += 2) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const auto word = hn::LoadU(d, at + i / 2 * kPanelColumns + v * kLanes);
        codes[i][v] = hn::And(word, nibbles);
        codes[i + 1][v] = hn::And(hn::ShiftRight<4>(word), nibbles);
      }
    }
  }
}

// sum[kRows][32] += what the part's products are, once its last step is done; of digits from kFirst on.
template <int kRows, int kFirst>
HWY_INLINE void add_rows(const VI (&codes)[kFours][kVectors], const Step& s, const CodesView& b, int64_t at, int64_t r,
                         int64_t row_bytes, Sums* open, float* sum) {
  const DI d;
  const DF df;
  const hn::Repartition<uint8_t, DI> du8;
  const hn::Repartition<int8_t, DI> d8;
  const hn::Repartition<int16_t, DI> d16;
  const Part* const parts = s.parts + r;
  const int8_t* const digits = s.digits + r * row_bytes;
  open += r;
  sum += r * kPanelColumns;
  VI acc[kRows][kDigits][kVectors];
  const auto each = [&](auto function) HWY_ATTR {
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      VIREO_UNROLL
      for (int j = kFirst; j < kDigits; ++j) {
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v) function(i, j, v);
      }
    }
  };
  if (!s.first) {
    each([&](int i, int j, int v) HWY_ATTR { acc[i][j][v] = hn::Load(d, open[i][j][v]); });
  } else if (b.zeros == nullptr) {
    each([&](int i, int j, int v) HWY_ATTR { acc[i][j][v] = hn::Set(d, parts[i].starts[j]); });
  } else {
    each([&](int i, int j, int v) HWY_ATTR {
      const auto zero = hn::PromoteTo(d, hn::LoadU(hn::Rebind<uint8_t, DI>(), b.zeros + at + v * kLanes));
      const auto twice = hn::BitCast(d16, hn::Or(zero, hn::ShiftLeft<16>(zero)));
      auto unused = hn::Zero(d);
      acc[i][j][v] = hn::ReorderWidenMulAccumulate(d, twice, hn::BitCast(d16, hn::Set(d, parts[i].starts[j])),
                                                   hn::Zero(d), unused);
    });
  }
  VIREO_UNROLL
  for (int k = 0; k < kFours; ++k) {
    __builtin_prefetch(s.codes + kAhead + k * kPanelColumns);
    __builtin_prefetch(s.codes + kAhead + k * kPanelColumns + kLanes);
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      VIREO_UNROLL
      for (int j = kFirst; j < kDigits; ++j) {
        int32_t four;
        memcpy(&four, digits + i * row_bytes + k * 16 + j * 4, sizeof(four));
        const auto digit = hn::BitCast(d8, hn::Set(d, four));
        VIREO_UNROLL
        for (int v = 0; v < kVectors; ++v)
          acc[i][j][v] = hn::SumOfMulQuadAccumulate(d, hn::BitCast(du8, codes[k][v]), digit, acc[i][j][v]);
      }
    }
  }
  if (!s.last) {
    each([&](int i, int j, int v) HWY_ATTR { hn::Store(acc[i][j][v], d, open[i][j][v]); });
    return;
  }
  // Two neighbouring sums are below 2^31 / 257: a pair is exact.
  const auto pair = [&](VI high, VI low) HWY_ATTR { return hn::ConvertTo(df, hn::Add(hn::ShiftLeft<8>(high), low)); };
  VIREO_UNROLL
  for (int i = 0; i < kRows; ++i) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto high = pair(acc[i][3][v], acc[i][2][v]);
      hn::Vec<DF> all;
      if constexpr (kFirst == 0) {
        all = hn::MulAdd(high, hn::Set(df, 65536), pair(acc[i][1][v], acc[i][0][v]));
      } else {
        all = hn::MulAdd(high, hn::Set(df, 256), hn::ConvertTo(df, acc[i][1][v]));
      }
      const auto factor = hn::Mul(hn::LoadU(df, b.scales + at + v * kLanes), hn::Set(df, parts[i].scale));
      float* const to = sum + i * kPanelColumns + v * kLanes;
      hn::StoreU(hn::MulAdd(all, factor, hn::LoadU(df, to)), df, to);
    }
  }
}

// For the m rows of sum: in pairs, whose sums wait less for each other, where both have three digits.
HWY_NOINLINE void add_step(const Step& s, const CodesView& b, int64_t at, int64_t row_bytes, int64_t m, Sums* open,
                           float* sum) {
  VI codes[kFours][kVectors];
  codes_of(s, b.bits, codes);
  VIREO_ROLLED
  for (int64_t r = 0; r < m; ++r) {
    if (s.parts[r].four) {
      add_rows<1, 0>(codes, s, b, at, r, row_bytes, open, sum);
    } else if (r + 1 < m && !s.parts[r + 1].four) {
      add_rows<2, 1>(codes, s, b, at, r, row_bytes, open, sum);
      ++r;
    } else {
      add_rows<1, 1>(codes, s, b, at, r, row_bytes, open, sum);
    }
  }
}

void product(const CodesView& b, const Digits& a, int64_t panel0, int64_t panel1, int64_t m, float* c, int64_t ldc) {
  HWY_ALIGN float sum[kFewRows * kPanelColumns];
  HWY_ALIGN Sums open[kFewRows];
  const int64_t per_word = b.per_word();
  for (int64_t panel = panel0; panel < panel1; ++panel) {
    memset(sum, 0, sizeof(sum));
    Step s{};
    s.parts = a.parts;
    for (int64_t block = 0; block < b.blocks; ++block) {
      const int64_t end = b.block_end(block), at = (panel * b.blocks + block) * kPanelColumns;
      for (int64_t k0 = block * b.block; k0 < end; k0 += kPartDepth, s.parts += kFewRows) {
        const int64_t part_end = end - k0 < kPartDepth ? end : k0 + kPartDepth;
        for (int64_t k = k0; k < part_end; k += kStep) {
          s.first = k == k0;
          s.last = part_end - k <= kStep;
          s.codes = b.codes + (panel * b.words + k / per_word) * kPanelColumns;
          s.words = ((s.last ? part_end - k : kStep) + per_word - 1) / per_word;
          s.digits = a.digits + k * kDigits;
          add_step(s, b, at, a.row_bytes, m, open, sum);
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
constexpr int64_t kPastRow = 128;  // a step of k: the last one of a row reads on behind it
int64_t row_bytes_of(int64_t k) { return (k + 15) / 16 * 64; }
}  // namespace

size_t digits_bytes(int64_t m, int64_t k) {
  const int64_t rows = m < kFewRows ? m : kFewRows, parts = (k / kLeastDigitsBlock + 2) * kFewRows;
  return static_cast<size_t>(rows * row_bytes_of(k) + kPastRow) + static_cast<size_t>(parts) * sizeof(Part);
}

bool put_digits(const CodesView& b, int64_t m, const float* a, int64_t lda, void* room, Digits* out) {
  if (b.blocks > 1 && b.block < kLeastDigitsBlock) return false;
  const int64_t parts = (b.k / kLeastDigitsBlock + 2) * kFewRows;
  out->parts = static_cast<Part*>(room);
  out->digits = reinterpret_cast<int8_t*>(out->parts + parts);
  out->row_bytes = row_bytes_of(b.k);
  return HWY_DYNAMIC_DISPATCH(put_rows)(b, m, a, lda, *out);
}

void digits_product(const CodesView& b, const Digits& a, int64_t panel0, int64_t panel1, int64_t m, float* c,
                    int64_t ldc) {
  HWY_DYNAMIC_DISPATCH(product)(b, a, panel0, panel1, m, c, ldc);
}

}  // namespace vireo::cpu
#endif
