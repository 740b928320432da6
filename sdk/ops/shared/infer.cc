#include "sdk/ops/shared/infer.h"

namespace vireo {

Status broadcast(InferContext& ctx, const Shape& a, const Shape& b, Shape* out) {
  out->rank = a.rank > b.rank ? a.rank : b.rank;
  for (int i = 0; i < out->rank; ++i) {
    const int ia = i - (out->rank - a.rank), ib = i - (out->rank - b.rank);
    const Dim da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    Dim& d = out->dims[i];
    if (da == 1 || ctx.equal(da, db)) {
      d = db;
    } else if (db == 1) {
      d = da;
    } else if (ctx.differ(da, db)) {
      return ctx.fail(Status::kInvalidModel, "shapes {} and {} do not broadcast: dimension {} is {} against {}", a, b,
                      i, da, db);
    } else if (is_symbolic(da) && is_symbolic(db)) {
      d = ctx.max(da, db);
    } else {
      d = is_symbolic(da) ? db : da;
    }
  }
  return Status::kOk;
}

Status check_type(InferContext& ctx, int input, TypeSet set) {
  const DType t = ctx.input(input).dtype;
  if ((set & type_set(t)) != 0) return Status::kOk;
  const char* wanted = set == kFloatSet     ? "float16, bfloat16, float32 or float64"
                       : set == kNumberSet  ? "a float or an integer of 8 to 64 bits"
                       : set == kIntegerSet ? "an integer of 8 to 64 bits"
                       : set == kBoolSet    ? "bool"
                                            : "one of the types that this operator takes";
  return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted {}", input, dtype_name(t), wanted);
}

Status check_same_type(InferContext& ctx, int a, int b) {
  if (ctx.input(a).dtype == ctx.input(b).dtype) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} is {}, but input {} is {}: one type wanted", a,
                  dtype_name(ctx.input(a).dtype), b, dtype_name(ctx.input(b).dtype));
}

Status infer_same(InferContext& ctx) {
  ctx.output(0) = ctx.input(0);
  return Status::kOk;
}

Status check_axis(InferContext& ctx, int64_t axis, int rank, int* out) {
  *out = normalize_axis(axis, rank);
  if (*out < 0) return ctx.fail(Status::kInvalidModel, "axis {} is outside [-{},{})", axis, rank, rank);
  return Status::kOk;
}

Status check_rank(InferContext& ctx, int input, int low, int high) {
  const int rank = ctx.input(input).shape.rank;
  if (rank >= low && rank <= high) return Status::kOk;
  if (low == high) return ctx.fail(Status::kInvalidModel, "input {} has rank {}, wanted {}", input, rank, low);
  return ctx.fail(Status::kInvalidModel, "input {} has rank {}, wanted {} to {}", input, rank, low, high);
}

Status check_integer_list(InferContext& ctx, int input) {
  const TensorType& t = ctx.input(input);
  if (t.shape.rank <= 1 && (t.dtype == DType::kI64 || t.dtype == DType::kI32)) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} is {} of rank {}, wanted a list of int64", input,
                  dtype_name(t.dtype), t.shape.rank);
}

Status check_one_element(InferContext& ctx, int input) {
  const Shape& s = ctx.input(input).shape;
  for (int d = 0; d < s.rank; ++d) {
    if (ctx.differ(s[d], 1))
      return ctx.fail(Status::kInvalidModel, "input {} has shape {}, wanted one element", input, s);
  }
  return Status::kOk;
}

Status check_result_rank(InferContext& ctx, int64_t rank) {
  if (rank >= 0 && rank <= kMaxRank) return Status::kOk;
  return ctx.fail(Status::kUnsupported, "the result has {} dimensions, at most {} are supported", rank, kMaxRank);
}

bool known_length(InferContext& ctx, int input, int64_t* length) {
  const Shape& s = ctx.input(input).shape;
  if (s.rank > 1 || !s.is_static()) return false;
  *length = s.rank == 0 ? 1 : s[0];
  return true;
}

}  // namespace vireo
