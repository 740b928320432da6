#include "sdk/ops/max_unpool/max_unpool.h"

#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

constexpr int64_t kMostExtent = int64_t{1} << 31;

Status infer_max_unpool(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::MaxUnpool>();
  const TensorType& x = ctx.input(0);
  VIREO_TRY(check_rank(ctx, 0, 3, kMaxRank));
  VIREO_TRY(check_rank(ctx, 1, x.shape.rank, x.shape.rank));
  const int k = x.shape.rank - 2;
  if (dtype_bits(x.dtype) < 8) return ctx.fail(Status::kUnsupported, "MaxUnpool of packed {}", dtype_name(x.dtype));
  if (ctx.input(1).dtype != DType::kI64) {
    return ctx.fail(Status::kInvalidModel, "MaxUnpool: indices are {}", dtype_name(ctx.input(1).dtype));
  }
  for (int i = 0; i < x.shape.rank; ++i) {
    if (ctx.differ(x.shape[i], ctx.input(1).shape[i])) {
      return ctx.fail(Status::kInvalidModel, "MaxUnpool: x {}, indices {}", x.shape, ctx.input(1).shape);
    }
  }
  const auto fits = [](const ::flatbuffers::Vector<int64_t>* v, int n, int64_t low) {
    if (v == nullptr) return true;
    for (const int64_t d : *v) {
      if (d < low || d > kMostExtent) return false;
    }
    return static_cast<int>(v->size()) == n;
  };
  if (a.kernel_shape() == nullptr || !fits(a.kernel_shape(), k, 1) || !fits(a.strides(), k, 1) ||
      !fits(a.pads(), 2 * k, 0)) {
    return ctx.fail(Status::kInvalidModel, "MaxUnpool: kernel_shape, strides or pads do not fit {}", x.shape);
  }
  TensorType& y = ctx.output(0);
  y = x;
  if (ctx.has(2)) {
    VIREO_TRY(check_integer_list(ctx, 2));
    int64_t n = 0;
    if (known_length(ctx, 2, &n) && n != x.shape.rank) {
      return ctx.fail(Status::kInvalidModel, "MaxUnpool: output_shape has {} numbers for {}", n, x.shape);
    }
    for (int i = 0; i < x.shape.rank; ++i) {
      y.shape[i] = ctx.known(2) ? ctx.value(2, i) : ctx.unknown();
      if (ctx.known(2) && !is_symbolic(y.shape[i]) && y.shape[i] < 0) {
        return ctx.fail(Status::kInvalidModel, "MaxUnpool: output_shape has {}", y.shape[i]);
      }
    }
    return Status::kOk;
  }
  for (int i = 0; i < k; ++i) {
    const Dim d = ctx.add(ctx.mul(ctx.sub(x.shape[i + 2], 1), unpool_stride(a, i)), unpool_rest(a, i));
    if (!is_symbolic(d) && d < 0)
      return ctx.fail(Status::kInvalidModel, "MaxUnpool: pads take more than axis {} has", i);
    y.shape[i + 2] = d;
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kMaxUnpoolOp;
const OpDef kMaxUnpoolOp = {"MaxUnpool", verify_attrs<attrs::MaxUnpool>, infer_max_unpool, 2, 3, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
