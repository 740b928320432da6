// Functions of float32 from sums, products and comparisons, which every device rounds as IEEE 754 does. A driver's own
// have bounds that are too wide (exp: 3 + 2|x| units in the last place; sin: 2^-11 absolute; tanh from both). Bounds
// here are in units in the last place against the exact value, where quotients and roots are rounded correctly; a
// device that has 2.5 for a quotient adds that. NaN in gives NaN out.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_MATH_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_MATH_H_

#include <initializer_list>

#include "delegates/gpu/ir/builder.h"

namespace vireo::gpu {

Value is_nan(Value x);
Value copy_sign(Value magnitude, Value sign);
// x held between lo and hi; NaN stays.
Value clamp(Value x, float lo, float hi);
// c0 + c1 x + c2 x^2...
Value horner(Value x, std::initializer_list<float> coefficients);

Value exp_of(Value x);       // 1.5
Value expm1_of(Value x);     // 3
Value log_of(Value x);       // 2
Value sigmoid_of(Value x);   // 3
Value tanh_of(Value x);      // 3
Value erf_of(Value x);       // 3
Value gelu_of(Value x);      // 2^-21 of the larger of |x| and 1, absolute
Value softplus_of(Value x);  // 4, below 2^-24 absolute
Value sin_of(Value x);       // 3, of any x: reduced with 96 bits of 2 / pi
Value cos_of(Value x);
Value tan_of(Value x);  // 5
Value asin_of(Value x);
Value acos_of(Value x);
Value atan_of(Value x);
Value sinh_of(Value x);
Value cosh_of(Value x);
Value asinh_of(Value x);
Value acosh_of(Value x);
Value atanh_of(Value x);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_MATH_H_
