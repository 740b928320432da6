#include "sdk/ops/nonzero/nonzero_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import_nonzero(ImportContext& ctx) {
  return import_direct(ctx, Op::kNonZero, pack<attrs::NonZero>(attrs::NonZeroT{}));
}

Status import_compress(ImportContext& ctx) {
  attrs::CompressT a;
  a.flat = !ctx.has_attr("axis");
  a.axis = static_cast<int32_t>(ctx.attr_int("axis", 0));
  return import_direct(ctx, Op::kCompress, pack<attrs::Compress>(a));
}

}  // namespace

extern const OnnxImport kNonZeroOnnx;
extern const OnnxImport kCompressOnnx;
const OnnxImport kNonZeroOnnx = {"", "NonZero", import_nonzero};
const OnnxImport kCompressOnnx = {"", "Compress", import_compress};

}  // namespace vireo
