// Opset 11 allowed negative axes, 12 added `select_last_index`.
#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

template <Op kOp>
Status import_arg(ImportContext& ctx) {
  attrs::ArgT a;
  a.axis = ctx.attr_int32("axis", 0);
  a.keepdims = ctx.attr_int("keepdims", 1) != 0;
  a.select_last_index = ctx.attr_int("select_last_index", 0) != 0;
  return import_direct(ctx, kOp, pack<attrs::Arg>(a));
}

}  // namespace

extern const OnnxImport kArgMaxOnnx;
extern const OnnxImport kArgMinOnnx;

const OnnxImport kArgMaxOnnx = {"", "ArgMax", import_arg<Op::kArgMax>};
const OnnxImport kArgMinOnnx = {"", "ArgMin", import_arg<Op::kArgMin>};

Status export_arg(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Arg>();
  return ctx.done(ctx.same()
                      .number("axis", a.axis())
                      .flag("keepdims", a.keepdims())
                      .flag("select_last_index", a.select_last_index()));
}

}  // namespace vireo
