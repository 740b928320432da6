#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/view.h"

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
  a.blocksize = static_cast<int32_t>(ctx.attr_int("blocksize", 0));
  VIREO_TRY(read_mode(ctx, &a.mode));
  return import_direct(ctx, Op::kDepthToSpace, pack<attrs::DepthToSpace>(a));
}

Status import_space(ImportContext& ctx) {
  attrs::SpaceToDepthT a;
  a.blocksize = static_cast<int32_t>(ctx.attr_int("blocksize", 0));
  VIREO_TRY(read_mode(ctx, &a.mode));
  return import_direct(ctx, Op::kSpaceToDepth, pack<attrs::SpaceToDepth>(a));
}

}  // namespace

extern const OnnxImport kDepthToSpaceOnnx;
extern const OnnxImport kSpaceToDepthOnnx;
const OnnxImport kDepthToSpaceOnnx = {"", "DepthToSpace", import_depth};
const OnnxImport kSpaceToDepthOnnx = {"", "SpaceToDepth", import_space};

}  // namespace vireo
