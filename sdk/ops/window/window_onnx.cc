#include "sdk/ops/shared/dtype_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"
#include "sdk/ops/window/window_generated.h"

namespace vireo {
namespace {

Status import_window(ImportContext& ctx, Op op) {
  attrs::WindowT a;
  VIREO_TRY(import_dtype(ctx, "output_datatype", DType::kF32, &a.dtype));
  a.periodic = ctx.attr_int("periodic", 1) != 0;
  return import_direct(ctx, op, pack<attrs::Window>(a));
}

}  // namespace

#define VIREO_WINDOW_ONNX(name)          \
  extern const OnnxImport k##name##Onnx; \
  const OnnxImport k##name##Onnx = {"", #name, [](ImportContext& ctx) { return import_window(ctx, Op::k##name); }};
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
