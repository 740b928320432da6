// IntAveragePool, and MaxPool of 8-bit codes: nodes to the kernels' struct.
#ifndef VIREO_DELEGATES_MCU_NODES_READ_POOL_H_
#define VIREO_DELEGATES_MCU_NODES_READ_POOL_H_

#include <string.h>

#include "delegates/mcu/kernels/pool.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/pool/pool_generated.h"

namespace vireo::mcu {

template <class Attrs>
bool read_pool(const NodeView& q, const Attrs& a, vireo_mcu_pool* p) {
  const Shape &x = q.inputs[0].type.shape, &y = q.outputs[0].type.shape;
  if (x.rank > 4) return false;
  Window w = vireo::read_window(x.rank, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  for (int i = 0; i < w.spatial; ++i) w.kernel[i] = a.kernel_shape()->Get(static_cast<unsigned>(i));
  const Geometry g = make_geometry(w, x, y);
  memset(static_cast<void*>(p), 0, sizeof *p);
  if (!read_geometry(g, p)) return false;
  p->pad_end[0] = static_cast<int32_t>(g.pad_end[1]);
  p->pad_end[1] = static_cast<int32_t>(g.pad_end[2]);
  p->batch = static_cast<int32_t>(g.batch);
  p->channels = static_cast<int32_t>(g.channels_in);
  p->x_flip = flip_of(q.inputs[0].type.dtype);
  p->last = a.layout() != 0 ? 1 : 0;
  return true;
}

inline bool read_average(const NodeView& q, vireo_mcu_pool* p) {
  const auto& a = q.attrs<attrs::IntAveragePool>();
  if (!read_pool(q, a, p)) return false;
  const Shape& m = q.inputs[1].type.shape;
  p->codes = codes_of(a);
  p->x_zero = static_cast<uint8_t>(a.x_zero());
  p->count_padding = a.count_include_pad() ? 1 : 0;
  p->one_multiplier = product(m, 0, m.rank) == 1 ? 1 : 0;
  return true;
}

// "", or why no kernel takes it; *p is filled in.
inline const char* why_not_pool(const NodeView& q, vireo_mcu_pool* p) {
  const bool average = q.op == Op::kIntAveragePool;
  if (!is_byte(q.inputs[0].type.dtype) || !is_byte(q.outputs[0].type.dtype)) return "tuned for codes of 8 bits";
  if (q.output_count > 1 && q.outputs[1].type.dtype != DType::kNone) return "tuned for one output";
  if (!serves_sizes(q)) return "tuned for sizes that are known and small";
  if (average && !serves_multipliers(q, 1)) return "tuned for multipliers that are known";
  if (!(average ? read_average(q, p) : read_pool(q, q.attrs<attrs::Pool>(), p)))
    return "tuned for one or two spatial axes";
  return "";
}

}  // namespace vireo::mcu

#endif  // VIREO_DELEGATES_MCU_NODES_READ_POOL_H_
