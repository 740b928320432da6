// IntAdd, IntMul, IntTable and IntSoftmax of 8-bit codes.
#include "delegates/mcu/adapters/serve.h"
#include "delegates/mcu/kernels/codes.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/shared/broadcast.h"

namespace vireo {
namespace {

// ---- Two operands

template <class Attrs>
void read_binary(const Attrs& a, const KernelContext& ctx, vireo_mcu_binary* f) {
  f->a_zero = static_cast<uint8_t>(a.a_zero());
  f->b_zero = static_cast<uint8_t>(a.b_zero());
  f->a_flip = mcu::flip_of(ctx.in(0)->dtype);
  f->b_flip = mcu::flip_of(ctx.in(1)->dtype);
  f->codes = mcu::codes_of(a);
}

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
  const auto& a = ctx.attrs<attrs::IntAdd>();
  vireo_mcu_binary f = {};
  read_binary(a, ctx, &f);
  f.a_multiplier = a.a_multiplier();
  f.b_multiplier = a.b_multiplier();
  return run_rows(ctx, &f, vireo_mcu_add);
}

Status run_mul(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::IntMul>();
  vireo_mcu_binary f = {};
  read_binary(a, ctx, &f);
  f.a_multiplier = a.multiplier();
  return run_rows(ctx, &f, vireo_mcu_mul);
}

// ---- One operand

Status run_table(const KernelContext& ctx, const void*) {
  vireo_mcu_table(mcu::codes_in(ctx, 1), mcu::codes_in(ctx, 0), static_cast<int32_t>(ctx.in(0)->count()),
                  mcu::codes_out(ctx));
  return Status::kOk;
}

void read_softmax(const attrs::IntSoftmax& a, const TensorType& x, vireo_mcu_softmax* s) {
  const int axis = a.axis() < 0 ? a.axis() + x.shape.rank : a.axis();
  s->outer = static_cast<int32_t>(product(x.shape, 0, axis));
  s->axis = static_cast<int32_t>(x.shape[axis]);
  s->inner = static_cast<int32_t>(product(x.shape, axis + 1, x.shape.rank));
  s->x_flip = mcu::flip_of(x.dtype);
  s->multiplier = a.multiplier();
  s->codes = mcu::codes_of(a);
}

Status run_softmax(const KernelContext& ctx, const void*) {
  vireo_mcu_softmax s;
  read_softmax(ctx.attrs<attrs::IntSoftmax>(), *ctx.in(0), &s);
  vireo_mcu_softmax_run(&s, mcu::codes_in(ctx, 0), ctx.in(1)->as<const int32_t>(), mcu::codes_out(ctx));
  return Status::kOk;
}

constexpr CpuKernel kAdd = {"mcu_add", 0, nullptr, nullptr, run_add};
constexpr CpuKernel kMul = {"mcu_mul", 0, nullptr, nullptr, run_mul};
constexpr CpuKernel kTable = {"mcu_table", 0, nullptr, nullptr, run_table};
constexpr CpuKernel kSoftmax = {"mcu_softmax", 0, nullptr, nullptr, run_softmax};

// No sum of two products is past a float32's range.
bool is_moderate(float m) { return m > -1e30f && m < 1e30f; }

const CpuKernel* choose_softmax(const CpuQuery& q, const char** reason) {
  vireo_mcu_softmax s;
  const auto& a = q.attrs<attrs::IntSoftmax>();
  read_softmax(a, q.inputs[0].type, &s);
  *reason = "tuned for at most 255 elements along the axis";
  if (s.axis > 255) return nullptr;
  *reason = "tuned for a table that is known, of numbers from 0 to 2^23";
  const auto* const table = q.inputs[1].as<int32_t>();
  if (table == nullptr || table[0] <= 0 || !is_moderate(a.multiplier())) return nullptr;
  for (int i = 0; i < 256; ++i) {
    if (table[i] < 0 || table[i] > 1 << 23) return nullptr;
  }
  *reason = "";
  return &kSoftmax;
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const bool two = q.op == Op::kIntAdd || q.op == Op::kIntMul;
  *reason = "tuned for codes of 8 bits";
  if (!is_byte(q.inputs[0].type.dtype) || (two && !is_byte(q.inputs[1].type.dtype)) ||
      !is_byte(q.outputs[0].type.dtype)) {
    return nullptr;
  }
  *reason = "tuned for sizes that are known and small";
  if (!mcu::serves_sizes(q)) return nullptr;
  if (q.op == Op::kIntSoftmax) return choose_softmax(q, reason);
  *reason = "tuned for finite multipliers, of a product above 0";
  if (q.op == Op::kIntAdd) {
    const auto& a = q.attrs<attrs::IntAdd>();
    if (!is_moderate(a.a_multiplier()) || !is_moderate(a.b_multiplier())) return nullptr;
  }
  if (q.op == Op::kIntMul) {
    const float m = q.attrs<attrs::IntMul>().multiplier();
    if (vireo_mcu_multipliers_serve(&m, 1) == 0) return nullptr;
  }
  *reason = "";
  return q.op == Op::kIntAdd ? &kAdd : q.op == Op::kIntMul ? &kMul : &kTable;
}

}  // namespace

extern const CpuOp kCpuOp_mcu_codes;
const CpuOp kCpuOp_mcu_codes = {"mcu_codes", choose};

}  // namespace vireo
