#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/shared/dtype_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_constant(ImportContext& ctx) {
  attrs::ConstantOfShapeT a;
  if (const ConstTensor* value = ctx.attr_tensor("value")) {
    if (value->count() != 1) return ctx.fail(Status::kInvalidModel, "value has more than one element");
    a.dtype = static_cast<uint8_t>(value->type.dtype);
    a.value.assign(value->bytes.begin(), value->bytes.end());
  }
  return import_direct(ctx, Op::kConstantOfShape, pack<attrs::ConstantOfShape>(a));
}

Status import_range(ImportContext& ctx) { return import_direct(ctx, Op::kRange, pack<attrs::Range>(attrs::RangeT{})); }

Status import_eye(ImportContext& ctx) {
  attrs::EyeLikeT a;
  VIREO_TRY(import_dtype(ctx, "dtype", DType::kNone, &a.dtype));
  a.k = ctx.attr_int("k", 0);
  return import_direct(ctx, Op::kEyeLike, pack<attrs::EyeLike>(a));
}

}  // namespace

extern const OnnxImport kConstantOfShapeOnnx;
extern const OnnxImport kRangeOnnx;
extern const OnnxImport kEyeLikeOnnx;
const OnnxImport kConstantOfShapeOnnx = {"", "ConstantOfShape", import_constant};
const OnnxImport kRangeOnnx = {"", "Range", import_range};
const OnnxImport kEyeLikeOnnx = {"", "EyeLike", import_eye};

Status export_fill(ExportContext& ctx) {
  if (ctx.op() == Op::kConstantOfShape) {
    const auto& a = ctx.attrs<attrs::ConstantOfShape>();
    OnnxTensor value{{static_cast<DType>(a.dtype()), Shape{1, {1}}}, {}, {}};
    value.bytes.resize(static_cast<size_t>(dtype_bytes(value.type.dtype, 1)));
    if (a.value() != nullptr && a.value()->size() != 0) value.bytes.assign(a.value()->begin(), a.value()->end());
    return ctx.done(ctx.same().set("value", std::move(value)));
  }
  if (ctx.op() == Op::kRange) return ctx.done(ctx.same());
  const auto& a = ctx.attrs<attrs::EyeLike>();
  OnnxNode n = ctx.same().number("k", a.k());
  if (a.dtype() != 0) n.number("dtype", a.dtype());
  return ctx.done(std::move(n));
}

}  // namespace vireo
