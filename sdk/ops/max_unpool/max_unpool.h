// MaxUnpool: the elements of x put back where MaxPool found them, 0 elsewhere.
//   inputs   x [N, C, d_1, .., d_k]; indices i64, x's shape, into the flattened natural shape; output_shape i64 [k +
//   2], optional y        natural shape: (d - 1) stride - pads + kernel on each axis; or output_shape, of which the
//   natural shape fills the
//            corner at 0 and what does not fit is dropped
// Every whole-byte type; no aliasing; kInvalidArgument for an index outside. Source: ONNX opset 11 "MaxUnpool".
#ifndef VIREO_SDK_OPS_MAX_UNPOOL_MAX_UNPOOL_H_
#define VIREO_SDK_OPS_MAX_UNPOOL_MAX_UNPOOL_H_

#include "sdk/ops/max_unpool/max_unpool_generated.h"
#include "sdk/ops/op.h"

namespace vireo {

// What an axis grows by beside (d - 1) stride: kernel less pads.
inline int64_t unpool_stride(const attrs::MaxUnpool& a, int axis) {
  return a.strides() == nullptr ? 1 : a.strides()->Get(static_cast<unsigned>(axis));
}
inline int64_t unpool_rest(const attrs::MaxUnpool& a, int axis) {
  const unsigned i = static_cast<unsigned>(axis), k = a.kernel_shape()->size();
  const int64_t pads = a.pads() == nullptr ? 0 : a.pads()->Get(i) + a.pads()->Get(i + k);
  return a.kernel_shape()->Get(i) - pads;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_MAX_UNPOOL_MAX_UNPOOL_H_
