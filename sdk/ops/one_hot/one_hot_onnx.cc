#include "sdk/ops/one_hot/one_hot_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::OneHotT a;
  a.axis = static_cast<int32_t>(ctx.attr_int("axis", -1));
  return import_direct(ctx, Op::kOneHot, pack<attrs::OneHot>(a));
}

}  // namespace

extern const OnnxImport kOneHotOnnx;
const OnnxImport kOneHotOnnx = {"", "OneHot", import};

}  // namespace vireo
