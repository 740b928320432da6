// The operators on codes but for the products: IntAdd, IntMul, IntAffine, IntTable, IntSoftmax,
// IntAveragePool.
#include "delegates/cpu/broadcast_rows.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/pool_i8/pool_i8.h"
#include "delegates/cpu/kernels/pool_nhwc_i8/pool_nhwc_i8.h"
#include "delegates/cpu/pool_shape.h"
#include "delegates/cpu/requantize_of.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/shared/integer_product.h"

namespace vireo {
namespace {

bool is_signed(const Tensor& t) { return t.dtype == DType::kI8; }

// ---- Two operands

Status run_binary(const KernelContext& ctx, cpu::BinaryCodes f) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  const Shape* shapes[] = {&a.shape, &b.shape};
  const Broadcast walk(y.shape, shapes, 2);
  const cpu::BinaryRows rows = cpu::broadcast_rows(walk);
  f.a_signed = is_signed(a);
  f.b_signed = is_signed(b);
  cpu::binary_codes(f, rows, a.as<const uint8_t>(), b.as<const uint8_t>(), y.as<uint8_t>(), ctx.parallel);
  return Status::kOk;
}

Status run_add(const KernelContext& ctx, const void*) {
  const auto& t = ctx.attrs<attrs::IntAdd>();
  cpu::BinaryCodes f;
  f.a_zero = t.a_zero();
  f.b_zero = t.b_zero();
  f.a_multiplier = t.a_multiplier();
  f.b_multiplier = t.b_multiplier();
  f.finish = cpu::requantize_of(t);
  return run_binary(ctx, f);
}

Status run_mul(const KernelContext& ctx, const void*) {
  const auto& t = ctx.attrs<attrs::IntMul>();
  cpu::BinaryCodes f;
  f.is_product = true;
  f.a_zero = t.a_zero();
  f.b_zero = t.b_zero();
  f.a_multiplier = t.multiplier();
  f.finish = cpu::requantize_of(t);
  return run_binary(ctx, f);
}

// ---- One operand

Status run_affine(const KernelContext& ctx, const void*) {
  const auto& t = ctx.attrs<attrs::IntAffine>();
  const Tensor& x = *ctx.in(0);
  if (x.count() == 0) return Status::kOk;
  cpu::SecondStep step;
  step.zero = t.x_zero();
  step.factor = ctx.in(1)->as<const float>();
  if (ctx.in(2) != nullptr) step.below = ctx.in(2)->as<const float>();
  if (ctx.in(3) != nullptr) step.offset = ctx.in(3)->as<const float>();
  step.y = cpu::requantize_of(t);
  const Shape* shapes[] = {&x.shape, &ctx.in(1)->shape};
  const Broadcast walk(x.shape, shapes, 2);
  const cpu::BinaryRows rows = cpu::broadcast_rows(walk);
  cpu::affine_codes(step, is_signed(x), rows, x.as<const uint8_t>(), ctx.out(0)->as<uint8_t>(), ctx.parallel);
  return Status::kOk;
}

Status run_table(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  cpu::table_codes(ctx.in(1)->as<const uint8_t>(), x.as<const uint8_t>(), ctx.out(0)->as<uint8_t>(), x.count(),
                   ctx.parallel);
  return Status::kOk;
}

// Where the lines of a softmax begin in what is kept of them.
struct KeptLines {
  int rank = 0, along = 0;
  int64_t extents[kMaxRank] = {}, steps[kMaxRank] = {};
};
int64_t kept_of_line(const void* context, int64_t line) {
  const auto& l = *static_cast<const KeptLines*>(context);
  int64_t at = 0;
  for (int i = l.rank; i-- > 0;) {
    if (i == l.along) continue;
    at += line % l.extents[i] * l.steps[i];
    line /= l.extents[i];
  }
  return at;
}

Status run_softmax(const KernelContext& ctx, const void*) {
  const auto& t = ctx.attrs<attrs::IntSoftmax>();
  const Tensor& x = *ctx.in(0);
  const int axis = t.axis() < 0 ? t.axis() + x.shape.rank : t.axis();
  cpu::SoftmaxCodes s;
  s.outer = product(x.shape, 0, axis);
  s.axis = x.shape[axis];
  s.inner = product(x.shape, axis + 1, x.shape.rank);
  s.x_signed = is_signed(x);
  s.multiplier = t.multiplier();
  s.table = ctx.in(1)->as<const int32_t>();
  s.finish = cpu::requantize_of(t);
  KeptLines lines;
  if (ctx.in(2) != nullptr) {
    const Tensor& kept = *ctx.in(2);
    // Steps of x's axes in `kept`, 0 where it is repeated.
    int64_t step = 1;
    lines.rank = x.shape.rank;
    for (int i = 0; i < x.shape.rank; ++i) lines.extents[i] = x.shape[i];
    for (int i = kept.shape.rank; i-- > 0; step *= kept.shape[i])
      lines.steps[x.shape.rank - kept.shape.rank + i] = kept.shape[i] == 1 ? 0 : step;
    lines.along = axis;
    s.kept = kept.as<const uint8_t>();
    s.kept_step = lines.steps[axis];
    s.kept_at = kept_of_line;
    s.context = &lines;
  }
  cpu::softmax_codes(s, x.as<const uint8_t>(), ctx.out(0)->as<uint8_t>(), ctx.parallel);
  return Status::kOk;
}

// ---- Average pooling

cpu::PoolI8 pool_shape(const attrs::IntAveragePool& a, const Shape& x, const Shape& y) {
  auto p = cpu::pool_shape<cpu::PoolI8>(a, x, y);
  p.is_max = false;
  return p;
}

int64_t pool_scratch(const CpuQuery& q) {
  const cpu::PoolI8 p = pool_shape(q.attrs<attrs::IntAveragePool>(), q.inputs[0].type.shape, q.outputs[0].type.shape);
  return static_cast<int64_t>(cpu::pool_i8_scratch_bytes(p, q.slots));
}

template <bool kLast>
Status run_pool(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::IntAveragePool>();
  const Tensor &x = *ctx.in(0), &m = *ctx.in(1);
  cpu::PoolI8 p = pool_shape(a, x.shape, ctx.out(0)->shape);
  p.count_padding = a.count_include_pad();
  p.x_signed = is_signed(x);
  p.x_zero = a.x_zero();
  p.multiplier = m.as<const float>();
  p.one_multiplier = m.count() == 1;
  p.finish = cpu::requantize_of(a);
  if constexpr (kLast) {
    cpu::pool_nhwc_i8(p, x.shape[x.shape.rank - 1], x.as<const uint8_t>(), ctx.out(0)->as<uint8_t>(), ctx.parallel);
  } else {
    cpu::pool_i8(p, x.as<const uint8_t>(), ctx.out(0)->as<uint8_t>(), ctx.parallel, ctx.scratch.data());
  }
  return Status::kOk;
}

constexpr CpuKernel kAdd = {"add_codes", 0, nullptr, nullptr, run_add};
constexpr CpuKernel kMul = {"mul_codes", 0, nullptr, nullptr, run_mul};
constexpr CpuKernel kAffine = {"affine_codes", 0, nullptr, nullptr, run_affine};
constexpr CpuKernel kTable = {"table_codes", 0, nullptr, nullptr, run_table};
constexpr CpuKernel kSoftmax = {"softmax_codes", 0, nullptr, nullptr, run_softmax};
constexpr CpuKernel kAveragePool = {"average_pool_i8_nchw", 0, pool_scratch, nullptr, run_pool<false>};
constexpr CpuKernel kAveragePoolLast = {"average_pool_i8_nhwc", 0, nullptr, nullptr, run_pool<true>};

// Tables, multipliers and factors are not codes.
bool all_bytes(const CpuQuery& q) {
  const bool two = q.op == Op::kIntAdd || q.op == Op::kIntMul;
  return is_byte(q.inputs[0].type.dtype) && (!two || is_byte(q.inputs[1].type.dtype)) &&
         is_byte(q.outputs[0].type.dtype);
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for codes of 8 bits";
  if (!all_bytes(q)) return nullptr;
  *reason = "";
  switch (q.op) {
    case Op::kIntAdd:
      return &kAdd;
    case Op::kIntMul:
      return &kMul;
    case Op::kIntAffine:
      return &kAffine;
    case Op::kIntTable:
      return &kTable;
    case Op::kIntSoftmax:
      return &kSoftmax;
    default:
      break;
  }
  *reason = "tuned for one or two spatial dimensions";
  if (q.inputs[0].type.shape.rank > 4) return nullptr;
  *reason = "";
  return q.attrs<attrs::IntAveragePool>().layout() != 0 ? &kAveragePoolLast : &kAveragePool;
}

}  // namespace

extern const CpuOp kCpuOp_integer_codes;
const CpuOp kCpuOp_integer_codes = {"integer_codes", choose};

}  // namespace vireo
