// Elementwise functions of two float32 tensors, bfloat16 channels last by one factor a channel, and sums and products
// of integers where one side has one element or both have one shape.
#include <utility>

#include "delegates/cpu/binary_function.h"
#include "delegates/cpu/broadcast_of.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/eltwise/eltwise.h"

namespace vireo {
namespace {

void prepare(const CpuQuery& q, void* state) { (void)cpu::binary_function(q.op, static_cast<cpu::Binary*>(state)); }

Status run(const KernelContext& ctx, const void* state) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  cpu::BinaryF32 s;
  s.op = *static_cast<const cpu::Binary*>(state);
  cpu::set_broadcast(a.shape, b.shape, y.shape, &s);
  cpu::binary_f32(s, a.as<const float>(), b.as<const float>(), y.as<float>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kBinary = {"binary_f32", sizeof(cpu::Binary), nullptr, prepare, run};

// x [N, ..., C] by a factor of [N, 1..., C], on either side.
bool scales(const Shape& x, const Shape& scale) {
  bool good = x.rank == scale.rank && x.rank >= 3 && x[0] == scale[0] && x[x.rank - 1] == scale[x.rank - 1];
  for (int i = 1; i + 1 < x.rank; ++i) good = good && scale[i] == 1;
  return good;
}

Status run_scale(const KernelContext& ctx, const void*) {
  const Shape& y = ctx.out(0)->shape;
  if (ctx.out(0)->count() == 0) return Status::kOk;
  const int64_t rows = product(y, 1, y.rank - 1), columns = y[y.rank - 1];
  const Tensor *x = ctx.in(0), *scale = ctx.in(1);
  if (product(x->shape, 1, y.rank) != rows * columns) std::swap(x, scale);
  const int64_t images = x->shape[0], scales = scale->shape[0];
  if (product(x->shape, 1, y.rank) != rows * columns || product(scale->shape, 1, y.rank) != columns)
    return ctx.fail(Status::kInvalidArgument, "a factor has another shape than one value a channel");
  const auto* const from = x->as<const uint16_t>();
  const auto* const factor = scale->as<const uint16_t>();
  auto* const to = ctx.out(0)->as<uint16_t>();
  if (images == y[0] && scales == y[0]) {
    cpu::scale_rows_bf16(from, factor, to, images, rows, columns, ctx.parallel);
    return Status::kOk;
  }
  for (int64_t n = 0; n < y[0]; ++n) {  // one image, or one factor, for all
    cpu::scale_rows_bf16(from + (images == 1 ? 0 : n) * rows * columns, factor + (scales == 1 ? 0 : n) * columns,
                         to + n * rows * columns, 1, rows, columns, ctx.parallel);
  }
  return Status::kOk;
}

constexpr CpuKernel kScale = {"scale_bf16_nhwc", 0, nullptr, nullptr, run_scale};

// Integers wrap around: they are computed without sign. A side of one element has step 0.
template <class T, Op kOp, int kStepA, int kStepB>
void compute(const T* a, const T* b, T* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const T p = a[i * kStepA], q = b[i * kStepB];
    y[i] = kOp == Op::kAdd ? p + q : kOp == Op::kSub ? p - q : p * q;
  }
}
template <class T, Op kOp>
Status run_integers(const KernelContext& ctx, const void*) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  const int64_t count = y.count();
  const bool one_a = a.count() != count, one_b = b.count() != count;
  ctx.parallel.for_range(count, kElementGrain, [&](int64_t begin, int64_t end, int32_t) {
    const T* const p = a.as<const T>() + (one_a ? 0 : begin);
    const T* const q = b.as<const T>() + (one_b ? 0 : begin);
    const auto kernel = one_a ? compute<T, kOp, 0, 1> : one_b ? compute<T, kOp, 1, 0> : compute<T, kOp, 1, 1>;
    kernel(p, q, y.as<T>() + begin, end - begin);
  });
  return Status::kOk;
}

template <class T>
struct Integers {
  static constexpr CpuKernel kAdd = {"add_integers", 0, nullptr, nullptr, run_integers<T, Op::kAdd>};
  static constexpr CpuKernel kSub = {"sub_integers", 0, nullptr, nullptr, run_integers<T, Op::kSub>};
  static constexpr CpuKernel kMul = {"mul_integers", 0, nullptr, nullptr, run_integers<T, Op::kMul>};
  static const CpuKernel* of(Op op) {
    return op == Op::kAdd ? &kAdd : op == Op::kSub ? &kSub : op == Op::kMul ? &kMul : nullptr;
  }
};

const CpuKernel* choose_integers(const CpuQuery& q) {
  const Shape &a = q.inputs[0].type.shape, &b = q.inputs[1].type.shape, &y = q.outputs[0].type.shape;
  const auto fits = [&y](const Shape& s) { return product(s, 0, s.rank) == 1 || s == y; };
  if (q.inputs[1].type.dtype != q.inputs[0].type.dtype || !q.is_static() || !fits(a) || !fits(b)) return nullptr;
  if (a != y && b != y) return nullptr;  // both have one element, and other ranks than y
  return q.inputs[0].type.dtype == DType::kI64   ? Integers<uint64_t>::of(q.op)
         : q.inputs[0].type.dtype == DType::kI32 ? Integers<uint32_t>::of(q.op)
                                                 : nullptr;
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "";
  if (q.input_count == 2) {
    if (const CpuKernel* const k = choose_integers(q); k != nullptr) return k;
  }
  *reason = "tuned for float32, and products of bfloat16 channels last by one factor a channel";
  if (q.op == Op::kMul && q.input_count == 2 && q.inputs[0].type.dtype == DType::kBF16 &&
      q.inputs[1].type.dtype == DType::kBF16) {
    const Shape &a = q.inputs[0].type.shape, &b = q.inputs[1].type.shape, &y = q.outputs[0].type.shape;
    if (!(a == y && scales(y, b)) && !(b == y && scales(y, a))) return nullptr;
    *reason = "";
    return &kScale;
  }
  if (q.input_count != 2 || q.inputs[0].type.dtype != DType::kF32 || q.inputs[1].type.dtype != DType::kF32)
    return nullptr;
  *reason = "";
  return &kBinary;
}

}  // namespace

extern const CpuOp kCpuOp_binary;
const CpuOp kCpuOp_binary = {"binary", choose};

}  // namespace vireo
