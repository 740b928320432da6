#include "sdk/ops/shared/lanes.h"

#include "sdk/base/half.h"

namespace vireo {
namespace {

template <class T, class Lane>
void load(const void* data, int64_t first, int64_t step, int n, Lane* out) {
  const T* x = static_cast<const T*>(data) + first;
  for (int k = 0; k < n; ++k) out[k] = static_cast<Lane>(x[k * step]);
}
template <class T, class Lane>
void store(const Lane* lanes, void* data, int64_t first, int64_t step, int n) {
  T* y = static_cast<T*>(data) + first;
  for (int k = 0; k < n; ++k) y[k * step] = static_cast<T>(lanes[k]);
}

}  // namespace

void load_lanes(DType t, const void* data, int64_t first, int64_t step, int n, Lanes* out) {
  switch (t) {
    case DType::kF32:
      return load<float>(data, first, step, n, out->f);
    case DType::kF64:
      return load<double>(data, first, step, n, out->d);
    case DType::kF16:
      return load<F16>(data, first, step, n, out->f);
    case DType::kBF16:
      return load<BF16>(data, first, step, n, out->f);
    case DType::kI8:
      return load<int8_t>(data, first, step, n, out->i);
    case DType::kI16:
      return load<int16_t>(data, first, step, n, out->i);
    case DType::kI32:
      return load<int32_t>(data, first, step, n, out->i);
    case DType::kI64:
      return load<int64_t>(data, first, step, n, out->i);
    case DType::kBool:
    case DType::kU8:
      return load<uint8_t>(data, first, step, n, out->u);
    case DType::kU16:
      return load<uint16_t>(data, first, step, n, out->u);
    case DType::kU32:
      return load<uint32_t>(data, first, step, n, out->u);
    case DType::kU64:
      return load<uint64_t>(data, first, step, n, out->u);
    default:
      return;
  }
}

void store_lanes(DType t, const Lanes& lanes, void* data, int64_t first, int64_t step, int n) {
  switch (t) {
    case DType::kF32:
      return store<float>(lanes.f, data, first, step, n);
    case DType::kF64:
      return store<double>(lanes.d, data, first, step, n);
    case DType::kF16:
      return store<F16>(lanes.f, data, first, step, n);
    case DType::kBF16:
      return store<BF16>(lanes.f, data, first, step, n);
    default:
      break;
  }
  switch (dtype_bits(t)) {  // signed and unsigned agree in the low bits
    case 8:
      return store<uint8_t>(lanes.u, data, first, step, n);
    case 16:
      return store<uint16_t>(lanes.u, data, first, step, n);
    case 32:
      return store<uint32_t>(lanes.u, data, first, step, n);
    case 64:
      return store<uint64_t>(lanes.u, data, first, step, n);
    default:
      return;
  }
}

}  // namespace vireo
