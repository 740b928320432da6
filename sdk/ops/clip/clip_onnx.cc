// Opset 11 turned the attributes `min` and `max` into inputs, 12 added integers.
#include "sdk/ops/clip/clip_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_clip(ImportContext& ctx) {
  const std::vector<uint8_t> none = pack<attrs::Clip>(attrs::ClipT{});
  if (ctx.opset() >= 11) return import_direct(ctx, Op::kClip, none);
  const Value x = ctx.input(0);
  std::vector<Value> inputs = {x};
  for (const char* name : {"min", "max"}) {
    Value bound;
    if (ctx.has_attr(name)) {
      bound = add_scalar(ctx, ctx.type(x).dtype, static_cast<double>(ctx.attr_float(name, 0)));
      if (!bound) return Status::kInvalidModel;
    }
    inputs.push_back(bound);
  }
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  return import_as(ctx, Op::kClip, none, inputs);
}

}  // namespace

extern const OnnxImport kClipOnnx;
const OnnxImport kClipOnnx = {"", "Clip", import_clip};

Status export_clip(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
