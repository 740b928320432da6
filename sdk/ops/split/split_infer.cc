// Split: the inverse of Concat.
//   inputs   data; split i64 [n] optional: the parts' extents along `axis`, which add up to the input's
//   without  n = num_outputs parts of ceil(d / n), the last one smaller
// Every data type. alias: an output may lie in data, at its place there. Source: ONNX opset 18 "Split".
#include "sdk/base/checked.h"
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/shared/parts.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo {
namespace {

constexpr Dim kLimit = Dim{1} << 40;  // no extent comes near; keeps the sum of 255 parts within int64

Status infer_split(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Split>();
  const TensorType& x = ctx.input(0);
  int axis = 0;
  VIREO_TRY(check_axis(ctx, a.axis(), x.shape.rank, &axis));
  const Dim d = x.shape[axis];
  const int outputs = ctx.output_count();
  int64_t n = a.num_outputs() > 0 ? a.num_outputs() : outputs;
  if (ctx.has(1)) {
    VIREO_TRY(check_integer_list(ctx, 1));
    if (!known_length(ctx, 1, &n)) return ctx.fail(Status::kUnsupported, "Split: the number of parts is not known");
  }
  if (n < outputs) return ctx.fail(Status::kInvalidModel, "Split: {} parts for {} outputs", n, outputs);
  for (int o = 0; o < outputs; ++o) ctx.output(o) = x;
  if (!ctx.has(1)) {
    const Dim part = ctx.ceil_div(d, n);
    for (int o = 0; o < outputs; ++o) {
      Dim& y = ctx.output(o).shape[axis];
      const Dim left = ctx.sub(d, ctx.mul(part, o));
      if (is_symbolic(d)) {
        y = o + 1 < n ? part : left;
      } else {
        y = ctx.max(0, ctx.min(part, left));
      }
    }
    return Status::kOk;
  }
  if (!ctx.known(1)) {
    for (int o = 0; o < outputs; ++o) ctx.output(o).shape[axis] = ctx.bounded(d);
    return Status::kOk;
  }
  Dim sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Dim part = ctx.value(1, i);
    if (!is_symbolic(part) && (part < 0 || part > kLimit)) {
      return ctx.fail(Status::kInvalidModel, "Split: part {} is {}", i, part);
    }
    sum = ctx.add(sum, part);
    if (i < outputs) ctx.output(static_cast<int>(i)).shape[axis] = part;
  }
  if (ctx.differ(sum, d)) {
    return ctx.fail(Status::kInvalidModel, "Split: the parts add up to {}, axis {} of {} does not", sum, axis, x.shape);
  }
  return Status::kOk;
}

void parts(const PartQuery& q, Span<int64_t> at) {
  const auto& a = q.attrs<attrs::Split>();
  const Shape x = q.input(0).shape;
  const int axis = normalize_axis(a.axis(), x.rank);
  const auto outputs = static_cast<int64_t>(at.size());
  if (axis < 0 || !ones_before(x, axis)) return;
  const int64_t inner = known_count(x, axis + 1, x.rank), n = a.num_outputs() > 0 ? a.num_outputs() : outputs;
  const bool listed = q.input(1).dtype != DType::kNone;
  const Shape list = q.input(1).shape;
  const void* const sizes = q.constant(1);
  if (inner < 0 || (listed && (sizes == nullptr || element_count(list) < outputs))) return;
  if (!listed && is_symbolic(x[axis])) return;
  int64_t begin = 0;
  for (int64_t o = 0; o < outputs; ++o) {
    if (!checked_mul(begin, inner, &at[static_cast<size_t>(o)])) return;
    const int64_t even = listed ? 0 : x[axis] / n + (x[axis] % n != 0 ? 1 : 0), left = listed ? 0 : x[axis] - begin;
    const int64_t part = listed ? read_integer(q.input(1).dtype, sizes, o) : even < left ? even : left;
    if (part < 0 || part > kLimit) return;
    begin += part;
  }
}

}  // namespace

extern const OpDef kSplitOp;
const OpDef kSplitOp = {"Split", verify_attrs<attrs::Split>, infer_split, 1, 2, 1, 255, OpDef::kPure, 0, parts};

}  // namespace vireo
