// ImageDecoder, opset 20.
#include "sdk/ops/image_decoder/image_decoder_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

constexpr const char* kFormats[] = {"RGB", "BGR", "Grayscale"};

Status import_image_decoder(ImportContext& ctx) {
  const std::string wanted = ctx.attr_string("pixel_format", "RGB");
  attrs::ImageDecoderT a;
  int format = 0;
  while (format < 3 && wanted != kFormats[format]) ++format;
  if (format == 3)
    return ctx.fail(Status::kInvalidModel, "pixel_format is \"" + wanted + "\"", "RGB, BGR or Grayscale");
  a.pixel_format = static_cast<attrs::PixelFormat>(format);
  a.height = ctx.declared_extent(0, 0);
  a.width = ctx.declared_extent(0, 1);
  return import_direct(ctx, Op::kImageDecoder, pack<attrs::ImageDecoder>(a));
}

}  // namespace

extern const OnnxImport kImageDecoderOnnx;
const OnnxImport kImageDecoderOnnx = {"", "ImageDecoder", import_image_decoder};

Status export_image_decoder(ExportContext& ctx) {
  OnnxNode n = ctx.same();
  n.text("pixel_format", kFormats[static_cast<int>(ctx.attrs<attrs::ImageDecoder>().pixel_format())]);
  return ctx.done(std::move(n));
}

}  // namespace vireo
