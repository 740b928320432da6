// MaxPool 1, 8 (indices), 10 (ceil_mode, dilations), 11, 12, 22; AveragePool 1, 7 (count_include_pad), 10, 11, 19, 22;
// LpPool 1 (p is a float), 2, 11, 18, 22: newer versions add attributes whose defaults are the older meaning.
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/window_export.h"
#include "sdk/ops/shared/window_import.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_pool(ImportContext& ctx, Op op, attrs::PoolT* a) {
  VIREO_TRY(import_window(ctx, a));
  VIREO_TRY(import_ints(ctx, "kernel_shape", &a->kernel_shape));
  if (a->kernel_shape.empty()) {
    return ctx.fail(Status::kInvalidModel, "kernel_shape is missing", "GlobalMaxPool and GlobalAveragePool need none");
  }
  a->ceil_mode = ctx.attr_int("ceil_mode", 0) != 0;
  return import_direct(ctx, op, pack<attrs::Pool>(*a));
}

Status import_max(ImportContext& ctx) {
  attrs::PoolT a;
  a.column_major = ctx.attr_int("storage_order", 0) != 0;
  return import_pool(ctx, Op::kMaxPool, &a);
}

Status import_average(ImportContext& ctx) {
  attrs::PoolT a;
  a.count_include_pad = ctx.attr_int("count_include_pad", 0) != 0;
  return import_pool(ctx, Op::kAveragePool, &a);
}

Status import_lp(ImportContext& ctx) {
  attrs::PoolT a;
  if (ctx.opset() < 2) {
    const float p = ctx.attr_float("p", 2.0f);
    a.p = p >= 1 && p < 1e6f ? static_cast<int32_t>(p) : 0;
    if (static_cast<float>(a.p) != p) {
      return ctx.fail(Status::kUnsupported, "p = " + std::to_string(p) + " is not a whole number of at least 1");
    }
  } else {
    const int64_t p = ctx.attr_int("p", 2);
    a.p = p >= 1 && p <= INT32_MAX ? static_cast<int32_t>(p) : 0;
  }
  return import_pool(ctx, Op::kLpPool, &a);
}

}  // namespace

extern const OnnxImport kMaxPoolOnnx;
const OnnxImport kMaxPoolOnnx = {"", "MaxPool", import_max};
extern const OnnxImport kAveragePoolOnnx;
const OnnxImport kAveragePoolOnnx = {"", "AveragePool", import_average};
extern const OnnxImport kLpPoolOnnx;
const OnnxImport kLpPoolOnnx = {"", "LpPool", import_lp};

Status export_pool(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Pool>();
  OnnxNode n = ctx.same().numbers("kernel_shape", a.kernel_shape());
  export_window_attributes(a, &n);
  n.flag("ceil_mode", a.ceil_mode());
  // Before opset 22 the checker counts a last window that begins in the padding, which the operator never had.
  if (a.ceil_mode()) n.needs(22);
  if (ctx.op() == Op::kAveragePool) n.flag("count_include_pad", a.count_include_pad());
  if (ctx.op() == Op::kMaxPool) n.flag("storage_order", a.column_major());
  if (ctx.op() == Op::kLpPool) n.number("p", a.p());
  if (a.layout() != 0 && !ctx.output(1).empty()) {
    return ctx.fail(Status::kUnsupported, "positions of maxima with the channels last",
                    "convert with --no-optimize and --emit-onnx");
  }
  return ctx.done_in_layout(std::move(n), a.layout());
}

}  // namespace vireo
