// The rules by family; find_rule in rules.cc lists which operator has which.
#ifndef VIREO_DELEGATES_XNNPACK_RULES_H_
#define VIREO_DELEGATES_XNNPACK_RULES_H_

#include "delegates/xnnpack/probe.h"
#include "delegates/xnnpack/writer.h"

namespace vireo::xnnpack {

// Vireo sums products and means of float16 in float32 on every device. `kept`: XNNPACK's kernels do so here.
inline const char* half_sums(const Value& x, bool kept) {
  return x.type.dtype != DType::kF16 || kept ? nullptr : "XNNPACK sums in float16 on this CPU";
}

// rules_window.cc
const char* define_conv(Writer& w, const Step& s);
const char* define_int_conv(Writer& w, const Step& s);
const char* define_conv_transpose(Writer& w, const Step& s);
const char* define_max_pool(Writer& w, const Step& s);
const char* define_average_pool(Writer& w, const Step& s);
const char* define_global_average_pool(Writer& w, const Step& s);
const char* define_resize(Writer& w, const Step& s);
// rules_product.cc
const char* define_gemm(Writer& w, const Step& s);
const char* define_matmul(Writer& w, const Step& s);
const char* define_int_gemm(Writer& w, const Step& s);
// rules_weights.cc: s.codes makes the weights, [n, k] when `transposed`
const char* define_coded_product(Writer& w, const Step& s, bool transposed, const Value* bias, int64_t rows);
// rules_codes.cc
const char* define_int_mul(Writer& w, const Step& s);
const char* define_int_average_pool(Writer& w, const Step& s);
const char* define_dequantize(Writer& w, const Step& s);
// rules_elementwise.cc
const char* define_unary(Writer& w, const Step& s);
const char* define_swish(Writer& w, const Step& s);
const char* define_binary(Writer& w, const Step& s);
const char* define_softmax(Writer& w, const Step& s);
// rules_movement.cc
const char* define_transpose(Writer& w, const Step& s);
const char* define_concat(Writer& w, const Step& s);
const char* define_reduce_mean(Writer& w, const Step& s);

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_RULES_H_
