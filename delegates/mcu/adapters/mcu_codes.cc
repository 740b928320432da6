// IntAdd, IntMul, IntTable and IntSoftmax of 8-bit codes.
#include "delegates/cpu/cpu_op.h"
#include "delegates/mcu/adapters/codes_of.h"
#include "delegates/mcu/nodes/read_codes.h"
#include "sdk/ops/shared/broadcast.h"

namespace vireo {
namespace {

// ---- Two operands

// Rows that broadcasting makes, one by one: their places have no pattern in general.
using Run = void (*)(const vireo_mcu_binary*, const uint8_t*, const uint8_t*, uint8_t*);
Status run_rows(const KernelContext& ctx, vireo_mcu_binary* f, Run run) {
  const Shape* shapes[] = {&ctx.in(0)->shape, &ctx.in(1)->shape};
  const Broadcast walk(ctx.out(0)->shape, shapes, 2);
  f->rows = 1;
  f->columns = static_cast<int32_t>(walk.row());
  f->a_row = f->b_row = 0;
  f->a_step = static_cast<int32_t>(walk.step(0));
  f->b_step = static_cast<int32_t>(walk.step(1));
  for (int64_t r = 0; r < walk.rows(); ++r) {
    run(f, mcu::codes_in(ctx, 0) + walk.offset(0, r), mcu::codes_in(ctx, 1) + walk.offset(1, r),
        mcu::codes_out(ctx) + r * walk.row());
  }
  return Status::kOk;
}

Status run_add(const KernelContext& ctx, const void*) {
  vireo_mcu_binary f = mcu::read_add(ctx.attrs<attrs::IntAdd>(), ctx.in(0)->dtype, ctx.in(1)->dtype);
  return run_rows(ctx, &f, vireo_mcu_add);
}

Status run_mul(const KernelContext& ctx, const void*) {
  vireo_mcu_binary f = mcu::read_mul(ctx.attrs<attrs::IntMul>(), ctx.in(0)->dtype, ctx.in(1)->dtype);
  return run_rows(ctx, &f, vireo_mcu_mul);
}

// ---- One operand

Status run_table(const KernelContext& ctx, const void*) {
  vireo_mcu_table(mcu::codes_in(ctx, 1), mcu::codes_in(ctx, 0), static_cast<int32_t>(ctx.in(0)->count()),
                  mcu::codes_out(ctx));
  return Status::kOk;
}

Status run_softmax(const KernelContext& ctx, const void*) {
  const vireo_mcu_softmax s = mcu::read_softmax(ctx.attrs<attrs::IntSoftmax>(), *ctx.in(0));
  vireo_mcu_softmax_run(&s, mcu::codes_in(ctx, 0), ctx.in(1)->as<const int32_t>(), mcu::codes_out(ctx));
  return Status::kOk;
}

constexpr CpuKernel kAdd = {"mcu_add", 0, nullptr, nullptr, run_add};
constexpr CpuKernel kMul = {"mcu_mul", 0, nullptr, nullptr, run_mul};
constexpr CpuKernel kTable = {"mcu_table", 0, nullptr, nullptr, run_table};
constexpr CpuKernel kSoftmax = {"mcu_softmax", 0, nullptr, nullptr, run_softmax};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = mcu::why_not_codes(q);
  if (**reason != 0) return nullptr;
  return q.op == Op::kIntSoftmax ? &kSoftmax : q.op == Op::kIntAdd ? &kAdd : q.op == Op::kIntMul ? &kMul : &kTable;
}

}  // namespace

extern const CpuOp kCpuOp_mcu_codes;
const CpuOp kCpuOp_mcu_codes = {"mcu_codes", choose};

}  // namespace vireo
