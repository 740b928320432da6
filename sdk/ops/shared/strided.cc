#include "sdk/ops/shared/strided.h"

#include <string.h>

#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

// The box with neighbouring dimensions merged wherever both views step through them as one, and extents of 1 dropped.
struct Box {
  Shape extents;
  StridedView from, to;
};

bool merge(const Shape& extents, const StridedView& from, const StridedView& to, Box* out) {
  out->extents.rank = 0;
  out->from.offset = from.offset;
  out->to.offset = to.offset;
  for (int k = 0; k < extents.rank; ++k) {
    const int64_t n = extents[k];
    if (n <= 0) return false;
    if (n == 1) continue;
    int32_t& last = out->extents.rank;
    const int p = last - 1;
    if (p >= 0 && out->from.strides[p] == n * from.strides[k] && out->to.strides[p] == n * to.strides[k]) {
      out->extents[p] *= n;
      out->from.strides[p] = from.strides[k];
      out->to.strides[p] = to.strides[k];
    } else {
      out->extents[last] = n;
      out->from.strides[last] = from.strides[k];
      out->to.strides[last] = to.strides[k];
      ++last;
    }
  }
  if (out->extents.rank == 0) {
    out->extents.rank = 1;
    out->extents[0] = 1;
    out->from.strides[0] = out->to.strides[0] = 1;
  }
  return true;
}

template <class T>
void copy_row(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t n) {
  if (src_stride == 1 && dst_stride == 1) {
    memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
}

void copy_packed(int bits, const uint8_t* src, int64_t from, uint8_t* dst, int64_t to) {
  const int per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  const unsigned v = (static_cast<unsigned>(src[from / per_byte]) >> (from % per_byte * bits)) & mask;
  const int shift = static_cast<int>(to % per_byte) * bits;
  uint8_t& byte = dst[to / per_byte];
  byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (v << shift));
}

template <class Row>
void for_rows(const Box& box, const Row& row) {
  const int inner = box.extents.rank - 1;
  Shape outer = box.extents;
  outer.rank = inner;
  int64_t index[kMaxRank] = {};
  int64_t from = box.from.offset, to = box.to.offset;
  while (true) {
    row(from, to);
    int k = inner - 1;
    for (; k >= 0; --k) {
      from += box.from.strides[k];
      to += box.to.strides[k];
      if (++index[k] < outer[k]) break;
      from -= box.from.strides[k] * outer[k];
      to -= box.to.strides[k] * outer[k];
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

}  // namespace

StridedView dense_view(const Shape& shape) {
  StridedView v;
  int64_t stride = 1;
  for (int k = shape.rank - 1; k >= 0; --k) {
    v.strides[k] = stride;
    stride *= shape[k];
  }
  return v;
}

void copy_strided(DType dtype, const Shape& extents, const void* src, const StridedView& from, void* dst,
                  const StridedView& to, const Parallel& parallel) {
  Box box;
  if (!merge(extents, from, to, &box)) return;
  const int inner = box.extents.rank - 1;
  const int64_t n = box.extents[inner], src_stride = box.from.strides[inner], dst_stride = box.to.strides[inner];
  const int bits = dtype_bits(dtype);
  if (bits < 8) {
    for_rows(box, [&](int64_t f, int64_t t) {
      for (int64_t i = 0; i < n; ++i) {
        copy_packed(bits, static_cast<const uint8_t*>(src), f + i * src_stride, static_cast<uint8_t*>(dst),
                    t + i * dst_stride);
      }
    });
    return;
  }
  (void)dispatch_size(dtype, [&](auto tag) {
    using T = decltype(tag);
    if (inner == 0 && src_stride == 1 && dst_stride == 1 &&
        static_cast<const T*>(src) + box.from.offset == static_cast<const T*>(dst) + box.to.offset) {
      return Status::kOk;  // a part that lies at its place in the whole (parts.h)
    }
    // What one core copies in about the time that it takes to wake another.
    constexpr int64_t kGrainBytes = 64 * 1024;
    const int64_t each = product(box.extents, 1, box.extents.rank) * int64_t{sizeof(T)};
    parallel.for_range(box.extents[0], kGrainBytes / each + 1, [&](int64_t begin, int64_t end, int32_t) {
      Box part = box;
      part.extents[0] = end - begin;
      part.from.offset += begin * box.from.strides[0];
      part.to.offset += begin * box.to.strides[0];
      for_rows(part, [&](int64_t f, int64_t t) {
        copy_row(static_cast<const T*>(src) + f, src_stride, static_cast<T*>(dst) + t, dst_stride, part.extents[inner]);
      });
    });
    return Status::kOk;
  });
}

void fill_strided(DType dtype, const Shape& extents, const void* value, void* dst, const StridedView& to) {
  copy_strided(dtype, extents, value, StridedView{}, dst, to);
}

}  // namespace vireo
