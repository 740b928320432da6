// Opset 7 broadcasts C; before, the attribute `broadcast` allowed it, and what it allowed is what opset 7 does. Opset 9
// adds integers, 11 makes C optional.
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_gemm(ImportContext& ctx) {
  attrs::GemmT a;
  a.alpha = ctx.attr_float("alpha", 1.0f);
  a.beta = ctx.attr_float("beta", 1.0f);
  a.trans_a = ctx.attr_int("transA", 0) != 0;
  a.trans_b = ctx.attr_int("transB", 0) != 0;
  return import_direct(ctx, Op::kGemm, pack<attrs::Gemm>(a));
}

}  // namespace

extern const OnnxImport kGemmOnnx;
const OnnxImport kGemmOnnx = {"", "Gemm", import_gemm};

Status export_gemm(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Gemm>();
  OnnxNode n = ctx.same().real("alpha", a.alpha()).real("beta", a.beta());
  return ctx.done(n.flag("transA", a.trans_a()).flag("transB", a.trans_b()));
}

}  // namespace vireo
