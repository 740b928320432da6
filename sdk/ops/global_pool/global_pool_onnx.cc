// One form since opset 1; GlobalLpPool 1 wrote p as a float.
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_max(ImportContext& ctx) {
  return import_direct(ctx, Op::kGlobalMaxPool, pack<attrs::GlobalPool>(attrs::GlobalPoolT{}));
}

Status import_average(ImportContext& ctx) {
  return import_direct(ctx, Op::kGlobalAveragePool, pack<attrs::GlobalPool>(attrs::GlobalPoolT{}));
}

Status import_lp(ImportContext& ctx) {
  attrs::GlobalPoolT a;
  const double p =
      ctx.opset() < 2 ? static_cast<double>(ctx.attr_float("p", 2.0f)) : static_cast<double>(ctx.attr_int("p", 2));
  a.p = p >= 1 && p < 1e9 ? static_cast<int32_t>(p) : 0;
  if (static_cast<double>(a.p) != p) {
    return ctx.fail(Status::kUnsupported, "p = " + std::to_string(p) + " is not a whole number of at least 1");
  }
  return import_direct(ctx, Op::kGlobalLpPool, pack<attrs::GlobalPool>(a));
}

}  // namespace

extern const OnnxImport kGlobalMaxPoolOnnx;
const OnnxImport kGlobalMaxPoolOnnx = {"", "GlobalMaxPool", import_max};
extern const OnnxImport kGlobalAveragePoolOnnx;
const OnnxImport kGlobalAveragePoolOnnx = {"", "GlobalAveragePool", import_average};
extern const OnnxImport kGlobalLpPoolOnnx;
const OnnxImport kGlobalLpPoolOnnx = {"", "GlobalLpPool", import_lp};

Status export_global_pool(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::GlobalPool>();
  OnnxNode n = ctx.same();
  if (ctx.op() == Op::kGlobalLpPool) n.number("p", a.p());
  return ctx.done_in_layout(std::move(n), a.layout());
}

}  // namespace vireo
