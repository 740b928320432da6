#include "delegates/cpu/kernels/gemm_codes/gemm_codes.h"

#include <string.h>

#include <utility>

#include "delegates/cpu/kernels/gemm/engine.h"
#include "delegates/cpu/kernels/gemm_codes/digits.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/gemm_codes/gemm_codes.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DU = hn::RebindToUnsigned<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int kVectors = 2;  // of sums a row: each factor of A serves both
// Of one pass, for which each code is widened once: 16 registers hold the sums of four, 32 those of eight. With one
// vector a row 16 registers would hold eight too, but it is no faster: factors are then read twice as often.
constexpr int kMostRows = HWY_ARCH_ARM || kLanes >= 16 ? 8 : 4;

// A code in the low bits of 2^23 makes the float 2^23 + code, from which 2^23 + zero is taken away exactly: a code is
// widened by one logical step and one subtraction, without a conversion.
constexpr uint32_t kMagic = 0x4B000000u;

// 2^23 + zero of columns [column, column + kLanes) of a panel.
HWY_INLINE VF zeros_at(const CodesView& b, int64_t at) {
  const DF d;
  const DU du;
  if (b.zeros == nullptr) return hn::BitCast(d, hn::Set(du, kMagic | static_cast<uint32_t>(b.zero)));
  const hn::Rebind<uint8_t, DF> d8;
  return hn::BitCast(d, hn::Or(hn::PromoteTo(du, hn::LoadU(d8, b.zeros + at)), hn::Set(du, kMagic)));
}

template <int kBits>
HWY_INLINE VF value_of(hn::Vec<DU> x, VF zero) {
  const DU du;
  const auto code = hn::OrAnd(hn::Set(du, kMagic), x, hn::Set(du, (1u << kBits) - 1));
  return hn::Sub(hn::BitCast(DF(), code), zero);
}

// sum[r][0 .. kVectors * kLanes) += scale * sum over `count` k of a[r][k] (code - zero), for one part of a block and of
// a panel. A code is widened once for all rows.
template <int kBits, int kRows>
HWY_INLINE void add_codes(const uint32_t* words, int64_t count, const float* a, int64_t lda, const VF* zeros,
                          const float* scales, float* sum) {
  constexpr int kPerWord = 32 / kBits;
  // One row has two chains a vector, or it would wait for each sum.
  constexpr int kChains = kRows <= 2 ? 2 : 1;
  const DF d;
  const DU du;
  VF acc[kRows][kChains][kVectors];
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int c = 0; c < kChains; ++c) {
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[r][c][v] = hn::Zero(d);
    }
  }
  hn::Vec<DU> x[kVectors];
  const auto add = [&](int64_t i, int chain) HWY_ATTR {
    VF b[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      b[v] = value_of<kBits>(x[v], zeros[v]);
      x[v] = hn::ShiftRight<kBits>(x[v]);
    }
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const VF ai = hn::Set(d, a[r * lda + i]);
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[r][chain][v] = hn::MulAdd(ai, b[v], acc[r][chain][v]);
    }
  };
  for (; count >= kPerWord; count -= kPerWord, words += kPanelColumns, a += kPerWord) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(du, words + v * kLanes);
    VIREO_UNROLL
    for (int i = 0; i < kPerWord; ++i) add(i, i % kChains);
  }
  if (count > 0) {  // the end of k
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(du, words + v * kLanes);
    for (int64_t i = 0; i < count; ++i) add(i, 0);
  }
  VIREO_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const VF scale = hn::LoadU(d, scales + v * kLanes);
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const VF all = kChains == 2 ? hn::Add(acc[r][0][v], acc[r][kChains - 1][v]) : acc[r][0][v];
      float* const to = sum + r * kPanelColumns + v * kLanes;
      hn::StoreU(hn::MulAdd(all, scale, hn::LoadU(d, to)), d, to);
    }
  }
}

// Rows [m0, m0 + kRows) of one part of a panel: where narrow vectors take it in turns, it stays in the first level.
template <int kBits, int kRows>
HWY_NOINLINE void add_part(const CodesView& b, int64_t panel, int64_t block, int64_t k0, int64_t count, const float* a,
                           int64_t lda, float* sum) {
  const uint32_t* const words = b.codes + (panel * b.words + k0 * kBits / 32) * kPanelColumns;
  const int64_t at = (panel * b.blocks + block) * kPanelColumns;
  for (int64_t j = 0; j < kPanelColumns; j += kVectors * kLanes) {
    VF zeros[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) zeros[v] = zeros_at(b, at + j + v * kLanes);
    add_codes<kBits, kRows>(words + j, count, a + k0, lda, zeros, b.scales + at + j, sum + j);
  }
}

using AddPart = void (*)(const CodesView& b, int64_t panel, int64_t block, int64_t k0, int64_t count, const float* a,
                         int64_t lda, float* sum);
struct AddParts {
  AddPart of_rows[kMostRows];  // from one on
};
template <int kBits, int... kRows>
constexpr AddParts add_parts(std::integer_sequence<int, kRows...>) {
  return {{add_part<kBits, kRows + 1>...}};
}
template <int kBits>
constexpr AddParts kAddParts = add_parts<kBits>(std::make_integer_sequence<int, kMostRows>());

// Sums of up to kFewRows rows and panels [panel0, panel1).
void few_rows(const CodesView& b, int64_t panel0, int64_t panel1, int64_t m, const float* a, int64_t lda, float* c,
              int64_t ldc) {
  HWY_ALIGN float sum[kFewRows * kPanelColumns];
  const AddParts& add = b.bits == 8 ? kAddParts<8> : kAddParts<4>;
  const int64_t groups = (m + kMostRows - 1) / kMostRows, low = m / groups, extra = m % groups;
  for (int64_t panel = panel0; panel < panel1; ++panel) {
    memset(sum, 0, sizeof(sum));
    for (int64_t block = 0; block < b.blocks; ++block) {
      const int64_t end = b.block_end(block);
      for (int64_t k0 = block * b.block; k0 < end; k0 += kPartDepth) {
        const int64_t count = end - k0 < kPartDepth ? end - k0 : kPartDepth;
        for (int64_t g = 0, r = 0; g < groups; ++g) {
          const int64_t rows = low + (g < extra ? 1 : 0);
          add.of_rows[rows - 1](b, panel, block, k0, count, a + r * lda, lda, sum + r * kPanelColumns);
          r += rows;
        }
      }
    }
    const int64_t n0 = panel * kPanelColumns, columns = b.n - n0 < kPanelColumns ? b.n - n0 : kPanelColumns;
    for (int64_t r = 0; r < m; ++r)
      memcpy(c + r * ldc + n0, sum + r * kPanelColumns, static_cast<size_t>(columns) * sizeof(float));
  }
}

// The columns [column, column + kLanes) of one of our panels as rows `width` apart, k from k0 on.
template <int kBits>
HWY_INLINE void widen_columns(const CodesView& b, int64_t panel, int64_t column, int64_t k0, int64_t kc, int64_t width,
                              float* to) {
  constexpr int64_t kPerWord = 32 / kBits;
  const DF d;
  const DU du;
  const uint32_t* const words = b.codes + panel * b.words * kPanelColumns + column;
  const int64_t end = k0 + kc;
  for (int64_t p = k0; p < end;) {
    const int64_t block = p / b.block, at = (panel * b.blocks + block) * kPanelColumns + column;
    const int64_t block_end = (block + 1) * b.block < end ? (block + 1) * b.block : end;
    const VF zero = zeros_at(b, at), scale = hn::LoadU(d, b.scales + at);
    while (p < block_end) {
      const int64_t skip = p % kPerWord;
      auto x = hn::ShiftRightSame(hn::LoadU(du, words + p / kPerWord * kPanelColumns), static_cast<int>(skip) * kBits);
      if (skip == 0 && p + kPerWord <= block_end) {
        VIREO_UNROLL
        for (int i = 0; i < kPerWord; ++i, to += width) {
          hn::StoreU(hn::Mul(value_of<kBits>(x, zero), scale), d, to);
          x = hn::ShiftRight<kBits>(x);
        }
        p += kPerWord;
        continue;
      }
      const int64_t next = p - skip + kPerWord < block_end ? p - skip + kPerWord : block_end;
      for (; p < next; ++p, to += width) {
        hn::StoreU(hn::Mul(value_of<kBits>(x, zero), scale), d, to);
        x = hn::ShiftRight<kBits>(x);
      }
    }
  }
}

// As PanelSource::pack; n0 is at the beginning of a panel, and `width` a multiple of the vectors'.
void widen_panels(const void* context, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int64_t width, float* panels) {
  const CodesView& b = *static_cast<const CodesView*>(context);
  const int64_t padded = (nc + width - 1) / width * width;
  for (int64_t j = 0; j < padded; j += kLanes) {
    const int64_t panel = (n0 + j) / kPanelColumns, column = (n0 + j) % kPanelColumns;
    float* const to = panels + j / width * width * kc + j % width;
    if (b.bits == 8) {
      widen_columns<8>(b, panel, column, k0, kc, width, to);
    } else {
      widen_columns<4>(b, panel, column, k0, kc, width, to);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(few_rows);
HWY_EXPORT(widen_panels);

namespace {
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Signed codes moved to begin at 0.
uint32_t code_at(const CodedWeights& b, const void* data, int64_t i) {
  const auto* const p = static_cast<const uint8_t*>(data);
  const uint32_t code = b.bits == 8 ? p[i] : p[i >> 1] >> ((i & 1) * 4) & 15u;
  return b.is_signed ? code ^ (1u << (b.bits - 1)) : code;
}
int32_t zero_of(const CodedWeights& b) { return b.is_signed ? 1 << (b.bits - 1) : 0; }

// B as it lies, as a source of panels: for hosts that keep nothing packed.
void widen_plain(const void* context, int64_t k0, int64_t kc, int64_t n0, int64_t nc, int64_t width, float* panels) {
  const CodedWeights& b = *static_cast<const CodedWeights*>(context);
  for (int64_t j = 0; j < nc; j += width, panels += kc * width) {
    const int64_t columns = nc - j < width ? nc - j : width;
    for (int64_t p = 0; p < kc; ++p) {
      const int64_t k = k0 + p, block = k / b.block;
      float* const to = panels + p * width;
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t n = n0 + j + c, at = n * b.scale_n_step + block * b.scale_k_step;
        const auto code = static_cast<int32_t>(code_at(b, b.codes, n * b.n_step + k * b.k_step));
        const int32_t zero = b.zeros == nullptr ? zero_of(b) : static_cast<int32_t>(code_at(b, b.zeros, at));
        to[c] = static_cast<float>(code - zero) * b.scale_at(at);
      }
      for (int64_t c = columns; c < width; ++c) to[c] = 0;
    }
  }
}

// Codes of one column whose bytes follow each other make words as they lie; else a row of codes at a time is put in.
template <int kBits>
void pack_panel(const CodedWeights& b, int64_t n, int64_t k, int64_t n0, uint32_t* to) {
  constexpr int64_t kPerWord = 32 / kBits;
  const auto neutral = static_cast<uint32_t>(zero_of(b));
  const uint32_t flip = neutral * (kBits == 8 ? 0x01010101u : 0x11111111u);
  const auto* const codes = static_cast<const uint8_t*>(b.codes);
  const int64_t columns = n - n0 < kPanelColumns ? n - n0 : kPanelColumns;
  for (int64_t p = 0; p < k; p += kPerWord, to += kPanelColumns) {
    for (int64_t c = 0; c < kPanelColumns; ++c) to[c] = 0;
    const int64_t count = k - p < kPerWord ? k - p : kPerWord;
    const bool words = b.k_step == 1 && b.n_step % kPerWord == 0 && count == kPerWord;
    if (words) {
      for (int64_t c = 0; c < columns; ++c) {
        const uint8_t* const from = codes + ((n0 + c) * b.n_step + p) * kBits / 8;
        for (uint32_t i = 0; i < 4; ++i) to[c] |= static_cast<uint32_t>(from[i]) << (8 * i);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        int64_t at = n0 * b.n_step + (p + i) * b.k_step;
        for (int64_t c = 0; c < columns; ++c, at += b.n_step) {
          const uint32_t code = kBits == 8 ? codes[at] : codes[at >> 1] >> ((at & 1) * 4) & 15u;
          to[c] |= code << (i * kBits);
        }
      }
    }
    for (int64_t c = 0; c < kPanelColumns; ++c) to[c] ^= flip;  // what is not there is 0 before it is moved, too
  }
}

// Few blocks of rows read what was widened from the first-level cache.
ProductPlan plan_of(const GemmCodes& s, int32_t slots) {
  if (s.m > 28) return plan_product(s.m, s.n, s.k, false, slots);
  constexpr int64_t kDepth = 256;
  ProductPlan plan{};
  const int64_t parts = s.k <= kDepth ? 1 : ceil_div(s.k, kDepth);
  plan.kc = s.k <= kDepth ? (s.k < 1 ? 1 : s.k) : ceil_div(ceil_div(s.k, parts), 8) * 8;
  plan.nc = kPanelColumns;
  plan.slot_bytes = static_cast<size_t>(plan.kc * plan.nc) * sizeof(float);
  plan.bytes = plan.slot_bytes * static_cast<size_t>(slots < 1 ? 1 : slots);
  return plan;
}
}  // namespace

size_t codes_packed_bytes(int64_t n, int64_t k, int32_t bits) {
  const int64_t words = ceil_div(n, kPanelColumns) * kPanelColumns * ceil_div(k, 32 / bits);
  return static_cast<size_t>(words) * sizeof(uint32_t);
}
size_t scales_packed_bytes(int64_t n, int64_t blocks) { return zeros_packed_bytes(n, blocks) * sizeof(float); }
size_t zeros_packed_bytes(int64_t n, int64_t blocks) {
  return static_cast<size_t>(ceil_div(n, kPanelColumns) * kPanelColumns * blocks);
}

void pack_codes(const CodedWeights& b, int64_t n, int64_t k, const Parallel& parallel, uint32_t* packed) {
  const int64_t words = ceil_div(k, 32 / b.bits);
  parallel.for_range(ceil_div(n, kPanelColumns), 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t panel = begin; panel < end; ++panel) {
      uint32_t* const to = packed + panel * words * kPanelColumns;
      if (b.bits == 8) {
        pack_panel<8>(b, n, k, panel * kPanelColumns, to);
      } else {
        pack_panel<4>(b, n, k, panel * kPanelColumns, to);
      }
    }
  });
}

void pack_scales(const CodedWeights& b, int64_t n, int64_t blocks, float* packed) {
  for (int64_t panel = 0; panel * kPanelColumns < n; ++panel) {
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t c = panel * kPanelColumns; c < (panel + 1) * kPanelColumns; ++c)
        *packed++ = c < n ? b.scale_at(c * b.scale_n_step + block * b.scale_k_step) : 0;
    }
  }
}

void pack_zeros(const CodedWeights& b, int64_t n, int64_t blocks, uint8_t* packed) {
  for (int64_t panel = 0; panel * kPanelColumns < n; ++panel) {
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t c = panel * kPanelColumns; c < (panel + 1) * kPanelColumns; ++c) {
        const int64_t at = c * b.scale_n_step + block * b.scale_k_step;
        *packed++ = static_cast<uint8_t>(c < n ? code_at(b, b.zeros, at) : 0);
      }
    }
  }
}

size_t gemm_codes_scratch_bytes(int64_t m, int64_t n, int64_t k, int32_t slots, bool packed) {
  const size_t few = packed ? digits_bytes(m, k) : 0, many = product_scratch_bound(m, n, k, slots);
  return packed && (m <= kFewRows || few > many) ? few : many;
}

void gemm_codes(const GemmCodes& s, const float* a, float* c, const Parallel& parallel, void* scratch) {
  if (s.m <= 0 || s.n <= 0) return;
  CodedWeights plain = s.b;
  if (plain.block >= s.k || plain.block < 1) plain.block = s.k < 1 ? 1 : s.k;
  const CodesView view = {s.packed,
                          s.packed_scales,
                          s.packed_zeros,
                          s.n,
                          s.k,
                          plain.block,
                          ceil_div(s.k, 32 / s.b.bits),
                          blocks_of(plain, s.k),
                          s.b.bits,
                          zero_of(s.b)};
  if (s.packed != nullptr && s.m <= kFewRows) {
    const auto kernel = HWY_DYNAMIC_POINTER(few_rows);
    Digits digits{};
    const bool by_digits = put_digits(view, s.m, a, s.lda, scratch, &digits);
    constexpr int64_t kGrainMacs = 1 << 18;  // bound by memory: some 10 us
    parallel.for_range(ceil_div(s.n, kPanelColumns), 1 + kGrainMacs / (s.m * s.k * kPanelColumns + 1),
                       [&](int64_t begin, int64_t end, int32_t) {
                         const int64_t n0 = begin * kPanelColumns;
                         const int64_t n1 = end * kPanelColumns < s.n ? end * kPanelColumns : s.n;
                         if (by_digits) {
                           digits_product(view, digits, begin, end, s.m, c, s.ldc);
                         } else {
                           kernel(view, begin, end, s.m, a, s.lda, c, s.ldc);
                         }
                         finish_rows_of(s.epilogue, 0, s.m, n0, n1, c, s.ldc);
                       });
    return;
  }
  Product p{};
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = a;
  p.a_row = s.lda;
  p.a_col = 1;
  p.c = c;
  p.c_row = s.ldc;
  p.epilogue = &s.epilogue;
  if (s.packed != nullptr) {
    p.b.pack = HWY_DYNAMIC_POINTER(widen_panels);
    p.b.context = &view;
  } else {
    p.b.pack = widen_plain;
    p.b.context = &plain;
  }
  run_product(p, plan_of(s, parallel.slots), parallel, scratch);
}

}  // namespace vireo::cpu
#endif
