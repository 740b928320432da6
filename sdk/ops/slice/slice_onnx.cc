// Ranges have been inputs since opset 10; before, they were attributes and there were no steps.
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_slice(ImportContext& ctx) {
  std::vector<uint8_t> a = pack<attrs::Slice>(attrs::SliceT{});
  if (ctx.opset() >= 10) return import_direct(ctx, Op::kSlice, std::move(a));
  std::vector<Value> inputs = {ctx.input(0), ctx.add_i64(ctx.attr_ints("starts")), ctx.add_i64(ctx.attr_ints("ends"))};
  if (ctx.has_attr("axes")) inputs.push_back(ctx.add_i64(ctx.attr_ints("axes")));
  const Value y = ctx.emit1(Op::kSlice, std::move(a), std::move(inputs));
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kSliceOnnx;
const OnnxImport kSliceOnnx = {"", "Slice", import_slice};

Status export_slice(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
