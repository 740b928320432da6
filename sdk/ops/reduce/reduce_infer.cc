// Reductions over axes.
//   x        any shape; ReduceMax, ReduceMin: a float, an integer or bool; the others: a float or an integer of 32 or
//   64 bits
//            (LogSum and LogSumExp: a float)
//   axes     int64 [count], each in [-rank, rank); absent or empty: all axes, or none with noop_with_empty_axes
//   y        dtype of x; reduced dimensions are 1 with keepdims, else gone
//   empty    a sum over nothing is 0, a product 1, a mean NaN (integers 0), a maximum the lowest number, a logarithm
//   -inf alias    y may be x;  scratch none accuracy floats accumulate in float64 and round once; integers wrap
// Source: ONNX opset 28, one section per operator.
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

constexpr TypeSet kWideSet =
    kFloatSet | type_set(DType::kI32) | type_set(DType::kI64) | type_set(DType::kU32) | type_set(DType::kU64);

Status infer_axes(InferContext& ctx, bool keepdims, bool noop_with_empty_axes) {
  const Shape& x = ctx.input(0).shape;
  TensorType& y = ctx.output(0);
  y.dtype = ctx.input(0).dtype;
  y.shape.rank = 0;
  int64_t count = 0;
  bool all_known = true;
  if (ctx.has(1)) {
    if (ctx.input(1).dtype != DType::kI64) {
      return ctx.fail(Status::kInvalidModel, "axes are {}, wanted int64", dtype_name(ctx.input(1).dtype));
    }
    VIREO_TRY(check_rank(ctx, 1, 0, 1));
    if (!known_length(ctx, 1, &count)) {
      if (!keepdims) return ctx.fail(Status::kUnsupported, "the number of axes is not known before the model runs");
      all_known = false;
    }
  }
  uint32_t reduced = 0;
  if (count == 0 && !noop_with_empty_axes) reduced = (1u << x.rank) - 1;
  all_known = all_known && (count == 0 || ctx.known(1));
  for (int64_t i = 0; i < count && all_known; ++i) {
    const Dim axis = ctx.value(1, i);
    if (is_symbolic(axis)) {
      all_known = false;
      break;
    }
    int a = 0;
    VIREO_TRY(check_axis(ctx, axis, x.rank, &a));
    if ((reduced >> a & 1) != 0) return ctx.fail(Status::kInvalidModel, "axis {} is given twice", a);
    reduced |= 1u << a;
  }
  if (!all_known) {
    // The axes decide while the model runs. With keepdims each extent stays or becomes 1; else the i-th of what is left
    // was one of the `count` + 1 dimensions from i on.
    const int64_t rank = keepdims ? x.rank : x.rank - count;
    if (rank < 0) return ctx.fail(Status::kInvalidModel, "{} axes of an input of rank {}", count, x.rank);
    y.shape.rank = static_cast<int32_t>(rank);
    for (int i = 0; i < y.shape.rank; ++i) {
      Dim upper = keepdims ? ctx.max(x[i], 1) : x[i];
      for (int k = 1; !keepdims && k <= count; ++k) upper = ctx.max(upper, x[i + k]);
      y.shape[i] = ctx.bounded(upper);
    }
    return Status::kOk;
  }
  for (int i = 0; i < x.rank; ++i) {
    if ((reduced >> i & 1) == 0) {
      y.shape[y.shape.rank++] = x[i];
    } else if (keepdims) {
      y.shape[y.shape.rank++] = 1;
    }
  }
  return Status::kOk;
}

template <TypeSet kTypes>
Status infer_reduce(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kTypes));
  const auto& a = ctx.attrs<attrs::Reduce>();
  return infer_axes(ctx, a.keepdims(), a.noop_with_empty_axes());
}

Status infer_norm(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::ReduceNorm>();
  if (a.norm() > attrs::Norm::MAX) return ctx.fail(Status::kInvalidModel, "unknown norm");
  const bool logarithm = a.norm() == attrs::Norm::LogSum || a.norm() == attrs::Norm::LogSumExp;
  VIREO_TRY(check_type(ctx, 0, logarithm ? kFloatSet : kWideSet));
  return infer_axes(ctx, a.keepdims(), a.noop_with_empty_axes());
}

template <class Table>
constexpr OpDef row(const char* name, Status (*f)(InferContext&)) {
  return {name, verify_attrs<Table>, f, 1, 2, 1, 1, OpDef::kPure, /*inplace=*/1};
}

}  // namespace

extern const OpDef kReduceSumOp;
extern const OpDef kReduceMeanOp;
extern const OpDef kReduceMaxOp;
extern const OpDef kReduceMinOp;
extern const OpDef kReduceProdOp;
extern const OpDef kReduceNormOp;

const OpDef kReduceSumOp = row<attrs::Reduce>("ReduceSum", infer_reduce<kWideSet>);
const OpDef kReduceMeanOp = row<attrs::Reduce>("ReduceMean", infer_reduce<kWideSet>);
const OpDef kReduceMaxOp = row<attrs::Reduce>("ReduceMax", infer_reduce<kNumberSet | kBoolSet>);
const OpDef kReduceMinOp = row<attrs::Reduce>("ReduceMin", infer_reduce<kNumberSet | kBoolSet>);
const OpDef kReduceProdOp = row<attrs::Reduce>("ReduceProd", infer_reduce<kWideSet>);
const OpDef kReduceNormOp = row<attrs::ReduceNorm>("ReduceNorm", infer_norm);

}  // namespace vireo
