// The bytes stay, the shape changes.
//   Reshape    (data, shape i64 [n])           a 0 copies the input's extent (unless allowzero), one -1 takes what is
//   left Squeeze    (data, axes i64 [n], optional)  drops axes of extent 1; without axes every one that is known to be
//   1 Unsqueeze  (data, axes i64 [n])            inserts axes of extent 1, counted in the output Flatten    (data) two
//   dimensions, cut at `axis`
// Alias: the output is the input's memory. Source: ONNX opset 25 "Reshape", "Squeeze", "Unsqueeze", "Flatten".
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

// The extents of one side of a division, without what the other side has too.
struct Factors {
  Dim symbols[kMaxRank];
  int count = 0;
  Dim number = 1;
  void add(InferContext& ctx, Dim d) {
    if (is_symbolic(d)) {
      symbols[count++] = d;
    } else {
      number = ctx.mul(number, d);
    }
  }
};

// total / rest where both are products of extents. Equal extents are cancelled first, so that symbols and zeros that
// stand on both sides do not have to be divided.
Status divide(InferContext& ctx, const Shape& total, const Shape& rest, Dim* out) {
  Factors above, below;
  bool used[kMaxRank] = {};
  for (int i = 0; i < rest.rank; ++i) {
    bool cancelled = false;
    for (int k = 0; k < total.rank && !cancelled; ++k) {
      if (used[k] || !ctx.equal(rest[i], total[k])) continue;
      used[k] = cancelled = true;
    }
    if (!cancelled) below.add(ctx, rest[i]);
  }
  for (int k = 0; k < total.rank; ++k) {
    if (!used[k]) above.add(ctx, total[k]);
  }
  if (above.count == 0 && below.count == 0) {
    if (below.number == 0 || above.number % below.number != 0) {
      return ctx.fail(Status::kInvalidModel, "Reshape: {} elements cannot be spread evenly over {}", above.number,
                      below.number);
    }
    *out = above.number / below.number;
    return Status::kOk;
  }
  const int64_t g = gcd(above.number, below.number);
  if (g > 1) {
    above.number /= g;
    below.number /= g;
  }
  Dim n = above.number, d = below.number;
  for (int k = 0; k < above.count; ++k) n = ctx.mul(n, above.symbols[k]);
  for (int k = 0; k < below.count; ++k) d = ctx.mul(d, below.symbols[k]);
  *out = d == 1 ? n : ctx.floor_div(n, d);
  return Status::kOk;
}

Status infer_reshape(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  VIREO_TRY(check_integer_list(ctx, 1));
  int64_t n = 0;
  if (!known_length(ctx, 1, &n))
    return ctx.fail(Status::kUnsupported, "Reshape: the number of dimensions is not known");
  VIREO_TRY(check_result_rank(ctx, n));
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  y.shape.rank = static_cast<int32_t>(n);
  if (!ctx.known(1)) {
    // One dimension holds all elements whatever the shape says; more than one cannot be told apart.
    for (int i = 0; i < y.shape.rank; ++i) y.shape[i] = n == 1 ? ctx.count(x.shape, 0, x.shape.rank) : ctx.unknown();
    return Status::kOk;
  }
  const bool allowzero = ctx.attrs<attrs::Reshape>().allowzero();
  int open = -1;
  Shape rest;
  for (int i = 0; i < y.shape.rank; ++i) {
    Dim d = ctx.value(1, i);
    if (d == -1) {
      if (open >= 0) return ctx.fail(Status::kInvalidModel, "Reshape: dimensions {} and {} are both -1", open, i);
      open = i;
      continue;
    }
    if (d == 0 && !allowzero) {
      if (i >= x.shape.rank) {
        return ctx.fail(Status::kInvalidModel, "Reshape: dimension {} is 0, but the input {} has none to copy", i,
                        x.shape);
      }
      d = x.shape[i];
    }
    if (!is_symbolic(d) && d < 0) return ctx.fail(Status::kInvalidModel, "Reshape: dimension {} is {}", i, d);
    y.shape[i] = d;
    rest[rest.rank++] = d;
  }
  if (open >= 0) return divide(ctx, x.shape, rest, &y.shape[open]);
  if (x.shape.is_static() && y.shape.is_static() &&
      ctx.differ(ctx.count(x.shape, 0, x.shape.rank), ctx.count(y.shape, 0, y.shape.rank))) {
    return ctx.fail(Status::kInvalidModel, "Reshape: {} does not have as many elements as {}, which the model asks for",
                    x.shape, y.shape);
  }
  return Status::kOk;
}

// Marks the axes listed by input 1 among `rank`.
Status read_axes(InferContext& ctx, int rank, int64_t n, bool* marked) {
  for (int64_t i = 0; i < n; ++i) {
    int axis = 0;
    VIREO_TRY(check_axis(ctx, ctx.value(1, i), rank, &axis));
    if (marked[axis]) return ctx.fail(Status::kInvalidModel, "axis {} is listed twice", axis);
    marked[axis] = true;
  }
  return Status::kOk;
}

Status infer_squeeze(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  bool drop[kMaxRank] = {};
  if (ctx.has(1)) {
    VIREO_TRY(check_integer_list(ctx, 1));
    int64_t n = 0;
    if (!known_length(ctx, 1, &n)) return ctx.fail(Status::kUnsupported, "Squeeze: the number of axes is not known");
    if (n > x.shape.rank) return ctx.fail(Status::kInvalidModel, "Squeeze: {} axes of {}", n, x.shape);
    if (!ctx.known(1)) {
      y.shape.rank = x.shape.rank - static_cast<int32_t>(n);
      for (int i = 0; i < y.shape.rank; ++i) y.shape[i] = ctx.unknown();
      return Status::kOk;
    }
    VIREO_TRY(read_axes(ctx, x.shape.rank, n, drop));
  } else {
    for (int i = 0; i < x.shape.rank; ++i) drop[i] = x.shape[i] == 1;
  }
  for (int i = 0; i < x.shape.rank; ++i) {
    if (!drop[i]) {
      y.shape[y.shape.rank++] = x.shape[i];
    } else if (ctx.differ(x.shape[i], 1)) {
      return ctx.fail(Status::kInvalidModel, "Squeeze: axis {} of {} is not 1", i, x.shape);
    }
  }
  return Status::kOk;
}

Status infer_unsqueeze(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  VIREO_TRY(check_integer_list(ctx, 1));
  int64_t n = 0;
  if (!known_length(ctx, 1, &n)) return ctx.fail(Status::kUnsupported, "Unsqueeze: the number of axes is not known");
  VIREO_TRY(check_result_rank(ctx, n > kMaxRank ? n : n + x.shape.rank));
  y.shape.rank = x.shape.rank + static_cast<int32_t>(n);
  bool insert[kMaxRank] = {};
  if (!ctx.known(1)) {
    for (int i = 0; i < y.shape.rank; ++i) y.shape[i] = ctx.unknown();
    return Status::kOk;
  }
  VIREO_TRY(read_axes(ctx, y.shape.rank, n, insert));
  for (int i = 0, k = 0; i < y.shape.rank; ++i) y.shape[i] = insert[i] ? 1 : x.shape[k++];
  return Status::kOk;
}

Status infer_flatten(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const int rank = x.shape.rank;
  int axis = ctx.attrs<attrs::Flatten>().axis();
  if (axis < -rank || axis > rank) {
    return ctx.fail(Status::kInvalidModel, "Flatten: axis {} is outside [-{},{}]", axis, rank, rank);
  }
  if (axis < 0) axis += rank;
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  y.shape.rank = 2;
  y.shape[0] = ctx.count(x.shape, 0, axis);
  y.shape[1] = ctx.count(x.shape, axis, rank);
  return Status::kOk;
}

}  // namespace

extern const OpDef kReshapeOp;
extern const OpDef kSqueezeOp;
extern const OpDef kUnsqueezeOp;
extern const OpDef kFlattenOp;
const OpDef kReshapeOp = {"Reshape",    verify_attrs<attrs::Reshape>, infer_reshape, 2, 2, 1, 1, OpDef::kView,
                          /*inplace=*/1};
const OpDef kSqueezeOp = {"Squeeze", verify_attrs<attrs::Squeeze>, infer_squeeze, 1, 2, 1, 1, OpDef::kView, 1};
const OpDef kUnsqueezeOp = {"Unsqueeze", verify_attrs<attrs::Unsqueeze>, infer_unsqueeze, 2, 2, 1, 1, OpDef::kView, 1};
const OpDef kFlattenOp = {"Flatten", verify_attrs<attrs::Flatten>, infer_flatten, 1, 1, 1, 1, OpDef::kView, 1};

}  // namespace vireo
