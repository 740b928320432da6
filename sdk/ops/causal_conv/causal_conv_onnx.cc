#include "sdk/ops/causal_conv/causal_conv_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_causal_conv(ImportContext& ctx) {
  attrs::CausalConvT a;
  const std::string activation = ctx.attr_string("activation", "none");
  a.silu = activation == "silu" || activation == "swish";
  if (!a.silu && activation != "none") {
    return ctx.fail(Status::kInvalidModel, "activation '" + activation + "' is not none, silu or swish");
  }
  return import_direct(ctx, Op::kCausalConvWithState, pack<attrs::CausalConv>(a));
}

}  // namespace

extern const OnnxImport kCausalConvWithStateOnnx;
const OnnxImport kCausalConvWithStateOnnx = {"", "CausalConvWithState", import_causal_conv};

Status export_causal_conv(ExportContext& ctx) {
  return ctx.done(ctx.same().text("activation", ctx.attrs<attrs::CausalConv>().silu() ? "silu" : "none").needs(27));
}

}  // namespace vireo
