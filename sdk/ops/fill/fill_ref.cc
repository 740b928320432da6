#include <string.h>

#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

Status run_constant(const KernelContext& ctx) {
  Tensor& y = *ctx.out(0);
  const auto* value = ctx.attrs<attrs::ConstantOfShape>().value();
  alignas(16) uint8_t one[16] = {};
  if (value != nullptr) memcpy(one, value->data(), value->size());
  fill_strided(y.dtype, y.shape, one, y.data, dense_view(y.shape));
  return Status::kOk;
}

template <class T>
void count_up(const T* start, const T* delta, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = T(compute_t<T>(*start) + static_cast<compute_t<T>>(i) * compute_t<T>(*delta));
}

// Unsigned: a step past the limit that is never stored may wrap.
template <class T, class U>
void count_up_integer(const void* start, const void* delta, void* y, int64_t n) {
  U v = static_cast<U>(*static_cast<const T*>(start));
  const U d = static_cast<U>(*static_cast<const T*>(delta));
  for (int64_t i = 0; i < n; ++i, v = static_cast<U>(v + d)) static_cast<T*>(y)[i] = static_cast<T>(v);
}

Status run_range(const KernelContext& ctx) {
  const void* start = ctx.in(0)->data;
  const void* delta = ctx.in(2)->data;
  Tensor& y = *ctx.out(0);
  const int64_t n = y.shape[0];
  switch (y.dtype) {
    case DType::kI64:
      count_up_integer<int64_t, uint64_t>(start, delta, y.data, n);
      return Status::kOk;
    case DType::kI32:
      count_up_integer<int32_t, uint32_t>(start, delta, y.data, n);
      return Status::kOk;
    case DType::kI16:
      count_up_integer<int16_t, uint16_t>(start, delta, y.data, n);
      return Status::kOk;
    default:
      return dispatch_float(y.dtype, [&](auto tag) {
        using T = decltype(tag);
        count_up(static_cast<const T*>(start), static_cast<const T*>(delta), y.as<T>(), n);
        return Status::kOk;
      });
  }
}

// The bits of 1 in `t`.
uint64_t one_of(DType t) {
  switch (t) {
    case DType::kF32:
      return 0x3F800000u;
    case DType::kF64:
      return 0x3FF0000000000000u;
    case DType::kF16:
      return 0x3C00u;
    case DType::kBF16:
      return 0x3F80u;
    case DType::kF8E4M3FN:
      return 0x38u;
    case DType::kF8E4M3FNUZ:
      return 0x40u;
    case DType::kF8E5M2:
      return 0x3Cu;
    case DType::kF8E5M2FNUZ:
      return 0x40u;
    case DType::kF8E8M0:
      return 0x7Fu;
    case DType::kF6E2M3:
      return 0x08u;
    case DType::kF6E3M2:
      return 0x0Cu;
    default:
      return 1;
  }
}

Status run_eye(const KernelContext& ctx) {
  Tensor& y = *ctx.out(0);
  const int64_t rows = y.shape[0], columns = y.shape[1], k = ctx.attrs<attrs::EyeLike>().k();
  memset(y.data, 0, static_cast<size_t>(tensor_bytes({y.dtype, y.shape})));
  const uint64_t one = one_of(y.dtype);
  return dispatch_size(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) <= 8) {
      for (int64_t r = 0; r < rows; ++r) {
        if (k >= -r && k < columns - r) y.as<T>()[r * columns + r + k] = static_cast<T>(one);
      }
    }
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kConstantOfShapeRef;
extern const RefKernel kRangeRef;
extern const RefKernel kEyeLikeRef;
const RefKernel kConstantOfShapeRef = {run_constant, nullptr};
const RefKernel kRangeRef = {run_range, nullptr};
const RefKernel kEyeLikeRef = {run_eye, nullptr};

}  // namespace vireo
