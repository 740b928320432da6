// What the kernels of delegates/mcu/kernels ask of a node: shared by adapters.def's rows and by whoever makes flat
// plans.
#ifndef VIREO_DELEGATES_MCU_NODES_SERVE_H_
#define VIREO_DELEGATES_MCU_NODES_SERVE_H_

#include "delegates/mcu/kernels/requantize.h"
#include "sdk/graph/node_view.h"
#include "sdk/ops/shared/integer_product.h"
#include "sdk/ops/shared/window.h"

namespace vireo::mcu {

// Kernels count in 32 bits. Every tensor is below 2^30 bytes, and so is every offset.
constexpr int64_t kMostElements = int64_t{1} << 28;

inline bool is_small(const GraphValue& v) {
  int64_t count = 1;
  for (int i = 0; i < v.type.shape.rank; ++i) {
    const int64_t d = v.type.shape[i];
    if (d < 1 || d > kMostElements) return false;
    count *= d;
    if (count > kMostElements) return false;
  }
  return true;
}

// All sizes are known and fit.
inline bool serves_sizes(const NodeView& q) {
  if (!q.is_static()) return false;
  for (uint32_t i = 0; i < q.input_count; ++i) {
    if (q.inputs[i].type.dtype != DType::kNone && !is_small(q.inputs[i])) return false;
  }
  return is_small(q.outputs[0]);
}

// Constant input `i` is of multipliers that requantize.h takes.
inline bool serves_multipliers(const NodeView& q, int i) {
  const GraphValue& m = q.inputs[i];
  return m.constant != nullptr &&
         vireo_mcu_multipliers_serve(m.as<float>(),
                                     static_cast<int32_t>(product(m.type.shape, 0, m.type.shape.rank))) != 0;
}

inline uint8_t flip_of(DType t) { return t == DType::kU8 ? 0x80 : 0; }

template <class Attrs>
vireo_mcu_codes codes_of(const Attrs& a) {
  return {a.y_zero(), a.low(), a.high()};
}

// The window's numbers along its last two axes; false where there are three, or one of them is beyond what is computed
// in 32 bits. Kernel: vireo_mcu_conv or vireo_mcu_pool.
template <class Kernel>
bool read_geometry(const Geometry& g, Kernel* k) {
  constexpr int64_t kMost = int64_t{1} << 14;
  if (g.in[0] != 1 || g.out[0] != 1 || g.kernel[0] != 1 || g.pad[0] != 0 || g.pad_end[0] != 0) return false;
  for (int i = 0; i < 2; ++i) {
    for (const int64_t v : {g.in[i + 1], g.out[i + 1], g.kernel[i + 1], g.stride[i + 1], g.dilation[i + 1],
                            g.pad[i + 1] + 1, g.pad_end[i + 1] + 1}) {
      if (v < 1 || v > kMost) return false;
    }
    if (g.kernel[i + 1] * g.dilation[i + 1] > kMost || g.out[i + 1] * g.stride[i + 1] > kMost) return false;
    k->in[i] = static_cast<int32_t>(g.in[i + 1]);
    k->out[i] = static_cast<int32_t>(g.out[i + 1]);
    k->kernel[i] = static_cast<int32_t>(g.kernel[i + 1]);
    k->stride[i] = static_cast<int32_t>(g.stride[i + 1]);
    k->dilation[i] = static_cast<int32_t>(g.dilation[i + 1]);
    k->pad[i] = static_cast<int32_t>(g.pad[i + 1]);
  }
  return true;
}

}  // namespace vireo::mcu

#endif  // VIREO_DELEGATES_MCU_NODES_SERVE_H_
