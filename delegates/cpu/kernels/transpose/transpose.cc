#include "delegates/cpu/kernels/transpose/transpose.h"

#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/transpose/transpose.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// y[t * y_step + j] = x[t + j * x_step] for a block of 128 bits squared. Interleaving vector i with vector i + kSide /
// 2 takes the highest bit of a row's number to the lowest of the column's, so as often as a number has bits changes one
// for the other.
template <class T>
constexpr int kSide = 16 / static_cast<int>(sizeof(T));
template <class T>
HWY_INLINE void transpose_block(const T* x, int64_t x_step, T* y, int64_t y_step) {
  const hn::FixedTag<T, kSide<T>> d;
  hn::Vec<decltype(d)> v[kSide<T>], turned[kSide<T>];
  VIREO_UNROLL
  for (int i = 0; i < kSide<T>; ++i) v[i] = hn::LoadU(d, x + i * x_step);
  VIREO_UNROLL
  for (int bit = 1; bit < kSide<T>; bit *= 2) {
    VIREO_UNROLL
    for (int i = 0; i < kSide<T> / 2; ++i) {
      turned[2 * i] = hn::InterleaveLower(d, v[i], v[i + kSide<T> / 2]);
      turned[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + kSide<T> / 2]);
    }
    VIREO_UNROLL
    for (int i = 0; i < kSide<T>; ++i) v[i] = turned[i];
  }
  VIREO_UNROLL
  for (int i = 0; i < kSide<T>; ++i) hn::StoreU(v[i], d, y + i * y_step);
}
// The first `rows` and `columns` of one.
template <class T>
HWY_INLINE void transpose_part(const T* x, int64_t x_step, T* y, int64_t y_step, int64_t rows, int64_t columns) {
  const hn::FixedTag<T, kSide<T>> d;
  HWY_ALIGN T from[kSide<T> * kSide<T>] = {}, to[kSide<T> * kSide<T>];
  VIREO_ROLLED
  for (int64_t i = 0; i < columns; ++i)
    hn::Store(hn::LoadN(d, x + i * x_step, static_cast<size_t>(rows)), d, from + i * kSide<T>);
  transpose_block(from, kSide<T>, to, kSide<T>);
  VIREO_ROLLED
  for (int64_t i = 0; i < rows; ++i)
    hn::StoreN(hn::Load(d, to + i * kSide<T>), d, y + i * y_step, static_cast<size_t>(columns));
}

// An image's three planes to pixels, and back.
template <class T>
HWY_INLINE int64_t join_planes(const T* x, int64_t x_step, T* y, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t t = 0;
  for (; t + lanes <= count; t += lanes) {
    hn::StoreInterleaved3(hn::LoadU(d, x + t), hn::LoadU(d, x + x_step + t), hn::LoadU(d, x + 2 * x_step + t), d,
                          y + 3 * t);
  }
  return t;
}
template <class T>
HWY_INLINE int64_t part_pixels(const T* x, T* y, int64_t y_step, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    hn::Vec<decltype(d)> a, b, c;
    hn::LoadInterleaved3(d, x + 3 * j, a, b, c);
    hn::StoreU(a, d, y + j);
    hn::StoreU(b, d, y + y_step + j);
    hn::StoreU(c, d, y + 2 * y_step + j);
  }
  return j;
}
#endif

// y[t * y_step + j] = x[t + j * x_step] for t < rows, j < columns. The last blocks overlap those before them. Sixteen
// rows of t share the cache lines of x that one pass over j touches.
template <class T>
HWY_INLINE void transpose_plane(const T* x, int64_t x_step, T* y, int64_t y_step, int64_t rows, int64_t columns) {
  int64_t t0 = 0, j0 = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kBlock = kSide<T>, kStrip = 16;
  if (columns == 3 && y_step == 3) {
    t0 = join_planes(x, x_step, y, rows);
  } else if (rows == 3 && x_step == 3) {
    j0 = part_pixels(x, y, y_step, columns);
  } else if (rows >= kBlock && columns >= kBlock) {
    for (; t0 < rows; t0 += kStrip) {
      const int64_t t1 = t0 + kStrip < rows ? t0 + kStrip : rows;
      for (int64_t next = 0; next < columns; next += kBlock) {
        const int64_t j = next + kBlock <= columns ? next : columns - kBlock;
        const T* const from = x + j * x_step;
        T* const to = y + j;
        int64_t t = t0;
        for (; t + kBlock <= t1; t += kBlock) transpose_block(from + t, x_step, to + t * y_step, y_step);
        if (t < t1) transpose_block(from + rows - kBlock, x_step, to + (rows - kBlock) * y_step, y_step);
      }
    }
    return;
  } else if (sizeof(T) == 1 && (rows >= kBlock || columns >= kBlock)) {
    for (; t0 < rows; t0 += kBlock) {
      const int64_t t = rows < kBlock ? 0 : t0 + kBlock <= rows ? t0 : rows - kBlock;
      for (int64_t next = 0; next < columns; next += kBlock) {
        const int64_t j = columns < kBlock ? 0 : next + kBlock <= columns ? next : columns - kBlock;
        transpose_part(x + j * x_step + t, x_step, y + t * y_step + j, y_step, rows < kBlock ? rows : kBlock,
                       columns < kBlock ? columns : kBlock);
      }
    }
    return;
  }
#endif
  for (int64_t t = t0; t < rows; ++t) {
    for (int64_t j = j0; j < columns; ++j) y[t * y_step + j] = x[t + j * x_step];
  }
}
void transpose_plane_8(const uint8_t* x, int64_t x_step, uint8_t* y, int64_t y_step, int64_t rows, int64_t columns) {
  transpose_plane(x, x_step, y, y_step, rows, columns);
}
void transpose_plane_16(const uint16_t* x, int64_t x_step, uint16_t* y, int64_t y_step, int64_t rows, int64_t columns) {
  transpose_plane(x, x_step, y, y_step, rows, columns);
}
void transpose_plane_32(const uint32_t* x, int64_t x_step, uint32_t* y, int64_t y_step, int64_t rows, int64_t columns) {
  transpose_plane(x, x_step, y, y_step, rows, columns);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(transpose_plane_8);
HWY_EXPORT(transpose_plane_16);
HWY_EXPORT(transpose_plane_32);

namespace {

struct Bytes16 {
  uint64_t low, high;
};

// Drops axes of size 1 and joins axes that are walked as one.
StridedCopy collapsed(const StridedCopy& s) {
  StridedCopy out;
  for (int i = 0; i < s.rank; ++i) {
    if (s.dims[i] == 1) continue;
    const int top = out.rank - 1;
    if (top >= 0 && out.strides[top] == s.strides[i] * s.dims[i]) {
      out.dims[top] *= s.dims[i];
      out.strides[top] = s.strides[i];
      continue;
    }
    out.dims[out.rank] = s.dims[i];
    out.strides[out.rank++] = s.strides[i];
  }
  if (out.rank == 0) {
    out.rank = 1;
    out.dims[0] = 1;
    out.strides[0] = 1;
  }
  return out;
}

// What is left after one or two axes are handled inside: walks item numbers as offsets into x and y.
struct Outer {
  int rank = 0;
  int64_t count = 1;
  int64_t dims[StridedCopy::kMaxRank], x_step[StridedCopy::kMaxRank], y_step[StridedCopy::kMaxRank];

  Outer(const StridedCopy& s, int skip_a, int skip_b) {
    int64_t step = 1;
    int64_t steps[StridedCopy::kMaxRank];
    for (int i = s.rank - 1; i >= 0; --i) {
      steps[i] = step;
      step *= s.dims[i];
    }
    for (int i = 0; i < s.rank; ++i) {
      if (i == skip_a || i == skip_b) continue;
      dims[rank] = s.dims[i];
      x_step[rank] = s.strides[i];
      y_step[rank++] = steps[i];
      count *= s.dims[i];
    }
  }
  void offsets(int64_t item, int64_t* x, int64_t* y) const {
    *x = *y = 0;
    for (int i = rank - 1; i >= 0; --i) {
      const int64_t at = item % dims[i];
      item /= dims[i];
      *x += at * x_step[i];
      *y += at * y_step[i];
    }
  }
};

// Bytes that are worth a thread: 20 us of one core's memory bandwidth.
constexpr int64_t kGrainBytes = 256 * 1024;

template <class T>
void transpose_blocks(const T* x, int64_t x_step, T* y, int64_t y_step, int64_t rows, int64_t columns) {
  for (int64_t j0 = 0; j0 < columns; j0 += 64) {
    const int64_t j1 = j0 + 64 < columns ? j0 + 64 : columns;
    for (int64_t t = 0; t < rows; ++t) {
      for (int64_t j = j0; j < j1; ++j) y[t * y_step + j] = x[t + j * x_step];
    }
  }
}
auto plane_kernel(uint8_t /*of*/) { return HWY_DYNAMIC_POINTER(transpose_plane_8); }
auto plane_kernel(uint16_t /*of*/) { return HWY_DYNAMIC_POINTER(transpose_plane_16); }
auto plane_kernel(uint32_t /*of*/) { return HWY_DYNAMIC_POINTER(transpose_plane_32); }
auto plane_kernel(uint64_t /*of*/) { return transpose_blocks<uint64_t>; }
auto plane_kernel(Bytes16 /*of*/) { return transpose_blocks<Bytes16>; }

template <class T>
void copy_as(const StridedCopy& s, const T* x, T* y, const Parallel& parallel) {
  const int last = s.rank - 1;
  const int64_t inner = s.dims[last], stride = s.strides[last];
  constexpr int64_t kSize = static_cast<int64_t>(sizeof(T));
  if (stride == 1) {  // rows that lie together
    const Outer outer(s, last, -1);
    parallel.for_range(outer.count, kGrainBytes / (inner * kSize + 1) + 1, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t from, to;
        outer.offsets(i, &from, &to);
        memcpy(y + to, x + from, static_cast<size_t>(inner) * sizeof(T));
      }
    });
    return;
  }
  int unit = -1;
  for (int i = 0; i < last; ++i) unit = s.strides[i] == 1 ? i : unit;
  if (unit >= 0) {  // a transpose of two axes, over all others
    const Outer outer(s, last, unit);
    int64_t y_step = 1;
    for (int i = unit + 1; i < s.rank; ++i) y_step *= s.dims[i];
    const auto kernel = plane_kernel(T());
    const int64_t tall = inner <= 4 ? 1024 : 64, rows = s.dims[unit], strips = (rows + tall - 1) / tall;
    parallel.for_range(outer.count * strips, kGrainBytes / (tall * inner * kSize + 1) + 1,
                       [&](int64_t begin, int64_t end, int32_t) {
                         for (int64_t i = begin; i < end; ++i) {
                           int64_t from, to;
                           outer.offsets(i / strips, &from, &to);
                           const int64_t t0 = i % strips * tall, count = rows - t0 < tall ? rows - t0 : tall;
                           const T* source = x + from + t0;
                           T* target = y + to + t0 * y_step;
                           kernel(source, stride, target, y_step, count, inner);
                         }
                       });
    return;
  }
  const Outer outer(s, last, -1);
  parallel.for_range(outer.count, kGrainBytes / (4 * inner * kSize + 1) + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t from, to;
      outer.offsets(i, &from, &to);
      for (int64_t j = 0; j < inner; ++j) y[to + j] = x[from + j * stride];
    }
  });
}

}  // namespace

void strided_copy(const StridedCopy& shape, int64_t element_bytes, const void* x, void* y, const Parallel& parallel) {
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.dims[i] <= 0) return;
  }
  const StridedCopy s = collapsed(shape);
  switch (element_bytes) {
    case 1:
      return copy_as(s, static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), parallel);
    case 2:
      return copy_as(s, static_cast<const uint16_t*>(x), static_cast<uint16_t*>(y), parallel);
    case 4:
      return copy_as(s, static_cast<const uint32_t*>(x), static_cast<uint32_t*>(y), parallel);
    case 8:
      return copy_as(s, static_cast<const uint64_t*>(x), static_cast<uint64_t*>(y), parallel);
    case 16:
      return copy_as(s, static_cast<const Bytes16*>(x), static_cast<Bytes16*>(y), parallel);
    default:
      HWY_DASSERT(false);
  }
}
}  // namespace vireo::cpu
#endif
