// Rows of B, one after another along k, out of a matrix or the patches of a convolution; compiled once per instruction
// set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_INTGEMM_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_ROWS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_ROWS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_ROWS_INL_H_
#endif

#include <hwy/highway.h>
#include <string.h>

#include "delegates/cpu/kernels/intgemm/product.h"
#include "delegates/cpu/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bytes to[i] = from[i * step] ^ flip, `count` <= kIntPanel. Masked ends: only the engine of AVX-512 copies bytes.
HWY_INLINE void copy_bytes(const uint8_t* from, int64_t step, int64_t count, uint8_t flip, uint8_t* to) {
#if HWY_TARGET == HWY_AVX3_DL
  const hn::ScalableTag<uint8_t> d;
  const size_t n = static_cast<size_t>(count);
  if (step == 1) return hn::StoreN(hn::Xor(hn::LoadN(d, from, n), hn::Set(d, flip)), d, to, n);
  if (step == 2) {
    const auto low = hn::LoadN(d, from, 2 * n - 1), high = hn::LoadN(d, from + 64, n > 32 ? 2 * n - 65 : 0);
    return hn::StoreN(hn::Xor(hn::ConcatEven(d, high, low), hn::Set(d, flip)), d, to, n);
  }
#endif
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step] ^ flip;
}

// Columns of a panel that lie in one row of a convolution's output.
struct Run {
  int64_t column, count;
  int64_t z, y, x;  // input position of the first column's tap (0, 0, 0)
};

// Up to kIntPanel columns from n on. T int16_t: differences to the zero point. T uint8_t: bytes with `flip` applied;
// padding holds the zero point, so flipped.
template <class T>
class PanelRows {
 public:
  PanelRows(const IntProduct& p, int64_t k0, int64_t n, int64_t count, uint8_t flip = 0)
      : p_(p),
        n_(n),
        count_(count),
        k_(k0),
        zero_(p.b_zero_per_column ? 0 : zero_at(p.b_zero, p.b_signed, 0)),
        flip_(flip),
        padding_(sizeof(T) == 2 ? T{0} : static_cast<T>(static_cast<uint8_t>(zero_) ^ flip)) {
    if (p.patches == nullptr) return;
    const ConvF32& s = *p.patches;
    for (int64_t c = 0; c < count;) {
      const int64_t ox = (n + c) % s.out[2], row = (n + c) / s.out[2];
      Run& run = runs_[run_count_++];
      run.column = c;
      run.count = s.out[2] - ox < count - c ? s.out[2] - ox : count - c;
      run.z = row / s.out[1] * s.stride[0] - s.pad[0];
      run.y = row % s.out[1] * s.stride[1] - s.pad[1];
      run.x = ox * s.stride[2] - s.pad[2];
      c += run.count;
    }
    kx_ = k0 % s.kernel[2];
    ky_ = k0 / s.kernel[2] % s.kernel[1];
    kz_ = k0 / (s.kernel[2] * s.kernel[1]) % s.kernel[0];
    channel_ = k0 / (s.kernel[0] * s.kernel[1] * s.kernel[2]);
  }

  // Row k0, then k0 + 1, ...
  HWY_INLINE void next(T* to) {
    if (p_.patches == nullptr) {
      put(k_ * p_.b_k + n_ * p_.b_n, p_.b_n, count_, to);
      if (sizeof(T) == 2 && p_.b_zero_per_column) {
        for (int64_t i = 0; i < count_; ++i) to[i] = static_cast<T>(to[i] - zero_at(p_.b_zero, p_.b_signed, n_ + i));
      }
      ++k_;
      return;
    }
    const ConvF32& s = *p_.patches;
    const int64_t dz = kz_ * s.dilation[0], dy = ky_ * s.dilation[1], dx = kx_ * s.dilation[2], step = s.stride[2];
    for (int r = 0; r < run_count_; ++r) {
      const Run& run = runs_[r];
      const int64_t z = run.z + dz, y = run.y + dy, x = run.x + dx;
      int64_t first = x < 0 ? (step == 1 ? -x : (-x + step - 1) / step) : 0, last = run.count;
      if (static_cast<uint64_t>(z) >= static_cast<uint64_t>(s.in[0]) ||
          static_cast<uint64_t>(y) >= static_cast<uint64_t>(s.in[1])) {
        last = 0;
      } else if (x + (last - 1) * step >= s.in[2]) {
        last = s.in[2] > x ? (s.in[2] - x + step - 1) / step : 0;
      }
      if (first > last) first = last;
      T* const out = to + run.column;
      for (int64_t i = 0; i < first; ++i) out[i] = padding_;
      const int64_t offset = ((channel_ * s.in[0] + z) * s.in[1] + y) * s.in[2] + x + first * step;
      if (last > first) put(offset, step, last - first, out + first);
      for (int64_t i = last; i < run.count; ++i) out[i] = padding_;
    }
    if (++kx_ < s.kernel[2]) return;
    kx_ = 0;
    if (++ky_ < s.kernel[1]) return;
    ky_ = 0;
    if (++kz_ < s.kernel[0]) return;
    kz_ = 0;
    ++channel_;
  }

 private:
  HWY_INLINE void put(int64_t offset, int64_t step, int64_t count, int16_t* to) const {
    widen_any(p_.b, p_.b_signed, offset, step, count, zero_, to);
  }
  HWY_INLINE void put(int64_t offset, int64_t step, int64_t count, uint8_t* to) const {
    copy_bytes(static_cast<const uint8_t*>(p_.b) + offset, step, count, flip_, to);
  }

  const IntProduct& p_;
  int64_t n_, count_, k_;
  int32_t zero_;
  uint8_t flip_;
  T padding_;
  int run_count_ = 0;
  int64_t kx_ = 0, ky_ = 0, kz_ = 0, channel_ = 0;
  Run runs_[kIntPanel];
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
