// Opsets 11 and 22 differ in types alone.
#include "sdk/ops/det/det_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_det(ImportContext& ctx) { return import_direct(ctx, Op::kDet, pack<attrs::Det>(attrs::DetT{})); }

}  // namespace

extern const OnnxImport kDetOnnx;
const OnnxImport kDetOnnx = {"", "Det", import_det};

Status export_det(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
