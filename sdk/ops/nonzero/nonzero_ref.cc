#include "sdk/base/string.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/nonzero/nonzero_generated.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

// Bits of one part of an element (a real number, or half of a complex one) that say whether it is 0: all but the sign
// of types that have -0.
uint64_t value_bits(DType t) {
  switch (t) {
    case DType::kF16:
    case DType::kBF16:
      return 0x7FFFu;
    case DType::kF32:
      return 0x7FFFFFFFu;
    case DType::kF64:
    case DType::kC128:
      return 0x7FFFFFFFFFFFFFFFu;
    case DType::kC64:
      return 0x7FFFFFFF7FFFFFFFu;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return 0x7Fu;
    case DType::kF6E2M3:
    case DType::kF6E3M2:
      return 0x1Fu;
    default:
      return ~uint64_t{0};
  }
}

// Calls f(k) for each element k that is not 0.
template <class F>
Status for_nonzero(const Tensor& x, const F& f) {
  const int64_t n = x.count();
  if (x.dtype == DType::kString) {
    for (int64_t k = 0; k < n; ++k) {
      if (x.as<const StringRef>()[k].size != 0) f(k);
    }
    return Status::kOk;
  }
  if (x.dtype == DType::kF8E8M0) {  // powers of two: it has no 0
    for (int64_t k = 0; k < n; ++k) f(k);
    return Status::kOk;
  }
  const uint64_t mask = value_bits(x.dtype);
  return dispatch_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t k = 0; k < n; ++k) {
      const T v = x.as<const T>()[k];
      if constexpr (sizeof(T) == 16) {
        if (((v.part[0] | v.part[1]) & mask) != 0) f(k);
      } else {
        if ((v & mask) != 0) f(k);
      }
    }
    return Status::kOk;
  });
}

Status run_nonzero(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  int64_t n = 0;
  VIREO_TRY(for_nonzero(x, [&](int64_t) { ++n; }));
  y.shape[1] = n;
  int64_t j = 0;
  return for_nonzero(x, [&](int64_t k) {
    for (int axis = x.shape.rank - 1; axis >= 0; --axis) {
      y.as<int64_t>()[axis * n + j] = k % x.shape[axis];
      k /= x.shape[axis];
    }
    ++j;
  });
}

Status run_compress(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& condition = *ctx.in(1);
  const uint8_t* keep = condition.as<const uint8_t>();
  Tensor& y = *ctx.out(0);
  const auto& a = ctx.attrs<attrs::Compress>();
  Shape s = x.shape;
  if (a.flat()) {
    s.rank = 1;
    s[0] = x.count();
  }
  const int axis = a.flat() ? 0 : normalize_axis(a.axis(), s.rank);
  int64_t n = 0;
  for (int64_t k = 0; k < condition.shape[0]; ++k) {
    if (keep[k] == 0) continue;
    if (k >= s[axis]) {
      return ctx.fail(Status::kInvalidArgument, "Compress: condition {} is true, axis {} has {} elements", k, axis,
                      s[axis]);
    }
    ++n;
  }
  y.shape = s;
  y.shape[axis] = n;
  StridedView from = dense_view(s), to = dense_view(y.shape);
  Shape slice = s;
  slice[axis] = 1;
  for (int64_t k = 0; k < condition.shape[0]; ++k) {
    if (keep[k] == 0) continue;
    from.offset = k * from.strides[axis];
    copy_strided(x.dtype, slice, x.data, from, y.data, to);
    to.offset += to.strides[axis];
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kNonZeroRef;
extern const RefKernel kCompressRef;
const RefKernel kNonZeroRef = {run_nonzero, nullptr};
const RefKernel kCompressRef = {run_compress, nullptr};

}  // namespace vireo
