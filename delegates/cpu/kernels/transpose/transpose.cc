#include "delegates/cpu/kernels/transpose/transpose.h"

#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/transpose/transpose.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// y[t * y_step + j] = x[t + j * x_step] for t < rows, j < columns: 4 x 4 blocks in 128-bit registers. Sixteen rows of
// t share the cache lines of x that one pass over j touches.
void transpose_plane_32(const uint32_t* x, int64_t x_step, uint32_t* y, int64_t y_step, int64_t rows, int64_t columns) {
#if HWY_TARGET != HWY_SCALAR
  if (columns == 3 && y_step == 3) {  // the planes of an image
    const hn::ScalableTag<uint32_t> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t t = 0;
    for (; t + lanes <= rows; t += lanes) {
      hn::StoreInterleaved3(hn::LoadU(d, x + t), hn::LoadU(d, x + x_step + t), hn::LoadU(d, x + 2 * x_step + t), d,
                            y + 3 * t);
    }
    for (; t < rows; ++t) {
      for (int64_t j = 0; j < 3; ++j) y[3 * t + j] = x[t + j * x_step];
    }
    return;
  }
#endif
  for (int64_t t0 = 0; t0 < rows; t0 += 16) {
    const int64_t t1 = t0 + 16 < rows ? t0 + 16 : rows;
    int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::FixedTag<uint32_t, 4> d;
    for (; j + 4 <= columns; j += 4) {
      const uint32_t* from = x + j * x_step;
      int64_t t = t0;
      for (; t + 4 <= t1; t += 4) {
        const auto v0 = hn::LoadU(d, from + t), v1 = hn::LoadU(d, from + x_step + t);
        const auto v2 = hn::LoadU(d, from + 2 * x_step + t), v3 = hn::LoadU(d, from + 3 * x_step + t);
        const auto low01 = hn::InterleaveLower(d, v0, v1), low23 = hn::InterleaveLower(d, v2, v3);
        const auto high01 = hn::InterleaveUpper(d, v0, v1), high23 = hn::InterleaveUpper(d, v2, v3);
        uint32_t* to = y + t * y_step + j;
        hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to);
        hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, to + y_step);
        hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * y_step);
        hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * y_step);
      }
      for (; t < t1; ++t) {
        for (int64_t i = 0; i < 4; ++i) y[t * y_step + j + i] = from[i * x_step + t];
      }
    }
#endif
    for (; j < columns; ++j) {
      for (int64_t t = t0; t < t1; ++t) y[t * y_step + j] = x[t + j * x_step];
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// The same of bytes, a block of up to 16 x 16: interleaving vector i with vector i + 8 takes the highest bit of a row's
// number to the lowest of the column's, so four times of it change one for the other.
template <bool kWhole>
HWY_INLINE void transpose_block_8(const uint8_t* x, int64_t x_step, uint8_t* y, int64_t y_step, int64_t rows,
                                  int64_t columns) {
  const hn::FixedTag<uint8_t, 16> d;
  hn::Vec<decltype(d)> a[16], b[16];
  VIREO_UNROLL
  for (int i = 0; i < 16; ++i) {
    a[i] = kWhole        ? hn::LoadU(d, x + i * x_step)
           : i < columns ? hn::LoadN(d, x + i * x_step, static_cast<size_t>(rows))
                         : hn::Zero(d);
  }
  VIREO_UNROLL
  for (int twice = 0; twice < 2; ++twice) {
    VIREO_UNROLL
    for (int i = 0; i < 8; ++i) {
      b[2 * i] = hn::InterleaveLower(d, a[i], a[i + 8]);
      b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + 8]);
    }
    VIREO_UNROLL
    for (int i = 0; i < 8; ++i) {
      a[2 * i] = hn::InterleaveLower(d, b[i], b[i + 8]);
      a[2 * i + 1] = hn::InterleaveUpper(d, b[i], b[i + 8]);
    }
  }
  VIREO_UNROLL
  for (int i = 0; i < 16; ++i) {
    if (kWhole) {
      hn::StoreU(a[i], d, y + i * y_step);
    } else if (i < rows) {
      hn::StoreN(a[i], d, y + i * y_step, static_cast<size_t>(columns));
    }
  }
}
#endif

// The last blocks overlap those before them.
void transpose_plane_8(const uint8_t* x, int64_t x_step, uint8_t* y, int64_t y_step, int64_t rows, int64_t columns) {
#if HWY_TARGET != HWY_SCALAR
  if (rows >= 16 || columns >= 16) {
    for (int64_t j0 = 0; j0 < columns; j0 += 16) {
      const int64_t j = columns < 16 ? 0 : j0 + 16 <= columns ? j0 : columns - 16;
      for (int64_t t0 = 0; t0 < rows; t0 += 16) {
        const int64_t t = rows < 16 ? 0 : t0 + 16 <= rows ? t0 : rows - 16;
        const uint8_t* const from = x + j * x_step + t;
        uint8_t* const to = y + t * y_step + j;
        if (rows >= 16 && columns >= 16) {
          transpose_block_8<true>(from, x_step, to, y_step, 16, 16);
        } else {
          transpose_block_8<false>(from, x_step, to, y_step, rows < 16 ? rows : 16, columns < 16 ? columns : 16);
        }
      }
    }
    return;
  }
#endif
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t j = 0; j < columns; ++j) y[t * y_step + j] = x[t + j * x_step];
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(transpose_plane_32);
HWY_EXPORT(transpose_plane_8);

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
    const auto kernel = HWY_DYNAMIC_POINTER(transpose_plane_32);
    const auto bytes_kernel = HWY_DYNAMIC_POINTER(transpose_plane_8);
    const int64_t tall = inner <= 4 ? 1024 : 64, rows = s.dims[unit], strips = (rows + tall - 1) / tall;
    parallel.for_range(outer.count * strips, kGrainBytes / (tall * inner * kSize + 1) + 1,
                       [&](int64_t begin, int64_t end, int32_t) {
                         for (int64_t i = begin; i < end; ++i) {
                           int64_t from, to;
                           outer.offsets(i / strips, &from, &to);
                           const int64_t t0 = i % strips * tall, count = rows - t0 < tall ? rows - t0 : tall;
                           const T* source = x + from + t0;
                           T* target = y + to + t0 * y_step;
                           if constexpr (sizeof(T) == 4) {
                             kernel(source, stride, target, y_step, count, inner);
                           } else if constexpr (sizeof(T) == 1) {
                             bytes_kernel(source, stride, target, y_step, count, inner);
                           } else {
                             for (int64_t j0 = 0; j0 < inner; j0 += 64) {
                               const int64_t j1 = j0 + 64 < inner ? j0 + 64 : inner;
                               for (int64_t t = 0; t < count; ++t) {
                                 for (int64_t j = j0; j < j1; ++j) target[t * y_step + j] = source[t + j * stride];
                               }
                             }
                           }
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
