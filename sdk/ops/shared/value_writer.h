// Writes reals to floating-point tensors of 16 to 64 bits; the counterpart of value_reader.h.
#ifndef VIREO_SDK_OPS_SHARED_VALUE_WRITER_H_
#define VIREO_SDK_OPS_SHARED_VALUE_WRITER_H_

#include <stdint.h>

#include "sdk/base/half.h"
#include "sdk/ops/kernel.h"

namespace vireo {

inline void write_real(const Tensor& t, int64_t i, double v) {
  switch (t.dtype) {
    case DType::kF64:
      t.as<double>()[i] = v;
      break;
    case DType::kF16:
      t.as<F16>()[i] = F16(static_cast<float>(v));
      break;
    case DType::kBF16:
      t.as<BF16>()[i] = BF16(static_cast<float>(v));
      break;
    default:
      t.as<float>()[i] = static_cast<float>(v);
  }
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_VALUE_WRITER_H_
