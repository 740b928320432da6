// Cast between plain types where every value of the one is rounded at most once into the other, by the language's
// rules.
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/half/half.h"

namespace vireo {
namespace {

constexpr int64_t kGrain = 16384;  // elements: some 5 us

template <class From, class To>
Status run(const KernelContext& ctx, const void*) {
  const From* const x = ctx.in(0)->as<const From>();
  To* const y = ctx.out(0)->as<To>();
  ctx.parallel.for_range(ctx.in(0)->count(), kGrain, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i]);
  });
  return Status::kOk;
}

Status run_to_half(const KernelContext& ctx, const void*) {
  cpu::f16_from_f32(ctx.in(0)->as<const float>(), ctx.out(0)->as<uint16_t>(), ctx.in(0)->count(), ctx.parallel);
  return Status::kOk;
}
Status run_from_half(const KernelContext& ctx, const void*) {
  cpu::f32_from_f16(ctx.in(0)->as<const uint16_t>(), ctx.out(0)->as<float>(), ctx.in(0)->count(), ctx.parallel);
  return Status::kOk;
}

// The source's memory may be the result's where both have elements of one size: each element is read before it is
// written.
struct Row {
  DType from, to;
  CpuKernel kernel;
};
constexpr Row kRows[] = {
    {DType::kI32, DType::kF32, {"cast_i32_f32", 0, nullptr, nullptr, run<int32_t, float>}},
    {DType::kI64, DType::kF32, {"cast_i64_f32", 0, nullptr, nullptr, run<int64_t, float>}},
    {DType::kU8, DType::kF32, {"cast_u8_f32", 0, nullptr, nullptr, run<uint8_t, float>}},
    {DType::kI8, DType::kF32, {"cast_i8_f32", 0, nullptr, nullptr, run<int8_t, float>}},
    {DType::kBool, DType::kF32, {"cast_bool_f32", 0, nullptr, nullptr, run<uint8_t, float>}},
    {DType::kI32, DType::kI64, {"cast_i32_i64", 0, nullptr, nullptr, run<int32_t, int64_t>}},
    {DType::kBool, DType::kI64, {"cast_bool_i64", 0, nullptr, nullptr, run<uint8_t, int64_t>}},
    {DType::kBool, DType::kI32, {"cast_bool_i32", 0, nullptr, nullptr, run<uint8_t, int32_t>}},
    {DType::kF32, DType::kF16, {"cast_f32_f16", 0, nullptr, nullptr, run_to_half}},
    {DType::kF16, DType::kF32, {"cast_f16_f32", 0, nullptr, nullptr, run_from_half}},
};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "";
  for (const Row& row : kRows) {
    if (row.from == q.inputs[0].type.dtype && row.to == q.outputs[0].type.dtype) return &row.kernel;
  }
  *reason = "tuned for integers to wider types or float32, and between float32 and float16";
  return nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_cast;
const CpuOp kCpuOp_cast = {"cast", choose};

}  // namespace vireo
