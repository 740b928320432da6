// Opsets 1 and 13 differ in types alone.
#include "sdk/ops/lrn/lrn_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_lrn(ImportContext& ctx) {
  attrs::LRNT a;
  a.alpha = ctx.attr_float("alpha", a.alpha);
  a.beta = ctx.attr_float("beta", a.beta);
  a.bias = ctx.attr_float("bias", a.bias);
  const int64_t size = ctx.attr_int("size", 0);
  if (size < 1 || size > INT32_MAX) return ctx.fail(Status::kInvalidModel, "size is " + std::to_string(size));
  a.size = static_cast<int32_t>(size);
  return import_direct(ctx, Op::kLRN, pack<attrs::LRN>(a));
}

}  // namespace

extern const OnnxImport kLRNOnnx;
const OnnxImport kLRNOnnx = {"", "LRN", import_lrn};

Status export_lrn(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::LRN>();
  OnnxNode n = ctx.same().real("alpha", a.alpha()).real("beta", a.beta()).real("bias", a.bias());
  return ctx.done_in_layout(n.number("size", a.size()), a.layout());
}

}  // namespace vireo
