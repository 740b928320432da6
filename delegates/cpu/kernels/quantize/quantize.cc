#include "delegates/cpu/kernels/quantize/quantize.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/quantize/quantize.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DI = hn::RebindToSigned<DF>;
using VI = hn::Vec<DI>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

HWY_INLINE int32_t zero_at(const Codes& s, int64_t i) {
  if (s.zero_point == nullptr) return 0;
  switch (s.code) {
    case Code::kI8:
      return static_cast<const int8_t*>(s.zero_point)[i];
    case Code::kI16:
      return static_cast<const int16_t*>(s.zero_point)[i];
    case Code::kU16:
      return static_cast<const uint16_t*>(s.zero_point)[i];
    default:
      return static_cast<const uint8_t*>(s.zero_point)[i];
  }
}

// Parameters of one run: the same for all its elements, or one each.
struct Row {
  VF scale;
  VI zero;
};

HWY_INLINE VI codes_of(VF x, const Row& r, int32_t low, int32_t high) {
  const DF d;
  const DI di;
  // Bounds before rounding: they are integers, so the order does not matter, and the conversion stays in range.
  const VF least = hn::ConvertTo(d, hn::Sub(hn::Set(di, low), r.zero));
  const VF most = hn::ConvertTo(d, hn::Sub(hn::Set(di, high), r.zero));
  VF q = divide(DF(), x, r.scale);
  q = hn::IfThenElse(hn::Gt(q, least), q, least);  // a NaN is not above anything
  q = hn::IfThenElse(hn::Lt(q, most), q, most);
  return hn::Add(hn::NearestInt(q), r.zero);
}

template <class T>
HWY_INLINE void quantize_run(const Codes& s, const float* x, T* y, int64_t count, int64_t at, bool each) {
  const DF d;
  const DI di;
  const hn::Rebind<T, DI> d8;
  constexpr int32_t low = hwy::LimitsMin<T>(), high = hwy::LimitsMax<T>();
  Row r{hn::Set(d, s.scale[at]), hn::Set(di, zero_at(s, at))};
  const T* const zeros = static_cast<const T*>(s.zero_point);
  int64_t i = 0;
  // Whole vectors without masks, which cost more than the quotient.
  for (; !each && i + kLanes <= count; i += kLanes)
    hn::StoreU(hn::DemoteTo(d8, codes_of(hn::LoadU(d, x + i), r, low, high)), d8, y + i);
  for (; i < count; i += kLanes) {
    const size_t lanes = static_cast<size_t>(count - i < kLanes ? count - i : kLanes);
    if (each) {
      r.scale = hn::LoadN(d, s.scale + at + i, lanes);
      if (zeros != nullptr) r.zero = hn::PromoteTo(di, hn::LoadN(d8, zeros + at + i, lanes));
    }
    const auto codes = hn::DemoteTo(d8, codes_of(hn::LoadN(d, x + i, lanes), r, low, high));
    hn::StoreN(codes, d8, y + i, lanes);
  }
}

template <class T>
HWY_INLINE void dequantize_run(const Codes& s, const T* x, float* y, int64_t count, int64_t at, bool each) {
  const DF d;
  const DI di;
  const hn::Rebind<T, DI> dn;
  Row r{hn::Set(d, s.scale[at]), hn::Set(di, zero_at(s, at))};
  const T* const zeros = static_cast<const T*>(s.zero_point);
  for (int64_t i = 0; i < count; i += kLanes) {
    const size_t lanes = static_cast<size_t>(count - i < kLanes ? count - i : kLanes);
    VI v;
    if constexpr (sizeof(T) == sizeof(int32_t)) {
      v = hn::LoadN(di, x + i, lanes);
      if (each) r.scale = hn::LoadN(d, s.scale + at + i, lanes);
    } else {
      if (each) {
        r.scale = hn::LoadN(d, s.scale + at + i, lanes);
        if (zeros != nullptr) r.zero = hn::PromoteTo(di, hn::LoadN(dn, zeros + at + i, lanes));
      }
      v = hn::Sub(hn::PromoteTo(di, hn::LoadN(dn, x + i, lanes)), r.zero);
    }
    hn::StoreN(hn::Mul(hn::ConvertTo(d, v), r.scale), d, y + i, lanes);
  }
}

// Elements [begin, end) in runs that share their parameters, or along `extent` where neighbours differ.
template <class F>
HWY_INLINE void for_runs(const Codes& s, int64_t begin, int64_t end, const F& f) {
  for (int64_t i = begin; i < end;) {
    const bool each = s.inner == 1;
    const int64_t row = each ? i / s.extent : i / s.inner, length = each ? s.extent : s.inner;
    const int64_t stop = (row + 1) * length < end ? (row + 1) * length : end;
    f(i, stop - i, each ? i % s.extent : row % s.extent, each);
    i = stop;
  }
}

void quantize_range(const Codes& s, const float* x, void* y, int64_t begin, int64_t end) {
  for_runs(s, begin, end, [&](int64_t i, int64_t count, int64_t at, bool each) HWY_ATTR {
    if (s.code == Code::kI8) {
      quantize_run(s, x + i, static_cast<int8_t*>(y) + i, count, at, each);
    } else if (s.code == Code::kI16) {
      quantize_run(s, x + i, static_cast<int16_t*>(y) + i, count, at, each);
    } else if (s.code == Code::kU16) {
      quantize_run(s, x + i, static_cast<uint16_t*>(y) + i, count, at, each);
    } else {
      quantize_run(s, x + i, static_cast<uint8_t*>(y) + i, count, at, each);
    }
  });
}

void dequantize_range(const Codes& s, const void* x, float* y, int64_t begin, int64_t end) {
  for_runs(s, begin, end, [&](int64_t i, int64_t count, int64_t at, bool each) HWY_ATTR {
    if (s.code == Code::kI32) {
      dequantize_run(s, static_cast<const int32_t*>(x) + i, y + i, count, at, each);
    } else if (s.code == Code::kI8) {
      dequantize_run(s, static_cast<const int8_t*>(x) + i, y + i, count, at, each);
    } else if (s.code == Code::kI16) {
      dequantize_run(s, static_cast<const int16_t*>(x) + i, y + i, count, at, each);
    } else if (s.code == Code::kU16) {
      dequantize_run(s, static_cast<const uint16_t*>(x) + i, y + i, count, at, each);
    } else {
      dequantize_run(s, static_cast<const uint8_t*>(x) + i, y + i, count, at, each);
    }
  });
}

// Merges x[begin, end) into both[0] and both[1].
void range_of(const float* x, int64_t begin, int64_t end, float* both) {
  const DF d;
  VF low = hn::Set(d, both[0]), high = hn::Set(d, both[1]);
  for (int64_t i = begin; i < end; i += kLanes) {
    const int64_t rest = end - i;  // lanes beyond the end are 0, which is in the range anyway
    const VF v = rest >= kLanes ? hn::LoadU(d, x + i) : hn::LoadN(d, x + i, static_cast<size_t>(rest));
    low = hn::IfThenElse(hn::Lt(v, low), v, low);
    high = hn::IfThenElse(hn::Gt(v, high), v, high);
  }
  both[0] = hn::GetLane(hn::MinOfLanes(d, low));
  both[1] = hn::GetLane(hn::MaxOfLanes(d, high));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(quantize_range);
HWY_EXPORT(dequantize_range);
HWY_EXPORT(range_of);

namespace {
constexpr int64_t kBlock = 16384;   // elements: 3 to 10 us
constexpr size_t kSlotFloats = 16;  // a cache line each

int64_t count_of(const Codes& s) { return s.outer * s.extent * s.inner; }

// Codes of one block from element `at` on.
template <int kBits>
void dequantize_block(const uint8_t* x, int64_t at, int64_t count, int32_t flip, int32_t zero, float scale, float* y) {
  const auto value = [=](uint32_t code) {
    return static_cast<float>(static_cast<int32_t>(code ^ static_cast<uint32_t>(flip)) - zero) * scale;
  };
  if constexpr (kBits == 8) {
    for (int64_t i = 0; i < count; ++i) y[i] = value(x[at + i]);
  } else {
    int64_t i = 0;
    if (at % 2 != 0 && count > 0) y[i++] = value(x[at / 2] >> 4u);
    const uint8_t* pair = x + (at + i) / 2;
    for (; i + 1 < count; i += 2, ++pair) {
      y[i] = value(*pair & 15u);
      y[i + 1] = value(*pair >> 4u);
    }
    if (i < count) y[i] = value(*pair & 15u);
  }
}

template <int kBits>
void dequantize_rows(const BlockCodes& s, const uint8_t* x, float* y, int64_t begin, int64_t end) {
  const int64_t blocks = (s.columns + s.block - 1) / s.block;
  const int32_t flip = s.is_signed ? 1 << (kBits - 1) : 0;
  const auto* const zeros = static_cast<const uint8_t*>(s.zero_point);
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t p = row * blocks + b, at = row * s.columns + b * s.block;
      const int64_t left = s.columns - b * s.block;
      const uint32_t code = zeros == nullptr ? 0u : kBits == 8 ? zeros[p] : zeros[p / 2] >> (p % 2 * 4) & 15u;
      const int32_t zero = zeros == nullptr ? flip : static_cast<int32_t>(code ^ static_cast<uint32_t>(flip));
      dequantize_block<kBits>(x, at, left < s.block ? left : s.block, flip, zero, s.scale[p], y + at);
    }
  }
}
}  // namespace

void quantize_f32(const Codes& s, const float* x, void* y, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(quantize_range);
  parallel.for_range(count_of(s), kBlock, [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, y, begin, end); });
}

void dequantize_f32(const Codes& s, const void* x, float* y, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(dequantize_range);
  parallel.for_range(count_of(s), kBlock, [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, y, begin, end); });
}

void dequantize_blocks_f32(const BlockCodes& s, const void* x, float* y, const Parallel& parallel) {
  const auto* const codes = static_cast<const uint8_t*>(x);
  parallel.for_range(s.rows, 1 + kBlock / (s.columns + 1), [&](int64_t begin, int64_t end, int32_t) {
    if (s.bits == 4) {
      dequantize_rows<4>(s, codes, y, begin, end);
    } else {
      dequantize_rows<8>(s, codes, y, begin, end);
    }
  });
}

size_t range_f32_scratch_bytes(int32_t slots) {
  return kSlotFloats * sizeof(float) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void range_f32(const float* x, int64_t count, float* low, float* high, const Parallel& parallel, void* scratch) {
  const auto kernel = HWY_DYNAMIC_POINTER(range_of);
  float* const all = static_cast<float*>(scratch);
  const int32_t slots = parallel.slots < 1 ? 1 : parallel.slots;
  for (int32_t i = 0; i < slots; ++i)
    all[static_cast<size_t>(i) * kSlotFloats] = all[static_cast<size_t>(i) * kSlotFloats + 1] = 0;
  parallel.for_range(count, kBlock, [&](int64_t begin, int64_t end, int32_t slot) {
    kernel(x, begin, end, all + static_cast<size_t>(slot) * kSlotFloats);
  });
  *low = *high = 0;
  for (int32_t i = 0; i < slots; ++i) {
    const float* both = all + static_cast<size_t>(i) * kSlotFloats;
    if (both[0] < *low) *low = both[0];
    if (both[1] > *high) *high = both[1];
  }
}
}  // namespace vireo::cpu
#endif
