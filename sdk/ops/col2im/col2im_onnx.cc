#include "sdk/ops/col2im/col2im_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_col2im(ImportContext& ctx) {
  attrs::Col2ImT a;
  const ConstTensor* block = ctx.constant(ctx.input(2));
  const int64_t k = block != nullptr ? block->count() : ctx.type(ctx.input(2)).shape[0];
  if (k < 1 || k > kMaxRank - 2)
    return ctx.fail(Status::kUnsupported, "block_shape has no known number of axes up to 6");
  const auto read = [&](const char* name, int64_t n, int64_t otherwise) {
    return ctx.has_attr(name) ? ctx.attr_ints(name) : std::vector<int64_t>(static_cast<size_t>(n), otherwise);
  };
  a.dilations = read("dilations", k, 1);
  a.pads = read("pads", 2 * k, 0);
  a.strides = read("strides", k, 1);
  return import_direct(ctx, Op::kCol2Im, pack<attrs::Col2Im>(a));
}

}  // namespace

extern const OnnxImport kCol2ImOnnx;
const OnnxImport kCol2ImOnnx = {"", "Col2Im", import_col2im};

Status export_col2im(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Col2Im>();
  return ctx.done(
      ctx.same().numbers("dilations", a.dilations()).numbers("pads", a.pads()).numbers("strides", a.strides()));
}

}  // namespace vireo
