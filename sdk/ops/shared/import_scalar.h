// Constants that importers put beside a node: one number in the type of the operand that it meets. Host only.
#ifndef VIREO_SDK_OPS_SHARED_IMPORT_SCALAR_H_
#define VIREO_SDK_OPS_SHARED_IMPORT_SCALAR_H_

#include "sdk/ops/view.h"

namespace vireo {

// A rank-0 constant of `type` (float16, bfloat16, float32, float64, bool or an integer of 8 to 64 bits), rounded or
// wrapped to it. Absent, with the diagnostic recorded, for any other type.
Value add_scalar(ImportContext& ctx, DType type, double value);
Value add_scalar_integer(ImportContext& ctx, DType type, int64_t value);

// Emits `op` and makes its first output the ONNX node's output 0.
Status import_as(ImportContext& ctx, Op op, std::vector<uint8_t> attrs, std::vector<Value> inputs);
// The value itself is the ONNX node's output 0.
Status import_value(ImportContext& ctx, Value v);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_IMPORT_SCALAR_H_
