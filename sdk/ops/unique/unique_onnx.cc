#include "sdk/ops/unique/unique_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::UniqueT a;
  a.flat = !ctx.has_attr("axis");
  a.axis = static_cast<int32_t>(ctx.attr_int("axis", 0));
  a.sorted = ctx.attr_int("sorted", 1) != 0;
  return import_direct(ctx, Op::kUnique, pack<attrs::Unique>(a));
}

}  // namespace

extern const OnnxImport kUniqueOnnx;
const OnnxImport kUniqueOnnx = {"", "Unique", import};

}  // namespace vireo
