// IntAveragePool, and MaxPool of 8-bit codes.
#include <string.h>

#include "delegates/mcu/adapters/serve.h"
#include "delegates/mcu/kernels/pool.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/pool/pool_generated.h"

namespace vireo {
namespace {

template <class Attrs>
bool read_window(const CpuQuery& q, const Attrs& a, vireo_mcu_pool* p) {
  const Shape &x = q.inputs[0].type.shape, &y = q.outputs[0].type.shape;
  if (x.rank > 4) return false;
  Window w = vireo::read_window(x.rank, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  for (int i = 0; i < w.spatial; ++i) w.kernel[i] = a.kernel_shape()->Get(static_cast<unsigned>(i));
  const Geometry g = make_geometry(w, x, y);
  memset(static_cast<void*>(p), 0, sizeof *p);
  if (!mcu::read_geometry(g, p)) return false;
  p->pad_end[0] = static_cast<int32_t>(g.pad_end[1]);
  p->pad_end[1] = static_cast<int32_t>(g.pad_end[2]);
  p->batch = static_cast<int32_t>(g.batch);
  p->channels = static_cast<int32_t>(g.channels_in);
  p->x_flip = mcu::flip_of(q.inputs[0].type.dtype);
  p->last = a.layout() != 0 ? 1 : 0;
  return true;
}

bool read_average(const CpuQuery& q, vireo_mcu_pool* p) {
  const auto& a = q.attrs<attrs::IntAveragePool>();
  if (!read_window(q, a, p)) return false;
  const Shape& m = q.inputs[1].type.shape;
  p->codes = mcu::codes_of(a);
  p->x_zero = static_cast<uint8_t>(a.x_zero());
  p->count_padding = a.count_include_pad() ? 1 : 0;
  p->one_multiplier = product(m, 0, m.rank) == 1 ? 1 : 0;
  return true;
}

void prepare_average(const CpuQuery& q, void* state) { (void)read_average(q, static_cast<vireo_mcu_pool*>(state)); }
void prepare_max(const CpuQuery& q, void* state) {
  (void)read_window(q, q.attrs<attrs::Pool>(), static_cast<vireo_mcu_pool*>(state));
}

Status run_average(const KernelContext& ctx, const void* state) {
  vireo_mcu_average(static_cast<const vireo_mcu_pool*>(state), mcu::codes_in(ctx, 0), ctx.in(1)->as<const float>(),
                    mcu::codes_out(ctx));
  return Status::kOk;
}
Status run_max(const KernelContext& ctx, const void* state) {
  vireo_mcu_max(static_cast<const vireo_mcu_pool*>(state), mcu::codes_in(ctx, 0), mcu::codes_out(ctx));
  return Status::kOk;
}

constexpr CpuKernel kAverage = {"mcu_average_pool", sizeof(vireo_mcu_pool), nullptr, prepare_average, run_average};
constexpr CpuKernel kMax = {"mcu_max_pool", sizeof(vireo_mcu_pool), nullptr, prepare_max, run_max};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const bool average = q.op == Op::kIntAveragePool;
  *reason = "tuned for codes of 8 bits";
  if (!is_byte(q.inputs[0].type.dtype) || !is_byte(q.outputs[0].type.dtype)) return nullptr;
  *reason = "tuned for one output";
  if (q.output_count > 1 && q.outputs[1].type.dtype != DType::kNone) return nullptr;
  *reason = "tuned for sizes that are known and small";
  if (!mcu::serves_sizes(q)) return nullptr;
  *reason = "tuned for multipliers that are known";
  if (average && !mcu::serves_multipliers(q, 1)) return nullptr;
  *reason = "tuned for one or two spatial axes";
  vireo_mcu_pool p = {};
  if (!(average ? read_average(q, &p) : read_window(q, q.attrs<attrs::Pool>(), &p))) return nullptr;
  *reason = "";
  return average ? &kAverage : &kMax;
}

}  // namespace

extern const CpuOp kCpuOp_mcu_pool;
const CpuOp kCpuOp_mcu_pool = {"mcu_pool", choose};

}  // namespace vireo
