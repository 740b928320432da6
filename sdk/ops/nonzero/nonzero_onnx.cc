#include "sdk/ops/nonzero/nonzero_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_nonzero(ImportContext& ctx) {
  return import_direct(ctx, Op::kNonZero, pack<attrs::NonZero>(attrs::NonZeroT{}));
}

Status import_compress(ImportContext& ctx) {
  attrs::CompressT a;
  a.flat = !ctx.has_attr("axis");
  a.axis = ctx.attr_int32("axis", 0);
  return import_direct(ctx, Op::kCompress, pack<attrs::Compress>(a));
}

}  // namespace

extern const OnnxImport kNonZeroOnnx;
extern const OnnxImport kCompressOnnx;
const OnnxImport kNonZeroOnnx = {"", "NonZero", import_nonzero};
const OnnxImport kCompressOnnx = {"", "Compress", import_compress};

Status export_nonzero(ExportContext& ctx) {
  OnnxNode n = ctx.same();
  if (ctx.op() == Op::kCompress && !ctx.attrs<attrs::Compress>().flat())
    n.number("axis", ctx.attrs<attrs::Compress>().axis());
  return ctx.done(std::move(n));
}

}  // namespace vireo
