// The products of attention in bfloat16: rows in scratch by panels of 32 columns. Compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_ENGINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_ENGINES_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_ENGINES_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_ENGINES_INL_H_
#endif

#include <hwy/highway.h>
#include <string.h>

#include "delegates/cpu/kernels/amx/amx.h"
#include "delegates/cpu/kernels/gemm_bf16/product.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c = a b, or c += a b: `rows` rows of c, b in panels of layout 5 (gemm_bf16.h), `panel` elements apart; k is a
// multiple of kBf16Depth. All columns of a panel are written.
template <class T>
struct PanelProduct {
  const T* a;
  int64_t a_row;
  const uint16_t* b;
  int64_t panel, panels, k;
  float* c;
  int64_t c_row;
  bool add;
};

// Sums in vector registers.
struct VectorEngine {
  using DF = hn::ScalableTag<float>;
  using VF = hn::Vec<DF>;
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
  using Left = uint16_t;
#else
  using Left = float;  // widened: the core multiplies those
#endif
#if VIREO_32_REGISTERS
  static constexpr int kTallest = 14;
  static constexpr int64_t kBlockRows = 28;
#else
  static constexpr int kTallest = 6;
  static constexpr int64_t kBlockRows = 30;
#endif

  void begin() {}
  void end() {}
  void run(const PanelProduct<Left>& p, int64_t rows) {
    for (int64_t n = 0; n < p.panels * kBf16Columns; n += 2 * kLanes) {
      const uint16_t* const b = p.b + n / kBf16Columns * p.panel + n % kBf16Columns * 2;
      int64_t i = 0;
      for (; i + kTallest <= rows; i += kTallest) tile<kTallest>(p, i, n, b);
      for (; i + 4 <= rows; i += 4) tile<4>(p, i, n, b);
      for (; i < rows; ++i) tile<1>(p, i, n, b);
    }
  }

 private:
#if HWY_NATIVE_DOT_BF16 && HWY_ARCH_X86
  template <int kRows>
  HWY_INLINE void sum(const PanelProduct<Left>& p, const Left* a, const uint16_t* b, VF (&acc)[kRows][2]) {
    const DF d;
    const hn::Repartition<hwy::bfloat16_t, DF> db;
    const hn::Repartition<uint16_t, DF> d16;
    const hn::Repartition<uint32_t, DF> d32;
    VF unused = hn::Zero(d);
    for (int64_t k = p.k / 2; k > 0; --k) {
      const auto b0 = hn::BitCast(db, hn::LoadU(d16, b)), b1 = hn::BitCast(db, hn::LoadU(d16, b + 2 * kLanes));
      VIREO_UNROLL
      for (int i = 0; i < kRows; ++i) {
        uint32_t pair;
        memcpy(&pair, a + i * p.a_row, sizeof(pair));
        const auto ai = hn::BitCast(db, hn::Set(d32, pair));
        acc[i][0] = hn::ReorderWidenMulAccumulate(d, ai, b0, acc[i][0], unused);
        acc[i][1] = hn::ReorderWidenMulAccumulate(d, ai, b1, acc[i][1], unused);
      }
      a += 2;
      b += 2 * kBf16Columns;
    }
  }
#else
  static HWY_INLINE auto pairs_at(const uint16_t* b) {
    const hn::RebindToUnsigned<DF> du;
#if HWY_TARGET == HWY_SCALAR  // has no vectors of other lanes
    uint32_t pair;
    memcpy(&pair, b, sizeof(pair));
    return hn::Set(du, pair);
#else
    return hn::BitCast(du, hn::LoadU(hn::Repartition<uint16_t, DF>(), b));
#endif
  }
  // Even k lie in the low halves of a row's words, odd k in the high ones.
  template <int kRows>
  HWY_INLINE void sum(const PanelProduct<Left>& p, const Left* a, const uint16_t* b, VF (&acc)[kRows][2]) {
    const DF d;
    const auto high = hn::Set(hn::RebindToUnsigned<DF>(), 0xFFFF0000u);
    for (int64_t k = p.k / 2; k > 0; --k) {
      const auto w0 = pairs_at(b), w1 = pairs_at(b + 2 * kLanes);
      const VF even0 = hn::BitCast(d, hn::ShiftLeft<16>(w0)), even1 = hn::BitCast(d, hn::ShiftLeft<16>(w1));
      VIREO_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const VF ai = hn::Set(d, a[i * p.a_row]);
        acc[i][0] = hn::MulAdd(ai, even0, acc[i][0]);
        acc[i][1] = hn::MulAdd(ai, even1, acc[i][1]);
      }
      const VF odd0 = hn::BitCast(d, hn::And(w0, high)), odd1 = hn::BitCast(d, hn::And(w1, high));
      VIREO_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const VF ai = hn::Set(d, a[i * p.a_row + 1]);
        acc[i][0] = hn::MulAdd(ai, odd0, acc[i][0]);
        acc[i][1] = hn::MulAdd(ai, odd1, acc[i][1]);
      }
      a += 2;
      b += 2 * kBf16Columns;
    }
  }
#endif

  template <int kRows>
  HWY_NOINLINE void tile(const PanelProduct<Left>& p, int64_t row, int64_t n, const uint16_t* b) {
    const DF d;
    float* const c = p.c + row * p.c_row + n;
    VF acc[kRows][2];
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      acc[i][0] = p.add ? hn::LoadU(d, c + i * p.c_row) : hn::Zero(d);
      acc[i][1] = p.add ? hn::LoadU(d, c + i * p.c_row + kLanes) : hn::Zero(d);
    }
    sum<kRows>(p, p.a + row * p.a_row, b, acc);
    VIREO_UNROLL
    for (int i = 0; i < kRows; ++i) {
      hn::StoreU(acc[i][0], d, c + i * p.c_row);
      hn::StoreU(acc[i][1], d, c + i * p.c_row + kLanes);
    }
  }
};

// Sums in matrix tiles, 2 x 2 of c. Whole blocks of kBlockRows are read and written: rows that are too many have room.
template <class Tiles>
struct TileEngine {
  using Left = uint16_t;
  static constexpr int64_t kBlockRows = 2 * kTileRows;
  Tiles tiles;

  void begin() {
    TileConfig config;
    for (int i = 0; i < 8; ++i) config.set(i, kTileRows, kTileBytes);
    tiles.configure(config);
  }
  void end() { tiles.release(); }
  void run(const PanelProduct<Left>& p, int64_t rows) {
    for (int64_t j = 0; j < p.panels; ++j) {
      if (rows > kTileRows) {
        panel<true>(p, j);
      } else {
        panel<false>(p, j);
      }
    }
  }

 private:
  template <bool kTwo>
  void panel(const PanelProduct<Left>& p, int64_t j) {
    const int64_t a_bytes = p.a_row * 2, b_bytes = 4 * kBf16Columns, c_bytes = p.c_row * 4;
    float *const c = p.c + j * kBf16Columns, *const low = c + kTileRows * p.c_row;
    if (p.add) {
      tiles.template load<0>(c, c_bytes);
      tiles.template load<1>(c + kTileRows, c_bytes);
      if (kTwo) {
        tiles.template load<2>(low, c_bytes);
        tiles.template load<3>(low + kTileRows, c_bytes);
      }
    } else {
      tiles.template zero<0>();
      tiles.template zero<1>();
      if (kTwo) {
        tiles.template zero<2>();
        tiles.template zero<3>();
      }
    }
    const Left* a = p.a;
    const uint16_t* b = p.b + j * p.panel;
    for (int64_t k = 0; k < p.k; k += kBf16Depth, a += kBf16Depth, b += kBf16Depth * kBf16Columns) {
      tiles.template load<4>(a, a_bytes);
      tiles.template load<6>(b, b_bytes);
      tiles.template load<7>(b + kBf16Columns, b_bytes);
      tiles.template dot_bf16<0, 4, 6>();
      tiles.template dot_bf16<1, 4, 7>();
      if (kTwo) {
        tiles.template load<5>(a + kTileRows * p.a_row, a_bytes);
        tiles.template dot_bf16<2, 5, 6>();
        tiles.template dot_bf16<3, 5, 7>();
      }
    }
    tiles.template store<0>(c, c_bytes);
    tiles.template store<1>(c + kTileRows, c_bytes);
    if (kTwo) {
      tiles.template store<2>(low, c_bytes);
      tiles.template store<3>(low + kTileRows, c_bytes);
    }
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
