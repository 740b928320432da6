// Opset 13 normalises along one axis. Before, the tensor was coerced to two dimensions at `axis` (default 1) and the
// whole second one was normalised: a Reshape on either side says the same.
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

std::vector<uint8_t> reshape_attrs(bool allowzero) {
  attrs::ReshapeT a;
  a.allowzero = allowzero;
  return pack<attrs::Reshape>(a);
}

template <Op kOp>
Status import_softmax(ImportContext& ctx) {
  attrs::SoftmaxT a;
  if (ctx.opset() >= 13) {
    a.axis = ctx.attr_int32("axis", -1);
    return import_direct(ctx, kOp, pack<attrs::Softmax>(a));
  }
  const Value x = ctx.input(0);
  const Shape s = ctx.type(x).shape;
  const int64_t given = ctx.attr_int("axis", 1);
  // ONNX allows `axis` = rank: rows of one element.
  const int axis = given == s.rank ? s.rank : normalize_axis(given, s.rank);
  if (axis < 0) return ctx.fail(Status::kInvalidModel, "axis is outside the input's rank");
  a.axis = axis;
  bool empty = false, single = axis < s.rank;  // single: one dimension alone is left to normalise
  for (int i = 0; i < s.rank; ++i) {
    empty = empty || s[i] == 0;
    single = single && (i <= axis || s[i] == 1);
  }
  if (single || (empty && axis < s.rank)) return import_direct(ctx, kOp, pack<attrs::Softmax>(a));
  if (axis == kMaxRank) return ctx.fail(Status::kUnsupported, "coercing 8 dimensions to one element a row");
  std::vector<int64_t> rows(static_cast<size_t>(axis), 0);  // 0: as in x
  rows.push_back(axis == s.rank ? 1 : -1);
  const Value flat = ctx.emit1(Op::kReshape, reshape_attrs(false), {x, ctx.add_i64(rows)});
  if (!flat) return Status::kInvalidModel;
  const Value y = ctx.emit1(kOp, pack<attrs::Softmax>(a), {flat});
  if (!y) return Status::kInvalidModel;
  const Value shape = s.is_static() ? ctx.add_i64(std::vector<int64_t>(s.dims, s.dims + s.rank))
                                    : ctx.emit1(Op::kShape, pack<attrs::Shape>(attrs::ShapeT{}), {x});
  if (!shape) return Status::kInvalidModel;
  return import_as(ctx, Op::kReshape, reshape_attrs(true), {y, shape});
}

}  // namespace

extern const OnnxImport kSoftmaxOnnx;
extern const OnnxImport kLogSoftmaxOnnx;
extern const OnnxImport kHardmaxOnnx;

const OnnxImport kSoftmaxOnnx = {"", "Softmax", import_softmax<Op::kSoftmax>};
const OnnxImport kLogSoftmaxOnnx = {"", "LogSoftmax", import_softmax<Op::kLogSoftmax>};
const OnnxImport kHardmaxOnnx = {"", "Hardmax", import_softmax<Op::kHardmax>};

Status export_softmax(ExportContext& ctx) {
  return ctx.done(ctx.same().number("axis", ctx.attrs<attrs::Softmax>().axis()));
}

}  // namespace vireo
