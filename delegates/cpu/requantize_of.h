// The codes of an integer operator's output, as its attributes give them, in the form that the kernels take.
#ifndef VIREO_DELEGATES_CPU_REQUANTIZE_OF_H_
#define VIREO_DELEGATES_CPU_REQUANTIZE_OF_H_

#include "delegates/cpu/kernels/requantize/requantize.h"
#include "sdk/base/dtype.h"

namespace vireo::cpu {

template <class Attrs>
Requantize requantize_of(const Attrs& a) {
  Requantize r;
  r.zero_point = a.y_zero();
  r.is_signed = static_cast<DType>(a.output_dtype()) == DType::kI8;
  r.low = a.low();
  r.high = a.high();
  return r;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_REQUANTIZE_OF_H_
