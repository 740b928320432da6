#include "delegates/cpu/kernels/eltwise/compare.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/eltwise/compare.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct IsEqual {
  template <class V>
  HWY_INLINE auto operator()(V p, V q) const {
    return hn::Eq(p, q);
  }
};
struct IsLess {
  template <class V>
  HWY_INLINE auto operator()(V p, V q) const {
    return hn::Lt(p, q);
  }
};
struct IsLessOrEqual {
  template <class V>
  HWY_INLINE auto operator()(V p, V q) const {
    return hn::Le(p, q);
  }
};

// One row of the output. Steps of a and b are 0 or 1 for whole vectors; other strides go element by element.
template <class T, class Is>
HWY_INLINE void compare_row(Is is, const T* a, int64_t a_step, const T* b, int64_t b_step, uint8_t* y, int64_t count) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto ones = [&](V p, V q) HWY_ATTR {
    const auto bits = hn::BitCast(du, hn::VecFromMask(d, is(p, q)));
    return hn::TruncateTo(bytes, hn::ShiftRight<sizeof(T) * 8 - 1>(bits));
  };
  int64_t i = 0;
  if (a_step == 1 && b_step == 1) {
    for (; i + lanes <= count; i += lanes) hn::StoreU(ones(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), bytes, y + i);
  } else if (a_step == 1 && b_step == 0) {
    const V bv = hn::Set(d, *b);
    for (; i + lanes <= count; i += lanes) hn::StoreU(ones(hn::LoadU(d, a + i), bv), bytes, y + i);
  } else if (a_step == 0 && b_step == 1) {
    const V av = hn::Set(d, *a);
    for (; i + lanes <= count; i += lanes) hn::StoreU(ones(av, hn::LoadU(d, b + i)), bytes, y + i);
  }
  for (; i < count; ++i) {
    const auto one = ones(hn::Set(d, a[i * a_step]), hn::Set(d, b[i * b_step]));
    y[i] = hn::GetLane(one);
  }
}

template <class T, class Is>
void compare_rows(const Broadcast& s, Is is, const void* a, const void* b, uint8_t* y, int64_t begin, int64_t end) {
  const int64_t a_step = s.a_strides[s.rank - 1], b_step = s.b_strides[s.rank - 1];
  for_each_row(s, begin, end, [&](int64_t at_a, int64_t at_b, int64_t at_y, int64_t count) HWY_ATTR {
    compare_row<T>(is, static_cast<const T*>(a) + at_a, a_step, static_cast<const T*>(b) + at_b, b_step, y + at_y,
                   count);
  });
}

template <class T>
void compare_as(const Broadcast& s, Comparison op, const void* a, const void* b, uint8_t* y, int64_t begin,
                int64_t end) {
  switch (op) {
    case Comparison::kEqual:
      return compare_rows<T>(s, IsEqual(), a, b, y, begin, end);
    case Comparison::kLess:
      return compare_rows<T>(s, IsLess(), a, b, y, begin, end);
    case Comparison::kLessOrEqual:
      return compare_rows<T>(s, IsLessOrEqual(), a, b, y, begin, end);
  }
}

void compare_range(const Broadcast& s, Comparison op, Compared type, const void* a, const void* b, uint8_t* y,
                   int64_t begin, int64_t end) {
  switch (type) {
    case Compared::kF32:
      return compare_as<float>(s, op, a, b, y, begin, end);
    case Compared::kI32:
      return compare_as<int32_t>(s, op, a, b, y, begin, end);
    case Compared::kI64:
      return compare_as<int64_t>(s, op, a, b, y, begin, end);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(compare_range);

void compare(const Broadcast& shape, Comparison op, Compared type, const void* a, const void* b, uint8_t* y,
             const Parallel& parallel) {
  const Broadcast s = collapsed(shape);
  const auto kernel = HWY_DYNAMIC_POINTER(compare_range);
  parallel.for_range(s.count(), 65536,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, op, type, a, b, y, begin, end); });
}
}  // namespace vireo::cpu
#endif
