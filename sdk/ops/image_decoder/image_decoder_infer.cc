// ImageDecoder: a file in memory to pixels.
//   stream   u8 [n]: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP, known by its first bytes
//   y        u8 [height, width, 3], or 1 for Grayscale (ITU-R 601-2 luma of the decoded RGB)
// Extents that the model declares are the operator's attributes, and a stream of another size is an error; open ones
// need a bound, like any extent that only a run tells. What is no image, or a damaged one, gives the empty image [0, 0,
// C] that the standard asks for, or kInvalidArgument where the extents are declared. kUnsupported: this build lacks the
// codec. Codecs allocate while they run, at most a few times the bytes of y. Source: ONNX opset 20 "ImageDecoder".
#include "sdk/ops/image_decoder/image_decoder_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_image_decoder(InferContext& ctx) {
  VIREO_TRY(check_rank(ctx, 0, 1, 1));
  if (ctx.input(0).dtype != DType::kU8) {
    return ctx.fail(Status::kInvalidModel, "ImageDecoder of {}, wanted uint8", dtype_name(ctx.input(0).dtype));
  }
  const auto& a = ctx.attrs<attrs::ImageDecoder>();
  if (a.pixel_format() < attrs::PixelFormat::MIN || a.pixel_format() > attrs::PixelFormat::MAX || a.height() < -1 ||
      a.width() < -1) {
    return ctx.fail(Status::kInvalidModel, "ImageDecoder: pixel format {}, {} x {} pixels",
                    static_cast<int>(a.pixel_format()), a.height(), a.width());
  }
  TensorType& y = ctx.output(0);
  y.dtype = DType::kU8;
  y.shape.rank = 3;
  y.shape[0] = a.height() >= 0 ? a.height() : ctx.unknown();
  y.shape[1] = a.width() >= 0 ? a.width() : ctx.unknown();
  y.shape[2] = a.pixel_format() == attrs::PixelFormat::Grayscale ? 1 : 3;
  return Status::kOk;
}

}  // namespace

extern const OpDef kImageDecoderOp;
const OpDef kImageDecoderOp = {
    "ImageDecoder", verify_attrs<attrs::ImageDecoder>, infer_image_decoder, 1, 1, 1, 1, OpDef::kDataDependent, 0};

}  // namespace vireo
