// IntConv and IntGemm of 8-bit codes: nodes to the kernels' structs.
#ifndef VIREO_DELEGATES_MCU_NODES_READ_PRODUCT_H_
#define VIREO_DELEGATES_MCU_NODES_READ_PRODUCT_H_

#include <string.h>

#include "delegates/mcu/kernels/depthwise.h"
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/matmul/matmul.h"

namespace vireo::mcu {

constexpr int64_t kMostProducts = 32768;  // of a sum, so that its scratch memory is counted in 32 bits

inline int64_t count_of(const GraphValue& v) {
  return v.type.dtype == DType::kNone ? 0 : product(v.type.shape, 0, v.type.shape.rank);
}

// ---- Convolution

inline bool read_conv(const NodeView& q, vireo_mcu_conv* c) {
  const auto& a = q.attrs<attrs::IntConv>();
  const TensorType &x = q.inputs[0].type, &w = q.inputs[1].type, &y = q.outputs[0].type;
  if (x.shape.rank > 4) return false;
  const Geometry g = conv_geometry(a, x.shape, w.shape, y.shape);
  memset(static_cast<void*>(c), 0, sizeof *c);
  if (!read_geometry(g, c)) return false;
  c->batch = static_cast<int32_t>(g.batch);
  c->groups = a.group();
  c->in_channels = static_cast<int32_t>(g.channels_in) / a.group();
  c->out_channels = static_cast<int32_t>(g.channels_out) / a.group();
  c->codes = codes_of(a);
  c->x_zero = static_cast<uint8_t>(a.x_zero());
  c->x_flip = flip_of(x.dtype);
  c->y_flip = flip_of(y.dtype);
  c->last = a.layout() != 0 ? 1 : 0;
  c->w_nibbles = w.dtype == DType::kI4 ? 1 : 0;
  c->one_multiplier = count_of(q.inputs[2]) == 1 ? 1 : 0;
  c->one_w_zero = q.input_count > 4 && count_of(q.inputs[4]) == 1 ? 1 : 0;
  return product(w.shape, 1, w.shape.rank) <= kMostProducts;
}

inline bool slides(const vireo_mcu_conv& c) { return vireo_mcu_is_depthwise(&c) && c.w_nibbles == 0; }

// ---- Matrix product

inline bool read_gemm(const NodeView& q, vireo_mcu_gemm* g) {
  const auto& t = q.attrs<attrs::IntGemm>();
  const TensorType &a = q.inputs[0].type, &b = q.inputs[1].type, &y = q.outputs[0].type;
  if (b.shape.rank > 2) return false;
  const MatmulShape s = matmul_shape(a.shape, b.shape, y.shape);
  if (s.k > kMostProducts) return false;
  memset(static_cast<void*>(g), 0, sizeof *g);
  g->m = static_cast<int32_t>(s.batch * s.m);
  g->n = static_cast<int32_t>(s.n);
  g->k = static_cast<int32_t>(s.k);
  g->codes = codes_of(t);
  g->a_zero = static_cast<uint8_t>(t.a_zero());
  g->a_flip = flip_of(a.dtype);
  g->b_flip = flip_of(b.dtype);
  g->y_flip = flip_of(y.dtype);
  g->b_nibbles = b.dtype == DType::kI4 ? 1 : 0;
  g->one_multiplier = count_of(q.inputs[2]) == 1 ? 1 : 0;
  g->one_b_zero = q.input_count > 4 && count_of(q.inputs[4]) == 1 ? 1 : 0;
  return true;
}

// "", or why no kernel takes it. `conv`, `gemm`: the operator's own is filled in.
inline const char* why_not_product(const NodeView& q, vireo_mcu_conv* conv, vireo_mcu_gemm* gemm) {
  if (!is_byte(q.inputs[0].type.dtype) || !is_byte(q.outputs[0].type.dtype)) return "tuned for codes of 8 bits";
  if (!serves_sizes(q)) return "tuned for sizes that are known and small";
  if (!serves_multipliers(q, 2)) return "tuned for multipliers that are known";
  if (!(q.op == Op::kIntConv ? read_conv(q, conv) : read_gemm(q, gemm)))
    return "tuned for one or two spatial axes, and one matrix on the right";
  return "";
}

}  // namespace vireo::mcu

#endif  // VIREO_DELEGATES_MCU_NODES_READ_PRODUCT_H_
