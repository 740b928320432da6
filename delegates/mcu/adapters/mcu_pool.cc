// IntAveragePool, and MaxPool of 8-bit codes.
#include "delegates/cpu/cpu_op.h"
#include "delegates/mcu/adapters/codes_of.h"
#include "delegates/mcu/nodes/read_pool.h"

namespace vireo {
namespace {

void prepare_average(const CpuQuery& q, void* state) {
  (void)mcu::read_average(q, static_cast<vireo_mcu_pool*>(state));
}
void prepare_max(const CpuQuery& q, void* state) {
  (void)mcu::read_pool(q, q.attrs<attrs::Pool>(), static_cast<vireo_mcu_pool*>(state));
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
  vireo_mcu_pool p = {};
  *reason = mcu::why_not_pool(q, &p);
  if (**reason != 0) return nullptr;
  return q.op == Op::kIntAveragePool ? &kAverage : &kMax;
}

}  // namespace

extern const CpuOp kCpuOp_mcu_pool;
const CpuOp kCpuOp_mcu_pool = {"mcu_pool", choose};

}  // namespace vireo
