// CumSum since opset 11 (14 added 16-bit floats), CumProd since 26.
#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

template <Op kOp>
Status import_cumulative(ImportContext& ctx) {
  attrs::CumulativeT a;
  a.exclusive = ctx.attr_int("exclusive", 0) != 0;
  a.reverse = ctx.attr_int("reverse", 0) != 0;
  return import_direct(ctx, kOp, pack<attrs::Cumulative>(a));
}

}  // namespace

extern const OnnxImport kCumSumOnnx;
extern const OnnxImport kCumProdOnnx;

const OnnxImport kCumSumOnnx = {"", "CumSum", import_cumulative<Op::kCumSum>};
const OnnxImport kCumProdOnnx = {"", "CumProd", import_cumulative<Op::kCumProd>};

Status export_cumulative(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Cumulative>();
  OnnxNode n = ctx.same().flag("exclusive", a.exclusive()).flag("reverse", a.reverse());
  return ctx.done(n.needs(ctx.op() == Op::kCumProd ? 26 : 0));
}

}  // namespace vireo
