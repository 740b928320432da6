#include "sdk/ops/trilu/trilu_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_trilu(ImportContext& ctx) {
  attrs::TriluT a;
  a.upper = ctx.attr_int("upper", 1) != 0;
  return import_direct(ctx, Op::kTrilu, pack<attrs::Trilu>(a));
}

}  // namespace

extern const OnnxImport kTriluOnnx;
const OnnxImport kTriluOnnx = {"", "Trilu", import_trilu};

Status export_trilu(ExportContext& ctx) {
  return ctx.done(ctx.same().flag("upper", ctx.attrs<attrs::Trilu>().upper()));
}

}  // namespace vireo
