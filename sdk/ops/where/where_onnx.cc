// Since opset 9; opset 16 added bfloat16.
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo {
namespace {

Status import_where(ImportContext& ctx) { return import_direct(ctx, Op::kWhere, pack<attrs::Where>(attrs::WhereT{})); }

}  // namespace

extern const OnnxImport kWhereOnnx;
const OnnxImport kWhereOnnx = {"", "Where", import_where};

Status export_where(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
