#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"
#include "sdk/ops/window/window_generated.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx, Op op) {
  attrs::WindowT a;
  const int64_t dtype = ctx.attr_int("output_datatype", static_cast<int64_t>(DType::kF32));
  if (dtype < 0 || dtype >= kDTypeCount) {
    return ctx.fail(Status::kInvalidModel,
                    "output_datatype is " + std::to_string(dtype) + ", which is no ONNX data type");
  }
  a.dtype = static_cast<uint8_t>(dtype);
  a.periodic = ctx.attr_int("periodic", 1) != 0;
  return import_direct(ctx, op, pack<attrs::Window>(a));
}

}  // namespace

#define VIREO_WINDOW_ONNX(name)          \
  extern const OnnxImport k##name##Onnx; \
  const OnnxImport k##name##Onnx = {"", #name, [](ImportContext& ctx) { return import(ctx, Op::k##name); }};
VIREO_WINDOW_ONNX(HannWindow)
VIREO_WINDOW_ONNX(HammingWindow)
VIREO_WINDOW_ONNX(BlackmanWindow)
VIREO_WINDOW_ONNX(MelWeightMatrix)
#undef VIREO_WINDOW_ONNX

Status export_window(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Window>();
  OnnxNode n = ctx.same().number("output_datatype", a.dtype());
  if (ctx.op() != Op::kMelWeightMatrix) n.flag("periodic", a.periodic());
  return ctx.done(std::move(n));
}

}  // namespace vireo
