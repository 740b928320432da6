#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_transpose(ImportContext& ctx) {
  attrs::TransposeT a;
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  // Always written out, so that an empty `perm` of a scalar and an absent one do not have to be told apart.
  if (ctx.has_attr("perm")) {
    for (const int64_t p : ctx.attr_ints("perm")) a.perm.push_back(saturated_int32(p));
  } else {
    for (int i = rank - 1; i >= 0; --i) a.perm.push_back(i);
  }
  return import_direct(ctx, Op::kTranspose, pack<attrs::Transpose>(a));
}

}  // namespace

extern const OnnxImport kTransposeOnnx;
const OnnxImport kTransposeOnnx = {"", "Transpose", import_transpose};

Status export_transpose(ExportContext& ctx) {
  return ctx.done(ctx.same().numbers("perm", ctx.attrs<attrs::Transpose>().perm()));
}

}  // namespace vireo
