// MatMulInteger has one version; QLinearMatMul 21 adds types to 10.
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_integer(ImportContext& ctx) {
  return import_direct(ctx, Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}));
}

Status import_qlinear(ImportContext& ctx) {
  return import_direct(ctx, Op::kQLinearMatMul, pack<attrs::QLinearMatMul>(attrs::QLinearMatMulT{}));
}

}  // namespace

extern const OnnxImport kMatMulIntegerOnnx;
const OnnxImport kMatMulIntegerOnnx = {"", "MatMulInteger", import_integer};
extern const OnnxImport kQLinearMatMulOnnx;
const OnnxImport kQLinearMatMulOnnx = {"", "QLinearMatMul", import_qlinear};

Status export_matmul_integer(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
