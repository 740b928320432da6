#include "sdk/ops/max_unpool/max_unpool_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_max_unpool(ImportContext& ctx) {
  attrs::MaxUnpoolT a;
  a.kernel_shape = ctx.attr_ints("kernel_shape");
  const size_t k = a.kernel_shape.size();
  a.pads = ctx.has_attr("pads") ? ctx.attr_ints("pads") : std::vector<int64_t>(2 * k, 0);
  a.strides = ctx.has_attr("strides") ? ctx.attr_ints("strides") : std::vector<int64_t>(k, 1);
  return import_direct(ctx, Op::kMaxUnpool, pack<attrs::MaxUnpool>(a));
}

}  // namespace

extern const OnnxImport kMaxUnpoolOnnx;
const OnnxImport kMaxUnpoolOnnx = {"", "MaxUnpool", import_max_unpool};

Status export_max_unpool(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::MaxUnpool>();
  OnnxNode n = ctx.same().numbers("kernel_shape", a.kernel_shape());
  return ctx.done(n.numbers("pads", a.pads()).numbers("strides", a.strides()));
}

}  // namespace vireo
