// Elementwise functions of two float32 tensors, bfloat16 channels last by one factor a channel; sums, products, minima
// and maxima of two tensors of integers.
#include <string.h>

#include <type_traits>
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

// Sums and products of integers wrap around: they are computed without sign. An operand of one element, or that is
// repeated along a row, has step 0.
template <class T, Op kOp, int kStepA, int kStepB>
void compute(const T* a, const T* b, T* y, int64_t count) {
  constexpr int64_t kPiece = 256;  // computed beside the result, which may lie on an operand
  T piece[kPiece];
  for (int64_t from = 0; from < count; from += kPiece) {
    const int64_t n = count - from < kPiece ? count - from : kPiece;
    const T *const pa = a + from * kStepA, *const pb = b + from * kStepB;
    for (int64_t i = 0; i < n; ++i) {
      using Unsigned = std::make_unsigned_t<T>;
      const T p = pa[i * kStepA], q = pb[i * kStepB];
      const auto u = static_cast<Unsigned>(p), v = static_cast<Unsigned>(q);
      piece[i] = kOp == Op::kAdd   ? static_cast<T>(u + v)
                 : kOp == Op::kSub ? static_cast<T>(u - v)
                 : kOp == Op::kMul ? static_cast<T>(u * v)
                 : kOp == Op::kMin ? (q < p ? q : p)
                                   : (p < q ? q : p);
    }
    memcpy(y + from, piece, static_cast<size_t>(n) * sizeof(T));
  }
}
template <class T, Op kOp>
Status run_integers(const KernelContext& ctx, const void*) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  cpu::Broadcast all;
  cpu::set_broadcast(a.shape, b.shape, y.shape, &all);
  const cpu::Broadcast s = cpu::collapsed(all);
  const bool one_a = s.a_strides[s.rank - 1] == 0, one_b = s.b_strides[s.rank - 1] == 0;
  const auto kernel = one_a   ? (one_b ? compute<T, kOp, 0, 0> : compute<T, kOp, 0, 1>)
                      : one_b ? compute<T, kOp, 1, 0>
                              : compute<T, kOp, 1, 1>;
  ctx.parallel.for_range(s.count(), kElementGrain, [&](int64_t begin, int64_t end, int32_t) {
    cpu::for_each_row(s, begin, end, [&](int64_t at_a, int64_t at_b, int64_t at_y, int64_t count) {
      kernel(a.as<const T>() + at_a, b.as<const T>() + at_b, y.as<T>() + at_y, count);
    });
  });
  return Status::kOk;
}

template <class T>
struct Integers {
  static constexpr CpuKernel kAdd = {"add_integers", 0, nullptr, nullptr, run_integers<T, Op::kAdd>};
  static constexpr CpuKernel kSub = {"sub_integers", 0, nullptr, nullptr, run_integers<T, Op::kSub>};
  static constexpr CpuKernel kMul = {"mul_integers", 0, nullptr, nullptr, run_integers<T, Op::kMul>};
  static constexpr CpuKernel kMin = {"min_integers", 0, nullptr, nullptr, run_integers<T, Op::kMin>};
  static constexpr CpuKernel kMax = {"max_integers", 0, nullptr, nullptr, run_integers<T, Op::kMax>};
  static const CpuKernel* of(Op op) {
    return op == Op::kAdd   ? &kAdd
           : op == Op::kSub ? &kSub
           : op == Op::kMul ? &kMul
           : op == Op::kMin ? &kMin
           : op == Op::kMax ? &kMax
                            : nullptr;
  }
};

const CpuKernel* choose_integers(const CpuQuery& q) {
  const DType t = q.inputs[0].type.dtype;
  if (q.inputs[1].type.dtype != t) return nullptr;
  return t == DType::kI64 ? Integers<int64_t>::of(q.op) : t == DType::kI32 ? Integers<int32_t>::of(q.op) : nullptr;
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
