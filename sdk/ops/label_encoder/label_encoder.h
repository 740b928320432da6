// y[i] = values[k] where keys[k] == x[i], else the default.
//   x   any shape; string, i64, i32, i16, f32, f64
//   y   shape of x; string, i64, i32, i16, f32, f64. Strings point into the attribute table
//   A NaN is found by every NaN.
//   alias none;  scratch none
// Source: ONNX ai.onnx.ml opset 4 "LabelEncoder".
#ifndef VIREO_SDK_OPS_LABEL_ENCODER_LABEL_ENCODER_H_
#define VIREO_SDK_OPS_LABEL_ENCODER_LABEL_ENCODER_H_

#include <stdint.h>

namespace vireo {

// The order of real keys: ascending, NaN after everything, all NaN equal.
inline bool real_key_before(double a, double b) { return a < b || (a == a && b != b); }

}  // namespace vireo

#endif  // VIREO_SDK_OPS_LABEL_ENCODER_LABEL_ENCODER_H_
