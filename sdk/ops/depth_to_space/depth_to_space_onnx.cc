#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status read_mode(ImportContext& ctx, attrs::DepthToSpaceMode* out) {
  const std::string mode = ctx.attr_string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return ctx.fail(Status::kInvalidModel, "mode is \"" + mode + "\"", "use DCR or CRD");
  *out = mode == "CRD" ? attrs::DepthToSpaceMode::crd : attrs::DepthToSpaceMode::dcr;
  return Status::kOk;
}

Status import_depth(ImportContext& ctx) {
  attrs::DepthToSpaceT a;
  a.blocksize = ctx.attr_int32("blocksize", 0);
  VIREO_TRY(read_mode(ctx, &a.mode));
  return import_direct(ctx, Op::kDepthToSpace, pack<attrs::DepthToSpace>(a));
}

Status import_space(ImportContext& ctx) {
  attrs::SpaceToDepthT a;
  a.blocksize = ctx.attr_int32("blocksize", 0);
  VIREO_TRY(read_mode(ctx, &a.mode));
  return import_direct(ctx, Op::kSpaceToDepth, pack<attrs::SpaceToDepth>(a));
}

}  // namespace

extern const OnnxImport kDepthToSpaceOnnx;
extern const OnnxImport kSpaceToDepthOnnx;
const OnnxImport kDepthToSpaceOnnx = {"", "DepthToSpace", import_depth};
const OnnxImport kSpaceToDepthOnnx = {"", "SpaceToDepth", import_space};

// SpaceToDepth has a mode since opset 28; before, DCR is the only one, and CRD is DCR with its channels in another
// order: [block * block, C] becomes [C, block * block].
Status export_depth_to_space(ExportContext& ctx) {
  if (ctx.op() == Op::kDepthToSpace) {
    const auto& a = ctx.attrs<attrs::DepthToSpace>();
    return ctx.done(ctx.same()
                        .number("blocksize", a.blocksize())
                        .text("mode", a.mode() == attrs::DepthToSpaceMode::crd ? "CRD" : "DCR"));
  }
  const auto& a = ctx.attrs<attrs::SpaceToDepth>();
  OnnxNode n = ctx.same().number("blocksize", a.blocksize());
  if (a.mode() == attrs::DepthToSpaceMode::dcr) return ctx.done(std::move(n));
  const Dim channels = ctx.input_type(0).shape[1];
  if (is_symbolic(channels)) return ctx.done(n.text("mode", "CRD").needs(28));
  const std::string deep = ctx.step(std::move(n));
  const int64_t block = int64_t{a.blocksize()} * a.blocksize();
  const std::string parts = ctx.step("Reshape", {deep, ctx.add_i64({0, block, channels, -1})});
  OnnxNode turned = ExportContext::node("Transpose", {parts});
  turned.set("perm", std::vector<int64_t>{0, 2, 1, 3});
  return ctx.finish("Reshape", {ctx.step(std::move(turned)), ctx.step("Shape", {deep})});
}

}  // namespace vireo
