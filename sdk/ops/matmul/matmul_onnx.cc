// Opsets 1, 9 and 13 differ in types alone.
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_matmul(ImportContext& ctx) {
  return import_direct(ctx, Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}));
}

}  // namespace

extern const OnnxImport kMatMulOnnx;
const OnnxImport kMatMulOnnx = {"", "MatMul", import_matmul};

Status export_matmul(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
